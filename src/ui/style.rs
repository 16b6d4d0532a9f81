//! How text looks and how wide it is: the only place with colour codes.
//!
//! The input must be clean already (see [`super::sanitize`]).

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a piece of text is, for the eye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The answer and everything without a meaning of its own.
    Plain,
    /// Of less interest: reasoning, figures, context lines.
    Dim,
    /// A name or heading.
    Bold,
    /// Went well; an added line.
    Good,
    /// Failed; a removed line.
    Bad,
    /// Wants attention.
    Warn,
}

/// Turns styles into terminal codes, or into nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Colours are wanted and the terminal has them.
    pub color: bool,
}

impl Palette {
    /// Appends a styled text.
    pub fn push(self, style: Style, text: &str, out: &mut String) {
        let code = match style {
            Style::Dim => "2",
            Style::Bold => "1",
            Style::Good => "32",
            Style::Bad => "31",
            Style::Warn => "33",
            Style::Plain => "",
        };
        if !self.color || code.is_empty() || text.is_empty() {
            out.push_str(text);
            return;
        }
        out.push_str("\x1b[");
        out.push_str(code);
        out.push('m');
        out.push_str(text);
        out.push_str("\x1b[0m");
    }

    /// A styled text of its own.
    pub fn paint(self, style: Style, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 8);
        self.push(style, text, &mut out);
        out
    }
}

/// Columns a text takes. Terminals disagree on joined emoji; this is the larger figure, so that a
/// line that is said to fit does.
pub fn width(text: &str) -> usize {
    let cells: usize = text.chars().map(|c| c.width().unwrap_or(0)).sum();
    cells.max(UnicodeWidthStr::width(text))
}

/// The text in at most `columns` columns: cut between whole glyphs and ended by `…` if too long.
pub fn fit(text: &str, columns: usize) -> String {
    // No glyph is wider than its bytes, which saves measuring in the common case.
    if text.len() <= columns || width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for glyph in text.graphemes(true) {
        used += width(glyph);
        if used >= columns {
            break;
        }
        out.push_str(glyph);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests;
