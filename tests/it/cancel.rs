//! Ctrl-C: it works everywhere, keeps what is worth keeping, and leaves a sound history.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::assert::{assert_says, count};
use crate::support::env::{Env, Output, Running};
use crate::support::provider::Provider;
use crate::support::pty::{Pty, key};
use crate::support::reply::{Call, End, Reply, call, delta, shell};
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
fn a_signal_ends_a_run_whose_output_nobody_takes() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let provider = Provider::start([Reply::text(&"x".repeat(300_000))]);
        let env = Env::new(&provider);
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = env.command(&["-p", "hi"]);
        let mut child = command.stdout(writer).stdin(Stdio::null()).spawn().expect("xsh starts");
        wait_until("the turn's end", || {
            let log = env.sessions().pop().map(fs::read_to_string)?.ok()?;
            log.contains("turn_finished").then_some(())
        });
        kill_process(Pid::from_child(&child), signal).expect("xsh is alive");
        let ended = wait_for_end(&mut child);
        if ended.is_none() {
            child.kill().expect("xsh is alive");
            child.wait().expect("xsh is waited for");
        }
        assert_eq!(ended, Some(130), "{signal:?}");
    }
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

/// A state of the program: what the provider answers until then, and when the state is reached.
struct State {
    name: &'static str,
    replies: fn() -> Vec<Reply>,
    config: &'static str,
    flags: &'static [&'static str],
    reached: fn(&Env, &Provider, &Running),
    /// The roles of the next request.
    roles: &'static str,
}

const USUAL: State = State {
    name: "",
    replies: Vec::new,
    config: "",
    flags: &["--permission-mode", "full"],
    reached: |_, provider, _| {
        provider.wait_for_requests(1);
        let_it_arrive();
    },
    roles: "user user",
};

fn logged(env: &Env, text: &str) {
    wait_until(text, || {
        let log = std::fs::read_to_string(env.sessions().first()?).ok()?;
        log.contains(text).then_some(())
    });
}

const STATES: &[State] = &[
    State {
        name: "streaming",
        replies: || vec![Reply::events([text("A. "), text("B.")]).cut_off(2, End::Stall)],
        roles: "user assistant user",
        ..USUAL
    },
    State {
        name: "reasoning",
        replies: || {
            let thought = delta(json!({"reasoning_content": "let me think"}));
            vec![Reply::events([thought]).cut_off(1, End::Stall)]
        },
        ..USUAL
    },
    State {
        name: "arguments of a call",
        replies: || vec![Reply::events([half_call()]).cut_off(1, End::Stall)],
        ..USUAL
    },
    State { name: "first byte", replies: || vec![Reply::silence()], ..USUAL },
    State {
        name: "first event",
        replies: || vec![Reply::text("x").cut_off(0, End::Stall)],
        ..USUAL
    },
    State {
        name: "the body of an error",
        replies: || vec![Reply::error(400, "half an err").cut_off(0, End::Stall)],
        ..USUAL
    },
    State {
        name: "a wait before a retry",
        replies: || vec![Reply::error(429, "slow down").header("Retry-After", "55")],
        reached: |_, _, running| {
            wait_until("the notice", || running.stderr_so_far().contains("slow").then_some(()));
        },
        ..USUAL
    },
    State {
        name: "a tool and what waits behind it",
        replies: || {
            vec![Reply::calls([shell("c1", "touch ready; sleep 300"), shell("c2", "true")])]
        },
        reached: |env, _, _| wait_until("the tool", || env.exists("ready").then_some(())),
        roles: "user assistant tool tool user",
        ..USUAL
    },
    State {
        name: "a tool that floods",
        replies: || vec![Reply::calls([shell("c1", "touch ready; yes")])],
        reached: |env, _, _| wait_until("the tool", || env.exists("ready").then_some(())),
        roles: "user assistant tool user",
        ..USUAL
    },
    State {
        name: "a search in a large tree",
        replies: || vec![Reply::calls([call("c1", "grep", json!({"pattern": "(a|b|ab)*c$"}))])],
        reached: |env, _, _| logged(env, "tool_started"),
        roles: "user assistant tool user",
        ..USUAL
    },
    State {
        name: "compaction",
        config: "context_window = 9000\n",
        replies: || vec![Reply::calls((0..4).map(read_lines)), Reply::silence()],
        reached: |_, provider, _| {
            provider.wait_for_requests(2);
            let_it_arrive();
        },
        roles: "user assistant tool tool tool tool user",
        ..USUAL
    },
];

fn read_lines(number: usize) -> Call {
    let lines = json!({"file_path": "f0.txt", "offset": number * 8 + 1, "limit": 8});
    call(&format!("c{number}"), "read", lines)
}

/// Far above the second that it takes, and below every limit that would end the wait by itself.
const SOON: Duration = Duration::from_secs(8);

/// Signals, waits for the end and looks at what is left.
fn cancelled(state: &State, signal: Signal) {
    let mut replies = (state.replies)();
    let count = replies.len();
    replies.push(Reply::text("Next."));
    let provider = Provider::start(replies);
    let env = Env::new(&provider);
    env.config(&format!("{}[retry]\nmax_wait = 60\n", state.config));
    let line = "abab".repeat(250);
    for file in 0..30 {
        env.write(&format!("f{file}.txt"), format!("{line}\n").repeat(1000));
    }
    let running = env.spawn(&[state.flags, &["-p", "go"]].concat());
    (state.reached)(&env, &provider, &running);
    let began = std::time::Instant::now();
    running.signal(signal);
    let output = running.wait();
    let shown = format!("{} {signal:?} {output:?}", state.name);
    assert!(began.elapsed() < SOON, "{shown}");
    // On a quick machine the search may be over before the signal arrives.
    assert!(output.code == 130 || state.name.starts_with("a search"), "{shown}");
    assert_eq!(provider.requests().len(), count, "{shown}");
    let _ = env.run(&["--context-window", "100000", "-c", "-p", "next"]).expect_code(0);
    assert_eq!(provider.last_request().roles(), state.roles, "{shown}");
}

