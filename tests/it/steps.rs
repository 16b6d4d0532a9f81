//! The step loop: calls are run in order, faults become results, and every turn has an ending.

use serde_json::json;

use crate::support::assert::assert_says;
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::log::Log;
use crate::support::provider::Provider;
use crate::support::reply::{
    Call, DONE, Reply, call, delta, edit, event, finish, raw_call, read, shell, write,
};

/// One turn in which the model makes these calls at once and then answers; gives the request that
/// carries the results.
fn results(env_setup: impl FnOnce(&Env), calls: Vec<Call>) -> (Env, Request) {
    let provider = Provider::start([Reply::calls(calls), Reply::text("Done.")]);
    let env = Env::new(&provider);
    env_setup(&env);
    let _ = env.ask("go");
    (env, provider.last_request())
}

#[test]
fn the_model_is_asked_again_until_it_answers() {
    let provider = Provider::start([
        Reply::text_and_calls("First.", [read("c1", "a.txt")]),
        Reply::calls([read("c2", "b.txt")]),
        Reply::text("Both read."),
    ]);
    let env = Env::new(&provider);
    env.write("a.txt", "alpha\n");
    env.write("b.txt", "beta\n");
    let _ = env.ask("read both");
    let last = provider.last_request();
    assert_eq!(last.roles(), "user assistant tool assistant tool");
    assert_says(last.result("c1"), &["1: alpha", "[Line endings: LF. Total lines: 1.]"]);
    assert_says(last.result("c2"), &["1: beta"]);
    let log = env.log();
    assert_eq!((log.ending(), &log.last("turn_finished")["steps"]), ("completed", &json!(3)));
}

#[test]
fn results_come_in_the_order_of_the_calls() {
    let setup = |env: &Env| {
        env.write("big.txt", "line\n".repeat(20_000));
        env.write("a.txt", "old\n");
    };
    let calls = vec![
        call("c1", "grep", json!({"pattern": "line"})),
        read("c2", "a.txt"),
        call("c3", "nothing_like_it", json!({})),
        write("c4", "a.txt", "new\n"),
        read("c5", "a.txt"),
        raw_call("c6", "read", "{}"),
        read("c7", "a.txt"),
    ];
    let (_env, request) = results(setup, calls);
    assert_eq!(request.result_ids(), ["c1", "c2", "c3", "c4", "c5", "c6", "c7"]);
}

#[test]
fn a_write_is_a_barrier_between_reads() {
    let setup = |env: &Env| env.write("a.txt", "old\n");
    let calls = vec![read("c1", "a.txt"), write("c2", "a.txt", "new\n"), read("c3", "a.txt")];
    let (env, request) = results(setup, calls);
    assert_says(request.result("c1"), &["1: old"]);
    assert_says(request.result("c3"), &["1: new"]);
    assert_eq!(env.text("a.txt"), "new\n");
}

/// A slow search between quick reads, then a write between reads: what the log says of when each ran.
#[test]
fn neighbouring_reads_overlap_and_a_write_waits_for_them() {
    let setup = |env: &Env| {
        env.write("a.txt", "old\n");
        let line = "abab".repeat(250);
        for file in 0..10 {
            env.write(&format!("f{file}.txt"), format!("{line}\n").repeat(200));
        }
    };
    let calls = vec![
        call("c1", "grep", json!({"pattern": "(a|b|ab)*c$"})),
        read("c2", "a.txt"),
        write("c3", "a.txt", "new\n"),
        read("c4", "a.txt"),
    ];
    let (env, request) = results(setup, calls);
    assert_eq!(request.result_ids(), ["c1", "c2", "c3", "c4"]);
    let log = env.log();
    let place = |kind: &str, id: &str| {
        let found = log.lines.iter().position(|l| l["type"] == kind && l["call_id"] == id);
        found.unwrap_or_else(|| panic!("no {kind} of {id}: {}", log.kinds()))
    };
    let (started, ended) = (|id| place("tool_started", id), |id| place("tool_result", id));
    assert!(started("c2") < ended("c1"), "they run together: {}", log.kinds());
    assert!(ended("c1").max(ended("c2")) < started("c3") && ended("c3") < started("c4"));
    assert_says(request.result("c2"), &["1: old"]);
    assert_says(request.result("c4"), &["1: new"]);
}

#[test]
fn three_edits_of_one_file_in_one_reply_all_land() {
    let setup = |env: &Env| env.write("a.txt", "one\ntwo\nthree\n");
    let calls = vec![
        read("c0", "a.txt"),
        edit("c1", "a.txt", "one", "1"),
        edit("c2", "a.txt", "two", "2"),
        edit("c3", "a.txt", "three", "3"),
    ];
    let (env, _request) = results(setup, calls);
    assert_eq!(env.text("a.txt"), "1\n2\n3\n");
}

