//! The file tools from end to end: what the model asks for is what happens on disk, byte for byte.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::support::assert::assert_says;
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Call, Reply, call, edit, read, shell, write};

/// One turn in which the model makes these calls, one per step; gives the last request.
fn steps(setup: impl FnOnce(&Env), calls: impl IntoIterator<Item = Call>) -> (Env, Request) {
    let mut replies: Vec<_> = calls.into_iter().map(|call| Reply::calls([call])).collect();
    replies.push(Reply::text("Done."));
    let provider = Provider::start(replies);
    let env = Env::new(&provider);
    setup(&env);
    let _ = env.ask("go");
    (env, provider.last_request())
}

/// Reads and edits `f` that holds these bytes; gives the bytes after.
fn edited(before: &[u8], old: &str, new: &str) -> (Vec<u8>, String) {
    let (env, request) =
        steps(|env| env.write("f", before), [read("c1", "f"), edit("c2", "f", old, new)]);
    (env.bytes("f"), request.result("c2").to_owned())
}

#[test]
fn bytes_outside_the_edit_stay_as_they_are() {
    let cases: &[(&[u8], &str, &str, &[u8])] = &[
        (b"n = 7\n# \xfcber\n", "n = 7", "n = 8", b"n = 8\n# \xfcber\n"),
        (b"\x80\xfe odd\nn = 7\n", "n = 7", "n = 8", b"\x80\xfe odd\nn = 8\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nB", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "c", "C", b"a\r\nb\nC\r\n"),
        (b"\xef\xbb\xbftop\nend\n", "top", "TOP", b"\xef\xbb\xbfTOP\nend\n"),
        (b"\xef\xbb\xbftop\nend\n", "top\nend", "one", b"\xef\xbb\xbfone\n"),
        (b"no final newline", "final", "last", b"no last newline"),
        (b"in\xef\xbb\xbfside\nx\n", "x", "y", b"in\xef\xbb\xbfside\ny\n"),
    ];
    for (before, old, new, after) in cases {
        let (bytes, result) = edited(before, old, new);
        assert_eq!(bytes, *after, "{result}");
    }
}

#[test]
fn replacement_text_is_taken_literally() {
    let new = "p=$$ m=$& a=$1 b=${n} c=$` d=$' e=\\1 \\n";
    assert_eq!(edited(b"X\n", "X", new).0, format!("{new}\n").into_bytes());
}

#[test]
fn an_edit_that_is_not_unique_absent_empty_or_idle_changes_nothing() {
    let before = b"foo()\nbar\nfoo()\nfoo()\n";
    let cases = [
        ("foo()", "x", "3|lines 1, 3"),
        ("absent()", "x", "not found|no match|does not occur|is not in"),
        ("", "x", "empty"),
        ("bar", "bar", "same|identical|equal|nothing"),
    ];
    for (old, new, expected) in cases {
        let (bytes, result) = edited(before, old, new);
        assert_eq!(bytes, before);
        assert_says(&result, &[expected]);
    }
}

#[test]
fn replace_all_replaces_all_and_counts() {
    let all =
        json!({"file_path": "f", "old_string": "foo()", "new_string": "x", "replace_all": true});
    let (env, request) = steps(
        |env| env.write("f", "foo()\nfoo()\nfoo()\n"),
        [read("c1", "f"), call("c2", "edit", all)],
    );
    assert_eq!(env.text("f"), "x\nx\nx\n");
    assert_says(request.result("c2"), &["3"]);
}

#[test]
fn a_failed_edit_shows_the_nearest_place_and_the_code_points() {
    let (_, result) = edited(
        "say \u{201c}hello\u{201d} now\u{a0}please\n".as_bytes(),
        "say \"hello\" now friend",
        "x",
    );
    assert_says(&result, &["line 1|1:", "U+201C"]);
}

#[test]
fn a_file_must_be_read_before_it_is_changed() {
    let setup = |env: &Env| env.write("f", "old\n");
    for change in [edit("c1", "f", "old", "new"), write("c1", "f", "new\n")] {
        let (env, request) = steps(setup, [change]);
        assert_eq!(env.text("f"), "old\n");
        assert_says(request.result("c1"), &["read"]);
    }
}

#[test]
fn a_file_changed_by_another_since_the_read_is_not_overwritten() {
    // Same size, and the same time as before: only the content tells.
    let foreign = "touch -r f stamp; printf 'new\\n' > f; touch -r stamp f";
    let setup = |env: &Env| env.write("f", "old\n");
    for change in [edit("c3", "f", "new", "mine"), write("c3", "f", "mine\n")] {
        let (env, request) = steps(setup, [read("c1", "f"), shell("c2", foreign), change]);
        assert_eq!(env.text("f"), "new\n");
        assert_says(request.result("c3"), &["changed", "read"]);
    }
}

