//! What the line editor's library does not do by itself: pastes, Enter, Ctrl-C.
//!
//! A bracketed paste arrives here key by key and goes into the line as one piece, so that nothing
//! in it acts as a key. A long one is shown as a short mark, since a line editor redraws the whole
//! input with each key; the mark is replaced by the text when the message is sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustyline::{
    Cmd, ConditionalEventHandler, Event, EventContext, KeyCode, KeyEvent, Modifiers, Movement,
    RepeatCount,
};

use crate::ui::figures::count;

/// A paste up to these sizes is shown as it is.
const SHOWN_LINES: usize = 20;
const SHOWN_BYTES: usize = 2_000;
/// A Ctrl-C that comes this long after the rest of a paste was pressed by a person.
const PAUSE: Duration = Duration::from_millis(300);
const MARK: &str = "[pasted text #";

/// What the keys of one editor share with the thread that reads.
#[derive(Debug, Default)]
pub(super) struct Keys {
    paste: Mutex<Option<Paste>>,
    kept: Mutex<Vec<String>>,
    /// Lines that Enter went on from because of the backslash at their end. The library can
    /// insert, but not replace and move on, so the backslash goes when the message is sent.
    continued: Mutex<Vec<String>>,
    asking: AtomicBool,
    /// Ctrl-Z ended the read: the text before the cursor and behind it.
    stopped: Mutex<Option<(String, String)>>,
}

/// A paste that is still arriving.
#[derive(Debug)]
struct Paste {
    text: String,
    after_return: bool,
    last: Instant,
}

/// The handler of every key.
pub(super) struct Handler(pub(super) Arc<Keys>);

impl ConditionalEventHandler for Handler {
    fn handle(
        &self,
        event: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext,
    ) -> Option<Cmd> {
        self.0.key(*event.get(0)?, context.line(), context.pos())
    }
}

impl Keys {
    /// Whether the line is an answer to a question: then Ctrl-C always ends it, and Enter too.
    pub(super) fn asking(&self, asking: bool) {
        self.asking.store(asking, Ordering::Relaxed);
    }

    /// The line that Ctrl-Z was pressed in, once.
    pub(super) fn take_stopped(&self) -> Option<(String, String)> {
        lock(&self.stopped).take()
    }

    /// What to do on a key, given the line and the cursor in it; none = what is usual.
    fn key(&self, key: KeyEvent, line: &str, cursor: usize) -> Option<Cmd> {
        let mut paste = lock(&self.paste);
        if let Some(open) = paste.as_mut() {
            if !open.ends_with(key) {
                return Some(Cmd::Noop);
            }
            let text = paste.take().map(|paste| paste.text).unwrap_or_default();
            return Some(self.pasted(text));
        }
        let asking = self.asking.load(Ordering::Relaxed);
        match key {
            KeyEvent(KeyCode::BracketedPasteStart, _) => {
                *paste = Some(Paste::new());
                Some(Cmd::Noop)
            }
            KeyEvent(KeyCode::BracketedPasteEnd, _) => Some(Cmd::Noop),
            // The library would set its modes again before the process has stopped.
            KeyEvent(KeyCode::Char('Z'), Modifiers::CTRL) => {
                let (before, behind) = line.split_at_checked(cursor).unwrap_or((line, ""));
                *lock(&self.stopped) = Some((before.to_owned(), behind.to_owned()));
                Some(Cmd::Interrupt)
            }
            _ if asking => None,
            KeyEvent(KeyCode::Enter, Modifiers::NONE) => self.enter(line, cursor),
            KeyEvent(KeyCode::Enter, Modifiers::ALT)
            | KeyEvent(KeyCode::Char('J'), Modifiers::CTRL) => Some(Cmd::Newline),
            KeyEvent(KeyCode::Char('C'), Modifiers::CTRL) if !line.is_empty() => {
                Some(Cmd::Kill(Movement::WholeBuffer))
            }
            _ => None,
        }
    }

