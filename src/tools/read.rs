//! The `read` tool: a window of a text file, with line numbers.
//!
//! Files up to the edit limit are read whole, because their hash is what later changes are checked
//! against; of larger ones only the window is kept. Not text, not shown: binary files are named by
//! kind and size.

use crate::hash;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::paths::{self, Resolved};
use super::save::ABSENT;
use super::text::{self, EDIT_LIMIT, Encoding, Endings, Form};
use super::{Effect, Outcome, Tool, ToolContext};
use crate::event::FileSeen;

/// Lines shown when no limit is given.
const DEFAULT_LIMIT: u64 = 2_000;
/// Characters of a line that are shown.
const LINE_CHARS: usize = 2_000;
/// Bytes of a line that are kept while reading: enough for [`LINE_CHARS`] in any script.
const LINE_BYTES: usize = 4 * LINE_CHARS + 8;
/// Bytes of the lines in a result; the rest of its 30,000 is for path and notes.
const RESULT_BYTES: usize = 29_000;
/// Bytes looked at to tell text from binary.
const HEAD_BYTES: usize = 8 * 1024;
/// Bytes after which the lines of a large file are no longer counted, once the window is full.
const COUNT_BYTES: u64 = 64 * 1024 * 1024;
/// Lines between two looks at the cancel token.
const CANCEL_LINES: u64 = 4_096;

/// Shows a file.
pub struct Read;

/// What `read` is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReadArgs {
    /// Relative to the workspace, or absolute.
    pub file_path: String,
    /// The first line to show, from 1.
    #[serde(default)]
    pub offset: Option<i64>,
    /// How many lines; default 2000.
    #[serde(default)]
    pub limit: Option<i64>,
}

impl Tool for Read {
    const NAME: &'static str = "read";
    const DESCRIPTION: &'static str = "Shows a text file; needed before it can be changed. Returns its path, its lines as `N: \
        text`, and a last line in brackets with line endings, number of lines and what was \
        cut. For folders use `glob`.";
    type Args = ReadArgs;

    fn effect(_: &ReadArgs) -> Effect {
        Effect::Read
    }

    fn path(args: &ReadArgs) -> Option<String> {
        Some(args.file_path.clone())
    }

    fn subject(args: &ReadArgs) -> String {
        args.file_path.clone()
    }

    fn run(args: ReadArgs, context: &ToolContext<'_>) -> Outcome {
        read(&args, context).unwrap_or_else(|failure| failure)
    }
}

/// The lines that were asked for.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// From 1.
    first: u64,
    limit: u64,
}

impl Window {
    /// An offset of 0 is taken for the beginning; it can mean nothing else.
    fn of(args: &ReadArgs) -> Result<Self, String> {
        let first = u64::try_from(args.offset.unwrap_or(1)).map_err(|_| {
            "`offset` is negative. Lines count from 1; the last line of a result says how many there \
             are."
        })?;
        let limit = match args.limit {
            None => DEFAULT_LIMIT,
            Some(limit) => u64::try_from(limit)
                .ok()
                .filter(|&limit| limit > 0)
                .ok_or("`limit` must be at least 1. Leave it out to see as much as fits.")?,
        };
        Ok(Self { first: first.max(1), limit })
    }
}

fn read(args: &ReadArgs, context: &ToolContext<'_>) -> Result<Outcome, Outcome> {
    let window = Window::of(args).map_err(Outcome::error)?;
    let path = context
        .workspace
        .resolve_readable(&args.file_path, context.output_dir)
        .map_err(Outcome::error)?;
    match paths::open_regular(&path).map_err(Outcome::error)? {
        Some((mut file, meta)) => {
            show(&path, &mut file, meta.len(), window, context).map_err(Outcome::error)
        }
        None => Err(missing(args, &path, context)),
    }
}

/// A file that the session knew and that is gone is noted as absent, so that it may be created.
fn missing(args: &ReadArgs, path: &Resolved, context: &ToolContext<'_>) -> Outcome {
    let mut outcome = Outcome::error(context.workspace.missing(&args.file_path, path));
    if context.known.contains_key(Path::new(&path.key())) {
        outcome.files = vec![FileSeen { path: path.key(), sha256: ABSENT.to_owned() }];
    }
    outcome
}

