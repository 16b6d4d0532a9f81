//! The session file: what is in it, who may write it, and where it lies.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{ChildStdin, Command};

use rustix::process::{Pid, Resource, Rlimit};
use serde_json::{Value, json};

use crate::support::assert::{assert_says, assert_silent_on, count};
use crate::support::env::{Env, MODEL, Running};
use crate::support::log::Log;
use crate::support::provider::Provider;
use crate::support::reply::{End, Reply, read, shell};
use crate::support::wait_until;

/// A session of one turn with one tool call.
fn one_turn() -> (Provider, Env) {
    let provider = Provider::start([
        Reply::text_and_calls("I will look.", [read("c1", "a.txt")])
            .reasoning("reasoning_content", "The file is small.")
            .usage(1234, 56, 1100),
        Reply::text("It says alpha.").usage(1301, 14, 1230),
    ]);
    let env = Env::new(&provider);
    env.write("a.txt", "alpha\n");
    let _ = env.ask("What does a.txt say?");
    (provider, env)
}

/// The kind of a line and its keys, as one line of a snapshot.
fn shape(line: &Value) -> String {
    let object = line.as_object().expect("an object");
    let mut keys: Vec<_> = object.keys().map(String::as_str).collect();
    keys.sort_unstable();
    format!("{}: {}", line["type"].as_str().unwrap_or_default(), keys.join(" "))
}

#[test]
fn a_log_has_the_agreed_kinds_and_fields() {
    let (_provider, env) = one_turn();
    let shapes: Vec<_> = env.log().lines.iter().map(shape).collect();
    insta::assert_snapshot!(shapes.join("\n"), @r"
    session: created_at cwd id mark type version xsh
    system_prompt: at content seq type
    user_message: at content seq turn type
    assistant_message: at content finish_reason model provider reasoning reasoning_field seq step tool_calls turn type usage
    tool_started: at call_id name seq type
    tool_result: at call_id content duration_ms files is_error seq type
    assistant_message: at content finish_reason model provider seq step tool_calls turn type usage
    turn_finished: at ending seq steps turn type usage
    ");
}

#[test]
fn a_log_holds_what_happened() {
    let (_provider, env) = one_turn();
    let log = env.log();
    let header = &log.lines[0];
    assert_eq!((&header["version"], &header["cwd"]), (&json!(1), &json!(env.workspace())));
    assert_eq!(log.path.file_stem().and_then(|name| name.to_str()), Some(log.id()));
    let text = String::from_utf8(log.bytes()).expect("UTF-8");
    assert!(text.lines().skip(1).all(|line| line.starts_with(r#"{"type":""#)), "{text}");
    let reply = log.of("assistant_message")[0];
    let expected = json!({"type": "assistant_message", "seq": reply["seq"], "at": reply["at"],
        "turn": 1, "step": 1, "provider": reply["provider"], "model": MODEL,
        "content": "I will look.", "reasoning": "The file is small.",
        "reasoning_field": "reasoning_content", "finish_reason": "tool_calls",
        "tool_calls": [{"id": "c1", "name": "read", "arguments": "{\"file_path\":\"a.txt\"}"}],
        "usage": {"prompt": 1234, "completion": 56, "cached": 1100, "reasoning": 0}});
    assert_eq!(reply, &expected);
    let numbers: Vec<_> =
        log.lines.iter().skip(1).filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("metadata").permissions().mode() & 0o777
}

#[test]
fn sessions_are_private_and_not_for_git() {
    let (_provider, env) = one_turn();
    assert_eq!(mode(&env.path(".xsh")), 0o700);
    assert_eq!(mode(&env.path(".xsh/sessions")), 0o700);
    assert_eq!(mode(&env.log().path), 0o600);
    assert_eq!(env.text(".xsh/.gitignore").trim(), "*");
}

#[test]
fn the_message_is_in_the_log_before_the_request_is_sent() {
    let provider = Provider::start([Reply::silence()]);
    let env = Env::new(&provider);
    let running = env.begin("remember this");
    provider.wait_for_requests(1);
    assert_eq!(env.log().last("user_message")["content"], "remember this");
    running.kill();
}

#[test]
fn a_tool_is_in_the_log_before_it_runs() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "cp .xsh/sessions/*.jsonl seen.jsonl")]),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    let _ = env.ask("go");
    let seen = Log::load(&env.path("seen.jsonl"));
    assert_eq!(
        seen.last("tool_started"),
        &json!({"type": "tool_started", "call_id": "c1",
        "name": "shell", "seq": seen.last("tool_started")["seq"],
        "at": seen.last("tool_started")["at"]})
    );
}

