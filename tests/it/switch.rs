//! Another model in mid-session, how hard it thinks, and how large its window is.

use std::time::Duration;

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::{Env, KEY};
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::pty::{Pty, key};
use crate::support::reply::{Reply, call, read};

const SECOND_KEY: &str = "sk-second-9876543210";

/// A configuration with the first provider as usual and another one named `second`.
fn two(first: &Provider, second: &Provider, more: &str) -> Env {
    let mut env = Env::new(first);
    env.set("SECOND_KEY", SECOND_KEY);
    let url = second.base_url();
    env.config(&format!(
        "[providers.second]\nbase_url = \"{url}\"\napi_key_env = \"SECOND_KEY\"\n\
         model = \"usual\"\n{more}"
    ));
    env
}

fn start(env: &Env, args: &[&str]) -> Pty {
    let pty = Pty::xsh(env, args);
    pty.settle();
    pty
}

/// Types a line and waits until the screen rests.
fn say(pty: &Pty, line: &str) -> String {
    let before = pty.raw().len();
    pty.line(line);
    pty.settle();
    let raw = pty.raw();
    String::from_utf8_lossy(raw.get(before..).unwrap_or_default()).into_owned()
}

fn ask(pty: &Pty, line: &str, provider: &Provider, requests: usize) -> Request {
    pty.line(line);
    let request = provider.wait_for_requests(requests);
    pty.settle();
    request
}

fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

#[test]
fn there_and_back_with_calls_and_reasoning() {
    let first = Provider::start([
        Reply::calls([read("fc|odd", "a.txt")]).reasoning("reasoning_content", "deep thoughts"),
        Reply::text("First has read it."),
        Reply::text("First is back."),
    ]);
    let second = Provider::start([Reply::text("Second here.").reasoning("reasoning", "mine")]);
    let env = two(&first, &second, "");
    env.write("a.txt", "alpha\n");
    let pty = start(&env, &[]);
    let before = ask(&pty, "read it", &first, 2);
    assert_says(&say(&pty, "/model second/other"), &["other", "second", "cache|anew"]);
    let there = ask(&pty, "and you?", &second, 1);
    assert_eq!(there.model(), "other");
    assert_eq!(there.header("authorization"), Some(bearer(SECOND_KEY).as_str()));
    assert_eq!(there.roles(), "user assistant tool assistant user");
    assert_says(there.system(), &["other"]);
    let body = String::from_utf8_lossy(&there.body).into_owned();
    assert_silent_on(&body, &["deep thoughts", "test-model"]);

    say(&pty, "/model generic/test-model");
    let back = ask(&pty, "again", &first, 3);
    assert_eq!(back.header("authorization"), Some(bearer(KEY).as_str()));
    assert!(back.message_bytes().starts_with(before.message_bytes()), "the old bytes again");
    assert_silent_on(&String::from_utf8_lossy(&back.body), &["\"mine\""]);

    let log = env.log();
    let changes: Vec<_> = log.of("model_changed");
    assert_eq!(changes.len(), 2);
    assert_eq!(
        (&changes[0]["provider"], &changes[0]["model"]),
        (&json!("second"), &json!("other"))
    );
    assert_eq!(log.last("assistant_message")["model"], "test-model");
    let stored = log.of("assistant_message");
    assert_eq!(stored[0]["reasoning"], "deep thoughts", "the log stays whole");
}

#[test]
fn a_switch_holds_for_its_session_and_is_taken_up_again() {
    let first = Provider::answering(|_| Reply::text("First."));
    let second = Provider::answering(|_| Reply::text("Second."));
    let mut env = two(&first, &second, "");
    let pty = start(&env, &[]);
    say(&pty, "/model second");
    assert_eq!(ask(&pty, "hello", &second, 1).model(), "usual");
    pty.line("/quit");
    drop(pty);

    // What is said today wins; it is said that it does.
    let told = env.run(&["-v", "-c", "-p", "beta"]).expect_code(0);
    assert_says(&told.stderr, &["usual (second)", "test-model", "XSH_MODEL"]);
    assert_eq!(first.last_request().roles(), "user assistant user");
    // A new session knows nothing of it.
    let _ = env.ask("alpha");
    assert_eq!(first.requests().len(), 2);

    for name in ["XSH_MODEL", "XSH_BASE_URL", "XSH_API_KEY"] {
        env.unset(name);
    }
    let sessions = env.sessions();
    let switched = sessions[0].to_str().expect("UTF-8");
    let flag = ["--resume", switched, "--model", "second/by-flag", "-p", "x"];
    let _ = env.run(&flag).expect_code(0);
    assert_eq!(second.last_request().model(), "by-flag");
    let again = env.run(&["-v", "--resume", switched, "-p", "x"]).expect_code(0);
    assert_eq!(second.last_request().model(), "by-flag", "nothing is said: its own goes on");
    assert_says(&again.stderr, &["by-flag (second)"]);
    let lost = env.run_alone(&["--resume", sessions[1].to_str().expect("UTF-8"), "-p", "x"]);
    assert_eq!(lost.code, 2, "the other one's provider is gone: {lost:?}");
}

