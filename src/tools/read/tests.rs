use crate::hash;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::json;

use super::*;
use crate::tools::fixture::{Fixture, numbered};

fn read_file(fixture: &Fixture, args: serde_json::Value) -> Outcome {
    fixture.run::<Read>(args)
}

/// What is shown of a file with this content.
#[track_caller]
fn check(content: impl AsRef<[u8]>, expected: &str) {
    let fixture = Fixture::new();
    fixture.put("f", &content);
    let outcome = read_file(&fixture, json!({"file_path": "f"}));
    assert_eq!(outcome.content, expected);
    assert!(!outcome.is_error);
    let known = fixture.known.borrow().get(&fixture.path("f")).cloned();
    assert_eq!(known, Some(hash::sha256(content.as_ref())));
}

#[test]
fn the_result_has_path_lines_and_facts() {
    check(
        "# xsh\nA terminal coding agent.\n",
        "f\n1: # xsh\n2: A terminal coding agent.\n[Line endings: LF. Total lines: 2.]",
    );
    check("a\r\n\r\nb\r\n", "f\n1: a\n2: \n3: b\n[Line endings: CRLF. Total lines: 3.]");
    check(
        "a\r\nb\nc",
        "f\n1: a\n2: b\n3: c\n[Line endings: mixed (1 LF, 1 CRLF). Total lines: 3. No newline at end \
         of file.]",
    );
    check("a", "f\n1: a\n[Line endings: none. Total lines: 1. No newline at end of file.]");
    check("", "f\n[The file is empty. Line endings: none. Total lines: 0.]");
    check("\n", "f\n1: \n[Line endings: LF. Total lines: 1.]");
}

#[test]
fn unusual_text_is_shown_and_said() {
    check(
        "\u{FEFF}top\nmid\u{FEFF}dle\n",
        "f\n1: top\n2: mid\u{FEFF}dle\n[Line endings: LF. Total lines: 2. UTF-8 with byte order mark \
         (not shown, kept).]",
    );
    check(
        b"\xFF\xFEh\0\xE4\0\r\0\n\0",
        "f\n1: hä\n[Line endings: CRLF. Total lines: 1. UTF-16 LE with byte order mark (not shown, \
         kept).]",
    );
    check(
        b"n = 7\n# \xFCber\n",
        "f\n1: n = 7\n2: # \u{FFFD}ber\n[Line endings: LF. Total lines: 2. Not all UTF-8: other bytes \
         are shown as U+FFFD; edits keep them.]",
    );
    check(
        "a\rb\rc",
        "f\n1: a\rb\rc\n[Line endings: CR alone, 2 (old Mac style, counted as one line). Total lines: \
         1. No newline at end of file.]",
    );
    check(
        "a\u{2028}b\u{85}c\u{B}\n",
        "f\n1: a\u{2028}b\u{85}c\u{B}\n[Line endings: LF. Total lines: 1.]",
    );
    let late_nul = format!("{}x\0y\n", "a\n".repeat(5_000));
    let fixture = Fixture::new();
    fixture.put("f", late_nul);
    let outcome = read_file(&fixture, json!({"file_path": "f", "offset": 5001}));
    assert!(outcome.content.contains("5001: x␀y\n"), "{}", outcome.content);
    assert!(outcome.content.contains("NUL characters are shown as ␀."));
}

#[test]
fn windows_are_shown_and_how_to_go_on() {
    let fixture = Fixture::new();
    fixture.put("f", numbered("l", 5_000));
    for (offset, limit, first, last, note) in [
        (1, 2, "1: l1", "2: l2", "Shown: lines 1-2. Go on with offset 3.]"),
        (0, 1, "1: l1", "1: l1", "Shown: lines 1-1. Go on with offset 2.]"),
        (4_999, 9, "4999: l4999", "5000: l5000", "Total lines: 5000. Shown: lines 4999-5000.]"),
        (5_000, 1, "5000: l5000", "5000: l5000", "Shown: lines 5000-5000.]"),
    ] {
        let args = json!({"file_path": "f", "offset": offset, "limit": limit});
        let outcome = read_file(&fixture, args);
        let lines: Vec<_> = outcome.content.lines().collect();
        assert_eq!((lines[1], lines[lines.len() - 2]), (first, last));
        assert!(outcome.content.ends_with(note), "{}", outcome.content);
        assert_eq!(outcome.summary, text::plural(lines.len() as u64 - 2, "line"));
    }
    let outcome = read_file(&fixture, json!({"file_path": "f"}));
    assert!(outcome.content.ends_with("Shown: lines 1-2000. Go on with offset 2001.]"));
}

