//! The stream in all the shapes that real servers and networks give it.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::assert::{assert_says, assert_silent_on, count};
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::reply::{Cut, DONE, End, Reply, delta, event, finish, read, write};

/// Short limits, so that silence is noticed soon.
const QUICK: &str =
    "[timeouts]\nfirst_byte = 2\nidle = 0.4\n[retry]\nmax_attempts = 3\nmax_wait = 0.1\n";

/// One turn against these replies.
fn answer(replies: impl IntoIterator<Item = Reply>) -> (Provider, String) {
    let provider = Provider::start(replies);
    let env = Env::new(&provider);
    env.config(QUICK);
    let stdout = env.ask("go").stdout;
    (provider, stdout)
}

fn tool_call(index: u32, id: &str, name: &str, arguments: &Value) -> String {
    let call = json!({"index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}});
    delta(json!({ "tool_calls": [call] }))
}

fn text(text: &str) -> String {
    delta(json!({ "content": text }))
}

fn done(mut events: Vec<String>, reason: &str) -> Reply {
    events.extend([finish(reason), DONE.to_owned()]);
    Reply::events(events)
}

#[test]
fn characters_cut_by_the_network_arrive_whole() {
    let reply = || Reply::text("那🌍 é\u{301} done");
    let length = reply().wire().concat().len();
    let cuts =
        [Cut::Every(1), Cut::Every(2), Cut::Every(3), Cut::At((0..length).step_by(5).collect())];
    for cut in cuts {
        let (_provider, stdout) = answer([reply().cut(cut).pause(Duration::from_micros(100))]);
        assert_eq!(stdout, "那🌍 é\u{301} done\n");
    }
}

#[test]
fn characters_cut_inside_arguments_reach_the_file_whole() {
    let content = "那🌍\u{2028}\u{1f468}\u{200d}\u{1f469}\n";
    let provider = Provider::start([
        Reply::calls([write("c1", "a.txt", content)]).cut(Cut::Every(1)),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    let _ = env.ask("go");
    assert_eq!(env.text("a.txt"), content);
}

#[test]
fn framing_makes_no_difference() {
    let plain = || Reply::text("Hello there.");
    let without_space = || {
        let events = plain()
            .events
            .into_iter()
            .map(|bytes| String::from_utf8(bytes).expect("UTF-8").replace("data: ", "data:"));
        Reply::events(events.collect::<Vec<_>>())
    };
    let named = || {
        let events = plain().events.into_iter().map(|bytes| {
            format!("event: message\nid: 7\nretry: 3000\n{}", String::from_utf8_lossy(&bytes))
        });
        Reply::events(events.collect::<Vec<_>>())
    };
    let with_bom = || {
        let mut reply = plain();
        reply.events[0].splice(0..0, "\u{feff}".bytes());
        reply
    };
    let replies = [
        plain().line_ending("\r\n"),
        plain().line_ending("\r\n").cut(Cut::Every(1)),
        without_space(),
        named(),
        with_bom(),
        plain().comments("PROCESSING"),
        plain().comments("keep-alive").line_ending("\r\n"),
        plain().cut(Cut::At(vec![])),
    ];
    for reply in replies {
        let shown = String::from_utf8_lossy(&reply.wire().concat()).into_owned();
        assert_eq!(answer([reply]).1, "Hello there.\n", "{shown}");
    }
}

#[test]
fn comments_keep_a_slow_stream_alive() {
    let comment = || ": still working\n\n".to_owned();
    let mut events: Vec<String> = std::iter::repeat_with(comment).take(12).collect();
    events.extend([text("At last."), finish("stop"), DONE.to_owned()]);
    let reply = Reply::events(events).pause(Duration::from_millis(80));
    assert_eq!(answer([reply]).1, "At last.\n");
}

#[test]
fn the_wait_for_the_first_byte_has_its_own_limit() {
    assert_eq!(
        answer([Reply::text("Well thought.").delay(Duration::from_millis(800))]).1,
        "Well thought.\n"
    );
}

#[test]
fn a_stream_that_ends_too_early_is_asked_for_again() {
    let half = || Reply::events([text("The half ans")]);
    let half_call = || {
        Reply::events([tool_call(
            0,
            "c1",
            "write",
            &json!("{\"file_path\":\"half.txt\",\"content\":\"x"),
        )])
    };
    let comments = || Reply::events([": PROCESSING\n\n", ": PROCESSING\n\n"]);
    let begun = || half().cut_off(1, End::Dropped);
    let reset = || half().cut_off(1, End::Reset);
    let silent = || half().cut_off(1, End::Stall);
    let nothing = || Reply::events([""]);
    let replies = [nothing(), half(), half_call(), comments(), begun(), reset(), silent()];
    for reply in replies {
        let provider = Provider::start([reply.clone(), Reply::text("Whole answer.")]);
        let env = Env::new(&provider);
        env.config(QUICK);
        let output = env.ask("go");
        assert!(output.stdout.ends_with("Whole answer.\n"), "{reply:?}: {}", output.stdout);
        assert!(!env.exists("half.txt"));
        let log = env.log();
        assert_eq!(log.of("assistant_message").len(), 1, "{reply:?}");
        assert_eq!(log.last("assistant_message")["content"], "Whole answer.");
        let requests = provider.requests();
        assert_eq!(requests[0].body, requests[1].body, "a retry sends the same bytes");
    }
}

#[test]
fn a_stream_that_always_ends_too_early_fails_in_the_end() {
    let provider = Provider::answering(|_| Reply::events([text("The half ans")]));
    let env = Env::new(&provider);
    env.config(QUICK);
    let output = env.turn("go").expect_code(1);
    assert_says(&output.stderr, &["error:", "ended|closed|incomplete|cut"]);
    assert_eq!(provider.requests().len(), 3);
    assert!(env.log().of("assistant_message").is_empty());
}

#[test]
fn a_finished_answer_needs_no_done_marker() {
    assert_eq!(answer([Reply::events([text("All of it."), finish("stop")])]).1, "All of it.\n");
    let inferred = Reply::events([text("All of it."), DONE.to_owned()]);
    assert_eq!(answer([inferred]).1, "All of it.\n");
    let unterminated = Reply::events([text("All of it."), finish("stop").trim_end().to_owned()]);
    assert_eq!(answer([unterminated]).1, "All of it.\n");
}

#[test]
fn silence_is_noticed_and_said() {
    let stalled = |events| Reply::pieces(&["one ", "two "]).cut_off(events, End::Stall);
    for reply in [Reply::silence(), stalled(0), stalled(2)] {
        let provider = Provider::answering(move |_| reply.clone());
        let env = Env::new(&provider);
        env.config(
            "[timeouts]\nfirst_byte = 0.4\nidle = 0.4\n[retry]\nmax_attempts = 2\nmax_wait = 0.1\n",
        );
        let output = env.turn("go").expect_code(1);
        assert_says(
            &output.stderr,
            &["error:", "no data|silent|nothing|stalled|timed out|timeout|time limit"],
        );
        assert_eq!(provider.requests().len(), 2);
    }
}

#[test]
fn calls_with_one_index_or_none_are_told_apart() {
    let one = json!({"file_path": "one.rs"}).to_string();
    let two = json!({"file_path": "two.rs"}).to_string();
    let no_index = |id: &str, arguments: &str| {
        let call = json!({"id": id, "function": {"name": "read", "arguments": arguments}});
        delta(json!({ "tool_calls": [call] }))
    };
    let fragment = |index: u32, arguments: &str| {
        let call = json!({"index": index, "function": {"arguments": arguments}});
        delta(json!({ "tool_calls": [call] }))
    };
    let same_index =
        vec![tool_call(0, "k1", "read", &json!(one)), tool_call(0, "k2", "read", &json!(two))];
    let none = vec![no_index("k1", &one), no_index("k2", &two)];
    let interleaved = vec![
        tool_call(0, "k1", "read", &json!("")),
        tool_call(1, "k2", "read", &json!("")),
        fragment(0, "{\"file_path\":"),
        fragment(1, "{\"file_path\":\"two"),
        fragment(0, "\"one.rs\"}"),
        fragment(1, ".rs\"}"),
    ];
    let early_finish = vec![
        tool_call(0, "k1", "read", &json!(one)),
        finish("tool_calls"),
        tool_call(1, "k2", "read", &json!(two)),
    ];
    for events in [same_index, none, interleaved, early_finish] {
        let provider = Provider::start([done(events, "tool_calls"), Reply::text("Done.")]);
        let env = Env::new(&provider);
        env.write("one.rs", "first file\n");
        env.write("two.rs", "second file\n");
        let _ = env.ask("go");
        let request = provider.last_request();
        assert_eq!(request.result_ids(), ["k1", "k2"]);
        assert_says(request.result("k1"), &["first file"]);
        assert_says(request.result("k2"), &["second file"]);
    }
}

#[test]
fn calls_run_whatever_the_finish_reason_says() {
    for reason in ["stop", "tool_calls", "function_call", ""] {
        let call = tool_call(0, "c1", "read", &json!("{\"file_path\":\"a.txt\"}"));
        let provider = Provider::start([done(vec![call], reason), Reply::text("Done.")]);
        let env = Env::new(&provider);
        env.write("a.txt", "alpha\n");
        let _ = env.ask("go");
        assert_says(provider.last_request().result("c1"), &["1: alpha"]);
    }
}

#[test]
fn empty_and_null_choices_are_skipped_and_usage_is_taken() {
    let usage = json!({"prompt_tokens": 50, "completion_tokens": 5});
    let noise = [
        json!({"choices": []}),
        json!({"choices": null}),
        json!({"id": "x"}),
        json!({"choices": [{"index": 0, "delta": null, "finish_reason": null}]}),
        json!({"choices": [], "usage": null}),
        json!({"choices": [], "prompt_filter_results": [{}]}),
    ];
    for odd in noise {
        let tail = event(json!({"choices": odd["choices"].clone(), "usage": usage}));
        let provider = Provider::start([Reply::events([
            event(odd.clone()),
            text("Hello."),
            event(odd),
            finish("stop"),
            tail,
            DONE.to_owned(),
        ])]);
        let env = Env::new(&provider);
        assert_eq!(env.ask("go").stdout, "Hello.\n");
        assert_eq!(env.log().last("assistant_message")["usage"]["prompt"], 50);
    }
}

#[test]
fn an_error_inside_a_stream_is_an_error() {
    let error = json!({"message": "credit used up", "code": null, "type": "insufficient_quota"});
    let streams = [
        vec![text("Let me"), event(json!({ "error": error }))],
        vec![text("Let me"), event(json!({"error": error, "choices": []}))],
        vec![event(json!({ "error": error }))],
        vec![text("Let me"), format!("event: error\n{}", event(json!({ "error": error })))],
        vec![text("Let me"), event(json!({"error": "credit used up"}))],
    ];
    for events in streams {
        let provider = Provider::answering(move |_| Reply::events(events.clone()));
        let env = Env::new(&provider);
        env.config(QUICK);
        let output = env.turn("go").expect_code(1);
        assert_says(&output.stderr, &["error:", "credit used up"]);
        assert_eq!(env.log().ending(), "error");
        assert!(env.log().of("assistant_message").is_empty(), "what came before it is no answer");
        let _ = env.run(&["-c", "-p", "again"]).expect_code(1);
        assert_eq!(provider.last_request().roles(), "user user");
    }
}

#[test]
fn arguments_that_are_empty_null_or_absent_are_an_empty_object() {
    let absent = {
        let call =
            json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "read"}});
        delta(json!({ "tool_calls": [call] }))
    };
    let calls = [
        tool_call(0, "c1", "read", &json!("")),
        tool_call(0, "c1", "read", &Value::Null),
        tool_call(0, "c1", "read", &json!({})),
        absent,
    ];
    for call in calls {
        let provider = Provider::start([done(vec![call], "tool_calls"), Reply::text("Done.")]);
        let env = Env::new(&provider);
        let _ = env.ask("go");
        let request = provider.last_request();
        assert_says(request.result("c1"), &["file_path"]);
        assert_eq!(request.messages()[2]["tool_calls"][0]["function"]["arguments"], "{}");
    }
}

#[test]
fn a_lone_surrogate_kills_nothing() {
    let broken = r#"data: {"choices":[{"index":0,"delta":{"content":"odd \ud83d end"}}]}"#
        .to_owned()
        + "\n\n";
    let (_provider, stdout) = answer([done(vec![broken], "stop")]);
    assert_says(&stdout, &["odd", "end"]);
}

/// An event with this text in it as it stands: half a pair is no string in any language.
fn raw_event(delta: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n")
}

#[test]
fn a_surrogate_pair_split_over_two_deltas_is_one_character() {
    let halves = [r#"{"content":"a \ud83c"}"#, r#"{"content":"\udf0d b"}"#].map(raw_event);
    assert_eq!(answer([done(halves.into(), "stop")]).1, "a \u{1f30d} b\n");
    let halves = [
        r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"write",
            "arguments":"{\"file_path\":\"a.txt\",\"content\":\"a \ud83c"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"\udf0d b\"}"}}]}"#,
    ];
    let halves = halves.map(|half| raw_event(&half.replace("\n            ", "")));
    let provider = Provider::start([done(halves.into(), "tool_calls"), Reply::text("Done.")]);
    let env = Env::new(&provider);
    let _ = env.ask("go");
    assert_eq!(env.text("a.txt"), "a \u{1f30d} b");
}

