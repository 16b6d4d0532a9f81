//! Full-text search over sessions.
//!
//! The raw lines are searched for the longest word with ripgrep's engine; only lines that hold it
//! are parsed. What counts is what was said and shown, not how the log writes it.

use std::path::{Path, PathBuf};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use tokio_util::sync::CancellationToken;

use super::log;
use crate::event::{Event, Record};

/// Places shown of one session.
const PLACES: usize = 3;
/// Characters around a hit.
const AROUND: usize = 60;
/// A line longer than this is not searched; results are cut far below it.
const MAX_HEAP: usize = 64 << 20;

/// The words to look for; all of them must stand in one message or result.
pub struct Query {
    words: Vec<String>,
    matcher: RegexMatcher,
}

/// Where the words were found in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The session's file.
    pub path: PathBuf,
    /// The first places, as excerpts in one line each.
    pub places: Vec<String>,
    /// How many places there are.
    pub total: usize,
}

impl Query {
    /// A query for these words, in any case of letters; none without a word.
    pub fn new(text: &str) -> Option<Self> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let longest = words.iter().max_by_key(|word| word.len())?;
        let matcher =
            RegexMatcherBuilder::new().case_insensitive(true).fixed_strings(true).build(longest);
        Some(Self { matcher: matcher.ok()?, words })
    }

    /// Searches one session; none where nothing is found, the file cannot be read, or `stop` comes
    /// before its end.
    pub fn search(&self, path: &Path, stop: &CancellationToken) -> Option<Found> {
        let mut found = Found { path: path.to_owned(), places: Vec::new(), total: 0 };
        let sink = Lossy(|_, line: &str| {
            if let Some(place) = self.place(line) {
                found.total += 1;
                if found.places.len() < PLACES {
                    found.places.push(place);
                }
            }
            Ok(true)
        });
        let file = log::open_to_read(path, stop).ok()?;
        searcher().search_reader(&self.matcher, file, sink).ok()?;
        (found.total > 0).then_some(found)
    }

    /// The excerpt of a line that holds all words.
    fn place(&self, line: &str) -> Option<String> {
        let record = Record::from_line(line.as_bytes()).ok()?;
        let text = said(&record.event)?;
        let lower = text.to_lowercase();
        let at = self.words.iter().map(|word| lower.find(word)).collect::<Option<Vec<_>>>()?;
        let first = at.into_iter().min().unwrap_or(0);
        Some(excerpt(&text, lower.get(..first)?.chars().count()))
    }
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .heap_limit(Some(MAX_HEAP))
        .binary_detection(BinaryDetection::none())
        .build()
}

/// What a person reads of an event.
fn said(event: &Event) -> Option<String> {
    match event {
        Event::UserMessage(message) => Some(message.content.clone()),
        Event::AssistantMessage(message) => {
            let calls = message.reply.tool_calls.iter().map(|call| call.arguments.as_str());
            let texts: Vec<&str> =
                std::iter::once(message.reply.content.as_str()).chain(calls).collect();
            Some(texts.join(" "))
        }
        Event::ToolResult(result) => Some(result.content.clone()),
        Event::Compaction(compaction) => Some(compaction.summary.clone()),
        Event::SystemPrompt(_)
        | Event::ToolStarted(_)
        | Event::ModelChanged(_)
        | Event::Permission(_)
        | Event::FileChange(_)
        | Event::Rewind(_)
        | Event::RewindFinished(_)
        | Event::TurnFinished(_)
        | Event::Unknown(_) => None,
    }
}

/// The text around a character, in one line.
fn excerpt(text: &str, at: usize) -> String {
    let from = at.saturating_sub(AROUND / 2);
    let piece: String = text.chars().skip(from).take(AROUND * 2).collect();
    let piece = piece.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "…" } else { "" };
    let after = if text.chars().nth(from + AROUND * 2).is_some() { "…" } else { "" };
    format!("{before}{piece}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Author, ToolResult, UserMessage};

    fn log(events: &[Event]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = b"{\"type\":\"session\",\"version\":1}\n".to_vec();
        for (index, event) in events.iter().enumerate() {
            let record = Record { seq: index as u64 + 1, at: "now".into(), event: event.clone() };
            bytes.extend(record.to_line().unwrap());
        }
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn user(text: &str) -> Event {
        Event::UserMessage(UserMessage { turn: 1, content: text.into(), author: Author::User })
    }

    #[test]
    fn all_words_must_stand_in_one_text_in_any_case() {
        let result =
            ToolResult { content: "Ünïcode PARSER\nhere".into(), ..ToolResult::default() };
        let log = log(&[user("fix the parser"), user("and the lexer"), Event::ToolResult(result)]);
        for (query, total) in [
            ("parser", 2),
            ("PARSER fix", 1),
            ("parser lexer", 0),
            ("ünïcode", 1),
            ("content", 0),
            ("user_message", 0),
            ("(", 0),
        ] {
            let found = Query::new(query).unwrap().search(log.path(), &CancellationToken::new());
            assert_eq!(found.map_or(0, |found| found.total), total, "{query}");
        }
        assert!(Query::new("  ").is_none());
    }

    #[test]
    fn places_are_short_and_in_one_line() {
        let long = format!("{}needle\nin a haystack {}", "hay ".repeat(500), "more ".repeat(500));
        let log = log(&[user(&long), user(&long), user(&long), user(&long)]);
        let found =
            Query::new("needle").unwrap().search(log.path(), &CancellationToken::new()).unwrap();
        assert_eq!((found.total, found.places.len()), (4, 3));
        let place = &found.places[0];
        assert!(place.starts_with('…') && place.ends_with('…'), "{place}");
        assert!(place.contains("needle in a haystack") && place.chars().count() < 130, "{place}");
    }
}
