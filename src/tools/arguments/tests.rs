#![expect(clippy::needless_pass_by_value, reason = "tables read better without references")]

use std::borrow::Cow;

use proptest::prelude::*;
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{Parsed, parse, replay};
use crate::tools::schema::Schema;

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Args {
    file_path: String,
    command: String,
    limit: Option<u64>,
    signed: Option<i64>,
    ratio: Option<f64>,
    replace_all: Option<bool>,
    mode: Option<Mode>,
    tags: Option<Vec<String>>,
    place: Option<Place>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Mode {
    Content,
    FilesOnly,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Place {
    line: u32,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Shell {
    command: String,
    timeout_seconds: Option<u64>,
}

#[derive(JsonSchema)]
struct Nothing {}

fn schema() -> Schema {
    Schema::of::<Args>()
}

/// The object with the two required arguments and these.
fn with(extra: &Value) -> Value {
    let mut object = json!({"file_path": "f", "command": "c"});
    object.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    object
}

#[test]
fn right_arguments_pass_unchanged() {
    for extra in [
        json!({}),
        json!({"limit": 5, "signed": -3, "ratio": 0.5, "replace_all": true}),
        json!({"mode": "files_only", "tags": ["a"], "place": {"line": 3}}),
    ] {
        let value = with(&extra);
        let parsed = parse(&value.to_string(), &schema());
        assert_eq!(parsed, Ok(Parsed { value, repairs: Vec::new() }));
    }
}

#[test]
fn slips_are_repaired_and_said() {
    fn check(given: Value, expected: Value, said: &str) {
        let parsed = parse(&with(&given).to_string(), &schema()).unwrap();
        assert_eq!(parsed.value, with(&expected), "{given}");
        let repairs = parsed.repairs.join("; ");
        assert!(repairs.contains(said), "{given}: {repairs}");
    }
    check(json!({"limit": "5"}), json!({"limit": 5}), "`limit` was the string \"5\", taken as 5");
    check(json!({"limit": " 5 "}), json!({"limit": 5}), "taken as 5");
    check(json!({"limit": 5.0}), json!({"limit": 5}), "taken as 5");
    check(json!({"ratio": "1.5"}), json!({"ratio": 1.5}), "taken as 1.5");
    check(json!({"replace_all": "True"}), json!({"replace_all": true}), "taken as true");
    check(json!({"replace_all": 0}), json!({"replace_all": false}), "taken as false");
    check(json!({"command": 42}), json!({"command": "42"}), "taken as \"42\"");
    check(json!({"command": true}), json!({"command": "true"}), "taken as \"true\"");
    check(json!({"mode": "FilesOnly"}), json!({"mode": "files_only"}), "taken as \"files_only\"");
    check(json!({"tags": "a"}), json!({"tags": ["a"]}), "list of one");
    check(json!({"tags": "[\"a\"]"}), json!({"tags": ["a"]}), "JSON inside a string");
    check(json!({"tags": [1]}), json!({"tags": ["1"]}), "`tags[0]`");
    check(json!({"place": "{\"line\":1}"}), json!({"place": {"line": 1}}), "JSON inside");
    check(json!({"place": {"line": "1"}}), json!({"place": {"line": 1}}), "`place.line`");
    check(json!({"limmit": 5}), json!({"limit": 5}), "`limmit` was taken as `limit`");
}

#[test]
fn names_are_repaired_only_when_one_can_be_meant() {
    fn check(text: &str, expected: &Result<Value, &str>, said: &str) {
        match (parse(text, &schema()), expected) {
            (Ok(parsed), Ok(value)) => {
                assert_eq!(parsed.value, *value, "{text}");
                assert!(parsed.repairs.join("; ").contains(said), "{text}: {:?}", parsed.repairs);
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
            (parsed, _) => panic!("{text}: {parsed:?}"),
        }
    }
    let plain = Ok(with(&json!({})));
    check(r#"{"path":"f","cmd":"c"}"#, &plain, "`path` was taken as `file_path`");
    check(r#"{"filePath":"f","comand":"c"}"#, &plain, "`comand` was taken as `command`");
    check(r#"{"File-Path":"f","commnad":"c"}"#, &plain, "`File-Path` was taken");
    check(r#"{"file_path":"f","command":"c","path":"g"}"#, &plain, "argument `path` was ignored");
    check(r#"{"file_path":"f","command":"c","z":1}"#, &plain, "argument `z` was ignored");
    check(r#"{"path":"f","file":"g","command":"c"}"#, &Err("argument `file_path`"), "");
    let all = Ok(with(&json!({"replace_all": true})));
    check(r#"{"file_path":"f","command":"c","replaceAll":true}"#, &all, "`replace_all`");
}

#[test]
fn null_and_nothing_are_absence() {
    let parsed = parse(&with(&json!({"limit": null, "place": null})).to_string(), &schema());
    assert_eq!(parsed, Ok(Parsed { value: with(&json!({})), repairs: Vec::new() }));
    for text in ["", "  ", "null", "{}", "\"\""] {
        let parsed = parse(text, &Schema::of::<Nothing>());
        assert_eq!(parsed.map(|parsed| parsed.value), Ok(json!({})), "{text}");
        let refused = parse(text, &Schema::of::<Shell>()).unwrap_err();
        assert!(refused.contains("missing the required argument `command`"), "{refused}");
    }
}

#[test]
fn text_is_repaired_before_it_is_checked() {
    for text in [
        "{'command': 'ls',}",
        "```json\n{\"command\": \"ls\"}\n```",
        "{command: \"ls\"}",
        r#""{\"command\": \"ls\"}""#,
        r#""\"{\\\"command\\\": \\\"ls\\\"}\"""#,
        r#"{"command": "ls", "timeout_seconds": None}"#,
    ] {
        let parsed = parse(text, &Schema::of::<Shell>()).unwrap();
        assert_eq!(parsed.value, json!({"command": "ls"}), "{text}");
        assert!(!parsed.repairs.is_empty(), "{text}");
    }
}

#[test]
fn what_cannot_be_repaired_names_the_place_and_the_shape() {
    fn check(text: &str, expected: &str) {
        let refused = parse(text, &Schema::of::<Shell>()).unwrap_err();
        assert!(refused.contains(expected), "{text}: {refused}");
        let shape = r#"{"command": string, "timeout_seconds": integer (optional)}"#;
        assert!(refused.ends_with(shape), "{refused}");
    }
    check(r#"{"command":"ls\"}"#, "line 1, column 18: the text ends inside a string");
    check(r#"{"command":"ls""#, "it was cut off");
    check(r#"{"command":["ls"]}"#, "`command` must be a string, not an array");
    check(r#"{"command":null}"#, "missing the required argument `command`");
    check(r#"{"command":"x","timeout_seconds":"soon"}"#, "a whole number, not the string \"soon\"");
    check(r#"{"command":"x","timeout_seconds":1.5}"#, "not the number 1.5");
    check(r#"{"command":"x","timeout_seconds":-1}"#, "must be at least 0, not -1");
    check(r#"["ls"]"#, "must be a JSON object, not an array");
    check("42", "must be a JSON object, not the number 42");
    check("\"ls -la\"", "must be a JSON object, not the string \"ls -la\"");
    check("ls -la", "line 1, column 1: expected a JSON value");
    check(&"[".repeat(100_000), "nest deeper");
    let mode = parse(&with(&json!({"mode": "x"})).to_string(), &schema()).unwrap_err();
    assert!(mode.contains("`mode` must be one of \"content\" | \"files_only\""), "{mode}");
}

#[test]
fn messages_stay_short_whatever_was_sent() {
    let long = "x".repeat(100_000);
    let text = json!({"command": "c", "timeout_seconds": long}).to_string();
    assert!(parse(&text, &Schema::of::<Shell>()).unwrap_err().len() < 1_000);
    let text = json!({"command": "c", long: 1}).to_string();
    assert!(parse(&text, &Schema::of::<Shell>()).unwrap().repairs.concat().len() < 1_000);
}

#[test]
fn replay_is_the_same_text_or_an_object() {
    fn check(text: &str, expected: &str) {
        assert_eq!(replay(text), expected, "{text}");
    }
    for valid in ["{}", " {\"a\" : 1} ", r#"{"a":1,"a":2}"#, r#"{"a":[{"b":"\ud83d\ude00"}]}"#] {
        assert!(matches!(replay(valid), Cow::Borrowed(same) if same == valid), "{valid}");
    }
    check("", "{}");
    check("null", "{}");
    check("[1]", "{}");
    check("{\"command\":\"ls\\\"}", "{}");
    check("{'a':1}", r#"{"a":1}"#);
    check(r#"{"a":"\ud83d"}"#, "{\"a\":\"\u{fffd}\"}");
    check(r#"{"\ud83d":1}"#, "{\"\u{fffd}\":1}");
    check(r#""{\"a\":1}""#, r#"{"a":1}"#);
    check(&"{\"a\":".repeat(100_000), "{}");
    let nested = |depth| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    check(&nested(120), &nested(120));
    check(&nested(200), "{}");
}

/// Text that looks like arguments more often than random text does.
fn arguments_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(":"),
        Just(","),
        Just("\""),
        Just("'"),
        Just("\\"),
        Just("\\u"),
        Just("\\ud83d"),
        Just("command"),
        Just("\"command\":"),
        Just("1"),
        Just("null"),
        Just("True"),
        Just("```"),
        Just("\n"),
        Just("é🌍"),
        Just(" "),
        Just("<|"),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_answered_and_replayed(text in prop_oneof![any::<String>(), arguments_like()]) {
        let _ = parse(&text, &schema());
        let again = replay(&text);
        prop_assert!(serde_json::from_str::<Value>(&again).is_ok_and(|value| value.is_object()));
        prop_assert_eq!(replay(&again), again.as_ref());
    }

    #[test]
    fn valid_arguments_are_left_alone(command in any::<String>(), seconds in any::<Option<u64>>()) {
        let mut value = json!({"command": command});
        if let Some(seconds) = seconds {
            value["timeout_seconds"] = json!(seconds);
        }
        let text = value.to_string();
        prop_assert_eq!(replay(&text), text.as_str());
        prop_assert_eq!(parse(&text, &Schema::of::<Shell>()), Ok(Parsed { value, repairs: vec![] }));
    }

    #[test]
    fn a_cut_call_never_runs(command in any::<String>(), at in any::<prop::sample::Index>()) {
        let text = json!({"command": command, "timeout_seconds": 5}).to_string();
        let cuts: Vec<_> = text.char_indices().map(|(place, _)| place).collect();
        let cut = text.get(..cuts[at.index(cuts.len())]).unwrap();
        prop_assert!(parse(cut, &Schema::of::<Shell>()).is_err(), "{}", cut);
    }
}
