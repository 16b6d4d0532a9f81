//! What an error body says, dug out of the shapes that providers put it in.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{MAX_MESSAGE, clean, wait};
use crate::client::surrogate::rewrite;

/// How deep an error may be wrapped into others.
const MAX_DEPTH: usize = 6;

/// What a body says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    /// The innermost words.
    pub(super) message: String,
    /// Codes, types and states as text, the most telling first.
    pub(super) codes: Vec<String>,
    /// Other texts around the message; not shown, but they tell the kind.
    pub(super) around: String,
    /// The codes are numbers of the `base_resp` family.
    pub(super) base_resp: bool,
    /// How long to wait.
    pub(super) retry_after: Option<Duration>,
    /// The model's window.
    pub(super) window: Option<u64>,
    /// The request's tokens.
    pub(super) asked: Option<u64>,
}

impl Said {
    /// A body that is only words.
    pub(super) fn text(text: &str) -> Self {
        Self { message: clean(text, MAX_MESSAGE), ..Self::default() }
    }

    /// All its words in lower case, for looking up phrases.
    pub(super) fn all_text(&self) -> String {
        format!("{}\n{}", self.message, self.around).to_lowercase()
    }
}

/// Reads a JSON body; none when it is no JSON or reports no error.
pub(super) fn parse(text: &str) -> Option<Said> {
    said(&first_value(text)?, 0)
}

/// The JSON value that a text begins with, whatever follows it.
fn first_value(text: &str) -> Option<Value> {
    let read = |text: &str| serde_json::Deserializer::from_str(text).into_iter().next()?.ok();
    read(text).or_else(|| read(&rewrite(text, |_| char::REPLACEMENT_CHARACTER)))
}

