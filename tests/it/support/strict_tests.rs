//! One case per rule, and a history that breaks none.

use serde_json::{Value, json};

use super::faults;

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "done"})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn body(messages: &[Value]) -> Value {
    let mut all = vec![json!({"role": "system", "content": "You are xsh."})];
    all.extend(messages.iter().cloned());
    json!({"model": "m", "messages": all, "stream": true})
}

#[track_caller]
fn check_messages(messages: &[Value], expected: Option<&str>) {
    check(&body(messages), expected);
}

#[track_caller]
fn check(body: &Value, expected: Option<&str>) {
    let found = faults(body);
    match expected {
        None => assert!(found.is_empty(), "{found:?}"),
        Some(part) => assert!(found.iter().any(|fault| fault.contains(part)), "{found:?}"),
    }
}

#[test]
fn sound_histories_pass() {
    let read = || call("c1", "read", r#"{"file_path":"a"}"#);
    check_messages(&[user("hi")], None);
    check_messages(&[user("hi"), assistant("ho"), user("again")], None);
    check_messages(&[user("hi"), calls(&[read()]), result("c1")], None);
    let two = calls(&[read(), call("c2", "glob", "{}")]);
    check_messages(
        &[user("hi"), two, result("c2"), result("c1"), assistant("ok"), user("x")],
        None,
    );
    let thinking = json!({"role": "assistant", "content": "", "reasoning_content": "hm",
        "tool_calls": [read()]});
    check_messages(&[user("hi"), thinking, result("c1")], None);
}

#[test]
fn unsound_blocks_are_refused() {
    let read = || call("c1", "read", "{}");
    let other = || call("c2", "read", "{}");
    let cases: &[(&[Value], &str)] = &[
        (&[user("hi"), calls(&[read()])], "no tool message directly after"),
        (
            &[user("hi"), calls(&[read()]), user("x"), result("c1")],
            "no tool message directly after",
        ),
        (&[user("hi"), calls(&[read(), other()]), result("c1")], "call `c2` has no tool message"),
        (&[user("hi"), result("c1")], "no open call `c1`"),
        (&[user("hi"), calls(&[read()]), result("c1"), result("c1")], "no open call `c1`"),
        (&[user("hi"), calls(&[read()]), result("c9")], "no open call `c9`"),
        (&[user("hi"), calls(&[read(), read()]), result("c1"), result("c1")], "occurs twice"),
        (&[user("hi"), assistant("done")], "last message is of role `assistant`"),
    ];
    for (messages, expected) in cases {
        check_messages(messages, Some(expected));
    }
}

#[test]
fn unsound_calls_are_refused() {
    let long = "x".repeat(65);
    let cases = [
        (call("c1", "read", "{\"a\":"), "not a string holding a JSON object"),
        (call("c1", "read", "[]"), "not a string holding a JSON object"),
        (call("c1", "read", ""), "not a string holding a JSON object"),
        (
            json!({"id": "c1", "type": "function", "function": {"name": "read", "arguments": {}}}),
            "not a string holding a JSON object",
        ),
        (call("c1", "", "{}"), "no valid type or tool name"),
        (call("c1", "functions.read", "{}"), "no valid type or tool name"),
        (json!({"id": "c1", "function": {"name": "read", "arguments": "{}"}}), "no valid type"),
        (call("", "read", "{}"), "is empty or over"),
        (call(&long, "read", "{}"), "is empty or over"),
    ];
    for (bad, expected) in cases {
        let id = bad["id"].as_str().unwrap_or_default().to_owned();
        check_messages(&[user("hi"), calls(&[bad]), result(&id)], Some(expected));
    }
}

#[test]
fn unsound_messages_are_refused() {
    let cases = [
        (json!({"role": "user", "content": ""}), "user content"),
        (json!({"role": "user", "content": [{"type": "text", "text": "x"}]}), "user content"),
        (json!({"role": "assistant", "content": null}), "neither content nor tool calls"),
        (json!({"role": "assistant", "content": " "}), "neither content nor tool calls"),
        (json!({"role": "assistant", "content": ["x"]}), "assistant content is not a string"),
        (json!({"role": "assistant", "content": "x", "tool_calls": []}), "not an array or empty"),
        (json!({"role": "narrator", "content": "x"}), "unknown role `narrator`"),
        (json!({"role": "user", "content": "x", "seq": 4}), "unknown field `seq`"),
        (json!({"role": "system", "content": "late"}), "must come first"),
    ];
    for (message, expected) in cases {
        check_messages(&[user("hi"), message, user("last")], Some(expected));
    }
    let empty_result = json!({"role": "tool", "tool_call_id": "c1", "content": ""});
    let block = [user("hi"), calls(&[call("c1", "read", "{}")]), empty_result];
    check_messages(&block, Some("tool content"));
}

#[test]
fn unsound_requests_are_refused() {
    let messages = json!([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]);
    let tool =
        json!({"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}});
    let with = |key: &str, value: Value| {
        let mut body = json!({"model": "m", "messages": messages});
        body[key] = value;
        body
    };
    check(&with("tools", json!([tool])), None);
    check(&with("stream", json!(true)), None);
    let cases = [
        (json!("text"), "not a JSON object"),
        (with("tools", json!([])), "`tools` is not an array or empty"),
        (with("tools", json!([tool, tool])), "listed twice"),
        (with("tools", json!([{"type": "function", "function": {"name": "t"}}])), "object schema"),
        (with("tools", json!([{"function": {"name": "t"}}])), "no type `function`"),
        (with("tool_choice", json!("none")), "without `tools`"),
        (with("thinking", json!(true)), "unknown parameter `thinking`"),
        (with("model", json!("")), "`model`"),
        (with("messages", json!([])), "`messages` is missing or empty"),
        (with("messages", json!([{"role": "user", "content": "u"}])), "must come first"),
    ];
    for (body, expected) in cases {
        check(&body, Some(expected));
    }
}
