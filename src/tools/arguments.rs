//! From the argument text of a model's call to an object that fits the tool's schema.
//!
//! Three ways out, never a fourth: valid text passes as it is; a slip with a plain meaning is
//! repaired, and the model is told; anything else is refused with its place and the expected
//! shape, and nothing runs. Broken text is never taken for "no arguments".
//!
//! [`replay`] is the other direction: servers refuse a whole session over one past call whose
//! arguments are not a JSON object, so what goes back always is one.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::schema::declared;
use super::schema::{Bounds, Kind, Others, Property, Schema};
use super::{lenient, strict};
use crate::brief::brief;

/// How often JSON may be wrapped in a JSON string.
const MAX_WRAPPING: usize = 2;

/// How much of a name or value is quoted in a message, in characters.
const QUOTED: usize = 60;

/// The largest whole number that a float holds exactly.
const EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// Names that models use for the same argument, without `_` and in lower case.
const ALIASES: &[&[&str]] = &[
    &["filepath", "path", "file", "filename", "targetfile", "absolutepath"],
    &["path", "dir", "directory", "folder"],
    &["command", "cmd", "script", "commandline", "shellcommand"],
    &["background", "runinbackground", "isbackground", "inbackground", "async"],
    &["pattern", "query", "regex", "regexp", "searchpattern"],
    &["content", "contents", "text", "filecontent"],
    &["oldstring", "oldstr", "oldtext", "old"],
    &["newstring", "newstr", "newtext", "new", "replacement"],
    &["ignorecase", "caseinsensitive"],
];

/// Arguments that fit their schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// An object with only the schema's names; absent optional ones are left out.
    pub value: Value,
    /// What was repaired, one phrase each; empty when the text was right.
    pub repairs: Vec<String>,
}

/// Reads and checks a call's arguments. The error is for the model: the place, what is wrong and
/// the expected shape.
pub fn parse(text: &str, schema: &Schema) -> Result<Parsed, String> {
    let mut check = Check { notes: Vec::new() };
    let found = read_object(text, &mut check.notes)
        .and_then(|map| check.object(map, schema, ""))
        .map_err(|why| refusal(&why, schema))?;
    Ok(Parsed { value: found, repairs: check.notes })
}

/// The result for arguments that were refused.
pub fn refusal(why: &str, schema: &Schema) -> String {
    format!(
        "Nothing was run, because the arguments of the call are wrong: {why}.\n\
         Send the call again with a complete JSON object of this shape: {}",
        schema.shape()
    )
}

/// What is sent back to a provider for this argument text: always the text of a JSON object.
///
/// The very text when it already is one (checked without building it), the repaired object when it
/// can be repaired, else `{}`.
pub fn replay(text: &str) -> Cow<'_, str> {
    if strict::is_object(text) {
        return Cow::Borrowed(text);
    }
    let repaired = read_object(text, &mut Vec::new()).unwrap_or_default();
    Cow::Owned(serde_json::to_string(&repaired).unwrap_or_else(|_| "{}".to_owned()))
}

fn read_object(text: &str, notes: &mut Vec<String>) -> Result<Map<String, Value>, String> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..=MAX_WRAPPING {
        if text.trim().is_empty() {
            return Ok(Map::new());
        }
        match read_value(&text, notes)? {
            Value::Object(map) => return Ok(map),
            Value::Null => return Ok(Map::new()),
            Value::String(inner) if inner.trim().is_empty() => return Ok(Map::new()),
            Value::String(inner) if inner.trim_start().starts_with(['{', '`', '"', '\'']) => {
                notes.push("the object was taken out of a string".to_owned());
                text = Cow::Owned(inner);
            }
            other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                return Err(format!("they must be a JSON object, not {}", described(&other)));
            }
        }
    }
    Err("they must be a JSON object, not text inside text".to_owned())
}

fn read_value(text: &str, notes: &mut Vec<String>) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let (value, slips) = lenient::read(text).map_err(|fault| fault.placed(text))?;
    notes.extend(slips.into_iter().map(str::to_owned));
    Ok(value)
}

/// One walk over the arguments along the schema, and the repairs it made.
struct Check {
    notes: Vec<String>,
}

