//! How providers differ, as data: one row each, no branches elsewhere.
//!
//! A [`Profile`] says what a provider accepts on the wire, which hosts are its own, and which
//! environment variables hold its key. [`table`] holds the rows, [`models`] what is known about
//! single models, [`effort`] turns a thinking level into request fields. A row is constant and
//! flat; [`adjust`] makes of it what holds for one model at one endpoint.

pub mod adjust;
pub mod effort;
pub mod fields;
pub mod levels;
pub mod models;
pub mod table;

pub use effort::Effort;
pub use fields::{Field, Fields};
pub use table::{GENERIC, PROFILES};

use reqwest::Url;
use serde::{Deserialize, Serialize};

/// How the key travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `api-key: KEY`.
    ApiKeyHeader,
}

/// The name of the parameter that limits a reply's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutLimit {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

impl OutLimit {
    /// The parameter.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// The role that the system prompt is sent under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// `system`, understood by nearly all.
    System,
    /// `developer`.
    Developer,
    /// `user`, for templates that know no system role.
    User,
}

impl SystemRole {
    /// The role's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
        }
    }
}

/// Whether a reply's reasoning goes back with it in later requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Never: the field is refused or useless.
    Never,
    /// Under the field name that it came in.
    SameField,
    /// On every assistant message, as an empty text where there was none.
    Always,
    /// As `SameField`, with `reasoning_details` unmodified and in order.
    Details,
    /// As a `thinking` part of the content, where it came as one.
    Parts,
}

/// What becomes of `extra_content`, in which a call's signature travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signatures {
    /// It goes back to the model that wrote the call.
    Echo,
    /// Likewise, and a reply without one gets the value that passes for it.
    Demanded,
}

/// Whether neighbouring messages need one between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turns {
    /// Any order is taken.
    Free,
    /// No user message directly after a tool result.
    NoUserAfterTool,
    /// Likewise, and no user message directly after another.
    Alternate,
}

/// How much of JSON Schema a provider takes in a tool's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaLevel {
    /// All of it.
    Full,
    /// Without patterns, formats and bounds: grammars are built from it.
    Plain,
    /// Types, properties, descriptions and enums of strings, nothing else.
    Bare,
}

/// Which tool-call ids a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdRule {
    /// Any text.
    Any,
    /// `[A-Za-z0-9_-]+`.
    Plain,
    /// `[A-Za-z0-9_-]{1,40}`.
    Max40,
    /// Exactly nine of `[A-Za-z0-9]`.
    Mistral9,
}

/// What a provider's model ids look like; decides what `PROVIDER/MODEL` means there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelIds {
    /// Without a slash: the maker's own models.
    Plain,
    /// With or without one.
    Mixed,
    /// Always `maker/model`.
    Paths,
}

/// How a thinking level is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortStyle {
    /// It cannot be.
    None,
    /// `reasoning_effort: LEVEL`.
    ReasoningEffort,
    /// `thinking: {type}`, with `reasoning_effort` where there is a level.
    Thinking,
    /// `enable_thinking: BOOL`, with `reasoning_effort` where there is a level.
    EnableThinking,
    /// `reasoning: {effort}`, or `{enabled: false}`.
    Reasoning,
}

