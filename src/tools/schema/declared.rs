//! Schemas as users write them: JSON Schema, taken at its word or refused.
//!
//! [`super::Schema::flatten`] makes the best of what a library wrote. Here nothing is passed over: a
//! word that is not checked, or that some provider refuses, is a fault of the file, which says where.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::{Bounds, Kind, MAX_DEPTH, Others, Property, Schema};

/// The most memory of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// What is wrong with a schema, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The keys that lead there, from the schema itself.
    pub path: Vec<String>,
    /// What is wrong and what to write.
    pub why: String,
}

/// Reads the schema of a tool's arguments.
pub fn read(schema: &Value) -> Result<Schema, Fault> {
    let read = node(schema, &mut Vec::new())?;
    if read.kind != Kind::Object {
        let why = "the arguments of a tool are an object: `type` must be \"object\"";
        return Err(Fault { path: vec!["type".to_owned()], why: why.to_owned() });
    }
    Ok(read)
}

/// Compiles a pattern.
pub fn pattern(pattern: &str) -> Result<Regex, String> {
    let compiled = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
    compiled.map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())
}

/// Words that say something about a value of this kind.
fn words(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::String => &["enum", "minLength", "maxLength", "pattern"],
        Kind::Integer | Kind::Number => &["minimum", "maximum"],
        Kind::Boolean => &[],
        Kind::Array => &["items"],
        Kind::Object => &["properties", "required", "additionalProperties"],
    }
}

/// The way to the node being read; a fault takes it along.
type Way = Vec<String>;

fn fault<T>(way: &Way, key: Option<&str>, why: impl Into<String>) -> Result<T, Fault> {
    let path = way.iter().cloned().chain(key.map(str::to_owned)).collect();
    Err(Fault { path, why: why.into() })
}

