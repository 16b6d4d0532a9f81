//! Calls that the model writes as text: taken over when whole, asked for again when not, never run
//! when they are only talked about.

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::{Env, Output};
use crate::support::provider::Provider;
use crate::support::reply::{Reply, shell};

const WHOLE: &str = r#"<tool_call>{"name":"read","arguments":{"path":"a.txt"}}</tool_call>"#;
const TOUCH: &str =
    r#"<tool_call>{"name":"shell","arguments":{"command":"touch made.txt"}}</tool_call>"#;

/// One turn in which the model first says this and then answers.
fn turn(first: &str, args: &[&str]) -> (Env, Provider, Output) {
    let provider = Provider::start([Reply::text(first), Reply::text("Done.")]);
    let env = Env::new(&provider);
    env.write("a.txt", "alpha\n");
    let output = env.run(&[args, &["-p", "go"]].concat()).expect_code(0);
    (env, provider, output)
}

#[test]
fn a_whole_call_is_run_like_any_other() {
    let said = format!("I read it.\n{WHOLE}");
    let (env, provider, output) = turn(&said, &["-v"]);
    assert_eq!(output.stdout, "Done.\n");
    assert_says(&output.stderr, &["wrote its call as text"]);
    let request = provider.last_request();
    assert_eq!(request.roles(), "user assistant tool");
    assert_says(request.result(request.result_ids()[0]), &["1: alpha"]);
    assert_eq!(request.mentions("<tool_call>"), 0);
    let log = env.log();
    let message = log.of("assistant_message")[0];
    assert_eq!(
        (&message["content"], &message["raw_content"]),
        (&json!("I read it."), &json!(said))
    );
    assert_eq!(message["tool_calls"][0]["arguments"], r#"{"path":"a.txt"}"#);
}

#[test]
fn every_form_is_run() {
    let forms = [
        "<function=shell>\n<parameter=command>\ntouch made.txt\n</parameter>\n</function>",
        "<function_calls>\n<invoke name=\"shell\">\n<parameter name=\"command\">touch made.txt\
         </parameter>\n</invoke>\n</function_calls>",
        "```json\n{\"name\": \"shell\", \"arguments\": {\"command\": \"touch made.txt\"}}\n```",
        r#"[TOOL_CALLS][{"name": "shell", "arguments": {"command": "touch made.txt"}}]"#,
        "<|channel|>commentary to=functions.shell <|constrain|>json<|message|>\
         {\"command\": \"touch made.txt\"}",
    ];
    for form in forms {
        let (env, provider, output) = turn(form, &["--permission-mode", "full"]);
        assert!(env.exists("made.txt"), "{form}: {output:?}");
        assert_eq!(provider.last_request().roles(), "user assistant tool", "{form}");
    }
}

#[test]
fn the_same_gate_holds() {
    let provider = Provider::start([Reply::text(TOUCH), Reply::text("Not allowed, then.")]);
    let env = Env::new(&provider);
    let _ = env.run(&["--permission-mode", "plan", "-p", "go"]).expect_code(4);
    assert!(!env.exists("made.txt"));
    let request = provider.last_request();
    assert_says(request.result(request.result_ids()[0]), &["Denied"]);
}

#[test]
fn words_about_calls_are_an_answer() {
    let explanations = [
        format!("A call looks like this:\n\n```\n{TOUCH}\n```\n\nThat is all."),
        format!("A call looks like this:\n\n```\n{TOUCH}\n```"),
        format!("Write `{TOUCH}` to make a file."),
        format!("First\n{TOUCH}\nis sent, then the result comes."),
    ];
    for said in explanations {
        let provider = Provider::start([Reply::text(&said)]);
        let env = Env::new(&provider);
        assert_eq!(env.ask("how?").stdout, format!("{said}\n"));
        assert!(!env.exists("made.txt"), "{said}");
        assert_eq!(env.log().kinds().matches("tool_started").count(), 0);
    }
}

#[test]
fn a_call_that_cannot_run_is_asked_for_again() {
    let cut = TOUCH.strip_suffix("\"}}</tool_call>").expect("an end");
    let unknown =
        r#"<tool_call>{"name":"make","arguments":{"command":"touch made.txt"}}</tool_call>"#;
    for said in [cut, unknown] {
        let (env, provider, output) = turn(said, &["--permission-mode", "full"]);
        assert_eq!(output.stdout, "Done.\n", "{said}");
        assert!(!env.exists("made.txt"), "{said}");
        let request = provider.last_request();
        assert_eq!(request.roles(), "user assistant user");
        assert_says(request.last(), &["written as text", "nothing was run"]);
    }
}

#[test]
fn it_is_asked_for_twice_at_most() {
    let provider = Provider::answering(|_| Reply::text("<tool_call>{\"name\":"));
    let env = Env::new(&provider);
    let output = env.turn("go").expect_code(1);
    assert_eq!(provider.requests().len(), 3);
    assert_says(&output.stderr, &["as text", "help:"]);
    assert_eq!(env.log().ending(), "error");
}

#[test]
fn a_call_cut_by_the_output_limit_is_not_continued_as_text() {
    let provider = Provider::start([
        Reply::text("<tool_call>{\"name\":\"shell\",\"arg").finish("length"),
        Reply::calls([shell("c1", "touch made.txt")]),
        Reply::text("Made."),
    ]);
    let env = Env::new(&provider);
    assert_eq!(env.ask("go").stdout, "Made.\n");
    assert!(env.exists("made.txt"));
}

#[test]
fn a_session_with_such_calls_goes_on_with_the_same_bytes() {
    let (env, provider, _output) = turn(&format!("I read it.\n{WHOLE}"), &[]);
    let before = provider.last_request();
    let next = Provider::start([Reply::text("Again.")]);
    let mut env = env;
    env.set("XSH_BASE_URL", &next.base_url());
    let _ = env.go_on("and now?");
    assert!(next.last_request().message_bytes().starts_with(before.message_bytes()));
}

#[test]
fn a_call_is_not_shown_as_an_answer_while_it_streams() {
    let (_env, _provider, output) = turn(&format!("I read it.\n{WHOLE}"), &[]);
    assert_silent_on(&output.stderr, &["tool_call", "arguments"]);
    let (_env, _provider, output) =
        turn(&format!("I read it.\n{WHOLE}"), &["--output-format", "stream-json"]);
    assert_silent_on(&output.stdout, &["tool_call>"]);
}