#[test]
fn an_unknown_tool_gets_the_list_of_real_ones() {
    for name in ["search_web", "functions.read", "read<|channel|>", "Read_File"] {
        let provider = Provider::start([
            Reply::calls([raw_call("c1", name, r#"{"file_path":"a.txt"}"#)]),
            Reply::text("Done."),
        ]);
        let env = Env::new(&provider);
        env.write("a.txt", "secret line\n");
        let _ = env.ask("go");
        let request = provider.last_request();
        if !request.result("c1").contains("secret line") {
            let tools = ["glob", "grep", "read", "write", "edit", "shell"];
            assert_says(request.result("c1"), &tools);
        }
    }
}

#[test]
fn a_call_without_a_name_does_not_spoil_the_history() {
    let provider = Provider::answering(|request| match request.roles().as_str() {
        "user" => Reply::calls([raw_call("c1", "", "{}")]),
        _ => Reply::text("Done."),
    });
    let env = Env::new(&provider);
    let first = env.turn("go");
    assert!([0, 1].contains(&first.code), "{first:?}");
    let _ = env.go_on("again");
    assert_eq!(provider.last_request().last(), "again");
}

#[test]
fn harmless_slips_in_arguments_are_repaired_and_noted() {
    let cases = [
        r#"{"file_path": "a.txt",}"#,
        "{'file_path': 'a.txt'}",
        r#"{"file_path": "a.txt", "offset": "2"}"#,
        r#""{\"file_path\": \"a.txt\"}""#,
    ];
    for arguments in cases {
        let setup = |env: &Env| env.write("a.txt", "one\ntwo\n");
        let (env, request) = results(setup, vec![raw_call("c1", "read", arguments)]);
        let said = request.result("c1");
        assert!(said.contains("2: two"), "{arguments}: {said}");
        assert_says(said, &["repaired|corrected|note|interpreted"]);
        let log = env.log();
        let logged = &log.of("assistant_message")[0]["tool_calls"][0]["arguments"];
        assert_eq!(logged, arguments, "the log keeps the model's own text");
    }
}

#[test]
fn arguments_beyond_repair_never_run() {
    let cases = [
        ("write", r#"{"file_path":"made.txt","content":"half"#),
        ("write", r#"{"file_path":"made.txt"}"#),
        ("shell", r#"{"command":"touch made.txt\"}"#),
        ("shell", "touch made.txt"),
        ("write", "[]"),
        ("write", "42"),
        ("write", ""),
        ("write", "null"),
        ("write", r#"{"file_path":17,"content":{}}"#),
    ];
    for (tool, arguments) in cases {
        let (env, request) = results(|_| (), vec![raw_call("c1", tool, arguments)]);
        assert!(!request.result("c1").is_empty());
        assert!(!env.exists("made.txt"), "{tool} {arguments}");
        assert_eq!(env.log().last("tool_result")["is_error"], true, "{tool} {arguments}");
    }
}

/// A whole turn against this provider; gives its exit code, what it said on stderr, and its log.
fn ending(provider: &Provider) -> (i32, String, Log) {
    let env = Env::new(provider);
    let output = env.turn("go");
    (output.code, output.stderr, env.log())
}

#[test]
fn the_same_call_again_and_again_is_told_once_and_then_stopped() {
    let provider = Provider::answering(|request| {
        let id = format!("c{}", request.messages().len());
        Reply::calls([shell(&id, "exit 1")])
    });
    let (code, stderr, log) = ending(&provider);
    assert_eq!((code, log.ending()), (3, "repeating"), "{stderr}");
    assert_says(&stderr, &["repeat|same call|again"]);
    let (count, last) = (provider.requests().len(), provider.last_request());
    assert!((3..=12).contains(&count), "{count} requests");
    assert_says(&format!("{:?}", last.messages()), &["repeat|same call|again"]);
}

#[test]
fn a_short_cycle_of_calls_is_stopped_too() {
    let provider = Provider::answering(|request| {
        let count = request.messages().len();
        let id = format!("c{count}");
        let command = if request.result_ids().len() % 2 == 0 { "exit 1" } else { "exit 2" };
        Reply::calls([shell(&id, command)])
    });
    let (code, stderr, log) = ending(&provider);
    assert_eq!((code, log.ending()), (3, "repeating"), "{stderr}");
    assert!(provider.requests().len() <= 24);
}

#[test]
fn different_calls_are_no_repetition() {
    let provider = Provider::answering(|request| {
        let count = request.result_ids().len();
        if count == 12 {
            return Reply::text("Done.");
        }
        Reply::calls([shell(&format!("c{count}"), &format!("echo {count}"))])
    });
    let (code, stderr, log) = ending(&provider);
    assert_eq!((code, log.ending()), (0, "completed"), "{stderr}");
}

#[test]
fn two_empty_answers_end_the_turn() {
    let empty = || Reply::events([finish("stop"), DONE.to_owned()]);
    let blank = || Reply::text("");
    for replies in [[empty(), empty(), empty(), empty()], [blank(), blank(), blank(), blank()]] {
        let provider = Provider::start(replies);
        let (code, stderr, log) = ending(&provider);
        assert_eq!((code, log.ending()), (1, "empty"), "{stderr}");
        assert_says(&stderr, &["empty"]);
        assert!(log.of("assistant_message").is_empty(), "{}", log.kinds());
    }
}

#[test]
fn one_empty_answer_is_asked_again() {
    let provider = Provider::start([Reply::text(""), Reply::text("Here.")]);
    assert_eq!(Env::new(&provider).ask("hi").stdout, "Here.\n");
}

#[test]
fn an_answer_of_reasoning_alone_does_not_spoil_the_history() {
    let thought = || {
        let reasoning = delta(json!({"reasoning_content": "hm, hm"}));
        Reply::events([reasoning, finish("stop"), DONE.to_owned()])
    };
    let provider = Provider::answering(move |request| match request.last() {
        "think" => thought(),
        _ => Reply::text("Yes."),
    });
    let env = Env::new(&provider);
    let _ = env.turn("think").expect_code(0);
    let kept = env.log().last("assistant_message").clone();
    assert_eq!((&kept["content"], &kept["reasoning"]), (&json!(""), &json!("hm, hm")));
    let _ = env.go_on("and now?");
    assert_eq!(provider.last_request().last(), "and now?");
}

#[test]
fn an_answer_cut_by_the_output_limit_is_continued() {
    let provider = Provider::start([
        Reply::text("The first half,").finish("length"),
        Reply::text(" the second."),
    ]);
    let env = Env::new(&provider);
    let output = env.ask("tell me");
    assert_says(&output.stdout, &["The first half,", "the second."]);
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn a_cut_answer_is_continued_at_most_twice() {
    let provider = Provider::answering(|_| Reply::text("more and").finish("length"));
    let (code, stderr, log) = ending(&provider);
    assert_eq!(provider.requests().len(), 3);
    assert_ne!(code, 0);
    assert_says(&stderr, &["limit|length"]);
    assert_ne!(log.ending(), "completed");
}

#[test]
fn a_call_cut_by_the_output_limit_never_runs() {
    let open = json!({"index": 0, "id": "c1", "type": "function", "function": {
        "name": "write", "arguments": "{\"file_path\":\"cut.txt\",\"content\":\"half"}});
    for reason in ["length", "tool_calls", "stop"] {
        let cut = Reply::events([
            delta(json!({"content": "I will write it."})),
            delta(json!({ "tool_calls": [open] })),
            finish(reason),
            DONE.to_owned(),
        ]);
        let provider = Provider::start([cut, Reply::text("I see.")]);
        let env = Env::new(&provider);
        let _ = env.ask("write");
        assert!(!env.exists("cut.txt"), "{reason}");
        let request = provider.last_request();
        assert_says(request.result("c1"), &["cut|incomplete|limit"]);
        assert_eq!(request.mentions("I will write it."), 1);
    }
}

#[test]
fn a_withheld_answer_is_refused() {
    let provider =
        Provider::answering(|_| Reply::events([finish("content_filter"), DONE.to_owned()]));
    let (code, stderr, log) = ending(&provider);
    assert_eq!((code, log.ending()), (1, "refused"), "{stderr}");
    assert_says(&stderr, &["filter|refused|withheld"]);
}

#[test]
fn usage_is_summed_once_per_request() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "true")]).usage(1000, 10, 900),
        Reply::text("Done.").usage(1100, 20, 1000),
    ]);
    let env = Env::new(&provider);
    let _ = env.ask("go");
    let usage = env.log().last("turn_finished")["usage"].clone();
    for (key, sum) in [("prompt", 2100), ("completion", 30), ("cached", 1900)] {
        assert_eq!(usage[key], sum, "{usage}");
    }
}

#[test]
fn a_failed_attempt_costs_but_is_no_part_of_the_context() {
    let told = json!({"prompt_tokens": 9000, "completion_tokens": 70});
    let half = Reply::events([
        delta(json!({"content": "Half"})),
        event(json!({"choices": [], "usage": told})),
    ]);
    let provider = Provider::start([half, Reply::text("Whole.").usage(1000, 10, 0)]);
    let env = Env::new(&provider);
    env.config("[retry]\nmax_wait = 0.05\n");
    let args = ["-v", "--context-window", "10000", "-p", "go"];
    let output = env.run(&args).expect_code(0);
    assert_says(&output.stderr, &["context 10 %"]);
    let usage = env.log().last("turn_finished")["usage"].clone();
    assert_eq!((&usage["prompt"], &usage["completion"]), (&json!(10_000), &json!(80)), "{usage}");
    assert_eq!(env.log().last("assistant_message")["usage"]["prompt"], 1000);
}

#[test]
fn calls_of_a_withheld_answer_are_answered_too() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "touch made"), read("c2", "x")]).finish("content_filter"),
        Reply::text("Noted."),
    ]);
    let env = Env::new(&provider);
    let args = ["--permission-mode", "full", "--output-format", "stream-json", "-p", "go"];
    let output = env.run(&args).expect_code(1);
    let log = env.log();
    for id in ["c1", "c2"] {
        assert_says(log.result(id)["content"].as_str().expect("text"), &["not started"]);
        assert_says(&output.stdout, &[&format!("\"tool_use_id\":\"{id}\"")]);
    }
    assert!(!env.exists("made"));
    let _ = env.go_on("again");
    assert_eq!(provider.last_request().roles(), "user assistant tool tool user");
}
