//! How much a tool may tell the model, and how what is too much is cut.
//!
//! All limits stand here, so that they can be seen beside each other. A cut keeps the beginning
//! and the end, falls on a character boundary and on a line boundary where one is near, and says in
//! its place what is missing; that notice counts towards the limit. Pure: where a whole output is
//! kept is [`super::collect`]'s business.

use std::borrow::Cow;

/// The longest result the model gets from one call, in bytes. About 10,000 tokens.
pub const RESULT_BYTES: usize = 30_000;

/// The longest line that a file tool shows, in characters.
pub const LINE_CHARS: usize = 2_000;

/// The largest file that keeps a whole output, in bytes.
pub const SPILL_BYTES: u64 = 64 << 20;

/// What stands in the place of a result without text; some servers refuse an empty one.
pub const NO_OUTPUT: &str = "(no output)";

/// A text of which only the two ends are at hand.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// A beginning of the text.
    pub head: &'a str,
    /// An end of the text; may overlap with the head.
    pub tail: &'a str,
    /// Bytes of the whole text.
    pub bytes: u64,
    /// Line feeds in the whole text.
    pub line_feeds: u64,
}

/// Cuts the middle out of a text that is longer than `cap` bytes. `note` says where the rest is
/// (`the whole output is in …`, `read it in parts`); may be empty.
pub fn cut_middle<'a>(text: &'a str, cap: usize, note: &str) -> Cow<'a, str> {
    if text.len() <= cap {
        return Cow::Borrowed(text);
    }
    let ends = Ends { head: text, tail: text, bytes: text.len() as u64, line_feeds: feeds(text) };
    Cow::Owned(join_ends(ends, cap, note))
}

/// The ends with a notice between them, at most `cap` bytes in all. The head gets a third: what a
/// program says last, such as its errors, is worth more.
pub fn join_ends(ends: Ends<'_>, cap: usize, note: &str) -> String {
    // The counts only shrink from here, and with them the notice.
    let longest = notice(ends.line_feeds, ends.bytes, note).len() + 1;
    let Some(room) = cap.checked_sub(longest) else {
        return ends.head.get(..ends.head.floor_char_boundary(cap)).unwrap_or_default().to_owned();
    };
    let head = keep_start(ends.head, room / 3);
    let tail = keep_end(ends.tail, room - room / 3);
    let lines = ends.line_feeds.saturating_sub(feeds(head) + feeds(tail));
    let bytes = ends.bytes.saturating_sub((head.len() + tail.len()) as u64);
    let gap = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{gap}{}{tail}", notice(lines, bytes, note))
}

/// A line as file tools show it: at most [`LINE_CHARS`] characters, then how many are missing.
pub fn cut_line(line: &str) -> Cow<'_, str> {
    let Some((end, _)) = line.char_indices().nth(LINE_CHARS) else {
        return Cow::Borrowed(line);
    };
    let (shown, rest) = line.split_at_checked(end).unwrap_or((line, ""));
    let missing = grouped(rest.chars().count() as u64);
    Cow::Owned(format!("{shown}[… {missing} more characters on this line]"))
}

/// A number with commas between its thousands: `1,234`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Line feeds in a text.
pub fn feeds(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

fn notice(lines: u64, bytes: u64, note: &str) -> String {
    let bytes = grouped(bytes);
    let left_out = match lines {
        0 => format!("{bytes} bytes left out"),
        1 => format!("1 line ({bytes} bytes) left out"),
        _ => format!("{} lines ({bytes} bytes) left out", grouped(lines)),
    };
    let separator = if note.is_empty() { "" } else { "; " };
    format!("[… {left_out}{separator}{note} …]\n")
}

/// At most `room` bytes from the start, to the end of a line if one ends in their second half.
fn keep_start(text: &str, room: usize) -> &str {
    let end = text.floor_char_boundary(room);
    let kept = text.get(..end).unwrap_or_default();
    match kept.rfind('\n') {
        Some(feed) if feed >= room / 2 => kept.get(..=feed).unwrap_or(kept),
        _ => kept,
    }
}

/// At most `room` bytes from the end, from the start of a line if one starts in their first half.
fn keep_end(text: &str, room: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(room));
    let kept = text.get(start..).unwrap_or_default();
    match kept.find('\n') {
        Some(feed) if feed < room / 2 => kept.get(feed + 1..).unwrap_or(kept),
        _ => kept,
    }
}

#[cfg(test)]
mod tests;
