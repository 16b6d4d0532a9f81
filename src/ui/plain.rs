//! The screen of `-p`: the answer on stdout, everything else on stderr.
//!
//! The answer is written once, when the turn has ended: only then is it known which text was the
//! answer and which was said between two tool calls.

use std::io::{self, Write};

use super::style::fit;
use super::terminal::error_lines;
use super::{Screen, figures, sanitize, write_out};
use crate::error::Error;
use crate::update::{SessionOpened, ToolShown, TurnSummary, Update};

/// Columns of a tool's name, which a model may have invented, and of what it was called on.
const NAME_COLUMNS: usize = 60;
const SUBJECT_COLUMNS: usize = 200;

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

    fn opened(&mut self, session: &SessionOpened) {
        if !session.instructions.is_empty() {
            let files = sanitize::line(&session.instructions.join(", "));
            self.line(&format!("instructions: {files}"));
        }
        if !self.options.verbose {
            return;
        }
        let model = sanitize::line(&format!("{} ({})", session.model, session.provider));
        let id = sanitize::line(&session.id);
        self.line(&format!("model {model}, session {id}"));
    }

    fn tool_finished(&mut self, tool: &ToolShown, is_error: bool, summary: &str) {
        let mark = if is_error { "✗" } else { "●" };
        let name = fit(&sanitize::line(&tool.name), NAME_COLUMNS);
        let subject = fit(&sanitize::line(&tool.subject), SUBJECT_COLUMNS);
        let call = format!("{name} {subject}");
        let line = format!("{mark} {}  {}", call.trim_end(), sanitize::line(summary));
        self.line(line.trim_end());
    }

    fn failure(&mut self, error: &Error) {
        for line in error_lines(error) {
            self.line(&line);
        }
    }

    fn turn_finished(&mut self, summary: &TurnSummary) {
        self.answer(&summary.answer);
        if let Some(error) = figures::ending(summary) {
            self.failure(&error);
        }
        if let Some(remark) = figures::remark(summary) {
            self.line(&format!("warning: {}", sanitize::line(remark)));
        }
        if self.options.verbose {
            self.line(&figures::usage(summary));
        }
    }
}

impl<O: Write + Send, E: Write + Send> Screen for Plain<O, E> {
    fn show(&mut self, update: &Update) {
        let verbose = self.options.verbose;
        match update {
            Update::SessionOpened(session) => self.opened(session),
            Update::Replied(message) if !message.reply.tool_calls.is_empty() => {
                let said = sanitize::text(message.reply.content.trim());
                if !said.is_empty() {
                    self.line(&said);
                }
            }
            Update::ToolFinished { tool, result, summary, .. } => {
                self.tool_finished(tool, result.is_error, summary);
            }
            Update::Retrying { reason, wait, attempt, of } => {
                let reason = sanitize::line(reason);
                let wait = figures::time(*wait);
                self.line(&format!("{reason}; asking again in {wait} ({attempt} of {of})"));
            }
            Update::Compacted { before, after, .. } => {
                let (before, after) = (figures::tokens(*before), figures::tokens(*after));
                self.line(&format!("older messages compacted: {before} → {after} tokens"));
            }
            Update::Warning(text) => self.line(&format!("warning: {}", sanitize::text(text))),
            Update::Note(text) if verbose => self.line(&sanitize::text(text)),
            Update::TurnFinished(summary) => self.turn_finished(summary),
            Update::TurnStarted { .. }
            | Update::Waiting
            | Update::Text(_)
            | Update::Reasoning(_)
            | Update::ToolCallComing(_)
            | Update::ReplyDiscarded
            | Update::Replied(_)
            | Update::ToolStarted(_)
            | Update::Denied(_)
            | Update::Compacting(_)
            | Update::Note(_) => {}
        }
    }

    fn error(&mut self, error: &Error) {
        self.failure(error);
    }

    /// A stderr that cannot be written is no reason to stop; a stdout is.
    fn flush(&mut self) -> io::Result<()> {
        let _ = write_out(&mut self.err, &mut self.progress);
        write_out(&mut self.out, &mut self.answer)
    }
}

#[cfg(test)]
mod tests;
