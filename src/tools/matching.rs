//! Where a text to be replaced stands in a file, and the splice that replaces it.
//!
//! Pure: bytes in, spans out. Three passes, each only when the one before found nothing: line
//! endings made equal (which includes the exact match), the very bytes, and look-alikes. The last
//! one forgives what the eye cannot see; it is used only where it is unique, and is reported.
//! Whatever pass matched, every byte outside the spans stays as it was.

use std::ops::Range;

use memchr::memmem;

use super::text::Endings;

/// Content above this size (bytes) is not searched for look-alikes.
const LOOSE_LIMIT: usize = 4 * 1024 * 1024;
/// Columns that a tab may stand for in an indentation, in the order of trying.
const TAB_WIDTHS: [usize; 3] = [4, 2, 8];

/// How a text was matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// Byte for byte.
    #[default]
    Exact,
    /// Apart from line endings.
    LineEndings,
    /// Apart from blanks at line ends, kinds of blank, quotation mark and dash, and tabs against
    /// spaces in the indentation.
    LookAlikes,
}

/// The places where a text stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// In order, never overlapping.
    pub spans: Vec<Range<usize>>,
    /// How they were found.
    pub how: How,
    /// There are further matches that overlap these, so that even one span is not unique.
    pub overlapping: bool,
}

impl Matches {
    /// Exactly one place, without doubt.
    pub fn is_unique(&self) -> bool {
        self.spans.len() == 1 && !self.overlapping
    }
}

/// Finds `old` in `content`. An empty `old` is found nowhere.
pub fn find(content: &[u8], old: &str) -> Matches {
    if old.is_empty() {
        return Matches::default();
    }
    let matches = find_by_lines(content, old);
    if !matches.spans.is_empty() {
        return matches;
    }
    let matches = search(content, old.as_bytes());
    if !matches.spans.is_empty() {
        return matches;
    }
    find_loosely(content, old)
}

/// All occurrences of `needle`, from left to right.
fn search(text: &[u8], needle: &[u8]) -> Matches {
    let spans: Vec<_> = memmem::find_iter(text, needle).map(|at| at..at + needle.len()).collect();
    let overlapping = spans.first().is_some_and(|first| {
        let from = first.start + 1;
        let next = text.get(from..).and_then(|rest| memmem::find(rest, needle));
        next.is_some_and(|at| from + at < first.end)
    });
    Matches { spans, how: How::Exact, overlapping }
}

/// Matches with CRLF and LF held equal on both sides.
fn find_by_lines(content: &[u8], old: &str) -> Matches {
    let needle = old.replace("\r\n", "\n");
    let (text, removed) = without_cr(content);
    let mut matches = search(&text, needle.as_bytes());
    for span in &mut matches.spans {
        *span = original(&removed, span.start)..original(&removed, span.end);
    }
    let exact = |span: &Range<usize>| content.get(span.clone()) == Some(old.as_bytes());
    if !matches.spans.iter().all(exact) {
        matches.how = How::LineEndings;
    }
    matches
}

/// The text with CRLF as LF, and the positions in it before which a CR was taken out.
fn without_cr(content: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let mut text = Vec::with_capacity(content.len());
    let mut removed = Vec::new();
    let mut from = 0;
    for at in memmem::find_iter(content, b"\r\n") {
        text.extend_from_slice(content.get(from..at).unwrap_or_default());
        removed.push(text.len());
        from = at + 1;
    }
    text.extend_from_slice(content.get(from..).unwrap_or_default());
    (text, removed)
}

/// The position in the content of one in the text of [`without_cr`]; on a line ending, the one
/// before its CR.
fn original(removed: &[usize], at: usize) -> usize {
    at + removed.partition_point(|&cr| cr < at)
}

/// Matches with look-alikes held equal; what is only blanks never matches like this.
fn find_loosely(content: &[u8], old: &str) -> Matches {
    let none = Matches::default();
    if content.len() > LOOSE_LIMIT || old.trim().is_empty() {
        return none;
    }
    let widths = TAB_WIDTHS.iter().take(if has_tabs(content, old) { TAB_WIDTHS.len() } else { 1 });
    for &tab in widths {
        let needle = Folded::of(old.as_bytes(), tab, false).bytes;
        let text = Folded::of(content, tab, true);
        let mut matches = search(&text.bytes, &needle);
        matches.spans = matches.spans.iter().filter_map(|span| text.original(span)).collect();
        matches.how = How::LookAlikes;
        if !matches.spans.is_empty() {
            return matches;
        }
    }
    none
}

fn has_tabs(content: &[u8], old: &str) -> bool {
    content.contains(&b'\t') || old.contains('\t')
}

