//! The forms that calls written as text have, and how each is read.
//!
//! Every reader walks a [`Cursor`] forward only, so the time is linear in the text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Written;
use crate::client::calls::{MAX_CALLS, is_object};

/// What a text that begins with an opener turns out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// Calls, and the length of their text.
    Calls(Vec<Written>, usize),
    /// A call that is cut or malformed.
    Bad,
    /// Words about calls.
    Prose,
}

/// Why a call could not be read.
enum Fault {
    Bad,
    Prose,
}

type Calls = Result<Vec<Written>, Fault>;

/// Tags that hold other forms and mean nothing themselves.
const WRAPPERS: [(&str, &str); 3] = [
    ("<function_calls>", "</function_calls>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<minimax:tool_call>", "</minimax:tool_call>"),
];

/// How gpt-oss begins a message.
const START: &str = "<|start|>assistant";

/// Languages of a code block that may be a call when it is the whole answer.
const LANGUAGES: [&str; 5] = ["", "json", "tool", "tool_call", "tool_code"];

/// Reads a call, and those that follow it directly.
pub(super) fn read(text: &str) -> Parsed {
    let mut cursor = Cursor { rest: text };
    let mut calls = Vec::new();
    let mut length = 0;
    loop {
        cursor.skip_space();
        match one(&mut cursor) {
            Ok(Some(more)) => calls.extend(more),
            Ok(None) => break,
            Err(Fault::Prose) if calls.is_empty() => return Parsed::Prose,
            Err(Fault::Prose | Fault::Bad) => return Parsed::Bad,
        }
        length = text.len() - cursor.rest.len();
    }
    match calls.len() {
        0 if !cursor.rest.is_empty() => Parsed::Prose,
        1..=MAX_CALLS => Parsed::Calls(calls, length),
        _ => Parsed::Bad,
    }
}

/// The call that is the whole of an answer, as JSON by itself or in a code block.
pub(super) fn whole_answer(content: &str) -> Option<Written> {
    let text = content.trim();
    let body = match text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) {
        Some(block) => {
            let (language, body) = block.split_once('\n')?;
            LANGUAGES.contains(&language.trim()).then_some(body.trim())?
        }
        None => text,
    };
    let is_one = body.starts_with('{') && body.ends_with('}');
    let shape: Shape<'_> = is_one.then(|| serde_json::from_str(body).ok())??;
    // Without arguments it may be any object that has a name.
    shape.arguments.is_some().then(|| shape.call())?
}

/// A text without the start of a message of gpt-oss at its end, and without white space there.
pub(super) fn without_start(text: &str) -> &str {
    let text = text.trim_end();
    text.strip_suffix(START).unwrap_or(text).trim_end()
}

/// The next call or wrapper; none where there is neither.
fn one(cursor: &mut Cursor<'_>) -> Result<Option<Vec<Written>>, Fault> {
    let tags = WRAPPERS.iter().flat_map(|(open, close)| [*open, *close]);
    for tag in tags {
        if cursor.eat(tag) {
            return Ok(Some(Vec::new()));
        }
    }
    let read: fn(&mut Cursor<'_>) -> Calls = if cursor.eat("<tool_call>") {
        tool_call
    } else if cursor.eat("<function=") {
        function
    } else if cursor.eat("<invoke name=") {
        invoke
    } else if cursor.eat("[TOOL_CALLS]") {
        mistral
    } else if cursor.eat(START) || cursor.rest.starts_with("<|channel|>") {
        harmony
    } else {
        return Ok(None);
    };
    read(cursor).map(Some)
}

/// `<tool_call>` with JSON, with functions, or with a name and pairs of keys and values.
fn tool_call(cursor: &mut Cursor<'_>) -> Calls {
    cursor.skip_space();
    let mut calls = Vec::new();
    match cursor.rest.chars().next() {
        None => return Err(Fault::Bad),
        Some('{' | '[') => calls = cursor.shapes()?,
        Some('<') => {
            while cursor.eat("<function=") {
                calls.extend(function(cursor)?);
                cursor.skip_space();
            }
        }
        Some(_) => calls.push(pairs(cursor)?),
    }
    cursor.expect("</tool_call>")?;
    if calls.is_empty() { Err(Fault::Bad) } else { Ok(calls) }
}

