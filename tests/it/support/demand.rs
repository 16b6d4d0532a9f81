//! What a provider demands of a request, rule by rule, with its refusal's words.

use serde_json::{Value, json};

use super::env::KEY;
use super::http::Request;
use super::persona::Persona;

/// A reason to refuse a request.
#[derive(Clone, Copy, Debug)]
pub enum Demand {
    /// No request fields but the common ones and these.
    Fields(&'static [&'static str]),
    /// No message fields but the common ones and these.
    MessageFields(&'static [&'static str]),
    /// `reasoning_content` on every assistant message.
    ReasoningOnAll,
    /// `reasoning_content` on every assistant message with calls.
    ReasoningOnCalls,
    /// Its own reasoning comes back in this field. A wish: nothing is refused, quality suffers.
    OwnReasoning(&'static str),
    /// Its own `reasoning_details` come back as they were. A wish, too.
    OwnDetails,
    /// Its own thinking comes back as a part of the content. A wish, too.
    OwnParts,
    /// Call ids are of this length at most, or exactly for 9, and plain.
    Ids(usize),
    NoUserAfterTool,
    /// Users and assistants take turns.
    Alternate,
    /// The first call of each assistant message has a signature.
    Signed,
    /// Tool messages name their tool.
    Named,
    /// Content is text, never null.
    NotNull,
    /// The roles that the system prompt may have.
    Roles(&'static [&'static str]),
    /// `reasoning_effort` is one of these.
    Levels(&'static [&'static str]),
    /// `reasoning_effort` is `none` beside tools.
    EffortNone,
    /// Assistant text ends in no blank and is not only blanks.
    Trimmed,
    /// Usage must be asked for, else a turn costs nobody knows what. A wish.
    UsageAsked,
    /// These request fields have these values. A wish.
    Has(&'static str, &'static str),
    /// The key travels in this header.
    KeyIn(&'static str),
}

/// What every message may have.
const COMMON: &[&str] = &["role", "content", "tool_calls", "tool_call_id"];
/// What every request may have.
const COMMON_FIELDS: &[&str] = &["model", "messages", "tools", "tool_choice", "stream"];

impl Demand {
    /// True for what nobody refuses, but everybody regrets.
    pub fn is_wish(self) -> bool {
        matches!(
            self,
            Self::OwnReasoning(_)
                | Self::OwnDetails
                | Self::OwnParts
                | Self::UsageAsked
                | Self::Has(..)
                | Self::KeyIn(_)
        )
    }

    /// The refusal's words; none for a request that is as it should be.
    pub fn fault(self, persona: &Persona, request: &Request) -> Option<String> {
        match self {
            Self::Fields(more) => unknown_field(persona, request, more),
            Self::MessageFields(more) => unknown_message_field(persona, request, more),
            Self::ReasoningOnAll => reasoning_on_all(request),
            Self::ReasoningOnCalls => reasoning_on_calls(request),
            Self::OwnReasoning(field) => own_reasoning(persona, request, field),
            Self::OwnDetails => own_details(persona, request),
            Self::OwnParts => own_parts(persona, request),
            Self::Ids(most) => ids(request, most),
            Self::NoUserAfterTool => follows(request, &["tool"])
                .then(|| "Unexpected role 'user' after role 'tool'".to_owned()),
            Self::Alternate => follows(request, &["tool", "user"]).then(|| {
                "Conversation roles must alternate user/assistant/user/assistant/...".to_owned()
            }),
            Self::Signed => signed(request),
            Self::Named => named(request),
            Self::NotNull => not_null(request),
            Self::Roles(roles) => system_role(request, roles),
            Self::Levels(levels) => level(request, levels),
            Self::EffortNone => effort_none(request),
            Self::Trimmed => trimmed(request),
            Self::UsageAsked => (request.json["stream_options"]["include_usage"] != true)
                .then(|| "nobody asked for usage".to_owned()),
            Self::Has(field, expected) => value(request, field, expected),
            Self::KeyIn(header) => key_in(request, header),
        }
    }
}