#[test]
fn a_history_too_long_for_the_new_window_is_summarised_by_the_old_model() {
    let first = Provider::answering(|request| {
        let summary = request.json["tool_choice"] == "none";
        let long = "lorem ipsum dolor ".repeat(1_600);
        Reply::text(if summary { "SUMMARY of it all." } else { &long })
    });
    let second = Provider::answering(|_| Reply::text("Small but there."));
    let env = two(&first, &second, "[models.\"second/small\"]\ncontext_window = 8000\n");
    for name in ["first-topic", "second-topic", "third-topic"] {
        let args = ["-c", "-p", name];
        let args = if env.sessions().is_empty() { &args[1..] } else { &args };
        let _ = env.run(args).expect_code(0);
    }
    let pty = start(&env, &["-c", "--context-window", "64000"]);
    let said = say(&pty, "/model second/small");
    assert_says(&said, &["small", "8000", "shortened"]);
    assert_eq!(first.last_request().json["tool_choice"], "none");
    let request = ask(&pty, "still there?", &second, 1);
    assert!(request.body.len() < 8_000 * 3, "{} bytes", request.body.len());
    assert_says(&String::from_utf8_lossy(&request.body), &["SUMMARY of it all."]);
    let log = env.log();
    let kinds: Vec<_> = log.lines.iter().filter_map(|line| line["type"].as_str()).collect();
    let place = |kind| kinds.iter().position(|k| *k == kind).expect(kind);
    assert!(place("compaction") < place("model_changed"));
    assert_eq!(second.requests().len(), 1, "the small model summarised nothing");
}

#[test]
fn without_the_old_model_the_history_is_cut() {
    let first = Provider::answering(|request| match request.json["tool_choice"].as_str() {
        Some("none") => Reply::error(402, "Insufficient balance"),
        _ => Reply::text("Noted."),
    });
    let second = Provider::answering(|_| Reply::text("Small but there."));
    let env = two(&first, &second, "[models.small]\ncontext_window = 8000\n");
    let long = "lorem ipsum dolor ".repeat(3_000);
    let _ = env.run(&["-p", "the-topic"]).expect_code(0);
    let _ = env.run(&["-c", "-p", &long]).expect_code(0);
    let _ = env.run(&["-c", "-p", "the-latest"]).expect_code(0);
    let pty = start(&env, &["-c"]);
    assert_says(&say(&pty, "/model second/small"), &["Insufficient balance", "shortened"]);
    let request = ask(&pty, "still there?", &second, 1);
    assert!(request.body.len() < 8_000 * 3, "{} bytes", request.body.len());
    assert_says(&String::from_utf8_lossy(&request.body), &["the-topic", "the-latest"]);
}

#[test]
fn effort_applies_at_once_is_recorded_and_comes_back() {
    let provider = Provider::answering(|_| Reply::text("Hm."));
    let env = Env::new(&provider);
    let pty = start(&env, &[]);
    assert_says(&say(&pty, "/effort"), &["provider sees fit", "off, low, medium, high, max"]);
    assert_says(&say(&pty, "/effort ultra"), &["no level ultra", "default"]);
    assert_says(&say(&pty, "/effort high"), &["high", "reasoning_effort"]);
    assert_eq!(ask(&pty, "think", &provider, 1).json["reasoning_effort"], "high");
    assert_eq!(env.log().last("model_changed")["effort"], "high");
    pty.line("/quit");
    drop(pty);
    let _ = env.go_on("more");
    assert_eq!(provider.last_request().json["reasoning_effort"], "high");
    let _ = env.run(&["-c", "--effort", "low", "-p", "less"]).expect_code(0);
    assert_eq!(provider.last_request().json["reasoning_effort"], "low");
    let pty = start(&env, &["-c"]);
    say(&pty, "/effort default");
    let request = ask(&pty, "as you like", &provider, 4);
    assert_eq!(request.json.get("reasoning_effort"), None);
}

