//! What is logged: the kinds of event a session consists of, and their lines.
//!
//! One JSON object per line; `type`, `seq` and `at` come first, then the fields of the kind. Field
//! names are a public format. Kinds that this version does not know become [`Event::Unknown`]: they
//! are kept in the file and skipped by the fold.

mod assistant;
mod line;

use serde::{Deserialize, Serialize};

use crate::message::{Reply, Usage, is_false};

/// The version of the log format that this program writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// The first line of a session file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always `session`.
    #[serde(rename = "type")]
    pub kind: String,
    /// [`FORMAT_VERSION`] at the time of writing.
    pub version: u32,
    /// `<UTC time>-<random>`, also the file's name.
    pub id: String,
    /// RFC 3339, UTC, milliseconds.
    pub created_at: String,
    /// The workspace, absolute.
    pub cwd: String,
    /// The version of the program that began the session.
    pub xsh: String,
    /// The session that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// Tells this user's own sessions from those that came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// An event with its place in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Position, from 1; order in the file is what counts, not time.
    pub seq: u64,
    /// RFC 3339, UTC, milliseconds.
    pub at: String,
    /// What happened.
    pub event: Event,
}

/// What can happen in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The system prompt from here on.
    SystemPrompt(SystemPrompt),
    /// A user message opens a turn or continues it.
    UserMessage(UserMessage),
    /// The model replied.
    AssistantMessage(AssistantMessage),
    /// A tool is about to run; written before it does.
    ToolStarted(ToolStarted),
    /// A call got its one outcome.
    ToolResult(ToolResult),
    /// Old history was replaced.
    Compaction(Compaction),
    /// Another model answers from here on.
    ModelChanged(ModelChanged),
    /// An action was allowed or denied by question, rule or mode; or the mode changed.
    Permission(Permission),
    /// A file is about to change, written before it does; or a command has changed it.
    FileChange(FileChange),
    /// The session goes back to an earlier point; written before any file is put back.
    Rewind(Rewind),
    /// The files of the rewind before it have been put back.
    RewindFinished(RewindFinished),
    /// A turn ended.
    TurnFinished(TurnFinished),
    /// A kind from a newer version, by its name.
    Unknown(String),
}

/// See [`Event::SystemPrompt`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPrompt {
    /// The whole text.
    pub content: String,
}

/// Who wrote a user message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The person at the keyboard or the script.
    #[default]
    User,
    /// The program itself, to keep the loop going (a cut answer, a repeated call).
    Xsh,
}

impl Author {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde's skip_serializing_if asks for it"
    )]
    fn is_user(&self) -> bool {
        matches!(self, Self::User)
    }
}

/// See [`Event::UserMessage`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The turn it belongs to, from 1.
    pub turn: u32,
    /// The text.
    pub content: String,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Author::is_user")]
    pub author: Author,
}

/// See [`Event::AssistantMessage`].
#[derive(Clone, Debug, PartialEq)]
pub struct AssistantMessage {
    /// The turn.
    pub turn: u32,
    /// The step within the turn, from 1.
    pub step: u32,
    /// The provider preset that answered.
    pub provider: String,
    /// The model that answered.
    pub model: String,
    /// What it said.
    pub reply: Reply,
    /// Cut short by the user; what had arrived is kept.
    pub partial: bool,
}

/// See [`Event::ToolStarted`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStarted {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
}

/// A file version a tool has shown to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// Absolute, links resolved.
    pub path: String,
    /// SHA-256 of the whole content, lower-case hex.
    pub sha256: String,
}

/// See [`Event::ToolResult`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// What the model is told.
    pub content: String,
    /// The tool did not do what was asked.
    #[serde(default)]
    pub is_error: bool,
    /// How long it ran; 0 for calls that never started.
    #[serde(default)]
    pub duration_ms: u64,
    /// File versions that count as read from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileSeen>,
    /// A command that may have changed files which cannot be put back: nobody looked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unwatched: bool,
}

/// How old history was shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionKind {
    /// The model's summary replaced the messages.
    #[default]
    Summary,
    /// Long tool outputs were cut, without the model.
    Cut,
    /// A mechanical digest replaced the messages, without the model.
    Digest,
}

impl CompactionKind {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde's skip_serializing_if asks for it"
    )]
    fn is_summary(&self) -> bool {
        matches!(self, Self::Summary)
    }
}

/// What set a compaction off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The window filled up.
    Auto,
    /// The provider refused the request as too long.
    Overflow,
    /// `/compact`.
    Manual,
    /// A trigger from a newer version.
    #[serde(other)]
    Other,
}

/// See [`Event::Compaction`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// First event whose message is replaced.
    pub from_seq: u64,
    /// Last event whose message is replaced.
    pub to_seq: u64,
    /// The text in their place; empty for a cut.
    pub summary: String,
    /// Size of the context before, in tokens.
    pub tokens_before: u64,
    /// Size of the context after, in tokens.
    pub tokens_after: u64,
    /// What set it off.
    pub trigger: Trigger,
    /// How it was done.
    #[serde(default, skip_serializing_if = "CompactionKind::is_summary")]
    pub kind: CompactionKind,
    /// Tokens of the summary request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// See [`Event::ModelChanged`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChanged {
    /// The provider preset.
    pub provider: String,
    /// The model.
    pub model: String,
    /// How hard it is to think, where the user has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