fn each_state(signal: Signal) {
    for state in STATES {
        cancelled(state, signal);
    }
}

#[test]
fn every_state_ends_at_an_interrupt() {
    each_state(Signal::INT);
}

#[test]
fn every_state_ends_at_a_request_to_end() {
    each_state(Signal::TERM);
}

#[test]
fn every_state_ends_when_the_terminal_goes_away() {
    each_state(Signal::HUP);
}

/// An address that never answers a call: its queue is full. Free as long as the parts live.
fn black_hole() -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let call = || TcpStream::connect_timeout(&address, Duration::from_millis(200));
    let queue: Vec<_> = std::iter::from_fn(|| call().ok()).take(6000).collect();
    assert!(call().is_err(), "the queue takes {} callers", queue.len());
    (listener, queue)
}

#[test]
fn connecting_can_be_interrupted() {
    let (listener, _queue) = black_hole();
    let provider = Provider::start([Reply::text("Next.")]);
    let mut env = Env::new(&provider);
    let good = provider.base_url();
    env.set("XSH_BASE_URL", &format!("http://{}/v1", listener.local_addr().expect("bound")));
    for signal in [Signal::INT, Signal::TERM] {
        let running = env.begin("go");
        wait_until("the message", || {
            let log = std::fs::read_to_string(env.sessions().last()?).ok()?;
            log.contains("user_message").then_some(())
        });
        let_it_arrive();
        let began = std::time::Instant::now();
        running.signal(signal);
        let _ = running.wait().expect_code(130);
        assert!(began.elapsed() < SOON);
    }
    env.set("XSH_BASE_URL", &good);
    let _ = env.go_on("next");
}

#[test]
fn a_second_interrupt_during_the_clean_up_ends_at_once_with_every_child() {
    let command = "trap '' TERM INT HUP; (trap '' TERM INT HUP; echo $BASHPID >> pids; \
                   while :; do sleep 1; done) & echo $$ >> pids; touch ready; \
                   while :; do sleep 1; done";
    for signal in [Signal::INT, Signal::TERM] {
        let provider =
            Provider::start([Reply::calls([shell("c1", command)]), Reply::text("Next.")]);
        let env = Env::new(&provider);
        let running = env.begin("go");
        wait_until("two children", || {
            let pids = std::fs::read_to_string(env.path("pids")).unwrap_or_default();
            (env.exists("ready") && count(&pids, "\n") == 2).then_some(())
        });
        running.signal(signal);
        // Within the time that the tool is given to end by itself.
        std::thread::sleep(Duration::from_millis(60));
        running.signal(signal);
        let _ = running.wait().expect_code(130);
        let pids = env.text("pids");
        wait_until("the children to be gone", || (!pids.lines().any(is_alive)).then_some(()));
        let _ = env.go_on("next");
        let roles = provider.last_request().roles();
        assert_eq!(roles, "user assistant tool user", "{signal:?}");
    }
}

#[test]
fn an_approval_question_ends_at_every_signal() {
    for way in ["keys", "interrupt", "end", "hangup"] {
        let provider = Provider::start([
            Reply::calls([shell("c1", "touch made"), shell("c2", "touch made")]),
            Reply::text("Next."),
        ]);
        let env = Env::new(&provider);
        let mut pty = Pty::xsh_wrapped(&env, &["--permission-mode", "ask"]);
        pty.settle();
        pty.line("begin");
        pty.wait_for("y yes");
        let xsh = Pid::from_raw(pty.child_of_shell()).expect("a process");
        let signal = |signal| kill_process(xsh, signal).expect("xsh is alive");
        match way {
            "keys" => pty.send(key::CTRL_C),
            "interrupt" => signal(Signal::INT),
            "end" => signal(Signal::TERM),
            _ => signal(Signal::HUP),
        }
        if ["keys", "interrupt"].contains(&way) {
            pty.wait_for_screen("a note", |screen| screen.to_lowercase().contains("interrupted"));
            pty.settle();
            pty.line("/quit");
        }
        pty.wait();
        assert!(pty.screen().contains("modes=kept"), "{way}: {}", pty.screen());
        assert!(!env.exists("made"));
        let _ = env.go_on("next");
        let request = provider.last_request();
        assert_eq!(request.roles(), "user assistant tool tool user", "{way}");
        assert_says(request.result("c2"), &["not started"]);
    }
}

/// Interrupts at a moment of its own choosing, while large records are written one after another.
#[test]
fn writing_the_log_can_be_interrupted_at_any_moment() {
    for wait in [0, 3, 9, 20, 45, 80] {
        let provider = Provider::answering(|request| {
            if request.last() == "next" {
                return Reply::text("Next.");
            }
            let id = format!("c{}", request.messages().len());
            let glob = call(&id, "glob", json!({"pattern": id}));
            Reply::text_and_calls(&"long ".repeat(40_000), [glob])
        });
        let env = Env::new(&provider);
        let running = env.begin("go");
        logged(&env, "assistant_message");
        std::thread::sleep(Duration::from_millis(wait));
        let _ = interrupt(running);
        assert!(env.log().bytes().ends_with(b"\n"));
        assert_eq!(env.log().ending(), "cancelled");
        let _ = env.go_on("next");
    }
}
