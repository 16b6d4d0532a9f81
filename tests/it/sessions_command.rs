//! `xsh sessions`: finding and showing what was said.

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Reply, shell};

/// Two sessions in the workspace, one of them with a tool call.
fn two_sessions() -> (Provider, Env) {
    let provider = Provider::start([
        Reply::calls([shell("c1", "echo from the tool")]),
        Reply::text("The parser is fixed."),
        Reply::text("Nothing to do."),
    ]);
    let env = Env::new(&provider);
    let _ = env.ask("fix the parser");
    let _ = env.ask("anything else?");
    (provider, env)
}

fn id(env: &Env, index: usize) -> String {
    let path = env.sessions().into_iter().nth(index).expect("a session");
    path.file_stem().and_then(|name| name.to_str()).expect("UTF-8").to_owned()
}

#[test]
fn the_list_names_each_session_of_the_workspace() {
    let (_provider, mut env) = two_sessions();
    for args in [&["sessions"][..], &["sessions", "list"]] {
        let output = env.run(args).expect_code(0);
        assert_says(
            &output.stdout,
            &[&id(&env, 0), &id(&env, 1), "fix the parser", "anything else?"],
        );
    }
    env.enter("other");
    assert_silent_on(&env.run(&["sessions"]).expect_code(0).stdout, &["fix the parser"]);
}

#[test]
fn one_session_can_be_shown_by_a_prefix_of_its_id() {
    let (_provider, env) = two_sessions();
    let output = env.run(&["sessions", "show", &id(&env, 0)]).expect_code(0);
    assert_says(&output.stdout, &["fix the parser", "echo from the tool", "The parser is fixed."]);
    let unknown = env.run(&["sessions", "show", "no-such-id"]).expect_code(2);
    assert_says(&unknown.stderr, &["error:", "no-such-id"]);
}

#[test]
fn what_is_shown_is_inert() {
    let provider = Provider::start([Reply::text("clear \u{1b}[2J the \u{202e}neercs\u{200b}")]);
    let env = Env::new(&provider);
    let _ = env.ask("escape \u{1b}]0;owned\u{7} codes\u{200b} \u{9b}5A");
    let id = id(&env, 0);
    let export = |format| ["sessions", "export", &*id, "--format", format];
    for args in [
        &["sessions"][..],
        &["sessions", "show", &id],
        &["sessions", "search", "codes"],
        &export("md"),
        &export("html"),
        &export("json"),
    ] {
        let output = env.run(args).expect_code(0);
        assert_says(&output.stdout, &["codes"]);
        let raw = ["\u{1b}", "\u{7}", "\u{9b}", "\u{202e}", "\u{200b}"];
        assert_silent_on(&output.stdout, &raw);
    }
}

#[test]
fn listing_needs_no_provider_and_survives_damaged_files() {
    let (_provider, mut env) = two_sessions();
    for name in ["XSH_BASE_URL", "XSH_API_KEY", "XSH_MODEL"] {
        env.unset(name);
    }
    env.write(".xsh/sessions/20260101T000000Z-aaaaaa.jsonl", "not a session\n");
    env.write(".xsh/sessions/20260101T000001Z-bbbbbb.jsonl", "");
    let output = env.run(&["sessions"]).expect_code(0);
    assert_says(&output.stdout, &["fix the parser", "anything else?"]);
}

#[test]
fn many_sessions_are_listed() {
    let (_provider, env) = two_sessions();
    let whole = std::fs::read_to_string(&env.sessions()[0]).expect("a session");
    let original = id(&env, 0);
    for number in 0..1500 {
        let name = format!("20260102T000000Z-{number:06x}");
        env.write(&format!(".xsh/sessions/{name}.jsonl"), whole.replace(&original, &name));
    }
    let output = env.run(&["sessions"]).expect_code(0);
    assert!(output.stdout.lines().count() >= 20, "{}", output.stdout);
    if output.stdout.lines().count() < 1502 {
        assert_says(&(output.stdout + &output.stderr), &["1502|more|older|not shown"]);
    }
}

