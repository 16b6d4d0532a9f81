//! The JSON document: the log as one array, its header first, then its events, one a line. If something
//! of the log could not be read, the last element says so (`"type":"warning"`).

use std::fmt::Write;

use serde_json::Value;

use crate::event::{Header, Record};
use crate::mask::Masks;
use crate::ui::sanitize;

pub(super) fn begin(header: &Header, masks: &Masks) -> String {
    format!("[{}", encoded(serde_json::to_value(header).unwrap_or_default(), masks))
}

pub(super) fn record(record: &Record, masks: &Masks) -> String {
    let value = record.to_line().and_then(|line| serde_json::from_slice(&line));
    value.map(|value| format!(",\n{}", encoded(value, masks))).unwrap_or_default()
}

pub(super) fn end(warning: Option<String>) -> String {
    let warning = warning.map(|content| {
        let value = serde_json::json!({ "type": "warning", "content": content });
        format!(",\n{}", encoded(value, &Masks::default()))
    });
    warning.unwrap_or_default() + "\n]\n"
}

/// JSON in which nothing hides: what is no plain text is escaped, and reads back as it was.
fn encoded(mut value: Value, masks: &Masks) -> String {
    mask(&mut value, masks);
    let json = value.to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if sanitize::is_plain(c) {
            out.push(c);
        } else {
            // Outside ASCII only texts have such characters. Writing to a string cannot fail.
            let mut units = [0; 2];
            let _ = c.encode_utf16(&mut units).iter().try_for_each(|u| write!(out, "\\u{u:04x}"));
        }
    }
    out
}

fn mask(value: &mut Value, masks: &Masks) {
    match value {
        Value::String(text) => masks.apply_to(text),
        Value::Array(values) => values.iter_mut().for_each(|value| mask(value, masks)),
        Value::Object(fields) => fields.values_mut().for_each(|value| mask(value, masks)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
