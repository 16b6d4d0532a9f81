//! The `write` tool: the whole content of a file at once.

use schemars::JsonSchema;
use serde::Deserialize;

use super::matching::crlf;
use super::paths::Resolved;
use super::save::{self, OnDisk, Saved};
use super::text::{self, EDIT_LIMIT, Endings, Form};
use super::{Effect, Outcome, Tool, ToolContext, diff};

/// Diff lines in the result for the model.
const MODEL_DIFF_LINES: usize = 40;
/// Bytes of diff in the result for the model.
const MODEL_DIFF_BYTES: usize = 6_000;
/// Diff lines for the screen.
const SCREEN_DIFF_LINES: usize = 400;

/// Creates a file or replaces all of it.
pub struct Write;

/// What `write` is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WriteArgs {
    /// Relative to the workspace, or absolute.
    pub file_path: String,
    /// The whole new content.
    pub content: String,
}

impl Tool for Write {
    const NAME: &'static str = "write";
    const DESCRIPTION: &'static str = "Creates a file and its folders, or replaces all of one you have read; to change parts \
        use `edit`. Keeps permissions, line endings and links. Returns what changed.";
    type Args = WriteArgs;

    fn effect(args: &WriteArgs) -> Effect {
        Effect::Write(args.file_path.clone())
    }

    fn subject(args: &WriteArgs) -> String {
        args.file_path.clone()
    }

    fn preview(args: &WriteArgs) -> Option<String> {
        Some(diff::between(b"", args.content.as_bytes(), diff::PREVIEW_LINES).text)
    }

    fn run(args: WriteArgs, context: &ToolContext<'_>) -> Outcome {
        write(&args, context).unwrap_or_else(Outcome::error)
    }
}

fn write(args: &WriteArgs, context: &ToolContext<'_>) -> Result<Outcome, String> {
    let path = context.resolve_target(&args.file_path)?;
    if args.content.len() > EDIT_LIMIT {
        let limit = text::size(EDIT_LIMIT as u64);
        return Err(format!("The content is larger than {limit}. Write it with `shell`."));
    }
    let before = save::load(&path)?;
    let Some(before) = before else {
        save::require_known(context, &path, None)?;
        let saved = save::commit(context, &path, None, args.content.as_bytes())?;
        return Ok(created(&path, &args.content, saved));
    };
    let (after, note) = fitted(&before.bytes, &args.content);
    if after == before.bytes {
        let seen = vec![crate::event::FileSeen { path: path.key(), sha256: before.sha256 }];
        let told =
            format!("`{}` already has exactly this content; nothing was written.", path.shown);
        return Ok(Outcome { files: seen, ..Outcome::ok(told, "unchanged") });
    }
    save::require_known(context, &path, Some(&before))?;
    let mut saved = save::commit(context, &path, Some(&before), &after)?;
    saved.notes.extend(note.map(str::to_owned));
    Ok(replaced(&path, &before, &after, saved))
}

/// The bytes to write over `old`: in its encoding, with its byte order mark, and with its line
/// endings where they are all CRLF and the new text brings only LF.
fn fitted(old: &[u8], content: &str) -> (Vec<u8>, Option<&'static str>) {
    let form = Form::of(old);
    let content =
        if form.bom { content.strip_prefix('\u{FEFF}').unwrap_or(content) } else { content };
    let old_text = form.decode(old);
    let new_endings = Endings::of(content.as_bytes());
    if Endings::of(&old_text).is_crlf() && new_endings.lf > 0 {
        let note = "The file's CRLF line endings were kept.";
        return (form.encode(crlf(content).as_bytes()), Some(note));
    }
    let lost = std::str::from_utf8(&old_text).is_err();
    let note = lost.then_some("The old content was not UTF-8; the new content is.");
    (form.encode(content.as_bytes()), note)
}

fn created(path: &Resolved, content: &str, saved: Saved) -> Outcome {
    let bytes = content.as_bytes();
    let lines = text::plural(text::line_count(bytes), "line");
    let told = Told {
        head: format!("Created `{}` ({lines}).", path.shown),
        body: String::new(),
        trailer: trailer(bytes),
    };
    let diff = diff::between(b"", bytes, SCREEN_DIFF_LINES).text;
    finished(told, format!("created, {lines}"), diff, saved)
}

fn replaced(path: &Resolved, before: &OnDisk, after: &[u8], saved: Saved) -> Outcome {
    let old = Form::of(&before.bytes).decode(&before.bytes);
    let new = Form::of(after).decode(after);
    let screen = diff::between(&old, &new, SCREEN_DIFF_LINES);
    let model = diff::between(&old, &new, MODEL_DIFF_LINES).text;
    let told = Told {
        head: format!("Wrote `{}`: {}.", path.shown, screen.summary()),
        body: text::cut_lines(&model, MODEL_DIFF_BYTES),
        trailer: trailer(after),
    };
    finished(told, screen.summary(), screen.text, saved)
}

fn trailer(bytes: &[u8]) -> String {
    let form = Form::of(bytes);
    text::trailer(&form.decode(bytes), form)
}

/// What the model is told of a change, in three parts.
pub(super) struct Told {
    /// What was done.
    pub(super) head: String,
    /// What it looks like; may be empty.
    pub(super) body: String,
    /// The facts about the text, in brackets.
    pub(super) trailer: String,
}

/// The outcome of a change that was made, with the diff for the screen.
pub(super) fn finished(told: Told, summary: String, diff: String, saved: Saved) -> Outcome {
    let mut lines = vec![told.head];
    lines.extend(saved.notes);
    lines.extend((!told.body.is_empty()).then_some(told.body));
    lines.push(told.trailer);
    Outcome {
        files: vec![saved.seen],
        diff: (!diff.is_empty()).then_some(diff),
        ..Outcome::ok(lines.join("\n"), summary)
    }
}

#[cfg(test)]
mod tests;
