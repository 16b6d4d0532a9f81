//! Chunks to a reply: what the pieces of an answer mean together.
//!
//! It collects text, reasoning, calls and tokens, tells each new piece as it comes, and decides at
//! the end whether the answer is whole. No field of a chunk is trusted to be there or to be true:
//! calls decide that a reply calls tools, whatever its finish reason says.

use std::borrow::Cow;

use serde_json::Value;

use super::calls::{Calls, MAX_CALLS, Origin, is_object};
use super::chunk::{Call, Choice, Chunk, Content, Delta as WireDelta, Part as ContentPart};
use super::classify::{ErrorKind, ProviderError};
use super::details::{self, Details};
use super::surrogate::Joiner;
use super::think::{Part, Splitter, ThinkTags};
use crate::message::{Delta, FinishReason, Reply};

/// The longest reply that is accepted, in bytes of text, reasoning and arguments.
pub const MAX_REPLY: usize = 64 * 1024 * 1024;

/// A request that brought no whole answer.
#[derive(Clone, Debug)]
pub struct Failed {
    /// What went wrong.
    pub error: ProviderError,
    /// What had come until then. Its calls must not run.
    pub partial: Reply,
}

/// How the stream ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// With its end marker.
    Marked,
    /// The body just ended, which is fine behind a finish reason only.
    Bare,
    /// With an error.
    Failed(ProviderError),
}

/// A reply that grows.
#[derive(Debug)]
pub(super) struct Assembler {
    reply: Reply,
    content: Joiner,
    reasoning: Joiner,
    think: Splitter,
    calls: Calls,
    details: Details,
    /// The provider's first word for why it stopped; empty until then.
    finish: String,
    /// Bytes collected.
    size: usize,
    /// A delta brought something: a whole message behind it would be a repetition.
    streamed: bool,
    /// Surrogate halves came.
    rewritten: bool,
}

type OnDelta<'a> = &'a mut dyn FnMut(Delta);

impl Assembler {
    pub(super) fn new(think_tags: ThinkTags) -> Self {
        Self {
            reply: Reply::default(),
            content: Joiner::default(),
            reasoning: Joiner::default(),
            think: Splitter::new(think_tags),
            calls: Calls::default(),
            details: Details::default(),
            finish: String::new(),
            size: 0,
            streamed: false,
            rewritten: false,
        }
    }

    /// True once the provider said that the answer is over.
    pub(super) fn has_finish(&self) -> bool {
        !self.finish.is_empty()
    }

    /// Takes what a chunk brings, in the order reasoning, text, calls.
    ///
    /// # Errors
    /// When the reply outgrows every sensible bound.
    pub(super) fn push(
        &mut self,
        chunk: Chunk<'_>,
        on_delta: OnDelta<'_>,
    ) -> Result<(), ProviderError> {
        self.reply.usage = chunk.usage().or(self.reply.usage);
        self.rewritten |= chunk.rewritten;
        for choice in chunk.choices {
            self.push_choice(choice, chunk.rewritten, on_delta);
        }
        self.check_size()
    }

    fn push_choice(&mut self, choice: Choice<'_>, rewritten: bool, on_delta: OnDelta<'_>) {
        let origin = Origin { choice: choice.index.unwrap_or(0), rewritten };
        let delta = choice.delta.filter(|delta| !delta.is_empty());
        self.streamed |= delta.is_some();
        let message = if self.streamed { None } else { choice.message };
        self.streamed |= message.is_some();
        if let Some(delta) = delta.or(message.map(|message| *message)) {
            self.push_delta(delta, origin, on_delta);
        }
        if self.finish.is_empty() {
            choice.finish_reason.trim().clone_into(&mut self.finish);
        }
    }

    fn push_delta(&mut self, mut delta: WireDelta<'_>, origin: Origin, on_delta: OnDelta<'_>) {
        self.push_reasoning(&mut delta, origin.rewritten, on_delta);
        match delta.content {
            Content::Absent => {}
            Content::Text(text) => self.text(&text, origin.rewritten, on_delta),
            Content::Parts(parts) => self.push_parts(&parts, origin.rewritten, on_delta),
        }
        self.text(&delta.refusal, origin.rewritten, on_delta);
        if delta.tool_calls.is_empty() {
            let function = delta.function_call.take();
            delta.tool_calls.extend(
                function.map(|function| Call { function: Some(function), ..Call::default() }),
            );
        }
        for call in delta.tool_calls {
            self.size += call.function.as_ref().map_or(0, |f| f.arguments.0.len() + f.name.len());
            self.calls.push(call, origin, on_delta);
        }
    }