fn assistants(request: &Request) -> impl Iterator<Item = (usize, &Value)> {
    let messages = request.messages().iter().enumerate();
    messages.filter(|(_, message)| message["role"] == "assistant")
}

/// Messages that this persona wrote with calls in them: its files are named for it.
fn own<'a>(persona: &Persona, request: &'a Request) -> impl Iterator<Item = &'a Value> {
    let mark = format!("of-{}", persona.name);
    assistants(request).map(|(_, message)| message).filter(move |message| {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let mut arguments = calls.filter_map(|call| call["function"]["arguments"].as_str());
        arguments.any(|text| text.contains(&mark))
    })
}

/// True where a user message stands directly behind one of these roles.
fn follows(request: &Request, roles: &[&str]) -> bool {
    request.messages().windows(2).any(|pair| {
        let first = pair[0]["role"].as_str().unwrap_or_default();
        pair[1]["role"] == "user" && roles.contains(&first)
    })
}

/// Reasoning of another provider is refused by some and misleads the rest.
pub fn foreign_reasoning(persona: &Persona, request: &Request) -> Option<String> {
    let all = serde_json::to_string(&request.messages()).unwrap_or_default();
    let foreign = all.replace(&persona.thought(), "").contains("thoughts of");
    foreign.then(|| "that is not my reasoning".to_owned())
}

fn unknown_field(persona: &Persona, request: &Request, more: &[&str]) -> Option<String> {
    let known = |key: &str| COMMON_FIELDS.contains(&key) || more.contains(&key);
    let key = request.json.as_object()?.keys().find(|key| !known(key))?;
    Some(persona.unknown("", key))
}

fn unknown_message_field(persona: &Persona, request: &Request, more: &[&str]) -> Option<String> {
    let known = |key: &str| COMMON.contains(&key) || more.contains(&key);
    request.messages().iter().enumerate().find_map(|(index, message)| {
        let mut calls = message["tool_calls"].as_array().into_iter().flatten();
        let signed = calls.any(|call| call.get("extra_content").is_some());
        let in_call = Some("extra_content").filter(|key| signed && !known(key));
        let own = message.as_object()?.keys().map(String::as_str).find(|key| !known(key));
        let role = message["role"].as_str()?;
        Some(persona.unknown(&format!("messages.{index}.{role}"), own.or(in_call)?))
    })
}

fn reasoning_on_all(request: &Request) -> Option<String> {
    let mut lacking = assistants(request).filter(|(_, m)| m.get("reasoning_content").is_none());
    lacking.next().map(|_| {
        "The `reasoning_content` in the thinking mode must be passed back to the API.".to_owned()
    })
}

fn reasoning_on_calls(request: &Request) -> Option<String> {
    let mut with_calls = assistants(request).filter(|(_, m)| m.get("tool_calls").is_some());
    let (index, _) = with_calls.find(|(_, m)| m.get("reasoning_content").is_none())?;
    Some(format!(
        "thinking is enabled but reasoning_content is missing in assistant tool call message at \
         index {index}"
    ))
}

fn own_reasoning(persona: &Persona, request: &Request, field: &str) -> Option<String> {
    let thought = persona.thought();
    let lost = |m: &Value| m.get(field).and_then(Value::as_str) != Some(&thought);
    own(persona, request).any(lost).then(|| format!("{field} was lost"))
}

fn own_details(persona: &Persona, request: &Request) -> Option<String> {
    let expected = json!([
        {"type": "reasoning.text", "text": persona.thought(), "index": 0},
        {"type": "reasoning.encrypted", "data": "sealed", "index": 1},
    ]);
    own(persona, request)
        .any(|message| message["reasoning_details"] != expected)
        .then(|| "reasoning_details were lost or changed".to_owned())
}