    fn pasted(&self, text: String) -> Cmd {
        let lines = text.lines().count();
        if text.is_empty() {
            return Cmd::Noop;
        }
        if lines <= SHOWN_LINES && text.len() <= SHOWN_BYTES {
            return Cmd::Insert(1, text);
        }
        let mut kept = lock(&self.kept);
        kept.push(text);
        let mark = kept.last().map(|text| mark(kept.len(), text)).unwrap_or_default();
        Cmd::Insert(1, mark)
    }

    /// Enter sends, unless the message obviously goes on.
    fn enter(&self, line: &str, cursor: usize) -> Option<Cmd> {
        if cursor == line.len() && line.ends_with('\\') {
            let last = line.rsplit('\n').next().unwrap_or(line);
            lock(&self.continued).push(last.to_owned());
            return Some(Cmd::Newline);
        }
        goes_on(line).then_some(Cmd::Newline)
    }

    /// The message as it is meant: without the backslashes that continued a line, and with the
    /// text of every paste in place of its mark. Both are forgotten.
    pub(super) fn finish(&self, message: &str) -> String {
        let mut continued = std::mem::take(&mut *lock(&self.continued));
        let mut joined = String::with_capacity(message.len());
        for line in message.split_inclusive('\n') {
            let text = line.strip_suffix('\n').filter(|text| text.ends_with('\\'));
            match text.and_then(|text| continued.iter().position(|c| c == text)) {
                Some(at) => {
                    let text = continued.swap_remove(at);
                    joined.extend([text.strip_suffix('\\').unwrap_or_default(), "\n"]);
                }
                None => joined.push_str(line),
            }
        }
        self.expand(&joined)
    }

    fn expand(&self, message: &str) -> String {
        let kept = std::mem::take(&mut *lock(&self.kept));
        let marks: Vec<_> = (1..).zip(&kept).map(|(n, text)| (mark(n, text), text)).collect();
        let mut out = String::with_capacity(message.len());
        let mut rest = message;
        while let Some(at) = rest.find(MARK) {
            let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
            out.push_str(before);
            let found =
                marks.iter().find_map(|(m, text)| Some((from.strip_prefix(m.as_str())?, text)));
            if let Some((after, text)) = found {
                out.push_str(text);
                rest = after;
            } else {
                out.push_str(MARK);
                rest = from.strip_prefix(MARK).unwrap_or_default();
            }
        }
        out.push_str(rest);
        out
    }
}

impl Paste {
    fn new() -> Self {
        Self { text: String::new(), after_return: false, last: Instant::now() }
    }

    /// Takes a key in; true if it ends the paste. Keys that are no text are dropped: in a paste
    /// they can only be control characters.
    fn ends_with(&mut self, key: KeyEvent) -> bool {
        let after_return = std::mem::take(&mut self.after_return);
        let now = Instant::now();
        let paused = now.saturating_duration_since(self.last) > PAUSE;
        self.last = now;
        match key {
            KeyEvent(KeyCode::BracketedPasteEnd, _) => return true,
            // The end was lost on the way; without this nothing could be typed any more.
            KeyEvent(KeyCode::Char('C'), Modifiers::CTRL) if paused => {
                self.text.clear();
                return true;
            }
            KeyEvent(KeyCode::Enter, Modifiers::NONE) => {
                self.text.push('\n');
                self.after_return = true;
            }
            KeyEvent(KeyCode::Char('J'), Modifiers::CTRL) if !after_return => self.text.push('\n'),
            KeyEvent(KeyCode::Tab, Modifiers::NONE) => self.text.push('\t'),
            KeyEvent(KeyCode::Char(c), Modifiers::NONE) => self.text.push(c),
            _ => {}
        }
        false
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mark(number: usize, text: &str) -> String {
    let lines = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
    format!("{MARK}{number}, {}]", count(lines, "line"))
}

/// A code block is open. Two empty lines end the waiting for its fence.
pub(super) fn goes_on(message: &str) -> bool {
    let fences = message.lines().filter(|line| line.trim_start().starts_with("```")).count();
    fences % 2 == 1 && !message.ends_with("\n\n")
}

#[cfg(test)]
mod tests;