    fn push_parts(&mut self, parts: &[ContentPart<'_>], rewritten: bool, on_delta: OnDelta<'_>) {
        for part in parts {
            match part {
                ContentPart::Text(text) => self.text(text, rewritten, on_delta),
                ContentPart::Thinking(text) => self.reason("content", text, rewritten, on_delta),
            }
        }
    }

    fn push_reasoning(
        &mut self,
        delta: &mut WireDelta<'_>,
        rewritten: bool,
        on_delta: OnDelta<'_>,
    ) {
        let structured = std::mem::take(&mut delta.reasoning_details);
        if let Some((field, text)) = delta.reasoning() {
            self.reason(field, text, rewritten, on_delta);
        } else if !structured.is_null() {
            let text = details::text_of(&structured);
            self.reason("reasoning_details", &text, rewritten, on_delta);
        }
        if structured != Value::Null {
            self.size += structured.to_string().len();
            self.details.push(structured);
        }
    }

    fn reason(&mut self, field: &'static str, text: &str, rewritten: bool, on_delta: OnDelta<'_>) {
        if !text.is_empty() {
            self.reply.reasoning_field.get_or_insert_with(|| field.to_owned());
            add_reasoning(&mut self.reply, self.reasoning.join(text, rewritten), on_delta);
        }
    }

    fn text(&mut self, text: &str, rewritten: bool, on_delta: OnDelta<'_>) {
        let text = self.content.join(text, rewritten);
        if self.think.passes() {
            add_content(&mut self.reply, text, on_delta);
        } else if !text.is_empty() {
            let mut parts = Vec::new();
            self.think.push(&text, &mut parts);
            self.add_parts(parts, on_delta);
        }
    }

    fn add_parts(&mut self, parts: Vec<Part>, on_delta: OnDelta<'_>) {
        for part in parts {
            match part {
                Part::Text(text) => add_content(&mut self.reply, text.into(), on_delta),
                Part::Thinking(text) => {
                    self.reply.reasoning_field.get_or_insert_with(|| "think".to_owned());
                    add_reasoning(&mut self.reply, text.into(), on_delta);
                }
            }
        }
    }

    fn check_size(&self) -> Result<(), ProviderError> {
        let size = self.size + self.reply.content.len() + self.reply.reasoning.len();
        if size > MAX_REPLY {
            let limit = MAX_REPLY / (1024 * 1024);
            let why = format!("the answer passed {limit} MiB and was stopped");
            return Err(ProviderError::new(ErrorKind::Server, why));
        }
        if self.calls.too_many() {
            let why = format!("the answer held more than {MAX_CALLS} tool calls and was stopped");
            return Err(ProviderError::new(ErrorKind::ToolGeneration, why));
        }
        Ok(())
    }

    /// The reply, or what is there of it together with the reason why it is not whole.
    pub(super) fn finish(
        mut self,
        end: End,
        id_prefix: &str,
        on_delta: OnDelta<'_>,
    ) -> Result<Reply, Box<Failed>> {
        self.flush(on_delta);
        let marked = matches!(end, End::Marked) || self.has_finish();
        let meaning = meaning(&self.finish);
        let error = match end {
            End::Failed(error) => Some(error),
            End::Marked | End::Bare => meaning.failure(&self.finish),
        };
        if meaning == Meaning::Unknown {
            on_delta(Delta::Note(unknown_end(&self.finish)));
        }
        let whole = error.is_none() && marked && !meaning.is_cut();
        let mut reply = self.reply;
        reply.reasoning_details = self.details.finish(self.rewritten);
        reply.tool_calls = self.calls.finish(id_prefix, !whole, on_delta);
        reply.finish_reason = meaning.reason(!reply.tool_calls.is_empty(), error.as_ref());
        if let Some(error) = error {
            return Err(Box::new(Failed { error, partial: reply }));
        }
        if marked || calls_are_whole(&reply) {
            return Ok(reply);
        }
        reply.finish_reason = FinishReason::Error;
        Err(Box::new(Failed { error: ended_early(&reply), partial: reply }))
    }

    /// Lets go of what was held back.
    fn flush(&mut self, on_delta: OnDelta<'_>) {
        add_reasoning(&mut self.reply, self.reasoning.finish().into(), on_delta);
        let last = self.content.finish();
        let mut parts = Vec::new();
        self.think.push(last, &mut parts);
        self.think.finish(&mut parts);
        self.add_parts(parts, on_delta);
    }
}

fn add_content(reply: &mut Reply, text: Cow<'_, str>, on_delta: OnDelta<'_>) {
    if !text.is_empty() {
        reply.content.push_str(&text);
        on_delta(Delta::Content(text.into_owned()));
    }
}

fn add_reasoning(reply: &mut Reply, text: Cow<'_, str>, on_delta: OnDelta<'_>) {
    if !text.is_empty() {
        reply.reasoning.push_str(&text);
        on_delta(Delta::Reasoning(text.into_owned()));
    }
}

/// Calls that all arrived whole are worth running even if the goodbye was lost.
fn calls_are_whole(reply: &Reply) -> bool {
    !reply.tool_calls.is_empty()
        && reply.tool_calls.iter().all(|call| !call.incomplete && is_object(&call.arguments))
}

fn ended_early(reply: &Reply) -> ProviderError {
    let why = if reply.is_empty() {
        "the stream ended before an answer came"
    } else {
        "the stream ended in the middle of the answer"
    };
    ProviderError::new(ErrorKind::Incomplete, why)
}

fn unknown_end(word: &str) -> String {
    let word: String = word.escape_default().take(60).collect();
    format!("the provider ended the answer with `{word}`, which xsh does not know")
}

/// What a provider's word for the end of an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Normal,
    /// A word that is not known; it ends an answer like `stop`.
    Unknown,
    Length,
    Filtered,
    Failure(ErrorKind),
}

