//! What a provider refuses of the optional things in a request is changed once and remembered.

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on, count};
use crate::support::env::{Env, KEY, MODEL};
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, read};

const LEARNED: &str = "state/xsh/learned.json";

/// Refuses requests that hold this, in these words; answers the others.
fn refusing(part: &'static str, words: &'static str) -> Provider {
    Provider::answering(move |request| {
        if holds(request, part) { Reply::error(400, words) } else { Reply::text("Fine.") }
    })
}

fn holds(request: &Request, part: &str) -> bool {
    String::from_utf8_lossy(&request.body).contains(part)
}

fn refusals(provider: &Provider, part: &str) -> usize {
    provider.requests().iter().filter(|request| holds(request, part)).count()
}

#[test]
fn a_refused_field_is_left_out_once_and_for_all() {
    let provider = refusing("stream_options", "Unrecognized request argument: stream_options");
    let env = Env::new(&provider);
    let output = env.ask("hi");
    assert_eq!(output.stdout, "Fine.\n");
    let _ = env.go_on("again");
    let _ = env.ask("a new session");
    assert_eq!(refusals(&provider, "stream_options"), 1);
    assert_eq!(provider.requests().len(), 4);
}

#[test]
fn a_change_is_told() {
    let provider = refusing("stream_options", "Unrecognized request argument: stream_options");
    let output = Env::new(&provider).run(&["-v", "-p", "hi"]).expect_code(0);
    assert_says(&output.stderr, &["Unrecognized request argument", "left out stream_options"]);
}

#[test]
fn what_was_learned_holds_for_one_model_and_endpoint_and_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let words = "body.stream_options: Extra inputs are not permitted";
    let provider = refusing("stream_options", words);
    let env = Env::new(&provider);
    let _ = env.ask("hi");
    let file = env.home().join(LEARNED);
    let mode = std::fs::metadata(&file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).expect("text");
    assert_says(&text, &[MODEL, "stream_options"]);
    assert_silent_on(&text, &[KEY]);
    let _ = env.run(&["-m", "another", "-p", "hi"]).expect_code(0);
    assert_eq!(refusals(&provider, "stream_options"), 2);
}

#[test]
fn damage_to_what_was_learned_costs_one_request() {
    let provider = refusing("stream_options", "Unknown parameter: 'stream_options'");
    let env = Env::new(&provider);
    for damage in ["", "{\"places\": [", "[]", "\u{0}\u{1}"] {
        let _ = env.ask("hi");
        std::fs::write(env.home().join(LEARNED), damage).expect("written");
    }
    assert_eq!(refusals(&provider, "stream_options"), 4);
}

