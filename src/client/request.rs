//! The request as bytes: how each message looks on the wire, and the body made of them.
//!
//! Pure. Messages are encoded from structs, one at a time, when they enter the history; a body is
//! those bytes joined, so that request n+1 begins with the very bytes of request n's messages.
//! What differs between providers comes in as a [`Profile`].

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::profile::{Field, IdRule, OutLimit, Profile, Replay, Signatures};
use crate::hash;
use crate::message::{Reply, ToolCall};
use crate::tools::arguments;

/// One message of the history.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the user, or from the program in the user's place.
    User(String),
    /// What stands in the place of older messages; goes out as a user message.
    Summary(String),
    /// From the model. Has text or calls, never neither.
    Assistant(Box<Reply>),
    /// The outcome of a call.
    Tool {
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// What the model is told.
        content: String,
    },
}

impl Message {
    /// About how many bytes it holds in memory.
    pub fn weight(&self) -> usize {
        match self {
            Self::User(text) | Self::Summary(text) => text.len(),
            Self::Tool { content, .. } => content.len(),
            Self::Assistant(reply) => {
                let calls: usize = reply.tool_calls.iter().map(|call| call.arguments.len()).sum();
                reply.content.len() + reply.reasoning.len() + calls
            }
        }
    }
}

#[derive(Serialize)]
struct Plain<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    content: &'a str,
}

#[derive(Serialize)]
struct AssistantMessage<'a> {
    role: &'static str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Null,
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Thinking { thinking: [Box<Part<'a>>; 1] },
    Text { text: &'a str },
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: WireFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Cow<'a, Value>>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

/// Appends a message's JSON to `out`.
pub fn encode(message: &Message, profile: &Profile, out: &mut Vec<u8>) {
    match message {
        Message::User(content) | Message::Summary(content) => {
            append(&Plain { role: "user", content }, out);
        }
        Message::Assistant(reply) => append(&assistant(reply, profile), out),
        Message::Tool { call_id, name, content } => {
            let tool_call_id = wire_id(call_id, profile.id_rule);
            let named = profile.tool_name && profile.sends(Field::ToolName);
            let name = named.then(|| wire_name(name));
            append(&ToolMessage { role: "tool", tool_call_id, name, content }, out);
        }
    }
}

/// Appends the system message's JSON to `out`.
pub fn encode_system(content: &str, profile: &Profile, out: &mut Vec<u8>) {
    append(&Plain { role: profile.system_role.name(), content }, out);
}

/// Appends what stands before a user message where a provider refuses it directly after what is
/// there: a short answer.
pub fn encode_bridge(out: &mut Vec<u8>) {
    append(&Plain { role: "assistant", content: "(no answer)" }, out);
}

fn append(value: &impl Serialize, out: &mut Vec<u8>) {
    // Strings and trees with string keys only: there is nothing in them that JSON cannot hold.
    let encoded = serde_json::to_writer(out, value);
    debug_assert!(encoded.is_ok());
}

fn assistant<'a>(reply: &'a Reply, profile: &Profile) -> AssistantMessage<'a> {
    let text = (!reply.reasoning.is_empty()).then_some(reply.reasoning.as_str());
    let (reasoning_content, reasoning) = match (profile.replay, reply.reasoning_field.as_deref()) {
        (Replay::Always, _) => (Some(text.unwrap_or_default()), None),
        (Replay::SameField | Replay::Details, Some("reasoning_content")) => (text, None),
        (Replay::SameField | Replay::Details, Some("reasoning")) => (None, text),
        (Replay::Never | Replay::SameField | Replay::Details | Replay::Parts, _) => (None, None),
    };
    let details = profile.replay == Replay::Details;
    AssistantMessage {
        role: "assistant",
        content: content(reply, profile),
        reasoning_content,
        reasoning,
        reasoning_details: reply.reasoning_details.as_ref().filter(|_| details),
        tool_calls: calls(reply, profile),
    }
}

fn content<'a>(reply: &'a Reply, profile: &Profile) -> Content<'a> {
    let text = reply.content.as_str();
    let text = if profile.trim { text.trim_end() } else { text };
    let reasoning = (!reply.reasoning.is_empty()).then_some(reply.reasoning.as_str());
    match (reasoning, reply.reasoning_field.as_deref()) {
        (Some(reasoning), Some("content")) if profile.replay == Replay::Parts => {
            let thinking = Part::Thinking { thinking: [Box::new(Part::Text { text: reasoning })] };
            let text = (!text.is_empty()).then_some(Part::Text { text });
            Content::Parts(std::iter::once(thinking).chain(text).collect())
        }
        (Some(reasoning), Some("think")) if profile.think_back => {
            Content::Text(format!("<think>{reasoning}</think>{text}").into())
        }
        _ if text.is_empty() && profile.null_content => Content::Null,
        _ => Content::Text(text.into()),
    }
}

fn calls<'a>(reply: &'a Reply, profile: &Profile) -> Vec<WireCall<'a>> {
    let signed = reply.tool_calls.iter().any(|call| call.extra_content.is_some());
    let unsigned = !signed && profile.signatures == Signatures::Demanded;
    let sends = profile.sends(Field::ExtraContent);
    let wire = |(place, call): (usize, &'a ToolCall)| WireCall {
        id: wire_id(&call.id, profile.id_rule),
        r#type: "function",
        function: WireFunction {
            name: wire_name(&call.name),
            arguments: arguments::replay(&call.arguments),
        },
        extra_content: match &call.extra_content {
            _ if !sends => None,
            // Of calls made together only the first has to be signed.
            _ if unsigned => (place == 0).then(|| Cow::Owned(passing_signature())),
            own => own.as_ref().map(Cow::Borrowed),
        },
    };
    reply.tool_calls.iter().enumerate().map(wire).collect()
}

