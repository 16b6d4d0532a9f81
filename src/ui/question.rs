//! Shows what the user is asked to allow, so that the decision rests on exactly what will happen.

use super::diff;
use super::sanitize;
use super::style::Style;
use crate::brief::brief;
use crate::update::Ask;

/// Lines of a command from which its size and beginning are said again below it.
const TALL: usize = 10;

/// Characters of that beginning.
const FIRST_CHARS: usize = 60;

/// Characters of the model's reason that are shown.
const MODEL_CHARS: usize = 300;

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
    let mut note = |text: &str| {
        palette.push(
            Style::Dim,
            &format!("  {}", sanitize::visible(text).replace('\n', "\\n")),
            out,
        );
        out.push('\n');
    };
    // The beginning may have left the screen.
    let lines = subject.split('\n').count();
    if lines > TALL {
        let first = brief(subject.lines().next().unwrap_or_default(), FIRST_CHARS);
        note(&format!("{lines} lines, all of them run; the first: {first}"));
    }
    if !ask.reason.is_empty() {
        note(&format!("asked because {}", ask.reason));
    }
    if let Some(says) = &ask.model_says {
        note(&format!("the model says: \"{}\"", brief(says, MODEL_CHARS)));
    }
    ask.always.iter().for_each(|line| note(line));
}

#[cfg(test)]
mod tests;
