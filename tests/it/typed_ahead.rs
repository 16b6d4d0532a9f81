//! What is typed while something else goes on: it waits, is said to wait, and is never lost.

use std::time::Duration;

use crate::support::assert::{assert_says, assert_silent_on, count};
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::pty::{Pty, key};
use crate::support::reply::{End, Reply, call, shell};
use crate::support::wait_until;

/// A command that waits for the file `go`.
const GATE: &str = "touch ready; while [ ! -e go ]; do sleep 0.05; done";

fn is_summary(request: &Request) -> bool {
    request.json["tool_choice"] == "none"
}

/// Text of so many kilobytes that begins with `name`.
fn filler(name: &str, kilobytes: usize) -> String {
    format!("{name} {}", "lorem ipsum dolor ".repeat(kilobytes * 1000 / 18))
}

fn start(env: &Env, args: &[&str]) -> Pty {
    let pty = Pty::xsh(env, args);
    pty.settle();
    pty
}

fn body(request: &Request) -> String {
    String::from_utf8_lossy(&request.body).into_owned()
}

#[test]
fn messages_typed_during_a_turn_are_the_next_turns_in_their_order() {
    let provider = Provider::answering(|request| match request.last() {
        "begin" => Reply::calls([shell("c1", GATE)]),
        other => Reply::text(&format!("Answer to <{other}>.")),
    });
    let env = Env::new(&provider);
    let pty = start(&env, &["--permission-mode", "full"]);
    pty.line("begin");
    wait_until("the tool", || env.exists("ready").then_some(()));
    pty.line("first");
    pty.line("second");
    // It cannot be seen, so it is said.
    pty.wait_for("waits until this is done");
    pty.line("third");
    assert_eq!(provider.requests().len(), 1);
    env.write("go", "");
    for (count, message) in [(3, "first"), (4, "second"), (5, "third")] {
        assert_eq!(provider.wait_for_requests(count).last(), message);
    }
    pty.wait_for("Answer to <third>.");
    assert_eq!(count(&pty.raw_text(), "waits until this is done"), 1, "once is enough");
}

#[test]
fn messages_typed_between_an_interrupt_and_its_end_are_the_next_turns() {
    let provider = Provider::answering(|request| match request.last() {
        // It does not hear the polite signal, so the turn takes a while to end.
        "begin" => Reply::calls([
            shell("c1", "trap '' TERM INT; touch ready; while :; do sleep 0.05; done"),
            shell("c2", "touch second"),
        ]),
        other => Reply::text(&format!("Answer to <{other}>.")),
    });
    let env = Env::new(&provider);
    let pty = start(&env, &["--permission-mode", "full"]);
    pty.line("begin");
    wait_until("the tool", || env.exists("ready").then_some(()));
    pty.line("typed before");
    pty.send(key::CTRL_C);
    pty.line("typed after");
    let request = provider.wait_for_requests(2);
    assert_eq!(request.last(), "typed before");
    assert_eq!(request.result_ids(), ["c1", "c2"]);
    assert_says(request.result("c2"), &["not started"]);
    assert_eq!(provider.wait_for_requests(3).last(), "typed after");
    pty.wait_for("Answer to <typed after>.");
    assert!(!env.exists("second"));
}

#[test]
fn messages_typed_during_a_compaction_run_after_it() {
    let provider = Provider::answering(|request| {
        if is_summary(request) {
            Reply::text("SUMMARY: two topics.").delay(Duration::from_secs(2))
        } else {
            Reply::text(&format!("Noted <{:.12}>.", request.last()))
        }
    });
    let env = Env::new(&provider);
    let _ = env.ask(&filler("first-topic", 30));
    let _ = env.go_on(&filler("second-topic", 10));
    let pty = start(&env, &["-c"]);
    pty.line("/compact");
    assert!(is_summary(&provider.wait_for_requests(3)));
    pty.line("typed one");
    pty.line("typed two");
    for (count, message) in [(4, "typed one"), (5, "typed two")] {
        let request = provider.wait_for_requests(count);
        assert_eq!(request.last(), message);
        assert_says(&body(&request), &["SUMMARY: two topics."]);
        assert_silent_on(&body(&request), &["first-topic"]);
    }
    pty.wait_for("Noted <typed two>.");
}

