//! What to change about a request that was refused for something optional in it.
//!
//! Pure: one error, in its provider's words, to one [`Adjustment`] or none. Phrases instead of a
//! perfect table: providers and their proxies change more often than this program. Whether the
//! change makes any difference to what is sent is the driver's question.

use super::classify::{ErrorKind, ProviderError};
use super::profile::adjust::Adjustment;
use super::profile::levels::Names;
use super::profile::{Field, IdRule, OutLimit, Profile, SchemaLevel, SystemRole, Turns};

/// Changes of one request at most.
pub const MOST: u32 = 3;

/// The change that this refusal asks for. `base_url` is where the request went.
pub fn negotiate(error: &ProviderError, profile: &Profile, base_url: &str) -> Option<Adjustment> {
    let status = error.status?;
    if matches!(status, 404 | 405) && error.kind == ErrorKind::NotAnApi {
        return (!profile.below_v1 && !is_versioned(base_url)).then_some(Adjustment::BelowV1);
    }
    if error.kind != ErrorKind::InvalidRequest || !matches!(status, 400 | 422 | 500) {
        return None;
    }
    let text = error.message.to_lowercase();
    let words: Vec<&str> = words(&text).collect();
    let said = Said { text: &text, words: &words };
    // A fault of the server itself is not about the request, except where a template says so.
    if status == 500 {
        return said.turns(profile).or_else(|| said.grammar());
    }
    RULES.iter().find_map(|rule| rule(&said, profile))
}

/// True where the URL's path already names a version, as `/v1`, `/v4` or `/v1beta/openai`.
fn is_versioned(base_url: &str) -> bool {
    base_url.split('/').skip(3).any(|part| {
        let digits = part.strip_prefix('v').unwrap_or_default();
        digits.starts_with(|c: char| c.is_ascii_digit())
    })
}

type Rule = fn(&Said<'_>, &Profile) -> Option<Adjustment>;

/// The first that has an answer counts: the special ones stand before the general.
const RULES: &[Rule] = &[
    |said, _| said.signature(),
    |said, _| said.missing_reasoning(),
    |said, _| said.effort_with_tools(),
    |said, _| said.levels(),
    |said, _| said.out_limit(),
    |said, _| said.role(),
    |said, profile| said.turns(profile),
    |said, _| said.grammar(),
    |said, _| said.ids(),
    |said, _| said.empty_content(),
    |said, _| said.refused_field(),
];

/// A refusal in lower case.
struct Said<'a> {
    text: &'a str,
    /// Its words; names with underscores are one word.
    words: &'a [&'a str],
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Words for a field that a provider does not take.
const REFUSALS: &[&str] = &[
    "extra inputs are not permitted",
    "extra_forbidden",
    "extra fields not permitted",
    "unknown name",
    "unknown parameter",
    "unknown field",
    "unknown argument",
    "unrecognized",
    "unexpected",
    "unsupported",
    "not supported",
    "not support",
    "does not allow",
    "not allowed",
    "not permitted",
    "not available",
    "cannot be used",
    "cannot find field",
    "additional properties",
    "additionalproperties",
    "only supported",
    "invalid parameter",
    "is not valid",
];