#[test]
fn windows_that_cannot_be_are_errors() {
    let fixture = Fixture::new();
    fixture.put("f", "a\nb\n");
    fixture.put("empty", "");
    for (args, why) in [
        (json!({"file_path": "f", "offset": 3}), "`f` has 2 lines; `offset` 3 is past its end."),
        (json!({"file_path": "f", "offset": i64::MAX}), "is past its end"),
        (json!({"file_path": "empty", "offset": 2}), "`empty` has 0 lines"),
        (json!({"file_path": "f", "offset": -1}), "`offset` is negative"),
        (json!({"file_path": "f", "limit": 0}), "`limit` must be at least 1"),
        (json!({"file_path": "f", "limit": -5}), "`limit` must be at least 1"),
    ] {
        let outcome = read_file(&fixture, args);
        assert!(outcome.is_error && outcome.content.contains(why), "{}", outcome.content);
        assert_eq!(outcome.files, []);
    }
}

#[test]
fn results_are_bounded_at_whole_lines() {
    let fixture = Fixture::new();
    for (line, count) in
        [("x".repeat(10_000), 1_000), ("€".repeat(5_000), 1_000), ("short".to_owned(), 5_000)]
    {
        fixture.put("f", format!("{line}\n").repeat(count));
        let outcome = read_file(&fixture, json!({"file_path": "f", "limit": 100_000}));
        assert!(outcome.content.len() <= 30_000, "{}", outcome.content.len());
        assert!(outcome.content.len() > 18_000, "{}", outcome.content.len());
        assert!(outcome.content.contains(&format!("Total lines: {count}. Shown: lines 1-")));
        let next = outcome.content.rsplit("offset ").next().unwrap().trim_end_matches(".]");
        let lines = outcome.content.lines().count() - 2;
        assert_eq!(next, (lines + 1).to_string());
    }
    fixture.put("f", "é".repeat(1_000_000));
    let outcome = read_file(&fixture, json!({"file_path": "f"}));
    let shown = format!(
        "f\n1: {}… [line cut after 2000 characters; it has 2000000 bytes]\n",
        "é".repeat(2_000)
    );
    assert!(outcome.content.starts_with(&shown), "{}", outcome.content);
    assert!(!outcome.content.contains("Not all UTF-8"));
}

#[test]
fn what_is_not_text_is_named_and_not_dumped() {
    let fixture = Fixture::new();
    for (bytes, kind) in [
        (&b"\x7fELF\x02\x01\x01\0\0\0"[..], "an ELF executable or library (10 bytes)"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n", "a PDF document"),
        (b"\x1f\x8b\x08\0\0", "gzip data"),
        (b"abc\0def", "binary data (it holds NUL bytes)"),
        (b"a\0b\0\n\0", "binary data"),
        (b"\xff\xfe\0\0a\0\0\0", "UTF-32 text"),
    ] {
        fixture.put("f", bytes);
        let outcome = read_file(&fixture, json!({"file_path": "f"}));
        assert!(outcome.is_error && outcome.content.contains(kind), "{}", outcome.content);
        assert_eq!(outcome.files, []);
    }
    fixture.put("f", "RIFF is a word\nBZh too\n");
    assert!(!read_file(&fixture, json!({"file_path": "f"})).is_error);
}

#[test]
fn what_is_not_a_regular_file_is_named_at_once() {
    let fixture = Fixture::new();
    fixture.put("dir/x", "");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, fixture.path("pipe"), kind, mode, 0).unwrap();
    let _socket = UnixListener::bind(fixture.path("sock")).unwrap();
    symlink("/dev/zero", fixture.path("zero")).unwrap();
    symlink("pipe", fixture.path("to-pipe")).unwrap();
    for (name, why) in [
        ("pipe", "`pipe` is a named pipe (FIFO)"),
        ("to-pipe", "`pipe` is a named pipe (FIFO)"),
        ("sock", "is a socket"),
        ("dir", "`dir` is a folder. Use `glob` with the pattern `dir/*`"),
        (".", "is a folder"),
        ("zero", "outside the workspace"),
        ("gone", "does not exist"),
    ] {
        let outcome = read_file(&fixture, json!({"file_path": name}));
        assert!(outcome.is_error && outcome.content.contains(why), "{}", outcome.content);
    }
}

