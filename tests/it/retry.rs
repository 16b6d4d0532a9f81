//! What is asked again, how long that waits, and what is never asked again.

use std::time::Duration;

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::{Env, KEY, Output};
use crate::support::provider::Provider;
use crate::support::pty::{Pty, key};
use crate::support::reply::Reply;

const QUICK: &str = "[retry]\nmax_attempts = 3\nmax_wait = 0.1\n";

fn turn(provider: &Provider, config: &str) -> Output {
    let env = Env::new(provider);
    env.config(config);
    env.turn("go")
}

#[test]
fn passing_faults_are_asked_again_with_the_same_bytes() {
    let html = "<html><head><title>Bad gateway</title></head><body>try later</body></html>";
    let faults = [
        Reply::error(429, "slow down"),
        Reply::error(500, "internal"),
        Reply::error(503, "overloaded"),
        Reply::error(529, "overloaded"),
        Reply::plain(502, "text/html", html),
        Reply::plain(503, "text/plain", ""),
    ];
    for fault in faults {
        let provider = Provider::start([fault, Reply::text("Fine.")]);
        let output = turn(&provider, QUICK).expect_code(0);
        assert_eq!(output.stdout, "Fine.\n");
        assert_says(&output.stderr, &["retry|again|attempt"]);
        let requests = provider.requests();
        assert_eq!(requests[0].body, requests[1].body);
    }
}

/// The time between a refusal with this header and the next request.
fn waited(status: u16, retry_after: &str) -> Duration {
    let refusal = Reply::error(status, "slow down").header("Retry-After", retry_after);
    let provider = Provider::start([refusal, Reply::text("Fine.")]);
    let output = turn(&provider, "[retry]\nmax_wait = 10\n").expect_code(0);
    assert_says(&output.stderr, &["slow down"]);
    provider.request(1).at - provider.request(0).at
}

#[test]
fn the_server_says_how_long_to_wait() {
    assert!(waited(429, "1") >= Duration::from_secs(1));
    assert!(waited(503, "1") >= Duration::from_secs(1));
    let soon = jiff::Timestamp::now() + Duration::from_secs(3);
    let date = soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    assert!(waited(429, &date) >= Duration::from_millis(500));
}

#[test]
fn too_long_a_wait_is_not_begun() {
    let provider =
        Provider::start([Reply::error(429, "come back tomorrow").header("Retry-After", "86400")]);
    let output = turn(&provider, "[retry]\nmax_wait = 1\n").expect_code(1);
    assert_says(&output.stderr, &["error:", "come back tomorrow", "86400|24 h|1 day"]);
}

#[test]
fn attempts_are_bounded_and_the_last_reason_is_told() {
    let provider = Provider::answering(|_| Reply::error(500, "the disk is on fire"));
    let output = turn(&provider, QUICK).expect_code(1);
    assert_says(&output.stderr, &["error:", "500", "the disk is on fire"]);
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn a_good_reply_resets_the_count() {
    let fault = || Reply::error(500, "hiccup");
    let call = |id: &str| Reply::calls([crate::support::reply::shell(id, "true")]);
    let provider =
        Provider::start([fault(), fault(), call("c1"), fault(), fault(), Reply::text("Through.")]);
    let output = turn(&provider, QUICK).expect_code(0);
    assert_eq!(output.stdout, "Through.\n");
}

#[test]
fn money_key_and_request_faults_are_told_at_once() {
    let cases = [
        Reply::error(400, "what is this"),
        Reply::error(401, "what is this"),
        Reply::error(402, "what is this"),
        Reply::error(403, "what is this"),
        Reply::error_code(
            429,
            "what is this: you exceeded your current quota",
            "insufficient_quota",
        ),
        Reply::error_code(404, "what is this: no such model", "model_not_found"),
    ];
    for fault in cases {
        let status = fault.status.to_string();
        let provider = Provider::start([fault]);
        let output = turn(&provider, QUICK).expect_code(1);
        assert_says(&output.stderr, &["error:", &status, "what is this", "help:"]);
        assert_silent_on(&output.stderr, &[KEY, "{\"error\""]);
    }
}

#[test]
fn a_web_page_in_place_of_an_api_is_named() {
    let page = format!(
        "<html><body><h1>Welcome to the portal</h1>{}</body></html>",
        "<p>x</p>".repeat(20_000)
    );
    let provider =
        Provider::answering(move |_| Reply::plain(200, "text/html; charset=utf-8", &page));
    let output = turn(&provider, QUICK).expect_code(1);
    assert_says(&output.stderr, &["error:", "HTML", "/v1"]);
    assert!(output.stderr.len() < 4000, "{} bytes of error", output.stderr.len());
}

#[test]
fn an_error_with_status_200_is_an_error() {
    let provider =
        Provider::answering(|_| Reply::json(200, json!({"error": {"message": "no credit left"}})));
    let output = turn(&provider, QUICK).expect_code(1);
    assert_says(&output.stderr, &["error:", "no credit left"]);
}

#[test]
fn nobody_at_the_address_is_named() {
    let mut env = Env::bare();
    env.config(QUICK);
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    env.set("XSH_BASE_URL", &format!("http://{address}/v1"));
    env.set("XSH_MODEL", "m");
    env.set("XSH_API_KEY", KEY);
    let output = env.turn("go").expect_code(1);
    assert_says(&output.stderr, &["error:", &address.to_string(), "help:"]);
    assert_eq!(env.log().ending(), "error");
}

#[test]
fn an_error_of_the_provider_is_inert_and_short() {
    let nasty = format!("\u{1b}[2J\u{1b}]0;owned\u{7} {}", "long ".repeat(5000));
    let provider = Provider::start([Reply::error(400, &nasty)]);
    let output = turn(&provider, QUICK).expect_code(1);
    assert_silent_on(&output.stderr, &["\u{1b}", "\u{7}"]);
    assert!(output.stderr.len() < 4000, "{} bytes of error", output.stderr.len());
}

#[test]
fn the_wait_is_counted_down_on_screen_and_can_be_interrupted() {
    let provider = Provider::start([
        Reply::error(429, "slow down").header("Retry-After", "45"),
        Reply::text("Here again."),
    ]);
    let env = Env::new(&provider);
    let mut pty = Pty::xsh(&env, &[]);
    pty.settle();
    pty.line("go");
    let left = |screen: &str| -> Option<u64> {
        screen.split("asking again in ").last()?.split(' ').next()?.parse().ok()
    };
    let first = pty.wait_for_screen("the countdown", |screen| left(screen).is_some());
    let first = left(&first).expect("seconds");
    assert!((20..=46).contains(&first), "{first}");
    pty.wait_for_screen("a smaller number", |screen| left(screen).is_some_and(|now| now < first));
    pty.send(key::CTRL_C);
    pty.settle();
    pty.line("again");
    pty.wait_for("Here again.");
    pty.line("/quit");
    pty.wait();
    assert_eq!(provider.requests().len(), 2);
}
