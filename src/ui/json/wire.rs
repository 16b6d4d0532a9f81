//! The lines of `stream-json` as structs. Field names are a public format.

use serde::Serialize;
use serde_json::value::{RawValue, Value, to_raw_value};

use crate::error::Error;
use crate::event::{AssistantMessage, Ending, ToolResult};
use crate::message::{FinishReason, Usage};
use crate::update::{SessionOpened, TurnSummary};

/// The first line.
#[derive(Serialize)]
pub(super) struct Init<'a> {
    r#type: &'static str,
    subtype: &'static str,
    cwd: &'a str,
    session_id: &'a str,
    tools: &'a [String],
    mcp_servers: [Value; 0],
    model: &'a str,
    #[serde(rename = "permissionMode")]
    permission_mode: &'a str,
    sandbox: &'a str,
    provider: &'a str,
    scripted: bool,
}

impl<'a> Init<'a> {
    pub(super) fn new(session: &'a SessionOpened) -> Self {
        Self {
            r#type: "system",
            subtype: "init",
            cwd: &session.cwd,
            session_id: &session.id,
            tools: &session.tools,
            mcp_servers: [],
            model: &session.model,
            permission_mode: &session.permission_mode,
            sandbox: &session.sandbox,
            provider: &session.provider,
            scripted: session.scripted,
        }
    }
}

/// Old history was replaced.
#[derive(Serialize)]
pub(super) struct Compacted<'a> {
    r#type: &'static str,
    subtype: &'static str,
    session_id: &'a str,
    compact_metadata: CompactMetadata,
}

#[derive(Serialize)]
struct CompactMetadata {
    trigger: &'static str,
    pre_tokens: u64,
}

impl<'a> Compacted<'a> {
    pub(super) fn new(pre_tokens: u64, session_id: &'a str) -> Self {
        let compact_metadata = CompactMetadata { trigger: "auto", pre_tokens };
        Self { r#type: "system", subtype: "compact_boundary", session_id, compact_metadata }
    }
}

/// A reply of the model.
#[derive(Serialize)]
pub(super) struct Assistant<'a> {
    r#type: &'static str,
    message: Message<'a>,
    parent_tool_use_id: Option<&'a str>,
    session_id: &'a str,
}

#[derive(Serialize)]
struct Message<'a> {
    id: String,
    r#type: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<Block<'a>>,
    stop_reason: Option<&'static str>,
    stop_sequence: Option<&'static str>,
    usage: Tokens,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Thinking { thinking: &'a str, signature: &'static str },
    Text { text: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: Box<RawValue> },
    ToolResult { tool_use_id: &'a str, content: &'a str, is_error: bool },
}

impl<'a> Assistant<'a> {
    pub(super) fn new(said: &'a AssistantMessage, session_id: &'a str) -> Self {
        let message = Message {
            id: format!("msg_{}_{}", said.turn, said.step),
            r#type: "message",
            role: "assistant",
            model: &said.model,
            content: blocks(said),
            stop_reason: if said.partial { None } else { stop_reason(said) },
            stop_sequence: None,
            usage: Tokens::new(&said.reply.usage.unwrap_or_default()),
        };
        Self { r#type: "assistant", message, parent_tool_use_id: None, session_id }
    }
}

fn blocks(said: &AssistantMessage) -> Vec<Block<'_>> {
    let reply = &said.reply;
    let mut blocks = Vec::new();
    if !reply.reasoning.is_empty() {
        blocks.push(Block::Thinking { thinking: &reply.reasoning, signature: "" });
    }
    if !reply.content.is_empty() {
        blocks.push(Block::Text { text: &reply.content });
    }
    blocks.extend(reply.tool_calls.iter().map(|call| Block::ToolUse {
        id: &call.id,
        name: &call.name,
        input: input(&call.arguments),
    }));
    blocks
}

fn stop_reason(said: &AssistantMessage) -> Option<&'static str> {
    match said.reply.finish_reason {
        FinishReason::Stop => Some("end_turn"),
        FinishReason::ToolCalls => Some("tool_use"),
        FinishReason::Length => Some("max_tokens"),
        FinishReason::ContentFilter => Some("refusal"),
        FinishReason::ContextOverflow => Some("model_context_window_exceeded"),
        FinishReason::Error | FinishReason::Other => None,
    }
}