impl Check {
    fn object(
        &mut self,
        given: Map<String, Value>,
        schema: &Schema,
        place: &str,
    ) -> Result<Value, String> {
        if schema.properties.is_empty() && !place.is_empty() {
            return Ok(Value::Object(given));
        }
        let mut given = self.settle_names(given, schema, place)?;
        let missing = missing(&given, schema, place);
        if !missing.is_empty() {
            return Err(format!("missing {}", missing.join(" and ")));
        }
        let mut checked = Map::new();
        for Property { name, schema, .. } in &schema.properties {
            // Null for an optional argument says that it is absent; that needs no note.
            let Some(value) = given.remove(name).filter(|value| !value.is_null()) else { continue };
            let value = self.value(value, schema, &join(place, name))?;
            checked.insert(name.clone(), value);
        }
        if schema.others == Others::Keep {
            checked.extend(given.into_iter().filter(|(name, _)| schema.property(name).is_none()));
        }
        Ok(Value::Object(checked))
    }

    /// Gives misspelt arguments their names and drops unknown ones.
    fn settle_names(
        &mut self,
        given: Map<String, Value>,
        schema: &Schema,
        place: &str,
    ) -> Result<Map<String, Value>, String> {
        let (mut settled, strangers): (Map<_, _>, Vec<_>) = {
            let (known, strangers): (Vec<_>, Vec<_>) =
                given.into_iter().partition(|(name, _)| schema.property(name).is_some());
            (known.into_iter().collect(), strangers)
        };
        let meant: Vec<_> =
            strangers.iter().map(|(name, _)| meant(name, &settled, schema)).collect();
        for ((name, value), target) in strangers.into_iter().zip(&meant) {
            let said = join(place, &brief(&name, QUOTED));
            match target {
                Some(target) if meant.iter().flatten().filter(|t| *t == target).count() == 1 => {
                    self.notes.push(format!("`{said}` was taken as `{target}`"));
                    settled.insert((*target).to_owned(), value);
                }
                _ => match schema.others {
                    Others::Drop => {
                        self.notes.push(format!("the unknown argument `{said}` was ignored"));
                    }
                    Others::Keep => drop(settled.insert(name, value)),
                    Others::Refuse => return Err(format!("there is no argument `{said}`")),
                },
            }
        }
        Ok(settled)
    }

    fn value(&mut self, value: Value, schema: &Schema, place: &str) -> Result<Value, String> {
        match (schema.kind, value) {
            (Kind::Object, Value::Object(map)) => self.object(map, schema, place),
            (Kind::Array, value) => self.array(value, schema, place),
            (Kind::Object, Value::String(text)) => match serde_json::from_str(&text) {
                Ok(Value::Object(map)) => {
                    self.note(place, "was JSON inside a string");
                    self.object(map, schema, place)
                }
                _ => Err(wrong(place, schema, &Value::String(text))),
            },
            (_, value) => self.scalar(&value, schema, place),
        }
    }

    fn array(&mut self, value: Value, schema: &Schema, place: &str) -> Result<Value, String> {
        let values = match value {
            Value::Array(values) => values,
            Value::String(text) if text.trim_start().starts_with('[') => {
                let inner = serde_json::from_str(&text).unwrap_or(Value::String(text));
                let Value::Array(values) = inner else { return Err(wrong(place, schema, &inner)) };
                self.note(place, "was JSON inside a string");
                values
            }
            single @ (Value::String(_) | Value::Number(_)) => {
                self.note(place, "was a single value, taken as a list of one");
                vec![single]
            }
            other @ (Value::Null | Value::Bool(_) | Value::Object(_)) => {
                return Err(wrong(place, schema, &other));
            }
        };
        let Some(items) = &schema.items else { return Ok(Value::Array(values)) };
        let checked = values
            .into_iter()
            .enumerate()
            .map(|(index, value)| self.value(value, items, &format!("{place}[{index}]")));
        checked.collect::<Result<_, _>>().map(Value::Array)
    }

    fn scalar(&mut self, value: &Value, schema: &Schema, place: &str) -> Result<Value, String> {
        let converted = match schema.kind {
            Kind::String => to_text(value, schema),
            Kind::Integer => to_integer(value),
            Kind::Number => to_number(value),
            Kind::Boolean => to_boolean(value),
            Kind::Array | Kind::Object => None,
        };
        let Some(converted) = converted else { return Err(wrong(place, schema, value)) };
        if let Some(why) = beyond(&converted, &schema.bounds) {
            return Err(format!("`{place}` must {why}"));
        }
        if converted != *value {
            self.note(place, &format!("was {}, taken as {converted}", described(value)));
        }
        Ok(converted)
    }

    fn note(&mut self, place: &str, what: &str) {
        self.notes.push(format!("`{place}` {what}"));
    }
}

