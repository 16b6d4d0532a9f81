//! One chunk of a chat completion as it is on the wire, in any provider's dialect.
//!
//! Every field may be missing, null or of another type; unknown ones are skipped. Strings are
//! borrowed from the event's text. What the fields mean together is [`super::assemble`]'s business.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess};
use serde_json::Value;
use serde_json::value::RawValue;

use super::lax::{Lax, Present, Record, elements, lax, record};
use super::surrogate;
use crate::message::Usage;

/// A `chat.completion.chunk`, a whole `chat.completion`, or something else with an error in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) choices: Vec<Choice<'a>>,
    #[serde(deserialize_with = "lax")]
    usage: Option<WireUsage>,
    #[serde(deserialize_with = "lax")]
    x_groq: Option<Nested>,
    #[serde(deserialize_with = "lax")]
    timings: Option<Timings>,
    #[serde(borrow, deserialize_with = "lax")]
    object: Cow<'a, str>,
    #[serde(deserialize_with = "lax")]
    error: Present,
    #[serde(deserialize_with = "lax")]
    base_resp: Option<BaseResp>,
    #[serde(deserialize_with = "lax")]
    message: Present,
    #[serde(deserialize_with = "lax")]
    msg: Present,
    #[serde(deserialize_with = "lax")]
    detail: Present,
    /// It held surrogate halves, which are parked in its strings.
    #[serde(skip)]
    pub(super) rewritten: bool,
}

/// One of the answers; with one asked for, all of them are parts of the same.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    #[serde(deserialize_with = "lax")]
    pub(super) index: Option<i64>,
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) delta: Option<Delta<'a>>,
    /// The whole answer, where a server does not stream.
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) message: Option<Delta<'a>>,
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) finish_reason: Cow<'a, str>,
    #[serde(deserialize_with = "lax")]
    usage: Option<WireUsage>,
    #[serde(deserialize_with = "lax")]
    error: Present,
}

/// What an answer grows by.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) content: Content<'a>,
    /// A refusal is the model's answer, under another name.
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) refusal: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "lax")]
    reasoning_content: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "lax")]
    reasoning: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "lax")]
    reasoning_text: Cow<'a, str>,
    pub(super) reasoning_details: Value,
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) tool_calls: Vec<Call<'a>>,
    /// The single call of the oldest dialect.
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) function_call: Option<Function<'a>>,
}

/// A piece of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call<'a> {
    #[serde(deserialize_with = "lax")]
    pub(super) index: Option<i64>,
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) function: Option<Function<'a>>,
    pub(super) extra_content: Value,
}

/// The name and arguments in a piece of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow, deserialize_with = "lax")]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) arguments: Arguments<'a>,
}

/// Argument text: a string's value, or the JSON text of anything else; null is empty.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(from)?.get();
        match raw.as_bytes().first() {
            Some(b'"') => {
                let mut json = serde_json::Deserializer::from_str(raw);
                lax(&mut json).map(Arguments).map_err(D::Error::custom)
            }
            Some(b'n') => Ok(Self::default()),
            _ => Ok(Self(Cow::Borrowed(raw))),
        }
    }
}

/// `content`, which is a string or a list of parts.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

/// A part of a `content` list.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WirePart<'a> {
    #[serde(borrow, deserialize_with = "lax")]
    text: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "lax")]
    refusal: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "lax")]
    thinking: Content<'a>,
}

impl<'de: 'a, 'a> Lax<'de> for Content<'a> {
    fn text(text: Cow<'de, str>) -> Self {
        Self::Text(text)
    }
    fn list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        let mut parts = Vec::new();
        elements(list, &mut |inner: Self| inner.append_to(&mut parts))?;
        Ok(Self::Parts(parts))
    }
    fn map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let WirePart { text, refusal, thinking } = record(map)?;
        let mut parts = Vec::new();
        thinking.append_to(&mut parts);
        for part in &mut parts {
            if let Part::Text(text) = part {
                *part = Part::Thinking(std::mem::take(text));
            }
        }
        parts.extend([Part::Text(text), Part::Text(refusal)]);
        Ok(Self::Parts(parts))
    }
}

impl<'a> Content<'a> {
    fn append_to(self, parts: &mut Vec<Part<'a>>) {
        match self {
            Self::Absent => {}
            Self::Text(text) => parts.push(Part::Text(text)),
            Self::Parts(more) => parts.extend(more),
        }
    }

    /// True when it holds no text at all.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.iter().all(|part| match part {
                Part::Text(text) | Part::Thinking(text) => text.is_empty(),
            }),
        }
    }
}

