//! Calls that a model wrote into its answer as text, because it or its server missed the tool
//! format.
//!
//! A call counts only where a model that means it would put it: on a line of its own, outside code,
//! with nothing but further calls behind it. It must be whole, name a known tool and have an object
//! for its arguments. What fails that but cannot be meant for the reader is [`Found::Broken`]: the
//! model is to be asked again. A call that is quoted, in a code block or followed by words is the
//! model talking about calls, and is left alone.

mod forms;
mod hold;

pub use hold::Hold;

use crate::message::{FinishReason, Reply, ToolCall};
use forms::Parsed;

/// Where a call may begin.
const OPENERS: [&str; 8] = [
    "<tool_call>",
    "<tool_calls>",
    "<function_calls>",
    "<minimax:tool_call>",
    "<function=",
    "<invoke name=",
    "[TOOL_CALLS]",
    "<|channel|>",
];

/// Where a call ends, in the forms that say so.
const CLOSERS: [&str; 6] = [
    "</tool_call>",
    "</tool_calls>",
    "</function>",
    "</invoke>",
    "</function_calls>",
    "</minimax:tool_call>",
];

/// How a model goes on that makes up the result of its own call.
const MADE_UP_RESULTS: [&str; 4] =
    ["<tool_response", "<tool_result", "<function_result", "<function_response"];

/// Openers that are looked at in one answer.
const MAX_PLACES: usize = 64;

/// Spaces from which on an indented line is code.
const CODE_INDENT: usize = 4;

/// What there is in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// No call.
    Nothing,
    /// Whole calls of known tools.
    Calls {
        /// The text before them.
        rest: String,
        /// The calls, in order; at least one.
        calls: Vec<Written>,
    },
    /// Something that was meant as a call and cannot be run.
    Broken,
}

/// A call that was written as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The tool.
    pub name: String,
    /// The text of a JSON object.
    pub arguments: String,
}

/// Looks for calls in the text of an answer.
pub fn find(content: &str, tools: &[&str]) -> Found {
    if let Some(call) = forms::whole_answer(content).filter(|call| is_known(call, tools)) {
        return Found::Calls { rest: String::new(), calls: vec![call] };
    }
    let mut places = Places::new(content);
    let mut explained = false;
    for _ in 0..MAX_PLACES {
        let Some(place) = places.next() else { break };
        let Some(text) = content.get(place.at..) else { continue };
        match forms::read(text) {
            Parsed::Prose => {}
            Parsed::Bad if place.apart => return bad(text),
            Parsed::Bad => {}
            Parsed::Calls(calls, length) => {
                let behind = text.get(length..).unwrap_or_default().trim();
                let known = calls.iter().all(|call| is_known(call, tools));
                if behind.is_empty() && place.apart && known && !explained {
                    let rest = content.get(..place.at).unwrap_or_default();
                    return Found::Calls { rest: forms::without_start(rest).to_owned(), calls };
                }
                // In the middle of a line, or after others with words in between: in doubt, ask.
                let doubtful = behind.is_empty() && (place.apart || known);
                if doubtful || MADE_UP_RESULTS.iter().any(|start| behind.starts_with(start)) {
                    return Found::Broken;
                }
                explained |= place.apart;
                places.skip_to(place.at + length);
            }
        }
    }
    Found::Nothing
}

/// Turns the calls of a reply into calls like any other: the reply keeps the text before them as its
/// content and its own words as `raw_content`.
pub fn take_over(reply: &mut Reply, rest: String, calls: Vec<Written>, id_prefix: &str) {
    reply.raw_content = Some(std::mem::replace(&mut reply.content, rest));
    reply.finish_reason = FinishReason::ToolCalls;
    let calls = calls.into_iter().zip(1..).map(|(Written { name, arguments }, number)| ToolCall {
        id: format!("{id_prefix}{number}"),
        name,
        arguments,
        ..ToolCall::default()
    });
    reply.tool_calls = calls.collect();
}

fn is_known(call: &Written, tools: &[&str]) -> bool {
    tools.contains(&call.name.as_str())
}

/// A call that cannot be read was still only an example if the answer goes on behind it.
fn bad(text: &str) -> Found {
    let ends = CLOSERS.iter().filter_map(|closer| Some(text.rfind(closer)? + closer.len()));
    let behind = ends.max().and_then(|end| text.get(end..)).unwrap_or_default().trim();
    let goes_on = !behind.is_empty() && !has_opener(behind);
    if goes_on && !MADE_UP_RESULTS.iter().any(|start| behind.starts_with(start)) {
        return Found::Nothing;
    }
    Found::Broken
}

fn has_opener(text: &str) -> bool {
    OPENERS.iter().any(|opener| text.contains(opener))
}

/// An opener outside code.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    at: usize,
    /// Nothing else stands before it on its line.
    apart: bool,
}

/// The openers of a text, outside code blocks and quotes, in order.
struct Places<'a> {
    text: &'a str,
    at: usize,
    /// The fence of the code block that `at` is in.
    fence: Option<&'a str>,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        // Most answers hold no opener at all; they are not walked through.
        let at = if has_opener(text) { 0 } else { text.len() };
        Self { text, at, fence: None }
    }

    fn skip_to(&mut self, at: usize) {
        self.at = at;
    }

    fn next(&mut self) -> Option<Place> {
        while let Some(line) = self.rest_of_line() {
            let start = self.at;
            if let Some(opener) = self.opener_in(line) {
                let line_start = self.line_start(start + opener);
                let before = self.text.get(line_start..start + opener).unwrap_or_default();
                self.at = start + opener + 1;
                if before.matches('`').count() % 2 == 0 {
                    return Some(Place { at: start + opener, apart: stands_apart(before) });
                }
            } else {
                self.at = start + line.len();
            }
        }
        None
    }

    fn rest_of_line(&self) -> Option<&'a str> {
        self.text.get(self.at..)?.split_inclusive('\n').next()
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |feed| feed + 1)
    }

    /// The first opener of a line that is no part of a code block.
    fn opener_in(&mut self, line: &'a str) -> Option<usize> {
        let begins = self.at == self.line_start(self.at);
        if begins && let Some(fence) = fence(line) {
            match self.fence {
                None => self.fence = Some(fence),
                Some(open) if closes(line, open) => self.fence = None,
                Some(_) => {}
            }
            return None;
        }
        if self.fence.is_some() {
            return None;
        }
        OPENERS.iter().filter_map(|opener| line.find(opener)).min()
    }
}

/// True when what stands before an opener on its line is none of the answer's words.
fn stands_apart(before: &str) -> bool {
    let words = forms::without_start(before);
    let indent = before.chars().take_while(|&c| c == ' ').count();
    words.is_empty() && indent < CODE_INDENT && !before.starts_with('\t') || words.ends_with("|>")
}

/// The fence that a line begins or ends a code block with.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|&c| c == mark).count();
    line.get(..length).filter(|fence| fence.len() >= 3)
}

fn closes(line: &str, open: &str) -> bool {
    fence(line).is_some_and(|close| close.starts_with(open) && line.trim() == close)
}

#[cfg(test)]
mod tests;