/// See [`Event::Permission`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    /// The call that asked; empty where the mode changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call_id: String,
    /// The answer.
    pub allowed: bool,
    /// Who or what decided, in words for the reader of a log.
    pub reason: String,
    /// The mode from here on, where it changed. For the reader of a log: a resumed session takes
    /// the mode of the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// Who changes a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedBy {
    /// `write` or `edit`; the model knows the new content.
    #[default]
    Tool,
    /// A command; found by comparing, written after it.
    Command,
}

impl ChangedBy {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde's skip_serializing_if asks for it"
    )]
    fn is_tool(&self) -> bool {
        *self == Self::Tool
    }
}

/// In [`FileChange::mode`] and [`Restored::mode`], a symbolic link; its content is its target.
pub const LINK_MODE: u32 = 0o120_000;

/// See [`Event::FileChange`]. The content before lies beside the session under its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The call that changes it.
    pub call_id: String,
    /// Absolute, links resolved.
    pub path: String,
    /// SHA-256 of the content before; none for a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// SHA-256 of the content after; empty where the file is gone.
    pub after: String,
    /// Unix permission bits before, or [`LINK_MODE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The same after, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_after: Option<u32>,
    /// Who changes it.
    #[serde(default, skip_serializing_if = "ChangedBy::is_tool")]
    pub by: ChangedBy,
}

/// See [`Event::Rewind`]. Nothing is deleted from the log: what came after the point stays readable
/// in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewind {
    /// The user message that the session is before again, by its position.
    pub to_seq: u64,
    /// The messages from there on no longer count.
    pub conversation: bool,
    /// Files whose content from before the point is put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Restored>,
}

/// A file of a [`Rewind`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// Absolute, links resolved.
    pub path: String,
    /// SHA-256 of the content that is put back; none: the file did not exist and is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Unix permission bits that are put back, or [`LINK_MODE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// SHA-256 of what it takes the place of; empty where there was nothing. Tells a rewind that is
    /// finished later what is still to be done, and what is somebody else's by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// The mode of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_was: Option<u32>,
}

/// See [`Event::RewindFinished`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindFinished {
    /// Files that hold the content from before the point.
    pub restored: u64,
    /// Files that were left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftAlone>,
}

/// A file that a rewind did not put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftAlone {
    /// Absolute.
    pub path: String,
    /// The reason, in words.
    pub why: String,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The model answered without a tool call.
    Completed,
    /// The user interrupted.
    Cancelled,
    /// The step limit was reached.
    StepLimit,
    /// The model repeated the same calls without end.
    Repeating,
    /// Two empty answers in a row.
    Empty,
    /// The provider's filter withheld the answer.
    Refused,
    /// Provider, network or internal failure.
    Error,
    /// An ending from a newer version.
    #[serde(other)]
    Other,
}

/// See [`Event::TurnFinished`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnFinished {
    /// The turn.
    pub turn: u32,
    /// How it ended.
    pub ending: Ending,
    /// Model replies in it.
    pub steps: u32,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// The reason in words, where the ending alone does not say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

#[derive(Serialize)]
struct Line<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    seq: u64,
    at: &'a str,
    #[serde(flatten)]
    body: T,
}

impl Record {
    /// The record as one line of the log, with its line feed.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        fn line<T: Serialize>(record: &Record, kind: &str, body: T) -> serde_json::Result<Vec<u8>> {
            let line = Line { kind, seq: record.seq, at: &record.at, body };
            let mut bytes = serde_json::to_vec(&line)?;
            bytes.push(b'\n');
            Ok(bytes)
        }
        let kind = self.event.kind();
        match &self.event {
            Event::SystemPrompt(body) => line(self, kind, body),
            Event::UserMessage(body) => line(self, kind, body),
            Event::AssistantMessage(body) => line(self, kind, body.line()),
            Event::ToolStarted(body) => line(self, kind, body),
            Event::ToolResult(body) => line(self, kind, body),
            Event::Compaction(body) => line(self, kind, body),
            Event::ModelChanged(body) => line(self, kind, body),
            Event::Permission(body) => line(self, kind, body),
            Event::FileChange(body) => line(self, kind, body),
            Event::Rewind(body) => line(self, kind, body),
            Event::RewindFinished(body) => line(self, kind, body),
            Event::TurnFinished(body) => line(self, kind, body),
            Event::Unknown(_) => line(self, kind, serde_json::Map::new()),
        }
    }
}

impl Event {
    /// The name of the kind in the log.
    pub fn kind(&self) -> &str {
        match self {
            Self::SystemPrompt(_) => "system_prompt",
            Self::UserMessage(_) => "user_message",
            Self::AssistantMessage(_) => "assistant_message",
            Self::ToolStarted(_) => "tool_started",
            Self::ToolResult(_) => "tool_result",
            Self::Compaction(_) => "compaction",
            Self::ModelChanged(_) => "model_changed",
            Self::Permission(_) => "permission",
            Self::FileChange(_) => "file_change",
            Self::Rewind(_) => "rewind",
            Self::RewindFinished(_) => "rewind_finished",
            Self::TurnFinished(_) => "turn_finished",
            Self::Unknown(kind) => kind,
        }
    }
}
