#![expect(clippy::format_collect, reason = "test texts are small")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use tempfile::tempdir;

use super::{Collected, HeadTail};

const CAP: usize = 1_000;

fn collect(folder: &Path, pieces: &[&[u8]]) -> Collected {
    let mut output = HeadTail::new(CAP, folder, "call:1/x");
    for piece in pieces {
        output.push(piece);
    }
    output.finish()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_short_output_is_whole_and_leaves_no_file() {
    let folder = tempdir().unwrap();
    let side = folder.path().join("outputs");
    let cases: [(&[u8], &str, u64); 4] = [
        (b"", "", 0),
        (b"one\ntwo\n", "one\ntwo\n", 2),
        (b"one\ntwo", "one\ntwo", 2),
        (b"\x1b[1mbold\x1b[0m\n", "bold\n", 1),
    ];
    for (bytes, text, lines) in cases {
        let expected = Collected { text: text.to_owned(), lines, whole: None };
        assert_eq!(collect(&side, &[bytes]), expected);
    }
    assert!(!side.exists());
}

#[test]
fn a_long_output_is_cut_and_kept_whole_for_the_user_alone() {
    let folder = tempdir().unwrap();
    let side = folder.path().join("a/outputs");
    let bytes: String = (1..=1_000).map(|n| format!("\x1b[32mline {n}\x1b[0m\n")).collect();
    let pieces: Vec<_> = bytes.as_bytes().chunks(77).collect();
    let collected = collect(&side, &pieces);
    let path = collected.whole.unwrap();
    assert_eq!(path, side.join("call_1_x.txt"));
    assert_eq!(fs::read(&path).unwrap(), bytes.as_bytes());
    assert_eq!((mode(&path), mode(&side)), (0o600, 0o700));
    assert_eq!(collected.lines, 1_000);
    let text = collected.text;
    assert!(text.len() <= CAP && text.starts_with("line 1\n"), "{text}");
    assert!(text.ends_with("line 999\nline 1000\n"), "{text}");
    assert!(text.contains(&format!("the whole output is in {} …]", path.display())), "{text}");
    assert_eq!(collect(&side, &pieces).whole, Some(side.join("call_1_x-2.txt")));
}

#[test]
fn one_line_of_a_megabyte_keeps_both_ends() {
    let folder = tempdir().unwrap();
    let line = format!("begin{}end", "é".repeat(500_000));
    let collected = collect(folder.path(), &[line.as_bytes()]);
    assert!(collected.text.starts_with("begin") && collected.text.ends_with("end"));
    assert!(collected.text.len() <= CAP);
    assert_eq!(fs::read_to_string(collected.whole.unwrap()).unwrap(), line);
}

#[test]
fn a_redrawn_line_is_short_and_leaves_no_file() {
    let folder = tempdir().unwrap();
    let bars: String = (0..=10_000).map(|at| format!("{at}\r")).collect();
    let collected = collect(folder.path(), &[bars.as_bytes()]);
    let text = "0\n10000\n[9,999 states of redrawn lines are left out]".to_owned();
    assert_eq!(collected, Collected { text, lines: 2, whole: None });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_little_over_the_cap_keeps_its_end() {
    let folder = tempdir().unwrap();
    let text = format!("{}\nend of it", "x".repeat(CAP));
    let collected = collect(folder.path(), &[text.as_bytes()]);
    assert!(collected.text.ends_with("\nend of it"), "{}", collected.text);
}

#[test]
fn bytes_that_are_not_text_are_said() {
    let folder = tempdir().unwrap();
    let text = collect(folder.path(), &[b"a\xff\xfeb"]).text;
    assert_eq!(text, "a\u{fffd}\u{fffd}b\n[2 bytes that are not UTF-8 text are shown as \u{fffd}]");
    let many = collect(folder.path(), &[&[0xff; 990]]);
    assert!(many.text.len() <= CAP && many.whole.is_some(), "{}", many.text);
}

#[test]
fn the_side_file_is_bounded() {
    let folder = tempdir().unwrap();
    let mut output = HeadTail::with_limit(CAP, 3_000, folder.path(), "c");
    for _ in 0..10 {
        output.push(&[b'x'; 999]);
    }
    let collected = output.finish();
    assert_eq!(fs::read(collected.whole.unwrap()).unwrap().len(), 3_000);
    assert!(collected.text.contains("the first 3,000 of 9,990 bytes are in"), "{}", collected.text);
}

#[test]
fn a_side_file_that_cannot_be_written_is_said() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let collected = collect(&file, &[&[b'x'; 5_000]]);
    assert_eq!(collected.whole, None);
    assert!(collected.text.contains("the whole output could not be kept: "), "{}", collected.text);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let folder = tempdir().unwrap();
    let mut output = HeadTail::new(CAP, folder.path(), "c");
    output.push(&[b'x'; 5_000]);
    if let super::State::Open { file, .. } = &mut output.spill.state {
        *file = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    }
    output.push(&[b'y'; 5_000]);
    let collected = output.finish();
    assert!(collected.text.contains("only a part of the output could be kept"), "{collected:?}");
    assert!(collected.text.ends_with("yyy"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_cap_holds_and_the_file_is_whole(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..20),
        cap in 0usize..2_000,
    ) {
        let folder = tempdir().unwrap();
        let mut output = HeadTail::new(cap.max(super::NOTE_BYTES), folder.path(), "c");
        for piece in &pieces {
            output.push(piece);
        }
        prop_assert!(output.window.tail.len() <= 2 * cap + 32_000);
        let collected = output.finish();
        prop_assert!(collected.text.len() <= cap.max(super::NOTE_BYTES));
        if let Some(path) = collected.whole {
            prop_assert_eq!(fs::read(path).unwrap(), pieces.concat());
        }
    }
}

#[test]
fn an_output_that_grows_is_taken_piece_by_piece_and_kept_whole() {
    let folder = tempdir().unwrap();
    let mut output = HeadTail::growing(CAP, folder.path(), "job-1");
    let path = output.file().unwrap();
    assert_eq!(mode(&path), 0o600);
    let long = "0123456789\n".repeat(1_000);
    for (piece, over, lines) in [
        ("one\n", false, 1),
        ("", false, 0),
        (&long, false, 1_000),
        ("two", false, 1),
        ("", true, 0),
    ] {
        output.push(piece.as_bytes());
        let taken = output.take(over);
        assert!(taken.text.len() <= CAP && taken.lines == lines, "{taken:?}");
        assert_eq!(taken.whole.as_ref(), Some(&path));
        let cut = taken.text.contains("left out; the whole output is in ");
        assert!(cut == (piece.len() > CAP) && (cut || taken.text == piece), "{taken:?}");
    }
    assert_eq!(fs::read_to_string(path).unwrap(), format!("one\n{long}two"));
}