impl Said<'_> {
    fn has(&self, part: &str) -> bool {
        self.text.contains(part)
    }

    fn has_any(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.has(part))
    }

    fn has_word(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn refuses(&self) -> bool {
        self.has_any(REFUSALS)
    }

    fn signature(&self) -> Option<Adjustment> {
        let missing = self.has("thought_signature") && self.has_any(&["missing", "required"]);
        missing.then_some(Adjustment::Signatures)
    }

    fn missing_reasoning(&self) -> Option<Adjustment> {
        let missing = ["missing", "must be passed back", "must be provided", "is required"];
        (self.has("reasoning_content") && self.has_any(&missing))
            .then_some(Adjustment::ReasoningEverywhere)
    }

    fn effort_with_tools(&self) -> Option<Adjustment> {
        let both = self.has("reasoning_effort") && self.has("tools");
        (both && self.refuses()).then_some(Adjustment::NoEffortWithTools)
    }

    /// The list of accepted levels, where the text states one.
    fn levels(&self) -> Option<Adjustment> {
        let about = self.has_any(&["reasoning_effort", "reasoning.effort", "effort"]);
        let starts = ["supported values", "one of", "must be", "expected", "allowed values"];
        let at = starts.iter().filter_map(|start| self.text.find(start)).min().filter(|_| about)?;
        let names = Names::among(words(self.text.get(at..)?));
        (!names.is_empty()).then_some(Adjustment::Levels(names))
    }

    fn out_limit(&self) -> Option<Adjustment> {
        use OutLimit::{MaxCompletionTokens, MaxTokens};
        let (short, long) = (self.has_word("max_tokens"), self.has_word("max_completion_tokens"));
        if self.has("use 'max_completion_tokens'") || (short && !long && self.refuses()) {
            return Some(Adjustment::OutLimit(MaxCompletionTokens));
        }
        let to_short = self.has("use 'max_tokens'") || (long && !short && self.refuses());
        to_short.then_some(Adjustment::OutLimit(MaxTokens))
    }

    fn role(&self) -> Option<Adjustment> {
        let about_role = self.has_any(&["role", "input tag"]);
        if self.has_word("developer") && about_role {
            return Some(Adjustment::System(SystemRole::System));
        }
        let none = ["system role not supported", "only user and assistant roles"];
        self.has_any(&none).then_some(Adjustment::System(SystemRole::User))
    }

    fn turns(&self, profile: &Profile) -> Option<Adjustment> {
        let order = [
            "roles must alternate",
            "expected last role",
            "unexpected role 'user' after role 'tool'",
            "not the same role as the previous",
            "user message after a tool",
        ];
        if !self.has_any(&order) {
            return None;
        }
        let harder = self.has("alternate") || profile.turns >= Turns::NoUserAfterTool;
        Some(Adjustment::Turns(if harder { Turns::Alternate } else { Turns::NoUserAfterTool }))
    }

    fn grammar(&self) -> Option<Adjustment> {
        let fails = ["parse grammar", "failed to initialize samplers", "unsupported schema"];
        let named = self.has_any(&["function_declarations", "tools[", "tools.", "schema"])
            && self.has_any(&["unknown name", "invalid schema", "unsupported keyword"]);
        let level = if self.has_any(&fails) || named { SchemaLevel::Bare } else { return None };
        Some(Adjustment::Schemas(level))
    }

    fn ids(&self) -> Option<Adjustment> {
        if !self.has_any(&["tool call id", "tool_call_id", "tool_calls", "tool_use"]) {
            return None;
        }
        let rule = if self.has("length of 9") {
            IdRule::Mistral9
        } else if self.has_any(&["maximum length 40", "at most 40", "too long"]) {
            IdRule::Max40
        } else if self.has_any(&["pattern", "a-za-z0-9_-"]) {
            IdRule::Plain
        } else {
            return None;
        };
        Some(Adjustment::Ids(rule))
    }

    fn empty_content(&self) -> Option<Adjustment> {
        if !self.has("content") {
            return None;
        }
        let empty = ["content is empty", "non-empty content", "content must be non-empty"];
        if self.has_any(&empty) {
            return Some(Adjustment::NullContent(true));
        }
        let null = ["got null", "null is not", "must not be null", "content is null", "nonetype"];
        let null = self.has_any(&null) || self.has("content should be a valid string");
        null.then_some(Adjustment::NullContent(false))
    }

    fn refused_field(&self) -> Option<Adjustment> {
        let in_message = self.has_any(&["messages", "message field", "in message"]);
        let field = Field::named(self.words, in_message).filter(|_| self.refuses())?;
        Some(Adjustment::Drop(field))
    }
}

#[cfg(test)]
mod tests;
