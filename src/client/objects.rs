//! Argument text that grows: where its JSON objects end, and whether it was cut.
//!
//! Providers send a placeholder `{}` before the real object, the same object twice, or the
//! objects of several calls glued together. The scan runs along with the stream, so each byte is
//! looked at once. It knows only braces and strings; whether the text is good JSON is another
//! question, asked at the end.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::surrogate;

/// More objects than this in one text are not taken for glued calls but left as they are.
const MAX_GLUED: usize = 64;

/// Argument text and what the scan found in it.
#[derive(Debug, Default)]
pub(super) struct Objects {
    text: String,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// There is something outside the objects.
    loose: bool,
    /// Where each of the objects ends.
    ends: Vec<usize>,
}

/// Arguments of one call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) text: String,
    /// The text ends inside an object.
    pub(super) cut: bool,
    /// The model wrote nothing; `text` is `{}`.
    pub(super) blank: bool,
}

impl Objects {
    /// Appends a piece.
    pub(super) fn push(&mut self, piece: &str) {
        for (at, byte) in piece.bytes().enumerate() {
            self.scan(byte, self.text.len() + at);
        }
        self.text.push_str(piece);
    }

    fn scan(&mut self, byte: u8, at: usize) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' if self.depth > 0 => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' => self.depth += 1,
            b'[' if self.depth > 0 => self.depth += 1,
            b'}' | b']' if self.depth > 0 => self.close(at),
            _ if self.depth == 0 && !byte.is_ascii_whitespace() => self.loose = true,
            _ => {}
        }
    }

    fn close(&mut self, at: usize) {
        self.depth -= 1;
        if self.depth == 0 && self.ends.len() <= MAX_GLUED {
            self.ends.push(at + 1);
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// True when it is an object, or several, and nothing more.
    pub(super) fn is_complete(&self) -> bool {
        !self.ends.is_empty() && self.depth == 0 && !self.loose
    }

    /// The arguments of the call, or of the calls that were glued together.
    pub(super) fn settle(self) -> Vec<Settled> {
        // A string that holds the object is whole too; the scan sees only its braces.
        let cut = self.depth > 0 && serde_json::from_str::<IgnoredAny>(&self.text).is_err();
        if matches!(self.text.trim(), "" | "null") {
            return vec![Settled { text: "{}".to_owned(), cut: false, blank: true }];
        }
        if self.loose || self.ends.len() > MAX_GLUED || self.ends.len() + usize::from(cut) < 2 {
            return vec![settled(self.text, cut)];
        }
        let mut objects: Vec<Settled> = Vec::new();
        for text in self.split() {
            let known = objects.iter().any(|other| same(&other.text, &text));
            if !known && !is_empty_object(&text) {
                objects.push(settled(text, false));
            }
        }
        if cut {
            objects.push(settled(self.tail().to_owned(), true));
        }
        if objects.is_empty() {
            objects.push(settled("{}".to_owned(), false));
        }
        objects
    }

    fn split(&self) -> Vec<String> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends);
        spans.filter_map(|(from, to)| Some(self.text.get(from..*to)?.trim().to_owned())).collect()
    }

    fn tail(&self) -> &str {
        let end = self.ends.last().copied().unwrap_or(0);
        self.text.get(end..).unwrap_or_default()
    }
}

fn settled(text: String, cut: bool) -> Settled {
    Settled { text: surrogate::without_lone(text), cut, blank: false }
}

fn is_empty_object(text: &str) -> bool {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

fn same(one: &str, other: &str) -> bool {
    let parse = |text| serde_json::from_str::<Value>(text).ok();
    one == other || parse(one).is_some_and(|value| parse(other) == Some(value))
}

#[cfg(test)]
mod tests;