#[test]
fn the_list_has_numbers_names_and_completion() {
    let first = Provider::answering(|_| Reply::text("First.")).telling(
        "/v1/models",
        json!({"data": [{"id": "test-model"}, {"id": "zeta", "context_length": 50_000}]}),
    );
    let second = Provider::answering(|_| Reply::text("Second."));
    let env = two(&first, &second, "");
    let pty = start(&env, &[]);
    let list = say(&pty, "/model");
    assert_says(&list, &["* test-model", "zeta", "50k", "second/usual"]);
    assert_says(&say(&pty, "/model 99"), &["no model 99"]);
    assert_says(&say(&pty, "/model 2"), &["zeta", "50000"]);
    assert_eq!(ask(&pty, "who?", &first, 1).model(), "zeta");
    pty.send("/model second/us");
    pty.send(key::TAB);
    pty.wait_for("second/usual");
    pty.send(key::ENTER);
    pty.settle();
    assert_eq!(ask(&pty, "who?", &second, 1).model(), "usual");
    say(&pty, "/model unlisted");
    assert_eq!(ask(&pty, "who?", &second, 2).model(), "unlisted");
}

#[test]
fn a_list_that_does_not_come_can_be_interrupted() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut env = Env::bare();
    let address = silent.local_addr().expect("an address");
    env.set("XSH_BASE_URL", &format!("http://{address}/v1"));
    env.set("XSH_MODEL", "test-model");
    let pty = start(&env, &[]);
    pty.line("/model");
    pty.settle();
    pty.send(key::CTRL_C);
    pty.wait_for("interrupted");
}

#[test]
fn no_key_leaves_its_host() {
    let first = Provider::answering(|_| Reply::text("First."));
    let second = Provider::answering(|_| Reply::text("Second."));
    let mut env = two(&first, &second, "");
    env.unset("SECOND_KEY");
    let pty = start(&env, &[]);
    say(&pty, "/model second");
    let request = ask(&pty, "hello", &second, 1);
    assert_eq!(request.header("authorization"), None);
}

#[test]
fn a_window_is_asked_for_in_the_background() {
    let pricing = json!({"prompt": "0.0001", "completion": "0"});
    let told = json!({"id": "test-model", "max_model_len": 50_000, "pricing": pricing});
    let windows = json!({ "data": [told] });
    let provider = Provider::start([
        Reply::calls([call("c1", "glob", json!({"pattern": "*"}))]),
        Reply::text("Done.").usage(5_000, 10, 0).delay(Duration::from_millis(800)),
        Reply::text("Alone."),
    ])
    .telling("/v1/models", windows);
    let env = Env::new(&provider);
    let output = env.run(&["-v", "-p", "look"]).expect_code(0);
    assert_says(&output.stderr, &["context 10 %", "$0.50"]);
    assert_says(&env.run(&["doctor"]).stdout, &["50k  [discovered]"]);
    let asked = provider.other_paths().len();
    let _ = env.run(&["-p", "no second step"]).expect_code(0);
    assert_eq!(provider.other_paths().len(), asked, "a single request stays alone");
}

#[test]
fn an_unknown_window_is_assumed_and_said() {
    let provider = Provider::answering(|_| Reply::text("Done."));
    let env = Env::new(&provider);
    let pty = start(&env, &[]);
    assert_says(&say(&pty, "/context"), &["assumed 32k", "--context-window"]);
    assert_says(&env.run(&["doctor"]).stdout, &["unknown, assumed 32k"]);
}

#[test]
fn a_server_on_this_machine_is_found_and_tells_its_window() {
    let server = Provider::answering(|_| Reply::text("Local."))
        .telling("/v1/models", json!({"data": [{"id": "test-model"}]}))
        .telling("/api/version", json!({"version": "1"}))
        .telling("/api/ps", json!({"models": [{"name": "test-model", "context_length": 4_096}]}));
    let mut env = Env::bare();
    env.set("OLLAMA_HOST", server.base_url().trim_end_matches("/v1"));
    let output = env.ask("hi");
    assert_eq!(server.last_request().model(), "test-model");
    assert_eq!(output.stdout, "Local.\n");
    assert_says(&output.stderr, &["window of 4096 tokens", "OLLAMA_CONTEXT_LENGTH"]);
    let models = env.run(&["models"]).expect_code(0);
    assert_says(&models.stdout, &["ollama", "test-model", "4096", "loaded"]);
}