fn node(value: &Value, way: &mut Way) -> Result<Schema, Fault> {
    let Some(map) = value.as_object() else {
        return fault(way, None, "this is no schema: a table with `type` belongs here");
    };
    if way.len() > 2 * MAX_DEPTH {
        return fault(way, None, "the schema nests too deep");
    }
    let kind = kind(map, way)?;
    let known = |key: &str| key == "type" || key == "description" || words(kind).contains(&key);
    if let Some(key) = map.keys().find(|key| !known(key)) {
        let words = [&["type", "description"], words(kind)].concat().join(", ");
        let why = format!(
            "`{key}` is not supported for the type {}; understood are {words}",
            kind.name()
        );
        return fault(way, Some(key), why);
    }
    let description = match map.get("description") {
        None => None,
        Some(Value::String(text)) => Some(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Some(_) => return fault(way, Some("description"), "`description` is a text"),
    };
    Ok(Schema {
        kind,
        description,
        choices: choices(map, way)?,
        items: items(map, kind, way)?,
        properties: properties(map, way)?,
        bounds: bounds(map, way)?,
        others: match map.get("additionalProperties") {
            None => Others::Drop,
            Some(Value::Bool(true)) => Others::Keep,
            Some(Value::Bool(false)) => Others::Refuse,
            Some(_) => {
                let why = "`additionalProperties` is true or false; a schema is not supported";
                return fault(way, Some("additionalProperties"), why);
            }
        },
    })
}

fn kind(map: &Map<String, Value>, way: &Way) -> Result<Kind, Fault> {
    let types = "one of string, integer, number, boolean, array, object";
    match map.get("type") {
        Some(Value::String(name)) => match Kind::from_name(name) {
            Some(kind) => Ok(kind),
            None => fault(way, Some("type"), format!("`type` is \"{name}\"; it must be {types}")),
        },
        Some(_) => {
            let why = format!("`type` must be {types}; some providers refuse a list of types");
            fault(way, Some("type"), why)
        }
        None => {
            fault(way, None, format!("`type` is missing, which some providers refuse: {types}"))
        }
    }
}

fn choices(map: &Map<String, Value>, way: &Way) -> Result<Vec<String>, Fault> {
    let Some(given) = map.get("enum") else { return Ok(Vec::new()) };
    let list = given.as_array().into_iter().flatten();
    let texts: Option<Vec<String>> = list.map(|one| one.as_str().map(str::to_owned)).collect();
    match texts {
        Some(texts) if !texts.is_empty() => Ok(texts),
        _ => fault(way, Some("enum"), "`enum` is a list of texts, at least one"),
    }
}

fn items(
    map: &Map<String, Value>,
    kind: Kind,
    way: &mut Way,
) -> Result<Option<Box<Schema>>, Fault> {
    match map.get("items") {
        Some(items) => {
            way.push("items".to_owned());
            let read = node(items, way)?;
            way.pop();
            Ok(Some(Box::new(read)))
        }
        None if kind == Kind::Array => {
            fault(way, None, "an array needs `items`, or some providers refuse it")
        }
        None => Ok(None),
    }
}

fn properties(map: &Map<String, Value>, way: &mut Way) -> Result<Vec<Property>, Fault> {
    let empty = Map::new();
    let fields = match map.get("properties") {
        None => &empty,
        Some(Value::Object(fields)) => fields,
        Some(_) => return fault(way, Some("properties"), "`properties` is a table of schemas"),
    };
    let required = match map.get("required") {
        None => Some(Vec::new()),
        Some(Value::Array(names)) => names.iter().map(Value::as_str).collect(),
        Some(_) => None,
    };
    let Some(required) = required else {
        return fault(way, Some("required"), "`required` is a list of names");
    };
    if let Some(stranger) = required.iter().find(|name| !fields.contains_key(**name)) {
        let why = format!("`required` names `{stranger}`, which `properties` does not describe");
        return fault(way, Some("required"), why);
    }
    let mut found = Vec::new();
    for (name, field) in fields {
        way.extend(["properties".to_owned(), name.clone()]);
        if !is_portable(name) {
            let why = "an argument's name has up to 64 letters, digits, `_` and `-`";
            return fault(way, None, why);
        }
        let schema = node(field, way)?;
        way.truncate(way.len() - 2);
        found.push(Property {
            name: name.clone(),
            required: required.contains(&name.as_str()),
            schema,
        });
    }
    let place = |name: &str| required.iter().position(|one| *one == name).unwrap_or(usize::MAX);
    found.sort_by_key(|property| (place(&property.name), property.name.clone()));
    Ok(found)
}

fn is_portable(name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(part)
}

fn bounds(map: &Map<String, Value>, way: &Way) -> Result<Bounds, Fault> {
    let number = |key: &str| match map.get(key) {
        None => Ok(None),
        Some(value) => match value.as_f64() {
            Some(number) => Ok(Some(number)),
            None => fault(way, Some(key), format!("`{key}` is a number")),
        },
    };
    let length = |key: &str| match map.get(key) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(length) => Ok(Some(length)),
            None => fault(way, Some(key), format!("`{key}` is a whole number, 0 or more")),
        },
    };
    let bounds = Bounds {
        minimum: number("minimum")?,
        maximum: number("maximum")?,
        min_length: length("minLength")?,
        max_length: length("maxLength")?,
        pattern: match map.get("pattern") {
            None => None,
            Some(Value::String(text)) => match pattern(text) {
                Ok(_) => Some(text.clone()),
                Err(why) => return fault(way, Some("pattern"), format!("`pattern`: {why}")),
            },
            Some(_) => return fault(way, Some("pattern"), "`pattern` is a text"),
        },
    };
    let crossed = bounds.minimum.zip(bounds.maximum).is_some_and(|(low, high)| low > high)
        || bounds.min_length.zip(bounds.max_length).is_some_and(|(low, high)| low > high);
    if crossed {
        return fault(way, None, "the lower limit is above the upper one: nothing would fit");
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests;
