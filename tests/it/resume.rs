//! Going on with a session: which one, in which folder, and from what state of its file.

use std::fs;
use std::process::Command;

use crate::support::assert::{assert_says, assert_silent_on, count};
use crate::support::env::Env;
use crate::support::log::Log;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Reply, edit, read, shell};

/// A provider that answers all there is, and an environment with one session of one turn.
fn begun() -> (Provider, Env, Log) {
    let provider =
        Provider::answering(|request| Reply::text(&format!("Noted {}.", request.last())));
    let env = Env::new(&provider);
    let _ = env.ask("alpha");
    let log = env.log();
    (provider, env, log)
}

#[test]
fn a_session_can_be_named_in_several_ways() {
    let (provider, env, log) = begun();
    let path = log.path.to_str().expect("UTF-8");
    let prefix: String = log.id().chars().take(log.id().len() - 1).collect();
    let ways: &[&[&str]] = &[
        &["--continue"],
        &["-c"],
        &["--resume"],
        &["-r"],
        &["--resume", log.id()],
        &["--resume", &prefix],
        &["--resume", path],
    ];
    for (round, way) in ways.iter().enumerate() {
        let args = [way, &["-p", "beta"][..]].concat();
        let _ = env.run(&args).expect_code(0);
        let request = provider.last_request();
        assert_eq!(request.mentions("alpha"), 2, "{way:?}");
        assert_eq!(request.messages().len(), 4 + 2 * round, "{way:?}");
    }
    assert_eq!(env.sessions().len(), 1);
}

#[test]
fn without_a_flag_a_session_is_new() {
    let (provider, env, _log) = begun();
    let _ = env.ask("beta");
    assert_eq!(provider.last_request().roles(), "user");
    assert_eq!(env.sessions().len(), 2);
}

#[test]
fn the_latest_session_is_of_this_workspace() {
    let (provider, mut env, _log) = begun();
    env.enter("other");
    let _ = env.ask("gamma");
    env.enter("work");
    let _ = env.go_on("beta");
    assert_eq!(
        (provider.last_request().mentions("alpha"), provider.last_request().mentions("gamma")),
        (2, 0)
    );
    env.enter("empty");
    let output = env.run(&["-c", "-p", "beta"]);
    assert_ne!(output.code, 0);
    assert_says(&output.stderr, &["error:", "no session|no saved session"]);
}

#[test]
fn an_unknown_or_ambiguous_id_is_an_error() {
    let (_provider, env, _log) = begun();
    let _ = env.ask("beta");
    for (id, expected) in [
        ("no-such-id", "no session|no such session|not found"),
        ("2", "more than one|ambiguous|several|2 sessions"),
    ] {
        let output = env.run(&["--resume", id, "-p", "x"]).expect_code(2);
        assert_says(&output.stderr, &["error:", expected]);
    }
}

#[test]
fn a_session_resumes_in_its_own_folder() {
    let provider = Provider::start([
        Reply::text("One."),
        Reply::calls([shell("c1", "pwd"), read("c2", "here.txt")]),
        Reply::text("Two."),
    ]);
    let mut env = Env::new(&provider);
    env.write("here.txt", "in the first folder\n");
    let _ = env.ask("one");
    let (log, home) = (env.log(), env.workspace().to_owned());
    env.enter("other");
    let path = log.path.to_str().expect("UTF-8");
    let output =
        env.run(&["--permission-mode", "full", "--resume", path, "-p", "two"]).expect_code(0);
    let request = provider.last_request();
    assert_says(request.result("c1"), &[home.to_str().expect("UTF-8")]);
    assert_says(request.result("c2"), &["in the first folder"]);
    assert_says(&output.stderr, &[home.to_str().expect("UTF-8")]);
}

#[test]
fn a_recorded_folder_that_is_gone_is_said() {
    let (_provider, mut env, log) = begun();
    let kept = env.root().join("kept.jsonl");
    fs::copy(&log.path, &kept).expect("a copy");
    fs::remove_dir_all(env.workspace()).expect("removed");
    env.enter("other");
    let output = env.run(&["--resume", kept.to_str().expect("UTF-8"), "-p", "x"]);
    assert_says(&output.stderr, &["work"]);
    assert!(output.code != 0 || output.stderr.contains("warning:"), "{output:?}");
}

#[test]
fn a_torn_tail_is_cut_before_the_next_line() {
    for torn in [r#"{"type":"assistant_message","seq":9,"con"#, "{", "\u{0}\u{0}\u{0}"] {
        let (provider, env, log) = begun();
        let whole = log.bytes();
        log.overwrite(&[&whole[..], torn.as_bytes()].concat());
        let first = env.go_on("beta");
        assert_eq!(count(&first.stderr, "warning:"), 1, "{}", first.stderr);
        assert!(env.log().bytes().starts_with(&whole));
        let second = env.go_on("gamma");
        assert_silent_on(&second.stderr, &["warning:"]);
        assert_eq!(provider.last_request().roles(), "user assistant user assistant user");
    }
}

