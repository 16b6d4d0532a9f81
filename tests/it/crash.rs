//! `kill -9`, and what the next run makes of what is left.

use serde_json::json;

use crate::support::assert::{assert_says, count};
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::reply::{DONE, End, Reply, delta, event, finish, shell, write};
use crate::support::wait_until;

fn wait_for_file(env: &Env, name: &str) {
    wait_until(name, || env.exists(name).then_some(()));
}

#[test]
fn a_kill_during_the_first_of_two_tools() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "echo ran >> first; sleep 5"), shell("c2", "touch second")]),
        Reply::text("I looked."),
    ]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    wait_for_file(&env, "first");
    running.kill();
    assert_eq!(env.log().last("tool_started")["call_id"], "c1");

    let _ = env.go_on("continue");
    let request = provider.last_request();
    assert_eq!(request.roles(), "user assistant tool tool user");
    assert_says(request.result("c1"), &["unknown|may or may not|may have"]);
    assert_says(request.result("c2"), &["not started|never started|did not run"]);
    assert_eq!(count(&env.text("first"), "ran"), 1);
    assert!(!env.exists("second"));
}

#[test]
fn a_kill_after_the_first_of_two_tools_keeps_its_result() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "echo all well"), shell("c2", "touch second; sleep 5")]),
        Reply::text("I looked."),
    ]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    wait_for_file(&env, "second");
    running.kill();
    let _ = env.go_on("continue");
    let request = provider.last_request();
    assert_says(request.result("c1"), &["all well"]);
    assert_says(request.result("c2"), &["unknown|may or may not|may have"]);
}

#[test]
fn a_kill_while_the_answer_streams() {
    let half_call = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": "write", "arguments": "{\"file_path\":\"x\","}});
    let provider = Provider::start([
        Reply::events([
            delta(json!({"content": "Half an"})),
            delta(json!({"tool_calls": [half_call]})),
        ])
        .cut_off(2, End::Stall),
        Reply::text("Whole."),
    ]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    provider.wait_for_requests(1);
    running.kill();
    let _ = env.go_on("continue");
    let request = provider.last_request();
    assert_eq!(request.roles(), "user user");
    assert_eq!((request.mentions("go"), request.mentions("continue")), (1, 1));
}

#[test]
fn a_reply_lost_with_the_network_is_not_in_the_history() {
    let call = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": "shell", "arguments": "{\"command\":\"touch lost"}});
    let provider = Provider::answering(move |request| match request.last() {
        "go" => Reply::events([delta(json!({ "tool_calls": [call] }))]).cut_off(1, End::Dropped),
        _ => Reply::text("Back again."),
    });
    let env = Env::new(&provider);
    env.config("[retry]\nmax_attempts = 2\nmax_wait = 0.05\n");
    let _ = env.turn("go").expect_code(1);
    assert!(!env.exists("lost"));
    let _ = env.go_on("continue");
    assert_eq!(provider.last_request().roles(), "user user");
}

#[test]
fn one_session_survives_many_kills() {
    let provider = Provider::answering(|request| match request.last() {
        "end" => Reply::text("The end."),
        _ => Reply::calls([shell(&format!("c{}", request.messages().len()), "touch ran; sleep 5")]),
    });
    let env = Env::new(&provider);
    for round in 0..4 {
        let args = ["--permission-mode", "full", "-c", "-p", "again"];
        let running = if round == 0 { env.begin("go") } else { env.spawn(&args) };
        wait_for_file(&env, "ran");
        running.kill();
        std::fs::remove_file(env.path("ran")).expect("it was there");
    }
    assert_eq!(env.go_on("end").stdout, "The end.\n");
    assert_eq!(provider.last_request().result_ids().len(), 4);
}

#[test]
fn a_file_written_before_the_kill_is_whole() {
    let content = "line\n".repeat(50_000);
    let provider = Provider::start([
        Reply::calls([write("c1", "big.txt", &content), shell("c2", "touch ready; sleep 5")]),
        Reply::events([
            event(json!({"choices": []})),
            delta(json!({"content": "ok"})),
            finish("stop"),
            DONE.into(),
        ]),
    ]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    wait_for_file(&env, "ready");
    running.kill();
    assert_eq!(env.text("big.txt"), content);
    let _ = env.go_on("continue");
}

#[test]
fn a_kill_ends_the_command_with_all_its_children() {
    let pids = "echo $$ > pids; env -i sleep 300 & echo $! >> pids; setsid sleep 300 & \
                echo $! >> pids; sleep 0.1; touch ready; wait";
    let provider = Provider::start([Reply::calls([shell("c1", pids)])]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    wait_for_file(&env, "ready");
    running.kill();
    let pids = env.text("pids");
    assert_eq!(pids.lines().count(), 3);
    wait_until("the end of all three", || pids.lines().all(has_ended).then_some(()));
}

/// True for a process that is gone, or only waits for its parent to notice.
fn has_ended(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, fields)| fields.starts_with(['Z', 'X']))
}
