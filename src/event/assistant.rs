//! The line of an assistant message: its reply is flat in the log.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::AssistantMessage;
use crate::message::{FinishReason, Reply, ToolCall, Usage, is_false};

/// The flat form of [`AssistantMessage`] in the log. Written out, because serde's `flatten` would
/// buffer every line of a log on reading.
#[derive(Serialize, Deserialize)]
pub(super) struct AssistantLine<'a> {
    turn: u32,
    step: u32,
    #[serde(default)]
    provider: Cow<'a, str>,
    #[serde(default)]
    model: Cow<'a, str>,
    #[serde(default)]
    content: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw_content: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    reasoning: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning_field: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Cow<'a, serde_json::Value>>,
    #[serde(default)]
    tool_calls: Cow<'a, [ToolCall]>,
    #[serde(default)]
    finish_reason: FinishReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "is_false")]
    partial: bool,
}

impl AssistantMessage {
    pub(super) fn line(&self) -> AssistantLine<'_> {
        let reply = &self.reply;
        AssistantLine {
            turn: self.turn,
            step: self.step,
            provider: Cow::Borrowed(&self.provider),
            model: Cow::Borrowed(&self.model),
            content: Cow::Borrowed(&reply.content),
            raw_content: reply.raw_content.as_deref().map(Cow::Borrowed),
            reasoning: Cow::Borrowed(&reply.reasoning),
            reasoning_field: reply.reasoning_field.as_deref().map(Cow::Borrowed),
            reasoning_details: reply.reasoning_details.as_ref().map(Cow::Borrowed),
            tool_calls: Cow::Borrowed(&reply.tool_calls),
            finish_reason: reply.finish_reason,
            usage: reply.usage,
            partial: self.partial,
        }
    }
}

impl From<AssistantLine<'_>> for AssistantMessage {
    fn from(line: AssistantLine<'_>) -> Self {
        Self {
            turn: line.turn,
            step: line.step,
            provider: line.provider.into_owned(),
            model: line.model.into_owned(),
            partial: line.partial,
            reply: Reply {
                content: line.content.into_owned(),
                raw_content: line.raw_content.map(Cow::into_owned),
                reasoning: line.reasoning.into_owned(),
                reasoning_field: line.reasoning_field.map(Cow::into_owned),
                reasoning_details: line.reasoning_details.map(Cow::into_owned),
                tool_calls: line.tool_calls.into_owned(),
                finish_reason: line.finish_reason,
                usage: line.usage,
            },
        }
    }
}
