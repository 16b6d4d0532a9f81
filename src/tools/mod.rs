//! The tools: what the model can do in the workspace.
//!
//! A tool is a plain synchronous type (see [`Tool`]); [`Registry`] erases its argument type. The
//! driver runs tools on blocking threads, gives each a [`ToolContext`], and turns a panic into an
//! outcome. Every fault of a tool is an [`Outcome`] that tells the model what to do next.

pub mod arguments;
pub mod beneath;
pub mod clean;
pub mod collect;
pub mod custom;
pub mod diff;
pub mod edit;
#[cfg(test)]
mod fixture;
pub mod glob;
pub mod grep;
pub mod lenient;
pub mod matching;
pub mod nearest;
pub mod output;
pub mod paths;
pub mod read;
pub mod registry;
pub mod save;
pub mod schema;
pub mod shell;
pub mod snapshot;
pub mod strict;
pub mod text;
pub mod walk;
pub mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::event::{FileChange, FileSeen};
use crate::jobs::Jobs;
use crate::mask::Masks;
use crate::sandbox::Confinement;
use paths::{Resolved, Workspace};

/// What a call would do, for policy and scheduling. Pure: known from the arguments alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Only looks; may run beside other reads.
    Read,
    /// Changes this file (the path as the model gave it).
    Write(String),
    /// Runs a command.
    Exec {
        /// The whole of it.
        command: String,
        /// Why it wants to run outside the sandbox; none = it stays inside.
        leave: Option<String>,
    },
    /// Stops a job that was started before.
    Stop,
}

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What the model is told. Never empty.
    pub content: String,
    /// The tool did not do what was asked.
    pub is_error: bool,
    /// File versions that count as read from here on.
    pub files: Vec<FileSeen>,
    /// The outcome in a few words for the screen (`42 lines`, `3 matches in 2 files`, `exit 1`).
    pub summary: String,
    /// What changed in a file, as a unified diff without its two file lines.
    pub diff: Option<String>,
}

impl Outcome {
    /// A success: what the model is told, and the few words for the screen.
    pub fn ok(content: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { content: content.into(), summary: summary.into(), ..Self::default() }
    }

    /// A failure: what went wrong and what the model should do next. Its first line is shown to
    /// the user too.
    pub fn error(content: impl Into<String>) -> Self {
        let content = content.into();
        let summary = content.lines().next().unwrap_or_default().to_owned();
        Self { content, is_error: true, summary, ..Self::default() }
    }
}

/// One tool. The name, the description and the doc comments of the argument fields are what the
/// model reads: they say when to use it, what each argument means and what comes back.
pub trait Tool: 'static {
    /// The name in the table, `[a-z_]+`.
    const NAME: &'static str;
    /// When to use it and what comes back; also its guidance in the system prompt.
    const DESCRIPTION: &'static str;
    /// The arguments; doc comments become the schema's descriptions.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;
    /// [`Tool::DESCRIPTION`], with what only the machine knows filled in. The same on every call.
    fn description() -> String {
        Self::DESCRIPTION.to_owned()
    }
    /// What the call would do.
    fn effect(args: &Self::Args) -> Effect;
    /// The file or folder that the call is about, as the model gave it.
    fn path(_args: &Self::Args) -> Option<String> {
        None
    }
    /// What the call is about in one line for the screen: a path, a pattern, a command.
    fn subject(args: &Self::Args) -> String;
    /// What a question about the call shows beside the subject: the change, as lines of a diff.
    fn preview(_args: &Self::Args) -> Option<String> {
        None
    }
    /// Does it. Long work checks `context.cancelled()` often.
    fn run(args: Self::Args, context: &ToolContext<'_>) -> Outcome;
}

/// Records that a file is about to change, before it does. An error means that the log could not
/// be written, and the change must not happen.
pub trait Journal: Sync {
    /// Writes the event; `before` is the content that the change replaces, to be kept for undo.
    fn file_change(&self, change: FileChange, before: Option<&[u8]>) -> Result<(), String>;
}

/// What a running tool has around it.
pub struct ToolContext<'a> {
    /// Where it may read and write.
    pub workspace: &'a Workspace,
    /// The only file that it may change, links resolved; none where nobody has decided on one.
    pub target: Option<&'a Path>,
    /// The session's id, for the names of temporary files.
    pub session_id: &'a str,
    /// The call it answers.
    pub call_id: &'a str,
    /// File versions that were read or written in this session: real path to SHA-256.
    pub known: &'a BTreeMap<PathBuf, String>,
    /// Set when the user interrupts.
    pub cancel: &'a tokio_util::sync::CancellationToken,
    /// Where changes are announced.
    pub journal: &'a dyn Journal,
    /// A folder for whole outputs that were cut for the model; made when first needed.
    pub output_dir: &'a Path,
    /// Environment variables that children must not see (provider keys).
    pub hidden_env: &'a [String],
    /// What must not be kept or shown of an output.
    pub masks: &'a Masks,
    /// The box that commands run in; none if they may run free.
    pub sandbox: Option<&'a Confinement>,
    /// What runs in the background.
    pub jobs: &'a Jobs,
    /// Runs the asynchronous part of `shell`.
    pub runtime: &'a tokio::runtime::Handle,
}

impl ToolContext<'_> {
    /// [`Workspace::resolve`] for a file that is to be changed: it must be the one that was decided on.
    pub fn resolve_target(&self, given: &str) -> Result<Resolved, String> {
        let path = self.workspace.resolve(given)?;
        if self.target.is_some_and(|target| target != path.real) {
            return Err(format!(
                "`{given}` leads to another file now than when this change was decided on: a link on \
                 the way has changed. Nothing was changed. Send the call again."
            ));
        }
        Ok(path)
    }

    /// True once the user has interrupted.
    pub fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
