use std::cell::Cell;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::*;
use crate::tools::fixture::Fixture;
use crate::tools::{Outcome, edit::Edit, glob::Glob, grep::Grep, read::Read, write::Write};

type Opener = fn(&Path, OFlags) -> io::Result<OwnedFd>;
/// With one call of the kernel, and as it is done without that.
const OPENERS: [Opener; 2] = [open, open_on_foot];

fn real(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().canonicalize().unwrap()
}

#[test]
fn a_path_is_opened_without_following_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let root = real(&dir);
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/file"), "inside").unwrap();
    symlink("b", root.join("a/link")).unwrap();
    symlink(root.join("a"), root.join("absolute")).unwrap();
    symlink("link/file", root.join("a/last")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    for (number, open) in OPENERS.iter().enumerate() {
        for (path, opens) in [
            ("a/b/file", true),
            ("a/./b/file", true),
            ("a", true),
            ("a/link/file", false),
            ("absolute/b/file", false),
            ("absolute", false),
            ("a/last", false),
            ("dangling", false),
            ("dangling/x", false),
            ("loop", false),
            ("loop/x", false),
        ] {
            let opened = open(&root.join(path), OFlags::RDONLY | OFlags::NOFOLLOW);
            match &opened {
                Ok(_) => assert!(opens, "{number}: {path}"),
                Err(error) => assert!(!opens && is_link(error), "{number}: {path}: {error}"),
            }
        }
        for path in ["/proc/self/cwd/Cargo.toml", "/proc/self/root/etc/passwd", "/dev/fd/0"] {
            let error = open(Path::new(path), OFlags::RDONLY | OFlags::NOFOLLOW).unwrap_err();
            assert!(is_link(&error), "{number}: {path}: {error}");
        }
        let missing = open(&root.join("a/none/x"), OFlags::RDONLY).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let file = open(&root.join("a/b/file/x"), OFlags::RDONLY).unwrap_err();
        assert_eq!(file.kind(), io::ErrorKind::NotADirectory);
        assert!(open(Path::new("/"), OFlags::RDONLY).is_ok());
    }
    for link in ["a/link", "absolute", "absolute/b", "loop"] {
        assert!(is_link(&Folder::open(&root.join(link)).unwrap_err()), "{link}");
    }
    for path in ["relative", "", "/tmp/../etc/passwd"] {
        let error = open_file(Path::new(path)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::INVAL.raw_os_error()), "{path}");
    }
}

#[test]
fn folders_made_in_vain_go_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = real(&dir);
    let deep = root.join("a/b/c");
    drop(Folder::make(&deep).unwrap());
    assert!(!root.join("a").exists());
    let made = Folder::make(&deep).unwrap();
    fs::write(root.join("a/theirs"), "").unwrap();
    drop(made);
    assert!(root.join("a/theirs").exists() && !root.join("a/b").exists());
    Folder::make(&deep).unwrap().1.keep();
    assert!(deep.is_dir());
    symlink("a", root.join("link")).unwrap();
    assert!(is_link(&Folder::make(&root.join("link/b/new")).unwrap_err()));
}

#[test]
fn a_folder_that_is_held_stays_the_same_whatever_takes_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let root = real(&dir);
    fs::create_dir_all(root.join("ours")).unwrap();
    fs::create_dir_all(root.join("theirs")).unwrap();
    let folder = Folder::open(&root.join("ours")).unwrap();
    let (first, _) = folder.temporary_file("s", 0o600).unwrap();
    let (second, _) = folder.temporary_file("s", 0o600).unwrap();
    fs::rename(root.join("ours"), root.join("moved")).unwrap();
    symlink("theirs", root.join("ours")).unwrap();
    first.create(OsStr::new("new")).unwrap();
    second.replace(OsStr::new("new")).unwrap();
    let link = folder.temporary_link("s", OsStr::new("x")).unwrap();
    let taken = link.create(OsStr::new("new")).unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    let names = |name: &str| fs::read_dir(root.join(name)).unwrap().flatten().count();
    assert_eq!((names("moved"), names("theirs")), (1, 0));
}