/// `name`, then `<arg_key>…</arg_key><arg_value>…</arg_value>`.
fn pairs(cursor: &mut Cursor<'_>) -> Result<Written, Fault> {
    let name = cursor.name();
    cursor.skip_space();
    if name.is_empty() || !(cursor.rest.is_empty() || cursor.rest.starts_with('<')) {
        return Err(Fault::Prose);
    }
    let mut arguments = Map::new();
    while cursor.eat("<arg_key>") {
        let key = cursor.until("</arg_key>")?.trim();
        cursor.expect("<arg_value>")?;
        let value = cursor.until("</arg_value>")?;
        arguments.insert(key.to_owned(), value.into());
        cursor.skip_space();
    }
    Ok(written(name, arguments))
}

/// `<function=name>` with parameters, or with JSON.
fn function(cursor: &mut Cursor<'_>) -> Calls {
    let name = cursor.name();
    if name.is_empty() || !cursor.eat(">") {
        return Err(cursor.fault_here());
    }
    cursor.skip_space();
    let call = if cursor.rest.starts_with('{') {
        Written { name: name.to_owned(), arguments: cursor.object()? }
    } else {
        written(name, parameters(cursor, ("<parameter=", ""), "</function>")?)
    };
    cursor.expect("</function>")?;
    Ok(vec![call])
}

/// `<invoke name="name">` with parameters.
fn invoke(cursor: &mut Cursor<'_>) -> Calls {
    if !cursor.eat("\"") {
        return Err(cursor.fault_here());
    }
    let name = cursor.name();
    if name.is_empty() || !cursor.eat("\">") {
        return Err(cursor.fault_here());
    }
    let call = written(name, parameters(cursor, ("<parameter name=\"", "\""), "</invoke>")?);
    cursor.expect("</invoke>")?;
    Ok(vec![call])
}

/// Parameters, each opened by this and with this behind its name, up to the end tag of the call.
fn parameters(
    cursor: &mut Cursor<'_>,
    (open, name_end): (&str, &str),
    end: &str,
) -> Result<Map<String, Value>, Fault> {
    let mut arguments = Map::new();
    cursor.skip_space();
    if !cursor.rest.starts_with('<') {
        return Err(cursor.fault_here());
    }
    while cursor.eat(open) {
        let name = cursor.name();
        cursor.expect(name_end)?;
        // Some add attributes that say how the value is to be read.
        cursor.until(">")?;
        let value = parameter_value(cursor, open, end)?;
        arguments.insert(name.to_owned(), value.into());
        cursor.skip_space();
    }
    Ok(arguments)
}

/// A value, without the line feeds that put it on lines of its own. It may hold the closing tag
/// itself: the one that counts has another parameter or the end of the call behind it.
fn parameter_value<'a>(cursor: &mut Cursor<'a>, open: &str, end: &str) -> Result<&'a str, Fault> {
    const CLOSE: &str = "</parameter>";
    let whole = cursor.rest;
    let mut length = 0;
    loop {
        length += cursor.until(CLOSE)?.len();
        let behind = cursor.rest.trim_start();
        if behind.starts_with(open) || behind.starts_with(end) {
            let value = whole.get(..length).unwrap_or_default();
            let value = value.strip_prefix('\n').unwrap_or(value);
            return Ok(value.strip_suffix('\n').unwrap_or(value));
        }
        length += CLOSE.len();
    }
}

