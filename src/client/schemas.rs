//! Tools as a provider takes them: schemas stripped of what it cannot read.
//!
//! The built-in tools keep to the smallest level, so their bytes never change; a tool that a user or
//! a server defines may use all of JSON Schema. Pure.

use serde_json::{Map, Value};

use super::profile::SchemaLevel;

/// What grammars are built from badly.
const NOT_PLAIN: &[&str] = &[
    "$schema",
    "$id",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "patternProperties",
    "propertyNames",
    "default",
    "examples",
    "title",
];

/// What every provider reads.
const BARE: &[&str] =
    &["type", "description", "properties", "required", "items", "enum", "nullable", "anyOf"];

/// The `tools` array as JSON text at this level. What has nothing to strip keeps its bytes.
pub fn at_level(tools: &str, level: SchemaLevel) -> String {
    if level == SchemaLevel::Full {
        return tools.to_owned();
    }
    let Ok(mut list) = serde_json::from_str::<Value>(tools) else { return tools.to_owned() };
    let before = list.clone();
    for tool in list.as_array_mut().into_iter().flatten() {
        if let Some(parameters) = tool.pointer_mut("/function/parameters") {
            strip(parameters, level);
        }
    }
    if list == before { tools.to_owned() } else { list.to_string() }
}

fn strip(schema: &mut Value, level: SchemaLevel) {
    let Value::Object(map) = schema else { return };
    if let Some(only) = map.remove("const") {
        map.insert("enum".to_owned(), Value::Array(vec![only]));
    }
    map.retain(|key, _| match level {
        SchemaLevel::Full => true,
        SchemaLevel::Plain => !NOT_PLAIN.contains(&key.as_str()),
        SchemaLevel::Bare => BARE.contains(&key.as_str()),
    });
    if level == SchemaLevel::Bare {
        simplify(map);
    }
    for (key, value) in map {
        match (key.as_str(), value) {
            // Names of properties are not keywords.
            ("properties", Value::Object(properties)) => {
                for schema in properties.values_mut() {
                    strip(schema, level);
                }
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => {
                for schema in schemas {
                    strip(schema, level);
                }
            }
            ("items" | "additionalProperties", schema) => strip(schema, level),
            _ => {}
        }
    }
}

/// What the strictest reader wants: one type, enums of strings, arrays that say of what.
fn simplify(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get("type") {
        let nullable = types.iter().any(|kind| kind == "null");
        let first = types.iter().find(|kind| *kind != "null").cloned();
        if nullable {
            map.insert("nullable".to_owned(), Value::Bool(true));
        }
        map.insert("type".to_owned(), first.unwrap_or_else(|| "string".into()));
    }
    if map
        .get("enum")
        .and_then(Value::as_array)
        .is_some_and(|all| !all.iter().all(Value::is_string))
    {
        map.remove("enum");
    } else if map.contains_key("enum") && !map.contains_key("type") {
        map.insert("type".to_owned(), "string".into());
    }
    let kind = map.get("type").and_then(Value::as_str);
    if kind == Some("array") && !map.contains_key("items") {
        map.insert("items".to_owned(), serde_json::json!({ "type": "string" }));
    }
    if map.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        map.remove("required");
    }
}

#[cfg(test)]
mod tests;
