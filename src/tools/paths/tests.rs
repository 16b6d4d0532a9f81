use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;
use crate::tools::fixture::Fixture;

/// `work/src/main.rs`, `work/README.md`; beside it `work-old/x`, `outside/secret`.
fn workspace() -> Fixture {
    let fixture = Fixture::new();
    fixture.put("src/main.rs", "");
    fixture.put("README.md", "");
    for name in ["work-old/x", "outside/secret"] {
        let path = fixture.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fixture
}

fn beside(fixture: &Fixture, name: &str) -> String {
    fixture.dir.path().join(name).to_str().unwrap().to_owned()
}

#[track_caller]
fn inside(fixture: &Fixture, given: &str, expected: &str) {
    let path = fixture.workspace.resolve(given).unwrap();
    assert_eq!(path.shown, expected, "{given}");
    let rest = if expected == "." { "" } else { expected };
    assert_eq!(path.real, fixture.workspace.root.join(rest).components().collect::<PathBuf>());
}

#[track_caller]
fn refused(fixture: &Fixture, given: &str, why: &str) {
    let error = fixture.workspace.resolve(given).unwrap_err();
    assert!(error.contains(why), "{given}: {error}");
}

#[test]
fn paths_inside_are_resolved() {
    let fixture = workspace();
    let root = fixture.workspace.root.to_str().unwrap().to_owned();
    symlink("src", fixture.path("link")).unwrap();
    symlink(&root, beside(&fixture, "way-in")).unwrap();
    for (given, expected) in [
        ("src/main.rs", "src/main.rs"),
        ("./src/./main.rs", "src/main.rs"),
        ("src/../README.md", "README.md"),
        ("link/main.rs", "src/main.rs"),
        ("link/../README.md", "README.md"),
        (".", "."),
        ("", "."),
        ("src/", "src"),
        ("new/deep/file.txt", "new/deep/file.txt"),
        ("link/new.rs", "src/new.rs"),
        ("file with  blanks", "file with  blanks"),
        ("..hidden/...", "..hidden/..."),
        (".xshrc", ".xshrc"),
        ("-x", "-x"),
    ] {
        if !given.is_empty() {
            inside(&fixture, given, expected);
        }
        inside(&fixture, &format!("{root}/{given}"), expected);
        inside(&fixture, &format!("{}/{given}", beside(&fixture, "way-in")), expected);
        inside(&fixture, &format!("/proc/self/root{root}/{given}"), expected);
    }
}

#[test]
fn paths_outside_are_refused_whatever_their_text() {
    let fixture = workspace();
    let work = &fixture.workspace.root;
    symlink(beside(&fixture, "outside"), work.join("out")).unwrap();
    symlink(beside(&fixture, "outside/not-there"), work.join("dangling-out")).unwrap();
    symlink("../../outside/secret", work.join("src/secret")).unwrap();
    symlink("out", work.join("twice")).unwrap();
    symlink("/", work.join("top")).unwrap();
    for given in [
        "..",
        "../outside/secret",
        "src/../../work-old/x",
        "../work-old/x",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/../../../../../../etc/passwd",
        "/dev/zero",
        "out/secret",
        "out/new.txt",
        "out/..",
        "dangling-out",
        "src/secret",
        "twice/secret",
        "top/etc/passwd",
        "top/../etc/passwd",
        "out/../outside/secret",
        "/proc/self/cwd/x",
        "/proc/self/fd/0",
        "/dev/fd/0",
        "/dev/stdin",
    ] {
        refused(&fixture, given, "outside the workspace");
    }
    refused(&fixture, &beside(&fixture, "work-old/x"), "outside the workspace");
    refused(&fixture, &"../".repeat(500), "outside the workspace"); // in no time
    refused(&fixture, "/src/main.rs", "Did you mean `src/main.rs`?");
}

#[test]
fn links_that_stay_inside_work_and_the_others_say_why() {
    let fixture = workspace();
    let work = &fixture.workspace.root;
    symlink("loop", work.join("loop")).unwrap();
    symlink("a/../b", work.join("b")).unwrap();
    symlink("src/later.rs", work.join("dangling")).unwrap();
    symlink("..", work.join("src/up")).unwrap();
    inside(&fixture, "dangling", "src/later.rs");
    inside(&fixture, "src/up/src/up/README.md", "README.md");
    refused(&fixture, "loop/x", "loop of links");
    refused(&fixture, "README.md/x", "not a folder");
    refused(&fixture, "nowhere/../README.md", "does not exist");
    refused(&fixture, "b", "does not exist");
}

#[test]
fn a_workspace_that_is_named_by_a_link_is_the_folder_behind_it() {
    let fixture = workspace();
    let way_in = PathBuf::from(beside(&fixture, "way-in"));
    symlink(&fixture.workspace.root, &way_in).unwrap();
    let workspace = Workspace::new(&way_in, &[]).unwrap();
    assert_eq!(workspace, fixture.workspace);
    assert!(workspace.resolve(way_in.join("src/main.rs").to_str().unwrap()).is_ok());
    assert!(workspace.resolve(&beside(&fixture, "way-in-old")).is_err());
}

#[test]
fn an_absolute_link_that_stays_inside_works() {
    let fixture = workspace();
    let work = &fixture.workspace.root;
    symlink(work.join("src"), work.join("absolute")).unwrap();
    symlink("absolute", work.join("to-link")).unwrap();
    inside(&fixture, "to-link/main.rs", "src/main.rs");
    inside(&fixture, "to-link/../README.md", "README.md");
}

#[test]
fn texts_that_are_no_paths_are_told() {
    let fixture = workspace();
    for (given, why) in [
        ("", "empty"),
        (" \n", "empty"),
        ("a\0b", "NUL"),
        ("~", "not expanded"),
        ("~/x", "not expanded"),
        ("file:///etc/passwd", "`/etc/passwd`"),
        ("README.md/", "ends in `/`"),
        ("newdir/", "ends in `/`"),
    ] {
        refused(&fixture, given, why);
    }
    refused(&fixture, &"n".repeat(300), "cannot be followed");
}

#[test]
fn the_own_folder_is_closed_but_for_outputs() {
    let fixture = workspace();
    fixture.put(".xsh/config.toml", "");
    fixture.put(".xsh/outputs/call_1.txt", "");
    fixture.put("src/.xsh/x", "");
    symlink(".xsh/config.toml", fixture.path("config")).unwrap();
    for given in [
        ".xsh",
        ".xsh/config.toml",
        ".xsh/new",
        ".XSH/config.toml",
        "src/.xsh/x",
        "config",
        // What file systems that fold or ignore characters take for it.
        ".xSh/x",
        ".x\u{17f}h/x",
        ".x\u{200c}sh/x",
        "\u{feff}.xsh/x",
    ] {
        refused(&fixture, given, "belongs to xsh");
        assert!(fixture.workspace.resolve_readable(given, &fixture.outputs).is_err());
    }
    let output = ".xsh/outputs/call_1.txt";
    refused(&fixture, output, "belongs to xsh");
    let path = fixture.workspace.resolve_readable(output, &fixture.outputs).unwrap();
    assert_eq!(path.shown, output);
    let escape = ".xsh/outputs/../config.toml";
    assert!(fixture.workspace.resolve_readable(escape, &fixture.outputs).is_err());
    let outputs = PathBuf::from(beside(&fixture, "outside"));
    let secret = beside(&fixture, "outside/secret");
    assert!(fixture.workspace.resolve_readable(&secret, &outputs).is_ok());
    assert!(fixture.workspace.resolve_readable(output, Path::new("/nonexistent")).is_err());
}

#[test]
fn extra_folders_are_open_and_shown_in_full() {
    let fixture = workspace();
    let outside = PathBuf::from(beside(&fixture, "outside"));
    let workspace =
        Workspace::new(&fixture.workspace.root, std::slice::from_ref(&outside)).unwrap();
    let path = workspace.resolve("../outside/secret").unwrap();
    assert_eq!(path.shown, outside.canonicalize().unwrap().join("secret").to_str().unwrap());
    assert!(workspace.resolve("../work-old/x").is_err());
    assert!(workspace.resolve("../outside/.xsh/x").is_err());
}

#[test]
fn missing_paths_suggest_what_was_meant() {
    let fixture = workspace();
    fixture.put("docs/guide/intro.md", "");
    fixture.put("Makefile", "");
    for (given, meant) in [
        ("readme.md", "`README.md`"),
        ("src/mian.rs", "`src/main.rs`"),
        ("src/Main.rs", "`src/main.rs`"),
        ("scr/main.rs", "`src/main.rs`"),
        ("doc/guide/intro.md", "`docs/guide/intro.md`"),
        ("src\\main.rs", "`src/main.rs`"),
        ("b/src/main.rs", "`src/main.rs`"),
        ("work/src/main.rs", "`src/main.rs`"),
        ("@src/main.rs", "`src/main.rs`"),
        (" README.md", "`README.md`"),
        ("makefile", "`Makefile`"),
    ] {
        let path = fixture.workspace.resolve(given).unwrap();
        let told = fixture.workspace.missing(given, &path);
        assert!(told.contains(&format!("Did you mean {meant}")), "{given}: {told}");
    }
    let path = fixture.workspace.resolve("zzzzzz").unwrap();
    let told = fixture.workspace.missing("zzzzzz", &path);
    assert_eq!(told, "`zzzzzz` does not exist. Use `glob` to find it.");
}

#[test]
fn both_unicode_forms_of_a_name_mean_the_file() {
    let fixture = workspace();
    fixture.put("re\u{301}sume\u{301}.txt", "");
    inside(&fixture, "r\u{E9}sum\u{E9}.txt", "re\u{301}sume\u{301}.txt");
    fixture.put("\u{C9}t\u{E9}/x", "");
    inside(&fixture, "E\u{301}te\u{301}/x", "\u{C9}t\u{E9}/x");
    fixture.put("r\u{E9}sume\u{301}.txt", "");
    // Two files of the same look: neither is guessed.
    inside(&fixture, "r\u{E9}sum\u{E9}.txt", "r\u{E9}sum\u{E9}.txt");
}

#[test]
fn control_characters_do_not_break_the_line() {
    let fixture = workspace();
    let path = fixture.workspace.resolve("a\nb\u{1B}").unwrap();
    assert_eq!(path.shown, "a\\nb\\u{1b}");
    assert!(path.real.ends_with("a\nb\u{1B}"));
}

#[test]
fn only_regular_files_are_opened() {
    let fixture = workspace();
    let work = &fixture.workspace.root;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        work.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(work.join("sock")).unwrap();
    symlink("README.md", work.join("link")).unwrap();
    symlink("src", work.join("folder-link")).unwrap();
    for (real, kind) in [
        (work.join("pipe"), "a named pipe (FIFO)"),
        (work.join("sock"), "a socket"),
        (work.join("src"), "is a folder"),
        (work.join("link"), "a link"),
        (PathBuf::from("/"), "is a folder"),
        (work.join("folder-link/main.rs"), "a link lies on the way"),
        (PathBuf::from("/dev/zero"), "a character device"),
    ] {
        let path = Resolved { shown: real.to_str().unwrap().to_owned(), real };
        let error = open_regular(&path).unwrap_err();
        assert!(error.contains(kind), "{error}");
    }
    let path = fixture.workspace.resolve("README.md").unwrap();
    assert!(open_regular(&path).unwrap().is_some());
    let path = fixture.workspace.resolve("not-there").unwrap();
    assert!(open_regular(&path).unwrap().is_none());
}
