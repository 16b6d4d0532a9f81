//! Why a text was not found: the place in a file that is most like it, and the first difference.
//!
//! Pure, for error messages only; nothing is ever changed on the ground of what is found here.

use super::matching::fold;
use super::text;

/// How alike two lines must be to be worth showing, in hundredths.
const CUTOFF: usize = 55;
/// Lines of the place that are shown.
const SHOWN_LINES: usize = 12;
/// Characters of a line that are shown or compared.
const LINE_CHARS: usize = 300;
/// Characters that must agree for a text to be taken as beginning inside a line.
const MIN_ALIKE: usize = 3;
/// Lines of a file that are compared.
const MAX_LINES: usize = 200_000;

/// The nearest place to `old` in `content`, told for the model; none if nothing is like it.
pub fn explain(content: &[u8], old: &str) -> Option<String> {
    let old_lines: Vec<&str> = old.lines().collect();
    let old_ends = old.ends_with('\n');
    let (offset, anchor) = old_lines
        .iter()
        .enumerate()
        .max_by_key(|(at, line)| (line.trim().len(), usize::MAX - at))?;
    let best = most_alike(content, anchor)?;
    let first = best.saturating_sub(offset);
    let place: Vec<(usize, &[u8])> = lines(content)
        .enumerate()
        .skip(first)
        .take(old_lines.len().clamp(1, SHOWN_LINES))
        .collect();
    let shown: Vec<String> = place
        .iter()
        .map(|(at, line)| format!("{}: {}", at + 1, text::shown(line, line.len(), LINE_CHARS)))
        .collect();
    let compared = old_lines.iter().enumerate().skip(offset.saturating_sub(best));
    let difference = place.iter().zip(compared).find_map(|((number, line), (at, old))| {
        let line = String::from_utf8_lossy(text::chomp(line));
        let edge = Edge { first: at == 0, last: at + 1 == old_lines.len() && !old_ends };
        difference(&line, old, edge).map(|what| format!("Line {}{what}", number + 1))
    });
    let unended = old_ends && place.last().is_some_and(|(_, line)| !line.ends_with(b"\n"));
    let unended = unended.then(|| "The file has no newline at its end, old_string has one.".into());
    let difference = difference.or(unended);
    let difference = difference.map_or_else(String::new, |what| format!("\n{what}"));
    Some(format!("The nearest place is:\n{}{difference}", shown.join("\n")))
}

/// Where a line of the wanted text stands in it: its first may begin inside a line of the file, its
/// last may end inside one.
#[derive(Clone, Copy)]
struct Edge {
    first: bool,
    last: bool,
}

fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|&byte| byte == b'\n').take(MAX_LINES)
}

/// The index of the line most like this one, by pairs of neighbouring characters.
fn most_alike(content: &[u8], anchor: &str) -> Option<usize> {
    let mut wanted: Vec<(char, char)> = pairs(anchor).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return None;
    }
    let mut seen = vec![usize::MAX; wanted.len()]; // the last line that had the pair
    let mut score = |(at, line): (usize, &[u8])| {
        let (mut shared, mut all) = (0, 0);
        for pair in pairs(&String::from_utf8_lossy(line)) {
            all += 1;
            let place = wanted.binary_search(&pair).ok().and_then(|place| seen.get_mut(place));
            if let Some(last) = place.filter(|last| **last != at) {
                *last = at;
                shared += 1;
            }
        }
        // A text may be a part of a line: how much of it is there counts as much as likeness.
        let part = 100 * shared / wanted.len();
        let likeness = 200 * shared / (wanted.len() + all);
        (usize::midpoint(part, likeness), usize::MAX - at)
    };
    let (score, at) = lines(content).enumerate().map(&mut score).max()?;
    (score >= CUTOFF).then_some(usize::MAX - at)
}

fn pairs(line: &str) -> impl Iterator<Item = (char, char)> {
    let plain = || line.trim().chars().take(LINE_CHARS).map(fold);
    plain().zip(plain().skip(1))
}

/// Where a line of the file first differs from a line of the wanted text.
fn difference(line: &str, old: &str, edge: Edge) -> Option<String> {
    let line: Vec<char> = line.chars().collect();
    let old: Vec<char> = old.chars().collect();
    let start = if edge.first { beginning(&line, &old) } else { 0 };
    let here = line.get(start..).unwrap_or_default();
    let same = here.iter().zip(&old).take_while(|(a, b)| a == b).count();
    let (in_file, given) = (here.get(same), old.get(same));
    if given.is_none() && (edge.last || in_file.is_none()) {
        return None;
    }
    Some(format!(
        ", column {}: the file has {}, old_string has {}.",
        start + same + 1,
        code_point(in_file.copied()),
        code_point(given.copied())
    ))
}

/// Where in the line the text seems to begin: where most of its beginning is found.
fn beginning(line: &[char], old: &[char]) -> usize {
    let alike = |start: usize| {
        let here = line.iter().skip(start).zip(old).take(LINE_CHARS);
        here.take_while(|(a, b)| fold(**a) == fold(**b)).count()
    };
    let best =
        (0..line.len().min(LINE_CHARS)).max_by_key(|&start| (alike(start), usize::MAX - start));
    best.filter(|&start| alike(start) >= MIN_ALIKE).unwrap_or(0)
}

/// `U+00A0 (no-break space)`, `U+0061 ("a")`, `the end of the line`.
fn code_point(c: Option<char>) -> String {
    let Some(c) = c else { return "the end of the line".to_owned() };
    let name = match c {
        '\t' => "tab",
        ' ' => "space",
        '\r' => "carriage return",
        '\u{A0}' => "no-break space",
        '\u{AD}' => "soft hyphen",
        '\u{200B}' => "zero-width space",
        '\u{200C}' | '\u{200D}' => "zero-width joiner",
        '\u{202F}' => "narrow no-break space",
        '\u{3000}' => "ideographic space",
        '\u{FEFF}' => "byte order mark",
        '\u{FFFD}' => "a byte that is not UTF-8",
        '\u{300}'..='\u{36F}' => "a combining accent",
        c if c.is_control() => "a control character",
        c => return format!("U+{:04X} (\"{c}\")", u32::from(c)),
    };
    format!("U+{:04X} ({name})", u32::from(c))
}

#[cfg(test)]
mod tests;