#[test]
fn who_takes_the_answer_slowly_is_no_silent_server() {
    let pieces: Vec<String> = (0..300).map(|n| format!("{n} {}\n", "x".repeat(1_000))).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let reply = Reply::pieces(&pieces).pause(Duration::from_millis(4));
    let provider = Provider::start([reply]);
    let env = Env::new(&provider);
    env.config(QUICK);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = env.command(&["-p", "go"]);
    let mut child = command.stdin(Stdio::null()).stdout(writer).spawn().expect("xsh starts");
    drop(command);
    provider.wait_for_requests(1);
    // More than the pipe holds has come, and nobody reads for three times the time limit.
    std::thread::sleep(Duration::from_millis(1_300));
    let text = std::io::read_to_string(reader).expect("UTF-8");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(text.lines().count(), 300);
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn a_compressed_stream_is_decoded_or_named() {
    let provider = Provider::start([Reply::text("Unpacked.").gzip(true)]);
    let env = Env::new(&provider);
    assert_eq!(env.ask("go").stdout, "Unpacked.\n");
    let provider = Provider::answering(|_| Reply::text("Rubbish.").gzip(false));
    let env = Env::new(&provider);
    env.config(QUICK);
    let output = env.turn("go").expect_code(1);
    assert_says(&output.stderr, &["error:"]);
    assert_silent_on(&output.stderr, &["\u{fffd}"]);
}

#[test]
fn a_whole_json_answer_is_as_good_as_a_stream() {
    let message = json!({"role": "assistant", "content": "All at once."});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3}});
    assert_eq!(answer([Reply::json(200, body)]).1, "All at once.\n");
}

#[test]
fn thinking_is_not_part_of_the_answer() {
    let tagged = done(vec![text("<thi"), text("nk>secret plan</thi"), text("nk>Hello.")], "stop");
    let field = Reply::text("Hello.").reasoning("reasoning_content", "secret plan");
    for reply in [tagged, field] {
        let (_provider, stdout) = answer([reply]);
        assert_eq!(stdout.trim(), "Hello.");
    }
}

#[test]
fn a_half_shown_answer_is_withdrawn_or_marked() {
    let long = "half answer ".repeat(25);
    let provider = Provider::start([
        Reply::text(&long).cut_off(20, End::Reset),
        Reply::calls([read("c1", "a.txt")]),
        Reply::text("Whole answer."),
    ]);
    let env = Env::new(&provider);
    env.config(QUICK);
    env.write("a.txt", "alpha\n");
    let output = env.ask("go");
    assert_eq!(count(&output.stdout, "Whole answer."), 1);
    assert_eq!(provider.last_request().mentions("half answer"), 0);
}
