//! Ctrl-C: it works everywhere, keeps what is worth keeping, and leaves a sound history.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::assert::{assert_says, count};
use crate::support::env::{Env, Output, Running};
use crate::support::provider::Provider;
use crate::support::pty::{Pty, key};
use crate::support::reply::{End, Reply, call, delta, shell};
use crate::support::wait_until;

/// Interrupts and waits; the run must say so and end with 130.
#[track_caller]
fn interrupt(running: Running) -> Output {
    running.interrupt();
    let output = running.wait().expect_code(130);
    assert_says(&output.stderr, &["interrupt|cancel"]);
    output
}

/// Gives the client time to take in what was sent before the server fell silent.
fn let_it_arrive() {
    std::thread::sleep(Duration::from_millis(300));
}

/// Streams these events, interrupts in the following silence, then asks again; gives the second
/// request's roles and the number of assistant messages holding `text`.
fn cancelled_while_streaming(events: Vec<String>, text: &str) -> (Env, String, usize) {
    let count = events.len();
    let provider =
        Provider::start([Reply::events(events).cut_off(count, End::Stall), Reply::text("Next.")]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    provider.wait_for_requests(1);
    let_it_arrive();
    let _ = interrupt(running);
    provider.wait_for_hangup();
    assert_eq!(env.log().ending(), "cancelled");
    let _ = env.go_on("next");
    let request = provider.last_request();
    (env, request.roles(), request.mentions(text))
}

fn text(text: &str) -> String {
    delta(json!({ "content": text }))
}

fn half_call() -> String {
    let call = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": "write", "arguments": "{\"file_path\":\"x.txt\",\"con"}});
    delta(json!({ "tool_calls": [call] }))
}

#[test]
fn text_received_so_far_is_kept_once_and_marked() {
    let events = vec![text("A. "), text("B."), half_call()];
    let (env, roles, mentions) = cancelled_while_streaming(events, "A. B.");
    assert_eq!((roles.as_str(), mentions), ("user assistant user", 1));
    let log = env.log();
    let partial = log.of("assistant_message")[0];
    assert_eq!((&partial["partial"], &partial["content"]), (&json!(true), &json!("A. B.")));
    assert!(!env.exists("x.txt"));
}

#[test]
fn nothing_worth_keeping_leaves_no_message() {
    let nothing: [Vec<String>; 4] =
        [vec![], vec![text(" \n")], vec![half_call()], vec![text("\n"), half_call()]];
    for events in nothing {
        let (_env, roles, _) = cancelled_while_streaming(events, "-");
        assert_eq!(roles, "user user");
    }
}

#[test]
fn reasoning_alone_does_not_spoil_the_history() {
    let events = vec![delta(json!({"reasoning_content": "let me think"}))];
    let (_env, roles, _) = cancelled_while_streaming(events, "-");
    assert!(roles.ends_with("user"), "{roles}");
}

