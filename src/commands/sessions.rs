//! `xsh sessions`: the sessions there are, and those in which something was said.

use std::fmt::Write;

use tokio_util::sync::CancellationToken;

use crate::brief::brief;
use crate::session::origin::Origin;
use crate::session::search::Query;
use crate::session::store::{Listed, Listing, Store};
use crate::ui::{figures::count, sanitize};

/// Sessions in a list at most.
pub const MOST: usize = 50;

/// The newest sessions, one line each.
pub fn list(store: &Store, all: bool) -> String {
    let Listing { sessions, unreadable, older } = store.list(all, MOST, &CancellationToken::new());
    let mut text = String::new();
    if sessions.is_empty() && unreadable == 0 {
        let hint =
            if all { "" } else { "; `xsh sessions list --all` shows those of other folders" };
        let _ = writeln!(text, "no sessions yet{hint}");
    }
    for session in &sessions {
        let place = if all { format!("  {}", sanitize::line(&session.cwd)) } else { String::new() };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{place}", line(session));
    }
    if older > 0 {
        let _ = writeln!(text, "({} not shown)", count(older as u64, "older session"));
    }
    if unreadable > 0 {
        let files = count(unreadable as u64, "file");
        let _ = writeln!(text, "({files} cannot be read as a session)");
    }
    text
}

/// The sessions that hold the words, the newest first and at most `most`, with where they do; those
/// found before `stop`.
pub fn search(
    store: &Store,
    all: bool,
    words: &str,
    most: usize,
    stop: &CancellationToken,
) -> String {
    let query = Query::new(words);
    let found = query.map(|query| store.search(&query, all, most + 1, stop)).unwrap_or_default();
    if found.is_empty() {
        let hint = if all { "" } else { "; --all searches those of other folders too" };
        return format!("no session holds {words}{hint}\n");
    }
    let mut text = String::new();
    for (session, places) in found.iter().take(most) {
        let place = if all { format!("  {}", sanitize::line(&session.cwd)) } else { String::new() };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{place}", line(session));
        let shown = places.places.iter().map(|place| sanitize::line(place));
        let _ = shown.into_iter().try_for_each(|place| writeln!(text, "    {place}"));
        if places.total > places.places.len() {
            let _ = writeln!(text, "    ({} more places)", places.total - places.places.len());
        }
    }
    if found.len() > most {
        let _ = writeln!(text, "(there are more; only the newest {most} are shown)");
    }
    text
}

/// One session in one line: id, size, and what it began with.
pub fn line(session: &Listed) -> String {
    let title = sanitize::line(&session.title);
    let title = brief(&title, 60);
    let size = session.size.div_ceil(1024);
    let mark = if session.origin == Origin::Foreign { "  [not written here]" } else { "" };
    format!("{}  {:>6} KB  {title}{mark}", sanitize::line(&session.id), size)
}