/// What the maker documents for calls that its model did not write.
fn passing_signature() -> Value {
    json!({ "google": { "thought_signature": "skip_thought_signature_validator" } })
}

/// The name as every provider takes it. A model may invent any; strict servers then refuse the whole
/// history. The call's result says what was wrong with it.
fn wire_name(name: &str) -> Cow<'_, str> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(good) {
        return Cow::Borrowed(name);
    }
    let cleaned: String = name.chars().map(|c| if good(c) { c } else { '_' }).take(64).collect();
    if cleaned.is_empty() { Cow::Borrowed("unknown") } else { Cow::Owned(cleaned) }
}

/// Ids longer than this are taken by hardly anyone.
const MAX_ID: usize = 64;

/// The id as the provider takes it: itself where it fits the rule, else one made from its hash, so
/// that a call and its result keep the same one in every request.
fn wire_id(id: &str, rule: IdRule) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let fits = match rule {
        IdRule::Any => id.len() <= MAX_ID && !id.chars().any(char::is_control),
        IdRule::Plain => id.chars().all(plain),
        IdRule::Max40 => id.len() <= 40 && id.chars().all(plain),
        IdRule::Mistral9 => id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
    };
    if fits && !id.is_empty() {
        return Cow::Borrowed(id);
    }
    let hash = hash::sha256(id.as_bytes());
    match rule {
        IdRule::Mistral9 => Cow::Owned(hash.chars().take(9).collect()),
        IdRule::Any | IdRule::Plain | IdRule::Max40 => {
            Cow::Owned(format!("call_{}", hash.chars().take(24).collect::<String>()))
        }
    }
}

/// What surrounds the messages in a request body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The model's id.
    pub model: String,
    /// The `tools` array as JSON text; empty for none.
    pub tools: String,
    /// Further top-level fields as `"name":value` pairs joined by commas.
    pub extra: String,
    /// A prefix of the id that is left out.
    pub model_prefix: &'static str,
    /// Say in a request for a summary that no tool may be called.
    pub no_calls: bool,
}

impl Envelope {
    /// The body of a chat request around messages that are already encoded and joined.
    pub fn body(&self, messages: &[u8], kind: Kind) -> Vec<u8> {
        let mut body = Vec::with_capacity(messages.len() + self.tools.len() + 512);
        let model = self.model.strip_prefix(self.model_prefix).unwrap_or(&self.model);
        body.extend_from_slice(b"{\"model\":");
        append(&model, &mut body);
        body.extend_from_slice(b",\"stream\":true");
        if !self.extra.is_empty() {
            body.push(b',');
            body.extend_from_slice(self.extra.as_bytes());
        }
        if !self.tools.is_empty() {
            body.extend_from_slice(b",\"tools\":");
            body.extend_from_slice(self.tools.as_bytes());
            if kind == Kind::Summary && self.no_calls {
                body.extend_from_slice(b",\"tool_choice\":\"none\"");
            }
        }
        body.extend_from_slice(b",\"messages\":[");
        body.extend_from_slice(messages);
        body.extend_from_slice(b"]}");
        body
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The next step of a turn.
    Step,
    /// A summary of old history; tools stay in the body for the provider's cache, but may not be
    /// called.
    Summary,
}

/// Everything beside model, tools and messages that may stand in a body.
#[derive(Clone, Copy, Debug)]
pub struct Extras<'a> {
    /// The fields that ask for a thinking level.
    pub effort: &'a [(&'static str, Value)],
    /// The session's id.
    pub session: &'a str,
    /// What the user configured; replaces everything else of the same name.
    pub user: &'a Map<String, Value>,
}

/// Further request fields as JSON text, in a fixed order: the profile's own, then what was asked
/// for, then the user's. A later one replaces an earlier one of its name.
pub fn extra(profile: &Profile, extras: &Extras<'_>) -> String {
    let mut fields: Vec<(&str, String)> = Vec::new();
    if profile.include_usage {
        fields.push(("stream_options", "{\"include_usage\":true}".to_owned()));
    }
    fields.extend(profile.extra_body.iter().map(|(name, json)| (*name, (*json).to_owned())));
    for (name, value) in extras.effort {
        set(&mut fields, name, value.to_string());
    }
    if profile.cache_key && !extras.session.is_empty() {
        fields.push(("prompt_cache_key", json!(extras.session).to_string()));
    }
    fields.retain(|(name, _)| Field::of_request(name).is_none_or(|field| profile.sends(field)));
    for (name, value) in extras.user {
        set(&mut fields, user_name(name, profile), value.to_string());
    }
    let pairs = fields.iter().map(|(name, json)| format!("{}:{json}", json!(name)));
    pairs.collect::<Vec<_>>().join(",")
}

fn set<'a>(fields: &mut Vec<(&'a str, String)>, name: &'a str, json: String) {
    match fields.iter_mut().find(|(known, _)| *known == name) {
        Some(field) => field.1 = json,
        None => fields.push((name, json)),
    }
}

/// A limit of the output goes under the name that the provider knows.
fn user_name<'a>(name: &'a str, profile: &Profile) -> &'a str {
    let limits = [OutLimit::MaxTokens, OutLimit::MaxCompletionTokens];
    if limits.iter().any(|limit| limit.name() == name) { profile.out_limit.name() } else { name }
}

#[cfg(test)]
mod tests;