fn show(
    path: &Resolved,
    file: &mut impl io::Read,
    length: u64,
    window: Window,
    context: &ToolContext<'_>,
) -> Result<Outcome, String> {
    let failed = |error: io::Error| format!("`{}` cannot be read: {error}.", path.shown);
    let mut start = Vec::new();
    file.by_ref().take(EDIT_LIMIT as u64 + 1).read_to_end(&mut start).map_err(failed)?;
    if let Some(kind) = binary_kind(&start) {
        let size = text::size(length.max(start.len() as u64));
        return Err(format!(
            "`{}` is not text but {kind} ({size}). It is not shown; look into it with `shell` (file, \
             strings, xxd) if needed.",
            path.shown
        ));
    }
    let form = Form::of(&start);
    let whole = start.len() <= EDIT_LIMIT;
    let mut scan = Scan { size: path.shown.len(), ..Scan::default() };
    let scanned = if whole {
        scan.run(&mut Cursor::new(form.decode(&start)), window, u64::MAX, context)
    } else if form.encoding == Encoding::Utf8 {
        let body = form.decode(&start);
        let mut all = BufReader::new(Cursor::new(body).chain(file));
        scan.run(&mut all, window, COUNT_BYTES, context)
    } else {
        return Err(format!("`{}` is UTF-16 and too large. Use `shell` (iconv).", path.shown));
    };
    scanned.map_err(failed)?;
    scan.check_offset(path, window)?;
    let mut notes: Vec<String> = form.note().map(str::to_owned).into_iter().collect();
    let mut files = Vec::new();
    if whole {
        files.push(FileSeen { path: path.key(), sha256: hash::sha256(&start) });
    } else {
        let (size, limit) = (text::size(length), text::size(EDIT_LIMIT as u64));
        notes.push(format!("The file has {size}; above {limit} it cannot be edited."));
    }
    let content = scan.render(path, window, notes);
    let summary = text::plural(scan.lines.len() as u64, "line");
    Ok(Outcome { files, ..Outcome::ok(content, summary) })
}

/// What is found on the way through a text.
#[derive(Default)]
struct Scan {
    /// The window, rendered: `N: text`.
    lines: Vec<String>,
    /// Bytes of the result so far.
    size: usize,
    endings: Endings,
    /// Lines so far.
    count: u64,
    /// The text was read to its end, so that `count` is all of them.
    complete: bool,
    /// The last line so far has no line feed.
    unfinished: bool,
    /// No further line fits into the result.
    full: bool,
    /// What is odd about the lines shown, as sentences.
    oddities: BTreeSet<&'static str>,
}

/// The line that is being read.
#[derive(Default)]
struct Line {
    /// Its beginning.
    kept: Vec<u8>,
    length: usize,
    /// Carriage returns in it.
    crs: u64,
    /// Its last two bytes so far.
    tail: [u8; 2],
}

impl Scan {
    fn run(
        &mut self,
        text: &mut impl BufRead,
        window: Window,
        count_bytes: u64,
        context: &ToolContext<'_>,
    ) -> io::Result<()> {
        let mut line = Line::default();
        let (mut bytes, mut rounds) = (0, 0_u64);
        loop {
            rounds += 1;
            if rounds.is_multiple_of(CANCEL_LINES) && context.cancelled() {
                return Err(io::Error::other("the user interrupted"));
            }
            let buffer = text.fill_buf()?;
            if buffer.is_empty() {
                self.complete = true;
                break;
            }
            let end = memchr::memchr(b'\n', buffer);
            let used = end.map_or(buffer.len(), |at| at + 1);
            line.push(buffer.get(..used).unwrap_or_default());
            text.consume(used);
            bytes += used as u64;
            if end.is_some() {
                self.end_line(&line, window);
                line = Line::default();
            }
            if bytes > count_bytes && self.is_done(window) {
                break;
            }
        }
        if line.length > 0 && self.complete {
            self.end_line(&line, window);
        }
        Ok(())
    }

    /// The window holds all that it can.
    fn is_done(&self, window: Window) -> bool {
        self.full || self.lines.len() as u64 >= window.limit
    }

    fn end_line(&mut self, line: &Line, window: Window) {
        self.count += 1;
        let (lf, crlf) = (line.tail[1] == b'\n', line.tail == *b"\r\n");
        self.endings.lone_cr += line.crs - u64::from(crlf);
        self.endings.crlf += u64::from(crlf);
        self.endings.lf += u64::from(lf && !crlf);
        self.unfinished = !lf;
        if self.count >= window.first && !self.is_done(window) {
            self.keep(line);
        }
    }