#[test]
fn sessions_are_found_by_what_was_said_in_them() {
    let provider = Provider::answering(|_| Reply::text("The parser is in src/Parse.rs."));
    let env = Env::new(&provider);
    let _ = env.ask("where is the lexer?");
    let id = env.log().id().to_owned();
    let found = env.run(&["sessions", "search", "PARSER", "src"]).expect_code(0);
    assert_says(&found.stdout, &[&id, "The parser is in"]);
    let none = env.run(&["sessions", "search", "elephant"]).expect_code(0);
    assert_says(&none.stdout, &["no session holds elephant"]);
    let _ = env.run(&["sessions", "search"]).expect_code(2);
}

#[test]
fn they_are_searched_at_the_prompt_too() {
    let provider = Provider::answering(|_| Reply::text("The parser is in src/Parse.rs."));
    let env = Env::new(&provider);
    for number in 0..23 {
        let _ = env.ask(&format!("where is lexer {number}?"));
    }
    let pty = Pty::xsh(&env, &[]);
    pty.settle();
    pty.line("/sessions LEXER 7?");
    let screen = pty.wait_for_screen("what was found", |screen| screen.contains("lexer 7?"));
    assert!(!screen.contains("lexer 8?"), "{screen}");
    pty.line("/sessions parser");
    pty.wait_for("only the newest 20 are shown");
    pty.line("/sessions elephant");
    pty.wait_for("no session holds elephant");
    pty.line("/sessions");
    pty.wait_for("(3 older sessions not shown)");
}

/// What was killed while it was made has no first line; nothing breaks of it, nothing stays of it.
#[test]
fn a_session_that_holds_nothing_is_in_nobodys_way() {
    let provider = Provider::answering(|_| Reply::text("Yes."));
    let env = Env::new(&provider);
    let _ = env.ask("first");
    let half = "20990101T000000Z-aaaaaa";
    env.write(&format!(".xsh/sessions/{half}.jsonl"), "");
    env.write(&format!(".xsh/sessions/{half}.lock"), "1");
    env.write(".xsh/sessions/latest", half);
    let output = env.run(&["--resume", half, "-p", "hi"]).expect_code(1);
    assert_says(&output.stderr, &["it holds nothing", "help:"]);
    let _ = env.go_on("and on");
    env.write(".xsh/sessions/latest", half);
    let output = env.run(&["sessions"]).expect_code(0);
    assert!(!output.stdout.contains("cannot be read"), "{}", output.stdout);
    assert_eq!(env.sessions().len(), 1);
    assert!(!env.exists(&format!(".xsh/sessions/{half}.lock")));
}

/// The names that were opened in a folder while `run` went on; an empty one is the folder itself.
#[cfg(target_os = "linux")]
fn opened(folder: &std::path::Path, run: impl FnOnce()) -> std::collections::BTreeSet<String> {
    use rustix::fs::inotify;
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("inotify");
    inotify::add_watch(&watch, folder, inotify::WatchFlags::OPEN).expect("a watch");
    run();
    let mut names = std::collections::BTreeSet::new();
    let mut buffer = vec![std::mem::MaybeUninit::uninit(); 64 << 10];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    while let Ok(event) = events.next() {
        assert!(
            !event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW),
            "too many: {names:?}"
        );
        let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
        names.insert(name.unwrap_or_default());
    }
    names
}

