//! The `edit` tool: one text in a file replaced by another, and not a byte besides.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;

use super::matching::{self, How, Matches};
use super::paths::Resolved;
use super::save::{self, OnDisk};
use super::text::{self, Form};
use super::write::{Told, finished};
use super::{Effect, Outcome, Tool, ToolContext, diff, nearest};

/// Unchanged lines shown around a change.
const CONTEXT: u64 = 2;
/// Characters of a line that are shown.
const LINE_CHARS: usize = 400;
/// Bytes of changed lines that are shown.
const SHOWN_BYTES: usize = 6_000;
/// Line numbers named when there are several places.
const NAMED_LINES: usize = 10;
/// Diff lines for the screen.
const DIFF_LINES: usize = 400;

/// Replaces text in a file.
pub struct Edit;

/// What `edit` is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EditArgs {
    /// Relative to the workspace, or absolute.
    pub file_path: String,
    /// The text as it stands in the file, without line numbers, with enough lines to be unique.
    pub old_string: String,
    /// What takes its place, literally; may be empty.
    pub new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    pub replace_all: Option<bool>,
}

impl Tool for Edit {
    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "Replaces text in a file you have read. Returns the changed lines with their numbers, so \
        no new read is needed.";
    type Args = EditArgs;

    fn effect(args: &EditArgs) -> Effect {
        Effect::Write(args.file_path.clone())
    }

    fn subject(args: &EditArgs) -> String {
        args.file_path.clone()
    }

    fn preview(args: &EditArgs) -> Option<String> {
        let (old, new) = (args.old_string.as_bytes(), args.new_string.as_bytes());
        Some(diff::between(old, new, diff::PREVIEW_LINES).text)
    }

    fn run(args: EditArgs, context: &ToolContext<'_>) -> Outcome {
        edit(&args, context).unwrap_or_else(Outcome::error)
    }
}

fn edit(args: &EditArgs, context: &ToolContext<'_>) -> Result<Outcome, String> {
    check(args)?;
    let path = context.resolve_target(&args.file_path)?;
    let before = load(args, &path, context)?;
    let form = Form::of(&before.bytes);
    if !form.is_lossless(&before.bytes) {
        return Err(format!(
            "`{}` is damaged UTF-16; an edit would change other parts of it. Use `shell` with a tool \
             for bytes.",
            path.shown
        ));
    }
    let old = form.decode(&before.bytes);
    let matches = matching::find(&old, &args.old_string);
    allow(args, &path, &old, &matches)?;
    let (new, placed) = matching::replace(&old, &matches.spans, &args.new_string);
    if new == *old {
        return Err(format!(
            "The edit would change nothing in `{}`: a place keeps its line endings. To convert line \
             endings use `shell`.",
            path.shown
        ));
    }
    let saved = save::commit(context, &path, Some(&before), &form.encode(&new))?;
    let diff = diff::between(&old, &new, DIFF_LINES);
    let places = text::plural(placed.len() as u64, "place");
    let told = Told {
        head: format!("Edited `{}`: {places}.{}", path.shown, how_note(matches.how)),
        body: snippet(&new, &placed),
        trailer: text::trailer(&new, form),
    };
    Ok(finished(told, diff.summary(), diff.text, saved))
}

/// Refuses what can be seen to be wrong without looking at the file.
fn check(args: &EditArgs) -> Result<(), String> {
    let why = if args.old_string.is_empty() {
        "`old_string` is empty. Give the text to replace; to create a file use `write`."
    } else if args.old_string == args.new_string {
        "`old_string` and `new_string` are the same. Nothing was changed."
    } else if args.old_string.contains('\0') || args.new_string.contains('\0') {
        "NUL characters cannot be edited as text. Use `shell` with a tool for bytes."
    } else {
        return Ok(());
    };
    Err(why.to_owned())
}

fn load(args: &EditArgs, path: &Resolved, context: &ToolContext<'_>) -> Result<OnDisk, String> {
    let before = save::load(path)?;
    save::require_known(context, path, before.as_ref())?;
    before.ok_or_else(|| {
        let missing = context.workspace.missing(&args.file_path, path);
        format!("{missing} To create it use `write`.")
    })
}