    fn keep(&mut self, line: &Line) {
        let text = format!("{}: {}", self.count, text::shown(&line.kept, line.length, LINE_CHARS));
        if self.size + text.len() + 1 > RESULT_BYTES {
            self.full = true;
            return;
        }
        self.size += text.len() + 1;
        // A cut may fall inside a character: that is no fault of the file.
        let broken = std::str::from_utf8(&line.kept).err();
        if broken.is_some_and(|error| error.error_len().is_some()) {
            self.oddities
                .insert("Not all UTF-8: other bytes are shown as U+FFFD; edits keep them.");
        }
        if line.kept.contains(&0) {
            self.oddities.insert("NUL characters are shown as ␀.");
        }
        self.lines.push(text);
    }

    fn check_offset(&self, path: &Resolved, window: Window) -> Result<(), String> {
        if window.first == 1 || window.first <= self.count {
            return Ok(());
        }
        Err(format!(
            "`{}` has {}; `offset` {} is past its end.",
            path.shown,
            text::plural(self.count, "line"),
            window.first
        ))
    }

    fn render(&self, path: &Resolved, window: Window, notes: Vec<String>) -> String {
        let mut parts = vec![format!("Line endings: {}.", self.endings), self.total()];
        if self.complete && self.unfinished {
            parts.push("No newline at end of file.".to_owned());
        }
        if self.complete && self.count == 0 {
            parts.insert(0, "The file is empty.".to_owned());
        }
        parts.extend(notes);
        parts.extend(self.oddities.iter().map(|&oddity| oddity.to_owned()));
        parts.extend(self.cut(window));
        let mut lines = vec![path.shown.clone()];
        lines.extend(self.lines.iter().cloned());
        lines.push(format!("[{}]", parts.join(" ")));
        lines.join("\n")
    }

    fn total(&self) -> String {
        let more = if self.complete { "" } else { "more than " };
        format!("Total lines: {more}{}.", self.count)
    }

    /// What of the file is not in the window, and how to go on.
    fn cut(&self, window: Window) -> Option<String> {
        let next = window.first + self.lines.len() as u64;
        let more = !self.complete || next <= self.count;
        if !more && window.first == 1 {
            return None;
        }
        let shown = format!("Shown: lines {}-{}.", window.first, next - 1);
        Some(if more { format!("{shown} Go on with offset {next}.") } else { shown })
    }
}

impl Line {
    fn push(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.length += bytes.len();
        self.crs += memchr::memchr_iter(b'\r', bytes).count() as u64;
        self.tail = match bytes {
            [.., a, b] => [*a, *b],
            [b] => [self.tail[1], *b],
            [] => self.tail,
        };
    }
}

/// What a file is that is not text; `None` for text.
fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 20] = [
        (b"\x7fELF", "an ELF executable or library"),
        (b"MZ\x90\0", "a Windows executable"),
        (b"\xcf\xfa\xed\xfe", "a Mach-O executable"),
        (b"\xca\xfe\xba\xbe", "a Java class or Mach-O executable"),
        (b"\0asm", "a WebAssembly module"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"RIFF", "a RIFF file (WebP, WAV, AVI)"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive (also jar, docx, xlsx)"),
        (b"\x1f\x8b", "gzip data"),
        (b"BZh", "bzip2 data"),
        (b"\xfd7zXZ", "xz data"),
        (b"\x28\xb5\x2f\xfd", "zstd data"),
        (b"7z\xbc\xaf", "a 7z archive"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"!<arch>\n", "an ar archive (static library)"),
        (b"\xff\xfe\0\0", "UTF-32 text"),
        (b"\0\0\xfe\xff", "UTF-32 text"),
    ];
    if Form::of(bytes).encoding != Encoding::Utf8 {
        return None;
    }
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    let nul = head.contains(&0);
    // The first letters alone prove nothing: a text may begin with `RIFF`.
    let odd = nul || std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some());
    let known = MAGIC.iter().find(|(magic, _)| odd && bytes.starts_with(magic));
    known.map(|(_, name)| *name).or(nul.then_some("binary data (it holds NUL bytes)"))
}

#[cfg(test)]
mod tests;
