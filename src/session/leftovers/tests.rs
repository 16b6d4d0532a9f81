use super::*;
use crate::event::{FileChange, Restored, Rewind, ToolResult};

const ID: &str = "20260101T000000Z-abcdef";

fn line(seq: u64, event: Event) -> Vec<u8> {
    Record { seq, at: String::new(), event }.to_line().unwrap()
}

fn change(seq: u64, call_id: &str, path: &Path) -> Vec<u8> {
    line(
        seq,
        Event::FileChange(FileChange {
            call_id: call_id.to_owned(),
            path: path.display().to_string(),
            after: String::new(),
            ..FileChange::default()
        }),
    )
}

fn result(seq: u64, call_id: &str) -> Vec<u8> {
    line(
        seq,
        Event::ToolResult(ToolResult { call_id: call_id.to_owned(), ..ToolResult::default() }),
    )
}

/// A log with these lines, and a folder that holds these files; gives the files that are left.
fn left(lines: impl Fn(&Path) -> Vec<Vec<u8>>, files: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    for name in files {
        fs::write(work.join(name), "x").unwrap();
    }
    let log = dir.path().join(format!("{ID}.jsonl"));
    fs::write(&log, lines(&work.join("a.txt")).concat()).unwrap();
    remove(&log, ID);
    let mut names: Vec<String> = fs::read_dir(&work)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn only_the_file_of_an_unfinished_change_goes() {
    let own = format!("{}x1y2z3{TEMPORARY_SUFFIX}", temporary_prefix(ID));
    let others = [".xsh-20260101T000000Z-ffffff-x1y2z3.tmp", "a.txt", "b.tmp"];
    let files = [&own, others[0], others[1], others[2]];
    assert_eq!(left(|path| vec![change(1, "c1", path)], &files), others);
    assert_eq!(
        left(|path| vec![change(1, "c1", path), b"{\"type\":\"tool".to_vec()], &files),
        others
    );
    let again = |path: &Path| vec![change(1, "c1", path), result(2, "c1"), change(3, "c1", path)];
    assert_eq!(left(again, &files), others, "ids may come again");
    let done = |path: &Path| vec![change(1, "c1", path), result(2, "c1")];
    assert_eq!(left(done, &files).len(), files.len(), "a finished change leaves nothing to remove");
}

#[test]
fn half_blobs_go_and_whole_ones_stay() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join(format!("{ID}.jsonl"));
    let blobs = dir.path().join(format!("{ID}.files/blobs"));
    fs::create_dir_all(&blobs).unwrap();
    fs::write(blobs.join("aa"), "whole").unwrap();
    fs::write(blobs.join("bb.part"), "ha").unwrap();
    remove(&log, ID);
    assert!(blobs.join("aa").exists() && !blobs.join("bb.part").exists());
}

#[test]
fn a_session_in_use_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join(format!("{ID}.jsonl"));
    let part = dir.path().join(format!("{ID}.files/blobs/bb.part"));
    fs::create_dir_all(part.parent().unwrap()).unwrap();
    fs::write(&part, "ha").unwrap();
    let lock = lock::Lock::acquire(&log).unwrap();
    remove_if_abandoned(&log, ID);
    assert!(part.exists());
    drop(lock);
    remove_if_abandoned(&log, ID);
    assert!(part.exists(), "its writer ended well");
    fs::write(log.with_extension("lock"), "1").unwrap();
    remove_if_abandoned(&log, ID);
    assert!(!part.exists());
}

/// One event names so many files that it is longer than the end that is looked at first.
#[test]
fn the_files_of_a_long_rewind_are_found_behind_a_torn_line() {
    let own = format!("{}x1y2z3{TEMPORARY_SUFFIX}", temporary_prefix(ID));
    let log = |path: &Path| {
        let restored = |index: usize| Restored {
            path: path.with_file_name(format!("file-{index}")).display().to_string(),
            sha256: Some("0".repeat(64)),
            mode: Some(0o644),
            was: Some("1".repeat(64)),
            mode_was: Some(0o644),
        };
        let files: Vec<Restored> = (0..5_000).map(restored).collect();
        let rewind = Event::Rewind(Rewind { to_seq: 1, conversation: true, files });
        let line = line(2, rewind);
        assert!(line.len() as u64 > 10 * TAIL);
        vec![change(1, "c1", Path::new("/elsewhere")), line, b"{\"type\":\"rewind_fin".to_vec()]
    };
    assert_eq!(left(log, &[&own, "a.txt"]), ["a.txt"]);
}

#[test]
fn what_a_session_leaves_that_was_killed_while_it_was_made_is_swept_away() {
    let dir = tempfile::tempdir().unwrap();
    let header = "{\"type\":\"session\",\"version\":1,\"id\":\"x\"";
    for (name, content, lock) in [
        ("empty", Some(""), true),
        ("torn", Some(header), true),
        ("only-lock", None, true),
        ("in-use", Some(""), true),
        ("whole", Some("{\"type\":\"session\"}\n"), true),
        ("not-ours", Some("notes"), true),
        ("never-locked", Some(""), false),
    ] {
        let log = dir.path().join(name).with_extension("jsonl");
        if let Some(content) = content {
            fs::write(&log, content).unwrap();
        }
        if lock {
            fs::write(log.with_extension("lock"), "1").unwrap();
        }
    }
    let _held = lock::Lock::acquire(&dir.path().join("in-use.jsonl")).unwrap();
    sweep(dir.path());
    let names = fs::read_dir(dir.path()).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let left = [
        "in-use.jsonl",
        "in-use.lock",
        "never-locked.jsonl",
        "not-ours.jsonl",
        "not-ours.lock",
        "whole.jsonl",
        "whole.lock",
    ];
    assert_eq!(names, left);
}
