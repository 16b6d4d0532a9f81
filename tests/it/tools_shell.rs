//! The shell tool from end to end: it always comes back, tells the truth, and leaves nothing.

use std::fs;

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::{Env, KEY};
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, call, read, shell};

/// Runs this command as the model's only call; gives the environment and the next request.
fn run(command: &str) -> (Env, Request) {
    run_with(json!({ "command": command }))
}

fn run_with(arguments: serde_json::Value) -> (Env, Request) {
    let provider =
        Provider::start([Reply::calls([call("c1", "shell", arguments)]), Reply::text("Done.")]);
    let env = Env::new(&provider);
    let _ = env.ask("go");
    (env, provider.last_request())
}

#[track_caller]
fn check(command: &str, expected: &[&str]) {
    assert_says(run(command).1.result("c1"), expected);
}

#[test]
fn exit_codes_and_signals_are_told() {
    check("echo out; echo err >&2", &["out", "err"]);
    check("exit 3", &["exit 3|code 3|code: 3|status 3"]);
    check("kill -KILL $$", &["signal|kill"]);
    check("true", &["0|no output"]);
    check("no-such-program-xyz", &["127|not found"]);
}

#[test]
fn a_background_child_does_not_hold_the_result_back() {
    check("sleep 90 & echo ready", &["ready"]);
    check("(while :; do echo x; sleep 1; done) & echo go", &["go"]);
    check("sleep 91 >/dev/null 2>&1 & echo up", &["up", "background|stopped|left|killed|still"]);
}

#[test]
fn nothing_is_left_running() {
    let (env, _request) = run("(sleep 1; touch late) & sh -c 'sleep 1; touch later' & echo go");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(!env.exists("late") && !env.exists("later"));
}

#[test]
fn commands_that_wait_for_input_come_back() {
    check("read x; echo got", &["got"]);
    check("cat; echo got", &["got"]);
    check("(exec 3</dev/tty) 2>&1 || echo no terminal", &["no terminal"]);
    check("test -t 0 || echo no stdin terminal", &["no stdin terminal"]);
    check("echo prompt=$GIT_TERMINAL_PROMPT", &["prompt=0"]);
    check("$GIT_EDITOR x; $EDITOR x; echo back", &["back"]);
    let commit = "git init -q r && cd r && touch f && git add f && git -c user.name=a -c user.email=a@b commit; echo back=$?";
    check(commit, &["back=1"]);
    check("sh -c 'read x </dev/tty' 2>/dev/null || echo no answer", &["no answer"]);
}

#[test]
fn a_time_limit_is_named_and_keeps_the_output() {
    let (_env, request) =
        run_with(json!({"command": "echo start; sleep 60; echo end", "timeout_seconds": 1}));
    assert_says(
        request.result("c1"),
        &["start", "1 s|1s|1 second", "time limit|timed out|timeout"],
    );
    assert_silent_on(request.result("c1"), &["end\n"]);
}

#[test]
fn a_time_limit_beyond_the_bounds_is_said() {
    let (_env, request) = run_with(json!({"command": "echo start", "timeout_seconds": 100_000}));
    assert_says(request.result("c1"), &["600"]);
}

#[test]
fn a_trap_does_not_outlive_the_time_limit() {
    let command = "trap '' TERM INT HUP; echo start; while :; do sleep 1; done";
    let (_env, request) = run_with(json!({"command": command, "timeout_seconds": 1}));
    assert_says(request.result("c1"), &["start", "time limit|timed out|timeout"]);
}

#[test]
fn a_flood_of_output_is_cut_and_kept_in_a_file() {
    let commands = [
        "for i in $(seq 1 30000); do echo line $i; done; echo the end",
        "head -c 5M /dev/zero | tr '\\0' a; echo the end",
        "for i in $(seq 1 30000); do printf 'at %s\\r' $i; done; echo the end",
    ];
    for command in commands {
        let provider =
            Provider::start([Reply::calls([shell("c1", command)]), Reply::text("Done.")]);
        let env = Env::new(&provider);
        let _ = env.ask("go");
        let request = provider.last_request();
        let said = request.result("c1");
        assert!(said.len() < 100_000, "{} bytes to the model", said.len());
        assert_says(said, &["the end", "cut|omitted|truncated|left out"]);
        assert!(fs::metadata(&env.log().path).expect("the log").len() < 300_000);
    }
}

#[test]
fn the_whole_output_can_be_read_by_the_model() {
    let provider = Provider::answering(|request| {
        let results = request.result_ids().len();
        match results {
            0 => Reply::calls([shell("c1", "for i in $(seq 1 30000); do echo line $i; done")]),
            1 => {
                let path = path_in(request.result("c1")).expect("a path in the result");
                let at = json!({"file_path": path, "offset": 15_000, "limit": 1});
                Reply::calls([call("c2", "read", at)])
            }
            _ => Reply::text("Done."),
        }
    });
    let env = Env::new(&provider);
    let _ = env.ask("go");
    assert_says(provider.last_request().result("c2"), &["15000: line 15000"]);
}

/// The first word of a text that names an existing file.
fn path_in(text: &str) -> Option<String> {
    let trim = |word: &str| word.trim_matches(|c: char| "[](),;:.`'\"".contains(c)).to_owned();
    text.split_whitespace()
        .map(trim)
        .find(|word| word.starts_with('/') && fs::metadata(word).is_ok())
}

#[test]
fn every_call_starts_in_the_workspace() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "mkdir sub; cd sub; pwd")]),
        Reply::calls([shell("c2", "pwd"), read("c3", "here.txt")]),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    env.write("here.txt", "at the root\n");
    let _ = env.ask("go");
    let request = provider.last_request();
    let root = env.workspace().to_str().expect("UTF-8").to_owned();
    assert_says(request.result("c1"), &[&format!("{root}/sub")]);
    assert!(
        request.result("c2").lines().any(|line| line.trim() == root),
        "{}",
        request.result("c2")
    );
    assert_says(request.result("c3"), &["at the root"]);
}

#[test]
fn provider_keys_do_not_reach_commands() {
    let provider = Provider::start([
        Reply::calls([
            shell("c1", "env; echo key=$XSH_API_KEY$OPENAI_API_KEY"),
            shell(
                "c2",
                "tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' '\\n' < /proc/self/environ",
            ),
            shell("c3", "echo mine=$MY_OWN"),
        ]),
        Reply::text("Done."),
    ]);
    let mut env = Env::new(&provider);
    env.set("OPENAI_API_KEY", "sk-other-abcdefghijkl");
    env.set("MY_OWN", "kept");
    let output = env.ask("go");
    let request = provider.last_request();
    let log = String::from_utf8(env.log().bytes()).expect("UTF-8");
    for text in [request.result("c1"), request.result("c2"), &output.stdout, &output.stderr, &log] {
        assert_silent_on(text, &[KEY, "sk-other-abcdefghijkl"]);
    }
    assert_says(request.result("c3"), &["mine=kept"]);
}

#[test]
fn escape_codes_of_commands_do_not_reach_the_screen() {
    let provider = Provider::start([
        Reply::calls([shell(
            "c1",
            r"printf '\033[2J\033]0;owned\007\033]52;c;eA==\007\2332Jseen\n'; exit 1",
        )]),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    let output = env.ask("go");
    assert_silent_on(
        &(output.stdout + &output.stderr),
        &["\u{1b}[2J", "\u{1b}]", "\u{9b}", "\u{7}"],
    );
    assert_says(provider.last_request().result("c1"), &["seen"]);
}
