//! The configuration: what holds, and where each value comes from.
//!
//! [`load`] reads the environment and the files; [`resolve`] is pure and weighs flag, environment,
//! project file, user file, preset and discovered server against each other, in this order. Every
//! value keeps its [`Origin`], so `xsh doctor` can show it. No `.env` is read, and a key is only
//! ever taken from the environment.

pub mod endpoint;
pub mod environment;
pub mod file;
pub mod instructions;
pub mod keep;
pub mod load;
pub mod project;
pub mod resolve;
pub mod secret;
mod switch;
mod target;
pub mod trusted;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use self::file::History;
use crate::client::profile::models::Price;
use crate::client::profile::{Effort, Profile};
use crate::error::Error;
use crate::mask::Masks;
use crate::policy::Mode;
use crate::policy::rules::Written;
pub use load::load;
pub use secret::Secret;
pub use switch::Here;

/// Where a value comes from, strongest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A command-line flag.
    Flag(&'static str),
    /// An environment variable.
    Environment(String),
    /// The project's `.xsh/config.toml`.
    Project(PathBuf),
    /// The user's own `config.toml`.
    User(PathBuf),
    /// What is built in about a provider or model.
    Preset(String),
    /// Typed at the prompt (`/model`).
    Typed,
    /// Told by the server itself.
    Discovered,
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Project(path) => write!(f, "project {}", path.display()),
            Self::User(path) => write!(f, "user {}", path.display()),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::Typed => f.write_str("/model"),
            Self::Discovered => f.write_str("discovered"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value that knows where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// What holds.
    pub value: T,
    /// Who said so.
    pub origin: Origin,
}

impl<T> Setting<T> {
    /// A value with its origin.
    pub fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: change(self.value), origin: self.origin }
    }
}

/// Where requests go, with the key for exactly this place.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// The provider's name: a preset, `generic`, or a name from the user's file.
    pub provider: Setting<String>,
    /// How it differs from others.
    pub profile: &'static Profile,
    /// Without a final `/` and without `/chat/completions`.
    pub base_url: Setting<String>,
    /// The key; none where none is needed or none was found.
    pub key: Option<Setting<Secret>>,
    /// It is on this machine.
    pub loopback: bool,
    /// Further headers that the user set for it.
    pub headers: Vec<(String, String)>,
    /// Further request fields that the user set for it.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
}

/// A provider that could be used, with its usual model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The preset.
    pub provider: String,
    /// The model, where it has a usual one.
    pub model: Option<String>,
    /// What speaks for it: a variable, or the server's address.
    pub sign: String,
}

/// How long to wait for a provider. Each is the time without any sign of life.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Setting<Duration>,
    /// From the request to the first byte of the answer.
    pub first_byte: Setting<Duration>,
    /// Between two bytes of the answer.
    pub idle: Setting<Duration>,
}

/// How often and how patiently a failed request is sent again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Requests in all, the first included.
    pub max_attempts: Setting<u32>,
    /// The longest single wait; a provider that asks for more ends the turn.
    pub max_wait: Setting<Duration>,
}

/// Everything that holds for one run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where requests go; none until something is configured or found.
    pub endpoint: Option<Endpoint>,
    /// The model as the provider knows it.
    pub model: Option<Setting<String>>,
    /// How hard the model thinks; none = as the provider sees fit.
    pub effort: Option<Setting<Effort>>,
    /// The context window in tokens; none while nobody has told it.
    pub window: Option<Setting<u64>>,
    /// What the model costs, where known.
    pub price: Option<Setting<Price>>,
    /// Providers that could be used as well: nothing was said, and there are keys for several.
    pub choices: Vec<Choice>,
    /// Model replies per turn at most.
    pub max_steps: Option<Setting<u32>>,
    /// How often the same calls in a row end a turn.
    pub max_repeats: Setting<u32>,
    /// What may be done without asking.
    pub permission_mode: Setting<Mode>,
    /// The user's rules as they were written.
    pub rules: Vec<Written>,
    /// Waiting.
    pub timeouts: Timeouts,
    /// Trying again.
    pub retry: Retry,
    /// Whether colours are allowed at all; whether a terminal shows them is the screen's business.
    pub color: Setting<bool>,
    /// The folder to work in: absolute, links resolved.
    pub workspace: PathBuf,
    /// Further folders for file tools: absolute, links resolved.
    pub add_dirs: Vec<PathBuf>,
    /// Text that replaces the built-in rules of the system prompt.
    pub system_prompt: Option<String>,
    /// Text that is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// The user's configuration folder, whether it exists or not; none without a usable home.
    pub user_dir: Option<PathBuf>,
    /// The user's state folder, whether it exists or not; none without a usable home.
    pub state_dir: Option<PathBuf>,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// `TERM`, empty where unset.
    pub term: String,
    /// `OLLAMA_HOST` as an address, for discovery.
    pub ollama_host: Option<String>,
    /// Environment variables that child processes must not see.
    pub hidden_env: Vec<String>,
    /// Where typed messages are remembered.
    pub history: History,
    /// Their values, to be masked wherever text is stored or shown.
    pub masks: Masks,
    /// What the user should be told at start.
    pub warnings: Vec<String>,
}

impl Config {
    /// The endpoint and the model, or what is missing and how to get it (exit 2).
    pub fn ready(&self) -> Result<(&Endpoint, &Setting<String>), Error> {
        let endpoint = self.reachable()?;
        let model = self.model.as_ref().ok_or_else(|| no_model(endpoint))?;
        Ok((endpoint, model))
    }

    /// The endpoint with its key, where a model is not needed yet.
    pub fn reachable(&self) -> Result<&Endpoint, Error> {
        let endpoint = self.endpoint.as_ref().ok_or_else(nothing_found)?;
        let profile = endpoint.profile;
        if endpoint.key.is_none() && needs_own_key(endpoint) {
            return Err(Error::usage(
                format!("no key for {}", endpoint.provider.value),
                format!("{} is not set", profile.key_envs.join(" or ")),
            )
            .help("set it in the environment, or choose another provider with --provider"));
        }
        Ok(endpoint)
    }
}

/// True where the provider itself is asked, not a stand-in with its manners.
fn needs_own_key(endpoint: &Endpoint) -> bool {
    let host = endpoint::host(&endpoint.base_url.value);
    endpoint.profile.needs_key() && host.is_some_and(|host| endpoint.profile.owns_host(&host))
}

fn nothing_found() -> Error {
    Error::usage("no model to talk to", "nothing is configured, and no local server was found")
        .help(
            "one of these is enough:\n  \
             export DEEPSEEK_API_KEY=…   (or another provider's key: OPENAI_API_KEY, OPENROUTER_API_KEY, …)\n  \
             ollama serve                (a model on this machine: ollama, LM Studio, llama.cpp, vLLM)\n  \
             export XSH_BASE_URL=… XSH_MODEL=…   (any OpenAI-compatible endpoint; its key in XSH_API_KEY)\n\
             To see it work without one: xsh --demo",
        )
}

fn no_model(endpoint: &Endpoint) -> Error {
    Error::usage("no model is chosen", format!("{} has no usual one", endpoint.provider.value))
        .help("list them with `xsh models`, then use -m NAME or XSH_MODEL")
}
