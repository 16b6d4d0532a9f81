//! What an error means: from a status, headers and a body in any shape to one kind.
//!
//! The kind decides what is done next (retry, compact, give up); the text stays the provider's
//! own. Tables of codes and phrases, no provider's name. Pure: the time comes in.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::message::{FinishReason, Reply};

mod kind;
mod overflow;
mod page;
mod said;
mod wait;

use said::Said;

/// The longest error text that is kept, in characters.
const MAX_MESSAGE: usize = 2_000;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The key is missing, wrong, or not good for this.
    Auth,
    /// Money or plan: no credit, a quota that lasts.
    Billing,
    /// Too many requests or tokens for now.
    RateLimit,
    /// The provider has no room for now.
    Overloaded,
    /// A fault on the provider's side.
    Server,
    /// The prompt is too long for the model.
    Overflow,
    /// The request is at fault; the same again fails again.
    InvalidRequest,
    /// Refused by a content filter.
    ContentFilter,
    /// The model wrote a tool call that its server could not read.
    ToolGeneration,
    /// The answer ended before its end.
    Incomplete,
    /// No connection, or it broke.
    Network,
    /// No secure connection, for a certificate for example.
    Tls,
    /// What answered is not a chat-completions API.
    NotAnApi,
    /// Nothing came for too long.
    Timeout,
}

impl ErrorKind {
    /// True when the same request may well succeed a little later.
    pub fn retryable(self) -> bool {
        match self {
            Self::RateLimit
            | Self::Overloaded
            | Self::Server
            | Self::ToolGeneration
            | Self::Incomplete
            | Self::Network
            | Self::Timeout => true,
            Self::Auth
            | Self::Billing
            | Self::Overflow
            | Self::InvalidRequest
            | Self::ContentFilter
            | Self::Tls
            | Self::NotAnApi => false,
        }
    }

    /// A stable name, for logs and scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Billing => "billing",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Overflow => "context_overflow",
            Self::InvalidRequest => "invalid_request",
            Self::ContentFilter => "content_filter",
            Self::ToolGeneration => "tool_generation",
            Self::Incomplete => "incomplete",
            Self::Network => "network",
            Self::Tls => "tls",
            Self::NotAnApi => "not_an_api",
            Self::Timeout => "timeout",
        }
    }
}

/// A failed request. Its text is the provider's own, with the status behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// The HTTP status; none for errors inside a stream and on the way.
    pub status: Option<u16>,
    /// The provider's code or type, numbers as text.
    pub code: Option<String>,
    /// The provider's words, cleaned of control characters and cut at 2,000 characters.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// For an overflow, the model's window in tokens where the text states it.
    pub window: Option<u64>,
    /// For an overflow, the tokens that the request had where the text states it.
    pub asked: Option<u64>,
    /// The answer had no body, so that only its status tells anything.
    pub bodyless: bool,
}

