//! What stands in the place of old history: the summary message, a cut tool output, and the
//! mechanical digest for when no model can write a summary.
//!
//! Pure. The user's own words are carried over by the program, never left to the summary.

use crate::client::request::Message;
use crate::session::state::Entry;

/// The user's last request is carried whole up to this many bytes.
const LAST_REQUEST: usize = 24_000;
/// Earlier requests are carried, newest first, up to this many bytes together.
const EARLIER_REQUESTS: usize = 6_000;
/// A tool output longer than this is cut to its ends.
const CUT_OVER: usize = 600;
/// Bytes kept at either end of a cut tool output.
const CUT_KEEP: usize = 200;
/// A line of the digest.
const DIGEST_LINE: usize = 160;
/// Lines in a digest at most; the newest are kept.
const DIGEST_LINES: usize = 60;

/// The message that replaces old history: the summary, then the user's requests word for word.
pub fn message(summary: &str, requests: &[(u64, String)], to_seq: u64) -> String {
    let mut text = format!(
        "[Earlier conversation, summarised. The messages themselves are no longer here; files on \
         disk are the truth.]\n{}",
        summary.trim()
    );
    let (earlier, last) = carried(requests, to_seq);
    if !earlier.is_empty() {
        text.push_str("\n\n[Earlier requests of the user, word for word; their limits still hold]");
        for request in earlier {
            text.push_str("\n- ");
            text.push_str(request);
        }
    }
    if let Some(last) = last {
        text.push_str("\n\n[The user's latest request before this point, word for word]\n");
        text.push_str(&shorten(last, LAST_REQUEST / 2));
    }
    text
}

/// Requests up to a position: earlier ones, oldest first and within their budget, and the last.
fn carried(requests: &[(u64, String)], to_seq: u64) -> (Vec<&str>, Option<&str>) {
    let mut older = requests.iter().rev().filter(|(seq, _)| *seq <= to_seq).map(|(_, t)| &**t);
    let last = older.next();
    let mut left = EARLIER_REQUESTS;
    let mut earlier: Vec<&str> = older
        .take_while(|text| {
            let fits = text.len() <= left;
            left = left.saturating_sub(text.len());
            fits
        })
        .collect();
    earlier.reverse();
    (earlier, last)
}

/// Cuts a long tool output to its two ends and says so. Cutting twice changes nothing more.
pub fn cut_output(content: &mut String) {
    if content.len() > CUT_OVER {
        *content = shorten(content, CUT_KEEP);
    }
}

/// Both ends of a text, `keep` bytes each, with what was left out between them stated.
fn shorten(text: &str, keep: usize) -> String {
    if text.len() <= 2 * keep + 100 {
        return text.to_owned();
    }
    let head = text.get(..text.floor_char_boundary(keep)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - keep)..).unwrap_or_default();
    let cut = text.len() - head.len() - tail.len();
    format!("{head}\n[… {cut} bytes left out to save space …]\n{tail}")
}

/// A digest of messages without a model: one line for each, the newest kept.
pub fn digest(entries: &[Entry]) -> String {
    let mut lines: Vec<String> = entries.iter().filter_map(digest_line).collect();
    let left_out = lines.len().saturating_sub(DIGEST_LINES);
    lines.drain(..left_out);
    let mut text = "What happened, in short lines (no summary could be written):".to_owned();
    if left_out > 0 {
        text.push_str("\n- (earlier messages are left out)");
    }
    for line in lines {
        text.push_str("\n- ");
        text.push_str(&line);
    }
    text
}

fn digest_line(entry: &Entry) -> Option<String> {
    let line = |who: &str, text: &str| format!("{who}: {}", first_line(text));
    match &entry.message {
        Message::User(text) | Message::Summary(text) => Some(line("user", text)),
        Message::Assistant(reply) => {
            let calls: Vec<String> = reply
                .tool_calls
                .iter()
                .map(|call| format!("{} {}", call.name, first_line(&call.arguments)))
                .collect();
            let calls =
                if calls.is_empty() { String::new() } else { format!(" → {}", calls.join("; ")) };
            Some(format!("{}{}", line("you", &reply.content), first_line(&calls)))
        }
        Message::Tool { .. } => None,
    }
}

fn first_line(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    line.get(..line.floor_char_boundary(DIGEST_LINE)).unwrap_or_default()
}
