#![expect(clippy::needless_pass_by_value, reason = "tables read better without references")]

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{Kind, Schema};

/// Doc of the type, which must not reach the wire.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Everything {
    /// The text to look for,
    /// over two lines.
    pattern: String,
    another: f64,
    /// First line.
    offset: Option<u64>,
    ignore_case: Option<bool>,
    /// What comes back.
    mode: Option<Mode>,
    plain: Plain,
    tags: Option<Vec<String>>,
    place: Option<Place>,
    places: Vec<Place>,
}

/// How results look.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Mode {
    /// Lines.
    Content,
    /// Names only.
    FilesOnly,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Plain {
    A,
    B,
}

/// A place.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Place {
    line: i32,
}

fn wire<T: JsonSchema>() -> String {
    serde_json::to_string(&Schema::of::<T>()).unwrap()
}

#[test]
fn bytes_of_a_flattened_type() {
    let expected = concat!(
        r#"{"type":"object","properties":{"#,
        r#""pattern":{"type":"string","description":"The text to look for, over two lines."},"#,
        r#""another":{"type":"number"},"#,
        r#""plain":{"type":"string","enum":["a","b"]},"#,
        r#""places":{"type":"array","items":{"type":"object","description":"A place.","#,
        r#""properties":{"line":{"type":"integer"}},"required":["line"]}},"#,
        r#""ignore_case":{"type":"boolean"},"#,
        r#""mode":{"type":"string","description":"What comes back.","enum":["content","files_only"]},"#,
        r#""offset":{"type":"integer","description":"First line."},"#,
        r#""place":{"type":"object","description":"A place.","properties":{"line":{"type":"integer"}},"#,
        r#""required":["line"]},"#,
        r#""tags":{"type":"array","items":{"type":"string"}}},"#,
        r#""required":["pattern","another","plain","places"]}"#,
    );
    assert_eq!(wire::<Everything>(), expected);
}

#[test]
fn only_portable_words_are_left() {
    fn check(value: &Value) {
        let portable = ["type", "description", "enum", "items", "properties", "required"];
        for word in value.as_object().unwrap().keys() {
            assert!(portable.contains(&word.as_str()), "{word}");
        }
        assert!(value["type"].is_string());
        if let Some(fields) = value["properties"].as_object() {
            fields.values().for_each(check);
        }
        if value["type"] == "array" {
            check(&value["items"]);
        }
    }
    check(&serde_json::from_str(&wire::<Everything>()).unwrap());
}

#[test]
fn foreign_schemas_are_flattened() {
    fn check(given: Value, expected: Value) {
        let flat = serde_json::to_value(Schema::flatten(&given)).unwrap();
        assert_eq!(flat, expected, "{given}");
    }
    let object = |inner: Value| json!({"type": "object", "properties": {"a": inner}});
    check(json!({}), json!({"type": "string"}));
    check(json!(null), json!({"type": "string"}));
    check(json!({"type": ["null", "integer"]}), json!({"type": "integer"}));
    check(json!({"const": "x"}), json!({"type": "string", "enum": ["x"]}));
    check(json!({"enum": [1, 2], "type": "integer"}), json!({"type": "integer"}));
    check(json!({"type": "array"}), json!({"type": "array", "items": {"type": "string"}}));
    check(
        json!({"type": "object", "additionalProperties": false, "properties": {}}),
        json!({"type": "object", "properties": {}}),
    );
    check(
        json!({"$defs": {"n": {"type": "number", "description": "inner"}},
               "properties": {"a": {"$ref": "#/$defs/n", "description": "outer"}}}),
        object(json!({"type": "number", "description": "outer"})),
    );
    check(
        json!({"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}}}),
        object(json!({"type": "boolean"})),
    );
}

#[test]
fn circular_references_end() {
    let list = json!({"$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}},
                                "loop": {"$ref": "#/$defs/loop"}},
                      "type": "object",
                      "properties": {"n": {"$ref": "#/$defs/n"}, "l": {"$ref": "#/$defs/loop"}}});
    let schema = Schema::flatten(&list);
    assert_eq!(schema.property("n").unwrap().schema.kind, Kind::Object);
    assert_eq!(schema.property("l").unwrap().schema.kind, Kind::String);
}

#[test]
fn shapes_read_like_json() {
    let shape = Schema::of::<Everything>().shape();
    assert!(shape.starts_with("{\"pattern\": string, \"another\": number, "), "{shape}");
    assert!(shape.contains("\"mode\": \"content\" | \"files_only\" (optional)"), "{shape}");
    assert!(shape.contains("\"places\": [{\"line\": integer}, …]"), "{shape}");
}
