//! A configuration file's text: what may stand in it, and what it says.
//!
//! Anything unknown or of the wrong type is an error with file and line, never ignored. The one
//! exception is what only the user may set, found in a project's file: a cloned repository must
//! not choose the endpoint, the key or what runs unasked, so there it is left out and named.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use crate::client::profile::Effort;
use crate::error::Error;
use crate::policy::Mode;
use crate::policy::rules::{List, Place, Written};
use crate::suggest;

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's own: may say everything.
    User,
    /// The project's: may say [`PROJECT_KEYS`].
    Project,
    /// The project's, where the user has trusted exactly this content: [`TRUSTED_KEYS`] too.
    Trusted,
}

/// What a project's file may set.
pub const PROJECT_KEYS: &[&str] =
    &["model", "effort", "context_window", "max_steps", "max_repeats"];

/// What a project's file may set where the user has trusted exactly this content.
pub const TRUSTED_KEYS: &[&str] = &["base_url", "provider", "permission_mode", "timeouts", "retry"];

/// What only the user's file may set.
const USER_KEYS: &[&str] = &["api_key_env", "history", "providers", "models"];

/// Never a setting in any project, but plausible there: named and left out like [`USER_KEYS`],
/// because a hostile file must neither work nor keep xsh from starting.
const SUSPECT_KEYS: &[&str] = &[
    "api_key",
    "key",
    "token",
    "headers",
    "extra_headers",
    "extra_body",
    "proxy",
    "env",
    "permissions",
    "allowed_tools",
    "disallowed_tools",
    "auto_approve",
    "trust",
    "sandbox",
    "add_dirs",
    "hooks",
    "commands",
    "command",
    "shell",
    "mcp",
    "mcp_servers",
    "tools",
    "system_prompt",
];

/// One configuration file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub values: Values,
    /// Keys of a project's file that were left out for good.
    pub ignored: Vec<String>,
    /// What a project's file sets of [`TRUSTED_KEYS`], as it is written there.
    pub asks: Vec<(String, String)>,
}

/// Where typed messages are remembered for later sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// In one file for all projects.
    #[default]
    User,
    /// In one file for each.
    Project,
    /// Nowhere.
    Off,
}

/// What a file can say. Field names are its keys.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the keys are those of the configuration, explained there")]
pub struct Values {
    pub model: Option<String>,
    pub effort: Option<Effort>,
    pub context_window: Option<NonZeroU64>,
    pub max_steps: Option<NonZeroU32>,
    pub max_repeats: Option<NonZeroU32>,
    pub base_url: Option<String>,
    pub provider: Option<String>,
    /// The name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    pub permission_mode: Option<Mode>,
    pub history: Option<History>,
    /// `[permissions]`, with the lines of its rules.
    #[serde(skip)]
    pub permissions: Vec<Written>,
    pub timeouts: TimeoutValues,
    pub retry: RetryValues,
    /// Endpoints by names of the user's choice.
    pub providers: BTreeMap<String, ProviderValues>,
    /// What the user knows better about single models, by `MODEL` or `PROVIDER/MODEL`.
    pub models: BTreeMap<String, ModelValues>,
}

/// `[permissions]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PermissionValues {
    allow: Vec<Spanned<String>>,
    ask: Vec<Spanned<String>>,
    deny: Vec<Spanned<String>>,
}

impl PermissionValues {
    fn written(self, path: &Path, text: &str) -> Vec<Written> {
        let Self { allow, ask, deny } = self;
        let lists = [(List::Deny, deny), (List::Ask, ask), (List::Allow, allow)];
        let rules =
            lists.into_iter().flat_map(|(list, rules)| rules.into_iter().map(move |r| (list, r)));
        rules
            .map(|(list, rule)| {
                let line = line_of(text, rule.span().start);
                Written { list, text: rule.into_inner(), place: Place::File(path.to_owned(), line) }
            })
            .collect()
    }
}

/// `[timeouts]`, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "see `Timeouts`")]
pub struct TimeoutValues {
    pub connect: Option<Seconds>,
    pub first_byte: Option<Seconds>,
    pub idle: Option<Seconds>,
}

/// `[retry]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "see `Retry`")]
pub struct RetryValues {
    pub max_attempts: Option<NonZeroU32>,
    pub max_wait: Option<Seconds>,
}

/// `[providers.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderValues {
    /// The endpoint.
    pub base_url: String,
    /// The name of the environment variable that holds its key.
    pub api_key_env: Option<String>,
    /// The model where none is named.
    pub model: Option<String>,
    /// Further headers of its requests.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Further fields of its requests.
    #[serde(default)]
    pub extra_body: serde_json::Map<String, serde_json::Value>,
}