/// What a value must do that it does not, in words.
fn beyond(value: &Value, bounds: &Bounds) -> Option<String> {
    if let Some(number) = value.as_f64() {
        let low = bounds.minimum.filter(|minimum| number < *minimum);
        let high = bounds.maximum.filter(|maximum| number > *maximum);
        return low
            .map(|minimum| format!("be at least {minimum}, not {number}"))
            .or_else(|| high.map(|maximum| format!("be at most {maximum}, not {number}")));
    }
    let text = value.as_str()?;
    let length = text.chars().count() as u64;
    if let Some(least) = bounds.min_length.filter(|least| length < *least) {
        return Some(format!("have at least {least} characters, not {length}"));
    }
    if let Some(most) = bounds.max_length.filter(|most| length > *most) {
        return Some(format!("have at most {most} characters, not {length}"));
    }
    let pattern = bounds.pattern.as_ref()?;
    // Whoever declares a schema has tried the pattern (see `schema::declared`).
    let fits = declared::pattern(pattern).is_ok_and(|pattern| pattern.is_match(text));
    (!fits).then(|| format!("match the pattern {pattern}, and {} does not", described(value)))
}

fn missing(given: &Map<String, Value>, schema: &Schema, place: &str) -> Vec<String> {
    let required = schema.properties.iter().filter(|property| property.required);
    required
        .filter(|property| given.get(&property.name).is_none_or(Value::is_null))
        .map(|property| format!("the required argument `{}`", join(place, &property.name)))
        .collect()
}

/// The one argument, not given itself, that an unknown name can stand for.
fn meant<'a>(name: &str, given: &Map<String, Value>, schema: &'a Schema) -> Option<&'a str> {
    let free = schema.properties.iter().map(|property| property.name.as_str());
    let free: Vec<_> = free.filter(|target| !given.contains_key(*target)).collect();
    let name = normal(name);
    let tests: [fn(&str, &str) -> bool; 3] = [|a, b| a == b, same_group, one_typo];
    tests.iter().find_map(|same| {
        let mut found = free.iter().filter(|target| same(&name, &normal(target)));
        found.next().filter(|_| found.next().is_none()).copied()
    })
}

/// A name without its spelling: letters and digits in lower case.
pub fn normal(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn same_group(a: &str, b: &str) -> bool {
    ALIASES.iter().any(|group| group.contains(&a) && group.contains(&b))
}

/// True when one character was left out, added, changed or swapped with its neighbour. Short names
/// are too close to each other for that.
fn one_typo(a: &str, b: &str) -> bool {
    let shorter = a.chars().count().min(b.chars().count());
    shorter >= 5 && strsim::osa_distance(a, b) <= 1
}

fn to_text(value: &Value, schema: &Schema) -> Option<Value> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    if schema.choices.is_empty() || schema.choices.contains(&text) {
        return Some(Value::String(text));
    }
    let mut close = schema.choices.iter().filter(|choice| normal(choice) == normal(&text));
    close.next().filter(|_| close.next().is_none()).cloned().map(Value::String)
}

fn to_number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => serde_json::from_str::<Number>(text.trim()).ok().map(Value::Number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn to_integer(value: &Value) -> Option<Value> {
    let number = to_number(value)?;
    if number.is_i64() || number.is_u64() {
        return Some(number);
    }
    let float = number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < EXACT_FLOAT)?;
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
    let whole = float as i64;
    Some(Value::from(whole))
}

fn to_boolean(value: &Value) -> Option<Value> {
    let flag = match value {
        Value::Bool(flag) => *flag,
        Value::String(text) => text.trim().to_ascii_lowercase().parse().ok()?,
        Value::Number(number) => match number.as_u64()? {
            0 => false,
            1 => true,
            _ => return None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(Value::Bool(flag))
}

fn wrong(place: &str, schema: &Schema, value: &Value) -> String {
    format!("`{place}` must be {}, not {}", expected(schema), described(value))
}

fn expected(schema: &Schema) -> String {
    match schema.kind {
        Kind::String if !schema.choices.is_empty() => format!("one of {}", schema.listed()),
        Kind::Integer => "a whole number".to_owned(),
        Kind::Array => "an array".to_owned(),
        Kind::Object => "an object".to_owned(),
        Kind::String | Kind::Number | Kind::Boolean => format!("a {}", schema.kind.name()),
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("the boolean {flag}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {}", Value::from(brief(text, QUOTED))),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

#[cfg(test)]
mod tests;