#[test]
fn a_wait_for_the_first_byte_can_be_interrupted() {
    let provider = Provider::start([Reply::silence(), Reply::text("Next.")]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    provider.wait_for_requests(1);
    let _ = interrupt(running);
    let _ = env.go_on("next");
}

#[test]
fn a_wait_before_a_retry_can_be_interrupted() {
    let provider = Provider::start([
        Reply::error(429, "slow down").header("Retry-After", "25"),
        Reply::text("Next."),
    ]);
    let env = Env::new(&provider);
    env.config("[retry]\nmax_wait = 60\n");
    let running = env.begin("go");
    provider.wait_for_requests(1);
    wait_until("the notice of the retry", || {
        running.stderr_so_far().contains("slow down").then_some(())
    });
    let _ = interrupt(running);
    assert_eq!(provider.requests().len(), 1);
    let _ = env.go_on("next");
}

fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

#[test]
fn a_running_tool_is_stopped_with_its_children_and_the_rest_never_starts() {
    let command = "echo begun; sleep 300 & echo $! > pids; sleep 301 & echo $! >> pids; wait";
    let provider = Provider::start([
        Reply::calls([
            shell("c1", command),
            shell("c2", "touch second"),
            call("c3", "glob", json!({"pattern": "*"})),
        ]),
        Reply::text("Next."),
    ]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    wait_until("two children", || {
        let pids = std::fs::read_to_string(env.path("pids")).unwrap_or_default();
        (count(&pids, "\n") == 2).then_some(())
    });
    let _ = interrupt(running);
    assert_eq!(provider.requests().len(), 1);
    assert!(!env.exists("second"));
    let pids = env.text("pids");
    wait_until("the children to be gone", || (!pids.lines().any(is_alive)).then_some(()));

    let _ = env.go_on("next");
    let request = provider.last_request();
    assert_eq!(request.result_ids(), ["c1", "c2", "c3"]);
    assert_says(request.result("c1"), &["begun", "interrupt|cancel|abort"]);
    for id in ["c2", "c3"] {
        assert_says(request.result(id), &["not started|never started|did not run"]);
    }
}

#[test]
fn a_tool_that_ignores_signals_is_killed() {
    let command = "trap '' TERM INT; touch ready; while :; do sleep 1; done";
    let provider = Provider::start([Reply::calls([shell("c1", command)]), Reply::text("Next.")]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    wait_until("the tool", || env.exists("ready").then_some(()));
    let _ = interrupt(running);
    let _ = env.go_on("next");
}

#[test]
fn a_search_can_be_interrupted() {
    let provider = Provider::start([
        Reply::calls([
            call("c1", "grep", json!({"pattern": "(a|b|ab)*c$"})),
            shell("c2", "touch after"),
        ]),
        Reply::text("Next."),
    ]);
    let env = Env::new(&provider);
    let line = "abab".repeat(250);
    for file in 0..40 {
        env.write(&format!("f{file}.txt"), format!("{line}\n").repeat(1000));
    }
    let running = env.begin("go");
    wait_until("the search", || {
        let log = std::fs::read_to_string(env.sessions().first()?).ok()?;
        log.contains("tool_started").then_some(())
    });
    running.interrupt();
    // On a quick machine the search may be over before the interrupt arrives.
    let output = running.wait();
    assert!([0, 130].contains(&output.code), "{output:?}");
}

/// A REPL with a prompt on the screen.
fn repl(provider: &Provider) -> (Env, Pty) {
    let env = Env::new(provider);
    let pty = Pty::xsh(&env, &["--permission-mode", "full"]);
    pty.settle();
    (env, pty)
}

#[test]
fn the_prompt_comes_back_after_an_interrupted_answer() {
    let provider = Provider::start([
        Reply::pieces(&["Half way "]).cut_off(1, End::Stall),
        Reply::text("Complete now."),
    ]);
    let (_env, pty) = repl(&provider);
    pty.line("begin");
    pty.wait_for("Half way");
    pty.send(key::CTRL_C);
    pty.wait_for_screen("a note", |screen| screen.to_lowercase().contains("interrupt"));
    pty.settle();
    pty.line("go on");
    pty.wait_for("Complete now.");
    assert_eq!(provider.last_request().roles(), "user assistant user");
}

#[test]
fn the_prompt_comes_back_after_an_interrupted_tool() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "touch ready; sleep 300")]),
        Reply::text("Complete now."),
    ]);
    let (env, pty) = repl(&provider);
    pty.line("begin");
    wait_until("the tool", || env.exists("ready").then_some(()));
    pty.send(key::CTRL_C);
    pty.wait_for_screen("a note", |screen| screen.to_lowercase().contains("interrupt"));
    pty.settle();
    pty.line("go on");
    pty.wait_for("Complete now.");
    assert_eq!(provider.last_request().roles(), "user assistant tool user");
}

#[test]
fn a_message_typed_right_after_the_interrupt_is_not_lost() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "trap '' TERM; touch ready; sleep 300; sleep 300")]),
        Reply::text("Complete now."),
    ]);
    let (env, pty) = repl(&provider);
    pty.line("begin");
    wait_until("the tool", || env.exists("ready").then_some(()));
    pty.send(key::CTRL_C);
    pty.line("and this too");
    let request = provider.wait_for_requests(2);
    assert_eq!(request.last(), "and this too");
    pty.wait_for("Complete now.");
}

#[test]
fn an_interrupted_question_is_no_refusal() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "touch made.txt"), shell("c2", "touch too.txt")]),
        Reply::text("Complete now."),
    ]);
    let env = Env::new(&provider);
    let pty = Pty::xsh(&env, &["--permission-mode", "ask"]);
    pty.settle();
    pty.line("begin");
    pty.wait_for("touch made.txt");
    pty.settle();
    pty.send(key::CTRL_C);
    pty.wait_for_screen("a note", |screen| screen.to_lowercase().contains("interrupt"));
    pty.settle();
    pty.line("go on");
    pty.wait_for("Complete now.");
    let request = provider.last_request();
    for id in ["c1", "c2"] {
        assert_says(request.result(id), &["not started"]);
    }
    assert!(!env.exists("made.txt") && !env.exists("too.txt"));
}

#[test]
fn the_second_signal_ends_a_run_whose_output_nobody_takes() {
    let provider = Provider::start([Reply::text(&"x".repeat(300_000))]);
    let env = Env::new(&provider);
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = env.command(&["-p", "hi"]);
    let mut child = command.stdout(writer).stdin(Stdio::null()).spawn().expect("xsh starts");
    wait_until("the turn's end", || {
        let log = env.sessions().pop().map(fs::read_to_string)?.ok()?;
        log.contains("turn_finished").then_some(())
    });
    for _ in 0..2 {
        kill_process(Pid::from_child(&child), Signal::TERM).expect("xsh is alive");
        let_it_arrive();
    }
    let ended = wait_for_end(&mut child);
    if ended.is_none() {
        child.kill().expect("xsh is alive");
        child.wait().expect("xsh is waited for");
    }
    assert_eq!(ended, Some(130));
}

fn wait_for_end(child: &mut Child) -> Option<i32> {
    (0..100).find_map(|_| {
        let ended = child.try_wait().expect("xsh can be waited for").and_then(|s| s.code());
        if ended.is_none() {
            std::thread::sleep(Duration::from_millis(50));
        }
        ended
    })
}