#[test]
fn own_changes_do_not_block_the_next_one() {
    let calls = [
        write("c1", "sub/new.txt", "one\n"),
        edit("c2", "sub/new.txt", "one", "two"),
        write("c3", "sub/new.txt", "three\n"),
        edit("c4", "sub/new.txt", "three", "four"),
    ];
    let (env, _request) = steps(|_| (), calls);
    assert_eq!(env.text("sub/new.txt"), "four\n");
}

#[test]
fn a_file_created_by_another_meanwhile_is_not_overwritten() {
    let calls = [shell("c1", "echo theirs > f"), write("c2", "f", "mine\n")];
    let (env, request) = steps(|_| (), calls);
    assert_eq!(env.text("f"), "theirs\n");
    assert_says(request.result("c2"), &["read"]);
}

#[test]
fn mode_and_links_are_kept() {
    let setup = |env: &Env| {
        env.write("s.sh", "echo one\n");
        fs::set_permissions(env.path("s.sh"), fs::Permissions::from_mode(0o755)).expect("a mode");
        env.write("real.txt", "one\n");
        symlink("real.txt", env.path("link.txt")).expect("a link");
    };
    let calls = [
        read("c1", "s.sh"),
        edit("c2", "s.sh", "one", "two"),
        read("c3", "link.txt"),
        edit("c4", "link.txt", "one", "two"),
    ];
    let (env, _request) = steps(setup, calls);
    assert_eq!((env.text("s.sh"), env.text("real.txt")), ("echo two\n".into(), "two\n".into()));
    let mode = fs::metadata(env.path("s.sh")).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(fs::symlink_metadata(env.path("link.txt")).expect("metadata").is_symlink());
}

#[test]
fn a_read_says_what_it_shows() {
    let cases: &[(&[u8], &str)] = &[
        (b"a\nb\n", "f\n1: a\n2: b\n[Line endings: LF. Total lines: 2.]"),
        (b"a\r\nb\r\n", "f\n1: a\n2: b\n[Line endings: CRLF. Total lines: 2.]"),
    ];
    for (bytes, expected) in cases {
        let (_env, request) = steps(|env| env.write("f", bytes), [read("c1", "f")]);
        assert_eq!(request.result("c1"), *expected);
    }
}

#[test]
fn a_read_beyond_the_end_says_how_long_the_file_is() {
    let beyond = call("c1", "read", json!({"file_path": "f", "offset": 99}));
    let (env, request) = steps(|env| env.write("f", "a\nb\n"), [beyond]);
    assert_says(request.result("c1"), &["2"]);
    assert_eq!(env.log().result("c1")["is_error"], true);
}

