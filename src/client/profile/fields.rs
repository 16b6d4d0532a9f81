//! The optional fields that a request may hold: what a provider can refuse and xsh can leave out.

use serde::{Deserialize, Serialize};

/// An optional field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// `stream_options`.
    StreamOptions,
    /// `tool_choice`.
    ToolChoice,
    /// `reasoning_effort`.
    ReasoningEffort,
    /// `thinking`.
    Thinking,
    /// `enable_thinking`.
    EnableThinking,
    /// `reasoning`, the request's.
    Reasoning,
    /// `chat_template_kwargs`.
    ChatTemplate,
    /// `tool_stream`.
    ToolStream,
    /// `reasoning_split`.
    ReasoningSplit,
    /// `reasoning_format`.
    ReasoningFormat,
    /// `prompt_cache_key`.
    CacheKey,
    /// `reasoning_content`, `reasoning` and `reasoning_details` of a message.
    Replay,
    /// `extra_content` of a call.
    ExtraContent,
    /// `name` of a tool message.
    ToolName,
}

/// Names on the wire. The first that an error names is meant, so a longer name stands before one
/// that it contains.
const REQUEST: &[(&str, Field)] = &[
    ("stream_options", Field::StreamOptions),
    ("include_usage", Field::StreamOptions),
    ("tool_choice", Field::ToolChoice),
    ("reasoning_effort", Field::ReasoningEffort),
    ("reasoning_split", Field::ReasoningSplit),
    ("reasoning_format", Field::ReasoningFormat),
    ("chat_template_kwargs", Field::ChatTemplate),
    ("enable_thinking", Field::EnableThinking),
    ("thinking", Field::Thinking),
    ("tool_stream", Field::ToolStream),
    ("prompt_cache_key", Field::CacheKey),
    ("reasoning", Field::Reasoning),
];

/// Those inside a message.
const MESSAGE: &[(&str, Field)] = &[
    ("reasoning_content", Field::Replay),
    ("reasoning_details", Field::Replay),
    ("reasoning", Field::Replay),
    ("extra_content", Field::ExtraContent),
    ("name", Field::ToolName),
];

impl Field {
    /// The request field of this name; none for one that xsh never sends by itself.
    pub fn of_request(name: &str) -> Option<Self> {
        REQUEST.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }

    /// Its name in a request.
    pub fn name(self) -> &'static str {
        let mut names = REQUEST.iter().chain(MESSAGE);
        names.find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    /// The field that the words name. `in_message`: it stands inside a message.
    pub fn named(words: &[&str], in_message: bool) -> Option<Self> {
        let table = if in_message { MESSAGE } else { REQUEST };
        let find = |table: &[(&str, Self)]| {
            table.iter().find(|(name, _)| words.contains(name)).map(|(_, field)| *field)
        };
        // `reasoning_content` exists in messages only, wherever the error says it stands.
        find(table).or_else(|| find(&MESSAGE[..2]))
    }
}

/// A set of fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields(u32);

impl Fields {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// True for a member.
    pub fn contains(self, field: Field) -> bool {
        self.0 & (1 << field as u32) != 0
    }

    /// Adds one.
    pub fn insert(&mut self, field: Field) {
        self.0 |= 1 << field as u32;
    }
}
