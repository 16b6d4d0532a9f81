//! Shows a unified diff: line numbers, colour, bounded height.

use super::sanitize;
use super::style::{Palette, Style, fit};

/// Where and how a diff is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Colours.
    pub palette: Palette,
    /// Columns.
    pub width: usize,
    /// Lines at most; the rest is counted.
    pub height: usize,
}

/// One line of a diff with its place in the file.
struct Row<'a> {
    number: Option<u64>,
    mark: char,
    text: &'a str,
}

/// Draws a diff (hunks only, without the two file lines), or a whole new file as added lines.
pub fn draw(diff: &str, frame: &Frame, out: &mut String) {
    let rows = if diff.starts_with("@@") { hunks(diff) } else { added(diff) };
    let digits = rows.iter().filter_map(|row| row.number).max().unwrap_or(0).to_string().len();
    for row in rows.iter().take(frame.height) {
        draw_row(row, digits, frame, out);
    }
    let rest = rows.len().saturating_sub(frame.height);
    if rest > 0 {
        let lines = if rest == 1 { "line" } else { "lines" };
        frame.palette.push(Style::Dim, &format!("    … {rest} more {lines}"), out);
        out.push('\n');
    }
}

fn draw_row(row: &Row<'_>, digits: usize, frame: &Frame, out: &mut String) {
    let number = row.number.map(|n| n.to_string()).unwrap_or_default();
    let gutter = format!("    {number:>digits$} ");
    let text = sanitize::text(&row.text.replace('\t', "    ")).replace('\n', " ");
    let body = format!("{} {text}", row.mark);
    let style = match row.mark {
        '+' => Style::Good,
        '-' => Style::Bad,
        _ => Style::Dim,
    };
    frame.palette.push(Style::Dim, &gutter, out);
    let room = frame.width.saturating_sub(gutter.len());
    frame.palette.push(style, fit(&body, room).trim_end(), out);
    out.push('\n');
}

fn added(content: &str) -> Vec<Row<'_>> {
    (1..).zip(content.lines()).map(|(n, text)| Row { number: Some(n), mark: '+', text }).collect()
}

fn hunks(diff: &str) -> Vec<Row<'_>> {
    let (mut old, mut new) = (1, 1);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for line in diff.lines() {
        if let Some(starts) = hunk_starts(line) {
            (old, new) = starts;
            if !rows.is_empty() {
                rows.push(Row { number: None, mark: '⋮', text: "" });
            }
            continue;
        }
        let mut chars = line.chars();
        let (mark, text) = match chars.next() {
            Some(mark @ (' ' | '+' | '-' | '\\')) => (mark, chars.as_str()),
            _ => (' ', line),
        };
        let number = match mark {
            '-' => Some(counted(&mut old)),
            '+' => Some(counted(&mut new)),
            // "\ No newline at end of file" has no place of its own.
            '\\' => None,
            _ => {
                old += 1;
                Some(counted(&mut new))
            }
        };
        rows.push(Row { number, mark, text });
    }
    rows
}

fn counted(line: &mut u64) -> u64 {
    *line += 1;
    *line - 1
}

/// `@@ -12,7 +12,9 @@` → where the hunk starts in the old and the new file.
fn hunk_starts(line: &str) -> Option<(u64, u64)> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let start = |part: &str| part.split(',').next()?.parse().ok();
    Some((start(parts.next()?)?, start(parts.next()?.strip_prefix('+')?)?))
}

#[cfg(test)]
mod tests;