#[test]
fn without_a_state_folder_it_holds_for_the_run() {
    let provider = Provider::answering(|request| match request.roles().as_str() {
        _ if holds(request, "stream_options") => {
            Reply::error(400, "Unknown parameter: 'stream_options'")
        }
        "user" => Reply::calls([read("c1", "a.txt")]),
        _ => Reply::text("Fine."),
    });
    let mut env = Env::new(&provider);
    env.unset("XDG_STATE_HOME");
    env.unset("HOME");
    let _ = env.ask("hi");
    assert_eq!(refusals(&provider, "stream_options"), 1);
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn changes_are_bounded_and_taken_back_when_none_helps() {
    let provider = Provider::answering(|request| {
        let fields = ["stream_options", "thinking", "tool_stream", "reasoning_effort"];
        let named = fields.iter().find(|field| holds(request, &format!("\"{field}\":")));
        Reply::error(400, &format!("Unknown parameter: '{}'", named.unwrap_or(&"messages")))
    });
    let env = Env::new(&provider);
    let args = ["--provider", "zai", "--effort", "high", "-p", "hi"];
    let output = env.run(&args).expect_code(1);
    assert_says(&output.stderr, &["error:", "Unknown parameter"]);
    provider.take_faults();
    assert!(provider.requests().len() <= 4, "{}", provider.requests().len());
    assert!(!env.home().join(LEARNED).exists());
}

#[test]
fn a_refusal_that_names_nothing_optional_is_told_at_once() {
    for words in ["Unknown parameter: 'messages'", "model does not support tools", "no"] {
        let provider = Provider::answering(move |_| Reply::error(400, words));
        let output = Env::new(&provider).turn("hi").expect_code(1);
        assert_says(&output.stderr, &["error:", words, "help:"]);
        assert_eq!(provider.requests().len(), 1, "{words}");
    }
}

#[test]
fn a_model_without_tools_is_said_to_be_one() {
    let words = "registry.ollama.ai/library/gemma:2b does not support tools";
    let provider = Provider::answering(move |_| Reply::error(400, words));
    let output = Env::new(&provider).turn("hi").expect_code(1);
    assert_says(&output.stderr, &["does not support tools", "can't call tools", "xsh models"]);
}

#[test]
fn the_api_is_found_below_v1() {
    let provider = Provider::answering(|request| {
        if request.path == "/v1/chat/completions" {
            Reply::text("Found.")
        } else {
            Reply::plain(404, "text/plain", "404 page not found")
        }
    });
    let mut env = Env::new(&provider);
    env.set("XSH_BASE_URL", provider.base_url().trim_end_matches("/v1"));
    assert_eq!(env.ask("hi").stdout, "Found.\n");
    let _ = env.ask("again");
    let paths: Vec<String> = provider.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/chat/completions", "/v1/chat/completions", "/v1/chat/completions"]);
}

#[test]
fn where_there_is_no_api_the_users_own_address_is_named() {
    let provider = Provider::answering(|_| Reply::plain(404, "text/plain", "404 page not found"));
    let mut env = Env::new(&provider);
    env.set("XSH_BASE_URL", &provider.base_url().replace("/v1", "/llm"));
    let output = env.turn("hi").expect_code(1);
    assert_says(&output.stderr, &["error:", "/llm/chat/completions", "/v1"]);
    assert_silent_on(&output.stderr, &["/llm/v1/chat"]);
    assert_eq!(provider.requests().len(), 2);
    assert!(!env.home().join(LEARNED).exists());
}

#[test]
fn reasoning_is_sent_back_once_it_is_asked_for() {
    let provider = Provider::answering(|request| {
        let lacks = |m: &serde_json::Value| {
            m["role"] == "assistant" && m.get("reasoning_content").is_none()
        };
        if request.messages().iter().any(lacks) {
            let words =
                "The `reasoning_content` in the thinking mode must be passed back to the API.";
            return Reply::error(400, words);
        }
        match request.roles().as_str() {
            "user" => Reply::calls([read("c1", "a.txt")]),
            _ => Reply::text("Fine."),
        }
    });
    let env = Env::new(&provider);
    env.write("a.txt", "x\n");
    let _ = env.ask("hi");
    let _ = env.go_on("more");
    assert_eq!(provider.requests().len(), 4);
    let all = format!("{:?}", provider.last_request().json["messages"]);
    assert_eq!(count(&all, "reasoning_content"), 2);
    assert_eq!(provider.last_request().messages()[2]["reasoning_content"], json!(""));
}

#[test]
fn headers_and_fields_of_the_users_own_go_to_their_endpoint_only() {
    let provider = Provider::answering(|_| Reply::text("Fine."));
    let mut env = Env::bare();
    env.config(&format!(
        "[providers.work]\nbase_url = '{}'\nmodel = 'm'\nheaders = {{ X-Org = 'blue' }}\n\
         extra_body = {{ temperature = 0.5, max_tokens = 99 }}\n",
        provider.base_url()
    ));
    let _ = env.run(&["--provider", "work", "-p", "hi"]).expect_code(0);
    let request = provider.last_request();
    assert_eq!(request.header("x-org"), Some("blue"));
    assert_eq!(
        (&request.json["temperature"], &request.json["max_tokens"]),
        (&json!(0.5), &json!(99))
    );
    env.set("XSH_MODEL", "m");
    let _ = env.run(&["--base-url", &provider.base_url(), "-p", "hi"]).expect_code(0);
    let request = provider.last_request();
    assert_eq!((request.header("x-org"), request.json.get("temperature")), (None, None));
}

#[test]
fn a_users_output_limit_goes_under_the_name_that_is_taken() {
    let words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                 'max_completion_tokens' instead.";
    let provider = refusing("\"max_tokens\"", words);
    let env = Env::bare();
    env.config(&format!(
        "[providers.work]\nbase_url = '{}'\nmodel = 'm'\nextra_body = {{ max_tokens = 99 }}\n",
        provider.base_url()
    ));
    for _ in 0..2 {
        let _ = env.run(&["--provider", "work", "-p", "hi"]).expect_code(0);
    }
    assert_eq!(refusals(&provider, "\"max_tokens\""), 1);
    assert_eq!(provider.last_request().json["max_completion_tokens"], 99);
}