/// `[models."NAME"]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelValues {
    /// Tokens.
    pub context_window: Option<NonZeroU64>,
    /// US dollars per million tokens.
    pub price: Option<PriceValues>,
}

/// `price = { input = 1.0, output = 4.0, cached = 0.1 }`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceValues {
    /// Tokens sent.
    pub input: Dollars,
    /// Tokens received.
    pub output: Dollars,
    /// Tokens sent that came from the provider's cache; without it they cost the same as others.
    pub cached: Option<Dollars>,
}

/// An amount of money that is none or more.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Dollars(pub f64);

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(dollars: f64) -> Result<Self, String> {
        let is_price = dollars.is_finite() && dollars >= 0.0;
        is_price.then_some(Self(dollars)).ok_or_else(|| "a price is 0 or more".to_owned())
    }
}

/// A time in seconds, more than nothing and at most a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Seconds(pub Duration);

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        if seconds > 0.0 && seconds <= 86_400.0 {
            Ok(Self(Duration::from_secs_f64(seconds)))
        } else {
            Err("seconds must be more than 0 and at most 86400".to_owned())
        }
    }
}

/// Reads a file's text. The error names file and line.
pub fn parse(path: &Path, text: &str, scope: Scope) -> Result<File, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let wrong = |e: toml::de::Error| problem(path, text, scope, &e);
    let mut table = DeTable::parse(text).map_err(wrong)?;
    let (mut ignored, mut asks) = (Vec::new(), Vec::new());
    if scope == Scope::User {
        refuse_keys_in_files(path, text, table.get_ref())?;
    } else {
        asks = written(table.get_ref(), text);
        ignored = leave_out(table.get_mut());
    }
    let permissions = take_permissions(table.get_mut()).map_err(wrong)?;
    let mut values = Values::deserialize(toml::de::Deserializer::from(table)).map_err(wrong)?;
    if values.permission_mode == Some(Mode::Full) && scope != Scope::User {
        // Nobody but the user lets everything go unasked, for no project.
        values.permission_mode = None;
        asks.retain(|(key, _)| key != "permission_mode");
        ignored.push("permission_mode = \"full\"".to_owned());
    }
    values.permissions = permissions.written(path, text);
    match scope {
        Scope::User => {
            check_variable_names(path, &values)?;
            check_extras(path, &values)?;
        }
        Scope::Project => values = values.of_project(),
        Scope::Trusted => values = values.of_trusted(),
    }
    Ok(File { path: path.to_owned(), values, ignored, asks })
}

/// Takes the section out: its lines are wanted as well.
fn take_permissions(table: &mut DeTable<'_>) -> Result<PermissionValues, toml::de::Error> {
    let key = table.keys().find(|key| key.get_ref() == "permissions").cloned();
    match key.and_then(|key| table.remove(&key)) {
        Some(section) => PermissionValues::deserialize(toml::de::ValueDeserializer::from(section)),
        None => Ok(PermissionValues::default()),
    }
}

impl Values {
    /// Only [`PROJECT_KEYS`]. Named one by one, so that a new key is the user's until it is put
    /// here too.
    fn of_project(self) -> Self {
        Self {
            model: self.model,
            effort: self.effort,
            context_window: self.context_window,
            max_steps: self.max_steps,
            max_repeats: self.max_repeats,
            ..Self::default()
        }
    }

    /// [`TRUSTED_KEYS`] too.
    fn of_trusted(self) -> Self {
        Self {
            base_url: self.base_url.clone(),
            provider: self.provider.clone(),
            permission_mode: self.permission_mode,
            timeouts: self.timeouts,
            retry: self.retry,
            ..self.of_project()
        }
    }
}

/// What is set of [`TRUSTED_KEYS`], in the file's own words.
fn written(table: &DeTable<'_>, text: &str) -> Vec<(String, String)> {
    let asked = table.iter().filter(|(key, _)| TRUSTED_KEYS.contains(&key.get_ref().as_ref()));
    asked
        .map(|(key, value)| {
            let value = match value.get_ref().as_table() {
                // The span of a table is its head alone.
                Some(inner) => table_text(inner, text),
                None => text.get(value.span()).unwrap_or_default().to_owned(),
            };
            (key.get_ref().to_string(), value)
        })
        .collect()
}

fn table_text(table: &DeTable<'_>, text: &str) -> String {
    let fields = table.iter().map(|(key, value)| {
        format!("{} = {}", key.get_ref(), text.get(value.span()).unwrap_or_default())
    });
    format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
}

