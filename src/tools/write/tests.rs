use crate::hash;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use super::*;
use crate::tools::fixture::Fixture;
use crate::tools::read::Read;

fn write_file(fixture: &Fixture, path: &str, content: &str) -> Outcome {
    fixture.run::<Write>(json!({"file_path": path, "content": content}))
}

fn read_file(fixture: &Fixture, path: &str) -> Outcome {
    fixture.run::<Read>(json!({"file_path": path}))
}

#[track_caller]
fn refused(fixture: &Fixture, path: &str, why: &str) {
    let before = fs::read(fixture.path(path)).ok();
    let outcome = write_file(fixture, path, "new content\n");
    assert!(outcome.is_error && outcome.content.contains(why), "{}", outcome.content);
    assert_eq!(fs::read(fixture.path(path)).ok(), before);
    assert_eq!(outcome.files, []);
}

/// What a file that was read holds after `content` is written over it.
#[track_caller]
fn check(old: impl AsRef<[u8]>, content: &str, expected: impl AsRef<[u8]>, told: &str) {
    let fixture = Fixture::new();
    fixture.put("f", old);
    read_file(&fixture, "f");
    let outcome = write_file(&fixture, "f", content);
    assert_eq!(fixture.bytes("f"), expected.as_ref());
    assert!(!outcome.is_error && outcome.content.contains(told), "{}", outcome.content);
}

#[test]
fn a_new_file_is_created_with_its_folders() {
    let fixture = Fixture::new();
    let outcome = write_file(&fixture, "a/b/c.txt", "one\ntwo\n");
    assert_eq!(
        outcome.content,
        "Created `a/b/c.txt` (2 lines).\n[Line endings: LF. Total lines: 2.]"
    );
    assert_eq!(outcome.summary, "created, 2 lines");
    assert_eq!(outcome.diff.as_deref(), Some("@@ -0,0 +1,2 @@\n+one\n+two"));
    assert_eq!(fixture.bytes("a/b/c.txt"), b"one\ntwo\n");
    assert_eq!(fixture.list("a/b"), ["c.txt"]);
    let changes = fixture.journal.changes.lock().unwrap();
    let (change, before) = &changes[0];
    assert_eq!((&change.before, change.mode, before), (&None, None, &None));
    assert_eq!(change.after, hash::sha256(b"one\ntwo\n"));
    assert_eq!(change.call_id, "call_1");
}

#[test]
fn new_files_have_the_mode_that_the_umask_leaves() {
    let fixture = Fixture::new();
    fixture.put("plain", "");
    write_file(&fixture, "new", "x");
    let mode = |name| fs::metadata(fixture.path(name)).unwrap().mode() & 0o777;
    assert_eq!(mode("new"), mode("plain"));
}

#[test]
fn replacing_says_what_changed() {
    let fixture = Fixture::new();
    fixture.put("f", "a\nb\nc\n");
    read_file(&fixture, "f");
    let outcome = write_file(&fixture, "f", "a\nB\nc\nd\n");
    assert_eq!(
        outcome.content,
        "Wrote `f`: +2 −1.\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n[Line endings: LF. Total lines: 4.]"
    );
    assert_eq!(outcome.summary, "+2 −1");
    let changes = fixture.journal.changes.lock().unwrap();
    assert_eq!(changes[0].1.as_deref(), Some(&b"a\nb\nc\n"[..]));
    assert_eq!(changes[0].0.before, Some(hash::sha256(b"a\nb\nc\n")));
}

#[test]
fn the_outer_form_of_a_file_is_kept() {
    check("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n", "CRLF line endings were kept");
    check("a\r\nb\r\n", "a\r\nc\n", "a\r\nc\r\n", "CRLF");
    check("a\r\nb\r\n", "c", "c", "No newline at end of file");
    check("a\n", "a\r\nb\r\n", "a\r\nb\r\n", "Line endings: CRLF");
    check("a\r\nb\n", "c\nd\n", "c\nd\n", "Line endings: LF");
    check("\u{FEFF}a\n", "b\n", "\u{FEFF}b\n", "byte order mark");
    check("\u{FEFF}a\n", "\u{FEFF}b\n", "\u{FEFF}b\n", "byte order mark");
    check("\u{FEFF}a\r\n", "b\n", "\u{FEFF}b\r\n", "byte order mark");
    check("a\n", "b\u{FEFF}\n", "b\u{FEFF}\n", "Total lines: 1.]");
    check(b"\xFF\xFEa\0\n\0", "ä\n", b"\xFF\xFE\xE4\0\n\0", "UTF-16 LE");
    check(b"\xFCber\n", "uber\n", "uber\n", "The old content was not UTF-8");
}