/// A text with look-alikes made equal, and where each of its bytes comes from.
struct Folded {
    bytes: Vec<u8>,
    /// For each byte the span of the character (or line ending) that it stands for.
    from: Vec<(u32, u32)>,
}

impl Folded {
    /// Folds a text. `whole` says that its end is the end of a line, so that blanks there go too.
    fn of(text: &[u8], tab: usize, whole: bool) -> Self {
        let mut folded = Self { bytes: Vec::with_capacity(text.len()), from: Vec::new() };
        let mut at = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            folded.push_line(line, at, tab, whole);
            at += line.len();
        }
        folded
    }

    fn push_line(&mut self, line: &[u8], start: usize, tab: usize, whole: bool) {
        let body = super::text::chomp(line);
        let ended = line.ends_with(b"\n");
        let line_start = self.bytes.len();
        let mut solid_end = line_start; // the folded line up to its last character that is no blank
        let mut indent = true;
        let mut at = start;
        for chunk in body.utf8_chunks() {
            for c in chunk.valid().chars() {
                let c_end = at + c.len_utf8();
                let plain = fold(c);
                indent &= plain == ' ' || plain == '\t';
                match plain {
                    '\t' if indent => self.push(" ".repeat(tab).as_bytes(), at, c_end),
                    plain => self.push(plain.encode_utf8(&mut [0; 4]).as_bytes(), at, c_end),
                }
                if plain != ' ' && plain != '\t' {
                    solid_end = self.bytes.len();
                }
                at = c_end;
            }
            for &byte in chunk.invalid() {
                indent = false;
                self.push(&[byte], at, at + 1);
                solid_end = self.bytes.len();
                at += 1;
            }
        }
        if ended || whole {
            self.bytes.truncate(solid_end);
            self.from.truncate(solid_end);
        }
        if ended {
            self.push(b"\n", at, start + line.len());
        }
    }

    fn push(&mut self, bytes: &[u8], start: usize, end: usize) {
        // Positions fit: content above LOOSE_LIMIT is never folded, and `old` needs no positions.
        let span =
            (u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX));
        self.bytes.extend_from_slice(bytes);
        self.from.extend(std::iter::repeat_n(span, bytes.len()));
    }

    /// The span in the original text; none if it begins or ends inside a character.
    fn original(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let first = *self.from.get(span.start)?;
        let last = *self.from.get(span.end.checked_sub(1)?)?;
        let before = span.start.checked_sub(1).and_then(|at| self.from.get(at));
        let whole = before != Some(&first) && self.from.get(span.end) != Some(&last);
        whole.then_some(first.0 as usize..last.1 as usize)
    }
}

/// The plain character that a look-alike is taken for.
pub fn fold(c: char) -> char {
    match c {
        '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => {
            ' '
        }
        '\u{2018}'..='\u{201B}' | '\u{2032}' => '\'',
        '\u{201C}'..='\u{201F}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    }
}

/// Puts `new` into every span, literally but with the line endings of the place. Returns the
/// content and where the replacements lie in it.
pub fn replace(content: &[u8], spans: &[Range<usize>], new: &str) -> (Vec<u8>, Vec<Range<usize>>) {
    let with_crlf = crlf(new);
    let mut result = Vec::with_capacity(content.len());
    let mut placed = Vec::with_capacity(spans.len());
    let mut from = 0;
    for span in spans {
        result.extend_from_slice(content.get(from..span.start).unwrap_or_default());
        let text = if is_crlf_place(content, span) { with_crlf.as_str() } else { new };
        placed.push(result.len()..result.len() + text.len());
        result.extend_from_slice(text.as_bytes());
        from = span.end;
    }
    result.extend_from_slice(content.get(from..).unwrap_or_default());
    (result, placed)
}

/// The text with every line ending as CRLF.
pub fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Whether lines end in CRLF here: by the span itself, else by the end of its line, else by the end
/// of the line before.
fn is_crlf_place(content: &[u8], span: &Range<usize>) -> bool {
    let inside = Endings::of(content.get(span.clone()).unwrap_or_default());
    if inside.lines() > 0 {
        return inside.crlf > inside.lf;
    }
    let next = content.get(span.end..).and_then(|rest| memchr::memchr(b'\n', rest));
    let feed = next
        .map(|at| span.end + at)
        .or_else(|| content.get(..span.start).and_then(|before| memchr::memrchr(b'\n', before)));
    feed.and_then(|at| at.checked_sub(1)).is_some_and(|at| content.get(at) == Some(&b'\r'))
}

#[cfg(test)]
mod tests;