/// Lets pass what is found where it may be changed; otherwise says what is in the way.
fn allow(
    args: &EditArgs,
    path: &Resolved,
    content: &[u8],
    matches: &Matches,
) -> Result<(), String> {
    let all = args.replace_all == Some(true) && matches.how != How::LookAlikes;
    if matches.spans.is_empty() {
        return Err(not_found(args, path, content));
    }
    if matches.is_unique() || all {
        return Ok(());
    }
    let alike = match matches.how {
        How::Exact | How::LineEndings => "",
        How::LookAlikes => " only if look-alike characters or blanks count as equal, and then",
    };
    let advice = match matches.how {
        How::Exact | How::LineEndings => {
            "Give more lines around it to make it unique, or set `replace_all`."
        }
        How::LookAlikes => "Copy one place exactly, with more lines around it.",
    };
    Err(format!(
        "`old_string` matches{alike} {} in `{}`, at {}. Nothing was changed. {advice}",
        count(matches),
        path.shown,
        line_numbers(content, &matches.spans),
    ))
}

fn count(matches: &Matches) -> String {
    let places = text::plural(matches.spans.len() as u64, "place");
    if matches.overlapping { format!("{places} and others that overlap") } else { places }
}

fn line_numbers(content: &[u8], spans: &[Range<usize>]) -> String {
    let mut numbers: Vec<String> = Vec::new();
    let (mut line, mut from) = (1, 0);
    for span in spans.iter().take(NAMED_LINES) {
        let between = content.get(from..span.start).unwrap_or_default();
        line += text::line_of(between, between.len()) - 1;
        from = span.start;
        numbers.push(line.to_string());
    }
    numbers.dedup();
    let more = if spans.len() > NAMED_LINES { " …" } else { "" };
    format!("line {}{more}", numbers.join(", "))
}

/// Why nothing was found, as far as can be told.
fn not_found(args: &EditArgs, path: &Resolved, content: &[u8]) -> String {
    let old = &args.old_string;
    let mut told = vec![format!("`old_string` is not in `{}`. Nothing was changed.", path.shown)];
    if is_numbered(old) {
        told.push("Its lines begin with the numbers that `read` shows: leave off `N: `.".into());
    }
    if old.contains(char::REPLACEMENT_CHARACTER) {
        told.push("U+FFFD stands for bytes that are not UTF-8: choose a text without it.".into());
    }
    let already = matching::find(content, &args.new_string);
    if let Some(span) = already.spans.first().filter(|_| already.how != How::LookAlikes) {
        let line = text::line_of(content, span.start);
        told.push(format!(
            "`new_string` already stands at line {line}: the change may have been made before."
        ));
    }
    let told = told.join(" ");
    match nearest::explain(content, old) {
        Some(place) => format!("{told}\n{place}"),
        None => format!("{told} Nothing in it is like it: read the file again."),
    }
}

/// Every line begins with a number and a colon, as in what `read` returns.
fn is_numbered(old: &str) -> bool {
    let numbered = |line: &str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.trim_start().len() && (rest.starts_with(": ") || rest == ":")
    };
    old.lines().all(numbered)
}

fn how_note(how: How) -> &'static str {
    match how {
        How::Exact => "",
        How::LineEndings => " Matched apart from line endings; those of the file were kept.",
        How::LookAlikes => {
            " There was no exact match: this one place matches if blanks at line ends, kinds of blank, \
             quotation mark and dash, and tabs against spaces in the indentation count as equal. \
             `new_string` was put in as given: check its indentation and characters."
        }
    }
}

/// The changed lines and a few around them, numbered as `read` does.
fn snippet(content: &[u8], placed: &[Range<usize>]) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut size = 0;
    let mut last = 0;
    let ranges = line_ranges(content, placed);
    let mut ranges = ranges.iter().peekable();
    for (number, line) in (1..).zip(content.split_inclusive(|&byte| byte == b'\n')) {
        while ranges.next_if(|range| range.1 + CONTEXT < number).is_some() {}
        let Some(range) = ranges.peek() else { break };
        if number + CONTEXT < range.0 {
            continue;
        }
        if !shown.is_empty() && last + 1 != number {
            shown.push("…".to_owned());
        }
        let text = format!("{number}: {}", text::shown(line, line.len(), LINE_CHARS));
        size += text.len() + 1;
        if size > SHOWN_BYTES {
            shown.push("[more changed lines are not shown]".to_owned());
            break;
        }
        shown.push(text);
        last = number;
    }
    shown.join("\n")
}

/// First and last line of each span; an empty one lies in the line it stands in.
fn line_ranges(content: &[u8], placed: &[Range<usize>]) -> Vec<(u64, u64)> {
    let (mut line, mut from) = (1, 0);
    let mut line_at = |at: usize| {
        let between = content.get(from..at).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', between).count() as u64;
        from = from.max(at);
        line
    };
    placed
        .iter()
        .map(|span| (line_at(span.start), line_at(span.end.saturating_sub(1).max(span.start))))
        .collect()
}

#[cfg(test)]
mod tests;
