//! Prompts that are too long: the phrases that say so, and the numbers in them.
//!
//! Texts are looked at in lower case. What looks like an overflow but speaks of rates, quotas,
//! images or the output limit alone is none.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// Codes, types and finish reasons that mean an overflow.
pub(super) const CODES: [&str; 8] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    "max_prompt_tokens_exceeded",
    "tokens_limit_reached",
    "request_too_large",
    "model_context_window_exceeded",
    "contextwindowexceedederror",
];

/// A phrase of these and it is no overflow.
const VETOES: &[&str] = &[
    r"rate.?limit|too many requests|per minute|\b[tr]p[md]\b|quota|throttl",
    r"range of max_tokens",
    r"\bencoder prompt",
    r"\bimages? (?:count|size)|too many images|at most \d+ image|image.{0,40}too large|number of images",
];

const PHRASES: &[&str] = &[
    "maximum context length",
    "exceeds? (?:the|this|its) (?:model'?s )?context (?:window|length|size|limit)",
    "context window (?:is )?exceeded|context window exceeds limit|contextwindowexceedederror",
    "longer than the maximum model length",
    "longer than the model'?s context length",
    "exceeds the model'?s maximum context length",
    "prompt (?:is )?too long",
    r"input length and .{0,3}max_tokens.{0,3} exceed context limit",
    "input is too long for requested model",
    "input token count .{0,40}exceeds the maximum number of tokens",
    "exceeded model token limit",
    "prompt exceeds max length",
    "range of input length should be",
    "maximum prompt length is",
    "reduce the length of (?:the|your|either)|middle-out",
    "prompt token count of .{0,40}exceeds the limit",
    "request body too large.{0,80}max size: [0-9]+ tokens",
    "exceeds the available context size",
    "exceeds the context length|exceeded max context length|configured context size is",
    "tokens to keep from the initial prompt is greater than the context length",
    "context length of only",
    r"inputs.{0,3} tokens \+ .{0,3}max_new_tokens.{0,3} must be <=",
    "inputs.{0,3} must have less than",
    "maximum allowed input length",
    "context length.{0,80}exceed|exceed.{0,80}context length",
];

/// A number, perhaps with separators.
const N: &str = "([0-9][0-9,_]*)";

/// Where the window stands; `N` is the number.
const WINDOWS: &[&str] = &[
    "maximum context length (?:is|of):? N",
    "model maximum context length: N",
    "N maximum context length",
    "maximum model length of N",
    r"context length \(N",
    "tokens > N maximum",
    r"exceed context limit: [0-9]+ \+ [0-9]+ > N",
    r"maximum number of tokens allowed \(N",
    "model token limit: N",
    r"input length should be \[1, ?N",
    "maximum prompt length is N",
    "exceeds the limit of N",
    "max size: N tokens",
    r"context size \(N tokens",
    "context size is N",
    "context length of only N",
    "must be <= N",
    "must have less than N",
    "maximum allowed input length of N",
    "context window of N",
];

/// Where the request's size stands.
const ASKED: &[&str] = &[
    "requested (?:about )?N tokens",
    "messages resulted in N",
    "your request has N input tokens",
    r"prompt \(length N",
    r"input \(N tokens",
    "too long: N",
    r"exceed context limit: N \+",
    r"input token count \(N",
    "requested: N",
    "prompt contains N",
    "request contains N",
    "token count of N",
    r"request \(N tokens",
    "prompt has N",
];

fn set(patterns: &[&str]) -> RegexSet {
    RegexSet::new(patterns).unwrap_or_else(|_| RegexSet::empty())
}

fn list(patterns: &[&str]) -> Vec<Regex> {
    patterns.iter().filter_map(|pattern| Regex::new(&pattern.replace('N', N)).ok()).collect()
}

/// True when the lower-case text says that the prompt is too long.
pub(super) fn is_said(text: &str) -> bool {
    static SAID: LazyLock<RegexSet> = LazyLock::new(|| set(PHRASES));
    SAID.is_match(text) && !is_vetoed(text)
}

/// True when the lower-case text speaks of something that only looks like an overflow.
pub(super) fn is_vetoed(text: &str) -> bool {
    static VETOED: LazyLock<RegexSet> = LazyLock::new(|| set(VETOES));
    VETOED.is_match(text)
}

/// The model's window and the request's size, both in tokens, as far as the lower-case text
/// states them.
pub(super) fn numbers(text: &str) -> (Option<u64>, Option<u64>) {
    static WINDOW: LazyLock<Vec<Regex>> = LazyLock::new(|| list(WINDOWS));
    static SIZE: LazyLock<Vec<Regex>> = LazyLock::new(|| list(ASKED));
    (first(&WINDOW, text), first(&SIZE, text))
}

fn first(patterns: &[Regex], text: &str) -> Option<u64> {
    patterns.iter().find_map(|pattern| {
        let digits = pattern.captures(text)?.get(1)?.as_str().replace([',', '_'], "");
        digits.parse().ok().filter(|number| *number > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern that does not compile would be left out silently.
    #[test]
    fn all_patterns_compile() {
        assert_eq!(set(VETOES).len(), VETOES.len());
        assert_eq!(set(PHRASES).len(), PHRASES.len());
        assert_eq!(list(WINDOWS).len(), WINDOWS.len());
        assert_eq!(list(ASKED).len(), ASKED.len());
    }
}
