//! Searching one file, and keeping what will be shown.
//!
//! Every file is searched to its end, so the totals are exact; texts are kept only for the first
//! files in path order, as many as a result can show.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::query::Query;
use super::{MAX_BYTES, Mode};
use crate::tools::beneath::open_file;
use crate::tools::walk::{ByFolder, Until};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, LineIter, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch,
};

/// The longest line, and with a pattern that goes over line ends the largest file, that is
/// searched, in bytes.
pub(super) const MAX_SPAN: usize = 64 << 20;
/// The part of a line that is shown, in bytes.
const MAX_LINE: usize = 400;
/// How much of that stands before the match.
const LEAD: usize = 120;

/// What to do with each file.
pub(super) struct Job<'a> {
    pub(super) query: &'a Query,
    pub(super) mode: Mode,
    /// Lines of context on each side.
    pub(super) context: usize,
    /// Matching lines that are kept; in the other modes, files.
    pub(super) cap: usize,
    pub(super) until: Until<'a>,
}

/// One line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// It matches; else it is context.
    pub(super) hit: bool,
    /// Lines are left out before it.
    pub(super) after_gap: bool,
    pub(super) text: String,
}

/// What is kept of one file.
#[derive(Debug, Default)]
pub(super) struct FileHits {
    pub(super) lines: Vec<Line>,
    /// Matching lines; in mode `files`, and in a binary file, not all of them.
    pub(super) matches: u64,
    pub(super) binary: bool,
    /// What it counts against the cap.
    cost: usize,
    bytes: usize,
}

/// What one thread found, and in the end all of them.
#[derive(Default)]
pub(super) struct Hits {
    /// The first files with matches, in path order, up to the cap.
    pub(super) kept: BTreeMap<PathBuf, FileHits>,
    kept_cost: usize,
    kept_bytes: usize,
    pub(super) matches: u64,
    pub(super) files: u64,
    pub(super) searched: u64,
    pub(super) links: u64,
    pub(super) unreadable: u64,
    pub(super) too_long: u64,
    pub(super) hollow: u64,
    pub(super) folders: ByFolder,
}

impl Hits {
    /// Whether a file at this place in the order could still be shown.
    fn wants(&self, path: &Path, cap: usize) -> bool {
        let full = self.kept_cost >= cap || self.kept_bytes >= MAX_BYTES;
        !full || self.kept.last_key_value().is_some_and(|(last, _)| path < last.as_path())
    }

    /// Counts a file with matches, and keeps it if it could be shown.
    fn book(&mut self, path: PathBuf, below: &Path, mut file: FileHits, job: &Job<'_>) {
        self.files += 1;
        self.matches += file.matches;
        self.folders.count(below, if job.mode == Mode::Files { 1 } else { file.matches });
        if self.wants(&path, job.cap) {
            file.cost = file.lines.iter().filter(|line| line.hit).count().max(1);
            file.bytes += path.as_os_str().len();
            self.keep(path, file, job.cap);
        }
    }

    /// Keeps a file, and drops the last ones that a result has no room for any more.
    fn keep(&mut self, path: PathBuf, file: FileHits, cap: usize) {
        self.kept_cost += file.cost;
        self.kept_bytes += file.bytes;
        self.kept.insert(path, file);
        while let Some(last) = self.kept.last_entry() {
            let (cost, bytes) = (last.get().cost, last.get().bytes);
            if self.kept_cost - cost < cap && self.kept_bytes - bytes < MAX_BYTES {
                break;
            }
            last.remove();
            self.kept_cost -= cost;
            self.kept_bytes -= bytes;
        }
    }

    /// Takes in what another thread found.
    pub(super) fn merge(&mut self, other: Self, cap: usize) {
        for (path, file) in other.kept {
            self.keep(path, file, cap);
        }
        self.matches += other.matches;
        self.files += other.files;
        self.searched += other.searched;
        self.links += other.links;
        self.unreadable += other.unreadable;
        self.too_long += other.too_long;
        self.hollow += other.hollow;
        self.folders.add(other.folders);
    }
}

/// One thread's tools and what it has found. The matcher is a copy, because threads that share one
/// wait for each other.
pub(super) struct Seeker<'a> {
    job: &'a Job<'a>,
    searcher: Searcher,
    matcher: RegexMatcher,
    pub(super) hits: Hits,
}

impl<'a> Seeker<'a> {
    /// Files are not mapped into memory: a mapped file that shrinks ends the process.
    pub(super) fn new(job: &'a Job<'a>) -> Self {
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(true)
            .multi_line(job.query.multi_line)
            .before_context(job.context)
            .after_context(job.context)
            .heap_limit(Some(MAX_SPAN))
            .binary_detection(BinaryDetection::convert(0));
        if !job.query.multi_line {
            builder.line_terminator(LineTerminator::crlf());
        }
        let matcher = job.query.matcher.clone();
        Self { job, searcher: builder.build(), matcher, hits: Hits::default() }
    }

