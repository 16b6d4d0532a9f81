//! What of a session is for a reader: the conversation, event by event. `xsh sessions show` prints it
//! short; [`super::export`] makes documents of it.

use std::fmt::Write;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::models::tokens;
use crate::error::Error;
use crate::event::{Author, Compaction, Event, ModelChanged, TurnFinished};
use crate::message::ToolCall;
use crate::session::log::{self, LogError};

/// Lines of a tool result that are shown.
const RESULT_LINES: usize = 8;

/// A piece of a conversation. All text in it is from outside but for notes' own words.
#[derive(Clone, Debug, PartialEq)]
pub enum Part<'a> {
    /// What the user said.
    User(&'a str),
    /// What xsh said to the model in the user's place.
    Xsh(&'a str),
    /// What the model thought.
    Reasoning(&'a str),
    /// What the model said.
    Answer(&'a str),
    /// What the model wanted done.
    Call(&'a ToolCall),
    /// What came of it.
    #[expect(missing_docs, reason = "said above")]
    Result { text: &'a str, is_error: bool },
    /// What happened besides, in a line.
    Note(String),
    /// What stands in the place of older messages.
    Summary(&'a str),
}

/// The parts that an event adds to the conversation.
pub fn parts(event: &Event) -> Vec<Part<'_>> {
    match event {
        Event::UserMessage(message) if message.author == Author::User => {
            vec![Part::User(message.content.trim_end())]
        }
        Event::UserMessage(message) => vec![Part::Xsh(message.content.trim_end())],
        Event::AssistantMessage(message) => {
            let reply = &message.reply;
            let (reasoning, answer) = (reply.reasoning.trim(), reply.content.trim_end());
            let reasoning = (!reasoning.is_empty()).then_some(Part::Reasoning(reasoning));
            let answer = (!answer.is_empty()).then_some(Part::Answer(answer));
            let calls = reply.tool_calls.iter().map(Part::Call);
            let cut = message.partial.then(|| Part::Note("interrupted".to_owned()));
            reasoning.into_iter().chain(answer).chain(calls).chain(cut).collect()
        }
        Event::ToolResult(result) => {
            vec![Part::Result { text: result.content.trim_end(), is_error: result.is_error }]
        }
        Event::Compaction(Compaction { summary, tokens_before, tokens_after, .. }) => {
            let (before, after) = (tokens(*tokens_before), tokens(*tokens_after));
            let summary = (!summary.is_empty()).then_some(Part::Summary(summary.trim_end()));
            let note = Part::Note(format!("compacted: {before} → {after} tokens"));
            std::iter::once(note).chain(summary).collect()
        }
        Event::ModelChanged(changed) => vec![Part::Note(model(changed))],
        Event::TurnFinished(finished) => vec![Part::Note(ending(finished))],
        Event::Rewind(rewind) => {
            let what = if rewind.conversation { "rewound" } else { "files put back" };
            vec![Part::Note(format!("{what} to before event {}", rewind.to_seq))]
        }
        Event::SystemPrompt(_)
        | Event::ToolStarted(_)
        | Event::Permission(_)
        | Event::FileChange(_)
        | Event::RewindFinished(_)
        | Event::Unknown(_) => Vec::new(),
    }
}

fn model(changed: &ModelChanged) -> String {
    let effort = changed.effort.as_ref().map(|effort| format!(", effort {effort}"));
    format!("model: {}/{}{}", changed.provider, changed.model, effort.unwrap_or_default())
}

fn ending(finished: &TurnFinished) -> String {
    let TurnFinished { ending, steps, usage, detail, .. } = finished;
    let name = serde_json::to_value(ending).ok();
    let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("ended");
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    let (sent, received) = (tokens(usage.prompt), tokens(usage.completion));
    format!(
        "{name}{detail} · {} · {sent} in, {received} out",
        crate::ui::figures::count((*steps).into(), "step")
    )
}

/// The error for a session that cannot be read.
pub(super) fn cannot_read(error: &LogError) -> Error {
    Error::failed("cannot read the session", error)
        .help("`xsh sessions list` shows the sessions there are")
}

/// The conversation of one session, as text.
pub fn show(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let read = log::read(path, &CancellationToken::new(), |record| {
        // Writing to a string cannot fail.
        let _ = parts(&record.event).iter().try_for_each(|part| line(&mut text, part));
    });
    let (header, damage, _) = read.map_err(|error| cannot_read(&error))?;
    let mut page = format!("session {} · {} · {}\n", header.id, header.created_at, header.cwd);
    if let Some(warning) = damage.warning() {
        let _ = writeln!(page, "{warning}");
    }
    page.push_str(&text);
    Ok(page)
}

fn line(text: &mut String, part: &Part<'_>) -> std::fmt::Result {
    match part {
        Part::User(said) => writeln!(text, "\n› {said}"),
        Part::Xsh(said) | Part::Answer(said) => writeln!(text, "\n{said}"),
        Part::Call(call) => writeln!(text, "● {} {}", call.name, call.arguments),
        Part::Result { text: result, .. } => {
            let lines: Vec<&str> = result.lines().collect();
            let mut shown = lines.iter().take(RESULT_LINES);
            shown.try_for_each(|line| writeln!(text, "  │ {line}"))?;
            match lines.len().saturating_sub(RESULT_LINES) {
                0 => Ok(()),
                more => writeln!(text, "  │ … {more} more lines"),
            }
        }
        Part::Note(note) => writeln!(text, "\n— {note}"),
        Part::Reasoning(_) | Part::Summary(_) => Ok(()),
    }
}