impl Delta<'_> {
    /// The reasoning and its field's name. Providers that mirror it in several fields send the
    /// same text in each, so one of them counts.
    pub(super) fn reasoning(&self) -> Option<(&'static str, &str)> {
        [
            ("reasoning_content", &self.reasoning_content),
            ("reasoning", &self.reasoning),
            ("reasoning_text", &self.reasoning_text),
        ]
        .into_iter()
        .find(|(_, text)| !text.is_empty())
        .map(|(field, text)| (field, text.as_ref()))
    }

    /// True when it adds nothing to an answer.
    pub(super) fn is_empty(&self) -> bool {
        self.content.is_empty()
            && self.refusal.is_empty()
            && self.reasoning().is_none()
            && self.reasoning_details.is_null()
            && self.tool_calls.is_empty()
            && self.function_call.is_none()
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    #[serde(deserialize_with = "lax")]
    prompt_tokens: Option<i64>,
    #[serde(deserialize_with = "lax")]
    completion_tokens: Option<i64>,
    #[serde(deserialize_with = "lax")]
    total_tokens: Option<i64>,
    #[serde(deserialize_with = "lax")]
    prompt_tokens_details: Option<Details>,
    #[serde(deserialize_with = "lax")]
    prompt_cache_hit_tokens: Option<i64>,
    #[serde(deserialize_with = "lax")]
    cached_tokens: Option<i64>,
    #[serde(deserialize_with = "lax")]
    num_cached_tokens: Option<i64>,
    #[serde(deserialize_with = "lax")]
    prompt_token_details: Option<Details>,
    #[serde(deserialize_with = "lax")]
    completion_tokens_details: Option<Details>,
    #[serde(deserialize_with = "lax")]
    reasoning_tokens: Option<i64>,
    #[serde(deserialize_with = "lax")]
    cost: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(deserialize_with = "lax")]
    cached_tokens: Option<i64>,
    #[serde(deserialize_with = "lax")]
    reasoning_tokens: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Nested {
    #[serde(deserialize_with = "lax")]
    usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Timings {
    #[serde(deserialize_with = "lax")]
    cache_n: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BaseResp {
    #[serde(deserialize_with = "lax")]
    status_code: Option<i64>,
}

impl Record for Choice<'_> {}
impl Record for Delta<'_> {}
impl Record for Call<'_> {}
impl Record for Function<'_> {}
impl Record for WireUsage {}
impl Record for Details {}
impl Record for Nested {}
impl Record for Timings {}
impl Record for BaseResp {}

impl WireUsage {
    /// In the one meaning that all providers share: cached is part of the prompt, reasoning part
    /// of the completion. None when nothing was counted.
    fn normal(&self, cache_n: Option<i64>) -> Option<Usage> {
        let details = self.prompt_tokens_details.unwrap_or_default();
        let other = self.prompt_token_details.unwrap_or_default();
        let cached = [
            details.cached_tokens,
            self.prompt_cache_hit_tokens,
            self.cached_tokens,
            self.num_cached_tokens,
            other.cached_tokens,
            cache_n,
        ];
        let prompt = count(self.prompt_tokens);
        let beyond_prompt = count(self.total_tokens).saturating_sub(prompt);
        let completion = count(self.completion_tokens).max(beyond_prompt);
        let answer = self.completion_tokens_details.unwrap_or_default();
        let usage = Usage {
            prompt,
            completion,
            cached: cached.map(count).into_iter().find(|n| *n > 0).unwrap_or(0).min(prompt),
            reasoning: count(answer.reasoning_tokens.or(self.reasoning_tokens)).min(completion),
            cost: self.cost.filter(|cost| cost.is_finite()),
        };
        (prompt > 0 || completion > 0).then_some(usage)
    }
}

/// A count; a negative one is as good as none.
fn count(number: Option<i64>) -> u64 {
    number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

impl<'a> Chunk<'a> {
    /// Reads an event's data. Text that the strict parser refuses for a lone surrogate or a
    /// doubled key is rewritten into `spare` and read again.
    ///
    /// # Errors
    /// The parser's, when the data is no JSON object in any reading.
    pub(super) fn parse(
        data: &'a str,
        spare: &'a mut String,
    ) -> Result<Self, serde_json::Error> {
        let strict = serde_json::from_str(data);
        if strict.is_ok() {
            return strict;
        }
        let rewritten = surrogate::rewrite(data, surrogate::park);
        *spare = serde_json::from_str::<Value>(&rewritten)?.to_string();
        let chunk: Self = serde_json::from_str(spare)?;
        Ok(Self { rewritten: true, ..chunk })
    }

    /// The tokens it reports, wherever in it they are.
    pub(super) fn usage(&self) -> Option<Usage> {
        let cache_n = self.timings.as_ref().and_then(|timings| timings.cache_n);
        let in_choices = self.choices.iter().filter_map(|choice| choice.usage);
        let nested = self.x_groq.as_ref().and_then(|nested| nested.usage);
        let mut all = self.usage.into_iter().chain(in_choices).chain(nested);
        all.find_map(|usage| usage.normal(cache_n))
    }

    /// True when it carries a failure, in any of the known shapes.
    pub(super) fn is_error(&self) -> bool {
        let refused = |base: &BaseResp| base.status_code.is_some_and(|code| code != 0);
        let says_something = self.message.0 || self.msg.0 || self.detail.0;
        self.error.0
            || self.object == "error"
            || self.choices.iter().any(|choice| choice.error.0)
            || self.base_resp.as_ref().is_some_and(refused)
            || (self.choices.is_empty() && self.usage.is_none() && says_something)
    }
}
