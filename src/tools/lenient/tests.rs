#![expect(clippy::needless_pass_by_value, reason = "tables read better without references")]

use serde_json::{Value, json};

use super::read;

#[test]
fn slips_with_a_plain_meaning_are_read_and_named() {
    fn check(text: &str, expected: Value, slip: &str) {
        let (value, slips) = read(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        assert_eq!(value, expected, "{text}");
        assert!(slips.iter().any(|said| said.contains(slip)), "{text}: {slips:?}");
    }
    check(r#"{"a":1,}"#, json!({"a": 1}), "trailing comma");
    check(r#"{"a":[1,2,],}"#, json!({"a": [1, 2]}), "trailing comma");
    check(r#"{'a':'b \'c\' \"d\"'}"#, json!({"a": "b 'c' \"d\""}), "single quotes");
    check(r#"{a: 1, b_c: "x"}"#, json!({"a": 1, "b_c": "x"}), "quotes");
    check(r#"{"a":True,"b":False,"c":None}"#, json!({"a": true, "b": false, "c": null}), "Python");
    check("```json\n{\"a\":1}\n```", json!({"a": 1}), "fence");
    check("```\n{\"a\":1}", json!({"a": 1}), "fence");
    check("{\"a\":\"x\n\ty\"}", json!({"a": "x\n\ty"}), "control characters");
    check(r#"{"a":"\ud83d"}"#, json!({"a": "\u{fffd}"}), "surrogate");
    check(r#"{"a":"\ud83d\u0041"}"#, json!({"a": "\u{fffd}A"}), "surrogate");
    check(r#"{"a":"\ude00x"}"#, json!({"a": "\u{fffd}x"}), "surrogate");
    check(r#"{"a":"\d+\."}"#, json!({"a": "\\d+\\."}), "backslash");
    check(r#"{"a":1}}"#, json!({"a": 1}), "bracket too many");
    check(r#"{"a":1}<|call|>"#, json!({"a": 1}), "special token");
}

#[test]
fn valid_json_has_no_slips() {
    let text = "\u{feff} {\"a\":[1,-2.5e3,\"\\ud83d\\ude00\\n\\u00e9\\/\"],\"b\":{\"c\":null}} ";
    let value = json!({"a": [1, -2500.0, "😀\né/"], "b": {"c": null}});
    assert_eq!(read(text), Ok((value, Vec::new())));
}

#[test]
fn what_has_no_plain_meaning_is_refused_with_its_place() {
    fn check(text: &str, expected: &str) {
        let fault = read(text).expect_err(text);
        let said = fault.placed(text);
        assert!(said.contains(expected), "{text}: {said}");
    }
    check(r#"{"a":"ls"#, "line 1, column 9: the text ends inside a string");
    check("{\"command\":\"ls\\\"}", "the text ends inside a string");
    check("{\"a\":\n {\"b\":1", "line 2, column 8: the text ends inside an object");
    check(r#"{"a""#, "the text ends inside an object");
    check(r#"{"a":"#, "the text ends inside the JSON value");
    check(r#"{"a":[1"#, "the text ends inside an array");
    check(r#"{"a":"\ud8"#, "the text ends inside a string");
    check(r#"{"a":"\uzzzz"}"#, "four hexadecimal digits");
    check(r#"{"a":1 "b":2}"#, "column 8: expected `,` or `}`");
    check(r#"{"a" 1}"#, "expected `:`");
    check(r#"{"a":ls}"#, "column 6: expected a JSON value");
    check(r#"{"a":NaN}"#, "expected a JSON value");
    check(r#"{,"a":1}"#, "expected a name");
    check(r#"{"a":1} {"a":2}"#, "more text after the end");
    check(r"{'a':'it's'}", "expected `,` or `}`");
    check(&"[".repeat(100_000), "nest deeper than 64");
    check(&"{\"a\":".repeat(100_000), "nest deeper than 64");
}