#[test]
fn a_whole_last_line_without_its_line_feed_is_not_lost() {
    let (provider, env, log) = begun();
    let mut bytes = log.bytes();
    bytes.pop();
    log.overwrite(&bytes);
    let _ = env.go_on("beta");
    let _ = env.go_on("gamma");
    assert_eq!(provider.last_request().roles(), "user assistant user assistant user");
}

#[test]
fn a_damaged_line_inside_is_skipped_and_named() {
    let (provider, env, log) = begun();
    let _ = env.go_on("beta");
    let text = String::from_utf8(log.bytes()).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    for index in 1..lines.len() {
        let mut damaged = lines.clone();
        damaged[index] = "{\"type\":\"user_mess\u{fffd}";
        let damaged = damaged.join("\n") + "\n";
        log.overwrite(damaged.as_bytes());
        let output = env.go_on("gamma");
        assert_says(&output.stderr, &["warning:", &format!("line {}", index + 1)]);
        let kept = fs::read(&log.path).expect("the file");
        assert!(kept.starts_with(damaged.as_bytes()), "the damaged file was rewritten");
        assert_eq!(provider.last_request().last(), "gamma");
    }
}

/// A line of a kind that this version does not know.
fn line_of_the_future(kind: &str, seq: usize, data: &str) -> String {
    let at = "2030-01-01T00:00:00.000Z";
    format!("{{\"type\":\"{kind}\",\"seq\":{seq},\"at\":\"{at}\",\"data\":\"{data}\"}}\n")
}

#[test]
fn unknown_kinds_and_fields_are_kept_and_skipped() {
    let (provider, env, log) = begun();
    let mut text = String::from_utf8(log.bytes()).expect("UTF-8");
    let seq = log.lines.len();
    text.push_str(&line_of_the_future("hologram", seq, ""));
    let text = text.replace("\"turn\":1,", "\"turn\":1,\"mood\":\"good\",");
    log.overwrite(text.as_bytes());
    let output = env.go_on("beta");
    assert_silent_on(&output.stderr, &["error:"]);
    assert_eq!(provider.last_request().roles(), "user assistant user");
    assert!(log.bytes().starts_with(text.as_bytes()));
}