#[test]
fn the_same_content_is_not_written() {
    let fixture = Fixture::new();
    fixture.put("f", "a\r\n");
    let inode = fs::metadata(fixture.path("f")).unwrap().ino();
    let outcome = write_file(&fixture, "f", "a\n");
    assert!(outcome.content.contains("already has exactly this content"), "{}", outcome.content);
    assert_eq!(fs::metadata(fixture.path("f")).unwrap().ino(), inode);
    assert!(fixture.journal.changes.lock().unwrap().is_empty());
}

#[test]
fn what_was_not_read_as_it_is_now_is_not_replaced() {
    let fixture = Fixture::new();
    fixture.put("f", "user's\n");
    refused(&fixture, "f", "was not read in this session");
    read_file(&fixture, "f");
    let times = fs::metadata(fixture.path("f")).unwrap();
    fixture.put("f", "other!\n"); // same size
    let file = fs::File::options().write(true).open(fixture.path("f")).unwrap();
    file.set_modified(times.modified().unwrap()).unwrap(); // and the same time
    refused(&fixture, "f", "has changed since it was last read");
    read_file(&fixture, "f");
    assert!(!write_file(&fixture, "f", "1\n").is_error);
    assert!(!write_file(&fixture, "f", "2\n").is_error); // own writes do not block
    assert_eq!(fixture.bytes("f"), b"2\n");
}

#[test]
fn a_deleted_file_is_created_only_after_a_look() {
    let fixture = Fixture::new();
    fixture.put("f", "x\n");
    read_file(&fixture, "f");
    fs::remove_file(fixture.path("f")).unwrap();
    refused(&fixture, "f", "was deleted or moved");
    assert!(read_file(&fixture, "f").content.contains("does not exist"));
    assert!(!write_file(&fixture, "f", "again\n").is_error);
    fs::remove_file(fixture.path("f")).unwrap();
    read_file(&fixture, "f");
    fixture.put("f", "somebody else's\n");
    refused(&fixture, "f", "did not exist when last looked at");
}

#[test]
fn whoever_comes_in_between_wins() {
    let theirs = |path: &std::path::Path| fs::write(path, "theirs, longer\n").unwrap();
    let mut fixture = Fixture::new();
    fixture.journal.meanwhile = Some(theirs);
    for existing in [false, true] {
        if existing {
            fixture.put("f", "ours\n");
            read_file(&fixture, "f");
        }
        let outcome = write_file(&fixture, "f", "new\n");
        assert!(
            outcome.is_error && outcome.content.contains("Read it again"),
            "{}",
            outcome.content
        );
        assert_eq!(fixture.bytes("f"), b"theirs, longer\n");
        assert_eq!(fixture.list("."), ["f"]);
        fs::remove_file(fixture.path("f")).unwrap();
    }
    fixture.journal.meanwhile = Some(|path| fs::remove_file(path).unwrap());
    fixture.put("f", "ours\n");
    read_file(&fixture, "f");
    assert!(write_file(&fixture, "f", "new\n").is_error);
    assert!(fixture.list(".").is_empty());
}

#[test]
fn without_a_log_nothing_changes_and_nothing_is_left() {
    let mut fixture = Fixture::new();
    fixture.put("f", "old\n");
    read_file(&fixture, "f");
    fixture.journal.broken = true;
    refused(&fixture, "f", "no space left on device");
    refused(&fixture, "new/deep/f", "the session log could not be written");
    assert_eq!(fixture.list("."), ["f"]);
    fixture.journal.broken = false;
    fixture.cancel.cancel();
    refused(&fixture, "f", "interrupted");
    assert_eq!(fixture.list("."), ["f"]);
}

