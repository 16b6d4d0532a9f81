//! The screen for a person: everything stays in the scrollback, nothing is cleared.
//!
//! The only line that is ever taken back is the status line at the bottom, which shows that the
//! program is alive; it is drawn at the start of an empty line and erased before anything else is
//! written. Markdown is shown as it is written.

use std::io::{self, Write};
use std::time::Duration;

use tokio::time::Instant;

use super::sanitize::{self, Sanitizer, Target};
use super::status::Phase;
use super::style::{Palette, Style, fit, width};
use super::{Screen, diff, figures, question, write_out};
use crate::error::Error;
use crate::event::{CompactionKind, Ending, ToolResult};
use crate::update::{Ask, SessionOpened, ToolShown, TurnSummary, Update};

/// Lines of a diff after an edit.
const DIFF_HEIGHT: usize = 20;
/// Lines of a diff in a question.
const ASK_HEIGHT: usize = 60;
/// Characters of one reply's reasoning.
const REASONING_SHOWN: usize = 600;
/// Tools that take longer than this have their time shown.
const LONG_RUN: Duration = Duration::from_secs(1);

/// What the screen has to know about the terminal and the user's wishes.
pub struct TerminalOptions {
    /// Colours are wanted and the terminal has them.
    pub color: bool,
    /// The status line can be drawn and erased: a terminal, and not a dumb one.
    pub interactive: bool,
    /// Show reasoning in full.
    pub verbose: bool,
    /// Columns at the moment.
    pub width: Box<dyn Fn() -> usize + Send>,
}

/// Kinds of output; a blank line separates different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Prompt,
    Answer,
    Reasoning,
    Event,
    Figures,
}

/// See the module.
pub struct Terminal<W> {
    out: W,
    options: TerminalOptions,
    palette: Palette,
    buffer: String,
    block: Block,
    /// The cursor is at the start of a line.
    at_start: bool,
    stream: Sanitizer,
    /// Line ends of the stream that wait for text: those at its end are never written.
    line_ends: usize,
    /// Characters of reasoning that may still be shown in this reply.
    reasoning_left: usize,
    /// Something of the current reply was shown.
    reply_shown: bool,
    phase: Option<Phase>,
    since: Option<Instant>,
    status_drawn: bool,
    running: Vec<ToolShown>,
}

impl<W: Write> Terminal<W> {
    /// A screen on `out`, with the cursor at the start of a line.
    pub fn new(out: W, options: TerminalOptions) -> Self {
        Self {
            out,
            palette: Palette { color: options.color },
            options,
            buffer: String::new(),
            block: Block::Prompt,
            at_start: true,
            stream: Sanitizer::new(Target::Terminal),
            line_ends: 0,
            reasoning_left: REASONING_SHOWN,
            reply_shown: false,
            phase: None,
            since: None,
            status_drawn: false,
            running: Vec::new(),
        }
    }

    fn width(&self) -> usize {
        (self.options.width)().max(10)
    }

    fn frame(&self, height: usize) -> diff::Frame {
        diff::Frame { palette: self.palette, width: self.width(), height }
    }

    fn phase(&mut self, phase: Option<Phase>) {
        if self.phase != phase {
            self.phase = phase;
            self.since = None;
        }
    }

    fn erase_status(&mut self) {
        if std::mem::take(&mut self.status_drawn) {
            self.buffer.push_str("\r\x1b[K");
        }
    }

    /// Makes ready for output of this kind.
    fn begin(&mut self, block: Block) {
        self.erase_status();
        if self.block == block {
            return;
        }
        self.end_line();
        if self.block != Block::Prompt {
            self.buffer.push('\n');
        }
        self.block = block;
        self.stream = Sanitizer::new(Target::Terminal);
    }

    fn end_line(&mut self) {
        self.line_ends = 0;
        if !self.at_start {
            self.buffer.push('\n');
            self.at_start = true;
        }
    }

    /// Writes whole lines of one style.
    fn line(&mut self, style: Style, text: &str) {
        self.begin(Block::Event);
        self.end_line();
        self.palette.push(style, text, &mut self.buffer);
        self.buffer.push('\n');
    }

    /// Writes a piece of a stream.
    fn stream(&mut self, block: Block, style: Style, text: &str) {
        self.begin(block);
        let mut clean = String::new();
        self.stream.push(text, &mut clean);
        self.reply_shown |= !clean.trim().is_empty();
        let body = clean.trim_end_matches('\n');
        let ends = clean.len() - body.len();
        let body = if self.at_start { body.trim_start_matches('\n') } else { body };
        if body.is_empty() {
            self.line_ends += ends;
            return;
        }
        if !self.at_start {
            self.buffer.extend(std::iter::repeat_n('\n', self.line_ends));
        }
        self.palette.push(style, body, &mut self.buffer);
        self.at_start = false;
        self.line_ends = ends;
    }