#[test]
fn any_change_of_a_file_shows_in_its_stamp() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::open(&real(&dir)).unwrap();
    let path = dir.path().join("f");
    let stamp = || folder.entry(OsStr::new("f")).unwrap().unwrap().stamp();
    fs::write(&path, "one").unwrap();
    let before = stamp();
    assert_eq!(stamp(), before);
    assert_eq!(Entry::of(&File::open(&path).unwrap()).unwrap().stamp(), before);
    fs::remove_file(&path).unwrap();
    assert!(folder.entry(OsStr::new("f")).unwrap().is_none());
    fs::write(dir.path().join("g"), "two").unwrap();
    fs::rename(dir.path().join("g"), &path).unwrap();
    assert_ne!(stamp(), before);
}

/// Swaps a folder for a link to the outside and back while `work` goes on.
fn while_swapped(fixture: &Fixture, work: impl Fn(usize)) {
    let outside = fixture.dir.path().canonicalize().unwrap().join("outside");
    let (ours, link) = (fixture.path("ours"), fixture.path("link"));
    symlink(&outside, &link).unwrap();
    let swap = || super::fs::renameat_with(CWD, &ours, CWD, &link, RenameFlags::EXCHANGE).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap();
                std::thread::yield_now();
                swap();
                std::thread::yield_now();
            }
        });
        let done =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (0..200).for_each(work)));
        stop.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn nothing_outside_is_read_or_written_while_a_folder_is_swapped_for_a_link() {
    let fixture = Fixture::new();
    let outside = fixture.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    for name in ["known", "other"] {
        fixture.put(&format!("ours/{name}"), "harmless needle\n");
        fs::write(outside.join(name), "SECRET needle\n").unwrap();
    }
    // The file outside passes for known too, so that only the guard stands before its change.
    let known = [("ours/known", "SECRET needle\n"), ("ours/other", "harmless needle\n")];
    let known =
        known.map(|(name, text)| (fixture.path(name), crate::hash::sha256(text.as_bytes())));
    let seen = Cell::new(0);
    while_swapped(&fixture, |round| {
        fixture.known.borrow_mut().extend(known.clone());
        let new = format!("ours/new-{}", round % 10);
        let deep = format!("ours/deep-{round}/x");
        let edit = |name: &str| json!({"file_path": name, "old_string": "needle", "new_string": format!("needle {round}")});
        let outcomes: [Outcome; 8] = [
            fixture.run::<Read>(json!({"file_path": "ours/known"})),
            fixture.run::<Grep>(json!({"pattern": "needle"})),
            fixture.run::<Grep>(json!({"pattern": "needle", "path": "ours"})),
            fixture.run::<Glob>(json!({"pattern": "**"})),
            fixture.run::<Write>(json!({"file_path": new, "content": "mine"})),
            fixture.run::<Write>(json!({"file_path": deep, "content": "mine"})),
            fixture.run::<Edit>(edit("ours/known")),
            fixture.run::<Edit>(edit("ours/other")),
        ];
        for outcome in &outcomes {
            assert!(!outcome.content.contains("SECRET"), "{}", outcome.content);
            seen.set(seen.get() + usize::from(outcome.content.contains("harmless")));
        }
    });
    assert!(seen.get() > 0, "the folder was never seen");
    let mut left: Vec<_> =
        fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["known", "other"]);
    for name in left {
        assert_eq!(fs::read(outside.join(name)).unwrap(), b"SECRET needle\n");
    }
    let ours = fixture.list("ours");
    assert!(ours.iter().all(|name| !name.ends_with(leftovers::TEMPORARY_SUFFIX)));
}

#[test]
fn a_pipe_that_was_swapped_in_does_not_block() {
    let dir = tempfile::tempdir().unwrap();
    let path = real(&dir).join("pipe");
    fs_pipe(&path);
    let mut text = String::new();
    open_file(&path).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
}

fn fs_pipe(path: &Path) {
    super::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}