#[test]
fn any_bytes_of_a_tool_stay_in_one_line() {
    let provider = Provider::start([
        Reply::calls([shell("c1", r"printf 'a\342\200\250b\302\205c\342\200\251d\re\0f\n'")]),
        Reply::text("Odd."),
        Reply::text("Still odd."),
    ]);
    let env = Env::new(&provider);
    let _ = env.ask("go");
    let content = env.log().result("c1")["content"].clone();
    assert_says(content.as_str().expect("text"), &["a\u{2028}b"]);
    let before = provider.last_request().result("c1").to_owned();
    let _ = env.go_on("and?");
    assert_eq!(provider.last_request().result("c1"), before);
}

#[test]
fn a_second_writer_is_told_who_holds_the_session() {
    let provider = Provider::start([Reply::text("One."), Reply::silence()]);
    let env = Env::new(&provider);
    let _ = env.ask("one");
    let holder = env.spawn(&["-c", "-p", "two"]);
    provider.wait_for_requests(2);
    let before = env.log().bytes();
    let second = env.run(&["-c", "-p", "three"]);
    assert_ne!(second.code, 0);
    assert_says(&second.stderr, &["error:", &holder.pid().to_string()]);
    assert_eq!(env.log().bytes(), before);
    holder.kill();
}

#[test]
fn a_lock_of_a_dead_process_is_taken_over() {
    let provider = Provider::start([Reply::silence(), Reply::text("Fine.")]);
    let env = Env::new(&provider);
    let holder = env.begin("one");
    provider.wait_for_requests(1);
    holder.kill();
    assert_eq!(env.go_on("two").stdout, "Fine.\n");
}

/// Whether this user is stopped by permission bits at all.
fn permissions_bind(env: &Env) -> bool {
    let folder = env.path("probe");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("a mode");
    fs::write(folder.join("file"), "x").is_err()
}

#[test]
fn a_workspace_that_cannot_be_written_keeps_its_sessions_elsewhere() {
    let provider = Provider::start([Reply::text("One."), Reply::text("Two.")]);
    let env = Env::new(&provider);
    if permissions_bind(&env) {
        fs::set_permissions(env.workspace(), fs::Permissions::from_mode(0o500)).expect("a mode");
    } else {
        // The superuser: a file where the folder would be stops it all the same.
        env.write(".xsh", "in the way");
    }
    let _ = env.ask("one");
    let state: Vec<_> = walk(&env.home().join("state/xsh"));
    assert_eq!(state.iter().filter(|path| path.contains(".jsonl")).count(), 1, "{state:?}");
    let _ = env.go_on("two");
    assert_eq!(provider.last_request().roles(), "user assistant user");
    fs::set_permissions(env.workspace(), fs::Permissions::from_mode(0o700)).expect("a mode");
}

/// All files below a folder, as text.
fn walk(folder: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(folder).into_iter().flatten();
    entries
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.path().display().to_string())
        .collect()
}

#[test]
fn nothing_writable_is_one_warning() {
    let provider = Provider::start([Reply::text("Fine.")]);
    let mut env = Env::new(&provider);
    env.write(".xsh", "in the way");
    fs::write(env.root().join("plug"), "in the way").expect("a file");
    for name in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        env.set(name, &format!("{}/plug/x", env.root().display()));
    }
    let output = env.run(&["-p", "hi"]).expect_code(0);
    assert_eq!(output.stdout, "Fine.\n");
    assert_eq!(output.stderr.matches("warning:").count(), 1, "{}", output.stderr);
    let resume = env.run(&["-c", "-p", "hi"]);
    assert_ne!(resume.code, 0);
    assert_says(&resume.stderr, &["error:", "session"]);
}