    fn reasoning(&mut self, text: &str) {
        self.phase(Some(Phase::Thinking));
        if self.options.verbose {
            return self.stream(Block::Reasoning, Style::Dim, text);
        }
        if self.reasoning_left == 0 {
            return;
        }
        let shown: String = text.chars().take(self.reasoning_left).collect();
        self.reasoning_left -= shown.chars().count();
        self.stream(Block::Reasoning, Style::Dim, &shown);
        if self.reasoning_left == 0 {
            self.stream(Block::Reasoning, Style::Dim, " …");
            self.end_line();
        }
    }

    fn reply_ends(&mut self) {
        self.end_line();
        self.stream = Sanitizer::new(Target::Terminal);
        self.reasoning_left = REASONING_SHOWN;
        self.reply_shown = false;
    }

    fn discarded(&mut self) {
        let shown = self.reply_shown;
        self.reply_ends();
        if shown {
            self.line(Style::Dim, "(the answer above was cut off; asking again)");
        }
    }

    fn opened(&mut self, session: &SessionOpened) {
        let mut parts = vec![
            format!("xsh {}", env!("CARGO_PKG_VERSION")),
            format!("{} ({})", session.model, session.provider),
            session.cwd.clone(),
            format!("mode {}", session.permission_mode),
            format!("sandbox {}", session.sandbox),
        ];
        if !session.instructions.is_empty() {
            parts.push(session.instructions.join(", "));
        }
        if let Some(turns) = session.resumed_turns {
            parts.push(format!("resumed, {}", figures::count(turns.into(), "turn")));
        }
        if !session.scripted {
            parts.push("/help lists the commands".into());
        }
        let parts: Vec<_> = parts.iter().map(|part| sanitize::line(part)).collect();
        for line in packed(&parts, self.width()) {
            self.line(Style::Dim, &line);
        }
        if session.scripted {
            self.line(Style::Warn, "Demo: the replies come from a script, not from a model.");
        }
    }

    fn tool_started(&mut self, tool: &ToolShown) {
        self.running.push(tool.clone());
        self.since = None;
        self.phase(Some(Phase::Running));
    }

    fn tool_finished(&mut self, tool: &ToolShown, result: &ToolResult, summary: &str) {
        self.running.retain(|running| running.call_id != tool.call_id);
        self.phase(if self.running.is_empty() { None } else { Some(Phase::Running) });
        let (mark, style) =
            if result.is_error { ("✗", Style::Bad) } else { ("●", Style::Good) };
        let name = sanitize::line(&tool.name);
        let subject = sanitize::line(&tool.subject);
        let mut outcome = sanitize::line(summary);
        let took = Duration::from_millis(result.duration_ms);
        if took >= LONG_RUN {
            outcome.push_str(if outcome.is_empty() { "" } else { " · " });
            outcome.push_str(&figures::time(took));
        }
        self.begin(Block::Event);
        self.end_line();
        self.palette.push(style, mark, &mut self.buffer);
        self.buffer.push(' ');
        let room = self.width().saturating_sub(2);
        let head = fit(&name, room);
        self.palette.push(Style::Bold, &head, &mut self.buffer);
        let room = room.saturating_sub(width(&head));
        self.outcome(&subject, &outcome, room, result.is_error);
        self.buffer.push('\n');
    }

    /// Subject and outcome on one line where they fit. The outcome of a success is short and
    /// stays whole; an error's reason gets a line of its own.
    fn outcome(&mut self, subject: &str, outcome: &str, room: usize, is_error: bool) {
        let needed = width(outcome) + 2;
        let fits = width(subject) + 1 + needed <= room;
        if is_error && !fits {
            self.buffer.push_str(&spaced(subject, room));
            let reason = fit(&format!("  {outcome}"), self.width());
            self.buffer.push('\n');
            self.palette.push(Style::Bad, &reason, &mut self.buffer);
            return;
        }
        let outcome = fit(outcome, room.saturating_sub(2).min(needed));
        let left = room.saturating_sub(width(&outcome) + 2);
        self.buffer.push_str(&spaced(subject, left));
        if !outcome.is_empty() {
            self.buffer.push_str("  ");
            let style = if is_error { Style::Bad } else { Style::Dim };
            self.palette.push(style, &outcome, &mut self.buffer);
        }
    }

    fn change(&mut self, change: &str) {
        let frame = self.frame(DIFF_HEIGHT);
        diff::draw(change, &frame, &mut self.buffer);
    }

    fn retrying(&mut self, reason: &str, wait: Duration, (attempt, of): (u32, u32)) {
        let reason = sanitize::line(reason);
        let after = figures::time(wait);
        self.line(Style::Warn, &format!("{reason}; asking again in {after} ({attempt} of {of})"));
        self.since = None;
        self.phase(Some(Phase::Retrying(wait)));
    }

    fn compacted(&mut self, kind: CompactionKind, before: u64, after: u64) {
        self.phase(None);
        let what = match kind {
            CompactionKind::Summary => "older messages summarised",
            CompactionKind::Cut => "long tool outputs shortened",
            CompactionKind::Digest => "older messages cut to a digest",
        };
        let (before, after) = (figures::tokens(before), figures::tokens(after));
        self.line(Style::Dim, &format!("{what}: {before} → {after} tokens"));
    }