#[test]
fn a_compaction_that_is_interrupted_changes_nothing() {
    let provider = Provider::answering(|request| {
        if is_summary(request) {
            Reply::text("SUMMARY: half of").cut_off(2, End::Stall)
        } else {
            Reply::text("Noted.")
        }
    });
    let env = Env::new(&provider);
    let _ = env.ask(&filler("first-topic", 60));
    let _ = env.go_on(&filler("second-topic", 60));
    let before = provider.last_request();
    let same = |request: &Request| {
        assert!(request.message_bytes().starts_with(before.message_bytes()), "{}", request.roles());
        assert_silent_on(&body(request), &["SUMMARY"]);
    };
    // One that was asked for.
    let pty = start(&env, &["-c"]);
    pty.line("/compact");
    provider.wait_for_requests(3);
    std::thread::sleep(Duration::from_millis(300));
    pty.send(key::CTRL_C);
    pty.wait_for_screen("what came of it", |screen| screen.contains("nothing was compacted"));
    pty.settle();
    pty.line("third");
    same(&provider.wait_for_requests(4));
    pty.wait_for("Noted.");
    pty.line("/quit");
    drop(pty);
    // One in a turn.
    let long = filler("fourth-topic", 40);
    let running = env.spawn(&["--context-window", "64000", "-c", "-p", &long]);
    assert!(is_summary(&provider.wait_for_requests(5)));
    std::thread::sleep(Duration::from_millis(300));
    running.interrupt();
    let _ = running.wait().expect_code(130);
    assert!(env.log().of("compaction").is_empty());
    let _ = env.go_on("fifth");
    same(&provider.last_request());
    assert_eq!(
        provider.last_request().roles(),
        "user assistant user assistant user assistant user user"
    );
}

#[test]
fn a_model_chosen_during_a_turn_answers_from_the_next_turn_on_in_everything() {
    let first = Provider::start([
        Reply::calls([shell("c1", GATE)]).reasoning("reasoning_content", "deep thoughts"),
        Reply::text("First is done.").reasoning("reasoning_content", "more thoughts"),
    ]);
    let second = Provider::answering(|request| match request.last() {
        "and you?" => Reply::calls([call("d1", "glob", serde_json::json!({"pattern": "*"}))])
            .reasoning("reasoning_content", "thoughts of my own"),
        _ => Reply::text("Second is done."),
    });
    let mut env = Env::new(&first);
    env.set("SECOND_KEY", "sk-second-9876543210");
    env.config(&format!(
        "[providers.second]\nbase_url = \"{}\"\napi_key_env = \"SECOND_KEY\"\n\
         [models.\"second/gpt-oss-120b\"]\ncontext_window = 77000\n",
        second.base_url()
    ));
    let pty = start(&env, &["--permission-mode", "full", "--effort", "max"]);
    pty.line("begin");
    wait_until("the tool", || env.exists("ready").then_some(()));
    pty.line("/model second/gpt-oss-120b");
    pty.line("and you?");
    pty.line("/context");
    pty.wait_for("waits until this is done");
    env.write("go", "");
    // The turn goes on as it began.
    let old = first.wait_for_requests(2);
    assert_eq!((old.model(), &old.json["reasoning_effort"]), ("test-model", &"max".into()));
    assert_says(old.system(), &["test-model"]);
    assert_says(&body(&old), &["deep thoughts"]);
    // Then all is the new one's.
    let request = second.wait_for_requests(2);
    let begun = second.request(0);
    for request in [&begun, &request] {
        assert_eq!(request.model(), "gpt-oss-120b");
        assert_says(request.system(), &["gpt-oss-120b"]);
        assert_silent_on(&body(request), &["test-model", "deep thoughts", "more thoughts"]);
        assert_eq!(request.json["reasoning_effort"], "high", "its highest level");
    }
    assert_eq!(begun.last(), "and you?");
    assert_says(&body(&request), &["thoughts of my own"]);
    pty.wait_for("77000");
    assert_eq!(first.requests().len(), 2);
}

#[test]
fn reading_a_large_session_can_be_interrupted() {
    let provider = Provider::answering(|request| Reply::text(&format!("<{}>", request.last())));
    let env = Env::new(&provider);
    let _ = env.ask("old words");
    let log = env.log();
    // A last line without an end: reading it takes longer than anybody waits.
    let file = std::fs::File::options().write(true).open(&log.path).expect("the session");
    file.set_len(1 << 42).expect("a file system with holes");
    let pty = start(&env, &[]);
    pty.line(&format!("/resume {}", log.id()));
    std::thread::sleep(Duration::from_millis(500));
    pty.send(key::CTRL_C);
    pty.wait_for("interrupted");
    pty.settle();
    pty.line("still here");
    pty.wait_for("<still here>");
    assert_eq!(provider.last_request().roles(), "user", "the session from before goes on");
    // At the start there is no prompt to come back to.
    let running = env.spawn(&["--resume", log.id(), "-p", "hi"]);
    std::thread::sleep(Duration::from_millis(500));
    running.interrupt();
    let _ = running.wait().expect_code(130);
    assert_eq!(provider.requests().len(), 2);
}