/// 20,000 lines of text, then a hole up to the size.
fn sparse(fixture: &Fixture, size: u64) {
    fixture.put("big", numbered("line ", 20_000));
    let file = std::fs::OpenOptions::new().write(true).open(fixture.path("big")).unwrap();
    file.set_len(size).unwrap();
}

#[test]
fn large_files_are_read_by_window_and_not_editable() {
    let fixture = Fixture::new();
    sparse(&fixture, 3 << 30);
    let outcome = read_file(&fixture, json!({"file_path": "big", "offset": 15_000, "limit": 2}));
    assert_eq!(
        outcome.content,
        "big\n15000: line 15000\n15001: line 15001\n[Line endings: LF. Total lines: more than 20000. \
         The file has 3.0 GiB; above 16.0 MiB it cannot be edited. Shown: lines 15000-15001. Go on \
         with offset 15002.]"
    );
    assert_eq!(outcome.files, []);
    sparse(&fixture, 20 << 20);
    let outcome = read_file(&fixture, json!({"file_path": "big", "offset": 20_001}));
    let start = outcome.content.chars().take(40).collect::<String>();
    assert!(start.starts_with("big\n20001: ␀␀␀"), "{start}");
    assert!(outcome.content.contains("Total lines: 20001. No newline at end of file."));
    let outcome = read_file(&fixture, json!({"file_path": "big", "offset": 20_002}));
    assert!(outcome.content.contains("`big` has 20001 lines"));
    let empty = std::fs::File::create(fixture.path("big")).unwrap();
    empty.set_len(3 << 30).unwrap();
    let outcome = read_file(&fixture, json!({"file_path": "big"}));
    assert!(outcome.content.contains("binary data (it holds NUL bytes) (3.0 GiB)"));
}

#[test]
fn the_limit_of_hashing_is_exact() {
    let fixture = Fixture::new();
    fixture.put("f", vec![b'a'; EDIT_LIMIT]);
    assert_eq!(read_file(&fixture, json!({"file_path": "f"})).files.len(), 1);
    fixture.put("f", vec![b'a'; EDIT_LIMIT + 1]);
    let outcome = read_file(&fixture, json!({"file_path": "f"}));
    assert_eq!(outcome.files, []);
    assert!(outcome.content.contains("it has 16777217 bytes]"), "{}", outcome.content);
}

#[test]
fn a_long_scan_can_be_interrupted() {
    let fixture = Fixture::new();
    fixture.put("f", "\n".repeat(EDIT_LIMIT));
    fixture.cancel.cancel();
    let outcome = read_file(&fixture, json!({"file_path": "f"}));
    assert_eq!(outcome.content, "`f` cannot be read: the user interrupted.");
}

#[test]
fn outputs_may_be_read_and_nothing_else_of_the_own_folder() {
    let fixture = Fixture::new();
    fixture.put(".xsh/outputs/call_7.txt", "all of it\n");
    fixture.put(".xsh/config.toml", "x = 1\n");
    let outcome = read_file(&fixture, json!({"file_path": ".xsh/outputs/call_7.txt"}));
    assert!(outcome.content.contains("1: all of it"), "{}", outcome.content);
    assert!(read_file(&fixture, json!({"file_path": ".xsh/config.toml"})).is_error);
}
