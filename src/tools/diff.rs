//! Unified diffs of two versions of a text, bounded in time and size.
//!
//! Pure, without a clock: the common beginning and end are cut off first, and where what remains is
//! still too long to compare line by line it is told as one block. Line endings are not shown; the
//! tools state them.

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

use super::text;

/// Lines of both sides together above which no line-by-line comparison is made.
const COMPARE_LIMIT: usize = 6_000;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Characters of a line that are shown.
const LINE_CHARS: usize = 400;

/// Lines of a change in a question about it.
pub const PREVIEW_LINES: usize = 500;

/// What changed between two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
    /// Hunks in unified form without the two file lines; a cut is stated at the end.
    pub text: String,
}

impl Diff {
    /// `+3 −1`, for the screen.
    pub fn summary(&self) -> String {
        format!("+{} −{}", self.added, self.removed)
    }
}

/// The part of two texts that differs, with some context.
struct Middle<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    /// Lines before it.
    skipped: usize,
}

/// Compares two texts; the hunks are cut after `max_lines` lines.
pub fn between(old: &[u8], new: &[u8], max_lines: usize) -> Diff {
    let Middle { old, new, skipped } = middle(old, new);
    let ops = if old.len() + new.len() <= COMPARE_LIMIT {
        line_by_line(&old, &new)
    } else {
        vec![DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() }]
    };
    let mut diff = Diff::default();
    let mut lines = Vec::new();
    for hunk in similar::group_diff_ops(ops, CONTEXT) {
        lines.push(header(&hunk, skipped));
        for op in hunk {
            diff.count(op);
            // One line beyond the limit is enough to know that there is more.
            op_lines(op, &old, &new, &mut lines, max_lines + 1);
        }
    }
    if lines.len() > max_lines {
        lines.truncate(max_lines);
        lines.push(format!("[diff cut after {max_lines} lines]"));
    }
    diff.text = lines.join("\n");
    diff
}

fn line_by_line(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut found, old, 0..old.len(), new, 0..new.len());
    found.into_inner().into_inner().into_ops()
}

impl Diff {
    fn count(&mut self, op: DiffOp) {
        match op {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete { old_len, .. } => self.removed += old_len,
            DiffOp::Insert { new_len, .. } => self.added += new_len,
            DiffOp::Replace { old_len, new_len, .. } => {
                self.removed += old_len;
                self.added += new_len;
            }
        }
    }
}

fn op_lines(op: DiffOp, old: &[&[u8]], new: &[&[u8]], lines: &mut Vec<String>, max: usize) {
    let (sign_old, sign_new) = match op {
        DiffOp::Equal { .. } => (" ", None),
        DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => ("-", Some("+")),
    };
    push_lines(lines, sign_old, old.get(op.old_range()).unwrap_or_default(), max);
    if let Some(sign) = sign_new {
        push_lines(lines, sign, new.get(op.new_range()).unwrap_or_default(), max);
    }
}

fn push_lines(lines: &mut Vec<String>, sign: &str, content: &[&[u8]], max: usize) {
    for line in content.iter().take(max.saturating_sub(lines.len())) {
        lines.push(format!("{sign}{}", text::shown(line, line.len(), LINE_CHARS)));
        if line.last() != Some(&b'\n') {
            lines.push("\\ No newline at end of file".to_owned());
        }
    }
}

fn header(hunk: &[DiffOp], skipped: usize) -> String {
    let side = |start: usize, end: usize| {
        let length = end.saturating_sub(start);
        let first = start + skipped + usize::from(length > 0);
        if length == 1 { first.to_string() } else { format!("{first},{length}") }
    };
    let start = hunk.first().map_or((0, 0), |op| (op.old_range().start, op.new_range().start));
    let end = hunk.last().map_or((0, 0), |op| (op.old_range().end, op.new_range().end));
    format!("@@ -{} +{} @@", side(start.0, end.0), side(start.1, end.1))
}

/// Cuts off what both begin and end with, whole lines only and some context less.
fn middle<'a>(old: &'a [u8], new: &'a [u8]) -> Middle<'a> {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let head = old.get(..same).unwrap_or_default();
    let start = nth_line_start_from_end(head, CONTEXT);
    let (old_rest, new_rest) = (old.get(start..), new.get(start..));
    let (old_rest, new_rest) = (old_rest.unwrap_or_default(), new_rest.unwrap_or_default());
    let room = old.len().min(new.len()) - same;
    let same_end =
        old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let tail = old.get(old.len() - same_end..).unwrap_or_default();
    // The first line of the tail may have changed before it; it and the context stay.
    let kept = memchr::memchr_iter(b'\n', tail).nth(CONTEXT).map_or(tail.len(), |at| at + 1);
    let cut = tail.len() - kept;
    let lines = |rest: &'a [u8]| -> Vec<&'a [u8]> {
        let rest = rest.get(..rest.len() - cut).unwrap_or_default();
        rest.split_inclusive(|&byte| byte == b'\n').collect()
    };
    let skipped = memchr::memchr_iter(b'\n', old.get(..start).unwrap_or_default()).count();
    Middle { old: lines(old_rest), new: lines(new_rest), skipped }
}

/// Where the line that `head` ends in begins, `lines` lines further up.
fn nth_line_start_from_end(head: &[u8], lines: usize) -> usize {
    memchr::memrchr_iter(b'\n', head).nth(lines).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests;
