//! The Markdown document. Whatever is quoted or fenced in it is from outside, all else is xsh's own
//! words: a quote ends what is left open in it, a fence is longer than any in its text.

use std::iter::repeat_n;

use super::Said;

pub(super) fn begin(id: &str, origin: &str) -> String {
    format!("# Session {}\n\n{}\n", escaped(id), escaped(origin))
}

pub(super) fn part(said: &Said) -> String {
    match said {
        Said::User(text) => format!("\n## User\n\n{}", quoted(text)),
        Said::Answer(text) => format!("\n**Assistant**\n\n{}", quoted(text)),
        Said::Aside(name, text) => format!("\n*{}*\n\n{}", escaped(name), quoted(text)),
        Said::Tool(name, text) => format!("\n**{}**\n\n{}", escaped(name), fenced(text)),
        Said::Note(text) => format!("\n*— {}*\n", escaped(text)),
    }
}

/// A line of text that no Markdown is read from.
fn escaped(text: &str) -> String {
    let escaped = |c: char| "\\`*_[]<>&~|".contains(c).then_some('\\').into_iter().chain([c]);
    text.chars().flat_map(escaped).collect()
}

fn quoted(text: &str) -> String {
    text.split('\n').map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
}

fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence: String = repeat_n('`', longest.max(2) + 1).collect();
    format!("{fence}text\n{text}\n{fence}\n")
}
