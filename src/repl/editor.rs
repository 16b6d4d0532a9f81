//! The line editor: a thread that reads a line when asked to.
//!
//! The library blocks while it reads, so it has a thread of its own, and all reading of keys
//! happens there: messages, and answers to questions. Where the terminal cannot be edited on
//! (a pipe, a dumb terminal), lines are read as they come.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Event, EventHandler, Helper};
use tokio::sync::oneshot;

use super::complete::complete;
use super::keys::{Handler, Keys, goes_on};
use super::tty::{Quiet, Tty};
use crate::error::Error;
use crate::mask::Masks;
use crate::ui::sanitize;
use crate::ui::style::{Palette, Style};

/// Messages kept in the history file.
const HISTORY_MESSAGES: usize = 1_000;
/// Bytes of a message that is kept; a longer one would make a poor line to edit.
const HISTORY_BYTES: usize = 16 * 1024;

/// What came of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, or several.
    Text(String),
    /// Ctrl-C on an empty line.
    Interrupted,
    /// Ctrl-D on an empty line, or the end of the input.
    Eof,
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct EditorOptions {
    /// The file of earlier messages; made with its folder when first needed.
    pub history: Option<PathBuf>,
    /// A message that holds one of these is not remembered.
    pub masks: Masks,
    /// Keys can be read one by one and the cursor moved: a terminal, and not a dumb one.
    pub rich: bool,
    /// Colours are wanted.
    pub color: bool,
    /// Where `@path` starts.
    pub root: PathBuf,
}

struct Request {
    prompt: String,
    /// It is an answer that is wanted, not a message.
    question: bool,
    reply: oneshot::Sender<Line>,
}

/// See the module.
#[derive(Debug)]
pub struct Editor {
    requests: mpsc::Sender<Request>,
    pending: Option<oneshot::Receiver<Line>>,
    tty: Arc<Tty>,
    rich: bool,
    models: Names,
    /// The user was told that what is typed ahead waits.
    told: bool,
}

/// Names for completion, shared with the thread that reads.
type Names = Arc<Mutex<Vec<String>>>;

impl Editor {
    /// Starts the thread. Call it after [`super::signals::Signals::listen`].
    pub fn start(options: EditorOptions) -> Result<Self, Error> {
        let (requests, incoming) = mpsc::channel();
        let rich = options.rich;
        let tty = Arc::new(Tty::new());
        let models = Names::default();
        let reader = (tty.clone(), models.clone());
        if rich {
            tokio::spawn(tty.clone().keep_modes());
        }
        thread::Builder::new()
            .name("keys".into())
            .spawn(move || Reader::new(options, reader).run(&incoming))
            .map_err(|error| Error::failed("cannot start the line editor", error))?;
        Ok(Self { requests, pending: None, tty, rich, models, told: false })
    }

    /// The names that complete behind `/model` from now on.
    pub fn complete_models(&self, names: Vec<String>) {
        *self.models.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Paints the prompt and begins to read a message; [`Editor::line`] waits for it.
    pub fn ask_message(&mut self, prompt: &str) {
        self.request(prompt, false);
    }

    /// Begins to read the answer to a question. What was typed before the question was seen does
    /// not answer it; it goes into the next message.
    pub fn ask_answer(&mut self, prompt: &str) {
        self.request(prompt, true);
    }

    fn request(&mut self, prompt: &str, question: bool) {
        // A read that is still waiting for a line goes on; there is only one keyboard.
        if self.pending.is_none() {
            let (reply, pending) = oneshot::channel();
            self.pending = Some(pending);
            let prompt = prompt.to_owned();
            let _ = self.requests.send(Request { prompt, question, reply });
        }
    }

    /// Waits for the line that was asked for. May be dropped and called again.
    pub async fn line(&mut self) -> Line {
        let Some(pending) = self.pending.as_mut() else { return Line::Eof };
        let line = pending.await.unwrap_or(Line::Eof);
        self.pending = None;
        line
    }

    /// True once: when keys that cannot be seen wait for the next prompt and the user is to be told.
    pub fn typed_ahead(&mut self) -> bool {
        let tell = !self.told && self.rich && self.pending.is_none() && self.tty.has_typed();
        self.told |= tell;
        tell
    }

    /// See [`Tty::quiet`]. Nothing changes where lines are read as they come: that needs the
    /// terminal's own line mode, also for an answer in the middle of a turn.
    pub fn quiet(&self) -> Option<Quiet> {
        self.rich.then(|| self.tty.quiet())
    }
}

impl Drop for Editor {
    /// Leaves the terminal as it was found, also in the middle of a read, or after one that began
    /// while the terminal was quiet and left it so.
    fn drop(&mut self) {
        if self.pending.is_some() {
            self.tty.restore(self.rich);
        } else if self.rich {
            self.tty.restore_modes();
        }
    }
}

type Rustyline = rustyline::Editor<Help, DefaultHistory>;

/// The thread's side.
struct Reader {
    options: EditorOptions,
    tty: Arc<Tty>,
    keys: Arc<Keys>,
    editor: Option<Rustyline>,
    /// Keys from before a question, for the next message.
    typed: String,
}

impl Reader {
    fn new(options: EditorOptions, (tty, models): (Arc<Tty>, Names)) -> Self {
        let keys = Arc::new(Keys::default());
        let mut editor = options.rich.then(|| rich_editor(&options, &keys, &models)).flatten();
        if let (Some(editor), Some(path)) = (editor.as_mut(), &options.history) {
            // No file yet, or not readable: begin with an empty history.
            let _ = editor.load_history(path);
        }
        Self { options, tty, keys, editor, typed: String::new() }
    }

