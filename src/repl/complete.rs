//! Completion: `/command` at the start of a message and what it takes, `@path` anywhere.

use std::path::Path;

use super::commands::TABLE;
use super::model::levels;

/// Entries of a folder that are offered at most.
const OFFERED: usize = 200;

/// Where the word to complete starts in the line, and what it could become.
pub(super) fn complete(
    line: &str,
    cursor: usize,
    root: &Path,
    models: &[String],
) -> (usize, Vec<String>) {
    let before = line.get(..cursor).unwrap_or_default();
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    // White space may be wider than a byte; then the word starts at the next boundary.
    let start = (start..=before.len()).find(|at| before.is_char_boundary(*at)).unwrap_or(0);
    let word = before.get(start..).unwrap_or_default();
    let offers = match word.strip_prefix('@') {
        Some(path) => paths(path, root),
        None if start == 0 && word.starts_with('/') => commands(word),
        None => arguments(before.get(..start).unwrap_or_default(), word, models),
    };
    (start, offers)
}

/// What a command takes that can be listed.
fn arguments(command: &str, word: &str, models: &[String]) -> Vec<String> {
    let all: Vec<&str> = match command.trim_end() {
        "/model" => models.iter().map(String::as_str).collect(),
        "/effort" => levels(),
        "/permissions" => vec!["plan", "ask", "auto", "full"],
        _ => Vec::new(),
    };
    let matching = all.into_iter().filter(|name| name.starts_with(word));
    matching.take(OFFERED).map(str::to_owned).collect()
}

fn commands(word: &str) -> Vec<String> {
    let matching = TABLE.iter().filter(|entry| entry.name.starts_with(word));
    matching
        .map(|entry| {
            let blank = if entry.argument.is_empty() { "" } else { " " };
            format!("{}{blank}", entry.name)
        })
        .collect()
}

/// Entries of the folder that the typed path names, folders with a slash. Names that would not
/// survive the line (white space, control characters) are left out.
fn paths(typed: &str, root: &Path) -> Vec<String> {
    let (folder, prefix) = typed
        .rfind('/')
        .map_or(("", typed), |at| typed.split_at_checked(at + 1).unwrap_or(("", typed)));
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return Vec::new() };
    let mut offers: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let hidden = name.starts_with('.') && !prefix.starts_with('.');
            let odd = name.chars().any(|c| c.is_whitespace() || c.is_control());
            if hidden || odd || name == ".git" || !name.starts_with(prefix) {
                return None;
            }
            let slash = if entry.path().is_dir() { "/" } else { "" };
            Some(format!("@{folder}{name}{slash}"))
        })
        .collect();
    offers.sort();
    offers.truncate(OFFERED);
    offers
}

#[cfg(test)]
mod tests;