#[test]
fn a_server_that_cuts_is_noticed_and_asked() {
    let server = Provider::start([
        Reply::calls([call("c1", "glob", json!({"pattern": "*"}))]).usage(4_000, 10, 0),
        Reply::text("Who are you?").usage(4_000, 10, 0).delay(Duration::from_millis(500)),
    ])
    .telling("/api/ps", json!({"models": [{"name": "test-model", "context_length": 4_096}]}));
    let env = Env::new(&server);
    let long = format!("the-topic {}", "lorem ipsum dolor ".repeat(3_000));
    let output = env.run(&["-p", &long]).expect_code(0);
    assert_says(&output.stderr, &["warning:", "read only 4000", "OLLAMA_CONTEXT_LENGTH"]);
    assert_says(&output.stderr, &["window of 4096 tokens", "little"]);
}

#[test]
fn with_several_keys_the_user_picks_once() {
    let mut env = Env::bare();
    env.set("DEEPSEEK_API_KEY", "sk-deepseek");
    env.set("OPENAI_API_KEY", "sk-openai");
    env.config("# mine\n[retry]\nmax_attempts = 2\n");
    let pty = start(&env, &[]);
    assert_says(&pty.screen(), &["deepseek-flash", "gpt-6-luna", "OPENAI_API_KEY"]);
    say(&pty, "7");
    let said = say(&pty, "2+");
    assert_says(&said, &["gpt-6-luna (openai)", "config.toml"]);
    pty.line("/quit");
    drop(pty);
    let kept = std::fs::read_to_string(env.home().join("config/xsh/config.toml")).expect("kept");
    assert_says(
        &kept,
        &["provider = \"openai\"", "model = \"gpt-6-luna\"", "# mine", "max_attempts"],
    );
    let pty = start(&env, &[]);
    assert_says(&pty.screen(), &["gpt-6-luna (openai)"]);
    assert_silent_on(&pty.screen(), &["Several"]);
}

#[test]
fn prices_of_the_user_go_before_the_table() {
    let provider = Provider::answering(|_| Reply::text("Done.").usage(1_000_000, 0, 0));
    let env = Env::new(&provider);
    env.config("[models.test-model]\nprice = { input = 2.5, output = 10 }\n");
    assert_says(&env.run(&["-v", "-p", "hi"]).stderr, &["$2.50"]);
}

#[test]
fn without_a_keyboard_the_first_is_taken_and_said() {
    let mut env = Env::bare();
    env.set("DEEPSEEK_API_KEY", "sk-deepseek");
    env.set("OPENAI_API_KEY", "sk-openai");
    // Nothing listens there: no request gets out.
    env.set("HTTPS_PROXY", "http://127.0.0.1:9");
    env.config("[retry]\nmax_attempts = 1\n");
    let output = env.run(&["-p", "hi"]).expect_code(1);
    assert_says(&output.stderr, &["warning: using deepseek", "openai could be used too"]);
    let said = env.run(&["doctor"]).stdout;
    assert_says(&said, &["also usable", "openai"]);
    let chosen = env.run(&["--provider", "openai", "-p", "hi"]).expect_code(1);
    assert_silent_on(&chosen.stderr, &["using deepseek"]);
}

#[test]
fn a_session_whose_provider_is_gone_goes_on_with_what_there_is() {
    let first = Provider::answering(|_| Reply::text("First."))
        .telling("/v1/models", json!({"data": [{"id": "local-model"}]}));
    let second = Provider::answering(|_| Reply::text("Second."));
    let mut env = two(&first, &second, "");
    for name in ["XSH_MODEL", "XSH_BASE_URL", "XSH_API_KEY"] {
        env.unset(name);
    }
    env.set("OLLAMA_HOST", first.base_url().trim_end_matches("/v1"));
    let _ = env.run(&["-m", "second/x", "-p", "hi"]).expect_code(0);
    env.config("");
    let output = env.go_on("still there?");
    let lines = ["warning: x (second) answered here last; now it is local-model", "no provider"];
    assert_says(&output.stderr, &lines);
    assert_eq!(first.last_request().roles(), "user assistant user");
}
