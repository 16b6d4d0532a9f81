use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::event::LINK_MODE;
use crate::tools::fixture::Fixture;

/// A workspace with a watch over it.
struct Watching {
    files: Fixture,
    watch: Mutex<Watch>,
    place: Place,
}

impl Watching {
    fn new() -> Self {
        Self::within(LIMITS)
    }

    fn within(limits: Limits) -> Self {
        let files = Fixture::new();
        let place = Place { folder: Some(files.path(".xsh/sessions/s.files")), changes: 0 };
        Self { files, watch: Mutex::new(Watch::within(limits)), place }
    }

    /// Runs this as if it were a command.
    fn command(&self, run: impl FnOnce(&Fixture)) -> Watched {
        let around = |context: &ToolContext<'_>| {
            super::around(&self.watch, &self.place, context, || run(&self.files)).1
        };
        self.files.with_context(around)
    }

    /// What has been noted since the last time, a line each: path, content before and modes.
    fn noted(&self) -> String {
        let changes = std::mem::take(&mut *self.files.journal.changes.lock().unwrap());
        let line = |(change, content): (FileChange, Option<Vec<u8>>)| {
            let path = Path::new(&change.path).strip_prefix(&self.files.workspace.root).unwrap();
            let mode = |mode: Option<u32>| mode.map_or("-".to_owned(), |mode| format!("{mode:o}"));
            let before = content.map_or("-".into(), |c| String::from_utf8_lossy(&c).into_owned());
            let modes = format!("{}>{}", mode(change.mode), mode(change.mode_after));
            format!("{} {before} {modes}", path.display())
        };
        changes.into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.files.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn put(name: &'static str, content: &'static str) -> impl FnOnce(&Fixture) {
    move |files| files.put(name, content)
}

#[test]
fn each_kind_of_change_is_noted() {
    type Run = fn(&Fixture);
    let cases: [(&str, Run, &str); 13] = [
        ("nothing", |_| {}, ""),
        ("rewritten", |f| f.put("a", "new"), "a one 644>644"),
        ("rewritten with the same", |f| f.put("a", "one"), ""),
        ("created", |f| f.put("n/e/w", "x"), "n/e/w - ->644"),
        ("deleted", |f| fs::remove_file(f.path("a")).unwrap(), "a one 644>-"),
        (
            "made executable",
            |f| fs::set_permissions(f.path("a"), PermissionsExt::from_mode(0o755)).unwrap(),
            "a one 644>755",
        ),
        ("moved", |f| fs::rename(f.path("a"), f.path("b")).unwrap(), "a one 644>-\nb - ->644"),
        (
            "moved with its folder",
            |f| fs::rename(f.path("d"), f.path("e")).unwrap(),
            "d/b two 644>-\ne/b - ->644",
        ),
        (
            "turned into a link",
            |f| {
                fs::remove_file(f.path("a")).unwrap();
                symlink("nowhere", f.path("a")).unwrap();
            },
            "a one 644>120000",
        ),
        (
            "another target",
            |f| {
                fs::remove_file(f.path("l")).unwrap();
                symlink("a", f.path("l")).unwrap();
            },
            "l d 120000>120000",
        ),
        ("in an ignored folder", |f| f.put("ignored/x", "new"), ""),
        ("brought to light", |f| f.put(".gitignore", "\n"), ".gitignore ignored/\n 644>644"),
        (
            "newly ignored, and changed",
            |f| {
                f.put(".gitignore", "ignored/\na\n");
                f.put("a", "new");
            },
            ".gitignore ignored/\n 644>644\na one 644>644",
        ),
    ];
    for (what, run, expected) in cases {
        let watching = Watching::new();
        let files = &watching.files;
        files.put("a", "one");
        files.put("d/b", "two");
        files.put("ignored/x", "x");
        files.put(".gitignore", "ignored/\n");
        symlink("d", files.path("l")).unwrap();
        for name in ["a", "d/b", ".gitignore"] {
            watching.set_mode(name, 0o644);
        }
        // What is brought to light must be older than the look.
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(watching.command(run), Watched::default(), "{what}");
        assert_eq!(watching.noted(), expected, "{what}");
    }
}

#[test]
fn what_others_change_between_commands_is_not_the_commands() {
    let watching = Watching::new();
    watching.files.put("a", "one");
    watching.command(|_| {});
    watching.files.put("a", "two");
    watching.files.put("b", "theirs");
    watching.command(|_| {});
    assert_eq!(watching.noted(), "");
    watching.command(put("a", "three"));
    assert_eq!(watching.noted(), "a two 644>644");
}

/// Changes in the same tick of the clock can leave the same times and sizes.
#[test]
fn fast_changes_in_place_are_seen() {
    let watching = Watching::new();
    for round in 1..40 {
        watching.files.put("a", "1");
        watching.command(put("a", "0"));
        assert_eq!(watching.noted(), "a 1 644>644", "round {round}");
    }
}

/// … which is why a stamp counts only some time after the change.
#[test]
fn a_fresh_stamp_is_not_trusted() {
    let watching = Watching::new();
    watching.files.put("a", "1");
    let settled = || {
        watching.command(|_| {});
        let Sight::Open(snapshot) = &watching.watch.lock().unwrap().sight else { panic!() };
        snapshot.index.values().all(|seen| seen.settled)
    };
    assert!(!settled());
    std::thread::sleep(Duration::from_millis(25));
    assert!(settled());
}

#[test]
fn bytes_and_names_are_taken_as_they_are() {
    let watching = Watching::new();
    let content = [0xff, 0, 0xc3, b'\r', b'\n', 0xfe];
    watching.files.put("bin", content);
    let unspeakable = watching.files.workspace.root.join(std::ffi::OsStr::from_bytes(b"\xff"));
    fs::write(&unspeakable, "x").unwrap();
    watching.command(|files| {
        files.put("bin", "");
        fs::write(&unspeakable, "y").unwrap();
    });
    let changes = watching.files.journal.changes.lock().unwrap();
    let [(change, before)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(before.as_deref(), Some(&content[..]));
    assert_eq!((change.by, change.call_id.as_str()), (ChangedBy::Command, "call_1"));
    assert_eq!(change.after, crate::hash::sha256(b""));
}

#[test]
fn beyond_the_limits_nothing_is_noted_and_it_is_said_once() {
    let workspace = "what commands change in this workspace cannot be undone: ";
    let session = " in this session; further ones ";
    for (limits, said) in [
        (Limits { files: 2, ..LIMITS }, format!("{workspace}it has more than 2 files")),
        (Limits { bytes: 5, ..LIMITS }, format!("{workspace}its files are more than 5 bytes")),
        (
            Limits { time: Duration::ZERO, late: 1, ..LIMITS },
            format!("{workspace}looking at its files takes more than 0ns"),
        ),
        (
            Limits { time: Duration::ZERO, ..LIMITS },
            "what this command changes cannot be undone: looking at its files takes more than 0ns"
                .to_owned(),
        ),
        (
            Limits { changes: 0, ..LIMITS },
            format!("commands have made more than 0 changes{session}cannot be undone"),
        ),
    ] {
        let watching = Watching::within(limits);
        for name in ["a", "b", "c"] {
            watching.files.put(name, "one");
        }
        let first = watching.command(put("a", "new"));
        assert_eq!(first, Watched { blind: true, notes: vec![said.clone()] });
        let second = watching.command(put("a", "newer"));
        assert_eq!(second, Watched { blind: true, notes: Vec::new() }, "{said}");
        assert_eq!(watching.noted(), "", "{said}");
    }
}

#[test]
fn a_large_file_is_left_out_and_a_full_store_keeps_no_more() {
    let watching = Watching::within(Limits { file: 3, kept: 4, ..LIMITS });
    watching.files.put("large", "1234");
    watching.files.put("a", "one");
    let beyond = "what commands do to files over 3 bytes, or unreadable ones, cannot be undone";
    let noted = |watched: Watched| (watched.notes, watching.noted());
    assert_eq!(noted(watching.command(put("large", "4321"))), (vec![beyond.into()], String::new()));
    assert_eq!(noted(watching.command(put("large", "1"))), (Vec::new(), String::new()));
    assert_eq!(noted(watching.command(put("a", "two"))).1, "a one 644>644");
    let full = "commands have changed more than 4 bytes of files in this session; further ones are \
                not kept for undo";
    let expected = (vec![full.into()], "a - 644>644".into());
    assert_eq!(noted(watching.command(put("a", "six"))), expected);
}

#[test]
fn without_a_log_there_is_no_undo() {
    let mut watching = Watching::new();
    watching.files.journal.broken = true;
    let why = "what this command changed cannot be undone: no space left on device";
    let watched = watching.command(put("a", "one"));
    assert_eq!(watched, Watched { blind: true, notes: vec![why.to_owned()] });
    watching.place.folder = None;
    let watched = watching.command(put("a", "two"));
    assert_eq!(watched, Watched { blind: true, notes: Vec::new() });
}

#[test]
fn an_interrupted_command_is_watched_to_its_end() {
    let watching = Watching::new();
    let watched = watching.command(|files| {
        files.put("a", "half");
        files.cancel.cancel();
    });
    assert_eq!((watched, watching.noted()), (Watched::default(), "a - ->644".to_owned()));
    let watched = watching.command(put("b", "x"));
    assert_eq!(watched, Watched { blind: true, notes: Vec::new() });
}

#[test]
fn another_session_starts_anew_and_the_sessions_own_files_do_not_count() {
    let mut watching = Watching::new();
    watching.place.folder = Some(watching.files.path("sessions/one.files"));
    watching.command(put("sessions/one.jsonl", "log"));
    watching.place.folder = Some(watching.files.path("sessions/two.files"));
    watching.command(put("a", "x"));
    assert_eq!(watching.noted(), "a - ->644");
    assert_eq!(LINK_MODE, 0o120_000);
}
