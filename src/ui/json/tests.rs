use serde_json::{Value, json};

use super::{Format, Json, error_result, wire};
use crate::error::Error;
use crate::event::Ending;
use crate::ui::{Screen, script};
use crate::update::Update;

fn shown(updates: &[Update], format: Format) -> (String, String) {
    let mut screen = Json::new(Vec::new(), Vec::new(), format);
    for update in updates {
        screen.show(update);
    }
    screen.flush().unwrap();
    (String::from_utf8(screen.out).unwrap(), String::from_utf8(screen.err).unwrap())
}

#[test]
fn a_stream_of_lines() {
    let (out, err) = shown(&script::turn(), Format::Stream);
    assert_eq!(err, "warning: the log cannot be written\n");
    insta::assert_snapshot!(out, @r#"
    {"type":"system","subtype":"init","cwd":"/work/demo","session_id":"20260101T000000Z-abcd","tools":["read","shell"],"mcp_servers":[],"model":"deepseek-chat","permissionMode":"auto","sandbox":"full","provider":"deepseek","scripted":false}
    {"type":"assistant","message":{"id":"msg_1_1","type":"message","role":"assistant","model":"deepseek-chat","content":[{"type":"text","text":"First I look."},{"type":"tool_use","id":"c1","name":"read","input":{"file_path": "src/main.rs"}},{"type":"tool_use","id":"c2","name":"edit","input":{"unparsed":"not json"}},{"type":"tool_use","id":"c3","name":"shell","input":{"command":"cargo test"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1500,"cache_creation_input_tokens":0,"cache_read_input_tokens":4500,"output_tokens":170}},"parent_tool_use_id":null,"session_id":"20260101T000000Z-abcd"}
    {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"1: a","is_error":false}]},"parent_tool_use_id":null,"session_id":"20260101T000000Z-abcd"}
    {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"ok","is_error":false}]},"parent_tool_use_id":null,"session_id":"20260101T000000Z-abcd"}
    {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"denied","is_error":true}]},"parent_tool_use_id":null,"session_id":"20260101T000000Z-abcd"}
    {"type":"system","subtype":"compact_boundary","session_id":"20260101T000000Z-abcd","compact_metadata":{"trigger":"auto","pre_tokens":90000}}
    {"type":"assistant","message":{"id":"msg_1_2","type":"message","role":"assistant","model":"deepseek-chat","content":[{"type":"text","text":"The test passes now.\nDone."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1500,"cache_creation_input_tokens":0,"cache_read_input_tokens":4500,"output_tokens":170}},"parent_tool_use_id":null,"session_id":"20260101T000000Z-abcd"}
    {"type":"result","subtype":"success","is_error":false,"duration_ms":14200,"duration_api_ms":9100,"num_turns":2,"result":"The test passes now.\nDone.","ending":"completed","session_id":"20260101T000000Z-abcd","total_cost_usd":0.0123,"usage":{"input_tokens":3000,"cache_creation_input_tokens":0,"cache_read_input_tokens":9000,"output_tokens":340},"permission_denials":[{"tool_name":"shell","tool_use_id":"c3","tool_input":{"command":"cargo test"}}]}
    "#);
}

#[test]
fn the_result_alone() {
    let (out, _) = shown(&script::turn(), Format::Result);
    let (stream, _) = shown(&script::turn(), Format::Stream);
    assert_eq!(out.lines().collect::<Vec<_>>(), [stream.lines().last().unwrap()]);
}

fn result(ending: Ending, answer: &str) -> Value {
    let mut summary = script::summary();
    summary.ending = ending;
    summary.detail = "why".into();
    summary.answer = answer.into();
    summary.usage.cost = None;
    serde_json::from_str(&shown(&[Update::TurnFinished(summary)], Format::Result).0).unwrap()
}

#[test]
fn endings() {
    for (ending, subtype, is_error) in [
        (Ending::Completed, "success", false),
        (Ending::StepLimit, "error_max_turns", true),
        (Ending::Repeating, "error_during_execution", true),
        (Ending::Cancelled, "error_during_execution", true),
        (Ending::Error, "error_during_execution", true),
    ] {
        let result = result(ending, "so far");
        assert_eq!(result["subtype"], subtype);
        assert_eq!(result["is_error"], is_error);
        assert_eq!(result["result"], "so far");
        assert_eq!(result["total_cost_usd"], 0.0);
    }
    assert_eq!(result(Ending::Error, "")["result"], "error: the turn failed: why");
    assert_eq!(result(Ending::Error, "")["errors"], json!(["error: the turn failed: why"]));
}

#[test]
fn whatever_the_text_each_object_is_one_inert_line() {
    let nasty = "a\n\u{2028}b\u{85}c\r\u{0}\u{1b}[2J\u{9b}2J\u{7f}\u{202e}\u{feff}";
    let updates = [script::finished(script::tool("c", "read", "x"), nasty, false, ("", None))];
    let (out, _) = shown(&updates, Format::Stream);
    assert!(!out.trim_end_matches('\n').chars().any(char::is_control), "{out:?}");
    assert_eq!(out.lines().count(), 1);
    let object: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(object["message"]["content"][0]["content"], nasty);
}

#[test]
fn inputs_are_objects_on_one_line() {
    for (arguments, expected) in [
        (r#"{"b": 1, "a": 2}"#, r#"{"b": 1, "a": 2}"#),
        ("{\"b\":\n1}", r#"{"b":1}"#),
        ("", "{}"),
        ("[1]", r#"{"unparsed":"[1]"}"#),
        ("{\"a\": ", r#"{"unparsed":"{\"a\": "}"#),
    ] {
        assert_eq!(wire::input(arguments).get(), expected);
    }
}

#[test]
fn an_error_before_any_turn_is_a_result() {
    let error = Error::usage("no model", "nothing is configured").help("set XSH_MODEL");
    let object: Value = serde_json::from_str(&error_result(&error)).unwrap();
    assert_eq!(object["type"], "result");
    assert_eq!(object["is_error"], true);
    assert_eq!(object["result"], "error: no model: nothing is configured\nhelp: set XSH_MODEL");
}