    fn turn_finished(&mut self, summary: &TurnSummary) {
        self.phase(None);
        self.running.clear();
        self.reply_ends();
        if summary.ending == Ending::Cancelled {
            let detail = sanitize::line(&summary.detail);
            let colon = if detail.is_empty() { "" } else { ": " };
            self.line(Style::Warn, &format!("interrupted{colon}{detail}"));
        } else if let Some(error) = figures::ending(summary) {
            self.failure(&error);
        } else if let Some(remark) = figures::remark(summary) {
            self.line(Style::Warn, &sanitize::line(remark));
        }
        self.begin(Block::Figures);
        self.end_line();
        for line in packed(&[figures::usage(summary)], self.width()) {
            self.palette.push(Style::Dim, &line, &mut self.buffer);
            self.buffer.push('\n');
        }
    }

    fn failure(&mut self, error: &Error) {
        for (style, line) in [Style::Bad, Style::Plain].iter().zip(error_lines(error)) {
            self.line(*style, &line);
        }
    }
}

impl<W: Write + Send> Screen for Terminal<W> {
    fn show(&mut self, update: &Update) {
        match update {
            Update::SessionOpened(session) => self.opened(session),
            Update::TurnStarted { .. } => {
                self.end_line();
                self.block = Block::Prompt;
            }
            Update::Waiting => self.phase(Some(Phase::Waiting)),
            Update::Text(text) => {
                self.phase(None);
                self.stream(Block::Answer, Style::Plain, text);
            }
            Update::Reasoning(text) => self.reasoning(text),
            Update::ToolCallComing(name) => {
                self.phase(Some(Phase::Calling(name.clone())));
            }
            Update::ReplyDiscarded => self.discarded(),
            Update::Retrying { reason, wait, attempt, of } => {
                self.retrying(reason, *wait, (*attempt, *of));
            }
            Update::Replied(_) => {
                self.phase(None);
                self.reply_ends();
            }
            Update::ToolStarted(tool) => self.tool_started(tool),
            Update::ToolFinished { tool, result, summary, diff } => {
                self.tool_finished(tool, result, summary);
                if let Some(change) = diff {
                    self.change(change);
                }
            }
            Update::Denied(_) => {}
            Update::Compacting(_) => self.phase(Some(Phase::Compacting)),
            Update::Compacted { kind, before, after } => self.compacted(*kind, *before, *after),
            Update::Warning(text) => {
                self.line(Style::Warn, &format!("warning: {}", sanitize::text(text)));
            }
            Update::Note(text) => self.line(Style::Plain, &sanitize::text(text)),
            Update::TurnFinished(summary) => self.turn_finished(summary),
        }
    }

    fn error(&mut self, error: &Error) {
        self.phase(None);
        self.failure(error);
    }

    fn ask(&mut self, ask: &Ask) {
        self.begin(Block::Event);
        self.end_line();
        let frame = self.frame(ASK_HEIGHT);
        question::draw(ask, &frame, &mut self.buffer);
    }

    fn tick(&mut self, now: Instant) -> bool {
        let Some(phase) = self.phase.clone().filter(|_| self.options.interactive) else {
            self.erase_status();
            return false;
        };
        // In the middle of streamed text there is no line to draw on.
        if self.at_start {
            let since = *self.since.get_or_insert(now);
            let elapsed = now.saturating_duration_since(since);
            self.erase_status();
            // One column stays free: in the last one some terminals wrap at once.
            let status = phase.line(&self.running, elapsed, self.width() - 1);
            self.palette.push(Style::Dim, &status, &mut self.buffer);
            self.status_drawn = true;
        }
        true
    }

    fn rest(&mut self) {
        self.erase_status();
        self.end_line();
        // What comes next follows what the editor has written, not what was here before.
        self.block = Block::Prompt;
    }

    fn flush(&mut self) -> io::Result<()> {
        write_out(&mut self.out, &mut self.buffer)
    }
}

/// ` subject` in at most `room` columns; nothing where there is no subject or no room.
fn spaced(subject: &str, room: usize) -> String {
    if subject.is_empty() || room < 2 {
        return String::new();
    }
    format!(" {}", fit(subject, room - 1))
}

/// The lines of an error, clean: what and why, then the next step.
pub(super) fn error_lines(error: &Error) -> Vec<String> {
    let why = if error.why.is_empty() { String::new() } else { format!(": {}", error.why) };
    let mut lines = vec![sanitize::text(&format!("error: {}{why}", error.what))];
    lines.extend(error.help.iter().map(|help| sanitize::text(&format!("help: {help}"))));
    lines
}

/// Joins parts by ` · ` into lines that fit, breaking between parts where possible.
fn packed(parts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts.iter().flat_map(|part| part.split(" · ")) {
        match lines.last_mut() {
            Some(line) if width(line) + 3 + width(part) <= columns => {
                line.push_str(" · ");
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