/// Names what a project may not say, and takes out what no file says. The rest stays, to be read
/// and found wrong like everything else.
fn leave_out(table: &mut DeTable<'_>) -> Vec<String> {
    let mut ignored = Vec::new();
    for (key, value) in std::mem::take(table) {
        let name = key.get_ref().as_ref();
        let is_suspect = SUSPECT_KEYS.contains(&name);
        if is_suspect || USER_KEYS.contains(&name) {
            ignored.push(name.to_owned());
        }
        if !is_suspect {
            table.insert(key, value);
        }
    }
    ignored
}

fn refuse_keys_in_files(path: &Path, text: &str, table: &DeTable<'_>) -> Result<(), Error> {
    let tables = table.iter().filter_map(|(_, value)| value.get_ref().as_table());
    let nested = tables.flat_map(|table| table.iter().filter_map(|(_, v)| v.get_ref().as_table()));
    for table in std::iter::once(table).chain(nested) {
        if let Some((key, _)) = table.iter().find(|(key, _)| key.get_ref() == "api_key") {
            let line = line_of(text, key.span().start);
            return Err(at(path, Some(line), "a key does not belong in a file").help(
                "set api_key_env to the name of the environment variable that holds it, \
                 and delete the key here",
            ));
        }
    }
    Ok(())
}

/// A key put where a variable's name belongs must not end up in messages.
fn check_variable_names(path: &Path, values: &Values) -> Result<(), Error> {
    let sections = values.providers.values().filter_map(|p| p.api_key_env.as_ref());
    let bad = values.api_key_env.iter().chain(sections).any(|name| !is_variable_name(name));
    if bad {
        return Err(at(path, None, "api_key_env is not the name of an environment variable")
            .help("it takes a name like MY_KEY; the key itself stays in the environment"));
    }
    Ok(())
}

/// Headers in which keys travel.
const KEY_HEADERS: &[&str] =
    &["authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie"];

/// Fields of a request that xsh makes itself.
const OWN_FIELDS: &[&str] = &["model", "messages", "stream", "tools"];

fn check_extras(path: &Path, values: &Values) -> Result<(), Error> {
    for (name, section) in &values.providers {
        let place = |what: &str, key: &str| format!("providers.{name}.{what}.{key}");
        for (header, value) in &section.headers {
            let at_header =
                |why: &str| at(path, None, format!("{}: {why}", place("headers", header)));
            if KEY_HEADERS.contains(&header.to_ascii_lowercase().as_str()) {
                return Err(at_header("a key does not belong in a file").help(
                    "set api_key_env to the name of the environment variable that holds it",
                ));
            }
            let valid = HeaderName::from_bytes(header.as_bytes()).is_ok()
                && HeaderValue::from_str(value).is_ok();
            if !valid {
                return Err(at_header("HTTP does not allow such a header"));
            }
        }
        if let Some(field) =
            OWN_FIELDS.iter().find(|field| section.extra_body.contains_key(**field))
        {
            let why = format!("{}: xsh sets it itself", place("extra_body", field));
            return Err(at(path, None, why));
        }
    }
    Ok(())
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn problem(path: &Path, text: &str, scope: Scope, error: &toml::de::Error) -> Error {
    let line = error.span().map(|span| line_of(text, span.start));
    let message = error.message();
    let Some(rest) = message.strip_prefix("unknown field ") else {
        let key = line.and_then(|line| key_at(text, line));
        return at(path, line, key.map_or(message.to_owned(), |key| format!("{key}: {message}")));
    };
    let mut names = rest.split('`').skip(1).step_by(2);
    let unknown = names.next().unwrap_or_default();
    // What a project may not set is no advice for its file.
    let usable = |key: &&str| scope == Scope::User || !USER_KEYS.contains(key);
    let known: Vec<&str> = names.filter(usable).collect();
    let error = at(path, line, format!("unknown key `{unknown}`"));
    match suggest::names(unknown, &known, 1).first() {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("known here: {}", known.join(", "))),
    }
}

fn at(path: &Path, line: Option<usize>, why: impl std::fmt::Display) -> Error {
    let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
    Error::usage(format!("configuration {}{place}", path.display()), why)
}

/// The key that a line sets. Never the value, which could be a secret in the wrong place.
fn key_at(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line - 1)?.split_once('=')?;
    Some(key.trim()).filter(|key| !key.is_empty())
}

/// The line, from 1, that holds this byte.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests;
