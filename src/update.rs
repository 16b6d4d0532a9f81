//! What the core tells the screen: one closed list of things worth showing.
//!
//! The core never prints and never waits for a screen; it sends these and goes on. Text in them is
//! raw: every screen passes it through [`crate::ui::sanitize`] before it reaches a terminal.

use std::time::Duration;

use crate::event::{AssistantMessage, CompactionKind, Ending, ToolResult, Trigger};
use crate::message::Usage;

/// One thing to show.
#[derive(Clone, Debug)]
pub enum Update {
    /// A session begins or goes on.
    SessionOpened(SessionOpened),
    /// A turn begins with this message.
    TurnStarted {
        /// From 1.
        turn: u32,
        /// What the user said.
        prompt: String,
    },
    /// A request was sent; nothing has come back yet.
    Waiting,
    /// Answer text, as it streams.
    Text(String),
    /// Reasoning, as it streams.
    Reasoning(String),
    /// The model began to write a call of this tool; its arguments are still arriving.
    ToolCallComing(String),
    /// The reply that was streaming failed: what was shown of it is withdrawn.
    ReplyDiscarded,
    /// A request failed and will be sent again after this wait.
    Retrying {
        /// Why, in the provider's words where it had any.
        reason: String,
        /// How long until then.
        wait: Duration,
        /// Which retry this is, from 1.
        attempt: u32,
        /// How many there are at most.
        of: u32,
    },
    /// A reply is complete and in the log.
    Replied(AssistantMessage),
    /// A tool begins to run.
    ToolStarted(ToolShown),
    /// A call has its outcome.
    ToolFinished {
        /// The call.
        tool: ToolShown,
        /// What the model is told.
        result: ToolResult,
        /// The outcome in a few words for one line (`42 lines`, `3 matches`, `exit 1`).
        summary: String,
        /// What changed in a file, as a unified diff without its two file lines.
        diff: Option<String>,
    },
    /// A call was denied; its outcome follows as [`Update::ToolFinished`].
    Denied(ToolShown),
    /// A summary of old history is being asked for.
    Compacting(Trigger),
    /// Old history was replaced.
    Compacted {
        /// How.
        kind: CompactionKind,
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
    },
    /// Something the user should know while work goes on.
    Warning(String),
    /// A plain line of information.
    Note(String),
    /// A turn ended.
    TurnFinished(TurnSummary),
}

/// What a session starts with, for the banner and for `stream-json`'s first line.
#[derive(Clone, Debug, Default)]
pub struct SessionOpened {
    /// The session's id.
    pub id: String,
    /// Its file; none when nothing is saved.
    pub path: Option<String>,
    /// The workspace, absolute.
    pub cwd: String,
    /// The provider preset.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Names of the registered tools, in table order.
    pub tools: Vec<String>,
    /// The permission mode's name.
    pub permission_mode: String,
    /// How well commands are confined: `full`, `partial` or `none`.
    pub sandbox: String,
    /// Instruction files that were read into the system prompt.
    pub instructions: Vec<String>,
    /// For a resumed session, how many turns it holds.
    pub resumed_turns: Option<u32>,
    /// The replies come from a script in the program, not from a model.
    pub scripted: bool,
}

/// A tool call in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolShown {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What it is called on: a path, a pattern, a command.
    pub subject: String,
}

/// The figures of the line after a turn.
#[derive(Clone, Debug)]
pub struct TurnSummary {
    /// The turn.
    pub turn: u32,
    /// How it ended.
    pub ending: Ending,
    /// The reason in words, where the ending alone does not say it.
    pub detail: String,
    /// What the user can do next, where there is something.
    pub help: Option<String>,
    /// Model replies in it.
    pub steps: u32,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// Tokens of the context now.
    pub context: u64,
    /// The model's window, where known.
    pub window: Option<u64>,
    /// What an unknown window is taken for, for the eye alone.
    pub assumed: u64,
    /// Wall time by the monotonic clock.
    pub duration: Duration,
    /// The part of it spent waiting for the model.
    pub api_duration: Duration,
    /// Background jobs that run on.
    pub jobs: usize,
    /// An action was denied in this turn.
    pub denied: bool,
    /// The final answer's text.
    pub answer: String,
}

/// What the user is asked about an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The tool.
    pub tool: String,
    /// The path, or the whole command.
    pub subject: String,
    /// What would change in a file, as a unified diff, or the whole content of a new one.
    pub diff: Option<String>,
    /// The working directory of a command.
    pub cwd: String,
    /// Why it is asked.
    pub reason: String,
    /// Why the model wants to leave the sandbox, in its own words.
    pub model_says: Option<String>,
    /// What "always" would mean, a line each; empty where that is no answer.
    pub always: Vec<String>,
}
