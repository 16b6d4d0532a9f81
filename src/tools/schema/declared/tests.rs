use serde_json::json;

use super::*;
use crate::tools::arguments;

#[test]
fn what_is_understood_is_on_the_wire_in_the_portable_subset() {
    let schema = read(&json!({
        "type": "object",
        "required": ["zone"],
        "additionalProperties": false,
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": 5},
            "zone": {"type": "string", "description": "a\n  name", "pattern": "^[a-z]+$",
                     "minLength": 2, "maxLength": 4},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "list": {"type": "array", "items": {"type": "number", "minimum": 0}},
            "more": {"type": "object", "additionalProperties": true},
        },
    }))
    .unwrap();
    let wire = serde_json::to_string(&schema).unwrap();
    assert_eq!(
        wire,
        r#"{"type":"object","properties":{"zone":{"type":"string","description":"a name"},"count":{"type":"integer"},"kind":{"type":"string","enum":["a","b"]},"list":{"type":"array","items":{"type":"number"}},"more":{"type":"object","properties":{}}},"required":["zone"]}"#
    );
    for (arguments, expected) in [
        (json!({"zone": "abc"}), Ok(json!({"zone": "abc"}))),
        (json!({"zone": "abc", "count": 5}), Ok(json!({"zone": "abc", "count": 5}))),
        (json!({"zone": "abc", "count": "3"}), Ok(json!({"zone": "abc", "count": 3}))),
        (json!({"zone": "abc", "more": {"x": 1}}), Ok(json!({"zone": "abc", "more": {"x": 1}}))),
        (json!({}), Err("missing the required argument `zone`")),
        (json!({"zone": "a"}), Err("at least 2 characters, not 1")),
        (json!({"zone": "äöüxy"}), Err("at most 4 characters, not 5")),
        (json!({"zone": "a-b"}), Err("match the pattern ^[a-z]+$")),
        (json!({"zone": "abc", "count": 0}), Err("at least 1, not 0")),
        (json!({"zone": "abc", "count": 6}), Err("at most 5, not 6")),
        (json!({"zone": "abc", "kind": "c"}), Err("one of \"a\" | \"b\"")),
        (json!({"zone": "abc", "list": [1, -1]}), Err("`list[1]` must be at least 0")),
        (json!({"zone": "abc", "stranger": 1}), Err("there is no argument `stranger`")),
        (json!({"zone": ["abc"]}), Err("must be a string, not an array")),
    ] {
        let parsed = arguments::parse(&arguments.to_string(), &schema);
        match (parsed, expected) {
            (Ok(parsed), Ok(expected)) => assert_eq!(parsed.value, expected),
            (Err(told), Err(why)) => assert!(told.contains(why), "{arguments}: {told}"),
            (parsed, _) => panic!("{arguments}: {parsed:?}"),
        }
    }
}

#[test]
fn what_is_not_understood_is_told_with_its_place() {
    for (field, path, why) in [
        (json!("string"), "", "no schema"),
        (json!({}), "", "`type` is missing"),
        (json!({"enum": ["a"]}), "", "`type` is missing"),
        (json!({"type": ["string", "null"]}), "type", "a list of types"),
        (json!({"type": "text"}), "type", "must be one of string"),
        (json!({"type": "string", "format": "date"}), "format", "`format` is not supported"),
        (json!({"type": "string", "default": "x"}), "default", "not supported"),
        (json!({"type": "string", "minimum": 1}), "minimum", "not supported for the type string"),
        (json!({"type": "integer", "pattern": "x"}), "pattern", "not supported for the type"),
        (json!({"type": "integer", "enum": [1]}), "enum", "not supported for the type integer"),
        (json!({"type": "string", "enum": []}), "enum", "at least one"),
        (json!({"type": "string", "enum": [1]}), "enum", "list of texts"),
        (json!({"type": "string", "pattern": "(?=x)"}), "pattern", "`pattern`:"),
        (json!({"type": "string", "pattern": "x{1000000000}"}), "pattern", "`pattern`:"),
        (json!({"type": "string", "minLength": -1}), "minLength", "0 or more"),
        (json!({"type": "string", "minLength": 2, "maxLength": 1}), "", "nothing would fit"),
        (json!({"type": "number", "maximum": "5"}), "maximum", "is a number"),
        (json!({"type": "string", "description": 1}), "description", "is a text"),
        (json!({"type": "array"}), "", "needs `items`"),
        (json!({"type": "array", "items": {"type": "x"}}), "items type", "must be one of"),
        (json!({"type": "object", "properties": []}), "properties", "table of schemas"),
        (json!({"type": "object", "required": ["x"]}), "required", "does not describe"),
        (json!({"type": "object", "required": "x"}), "required", "list of names"),
        (json!({"type": "object", "additionalProperties": {}}), "additionalProperties", "true or"),
        (json!({"type": "object", "properties": {"a b": {}}}), "properties a b", "name has up to"),
        (json!({"type": "string", "$ref": "#"}), "$ref", "not supported"),
        (json!({"type": "string", "anyOf": []}), "anyOf", "not supported"),
    ] {
        let schema = json!({"type": "object", "properties": {"f": field.clone()}});
        let fault = read(&schema).unwrap_err();
        let expected = format!("properties f {path}");
        assert_eq!(fault.path.join(" "), expected.trim(), "{field}");
        assert!(fault.why.contains(why), "{field}: {}", fault.why);
    }
    assert!(read(&json!({"type": "string"})).unwrap_err().why.contains("must be \"object\""));
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"type": "array", "items": deep});
    }
    let schema = json!({"type": "object", "properties": {"f": deep}});
    assert!(read(&schema).unwrap_err().why.contains("too deep"));
}