/// Everything in which one provider differs from another.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, one per field")]
pub struct Profile {
    /// The preset's name.
    pub name: &'static str,
    /// Other names that users know it by.
    pub aliases: &'static [&'static str],
    /// Hosts that are its own and may see its key; `*.x` stands for everything below `x`.
    pub hosts: &'static [&'static str],
    /// For a local server, the loopback port by which it is recognised.
    pub port: Option<u16>,
    /// The usual endpoint, without `/chat/completions`. None: the user has to give it.
    pub base_url: Option<&'static str>,
    /// Environment variables that hold its key, first choice first. Empty: it needs none.
    pub key_envs: &'static [&'static str],
    /// Paths beside the endpoint's that tell windows, in the server's own way.
    pub details: &'static [&'static str],
    /// An environment variable that moves the endpoint; it pairs with the key in `key_envs`.
    pub base_url_env: Option<&'static str>,
    /// Its key in the environment is reason enough to choose it.
    pub automatic: bool,
    /// How the key travels.
    pub auth: Auth,
    /// The model where the user names none.
    pub default_model: Option<&'static str>,
    /// What its model ids look like.
    pub model_ids: ModelIds,
    /// The output limit's parameter.
    pub out_limit: OutLimit,
    /// Send `stream_options: {include_usage: true}`.
    pub include_usage: bool,
    /// The system prompt's role.
    pub system_role: SystemRole,
    /// How a thinking level is asked for.
    pub effort: EffortStyle,
    /// The levels it knows, by their names there. Others go to the nearest one.
    pub levels: &'static [(Effort, &'static str)],
    /// The reasoning field to send where a reply did not come with one.
    pub reasoning_field: &'static str,
    /// Whether reasoning goes back.
    pub replay: Replay,
    /// Send `content: null` instead of an empty text beside tool calls.
    pub null_content: bool,
    /// Which call ids it takes.
    pub id_rule: IdRule,
    /// What has to stand between messages.
    pub turns: Turns,
    /// Tool results carry the tool's `name`.
    pub tool_name: bool,
    /// What becomes of calls' signatures.
    pub signatures: Signatures,
    /// Reasoning that was split off the content goes back into it, in its tags.
    pub think_back: bool,
    /// Assistant text may not end in white space.
    pub trim: bool,
    /// How much of JSON Schema it takes.
    pub schemas: SchemaLevel,
    /// Send the session's id as `prompt_cache_key`.
    pub cache_key: bool,
    /// A prefix of its listed model ids that requests leave out.
    pub model_prefix: &'static str,
    /// `tool_choice` may be anything but `auto` and `none`.
    pub forced_tool_choice: bool,
    /// Further top-level request fields: name and JSON value.
    pub extra_body: &'static [(&'static str, &'static str)],
    /// Fields that were refused here and are left out.
    pub without: Fields,
    /// Level names that were said to be accepted; others go to the nearest of them.
    pub only_levels: levels::Names,
    /// `reasoning_effort` has to be `none` while tools are offered.
    pub no_effort_with_tools: bool,
    /// The API lies below `/v1` of the base URL.
    pub below_v1: bool,
}

impl Profile {
    /// True for a server that runs on the user's own machine.
    pub fn is_local(&self) -> bool {
        self.port.is_some()
    }

    /// True when requests without a key are pointless.
    pub fn needs_key(&self) -> bool {
        !self.key_envs.is_empty() && !self.is_local()
    }

    /// False for a field that was refused.
    pub fn sends(&self, field: Field) -> bool {
        !self.without.contains(field)
    }

    /// The path of the API below the base URL.
    pub fn path(&self) -> &'static str {
        if self.below_v1 { "/v1/chat/completions" } else { "/chat/completions" }
    }

    /// True for a host that may see this provider's key.
    pub fn owns_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| host_matches(pattern, host))
    }

    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// The preset of this name or alias, in any case of letters.
pub fn by_name(name: &str) -> Option<&'static Profile> {
    let name = name.to_ascii_lowercase();
    PROFILES.iter().chain([&GENERIC]).find(|profile| profile.is_named(&name))
}

/// The profile of an endpoint: the preset that the user named, else the one whose host or local
/// port it is, else [`GENERIC`].
pub fn profile_for(base_url: &str, provider: Option<&str>) -> &'static Profile {
    if let Some(named) = provider.and_then(by_name) {
        return named;
    }
    let Ok(url) = Url::parse(base_url) else { return &GENERIC };
    let Some(host) = url.host_str() else { return &GENERIC };
    let loopback = is_loopback(host);
    let port = url.port_or_known_default();
    PROFILES
        .iter()
        .find(|p| p.owns_host(host) || (loopback && p.is_local() && p.port == port))
        .unwrap_or(&GENERIC)
}

/// True for a host name or address of this machine. `host` is as a parsed URL gives it, so an IPv4
/// address has its four plain numbers.
pub fn is_loopback(host: &str) -> bool {
    let is_v4 = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_v4 && host.starts_with("127."))
        || host == "[::1]"
        || host == "localhost"
        || host.ends_with(".localhost")
}

fn host_matches(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
        None => host == pattern,
    }
}

#[cfg(test)]
mod tests;
