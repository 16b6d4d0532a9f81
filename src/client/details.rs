//! Structured reasoning (`reasoning_details`), put together so that it can go back unmodified.
//!
//! The text of one block comes in many pieces and becomes one entry again. Signed and encrypted
//! entries are opaque and stay whole.

use serde_json::{Map, Value};

use super::surrogate;

/// The fields whose pieces are joined.
const JOINED: [&str; 2] = ["text", "summary"];

/// The entries so far.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Value>);

impl Details {
    /// Adds what a delta brought: a list of entries, or one.
    pub(super) fn push(&mut self, more: Value) {
        match more {
            Value::Array(entries) => entries.into_iter().for_each(|entry| self.push(entry)),
            Value::Object(entry) => self.push_entry(entry),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn push_entry(&mut self, entry: Map<String, Value>) {
        match self.0.last_mut() {
            Some(Value::Object(last)) if continues(last, &entry) => merge(last, entry),
            _ => self.0.push(Value::Object(entry)),
        }
    }

    /// The whole list; none when there was nothing.
    pub(super) fn finish(mut self, rewritten: bool) -> Option<Value> {
        if rewritten {
            self.0.iter_mut().for_each(resolve);
        }
        (!self.0.is_empty()).then_some(Value::Array(self.0))
    }
}

/// The readable reasoning in a delta's details.
pub(super) fn text_of(details: &Value) -> String {
    let entries = details.as_array().map_or(std::slice::from_ref(details), Vec::as_slice);
    let texts = entries.iter().flat_map(|entry| JOINED.map(|field| string(entry.get(field))));
    texts.flatten().collect()
}

fn continues(last: &Map<String, Value>, next: &Map<String, Value>) -> bool {
    let same = |field: &str| last.get(field) == next.get(field);
    let said = |entry: &Map<String, Value>, field: &str| entry.get(field).is_some_and(|v| !v.is_null());
    let other_id = said(last, "id") && said(next, "id") && !same("id");
    let sealed = said(last, "signature") || said(last, "data") || said(next, "data");
    same("type") && same("index") && !other_id && !sealed
}

fn merge(last: &mut Map<String, Value>, next: Map<String, Value>) {
    for (field, value) in next {
        match (last.get_mut(&field), value) {
            (Some(Value::String(text)), Value::String(more)) if JOINED.contains(&field.as_str()) => {
                text.push_str(&more);
            }
            (Some(known), value) if known.is_null() => *known = value,
            (Some(_), _) => {}
            (None, value) => {
                last.insert(field, value);
            }
        }
    }
}

/// Makes whole characters of the surrogate halves in all strings.
pub(super) fn resolve(value: &mut Value) {
    match value {
        Value::String(text) => *text = surrogate::resolve(text),
        Value::Array(list) => list.iter_mut().for_each(resolve),
        Value::Object(map) => map.values_mut().for_each(resolve),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn string(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
