//! The output of a command while it runs: bounded in memory, whole on disk.
//!
//! The model gets the two ends of a long output as clean text; the bytes as they came go to a side
//! file that it can read in parts. The file is made only once the output is too long for a result,
//! for most never are. That it cannot be written, or only in part, is said in the result and stops
//! nothing: the command has run, and its ends are at hand.

use std::fmt::Write as _;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::clean::{Cleaner, Lost};
use super::output::{Ends, SPILL_BYTES, feeds, grouped, join_ends};
use crate::mask::{Masks, Stream};

/// Room kept for the note about bytes that are not text.
const NOTE_BYTES: usize = 100;

/// How many numbers are tried for the name of a side file.
const MAX_NAMES: u32 = 1_000;

/// Collects an output that comes in pieces. Holds a few times its cap, however much comes.
#[derive(Debug)]
pub struct HeadTail {
    masks: Stream,
    cleaner: Cleaner,
    window: Window,
    spill: Spill,
}

/// What came of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The clean text, cut where needed, never longer than the cap. Empty if nothing came.
    pub text: String,
    /// Lines of the whole clean text.
    pub lines: u64,
    /// Where the whole output is, if it was kept in a file.
    pub whole: Option<PathBuf>,
}

impl HeadTail {
    /// A collector for text of at most `cap` bytes, whose side file would be `folder/stem.txt`.
    pub fn new(cap: usize, folder: &Path, stem: &str) -> Self {
        Self::with_limit(cap, SPILL_BYTES, folder, stem)
    }

    /// Likewise, with another limit for the side file.
    fn with_limit(cap: usize, limit: u64, folder: &Path, stem: &str) -> Self {
        let spill =
            Spill { folder: folder.into(), stem: tame(stem), limit, state: State::default() };
        let window = Window::new(cap.saturating_sub(NOTE_BYTES));
        Self { masks: Stream::default(), cleaner: Cleaner::default(), window, spill }
    }

    /// The same, which keeps secrets out of the text and the side file.
    #[must_use]
    pub fn masked(mut self, masks: &Masks) -> Self {
        self.masks = Stream::new(masks.clone());
        self
    }

    /// Likewise, for an output that is looked at while it grows: the side file is made at once and
    /// stays.
    pub fn growing(cap: usize, folder: &Path, stem: &str) -> Self {
        let mut new = Self::new(cap, folder, stem);
        new.spill.open();
        new
    }

    /// What has come since the last time, cut where needed; `over` if nothing more will come. The
    /// side file has it all.
    pub fn take(&mut self, over: bool) -> Collected {
        if over {
            self.end_masks();
        }
        let window = &mut self.window;
        let out = &mut |text: &str| window.push(text);
        let lost = if over {
            std::mem::take(&mut self.cleaner).finish(out)
        } else {
            self.cleaner.settle(out)
        };
        let empty = Window::new(self.window.cap);
        let taken = std::mem::replace(&mut self.window, empty);
        let note = if taken.is_cut() { self.spill.note() } else { String::new() };
        collected(taken, &note, lost, self.spill.path())
    }

    /// The side file, where there is one.
    pub fn file(&self) -> Option<PathBuf> {
        self.spill.path()
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let bytes = self.masks.push(bytes);
        self.push_masked(&bytes);
    }

    fn end_masks(&mut self) {
        let rest = self.masks.finish();
        self.push_masked(&rest);
    }

    fn push_masked(&mut self, bytes: &[u8]) {
        self.cleaner.push(bytes, &mut |text| self.window.push(text));
        self.spill.push(bytes);
        if self.window.is_cut() || self.spill.held() > self.window.cap {
            self.spill.open();
        }
    }

    /// Ends the output.
    pub fn finish(mut self) -> Collected {
        self.end_masks();
        let lost = self.cleaner.finish(&mut |text| self.window.push(text));
        if self.window.is_cut() {
            self.spill.open();
        } else {
            self.spill.discard();
        }
        collected(self.window, &self.spill.note(), lost, self.spill.path())
    }
}

