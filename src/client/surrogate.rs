//! Lone surrogates: JSON may escape half a character, Rust strings can't hold it.
//!
//! Models write `\ud83d` alone, and servers cut a pair between two deltas. `serde_json` refuses
//! both. A chunk it refused is rewritten: each lone half becomes one character of the last 2,048
//! of the private plane 16, which no one else uses. A [`Joiner`] makes one character of two
//! halves that meet, and U+FFFD of a half that stays alone.

use std::borrow::Cow;

/// Where the halves U+D800..=U+DFFF are kept: U+10F800..=U+10FFFF.
const PARKED: u32 = 0x10_F800;
const HIGH: u32 = 0xD800;
const LOW: u32 = 0xDC00;
const END: u32 = 0xE000;

/// The JSON text with every lone surrogate escape replaced by what `stand_in` makes of it.
pub(super) fn rewrite(json: &str, stand_in: fn(u32) -> char) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        let (taken, after) = match half_at(escape) {
            Some(high) if high < LOW && followed_by_low(escape) => (12, None),
            Some(half) => (6, Some(half)),
            None => (1 + escape.chars().nth(1).map_or(0, char::len_utf8), None),
        };
        let (own, tail) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        match after {
            Some(half) => out.push(stand_in(half)),
            None => out.push_str(own),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Keeps the half for a [`Joiner`].
pub(super) fn park(half: u32) -> char {
    char::from_u32(PARKED + half - HIGH).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// JSON text in which lone surrogate escapes, which no parser takes, are U+FFFD.
pub(super) fn without_lone(json: String) -> String {
    let has_half = json.contains("\\ud") || json.contains("\\uD");
    if has_half { rewrite(&json, |_| char::REPLACEMENT_CHARACTER) } else { json }
}

/// The surrogate that a text beginning with `\uXXXX` escapes, if it does.
fn half_at(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    (HIGH..END).contains(&value).then_some(value)
}

fn followed_by_low(escape: &str) -> bool {
    escape.get(6..).and_then(half_at).is_some_and(|half| half >= LOW)
}

/// Joins the pieces of one text whose characters may have been cut in half.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    /// A parked high half at the end of the last piece, waiting for its low half.
    pending: Option<char>,
}

impl Joiner {
    /// The piece with its parked halves resolved; `rewritten` says whether it can hold any. A high
    /// half at the very end is kept for the next piece.
    pub(super) fn join<'a>(&mut self, piece: &'a str, rewritten: bool) -> Cow<'a, str> {
        if piece.is_empty() || (!rewritten && self.pending.is_none()) {
            return Cow::Borrowed(piece);
        }
        let mut out = String::with_capacity(piece.len() + 4);
        for next in piece.chars() {
            // Only a rewritten piece can hold a half; elsewhere the same character is meant.
            let half = parked(next).filter(|_| rewritten);
            match (self.pending.take(), half) {
                (Some(high), Some(low)) if low >= LOW => out.push(pair(high, low)),
                (waiting, half) => {
                    out.extend(waiting.map(|_| char::REPLACEMENT_CHARACTER));
                    match half {
                        Some(high) if high < LOW => self.pending = Some(next),
                        Some(_) => out.push(char::REPLACEMENT_CHARACTER),
                        None => out.push(next),
                    }
                }
            }
        }
        Cow::Owned(out)
    }

    /// The text is over: what a waiting half becomes.
    pub(super) fn finish(&mut self) -> &'static str {
        if self.pending.take().is_some() { "\u{FFFD}" } else { "" }
    }
}

/// A whole text with its parked halves resolved.
pub(super) fn resolve(text: &str) -> String {
    let mut joiner = Joiner::default();
    let mut out = joiner.join(text, true).into_owned();
    out.push_str(joiner.finish());
    out
}

fn parked(from: char) -> Option<u32> {
    u32::from(from).checked_sub(PARKED).map(|offset| HIGH + offset)
}

fn pair(high: char, low: u32) -> char {
    let high = parked(high).unwrap_or(HIGH);
    char::from_u32(0x1_0000 + ((high - HIGH) << 10) + (low - LOW))
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests;
