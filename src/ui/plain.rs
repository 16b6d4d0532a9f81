//! The screen of `-p`: the answer on stdout, everything else on stderr.
//!
//! The answer is written once, when the turn has ended: only then is it known which text was the
//! answer and which was said between two tool calls.

use std::io::{self, Write};

use super::terminal::error_lines;
use super::{Screen, figures, sanitize, write_out};
use crate::error::Error;
use crate::update::Update;

/// What the caller wishes.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainOptions {
    /// Also the model, the notes and the line of figures.
    pub verbose: bool,
    /// Stdout is a terminal: characters that only deceive a reader are treated too.
    pub terminal: bool,
}

/// See the module.
pub struct Plain<O, E> {
    out: O,
    err: E,
    options: PlainOptions,
    answer: String,
    progress: String,
}

impl<O: Write, E: Write> Plain<O, E> {
    /// A screen on stdout and stderr.
    pub fn new(out: O, err: E, options: PlainOptions) -> Self {
        Self { out, err, options, answer: String::new(), progress: String::new() }
    }

    fn line(&mut self, text: &str) {
        self.progress.push_str(text);
        self.progress.push('\n');
    }

    fn answer(&mut self, answer: &str) {
        let clean =
            if self.options.terminal { sanitize::text(answer) } else { sanitize::file(answer) };
        if clean.trim().is_empty() {
            return;
        }
        self.answer.push_str(clean.trim_end_matches('\n'));
        self.answer.push('\n');
    }

    fn verbose(&mut self, update: &Update) {
        match update {
            Update::SessionOpened(session) => {
                let model = sanitize::line(&format!("{} ({})", session.model, session.provider));
                let id = sanitize::line(&session.id);
                self.line(&format!("model {model}, session {id}"));
            }
            Update::Note(text) => self.line(&sanitize::text(text)),
            Update::TurnFinished(summary) => self.line(&figures::usage(summary)),
            _ => {}
        }
    }
}

impl<O: Write + Send, E: Write + Send> Screen for Plain<O, E> {
    fn show(&mut self, update: &Update) {
        match update {
            Update::Replied(message) if !message.reply.tool_calls.is_empty() => {
                let said = sanitize::text(message.reply.content.trim());
                if !said.is_empty() {
                    self.line(&said);
                }
            }
            Update::ToolFinished { tool, result, summary, .. } => {
                let mark = if result.is_error { "✗" } else { "●" };
                let line = format!("{mark} {} {}  {summary}", tool.name, tool.subject);
                // The gap before the outcome is two columns wide, which `line` would close.
                let parts: Vec<_> = line.split("  ").map(sanitize::line).collect();
                self.line(parts.join("  ").trim_end());
            }
            Update::Retrying { reason, wait, attempt, of } => {
                let reason = sanitize::line(reason);
                let wait = figures::time(*wait);
                self.line(&format!("{reason}; asking again in {wait} ({attempt} of {of})"));
            }
            Update::Warning(text) => self.line(&format!("warning: {}", sanitize::text(text))),
            Update::TurnFinished(summary) => {
                self.answer(&summary.answer);
                if let Some(error) = figures::ending(summary) {
                    self.error(&error);
                }
            }
            _ => {}
        }
        if self.options.verbose {
            self.verbose(update);
        }
    }

    fn error(&mut self, error: &Error) {
        for line in error_lines(error) {
            self.line(&line);
        }
    }

    /// A stderr that cannot be written is no reason to stop; a stdout is.
    fn flush(&mut self) -> io::Result<()> {
        let _ = write_out(&mut self.err, &mut self.progress);
        write_out(&mut self.out, &mut self.answer)
    }
}

#[cfg(test)]
mod tests;