/// Words an output, with a note about where the whole of it is in case it has to be cut.
fn collected(window: Window, note: &str, lost: Lost, whole: Option<PathBuf>) -> Collected {
    let lines = window.line_feeds + u64::from(window.open_line);
    let mut text = if window.is_cut() { window.cut(note) } else { window.head };
    for (count, what) in [
        (lost.replaced, "bytes that are not UTF-8 text are shown as \u{fffd}"),
        (lost.states, "states of redrawn lines are left out"),
    ] {
        if count > 0 {
            let gap = if text.ends_with('\n') { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{gap}[{} {what}]", grouped(count));
        }
    }
    Collected { text, lines, whole }
}

/// The two ends of a text that is pushed through it.
#[derive(Debug)]
struct Window {
    cap: usize,
    head: String,
    tail: String,
    bytes: u64,
    line_feeds: u64,
    /// The last line has text but no line feed.
    open_line: bool,
}

impl Window {
    fn new(cap: usize) -> Self {
        let (head, tail) = (String::new(), String::new());
        Self { cap, head, tail, bytes: 0, line_feeds: 0, open_line: false }
    }

    fn is_cut(&self) -> bool {
        self.bytes > self.cap as u64
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let room = if self.is_cut() { 0 } else { self.cap - self.head.len() };
        let (head, rest) =
            text.split_at_checked(text.floor_char_boundary(room)).unwrap_or((text, ""));
        self.head.push_str(head);
        self.bytes += text.len() as u64;
        self.line_feeds += feeds(text);
        self.open_line = !text.ends_with('\n');
        self.tail.push_str(rest);
        if self.tail.len() > 2 * self.cap {
            let start = self.tail.ceil_char_boundary(self.tail.len() - self.cap);
            self.tail.drain(..start);
        }
    }

    fn cut(&self, note: &str) -> String {
        let (bytes, line_feeds) = (self.bytes, self.line_feeds);
        // An output only a little over the cap has most of its end in the head.
        let both = if self.tail.len() < self.cap {
            format!("{}{}", self.head, self.tail)
        } else {
            String::new()
        };
        let tail = if both.is_empty() { &self.tail } else { &both };
        join_ends(Ends { head: &self.head, tail, bytes, line_feeds }, self.cap, note)
    }
}

/// The side file.
#[derive(Debug)]
struct Spill {
    folder: PathBuf,
    stem: String,
    limit: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not needed so far; everything that came.
    Held(Vec<u8>),
    Open {
        file: File,
        path: PathBuf,
        bytes: u64,
    },
    /// It could not be made or written, and why; the path if something was written.
    Failed {
        path: Option<PathBuf>,
        why: String,
    },
}

impl Default for State {
    fn default() -> Self {
        Self::Held(Vec::new())
    }
}

impl Spill {
    fn held(&self) -> usize {
        match &self.state {
            State::Held(bytes) => bytes.len(),
            State::Open { .. } | State::Failed { .. } => 0,
        }
    }

    fn push(&mut self, more: &[u8]) {
        match &mut self.state {
            State::Held(held) => held.extend_from_slice(more),
            State::Open { file, path, bytes } => {
                let room = usize::try_from(self.limit.saturating_sub(*bytes)).unwrap_or(usize::MAX);
                let part = more.get(..room).unwrap_or(more);
                match file.write_all(part) {
                    Ok(()) => *bytes += more.len() as u64,
                    Err(error) => {
                        let (path, why) = (Some(std::mem::take(path)), error.to_string());
                        self.state = State::Failed { path, why };
                    }
                }
            }
            State::Failed { .. } => {}
        }
    }

    /// Makes the file and moves into it what was held.
    fn open(&mut self) {
        let State::Held(held) = &mut self.state else { return };
        let held = std::mem::take(held);
        match create(&self.folder, &self.stem) {
            Ok((file, path)) => {
                self.state = State::Open { file, path, bytes: 0 };
                self.push(&held);
            }
            Err(error) => {
                let why = format!("{}: {error}", self.folder.display());
                self.state = State::Failed { path: None, why };
            }
        }
    }

    /// What is left out of the result was not much: the file is of no use.
    fn discard(&mut self) {
        if let Some(path) = self.path() {
            // A file that stays behind does no harm.
            let _ = std::fs::remove_file(path);
        }
        self.state = State::default();
    }

    fn path(&self) -> Option<PathBuf> {
        match &self.state {
            State::Held(_) => None,
            State::Open { path, .. } => Some(path.clone()),
            State::Failed { path, .. } => path.clone(),
        }
    }

    fn note(&self) -> String {
        match &self.state {
            State::Held(_) => String::new(),
            State::Open { path, bytes, .. } if *bytes > self.limit => format!(
                "the first {} of {} bytes are in {}",
                grouped(self.limit),
                grouped(*bytes),
                path.display()
            ),
            State::Open { path, .. } => format!("the whole output is in {}", path.display()),
            State::Failed { path: Some(path), why } => {
                format!("only a part of the output could be kept, in {}: {why}", path.display())
            }
            State::Failed { path: None, why } => {
                format!("the whole output could not be kept: {why}")
            }
        }
    }
}

/// Makes a new file that only the user can read, in a folder that only the user can enter.
fn create(folder: &Path, stem: &str) -> io::Result<(File, PathBuf)> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    for number in 1..=MAX_NAMES {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{stem}{suffix}.txt"));
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, path)),
        }
    }
    Err(io::Error::other(format!("there are too many files named {stem}")))
}

/// A call's id as a file name: providers choose ids, and some hold slashes and colons.
fn tame(stem: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let tame: String = stem.chars().take(64).map(safe).collect();
    if tame.is_empty() { "output".to_owned() } else { tame }
}

#[cfg(test)]
mod tests;
