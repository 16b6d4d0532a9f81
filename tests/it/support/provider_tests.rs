//! The server, seen through a bare socket.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::reply::{Cut, End, Reply};
use super::Provider;

fn hello() -> Value {
    json!({"model": "m", "messages": [
        {"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]})
}

fn connect(provider: &Provider, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(provider.address).unwrap();
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    stream
}

fn post(provider: &Provider, body: &Value) -> String {
    let mut stream = connect(provider, "POST", "/v1/chat/completions", &body.to_string());
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn answers_come_in_order_and_requests_are_kept() {
    let provider = Provider::start([Reply::text("one"), Reply::error(429, "slow down")]);
    assert!(post(&provider, &hello()).contains(r#""content":"one""#));
    let second = post(&provider, &hello());
    assert!(second.starts_with("HTTP/1.1 429") && second.contains("slow down"), "{second}");
    let request = provider.wait_for_requests(2);
    assert_eq!((request.model(), request.roles().as_str(), request.last()), ("m", "user", "hi"));
    assert!(request.message_bytes().starts_with("[{"));
}

#[test]
fn a_function_may_answer() {
    let provider =
        Provider::answering(|request| Reply::text(&format!("you said {}", request.last())));
    assert!(post(&provider, &hello()).contains(r#""content":"hi""#));
}

#[test]
fn unsound_requests_get_a_400_and_are_noted() {
    let provider = Provider::start([Reply::text("never sent")]);
    let answer = post(&provider, &json!({"model": "m", "messages": [], "tools": []}));
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(provider.take_faults().len(), 2);
}

#[test]
fn an_exhausted_script_is_a_500_and_noted() {
    let provider = Provider::start([]);
    assert!(post(&provider, &hello()).contains("script exhausted"));
    assert_eq!(provider.take_faults().len(), 1);
}

#[test]
fn faults_fail_the_test_when_the_provider_goes() {
    let outcome = std::panic::catch_unwind(|| {
        let provider = Provider::start([]);
        post(&provider, &hello());
    });
    assert!(outcome.is_err());
}

#[test]
fn the_model_list_is_bare() {
    let provider = Provider::start([]);
    let mut stream = connect(&provider, "GET", "/v1/models", "");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(r#""id":"test-model""#), "{answer}");
    assert_eq!(provider.other_paths(), ["/v1/models"]);
}

#[test]
fn cuts_arrive_whole() {
    let reply = Reply::text("那🌍 end").cut(Cut::Every(1)).pause(Duration::from_micros(50));
    let provider = Provider::start([reply]);
    let answer = post(&provider, &hello());
    assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
}

/// Reads until the connection ends, and says how.
fn read_end(reply: Reply) -> (String, Option<ErrorKind>) {
    let provider = Provider::start([reply]);
    let body = hello().to_string();
    let mut stream = connect(&provider, "POST", "/v1/chat/completions", &body);
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer).err().map(|error| error.kind());
    (String::from_utf8_lossy(&answer).into_owned(), end)
}

#[test]
fn each_end_is_what_it_says() {
    let text = || Reply::pieces(&["one ", "two"]);
    let (answer, end) = read_end(text().cut_off(1, End::Polite));
    assert!(answer.ends_with("0\r\n\r\n") && !answer.contains("two") && end.is_none(), "{answer}");
    let (answer, end) = read_end(text().cut_off(1, End::Dropped));
    assert!(!answer.ends_with("0\r\n\r\n") && end.is_none(), "{answer}");
    let (answer, end) = read_end(text().cut_off(1, End::Reset));
    assert!(answer.contains("one") && end == Some(ErrorKind::ConnectionReset), "{answer} {end:?}");
    let (answer, end) = read_end(text().cut_off(1, End::Stall));
    assert!(answer.contains("one") && end == Some(ErrorKind::WouldBlock), "{answer} {end:?}");
    let (answer, end) = read_end(Reply::silence());
    assert!(answer.is_empty() && end == Some(ErrorKind::WouldBlock), "{answer} {end:?}");
}

#[test]
fn a_hangup_during_a_stall_is_noticed() {
    let provider = Provider::start([Reply::silence()]);
    drop(connect(&provider, "POST", "/v1/chat/completions", &hello().to_string()));
    provider.wait_for_hangup();
}
