//! The system prompt: from its parts to one text. Pure and without clock or chance, so that the
//! same parts give the same bytes and the provider's prefix cache holds.

use std::fmt::Write;

/// How to work, for any model.
pub const RULES: &str = include_str!("../prompts/system.md");
/// What a summary of old history must hold.
const COMPACT: &str = include_str!("../prompts/compact.md");

/// An instruction file of the user or the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Where it lies.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// What the prompt is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The model's name.
    pub model: &'a str,
    /// Replaces [`RULES`].
    pub rules: Option<&'a str>,
    /// Name and description of each registered tool, in table order.
    pub tools: &'a [(&'a str, &'a str)],
    /// The working directory, absolute.
    pub workspace: &'a str,
    /// Operating system and processor.
    pub platform: &'a str,
    /// Instruction files, the most specific last.
    pub instructions: &'a [Instruction],
    /// Further text from the command line.
    pub append: Option<&'a str>,
}

/// The operating system and processor that this program runs on.
pub fn platform() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

/// The whole text.
pub fn build(parts: &Parts<'_>) -> String {
    let rules = parts.rules.unwrap_or(RULES).trim();
    let mut text = format!(
        "You are xsh, a coding agent in the user's terminal, run by the model {}.\n\n{rules}\n",
        one_line(parts.model),
    );
    tools(&mut text, parts.tools);
    let (workspace, platform) = (one_line(parts.workspace), one_line(parts.platform));
    push(&mut text, format_args!("\nWorking directory: {workspace}\nPlatform: {platform}\n"));
    for instruction in parts.instructions {
        frame(&mut text, instruction);
    }
    if let Some(append) = parts.append.map(str::trim).filter(|append| !append.is_empty()) {
        push(&mut text, format_args!("\n{append}\n"));
    }
    text
}

/// The request for a summary. The focus is what the user wants it to keep above all.
pub fn compact(focus: Option<&str>) -> String {
    let mut text = COMPACT.trim_end().to_owned();
    if let Some(focus) = focus.map(str::trim).filter(|focus| !focus.is_empty()) {
        push(&mut text, format_args!("\n\nThe user asks to keep this above all: {focus}"));
    }
    text.push('\n');
    text
}

/// One line per tool: the whole description is in its schema already.
fn tools(text: &mut String, tools: &[(&str, &str)]) {
    if tools.is_empty() {
        return;
    }
    text.push_str("\nTools:\n");
    for (name, description) in tools {
        push(text, format_args!("- {name}: {}\n", first_sentence(description)));
    }
}

/// Up to the first stop that ends a sentence.
pub fn first_sentence(text: &str) -> String {
    let line = one_line(text.trim());
    match line.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => line,
    }
}

const FRAME: &str = "project_instructions";
const PIPED: &str = "stdin";

/// A prompt with what was piped in as its context, between tags that the text cannot close.
pub fn with_context(prompt: &str, piped: &str) -> String {
    format!("{prompt}\n\n<{PIPED}>\n{}\n</{PIPED}>", defuse(piped, PIPED))
}

/// Puts a file between tags that its text cannot close.
fn frame(text: &mut String, instruction: &Instruction) {
    let path = one_line(&instruction.path).replace(['"', '<', '>'], "_");
    let body = defuse(instruction.text.trim(), FRAME);
    push(text, format_args!("\n<{FRAME} path=\"{path}\">\n{body}\n</{FRAME}>\n"));
}

/// Breaks every opening or closing of the frame's tag inside a text.
fn defuse(text: &str, frame: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        safe.push_str(before);
        let name = after.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
        let is_frame =
            name.get(..frame.len()).is_some_and(|start| start.eq_ignore_ascii_case(frame));
        safe.push_str(if is_frame { "&lt;" } else { "<" });
        rest = after;
    }
    safe + rest
}

/// Without line breaks or other control characters.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(more);
}

#[cfg(test)]
mod tests;