#[test]
fn a_newer_version_and_a_foreign_file_are_refused_untouched() {
    let (provider, env, log) = begun();
    let text = String::from_utf8(log.bytes()).expect("UTF-8");
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    for (content, expected) in
        [(newer.as_str(), "version"), ("no session at all\n", "session"), ("", "session|empty")]
    {
        log.overwrite(content.as_bytes());
        let output = env.run(&["--resume", log.path.to_str().expect("UTF-8"), "-p", "x"]);
        assert_ne!(output.code, 0);
        assert_says(&output.stderr, &["error:", expected]);
        assert_eq!(fs::read_to_string(&log.path).expect("text"), content);
    }
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn times_that_run_backwards_change_nothing() {
    let (provider, env, log) = begun();
    let text = String::from_utf8(log.bytes()).expect("UTF-8");
    let year =
        text.split("\"created_at\":\"").nth(1).and_then(|rest| rest.get(..4)).expect("a year");
    let mut years = 2050;
    let lines: Vec<_> = text
        .lines()
        .map(|line| {
            years -= 1;
            line.replace(&format!("\"at\":\"{year}"), &format!("\"at\":\"{years}"))
        })
        .collect();
    log.overwrite((lines.join("\n") + "\n").as_bytes());
    let _ = env.go_on("beta");
    assert_eq!(provider.last_request().roles(), "user assistant user");
}

#[test]
fn what_was_read_stays_read_while_the_file_is_unchanged() {
    let provider = Provider::start([
        Reply::calls([read("c1", "a.txt"), read("c2", "b.txt")]),
        Reply::text("Read."),
        Reply::calls([edit("c3", "a.txt", "alpha", "ALPHA"), edit("c4", "b.txt", "beta", "BETA")]),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    env.write("a.txt", "alpha\n");
    env.write("b.txt", "beta\n");
    let _ = env.ask("read");
    env.write("b.txt", "beta, changed\n");
    let _ = env.go_on("edit");
    assert_eq!(env.text("a.txt"), "ALPHA\n");
    assert_eq!(env.text("b.txt"), "beta, changed\n");
    assert_says(provider.last_request().result("c4"), &["changed", "read"]);
}

#[test]
fn a_large_session_resumes() {
    let (provider, env, log) = begun();
    let mut text = String::from_utf8(log.bytes()).expect("UTF-8");
    let seq = log.lines.len();
    let filler = "x".repeat(500);
    for index in 0..20_000 {
        text.push_str(&line_of_the_future("telemetry", seq + index, &filler));
    }
    log.overwrite(text.as_bytes());
    let _ = env.go_on("beta");
    assert_eq!(provider.last_request().roles(), "user assistant user");
}

#[test]
fn a_wild_position_hides_nothing_behind_it() {
    let (provider, env, log) = begun();
    let whole = String::from_utf8(log.bytes()).expect("UTF-8");
    let lines: Vec<&str> = whole.lines().collect();
    let wild = r#"{"type":"user_message","seq":18446744073709551615,"at":"x","turn":4294967295,"content":"q"}"#;
    let damaged = [&lines[..2], &[wild], &lines[2..], &[""]].concat().join("\n");
    log.overwrite(damaged.as_bytes());
    let first = env.go_on("beta");
    assert_says(&first.stderr, &["warning: session log: skipped damaged line 3"]);
    let _ = env.go_on("gamma");
    assert_eq!(provider.last_request().roles(), "user assistant user assistant user");
}

#[test]
fn the_highest_turn_and_step_are_no_panic() {
    let (_provider, env, log) = begun();
    let whole = String::from_utf8(log.bytes()).expect("UTF-8");
    let highest = whole.replace("\"turn\":1,", "\"turn\":4294967295,");
    assert_ne!(whole, highest);
    log.overwrite(highest.replace("\"step\":1,", "\"step\":4294967295,").as_bytes());
    let _ = env.go_on("beta");
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let (_provider, env, log) = begun();
    let fifo = log.path.with_file_name("20260101T000000Z-aaaaaa.jsonl");
    let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
    assert!(made.success());
    let folder = env.root();
    for path in [&fifo, &folder] {
        let output = env.run(&["-r", path.to_str().expect("UTF-8"), "-p", "x"]).expect_code(1);
        assert_says(&output.stderr, &["error: cannot resume", "not a regular file"]);
    }
    let output = env.run(&["sessions"]).expect_code(0);
    assert_says(&output.stdout, &["alpha"]);
    let _ = env.go_on("beta");
}

#[test]
fn a_file_that_is_no_session_keeps_the_lock_file_of_its_own() {
    let (_provider, env, _log) = begun();
    env.write("Cargo.toml", "not a session\n");
    env.write("Cargo.lock", "precious\n");
    let pty = Pty::xsh(&env, &[]);
    pty.settle();
    pty.line("/resume ./Cargo.toml");
    pty.wait_for("not a session file");
    assert_eq!(env.text("Cargo.lock"), "precious\n");
}

#[test]
fn a_project_that_was_renamed_goes_on_where_it_is() {
    let provider = Provider::start([
        Reply::text("One."),
        Reply::calls([shell("c1", "pwd")]),
        Reply::text("Two."),
        Reply::text("Three."),
    ]);
    let mut env = Env::new(&provider);
    let _ = env.ask("one");
    let id = env.log().id().to_owned();
    let before = env.workspace().to_owned();
    env.enter("renamed");
    fs::remove_dir(env.workspace()).expect("empty");
    fs::rename(&before, env.workspace()).expect("renamed");
    let output = env.go_on("two");
    let here = env.workspace().to_str().expect("UTF-8").to_owned();
    assert_says(&output.stderr, &["is gone", &here]);
    assert_says(provider.last_request().result("c1"), &[&here]);
    // Within the REPL too.
    let pty = Pty::xsh(&env, &[]);
    pty.settle();
    pty.line(&format!("/resume {id}"));
    pty.wait_for("resumed, 2 turns");
}

#[test]
fn a_session_with_one_huge_record_resumes_and_is_listed_and_searched() {
    let (provider, env, log) = begun();
    let mut text = String::from_utf8(log.bytes()).expect("UTF-8");
    let message = text.lines().find(|line| line.contains("user_message")).expect("a message");
    let seq = log.lines.len();
    let long = "x".repeat(12_000_000);
    let huge = message
        .replace("\"content\":\"alpha\"", &format!("\"content\":\"needle {long}\""))
        .replace("\"seq\":2", &format!("\"seq\":{seq}"));
    text.push_str(&(huge + "\n"));
    log.overwrite(text.as_bytes());
    let _ = env.go_on("beta");
    assert_eq!(provider.last_request().roles(), "user assistant user user");
    assert_eq!(provider.last_request().mentions("needle"), 1);
    assert_says(&env.run(&["sessions", "list"]).expect_code(0).stdout, &[log.id(), "alpha"]);
    let found = env.run(&["sessions", "search", "needle"]).expect_code(0).stdout;
    assert_says(&found, &[log.id(), "needle"]);
    assert!(found.len() < 2_000, "{} bytes", found.len());
}