impl ProviderError {
    /// An error that did not come from a provider's answer.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        let message = clean(message.as_ref(), MAX_MESSAGE);
        Self {
            kind,
            status: None,
            code: None,
            message,
            retry_after: None,
            window: None,
            asked: None,
            bodyless: false,
        }
    }

    /// Some say nothing at all about a prompt that is too long: a refusal without a word counts as
    /// an overflow where the request, by estimate, nearly fills the window.
    #[must_use]
    pub fn with_size(mut self, size: u64, window: Option<u64>) -> Self {
        let fills = window.is_some_and(|window| size.saturating_mul(5) > window.saturating_mul(4));
        if self.bodyless && self.status == Some(400) && fills {
            self.kind = ErrorKind::Overflow;
        }
        self
    }

    /// Some cut the answer to nothing instead of refusing a prompt that fills the window.
    pub fn of_full_window(reply: &Reply, window: Option<u64>) -> Option<Self> {
        let read = reply.usage?.prompt;
        let full = read.saturating_mul(100) >= window?.saturating_mul(99);
        let cut = reply.finish_reason == FinishReason::Length && reply.is_empty();
        (cut && full).then(|| {
            let why = format!("no answer fits: the prompt's {read} tokens fill the context window");
            Self::new(ErrorKind::Overflow, why)
        })
    }

    /// True when the same request may well succeed a little later.
    pub fn retryable(&self) -> bool {
        self.kind.retryable()
    }

    /// What the user can do next.
    pub fn help(&self) -> &'static str {
        kind::help(self)
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (self.status, &self.code) {
            (Some(status), _) => write!(f, " (HTTP {status})"),
            (None, Some(code)) => write!(f, " ({code})"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for ProviderError {}

/// An HTTP answer that is no success, or no chat completion.
#[derive(Clone, Copy)]
pub struct Response<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The address that answered; its query is never shown.
    pub url: &'a str,
    /// The body, as far as it was read.
    pub body: &'a [u8],
    /// Looks up a header by its lower-case name.
    pub header: &'a dyn Fn(&str) -> Option<String>,
    /// The time now, for a date in `retry-after` when the answer itself has none.
    pub now: Timestamp,
}

/// What an answer that is no success means.
pub fn classify_response(response: &Response<'_>) -> ProviderError {
    let text = String::from_utf8_lossy(response.body);
    let text = text.trim_start_matches('\u{FEFF}').trim();
    let html = (response.header)("content-type").is_some_and(|kind| kind.contains("html"));
    let said = if html || page::is_markup(text) { None } else { said::parse(text) };
    let status = Some(response.status);
    let mut error = match said {
        Some(said) if !is_no_route(&said, response.status) => from_said(&said, status),
        Some(said) => from_text(&said.message, false, status, response.url),
        None => from_text(text, html, status, response.url),
    };
    let waits = wait::from_headers(response.header, response.now);
    // A payment fault with a time to wait is a budget that is only in use just now.
    if response.status == 402 && waits.asked.is_some() {
        error.kind = ErrorKind::RateLimit;
    }
    let limited = matches!(error.kind, ErrorKind::RateLimit | ErrorKind::Overloaded);
    let asked = waits.asked.or(error.retry_after);
    error.retry_after = asked.or(waits.reset.filter(|_| limited));
    error
}

/// What an error event inside a stream means.
pub(super) fn classify_event(data: &str) -> ProviderError {
    let said = said::parse(data).unwrap_or_else(|| Said::text(data));
    from_said(&said, None)
}

/// True when the text is JSON that reports an error.
pub(super) fn holds_error(data: &str) -> bool {
    data.starts_with('[') && said::parse(data).is_some()
}

/// What the whole body of a success means that is no chat completion.
pub(super) fn classify_document(body: &[u8], url: &str) -> ProviderError {
    if body.starts_with(b"\x1F\x8B") {
        let why = "the answer is compressed, but its headers do not say so";
        return ProviderError::new(ErrorKind::NotAnApi, why);
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{FEFF}').trim();
    if page::is_markup(text) {
        return from_text(text, true, Some(200), url);
    }
    if let Some(said) = said::parse(text) {
        return from_said(&said, None);
    }
    let parsed = serde_json::from_str::<serde::de::IgnoredAny>(text);
    if parsed.is_err_and(|error| error.is_eof()) {
        return ProviderError::new(ErrorKind::Incomplete, "the answer ended in the middle");
    }
    let extract = clean(text, 200);
    let why = format!("no chat completion from {}: {extract}", page::shown_url(url));
    ProviderError::new(ErrorKind::NotAnApi, why)
}

/// What web frameworks answer where nothing is served: no word of a model, so no API's.
fn is_no_route(said: &Said, status: u16) -> bool {
    let standard = ["not found", "method not allowed", "404 page not found", "404 not found"];
    matches!(status, 404 | 405) && standard.contains(&said.message.to_lowercase().as_str())
}

/// From what a body says in a known shape.
fn from_said(said: &Said, status: Option<u16>) -> ProviderError {
    let mut error = ProviderError::new(kind::of(said, status), &said.message);
    error.status = status;
    error.code = said.codes.first().map(|code| clean(code, 100));
    error.retry_after = said.retry_after;
    let waits = matches!(error.kind, ErrorKind::RateLimit | ErrorKind::Overloaded);
    if waits && error.retry_after.is_none() {
        error.retry_after = wait::in_text(&said.message);
    }
    if error.kind == ErrorKind::Overflow {
        let (window, asked) = overflow::numbers(&said.all_text());
        error.window = said.window.or(window);
        error.asked = said.asked.or(asked);
    }
    if error.message.is_empty() {
        error.message.push_str("the provider gave no reason");
    }
    error
}

/// From a body in no known shape: a page, plain text, or nothing.
fn from_text(text: &str, html: bool, status: Option<u16>, url: &str) -> ProviderError {
    let url = page::shown_url(url);
    let markup = html || page::is_markup(text);
    let mut error = from_said(&Said::text(if markup { "" } else { text }), status);
    if markup {
        let extract = page::extract(text);
        error.message = format!("HTML instead of an API answer from {url}: {extract}");
    } else if text.is_empty() {
        error.bodyless = true;
        error.message = format!("{url} answered without a body");
    } else if !error.retryable() {
        error.message = clean(&format!("{url} answered: {}", error.message), MAX_MESSAGE);
    }
    // A gateway's page about its own limits or a passing fault is not the fault of the address.
    let gateway = error.retryable() || error.kind == ErrorKind::Overflow;
    let at_home = gateway && status.is_some_and(|status| status >= 300);
    if !at_home && (markup || matches!(status, Some(404 | 405))) {
        error.kind = ErrorKind::NotAnApi;
    }
    error
}

/// The text on one screen line or several, without control characters, at most `max` characters;
/// a cut is marked.
pub(super) fn clean(text: &str, max: usize) -> String {
    let plain = |c: char| if c == '\t' { ' ' } else { c };
    let mut shown = text.trim().chars().map(plain).filter(|c| *c == '\n' || !c.is_control());
    let mut out: String = shown.clone().take(max).collect();
    if shown.nth(max).is_some() {
        out.push_str("… (cut)");
    }
    out
}

#[cfg(test)]
mod tests;