fn said(value: &Value, depth: usize) -> Option<Said> {
    if depth > MAX_DEPTH {
        return None;
    }
    let map = match value {
        Value::Array(list) => return list.iter().find_map(|item| said(item, depth + 1)),
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    let found = from_error(map, depth)
        .or_else(|| from_choices(map, depth))
        .or_else(|| from_base_resp(map))
        .or_else(|| from_errors(map, depth))
        .or_else(|| from_flat(map, depth))?;
    Some(Said {
        message: clean(&found.message, MAX_MESSAGE),
        around: clean(&found.around, MAX_MESSAGE),
        ..found
    })
}

/// `{error:{message,type,param,code}}` and `{error:"text",code?}`.
fn from_error(map: &Map<String, Value>, depth: usize) -> Option<Said> {
    match map.get("error")? {
        Value::Object(error) if !error.is_empty() => {
            let mut said = from_flat(error, depth).unwrap_or_default();
            said.codes.extend(codes(map));
            Some(said)
        }
        Value::String(text) if !text.is_empty() => {
            let mut said = from_words(text, depth);
            said.codes.extend(codes(map));
            // Some put a sentence where the code belongs.
            said.around.push_str(&string(map.get("code")));
            Some(said)
        }
        list @ Value::Array(_) => said(list, depth + 1),
        Value::Bool(true) => from_flat(map, depth).or_else(|| Some(Said::default())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    }
}

/// An error inside one of the choices.
fn from_choices(map: &Map<String, Value>, depth: usize) -> Option<Said> {
    map.get("choices")?.as_array()?.iter().find_map(|choice| from_error(choice.as_object()?, depth))
}

/// `{base_resp:{status_code,status_msg}}`, where 0 is success.
fn from_base_resp(map: &Map<String, Value>) -> Option<Said> {
    let base = map.get("base_resp")?;
    let code = base.get("status_code")?.as_i64().filter(|code| *code != 0)?;
    let message = string(base.get("status_msg"));
    Some(Said { message, codes: vec![code.to_string()], base_resp: true, ..Said::default() })
}

/// `{errors:[…]}` as gateways write it.
fn from_errors(map: &Map<String, Value>, depth: usize) -> Option<Said> {
    let errors = map.get("errors")?.as_array()?;
    errors.iter().find_map(|error| from_flat(error.as_object()?, depth))
}

/// `{message,type,code}` and `{detail}`, at the top or inside `error`.
fn from_flat(map: &Map<String, Value>, depth: usize) -> Option<Said> {
    let mut own = Said::default();
    let words = ["message", "msg", "detail", "error_message", "status_msg"];
    let found = words.iter().find_map(|field| words_in(map.get(*field)?, depth));
    let raw = map.get("metadata").and_then(|metadata| words_in(metadata.get("raw")?, depth));
    if found.is_none() && raw.is_none() && map.get("object").is_none_or(|kind| kind != "error") {
        let named = !codes(map).is_empty() && depth_of_error(map);
        if !named {
            return None;
        }
    }
    for inner in [found, raw].into_iter().flatten() {
        own.around.push_str(&own.message);
        own.around.push('\n');
        own.around.push_str(&inner.around);
        own.retry_after = inner.retry_after.or(own.retry_after);
        own.codes.extend(inner.codes);
        if !inner.message.is_empty() {
            own.message = inner.message;
        }
    }
    let mut all = codes(map);
    all.append(&mut own.codes);
    own.codes = all;
    own.window = number(map.get("n_ctx"));
    own.asked = number(map.get("n_prompt_tokens"));
    add_details(&mut own, map.get("details"));
    Some(own)
}

/// An error object may have only a code or a type, as long as it is not an ordinary answer.
fn depth_of_error(map: &Map<String, Value>) -> bool {
    !["choices", "id", "object", "model", "data"].iter().any(|field| map.contains_key(*field))
}

/// The message in a value that should be a string but need not be.
fn words_in(value: &Value, depth: usize) -> Option<Said> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(from_words(text, depth)),
        Value::Object(map) => said(value, depth + 1).or_else(|| from_flat(map, depth + 1)),
        Value::Array(list) => {
            let lines: Vec<String> = list.iter().filter_map(complaint).collect();
            (!lines.is_empty()).then(|| Said::text(&lines.join("; ")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// One entry of a validation error: where and what.
fn complaint(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let what = ["msg", "message", "type"].iter().find_map(|field| value.get(field)?.as_str())?;
    let place = value.get("loc").and_then(Value::as_array).map(|parts| {
        let parts: Vec<String> = parts.iter().map(|part| string(Some(part))).collect();
        parts.join(".")
    });
    Some(place.map_or_else(|| what.to_owned(), |place| format!("{place}: {what}")))
}

/// Words that may hold JSON of their own, perhaps behind a prefix.
fn from_words(text: &str, depth: usize) -> Said {
    let inner = || {
        let at = text.find(['{', '['])?;
        let (before, json) = text.split_at_checked(at)?;
        let mut inner = said(&first_value(json)?, depth + 1)?;
        inner.around.push('\n');
        inner.around.push_str(before);
        Some(inner)
    };
    let plain = || Said { message: text.to_owned(), ..Said::default() };
    if depth < MAX_DEPTH { inner().unwrap_or_else(plain) } else { plain() }
}

/// Codes of an object, the most telling first.
fn codes(map: &Map<String, Value>) -> Vec<String> {
    let fields = ["code", "type", "error_type", "status", "param"];
    let all = fields.iter().map(|field| string(map.get(*field)));
    all.filter(|code| !code.is_empty() && !code.contains(char::is_whitespace)).collect()
}

/// `details` with the time to wait and the name of the quota.
fn add_details(said: &mut Said, details: Option<&Value>) {
    for detail in details.and_then(Value::as_array).into_iter().flatten() {
        let delay = detail.get("retryDelay").and_then(Value::as_str);
        said.retry_after = said.retry_after.or_else(|| delay.and_then(wait::spelled));
        said.codes.extend(detail.get("reason").and_then(Value::as_str).map(str::to_owned));
        for violation in detail.get("violations").and_then(Value::as_array).into_iter().flatten() {
            said.around.push('\n');
            said.around.push_str(&string(violation.get("quotaId")));
        }
    }
}

/// A string or number as text, anything else as nothing.
fn string(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn number(value: Option<&Value>) -> Option<u64> {
    value.and_then(Value::as_u64).filter(|number| *number > 0)
}
