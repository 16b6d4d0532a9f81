//! The history as the provider sees it: every prefix of a log is sound, and nothing already sent is
//! ever sent differently.

use serde_json::json;

use crate::support::assert::assert_says;
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, call, raw_call, read, shell, write};

/// Two turns with all that a history can hold: reasoning, text beside calls, several calls at
/// once, broken arguments, an unknown tool.
fn rich_session() -> (Provider, Env) {
    let provider = Provider::start([
        Reply::text_and_calls(
            "I look.",
            [read("c1", "a.txt"), call("c2", "glob", json!({"pattern": "*"}))],
        )
        .reasoning("reasoning_content", "Two looks at once."),
        Reply::calls([
            raw_call("c3", "shell", r#"{"command":"ls\"}"#),
            raw_call("c4", "guess", "{}"),
        ]),
        Reply::calls([write("c5", "b.txt", "那🌍\n"), shell("c6", "cat b.txt")]),
        Reply::text("Done with 那🌍."),
        Reply::calls([read("c1", "b.txt")]),
        Reply::text("Also done."),
    ]);
    let env = Env::new(&provider);
    env.write("a.txt", "alpha\n");
    let _ = env.ask("first");
    let _ = env.go_on("second");
    (provider, env)
}

/// Fails unless each request begins with the bytes of the messages of the one before.
#[track_caller]
fn assert_growing(requests: &[Request]) {
    for (index, pair) in requests.windows(2).enumerate() {
        let (before, after) = (pair[0].message_bytes(), pair[1].message_bytes());
        assert!(
            after.starts_with(before),
            "request {} rewrites history:\n{before}\n{after}",
            index + 1
        );
        assert_eq!(pair[0].json["tools"], pair[1].json["tools"]);
    }
}

#[test]
fn requests_grow_by_their_end_only() {
    let (provider, _env) = rich_session();
    let requests = provider.requests();
    assert_eq!(requests.len(), 6);
    assert_growing(&requests);
}

#[test]
fn messages_stand_last_in_the_body() {
    let (provider, _env) = rich_session();
    assert_eq!(provider.requests().len(), 6);
    for request in provider.requests() {
        let body = String::from_utf8(request.body.clone()).expect("UTF-8");
        assert!(body.ends_with("]}"), "{body}");
        let (head, _) = body.split_once("\"messages\":").expect("messages");
        assert!(head.contains("\"tools\":["), "{head}");
    }
}

#[test]
fn every_prefix_of_a_log_is_a_sound_history() {
    let (_provider, env) = rich_session();
    let log = env.log();
    let bytes = log.bytes();
    let ends: Vec<usize> = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    for end in ends {
        // A provider of its own for each prefix: a fault names the prefix that caused it.
        let provider = Provider::start([Reply::text("I go on.")]);
        let mut env = Env::new(&provider);
        env.enter("work");
        env.write("a.txt", "alpha\n");
        let prefix = env.root().join("prefix.jsonl");
        let text = String::from_utf8(bytes.get(..end).expect("in range").to_vec()).expect("UTF-8");
        let text = text.replace(
            log.lines[0]["cwd"].as_str().expect("cwd"),
            env.workspace().to_str().expect("UTF-8"),
        );
        std::fs::write(&prefix, text).expect("a log");
        let args = [
            "--permission-mode",
            "full",
            "--resume",
            prefix.to_str().expect("UTF-8"),
            "-p",
            "go on",
        ];
        let output = env.run(&args);
        assert_eq!(output.code, 0, "prefix of {end} bytes: {}", output.stderr);
        assert_eq!(provider.last_request().last(), "go on");
    }
}

#[test]
fn reasoning_goes_back_in_the_field_it_came_in() {
    for field in ["reasoning_content", "reasoning"] {
        let provider = Provider::start([
            Reply::calls([read("c1", "a.txt")]).reasoning(field, "a plan"),
            Reply::text("Done."),
            Reply::text("Again."),
        ]);
        let env = Env::new(&provider);
        env.write("a.txt", "alpha\n");
        let _ = env.ask("go");
        let _ = env.go_on("more");
        for request in [provider.request(1), provider.request(2)] {
            assert_eq!(request.messages()[2][field], "a plan", "{field}");
        }
    }
}

#[test]
fn ids_that_are_missing_doubled_or_too_long_are_replaced_consistently() {
    let long = format!("fc|{}", "x".repeat(450));
    for ids in [["", ""], ["same", "same"], [long.as_str(), "b"]] {
        let calls = [read(ids[0], "a.txt"), call(ids[1], "glob", json!({"pattern": "*"}))];
        let provider = Provider::start([Reply::calls(calls), Reply::text("Done.")]);
        let env = Env::new(&provider);
        env.write("a.txt", "alpha\n");
        let _ = env.ask("go");
        let request = provider.last_request();
        assert_eq!(request.result_ids().len(), 2, "{ids:?}");
        assert_says(request.messages()[3]["content"].as_str().expect("text"), &["1: alpha"]);
    }
}
