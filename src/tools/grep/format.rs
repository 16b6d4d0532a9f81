//! What the model reads of a search.
//!
//! Per file its path, then `N: text` for matching lines and `N- text` for context, `--` where
//! lines are left out; an empty line between files. Notes stand in brackets at the end.

use super::search::{FileHits, Hits, Line, MAX_SPAN};
use super::{MAX_BYTES, Mode, Search};
use crate::tools::walk::{LeftOut, shown};

/// Room for the notes, in bytes.
const NOTES: usize = 2_000;

/// The whole result.
pub(super) fn render(search: &Search<'_>, hits: &Hits, mut left_out: LeftOut) -> String {
    left_out.links += hits.links;
    left_out.unreadable += hits.unreadable;
    let body = if hits.files == 0 { nothing(search, hits) } else { matches(search, hits) };
    let mut lines = vec![body];
    lines.extend(too_long(search, hits));
    lines.extend(hollow(hits));
    lines.extend(search.notes.iter().cloned());
    lines.extend(left_out.note());
    lines.join("\n")
}

fn too_long(search: &Search<'_>, hits: &Hits) -> Option<String> {
    let why = if search.job.query.multi_line {
        "the pattern goes over line ends and the file is over"
    } else {
        "a line is over"
    };
    let files = plural(hits.too_long, "file", "files");
    let note = format!("[Not searched to the end: {files}, where {why} {} MiB.]", MAX_SPAN >> 20);
    (hits.too_long > 0).then_some(note)
}

fn hollow(hits: &Hits) -> Option<String> {
    let files = plural(hits.hollow, "binary file", "binary files");
    let note = format!("[Not searched to the end: {files}, from a page of zero bytes on.]");
    (hits.hollow > 0).then_some(note)
}

/// `3 matches in 2 files`, for the screen.
pub(super) fn summary(search: &Search<'_>, hits: &Hits) -> String {
    let files = plural(hits.files, "file", "files");
    match (hits.files, search.job.mode) {
        (0, _) => "no matches".to_owned(),
        (_, Mode::Files) => files,
        _ => format!("{} in {files}", plural(hits.matches, "match", "matches")),
    }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The text so far, and how much of the result it shows.
struct Page {
    text: String,
    shown: u64,
    full: bool,
}

impl Page {
    /// Adds a line; refuses it when the page is full.
    fn line(&mut self, line: &str) {
        self.full |= self.text.len() + line.len() + 1 > MAX_BYTES - NOTES;
        if !self.full {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(line);
        }
    }

    /// Adds a line that counts as shown.
    fn counted(&mut self, line: &str) {
        self.line(line);
        self.shown += u64::from(!self.full);
    }
}

fn matches(search: &Search<'_>, hits: &Hits) -> String {
    let mut page = Page { text: String::new(), shown: 0, full: false };
    for (path, file) in &hits.kept {
        if page.full || page.shown >= search.job.cap as u64 {
            break;
        }
        let path = shown(search.start, path);
        match search.job.mode {
            _ if file.binary => page.counted(&format!("binary file matches: {path}")),
            Mode::Files => page.counted(&path),
            Mode::Count => page.counted(&format!("{path}: {}", file.matches)),
            Mode::Content => lines(&mut page, &path, file, search.job.cap as u64),
        }
    }
    let total = match search.job.mode {
        Mode::Content => hits.matches,
        Mode::Files | Mode::Count => hits.files,
    };
    if page.shown < total {
        return format!("{}\n{}", page.text, cut(search, hits, page.shown));
    }
    if search.job.mode != Mode::Files && hits.files > 1 {
        let Hits { matches, files, .. } = hits;
        return format!("{}\n[{matches} matching lines in {files} files.]", page.text);
    }
    page.text
}

fn lines(page: &mut Page, path: &str, file: &FileHits, cap: u64) {
    if !page.text.is_empty() {
        page.line("");
    }
    page.line(path);
    for Line { number, hit, after_gap, text } in &file.lines {
        if page.full || page.shown >= cap {
            return;
        }
        if *after_gap {
            page.line("--");
        }
        if *hit {
            page.counted(&format!("{number}: {text}"));
        } else {
            page.line(&format!("{number}- {text}"));
        }
    }
}

fn cut(search: &Search<'_>, hits: &Hits, shown: u64) -> String {
    let what = match search.job.mode {
        Mode::Content => format!("{} matching lines in {} files", hits.matches, hits.files),
        Mode::Files | Mode::Count => format!("{} files match", hits.files),
    };
    let folders = match hits.files {
        1 => String::new(),
        _ => format!(" By folder: {}.", hits.folders.text()),
    };
    format!(
        "[{what}; the first {shown} are shown.{folders} \
         Narrow with `path`, `glob` or a longer pattern.]"
    )
}

fn nothing(search: &Search<'_>, hits: &Hits) -> String {
    let Search { pattern, glob, start, .. } = search;
    match (glob, hits.searched) {
        (Some(glob), 0) => {
            format!("Nothing was searched: no file in `{}` matches the glob `{glob}`.", start.shown)
        }
        (glob, searched) => {
            let only = glob.map(|glob| format!(" matching `{glob}`")).unwrap_or_default();
            let searched = plural(searched, "file", "files");
            format!("No matches for `{pattern}` in `{}` ({searched}{only} searched).", start.shown)
        }
    }
}