fn meaning(word: &str) -> Meaning {
    match word.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => Meaning::Length,
        "content_filter" | "sensitive" | "safety" | "recitation" | "blocklist"
        | "prohibited_content" | "spii" => Meaning::Filtered,
        "model_context_window_exceeded" | "context_length_exceeded" => {
            Meaning::Failure(ErrorKind::Overflow)
        }
        "insufficient_system_resource" => Meaning::Failure(ErrorKind::Overloaded),
        "network_error" | "abort" | "error" => Meaning::Failure(ErrorKind::Server),
        "malformed_function_call" => Meaning::Failure(ErrorKind::ToolGeneration),
        "" | "stop" | "tool_calls" | "function_call" | "tool_use" | "end_turn" | "eos"
        | "eos_token" | "stop_sequence" | "completed" | "load" | "repetition" => Meaning::Normal,
        _ => Meaning::Unknown,
    }
}

impl Meaning {
    /// The answer goes on where it stops.
    fn is_cut(self) -> bool {
        !matches!(self, Self::Normal | Self::Unknown)
    }

    fn failure(self, word: &str) -> Option<ProviderError> {
        let Self::Failure(kind) = self else { return None };
        let why = format!("the provider ended the answer with `{}`", word.escape_default());
        Some(ProviderError { code: Some(word.to_owned()), ..ProviderError::new(kind, why) })
    }

    fn reason(self, has_calls: bool, error: Option<&ProviderError>) -> FinishReason {
        match (error, self) {
            (Some(error), _) if error.kind == ErrorKind::Overflow => FinishReason::ContextOverflow,
            (Some(_), _) | (None, Self::Failure(_)) => FinishReason::Error,
            (None, Self::Length) => FinishReason::Length,
            (None, Self::Filtered) => FinishReason::ContentFilter,
            (None, Self::Normal | Self::Unknown) if has_calls => FinishReason::ToolCalls,
            (None, Self::Normal | Self::Unknown) => FinishReason::Stop,
        }
    }
}