#[test]
fn no_home_at_all_is_fine() {
    for home in [None, Some("/nonexistent")] {
        let provider = Provider::start([Reply::text("Fine.")]);
        let mut env = Env::new(&provider);
        for name in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"]
        {
            env.unset(name);
        }
        if let Some(home) = home {
            env.set("HOME", home);
        }
        let output = env.run(&["-p", "hi"]).expect_code(0);
        assert_silent_on(&output.stderr, &["error:"]);
        assert_eq!(env.log().ending(), "completed");
    }
}

#[test]
fn the_key_is_in_no_file() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "env; echo $XSH_API_KEY")]),
        Reply::text_and_calls("", [shell("c2", "true")]).cut_off(1, End::Dropped),
        Reply::error(401, &format!("wrong key {}", crate::support::env::KEY)),
    ]);
    let env = Env::new(&provider);
    let output = env.turn("go").expect_code(1);
    let mut all = output.stdout + &output.stderr;
    for path in walk(&env.root()) {
        all.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap_or_default()));
    }
    assert_silent_on(&all, &[crate::support::env::KEY]);
}

/// A REPL that reads lines from a pipe and can write no file, as on a full disk.
fn on_a_full_disk(env: &Env) -> (Running, ChildStdin) {
    let mut command = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -S -f 0; exec \"$0\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_xsh")]).current_dir(env.workspace());
    command.env_clear().envs(env.vars().iter().map(|(name, value)| (name, value)));
    Running::start_with_open_stdin(command)
}

fn free_the_disk(running: &Running) {
    let pid = i32::try_from(running.pid()).ok().and_then(Pid::from_raw);
    let free = Rlimit { current: None, maximum: None };
    rustix::process::prlimit(pid, Resource::Fsize, free).expect("a new limit");
}

#[test]
fn a_session_that_could_not_be_begun_begins_when_there_is_room() {
    let provider = Provider::answering(|_| Reply::text("Noted."));
    let env = Env::new(&provider);
    env.write(".xsh/.gitignore", "*\n");
    let (running, mut pipe) = on_a_full_disk(&env);
    let failed = "error: the session log cannot be written";
    for times in 1..=2 {
        writeln!(pipe, "first").expect("xsh reads");
        wait_until("the error", || {
            (count(&running.stdout_so_far(), failed) == times).then_some(())
        });
    }
    // Nothing that passes for a session is left, and nothing was asked.
    assert!(env.sessions().is_empty() && provider.requests().is_empty());
    free_the_disk(&running);
    writeln!(pipe, "first").expect("xsh reads");
    drop(pipe);
    let _ = running.wait().expect_code(0);
    assert_eq!(provider.last_request().roles(), "user");
    assert_eq!(env.log().kinds(), "system_prompt user_message assistant_message turn_finished");
}

#[test]
fn a_dangling_link_is_no_place_for_sessions() {
    let provider = Provider::start([Reply::text("One.")]);
    let env = Env::new(&provider);
    std::os::unix::fs::symlink("/no/such/folder", env.path(".xsh")).expect("a link");
    let _ = env.ask("one");
    let state: Vec<_> = walk(&env.home().join("state/xsh"));
    assert_eq!(state.iter().filter(|path| path.contains(".jsonl")).count(), 1, "{state:?}");
}

#[test]
fn a_session_that_is_deleted_on_the_way_is_written_again() {
    for clean in ["rm -rf .xsh", "rm .xsh/sessions/*.jsonl", "rm .xsh/sessions/*"] {
        let provider = Provider::start([
            Reply::calls([shell("c1", clean)]),
            Reply::calls([shell("c2", &format!("{clean}; echo gone"))]),
            Reply::text("Cleaned."),
            Reply::text("Still here."),
        ]);
        let env = Env::new(&provider);
        let _ = env.ask("clean up");
        let log = env.log();
        assert!(log.kinds().starts_with("system_prompt user_message assistant_message"));
        assert_eq!((log.ending(), mode(&log.path)), ("completed", 0o600), "{clean}");
        assert_eq!(env.text(".xsh/.gitignore"), "*\n");
        assert_eq!(env.go_on("and now?").stdout, "Still here.\n");
        let roles = "user assistant tool assistant tool assistant user";
        assert_eq!(provider.last_request().roles(), roles);
        assert!(!walk(&env.path(".xsh")).iter().any(|path| path.contains(".lock")));
    }
}
