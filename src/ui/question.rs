//! Shows what the user is asked to allow, so that the decision rests on exactly what will happen.

use super::diff;
use super::sanitize;
use super::style::Style;

/// The visible part of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The tool.
    pub tool: String,
    /// The path, or the whole command.
    pub subject: String,
    /// What would change in a file: a unified diff, or the content of a new file.
    pub diff: Option<String>,
    /// The working directory of a command.
    pub cwd: String,
}

/// Draws it: the command or path in full, control characters escaped, and the change. The frame
/// bounds the change only: a command that is cut cannot be judged.
pub fn draw(ask: &Ask, frame: &diff::Frame, out: &mut String) {
    let palette = frame.palette;
    let tool = sanitize::visible(&sanitize::line(&ask.tool));
    out.push_str(&palette.paint(Style::Warn, &format!("? Allow {tool}")));
    out.push('\n');
    let subject = sanitize::visible(&ask.subject);
    for line in subject.split('\n') {
        palette.push(Style::Dim, "  │ ", out);
        palette.push(Style::Bold, line, out);
        out.push('\n');
    }
    if !ask.cwd.is_empty() {
        let place = format!("  in {}", sanitize::visible(&ask.cwd).replace('\n', "\\n"));
        palette.push(Style::Dim, &place, out);
        out.push('\n');
    }
    if let Some(change) = &ask.diff {
        diff::draw(change, frame, out);
    }
}

#[cfg(test)]
mod tests;
