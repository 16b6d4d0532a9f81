//! A reader for JSON as models write it.
//!
//! Models write Python dictionaries, JavaScript objects, Markdown fences and raw line breaks where
//! JSON is asked for. What such a slip means is plain, so it is read and named. Where the meaning
//! is not plain (text that ends too early, a missing comma, a bare word), reading fails with the
//! place: a guess could run the wrong command or write half a file.
//!
//! It knows nothing of schemas, and it is not a fast path: valid JSON never comes here.

use serde_json::{Map, Number, Value};

/// How deep values may nest. Far more than any tool's arguments, far less than the stack.
const MAX_DEPTH: usize = 64;

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte offset in the text.
    at: usize,
    /// What is wrong there.
    what: String,
}

impl Fault {
    /// The fault with its place in the text it was found in: `line 1, column 5: …`.
    pub fn placed(&self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: {}", self.what)
    }
}

/// Reads one value and names the slips that were overlooked, each kind once.
pub fn read(text: &str) -> Result<(Value, Vec<&'static str>), Fault> {
    let mut reader = Reader { text, at: 0, slips: Vec::new() };
    reader.skip_fence();
    let value = reader.value(0)?;
    reader.expect_end()?;
    Ok((value, reader.slips))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    slips: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Skips characters while they match, and returns them.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        self.take_while(|c| c.is_whitespace() || c == '\u{feff}');
    }

    fn slip(&mut self, slip: &'static str) {
        if !self.slips.contains(&slip) {
            self.slips.push(slip);
        }
    }

    fn fault<T>(&self, what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault { at: self.at, what: what.into() })
    }

    fn cut<T>(&self, inside: &str) -> Result<T, Fault> {
        self.fault(format!(
            "the text ends inside {inside}; it was cut off (send long content in several calls)"
        ))
    }

    fn skip_fence(&mut self) {
        self.skip_space();
        if self.eat("```") {
            self.take_while(char::is_alphanumeric);
            self.slip("a Markdown fence was taken off");
        }
    }

    /// Nothing but the leavings of a template may follow the value.
    fn expect_end(&mut self) -> Result<(), Fault> {
        loop {
            self.skip_space();
            if self.rest().is_empty() {
                return Ok(());
            } else if self.eat("```") {
            } else if self.eat("}") || self.eat("]") {
                self.slip("a closing bracket too many was left out");
            } else if let Some(end) = special_token(self.rest()) {
                self.at += end;
                self.slip("a special token after the object was left out");
            } else {
                return self.fault("there is more text after the end of the JSON value");
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > MAX_DEPTH {
            return self.fault(format!("values nest deeper than {MAX_DEPTH} levels"));
        }
        self.skip_space();
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some(quote @ ('"' | '\'')) => self.string(quote).map(Value::String),
            Some(_) => self.word(),
            None => self.cut("the JSON value"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        self.bump();
        let mut map = Map::new();
        while !self.closes('}', map.is_empty(), "an object")? {
            let key = self.key()?;
            self.skip_space();
            if self.rest().is_empty() {
                return self.cut("an object");
            }
            if !self.eat(":") {
                return self.fault("expected `:` after the name");
            }
            let value = self.value(depth + 1)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        self.bump();
        let mut values = Vec::new();
        while !self.closes(']', values.is_empty(), "an array")? {
            values.push(self.value(depth + 1)?);
        }
        Ok(Value::Array(values))
    }

    /// Eats the closing bracket, or the comma before a further element.
    fn closes(&mut self, bracket: char, first: bool, inside: &str) -> Result<bool, Fault> {
        self.skip_space();
        let comma = !first && self.eat(",");
        self.skip_space();
        match self.peek() {
            None => self.cut(inside),
            Some(next) if next == bracket => {
                self.bump();
                if comma {
                    self.slip("a trailing comma was left out");
                }
                Ok(true)
            }
            Some(_) if first || comma => Ok(false),
            Some(_) => self.fault(format!("expected `,` or `{bracket}`")),
        }
    }

    fn key(&mut self) -> Result<String, Fault> {
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            return self.string(quote);
        }
        let name = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
        if name.is_empty() {
            return self.fault("expected a name in double quotes");
        }
        self.slip("names were put in quotes");
        Ok(name.to_owned())
    }

    fn string(&mut self, quote: char) -> Result<String, Fault> {
        self.bump();
        if quote == '\'' {
            self.slip("single quotes were read as double quotes");
        }
        let mut text = String::new();
        loop {
            match self.bump() {
                None => return self.cut("a string"),
                Some(c) if c == quote => return Ok(text),
                Some('\\') => self.escape(&mut text)?,
                Some(c) => {
                    if c < ' ' {
                        self.slip("raw control characters in a string were taken as they are");
                    }
                    text.push(c);
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Fault> {
        let plain = match self.bump() {
            None => return self.cut("a string"),
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('u') => self.unicode()?,
            Some('\'') => {
                self.slip("`\\'` in a string was read as `'`");
                '\''
            }
            Some(other) => {
                self.slip("a backslash that JSON does not know was kept as it is");
                text.push('\\');
                other
            }
        };
        text.push(plain);
        Ok(())
    }

    /// The character of a `\u` escape, or of two that form a surrogate pair.
    fn unicode(&mut self) -> Result<char, Fault> {
        let unit = self.hex()?;
        if let Some(c) = char::from_u32(unit) {
            return Ok(c);
        }
        let after_first = self.at;
        if unit < 0xDC00 && self.eat("\\u") {
            let low = self.hex()?;
            if (0xDC00..0xE000).contains(&low) {
                let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = after_first;
        }
        self.slip("half of a surrogate pair was replaced by U+FFFD");
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32, Fault> {
        let digits =
            self.rest().get(..4).filter(|four| four.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(unit) = digits.and_then(|four| u32::from_str_radix(four, 16).ok()) else {
            if self.rest().len() < 4 {
                return self.cut("a string");
            }
            return self.fault("`\\u` needs four hexadecimal digits");
        };
        self.at += 4;
        Ok(unit)
    }

    /// A number or a literal, in JSON's spelling or Python's.
    fn word(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let word = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-'));
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            "True" | "False" | "None" => {
                self.slip("Python's True, False or None was read as JSON's");
                if word == "None" { Value::Null } else { Value::Bool(word == "True") }
            }
            _ => {
                let Ok(number) = serde_json::from_str::<Number>(word) else {
                    self.at = start;
                    return self.fault("expected a JSON value; text must be in double quotes");
                };
                Value::Number(number)
            }
        };
        Ok(value)
    }
}

/// The length of a chat template's token such as `<|call|>` at the start of the text.
fn special_token(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("<|")?;
    let length = inside.find("|>")?;
    let name = inside.get(..length)?;
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(length + 4)
}

#[cfg(test)]
mod tests;