#[test]
fn what_is_no_regular_file_is_named_at_once() {
    let setup = |env: &Env| {
        env.write("sub/file.txt", "text\n");
        env.write("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0\xff\xfe\xfd".repeat(50));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            env.path("pipe"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .expect("a FIFO");
        symlink("/dev/zero", env.path("zero")).expect("a link");
    };
    let calls = [
        read("c1", "pipe"),
        read("c2", "sub"),
        read("c3", "program"),
        read("c4", "zero"),
        read("c5", "missing.txt"),
        call("c6", "grep", json!({"pattern": "text"})),
        write("c7", "pipe", "x"),
    ];
    let (_env, request) = steps(setup, calls);
    let expected = [
        "pipe|fifo",
        "folder|directory",
        "binary|executable",
        "outside|device|regular",
        "not exist|no such|missing|not found",
        "sub/file.txt",
        "pipe|fifo|regular",
    ];
    for (index, words) in expected.iter().enumerate() {
        assert_says(request.result(&format!("c{}", index + 1)), &[words]);
    }
}

#[test]
fn nothing_outside_the_workspace_is_touched() {
    let setup = |env: &Env| {
        fs::write(env.root().join("secret.txt"), "secret content\n").expect("a file");
        fs::create_dir(env.root().join("out")).expect("a folder");
        fs::create_dir(env.root().join("work-evil")).expect("a folder");
        let evil = env.root().join("work-evil/secret.txt");
        fs::write(evil, "secret content\n").expect("a file");
        symlink("../secret.txt", env.path("leak")).expect("a link");
        symlink("../out", env.path("o")).expect("a link");
        env.write("inner.txt", "inner\n");
        symlink("inner.txt", env.path("fine")).expect("a link");
    };
    let calls = [
        read("c1", "../secret.txt"),
        read("c2", "leak"),
        read("c3", "/etc/passwd"),
        read("c4", "/proc/self/root/etc/passwd"),
        write("c5", "o/new.txt", "x"),
        write("c6", "../new.txt", "x"),
        call("c7", "grep", json!({"pattern": "secret", "path": ".."})),
        call("c8", "glob", json!({"pattern": "../*"})),
        read("c9", ".xsh/.gitignore"),
        read("c10", "fine"),
        read("c11", "/proc/self/cwd/../secret.txt"),
        read("c12", "/dev/fd/0"),
        read("c13", "../work-evil/secret.txt"),
        read("c14", "o/../secret.txt"),
        write("c15", ".XSH/x", "x"),
    ];
    let (env, request) = steps(setup, calls);
    for id in ["c1", "c2", "c3", "c4", "c7", "c8", "c9", "c11", "c12", "c13", "c14"] {
        let said = request.result(id);
        for leak in ["secret content", "root:x", "1: *"] {
            assert!(!said.contains(leak), "{id}: {said}");
        }
    }
    for id in ["c1", "c11", "c12", "c13", "c14"] {
        assert_says(request.result(id), &["outside"]);
    }
    assert_says(request.result("c15"), &["belongs to xsh itself"]);
    assert!(!env.root().join("out/new.txt").exists() && !env.root().join("new.txt").exists());
    assert_says(request.result("c10"), &["1: inner"]);
}

#[test]
fn a_question_shows_where_a_change_goes_and_nothing_else_is_changed() {
    let provider = Provider::start([
        Reply::calls([write("c1", "notes.txt", "x\n")]),
        Reply::calls([write("c2", "notes.txt", "y\n")]),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    fs::create_dir(env.path("real")).expect("a folder");
    symlink("real/new.txt", env.path("notes.txt")).expect("a link");
    let pty = Pty::xsh(&env, &["--permission-mode", "ask"]);
    pty.settle();
    pty.line("go");
    let screen = pty.wait_for("y yes, n no");
    assert_says(&screen, &["notes.txt (leads to real/new.txt)"]);
    fs::remove_file(env.path("notes.txt")).expect("a link");
    symlink("real/other.txt", env.path("notes.txt")).expect("a link");
    pty.line("y");
    pty.wait_for_screen("the next question", |s| s.contains("(leads to real/other.txt)"));
    assert_says(provider.request(1).result("c1"), &["leads to another file now"]);
    assert!(!env.exists("real/new.txt") && !env.exists("real/other.txt"));
    pty.wait_for_screen("its prompt", |s| s.matches("y yes, n no").count() >= 1);
    pty.line("y");
    pty.wait_for("Done.");
    assert_eq!(env.text("real/other.txt"), "y\n");
}

#[test]
fn patterns_that_look_like_options_are_data() {
    let setup = |env: &Env| {
        env.write("a.css", "-moz-user-select: none;\nx --pre=sh y\n-e\n");
        env.write("-x/b.txt", "-moz too\n");
    };
    let calls = [
        call("c1", "grep", json!({"pattern": "-moz-user-select"})),
        call("c2", "grep", json!({"pattern": "--pre=sh"})),
        call("c3", "grep", json!({"pattern": "-e"})),
        call("c4", "grep", json!({"pattern": "moz", "path": "-x"})),
        call("c5", "grep", json!({"pattern": "("})),
        call("c6", "glob", json!({"pattern": "-x/*"})),
    ];
    let (env, request) = steps(setup, calls);
    assert_says(request.result("c1"), &["a.css", "-moz-user-select: none;"]);
    assert_says(request.result("c2"), &["--pre=sh"]);
    assert_says(request.result("c3"), &["a.css"]);
    assert_says(request.result("c4"), &["b.txt"]);
    assert_eq!(env.log().result("c5")["is_error"], true);
    assert_says(request.result("c5"), &["unclosed|position|column|missing|invalid"]);
    assert_says(request.result("c6"), &["b.txt"]);
}

#[test]
fn ignored_files_are_left_out_unless_named() {
    let setup = |env: &Env| {
        env.write(".gitignore", "/target\n*.log\n!keep.log\n");
        env.write("target/out.txt", "needle\n");
        env.write("sub/target/in.txt", "needle\n");
        env.write("drop.log", "needle\n");
        env.write("keep.log", "needle\n");
        env.write(".git/config", "needle\n");
    };
    let calls = [
        call("c1", "grep", json!({"pattern": "needle", "mode": "files"})),
        call("c2", "glob", json!({"pattern": "**/*"})),
        call("c3", "grep", json!({"pattern": "needle", "path": "target"})),
        read("c4", "target/out.txt"),
    ];
    let (_env, request) = steps(setup, calls);
    for id in ["c1", "c2"] {
        let said = request.result(id);
        assert_says(said, &["sub/target/in.txt", "keep.log"]);
        for absent in ["target/out.txt", "drop.log", ".git/config"] {
            assert!(!said.lines().any(|line| line.starts_with(absent)), "{id}: {said}");
        }
    }
    assert_says(request.result("c3"), &["out.txt"]);
    assert_says(request.result("c4"), &["1: needle"]);
}