    /// Searches one file and books the result. `below` is its path from the start.
    pub(super) fn search(&mut self, path: PathBuf, below: &Path) {
        let Self { job, searcher, matcher, hits } = self;
        let keep = job.mode == Mode::Content && hits.wants(&path, job.cap);
        let mut sink = Collect { job, matcher, keep, after_gap: false, file: FileHits::default() };
        let hollow = Cell::new(false);
        let result = open_file(&path).and_then(|file| {
            let reader = Watched { file, until: job.until, hollow: &hollow };
            searcher.search_reader(&*matcher, reader, &mut sink)
        });
        let file = sink.file;
        hits.searched += 1;
        hits.hollow += u64::from(hollow.get());
        match result {
            Err(error) if error.raw_os_error().is_some() => hits.unreadable += 1,
            Err(_) if job.until.over() => {}
            Err(_) => hits.too_long += 1,
            Ok(()) => {}
        }
        if file.matches > 0 {
            hits.book(path, below, file, job);
        }
    }
}

/// A file that stops giving when the search is over, and where it holds nothing: the holes of a sparse
/// file may be as long as they like.
pub(super) struct Watched<'a> {
    pub(super) file: File,
    pub(super) until: Until<'a>,
    /// It came to a page of nothing but zero bytes.
    pub(super) hollow: &'a Cell<bool>,
}

/// So many zero bytes in a row are a hole in a disk image or a database, not text.
const PAGE: usize = 4096;

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.until.over() {
            return Err(io::Error::other("the search is over"));
        }
        let count = self.file.read(buffer)?;
        let read = buffer.get(..count).unwrap_or_default();
        if count >= PAGE && read.iter().all(|byte| *byte == 0) {
            self.hollow.set(true);
            return Ok(0);
        }
        Ok(count)
    }
}

/// Takes down the lines of one file.
struct Collect<'a> {
    job: &'a Job<'a>,
    matcher: &'a RegexMatcher,
    keep: bool,
    after_gap: bool,
    file: FileHits,
}

impl Collect<'_> {
    fn has_room(&self) -> bool {
        let hits = usize::try_from(self.file.matches).unwrap_or(usize::MAX);
        self.keep && hits <= self.job.cap && self.file.bytes < MAX_BYTES
    }

    fn push(&mut self, number: Option<u64>, hit: bool, text: String) {
        self.file.bytes += text.len() + LINE_COST;
        let after_gap = std::mem::take(&mut self.after_gap) && !self.file.lines.is_empty();
        self.file.lines.push(Line { number: number.unwrap_or_default(), hit, after_gap, text });
    }
}

/// What a line's number and marks take, about.
const LINE_COST: usize = 8;

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let mut number = found.line_number();
        for line in LineIter::new(searcher.line_terminator().as_byte(), found.bytes()) {
            self.file.matches += 1;
            if self.has_room() {
                self.push(number, true, clip(line, Some(self.matcher)));
            }
            number = number.map(|number| number + 1);
        }
        Ok(!self.file.binary && self.job.mode != Mode::Files)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.has_room() {
            self.push(context.line_number(), false, clip(context.bytes(), None));
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.after_gap = true;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.file.binary = true;
        self.file.lines.clear();
        self.keep = false;
        Ok(self.file.matches == 0)
    }
}

/// A line as text, without its end. A long one is cut to a window around its first match, and the
/// cut is stated.
fn clip(line: &[u8], matcher: Option<&RegexMatcher>) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= MAX_LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let found = matcher.and_then(|matcher| matcher.find(line).ok().flatten());
    let at = found.map_or(0, |found| found.start());
    let window = window(line, at);
    let before = if window.start > 0 { "…" } else { "" };
    let after = if window.end < line.len() { "…" } else { "" };
    let text = String::from_utf8_lossy(line.get(window).unwrap_or_default());
    format!("{before}{text}{after} [cut: the line has {} bytes]", line.len())
}

/// The bytes around `at` that are shown, on character boundaries.
fn window(line: &[u8], at: usize) -> Range<usize> {
    let inside = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let start = at.saturating_sub(LEAD).min(line.len() - MAX_LINE);
    let end = start + MAX_LINE;
    // A character has at most three bytes after its first; other data is shown lossily anyway.
    let start = (start..start + 4).find(|at| !inside(at)).unwrap_or(start);
    let end = (end - 3..=end).rev().find(|at| !inside(at)).unwrap_or(end);
    start..end
}