/// However many sessions there are, a start looks at none but the one it goes on with.
#[cfg(target_os = "linux")]
#[test]
fn a_start_looks_at_no_other_session() {
    let provider = Provider::answering(|_| Reply::text("Yes."));
    let env = Env::new(&provider);
    let _ = env.ask("first");
    let whole = std::fs::read_to_string(&env.sessions()[0]).expect("a session");
    let original = id(&env, 0);
    for number in 0..5_000 {
        let name = format!("20260102T000000Z-{number:06x}");
        env.write(&format!(".xsh/sessions/{name}.jsonl"), whole.replace(&original, &name));
    }
    let folder = env.path(".xsh/sessions");
    let old = |name: &String| name.is_empty() || name.starts_with("20260102T");
    let new = opened(&folder, || drop(env.ask("second").stdout));
    assert!(!new.iter().any(old) && !new.is_empty(), "{new:?}");
    let resumed = opened(&folder, || drop(env.go_on("third").stdout));
    assert!(!resumed.iter().any(old) && !resumed.is_empty(), "{resumed:?}");
    let pty = opened(&folder, || {
        let pty = Pty::xsh(&env, &[]);
        pty.settle();
    });
    assert!(!pty.iter().any(old), "{pty:?}");
    // The list reads the folder, and only those that it shows.
    let listed = opened(&folder, || drop(env.run(&["sessions"]).stdout));
    let read = listed.iter().filter(|name| name.starts_with("2026")).count();
    assert!(listed.contains("") && (1..=60).contains(&read), "{read}: {listed:?}");
}

#[test]
fn a_session_becomes_a_document() {
    let (_provider, env) = two_sessions();
    let id = id(&env, 0);
    for (format, has) in [
        (&[][..], "# Session"),
        (&["--format", "md"], "\n> fix the parser\n"),
        (&["--format", "html"], "<!doctype html>"),
        (&["--format", "json"], "\"type\":\"tool_started\""),
    ] {
        let output = env.run(&[&["sessions", "export", &id], format].concat()).expect_code(0);
        assert_says(&output.stdout, &[has, &id, "from the tool", "The parser is fixed."]);
        assert_silent_on(&output.stdout, &["\"mark\""]);
    }
    let json = env.run(&["sessions", "export", &id, "--format", "json"]).stdout;
    let lines: Vec<serde_json::Value> = serde_json::from_str(&json).expect("JSON");
    let logged = std::fs::read_to_string(&env.sessions()[0]).expect("a session");
    for (exported, line) in lines.iter().zip(logged.lines()).skip(1) {
        assert_eq!(*exported, serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    }
    assert_eq!(lines.len(), logged.lines().count());
    for (args, says) in [
        (&["sessions", "export", &*id, "--format", "pdf"][..], "md, html, json"),
        (&["sessions", "export", "no-such-id"], "no-such-id"),
    ] {
        assert_says(&env.run(args).expect_code(2).stderr, &["error:", says]);
    }
    env.write("none.jsonl", "{}\n");
    let output = env.run(&["sessions", "export", "none.jsonl"]).expect_code(1);
    assert_says(&output.stderr, &["error: cannot read the session", "not a session file", "help:"]);
    assert_eq!(output.stdout, "");
}

#[test]
fn the_session_is_exported_at_the_prompt() {
    let provider = Provider::answering(|_| Reply::text("Done, as you wished."));
    let env = Env::new(&provider);
    env.write("taken.md", "mine");
    let pty = Pty::xsh(&env, &[]);
    pty.settle();
    pty.line("/export");
    pty.wait_for("error: nothing to export");
    pty.line("do it");
    pty.wait_for("as you wished");
    pty.settle();
    let id = id(&env, 0);
    for (line, says) in [
        ("/export", format!("exported to xsh-{id}.md")),
        ("/export a page.html", "exported to a page.html".to_owned()),
        ("/export notes", "end the name in .md, .html or .json".to_owned()),
        ("/export taken.md", "none is overwritten".to_owned()),
        ("/export no/folder.md", "a folder that exists".to_owned()),
    ] {
        pty.line(line);
        pty.wait_for(&says);
        pty.settle();
    }
    assert_says(&env.text(&format!("xsh-{id}.md")), &["> do it", "as you wished"]);
    assert_says(&env.text("a page.html"), &["<!doctype html>", "as you wished"]);
    assert_eq!(env.text("taken.md"), "mine");
}

#[test]
fn one_step_is_one_step() {
    let provider = Provider::answering(|_| Reply::text("Yes."));
    let env = Env::new(&provider);
    let _ = env.ask("hello");
    let shown = env.run(&["sessions", "show", env.log().id()]).expect_code(0).stdout;
    assert_says(&shown, &["· 1 step ·"]);
}
