//! The screen for programs: `--output-format json` (one object at the end) and `stream-json` (one
//! object per line as things happen), in the shape that scripts for other agents expect.
//!
//! The lines are written from structs, so that `type` comes first and the order of the fields
//! never changes. Warnings go to stderr, where no parser trips over them.

mod wire;

use std::io::{self, Write};

use serde::Serialize;

use super::{Screen, figures, sanitize, write_out};
use crate::error::Error;
use crate::event::{AssistantMessage, ToolResult};
use crate::message::ToolCall;
use crate::update::{SessionOpened, ToolShown, TurnSummary, Update};

/// Which of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The result alone.
    Result,
    /// Every message as it comes, then the result.
    Stream,
}

/// See the module.
pub struct Json<O, E> {
    out: O,
    err: E,
    format: Format,
    lines: String,
    warnings: String,
    session: SessionOpened,
    /// The calls of the last reply, for the input of a denied one.
    calls: Vec<ToolCall>,
    denials: Vec<wire::Denial>,
}

impl<O: Write, E: Write> Json<O, E> {
    /// A screen on stdout, with stderr for warnings.
    pub fn new(out: O, err: E, format: Format) -> Self {
        Self {
            out,
            err,
            format,
            lines: String::new(),
            warnings: String::new(),
            session: SessionOpened::default(),
            calls: Vec::new(),
            denials: Vec::new(),
        }
    }

    fn line(&mut self, object: &impl Serialize) {
        self.lines.push_str(&line(object));
    }

    fn stream(&mut self, object: &impl Serialize) {
        if self.format == Format::Stream {
            self.line(object);
        }
    }

    fn opened(&mut self, session: &SessionOpened) {
        self.session = session.clone();
        let init = wire::Init::new(session);
        self.stream(&init);
    }

    fn replied(&mut self, message: &AssistantMessage) {
        self.calls.clone_from(&message.reply.tool_calls);
        let id = self.session.id.clone();
        self.stream(&wire::Assistant::new(message, &id));
    }

    fn tool_finished(&mut self, result: &ToolResult) {
        let id = self.session.id.clone();
        self.stream(&wire::User::new(result, &id));
    }

    fn denied(&mut self, tool: &ToolShown) {
        let call = self.calls.iter().find(|call| call.id == tool.call_id);
        self.denials.push(wire::Denial {
            tool_name: tool.name.clone(),
            tool_use_id: tool.call_id.clone(),
            tool_input: wire::input(call.map_or("", |call| call.arguments.as_str())),
        });
    }

    fn turn_finished(&mut self, summary: &TurnSummary) {
        let denials = std::mem::take(&mut self.denials);
        let ending = figures::ending(summary);
        let id = self.session.id.clone();
        self.line(&wire::Outcome::of_turn(summary, ending.as_ref(), &id, &denials));
    }
}

impl<O: Write + Send, E: Write + Send> Screen for Json<O, E> {
    fn show(&mut self, update: &Update) {
        match update {
            Update::SessionOpened(session) => self.opened(session),
            Update::Replied(message) => self.replied(message),
            Update::ToolFinished { result, .. } => self.tool_finished(result),
            Update::Denied(tool) => self.denied(tool),
            Update::Compacted { before, .. } => {
                let id = self.session.id.clone();
                self.stream(&wire::Compacted::new(*before, &id));
            }
            Update::Warning(text) => {
                self.warnings.extend(["warning: ", &sanitize::text(text), "\n"]);
            }
            Update::TurnFinished(summary) => self.turn_finished(summary),
            Update::TurnStarted { .. }
            | Update::Waiting
            | Update::Text(_)
            | Update::Reasoning(_)
            | Update::ToolCallComing(_)
            | Update::ReplyDiscarded
            | Update::Retrying { .. }
            | Update::ToolStarted(_)
            | Update::Compacting(_)
            | Update::Note(_) => {}
        }
    }

    /// An error outside a turn is a result too: a script reads one object whatever happens.
    fn error(&mut self, error: &Error) {
        let id = self.session.id.clone();
        self.line(&wire::Outcome::of_error(error, &id));
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = write_out(&mut self.err, &mut self.warnings);
        write_out(&mut self.out, &mut self.lines)
    }
}

/// The result line for an error before there was a session.
pub fn error_result(error: &Error) -> String {
    line(&wire::Outcome::of_error(error, ""))
}

/// One object, its line feed included. Characters that a terminal or a careless line splitter
/// would act upon stand as escapes, which mean the same to a parser.
fn line(object: &impl Serialize) -> String {
    let json = serde_json::to_string(object).unwrap_or_default();
    let mut out = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => out.extend(["\\u", &format!("{:04x}", u32::from(c))]),
            _ => out.push(c),
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests;
