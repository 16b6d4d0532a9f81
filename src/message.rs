//! The words of a conversation: what was said and asked for, and what it cost.
//!
//! Pure data. How a message looks on the wire is [`crate::client::request`]'s business, how it
//! is logged is [`crate::event`]'s.

use serde::{Deserialize, Serialize};

/// One tool call as the model wrote it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within its reply; made up locally where the provider sent none.
    pub id: String,
    /// The tool the model asked for; may be one that does not exist.
    pub name: String,
    /// The model's own text, normally a JSON object; may be broken or cut.
    pub arguments: String,
    /// Provider data that must go back with the call (Gemini's thought signature).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<serde_json::Value>,
    /// The stream was cut inside this call: it must never run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub incomplete: bool,
}

/// Why a reply ended, in one vocabulary for all providers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// A finished answer without tool calls.
    #[default]
    Stop,
    /// The reply holds tool calls that want to run.
    ToolCalls,
    /// Cut by the output limit.
    Length,
    /// Withheld by the provider's filter.
    ContentFilter,
    /// The provider found the context too long while answering.
    ContextOverflow,
    /// The stream carried an error.
    Error,
    /// A reason from a newer version of xsh.
    #[serde(other)]
    Other,
}

/// Tokens of one request, or a sum of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub prompt: u64,
    /// Tokens received, reasoning included.
    pub completion: u64,
    /// The part of `prompt` that came from the provider's cache.
    #[serde(default)]
    pub cached: u64,
    /// The part of `completion` that was reasoning; 0 where unreported.
    #[serde(default)]
    pub reasoning: u64,
    /// US dollars, where the provider says so or prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Usage {
    /// Adds another request's figures to a sum.
    pub fn add(&mut self, other: &Self) {
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.completion = self.completion.saturating_add(other.completion);
        self.cached = self.cached.saturating_add(other.cached);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cost = match (self.cost, other.cost) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

/// Everything a model said in one reply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The answer text; empty when the reply only calls tools.
    #[serde(default)]
    pub content: String,
    /// The answer text as the model wrote it, where calls were taken out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_content: Option<String>,
    /// The reasoning text, where the provider shows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The wire field the reasoning came in, and goes back in (`reasoning_content`, `reasoning`);
    /// `think` when it was split off the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_field: Option<String>,
    /// `OpenRouter`'s structured reasoning, kept unmodified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<serde_json::Value>,
    /// The calls, in the model's order.
    #[serde(default)]
    pub tool_calls: Vec<ToolCall>,
    /// Why the reply ended.
    #[serde(default)]
    pub finish_reason: FinishReason,
    /// Tokens, where the provider reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl Reply {
    /// True when there is nothing in it that a user or a later request could use.
    pub fn is_empty(&self) -> bool {
        self.tool_calls.is_empty()
            && self.content.trim().is_empty()
            && self.reasoning.trim().is_empty()
    }
}

/// A piece of a reply while it streams, for the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Answer text.
    Content(String),
    /// Reasoning text.
    Reasoning(String),
    /// A tool call's name became known; its arguments are still arriving.
    ToolCall(String),
    /// Something odd about the answer that the user should know.
    Note(String),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if asks for it")]
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}
