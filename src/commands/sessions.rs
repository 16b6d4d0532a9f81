//! `xsh sessions`: the sessions there are, and the conversation of one.

use std::fmt::Write;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::models::tokens;
use crate::error::Error;
use crate::event::{Author, Compaction, Event, Record, TurnFinished};
use crate::session::origin::Origin;
use crate::session::search::Query;
use crate::session::store::{Listed, Listing, Store};
use crate::session::{log, resume};
use crate::ui::{figures::count, sanitize};

/// Sessions in a list at most.
pub const MOST: usize = 50;
/// Lines of a tool result in a conversation.
const RESULT_LINES: usize = 8;

/// The newest sessions, one line each.
pub fn list(store: &Store, all: bool) -> String {
    let Listing { sessions, unreadable, older } = store.list(all, MOST, &CancellationToken::new());
    let mut text = String::new();
    if sessions.is_empty() && unreadable == 0 {
        let hint =
            if all { "" } else { "; `xsh sessions list --all` shows those of other folders" };
        let _ = writeln!(text, "no sessions yet{hint}");
    }
    for session in &sessions {
        let place = if all { format!("  {}", sanitize::line(&session.cwd)) } else { String::new() };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{place}", line(session));
    }
    if older > 0 {
        let _ = writeln!(text, "({} not shown)", count(older as u64, "older session"));
    }
    if unreadable > 0 {
        let files = count(unreadable as u64, "file");
        let _ = writeln!(text, "({files} cannot be read as a session)");
    }
    text
}

/// The sessions that hold the words, the newest first and at most `most`, with where they do; those
/// found before `stop`.
pub fn search(
    store: &Store,
    all: bool,
    words: &str,
    most: usize,
    stop: &CancellationToken,
) -> String {
    let query = Query::new(words);
    let found = query.map(|query| store.search(&query, all, most + 1, stop)).unwrap_or_default();
    if found.is_empty() {
        let hint = if all { "" } else { "; --all searches those of other folders too" };
        return format!("no session holds {words}{hint}\n");
    }
    let mut text = String::new();
    for (session, places) in found.iter().take(most) {
        let place = if all { format!("  {}", sanitize::line(&session.cwd)) } else { String::new() };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{place}", line(session));
        let shown = places.places.iter().map(|place| sanitize::line(place));
        let _ = shown.into_iter().try_for_each(|place| writeln!(text, "    {place}"));
        if places.total > places.places.len() {
            let _ = writeln!(text, "    ({} more places)", places.total - places.places.len());
        }
    }
    if found.len() > most {
        let _ = writeln!(text, "(there are more; only the newest {most} are shown)");
    }
    text
}

/// One session in one line: id, size, and what it began with.
pub fn line(session: &Listed) -> String {
    let title: String = sanitize::line(&session.title).chars().take(60).collect();
    let size = session.size.div_ceil(1024);
    let mark = if session.origin == Origin::Foreign { "  [not written here]" } else { "" };
    format!("{}  {:>6} KB  {title}{mark}", sanitize::line(&session.id), size)
}

/// The conversation of one session, as text.
pub fn show(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let read = log::read(path, &CancellationToken::new(), |record| event(&mut text, &record));
    let (header, damage, _) = read.map_err(|error| resume::cannot_resume(&error))?;
    let mut page = format!("session {} · {} · {}\n", header.id, header.created_at, header.cwd);
    if let Some(warning) = damage.warning() {
        let _ = writeln!(page, "{warning}");
    }
    page.push_str(&text);
    Ok(page)
}

fn event(text: &mut String, record: &Record) {
    // Writing to a string cannot fail.
    let _ = match &record.event {
        Event::UserMessage(message) if message.author == Author::User => {
            writeln!(text, "\n› {}", message.content.trim_end())
        }
        Event::UserMessage(message) => writeln!(text, "\n{}", message.content.trim_end()),
        Event::AssistantMessage(message) => {
            let reply = &message.reply;
            let cut = if message.partial { " [interrupted]" } else { "" };
            let _ = writeln!(text, "\n{}{cut}", reply.content.trim_end());
            reply
                .tool_calls
                .iter()
                .try_for_each(|call| writeln!(text, "● {} {}", call.name, call.arguments))
        }
        Event::ToolResult(result) => {
            let lines: Vec<&str> = result.content.lines().collect();
            let shown = lines.iter().take(RESULT_LINES);
            let _ = shown.clone().try_for_each(|line| writeln!(text, "  │ {line}"));
            match lines.len().saturating_sub(RESULT_LINES) {
                0 => Ok(()),
                more => writeln!(text, "  │ … {more} more lines"),
            }
        }
        Event::Compaction(Compaction { tokens_before, tokens_after, .. }) => {
            let (before, after) = (tokens(*tokens_before), tokens(*tokens_after));
            writeln!(text, "\n— compacted: {before} → {after} tokens")
        }
        Event::ModelChanged(model) => {
            let effort = model.effort.as_ref().map(|effort| format!(", effort {effort}"));
            let effort = effort.unwrap_or_default();
            writeln!(text, "\n— model: {}/{}{effort}", model.provider, model.model)
        }
        Event::TurnFinished(finished) => writeln!(text, "{}", ending(finished)),
        Event::Rewind(rewind) => {
            let what = if rewind.conversation { "rewound" } else { "files put back" };
            writeln!(text, "\n— {what} to before event {}", rewind.to_seq)
        }
        Event::SystemPrompt(_)
        | Event::ToolStarted(_)
        | Event::Permission(_)
        | Event::FileChange(_)
        | Event::RewindFinished(_)
        | Event::Unknown(_) => Ok(()),
    };
}

fn ending(finished: &TurnFinished) -> String {
    let TurnFinished { ending, steps, usage, detail, .. } = finished;
    let name = serde_json::to_value(ending).ok();
    let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("ended");
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    format!(
        "— {name}{detail} · {steps} steps · {} in, {} out",
        tokens(usage.prompt),
        tokens(usage.completion)
    )
}
