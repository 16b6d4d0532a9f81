//! The agent: one session, one model, one set of tools, and what can be asked of them.
//!
//! The driver that headless runs and the REPL share. It owns the session and the model, and tells
//! what happens as [`Update`]s; questions to the user go out as [`Question`]s.

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::update::{TurnSummary, Update};

/// A question about an action that needs the user's consent.
#[derive(Debug)]
pub struct Question {
    /// The tool.
    pub tool: String,
    /// What it is called on: the path, or the whole command.
    pub subject: String,
    /// What would change in a file, as a unified diff, or the whole content of a new one.
    pub diff: Option<String>,
    /// The working directory of a command.
    pub cwd: String,
    /// Where the answer goes. Dropping it means no.
    pub answer: oneshot::Sender<Answer>,
}

/// The user's answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This time.
    Yes,
    /// Yes, and do not ask again about this tool in this session.
    Always,
    /// No; the comment, if any, is for the model.
    No(Option<String>),
}

/// What fills the context window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextReport {
    /// Tokens in use, as the provider last reported plus what was added since.
    pub tokens: u64,
    /// The window, where known.
    pub window: Option<u64>,
    /// Where the window's figure comes from.
    pub window_origin: String,
    /// Where automatic compaction sets in.
    pub compact_at: Option<u64>,
    /// Labelled parts in estimated tokens: system prompt, tools, messages by kind.
    pub parts: Vec<(String, u64)>,
}

/// See the module.
pub struct Agent {
    updates: mpsc::UnboundedSender<Update>,
    questions: Option<mpsc::UnboundedSender<Question>>,
}

impl Agent {
    /// Runs one turn to its end. An error is a failure to begin it (the log cannot be written);
    /// every other fault is in the summary's ending.
    pub async fn turn(
        &mut self,
        prompt: &str,
        cancel: &CancellationToken,
    ) -> Result<TurnSummary, Error> {
        let _ = (prompt, cancel, &self.updates, &self.questions);
        Err(Error::failed("turn", "not built yet"))
    }

    /// `/compact [focus]`: replaces old history by a summary. Says what came of it.
    pub async fn compact(
        &mut self,
        focus: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let _ = (focus, cancel);
        Err(Error::failed("compact", "not built yet"))
    }

    /// `/context`.
    pub fn context(&self) -> ContextReport {
        ContextReport::default()
    }

    /// `/tools`: name and first sentence of each tool.
    pub fn tools(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// `/model` without a name: provider and model in use.
    pub fn model(&self) -> (String, String) {
        (String::new(), String::new())
    }

    /// `/model NAME`: another model of the same provider from the next step on. Says what changed.
    pub fn switch_model(&mut self, name: &str) -> Result<String, Error> {
        Err(Error::usage(format!("cannot switch to {name}"), "not built yet"))
    }

    /// The session's id, and its file where it is saved.
    pub fn session(&self) -> (String, Option<std::path::PathBuf>) {
        (String::new(), None)
    }

    /// `/new`: closes this session and begins another.
    pub fn new_session(&mut self) -> Result<(), Error> {
        Err(Error::failed("new session", "not built yet"))
    }

    /// `/resume [ID]`: closes this session and goes on with another; none = the latest other one.
    pub fn resume_session(&mut self, id: Option<&str>) -> Result<(), Error> {
        let _ = id;
        Err(Error::failed("resume", "not built yet"))
    }
}