/// `[TOOL_CALLS]` with a list, or with a name and an object.
fn mistral(cursor: &mut Cursor<'_>) -> Calls {
    cursor.skip_space();
    if cursor.rest.starts_with(['[', '{']) {
        return cursor.shapes();
    }
    let name = cursor.name();
    if cursor.eat("[CALL_ID]") {
        cursor.name();
    }
    let marked = cursor.eat("[ARGS]");
    cursor.skip_space();
    if cursor.rest.starts_with('{') {
        return Ok(vec![Written { name: bare(name).to_owned(), arguments: cursor.object()? }]);
    }
    Err(if marked || cursor.rest.is_empty() { Fault::Bad } else { Fault::Prose })
}

/// `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`. The last token
/// stops the model and seldom arrives.
fn harmony(cursor: &mut Cursor<'_>) -> Calls {
    let line = cursor.rest.split(['\n', '{']).next().unwrap_or_default();
    let Some((_, recipient)) = line.split_once(" to=") else { return Err(Fault::Prose) };
    let name = Cursor { rest: recipient }.name();
    cursor.until("<|message|>")?;
    cursor.skip_space();
    let call = Written { name: bare(name).to_owned(), arguments: cursor.object()? };
    cursor.skip_space();
    let _ = cursor.eat("<|call|>") || cursor.eat("<|end|>");
    Ok(vec![call])
}

fn written(name: &str, arguments: Map<String, Value>) -> Written {
    Written { name: bare(name).to_owned(), arguments: Value::Object(arguments).to_string() }
}

/// A tool's name without the namespace that some templates give all tools.
fn bare(name: &str) -> &str {
    name.strip_prefix("functions.").unwrap_or(name)
}

/// A call as a JSON object. Any other field makes it something else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape<'a> {
    #[serde(borrow, alias = "tool", alias = "tool_name", alias = "function")]
    name: Cow<'a, str>,
    #[serde(borrow, alias = "parameters", alias = "args", alias = "input")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "id")]
    _id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    _kind: Option<&'a RawValue>,
}

impl Shape<'_> {
    /// The call, where its arguments are an object or a string that holds one.
    fn call(&self) -> Option<Written> {
        let given = self.arguments.map_or("{}", RawValue::get);
        let inner = given.starts_with('"').then(|| serde_json::from_str::<String>(given).ok());
        let arguments = inner.unwrap_or_else(|| Some(given.to_owned()))?;
        let name = bare(&self.name).to_owned();
        is_object(&arguments).then_some(Written { name, arguments })
    }
}

/// The text that has not been read yet.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) -> Result<(), Fault> {
        self.skip_space();
        if self.eat(text) { Ok(()) } else { Err(Fault::Bad) }
    }

    /// What stands before the next `end`; moves behind that.
    fn until(&mut self, end: &str) -> Result<&'a str, Fault> {
        let (before, behind) = self.rest.split_once(end).ok_or(Fault::Bad)?;
        self.rest = behind;
        Ok(before)
    }

    fn name(&mut self) -> &'a str {
        let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let end = self.rest.find(|c| !in_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        name
    }

    /// A text that ends here is cut; one that goes on otherwise is no call.
    fn fault_here(&self) -> Fault {
        if self.rest.is_empty() { Fault::Bad } else { Fault::Prose }
    }

    /// The next JSON value.
    fn value(&mut self) -> Result<&'a str, Fault> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<&RawValue>();
        let value = values.next().and_then(Result::ok).ok_or(Fault::Bad)?;
        self.rest = self.rest.get(values.byte_offset()..).unwrap_or_default();
        Ok(value.get())
    }

    fn object(&mut self) -> Result<String, Fault> {
        let value = self.value()?;
        if value.starts_with('{') { Ok(value.to_owned()) } else { Err(Fault::Bad) }
    }

    /// The call that the next JSON object is, or those of the next list.
    fn shapes(&mut self) -> Calls {
        let value = self.value()?;
        let shapes: Vec<Shape<'_>> = if value.starts_with('[') {
            serde_json::from_str(value).map_err(|_| Fault::Bad)?
        } else {
            vec![serde_json::from_str(value).map_err(|_| Fault::Bad)?]
        };
        shapes.iter().map(|shape| shape.call().ok_or(Fault::Bad)).collect()
    }
}
