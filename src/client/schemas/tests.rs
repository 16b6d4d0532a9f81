use serde_json::json;

use super::*;
use crate::tools::registry::Registry;

fn tools(parameters: &Value) -> String {
    json!([{"type": "function", "function": {"name": "t", "parameters": parameters}}]).to_string()
}

#[test]
fn built_in_tools_are_at_the_smallest_level_already() {
    let wire = Registry::builtin().wire();
    for level in [SchemaLevel::Full, SchemaLevel::Plain, SchemaLevel::Bare] {
        assert_eq!(at_level(&wire, level), wire, "{level:?}");
    }
}

#[test]
fn each_level_strips_what_it_has_to() {
    let rich = json!({
        "type": "object", "$schema": "x", "additionalProperties": false, "required": [],
        "properties": {
            "pattern": {"type": "string", "pattern": "\\d+", "description": "a"},
            "mode": {"const": "fast"},
            "level": {"enum": [1, 2], "type": "integer"},
            "name": {"type": ["string", "null"], "default": null},
            "list": {"type": "array", "maxItems": 5000},
        },
    });
    let plain = json!({
        "type": "object", "additionalProperties": false, "required": [],
        "properties": {
            "pattern": {"type": "string", "description": "a"},
            "mode": {"enum": ["fast"]},
            "level": {"enum": [1, 2], "type": "integer"},
            "name": {"type": ["string", "null"]},
            "list": {"type": "array"},
        },
    });
    let bare = json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "a"},
            "mode": {"enum": ["fast"], "type": "string"},
            "level": {"type": "integer"},
            "name": {"type": "string", "nullable": true},
            "list": {"type": "array", "items": {"type": "string"}},
        },
    });
    assert_eq!(at_level(&tools(&rich), SchemaLevel::Full), tools(&rich));
    assert_eq!(at_level(&tools(&rich), SchemaLevel::Plain), tools(&plain));
    assert_eq!(at_level(&tools(&rich), SchemaLevel::Bare), tools(&bare));
    assert_eq!(at_level("no JSON", SchemaLevel::Bare), "no JSON");
}