    fn run(mut self, requests: &mpsc::Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            let line = if request.question {
                self.answer(&request.prompt)
            } else {
                self.message(&request.prompt)
            };
            if request.reply.send(line).is_err() {
                break;
            }
        }
    }

    fn message(&mut self, prompt: &str) -> Line {
        let Some(editor) = self.editor.as_mut() else { return plain_line(prompt, goes_on) };
        let typed = std::mem::take(&mut self.typed).replace('\r', "\n");
        let start = sanitize::text(&typed).trim_end_matches('\n').to_owned();
        match read(editor, (&self.tty, &self.keys), prompt, &start) {
            Line::Text(text) => {
                let text = self.keys.finish(&text);
                self.remember(&text);
                Line::Text(text)
            }
            ended @ (Line::Interrupted | Line::Eof) => ended,
        }
    }

    fn answer(&mut self, prompt: &str) -> Line {
        self.typed.push_str(&self.tty.typed());
        // An editor of its own: keys left over in the other one must not answer.
        let make = || rich_editor(&self.options, &self.keys, &Names::default());
        let editor = self.options.rich.then(make).flatten();
        let Some(mut editor) = editor else { return plain_line(prompt, |_| false) };
        self.keys.asking(true);
        let line = read(&mut editor, (&self.tty, &self.keys), prompt, "");
        self.keys.asking(false);
        line
    }

    fn remember(&mut self, text: &str) {
        let Some(editor) = self.editor.as_mut() else { return };
        let too_long = text.len() > HISTORY_BYTES;
        if too_long || text.trim().is_empty() || self.options.masks.hit(text) {
            return;
        }
        let added = editor.add_history_entry(text).unwrap_or(false);
        if let Some(path) = self.options.history.as_deref().filter(|_| added) {
            // A history that cannot be written is no reason to lose the message.
            let _ = private_file(path);
            let _ = editor.append_history(path);
        }
    }
}

/// Reads until there is a line. Ctrl-Z, a resize or a stray byte can end a read of the library early;
/// then it goes on with what was typed.
fn read(editor: &mut Rustyline, (tty, keys): (&Tty, &Keys), prompt: &str, start: &str) -> Line {
    let mut start = (start.to_owned(), String::new());
    loop {
        let (before, behind) = (&start.0, &start.1);
        match tty.read(|| editor.readline_with_initial(prompt, (before, behind))) {
            Ok(text) => return Line::Text(text),
            Err(ReadlineError::Interrupted) => match keys.take_stopped() {
                Some(line) => {
                    tty.stop();
                    start = line;
                    continue;
                }
                None => return Line::Interrupted,
            },
            Err(ReadlineError::Signal(_)) => {}
            Err(ReadlineError::Io(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidData | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => return Line::Eof,
        }
        if let Some(help) = editor.helper() {
            start = (help.seen.borrow().clone(), String::new());
        }
    }
}

fn rich_editor(options: &EditorOptions, keys: &Arc<Keys>, models: &Names) -> Option<Rustyline> {
    let config = Config::builder()
        .max_history_size(HISTORY_MESSAGES)
        .ok()?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .tab_stop(8)
        .build();
    let mut editor = Rustyline::with_config(config).ok()?;
    editor.set_helper(Some(Help {
        root: options.root.clone(),
        models: models.clone(),
        palette: Palette { color: options.color },
        seen: RefCell::default(),
    }));
    editor.bind_sequence(Event::Any, EventHandler::Conditional(Box::new(Handler(keys.clone()))));
    Some(editor)
}

/// Makes the history file, readable by its owner alone.
fn private_file(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    Ok(())
}

/// Reads a line without editing. A backslash at its end, or an open code block, continues it.
fn plain_line(prompt: &str, goes_on: impl Fn(&str) -> bool) -> Line {
    if io::stdin().is_terminal() {
        let mut out = io::stdout();
        let _ = out.write_all(prompt.as_bytes()).and_then(|()| out.flush());
    }
    plain_read(&mut io::stdin().lock(), goes_on)
}

fn plain_read(input: &mut impl BufRead, goes_on: impl Fn(&str) -> bool) -> Line {
    let mut text = String::new();
    loop {
        let mut bytes = Vec::new();
        let ended = !matches!(input.read_until(b'\n', &mut bytes), Ok(count) if count > 0);
        if ended && text.is_empty() {
            return Line::Eof;
        }
        let line = String::from_utf8_lossy(&bytes);
        text.push_str(line.trim_end_matches(['\n', '\r']));
        if ended {
            return Line::Text(text.trim_end_matches('\n').to_owned());
        }
        if text.ends_with('\\') {
            text.pop();
        } else if !goes_on(&text) {
            return Line::Text(text);
        }
        text.push('\n');
    }
}

/// Completion, and what the line looks like.
struct Help {
    root: PathBuf,
    models: Names,
    palette: Palette,
    /// The line as last seen.
    seen: RefCell<String>,
}

impl Helper for Help {}

impl Validator for Help {}

impl Hinter for Help {
    type Hint = String;
}

impl Completer for Help {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(complete(line, pos, &self.root, &models))
    }
}

impl Highlighter for Help {
    /// Control characters in the line (from a quoted key or the history) are not shown: the
    /// library counts them as taking no room, and the terminal would obey them.
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        line.clone_into(&mut self.seen.borrow_mut());
        let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
        if line.contains(obeyed) {
            Cow::Owned(line.replace(obeyed, ""))
        } else {
            Cow::Borrowed(line)
        }
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(self.palette.paint(Style::Bold, prompt))
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        line.clone_into(&mut self.seen.borrow_mut());
        // A character that must not be shown needs a redraw instead of an echo.
        line.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
    }
}

#[cfg(test)]
mod tests;