fn own_parts(persona: &Persona, request: &Request) -> Option<String> {
    let text = json!([{"type": "text", "text": persona.thought()}]);
    let part = json!({"type": "thinking", "thinking": text});
    own(persona, request).any(|m| m["content"][0] != part).then(|| "the part was lost".to_owned())
}

fn ids(request: &Request, most: usize) -> Option<String> {
    let calls = request.messages().iter().filter_map(|m| m["tool_calls"].as_array()).flatten();
    let plain = |c: char| c.is_ascii_alphanumeric() || (most != 9 && "_-".contains(c));
    let fits = |id: &&str| {
        id.chars().all(plain) && if most == 9 { id.len() == 9 } else { id.len() <= most }
    };
    let bad = calls.filter_map(|call| call["id"].as_str()).find(|id| !fits(id))?;
    Some(match most {
        9 => format!("Tool call id was {bad} but must be a-z, A-Z, 0-9, with a length of 9."),
        40 => "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with \
               maximum length 40."
            .to_owned(),
        _ => "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            .to_owned(),
    })
}

fn signed(request: &Request) -> Option<String> {
    let mut with_calls = assistants(request).filter(|(_, m)| m.get("tool_calls").is_some());
    let unsigned = |m: &Value| {
        let signature = &m["tool_calls"][0]["extra_content"]["google"]["thought_signature"];
        !matches!(signature.as_str(), Some("sealed" | "skip_thought_signature_validator"))
    };
    with_calls
        .any(|(_, m)| unsigned(m))
        .then(|| "Function call is missing a thought_signature in functionCall parts.".to_owned())
}

fn named(request: &Request) -> Option<String> {
    let nameless = |m: &Value| m["role"] == "tool" && m["name"].as_str().is_none_or(str::is_empty);
    let words = "function_response.name: Name cannot be empty";
    request.messages().iter().any(nameless).then(|| words.to_owned())
}

fn not_null(request: &Request) -> Option<String> {
    let words = "Invalid value for 'content': expected a string, got null.";
    request.messages().iter().any(|m| m["content"].is_null()).then(|| words.to_owned())
}

fn system_role(request: &Request, roles: &[&str]) -> Option<String> {
    let role = request.messages().first()?["role"].as_str()?;
    (!roles.contains(&role)).then(|| {
        format!("Unsupported value: 'messages[0].role' does not support '{role}' with this model.")
    })
}

fn level(request: &Request, levels: &[&str]) -> Option<String> {
    let level = request.json.get("reasoning_effort")?.as_str()?;
    let listed: Vec<String> = levels.iter().map(|level| format!("'{level}'")).collect();
    (!levels.contains(&level)).then(|| {
        format!(
            "Unsupported value: 'reasoning_effort' does not support '{level}' with this model. \
             Supported values are: {}.",
            listed.join(", ")
        )
    })
}

fn effort_none(request: &Request) -> Option<String> {
    let body = &request.json;
    (body.get("tools").is_some() && body["reasoning_effort"] != "none").then(|| {
        "Function tools with reasoning_effort are not supported for this model in \
         /v1/chat/completions. Please use /v1/responses instead."
            .to_owned()
    })
}

fn trimmed(request: &Request) -> Option<String> {
    let text = |m: &Value| m["content"].as_str().unwrap_or_default().to_owned();
    assistants(request)
        .any(|(_, m)| text(m).trim_end() != text(m))
        .then(|| "messages: final assistant content cannot end with trailing whitespace".to_owned())
}

fn value(request: &Request, field: &str, expected: &str) -> Option<String> {
    let expected: Value = serde_json::from_str(expected).ok()?;
    let found = &request.json[field];
    (*found != expected).then(|| format!("{field} is {found}"))
}

fn key_in(request: &Request, header: &str) -> Option<String> {
    let sent = request.header(header).unwrap_or_default().trim_start_matches("Bearer ");
    (sent != KEY).then(|| "Incorrect API key provided".to_owned())
}