#[test]
fn mode_and_link_are_kept() {
    let fixture = Fixture::new();
    for mode in [0o755, 0o640, 0o600, 0o4755] {
        fixture.put("dir/real.sh", format!("{mode}\n"));
        let real = fixture.path("dir/real.sh");
        fs::set_permissions(&real, fs::Permissions::from_mode(mode)).unwrap();
        let _ = fs::remove_file(fixture.path("link"));
        symlink("dir/real.sh", fixture.path("link")).unwrap();
        read_file(&fixture, "link");
        let outcome = write_file(&fixture, "link", "new\n");
        assert!(!outcome.is_error, "{}", outcome.content);
        assert_eq!(fs::read_link(fixture.path("link")).unwrap().to_str(), Some("dir/real.sh"));
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o7777, mode);
        assert_eq!(fixture.bytes("dir/real.sh"), b"new\n");
    }
    symlink("dir/later.txt", fixture.path("dangling")).unwrap();
    assert!(!write_file(&fixture, "dangling", "x\n").is_error);
    assert_eq!(fixture.bytes("dir/later.txt"), b"x\n");
    assert!(fs::symlink_metadata(fixture.path("dangling")).unwrap().is_symlink());
}

#[test]
fn owner_and_user_attributes_are_kept() {
    let fixture = Fixture::new();
    fixture.put("f", "old\n");
    let path = fixture.path("f");
    // Both need a system that allows it; what it allows must survive.
    let _ = std::os::unix::fs::chown(&path, Some(1234), Some(4321));
    let flags = rustix::fs::XattrFlags::empty();
    let marked = rustix::fs::setxattr(&path, "user.note", b"kept", flags).is_ok();
    let owner = |path| fs::metadata(path).map(|meta| (meta.uid(), meta.gid())).unwrap();
    let before = owner(&path);
    read_file(&fixture, "f");
    let outcome = write_file(&fixture, "f", "new\n");
    assert_eq!(owner(&path), before);
    assert!(!outcome.content.contains("could not be kept"), "{}", outcome.content);
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.note", &mut value[..]);
    assert_eq!(length.ok().map(|length| &value[..length]), marked.then_some(&b"kept"[..]));
}

#[test]
fn what_cannot_be_kept_is_said() {
    let fixture = Fixture::new();
    fixture.put("f", "old\n");
    fs::hard_link(fixture.path("f"), fixture.path("g")).unwrap();
    read_file(&fixture, "f");
    let outcome = write_file(&fixture, "f", "new\n");
    assert!(outcome.content.contains("It had 2 hard links"), "{}", outcome.content);
    assert_eq!(fixture.bytes("g"), b"old\n");
}

#[test]
fn what_may_not_be_written_is_refused() {
    let fixture = Fixture::new();
    fixture.put("ro", "old\n");
    fs::set_permissions(fixture.path("ro"), fs::Permissions::from_mode(0o444)).unwrap();
    read_file(&fixture, "ro");
    refused(&fixture, "ro", "is read-only (mode 0444)");
    fixture.put("dir/x", "");
    fixture.put(".xsh/config.toml", "");
    refused(&fixture, "dir/x/y", "not a folder");
    refused(&fixture, ".xsh/config.toml", "belongs to xsh");
    refused(&fixture, "../f", "outside the workspace");
    for (path, why) in [("dir", "is a folder"), (".", "is a folder"), ("new/", "ends in `/`")] {
        let outcome = write_file(&fixture, path, "x");
        assert!(outcome.is_error && outcome.content.contains(why), "{}", outcome.content);
    }
    let outside = fixture.dir.path().join("out");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, fixture.path("o")).unwrap();
    refused(&fixture, "o/new.txt", "outside the workspace");
    assert!(fs::read_dir(&outside).unwrap().next().is_none());
}

#[test]
fn large_changes_are_told_in_short() {
    let fixture = Fixture::new();
    fixture.put("f", "x\n".repeat(30_000));
    read_file(&fixture, "f");
    let outcome = write_file(&fixture, "f", &"a long line of text\n".repeat(30_000));
    assert_eq!(outcome.summary, "+30000 −30000");
    assert!(outcome.content.len() < 8_000);
    assert!(outcome.diff.unwrap().len() < 30_000);
    let outcome = write_file(&fixture, "g", &"x".repeat(EDIT_LIMIT + 1));
    assert!(outcome.content.contains("larger than 16.0 MiB"));
    fixture.put("g", vec![b'x'; EDIT_LIMIT + 1]);
    refused(&fixture, "g", "cannot be changed here");
}