/// A call's arguments as a JSON object: the model's own where they are one, on one line; else the
/// text under a name that says so.
pub(super) fn input(arguments: &str) -> Box<RawValue> {
    let object = match serde_json::from_str::<Value>(arguments) {
        // Kept as written, which keeps the order of the fields.
        Ok(Value::Object(_)) if !arguments.contains(['\n', '\r']) => {
            RawValue::from_string(arguments.to_owned()).ok()
        }
        Ok(value @ Value::Object(_)) => to_raw_value(&value).ok(),
        Err(_) if arguments.trim().is_empty() => RawValue::from_string("{}".to_owned()).ok(),
        Ok(_) | Err(_) => to_raw_value(&serde_json::json!({ "unparsed": arguments })).ok(),
    };
    object.unwrap_or_else(|| RawValue::NULL.to_owned())
}

/// The outcome of a call.
#[derive(Serialize)]
pub(super) struct User<'a> {
    r#type: &'static str,
    message: UserMessage<'a>,
    parent_tool_use_id: Option<&'a str>,
    session_id: &'a str,
}

#[derive(Serialize)]
struct UserMessage<'a> {
    role: &'static str,
    content: [Block<'a>; 1],
}

impl<'a> User<'a> {
    pub(super) fn new(result: &'a ToolResult, session_id: &'a str) -> Self {
        let block = Block::ToolResult {
            tool_use_id: &result.call_id,
            content: &result.content,
            is_error: result.is_error,
        };
        let message = UserMessage { role: "user", content: [block] };
        Self { r#type: "user", message, parent_tool_use_id: None, session_id }
    }
}

/// Tokens as these programs count them: the cached part is not in `input_tokens`.
#[derive(Default, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the format")]
struct Tokens {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

impl Tokens {
    fn new(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.prompt.saturating_sub(usage.cached),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: usage.cached,
            output_tokens: usage.completion,
        }
    }
}

/// A call that was not allowed.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the format")]
pub(super) struct Denial {
    pub(super) tool_name: String,
    pub(super) tool_use_id: String,
    pub(super) tool_input: Box<RawValue>,
}

/// The last line, and the only one of `json`.
#[derive(Serialize)]
pub(super) struct Outcome<'a> {
    r#type: &'static str,
    subtype: &'static str,
    is_error: bool,
    duration_ms: u128,
    duration_api_ms: u128,
    num_turns: u32,
    result: String,
    /// How the turn ended, in the words of the session log; none for an error outside a turn.
    ending: Option<Ending>,
    session_id: &'a str,
    total_cost_usd: f64,
    usage: Tokens,
    permission_denials: &'a [Denial],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
}

impl<'a> Outcome<'a> {
    pub(super) fn of_turn(
        summary: &TurnSummary,
        failure: Option<&Error>,
        session_id: &'a str,
        denials: &'a [Denial],
    ) -> Self {
        let errors: Vec<String> = failure.iter().map(ToString::to_string).collect();
        // A script that prints `result` should not print nothing about a failure.
        let result = match errors.first() {
            Some(error) if summary.answer.trim().is_empty() => error.clone(),
            _ => summary.answer.clone(),
        };
        Self {
            r#type: "result",
            subtype: match summary.ending {
                Ending::Completed => "success",
                Ending::StepLimit => "error_max_turns",
                Ending::Cancelled
                | Ending::Repeating
                | Ending::Empty
                | Ending::Refused
                | Ending::Error
                | Ending::Other => "error_during_execution",
            },
            is_error: failure.is_some(),
            duration_ms: summary.duration.as_millis(),
            duration_api_ms: summary.api_duration.as_millis(),
            num_turns: summary.steps,
            result,
            ending: Some(summary.ending),
            session_id,
            total_cost_usd: summary.usage.cost.unwrap_or(0.0),
            usage: Tokens::new(&summary.usage),
            permission_denials: denials,
            errors,
        }
    }

    pub(super) fn of_error(error: &Error, session_id: &'a str) -> Self {
        Self {
            r#type: "result",
            subtype: "error_during_execution",
            is_error: true,
            duration_ms: 0,
            duration_api_ms: 0,
            num_turns: 0,
            result: error.to_string(),
            ending: None,
            session_id,
            total_cost_usd: 0.0,
            usage: Tokens::default(),
            permission_denials: &[],
            errors: vec![error.to_string()],
        }
    }
}
