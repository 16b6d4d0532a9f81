//! From what was typed, set and written to what holds. Pure: the same inputs give the same
//! [`Config`].

use std::path::PathBuf;
use std::time::Duration;

use super::environment::Environment;
use super::file::{File, ModelValues, PriceValues, Seconds, Values};
use super::project::{Project, Trust};
use super::switch::{Here, switched};
use super::target::{Target, target, usable};
use super::{Choice, Config, Endpoint, Origin, Retry, Setting, Timeouts, endpoint};
use crate::cli::Args;
use crate::client::discover::Server;
use crate::client::profile::models::{self, Model, Price};
use crate::client::profile::{self, PROFILES};
use crate::error::Error;
use crate::mask::Masks;
use crate::policy::rules::{List, Place, Written};
use crate::policy::{Mode, Strength};
use crate::turn::repeat::USUAL_REPEATS;

/// Model replies per turn in a headless run where nothing else is said.
pub const HEADLESS_MAX_STEPS: u32 = 200;

/// What surrounds a run: all that [`resolve`] weighs beside the command line.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The environment.
    pub environment: Environment,
    /// The folder to work in: absolute, links resolved.
    pub workspace: PathBuf,
    /// Further folders: absolute, links resolved.
    pub add_dirs: Vec<PathBuf>,
    /// The text of `--system-prompt-file`.
    pub system_prompt: Option<String>,
    /// What the project brings along, as it was read.
    pub offered: Project,
    /// What the user has said about it.
    pub trust: Trust,
    /// What counts of the project's configuration file.
    pub project: Option<File>,
    /// What is wrong with the project's configuration file: nothing can be resolved with it.
    pub fault: Option<Error>,
    /// The user's configuration file.
    pub user: Option<File>,
    /// How well commands are confined.
    pub strength: Strength,
    /// What went wrong on the way without being an error.
    pub warnings: Vec<String>,
}

/// The places that a value can come from, in one hand.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) args: &'a Args,
    pub(super) environment: &'a Environment,
    pub(super) project: Option<&'a File>,
    pub(super) user: Option<&'a File>,
}

/// A value that was typed.
pub(super) fn flag<T>(name: &'static str, value: Option<T>) -> Option<Setting<T>> {
    value.map(|value| Setting::new(value, Origin::Flag(name)))
}

impl<'a> Sources<'a> {
    pub(super) fn env(&self, name: &str) -> Option<Setting<String>> {
        let value = self.environment.get(name)?;
        Some(Setting::new(value, Origin::Environment(name.to_owned())))
    }

    pub(super) fn user<T>(&self, read: impl Fn(&'a Values) -> Option<T>) -> Option<Setting<T>> {
        let file = self.user?;
        read(&file.values).map(|value| Setting::new(value, Origin::User(file.path.clone())))
    }

    /// The project's file.
    fn of_project<T>(&self, read: impl Fn(&'a Values) -> Option<T>) -> Option<Setting<T>> {
        let file = self.project?;
        let origin = Origin::Project(file.path.clone());
        read(&file.values).map(|value| Setting::new(value, origin))
    }

    /// The project's file, else the user's.
    fn files<T>(&self, read: impl Fn(&'a Values) -> Option<T>) -> Option<Setting<T>> {
        self.of_project(&read).or_else(|| self.user(read))
    }

    /// `provider` and `base_url` of the project's file where it says one of them, else of the user's:
    /// they are a pair.
    pub(super) fn pair(&self) -> (Option<Setting<&'a str>>, Option<Setting<String>>) {
        let provider = |v: &'a Values| v.provider.as_deref();
        let url = |v: &'a Values| v.base_url.clone();
        match (self.of_project(provider), self.of_project(url)) {
            (None, None) => (self.user(provider), self.user(url)),
            pair => pair,
        }
    }

    pub(super) fn user_origin(&self) -> Origin {
        self.user.map_or(Origin::Default, |file| Origin::User(file.path.clone()))
    }

    pub(super) fn is_from_file(&self, origin: &Origin) -> bool {
        let by_preset = matches!(origin, Origin::Preset(_)) && self.args.model.provider.is_none();
        matches!(origin, Origin::User(_) | Origin::Project(_)) || by_preset
    }

    pub(super) fn model(&self) -> Option<Setting<String>> {
        flag("--model", self.args.model.model.clone())
            .or_else(|| self.env("XSH_MODEL"))
            .or_else(|| self.files(|v| v.model.clone().filter(|model| !model.trim().is_empty())))
    }
}

/// Weighs all sources. The error is one of configuration (exit 2) and names its place.
pub fn resolve(args: &Args, world: &World) -> Result<Config, Error> {
    if let Some(fault) = &world.fault {
        return Err(fault.clone());
    }
    let sources = sources(args, world);
    let target = target(&sources)?;
    let window = flag("--context-window", args.model.context_window)
        .map(|window| window.map(std::num::NonZero::get))
        .or_else(|| model_window(&sources, &target))
        .or_else(|| files_window(&sources))
        .or_else(|| preset_window(target.endpoint.as_ref()?, &target.model.as_ref()?.value));
    Ok(config(&sources, world, target, window))
}

/// What holds once another model is asked for in mid-session. A window that was said for all
/// models in general stands back behind what is known about this one.
pub fn switch(args: &Args, world: &World, here: &Here<'_>, name: &str) -> Result<Config, Error> {
    let sources = sources(args, world);
    let target = switched(&sources, here, name)?;
    let window = model_window(&sources, &target)
        .or_else(|| preset_window(target.endpoint.as_ref()?, &target.model.as_ref()?.value))
        .or_else(|| files_window(&sources));
    // What there was to warn about at the start has been said then.
    let warnings = target.warnings.clone();
    Ok(Config { warnings, ..config(&sources, world, target, window) })
}

/// Every provider that could be asked: those with a key in the environment, then the sections of the
/// user's file.
pub fn providers(args: &Args, world: &World) -> Vec<Choice> {
    let sources = sources(args, world);
    let mut found = usable(&sources, |profile| !profile.is_local());
    for (name, section) in world.user.iter().flat_map(|file| &file.values.providers) {
        found.retain(|choice| choice.provider != *name);
        let model = section.model.clone();
        found.push(Choice { provider: name.clone(), model, sign: section.base_url.clone() });
    }
    found
}

fn sources<'a>(args: &'a Args, world: &'a World) -> Sources<'a> {
    Sources {
        args,
        environment: &world.environment,
        project: world.project.as_ref(),
        user: world.user.as_ref(),
    }
}

fn config(
    sources: &Sources<'_>,
    world: &World,
    target: Target,
    window: Option<Setting<u64>>,
) -> Config {
    let (args, env) = (sources.args, &world.environment);
    let hidden_env = hidden_env(sources, target.endpoint.as_ref());
    Config {
        effort: flag("--effort", args.model.effort).or_else(|| sources.files(|v| v.effort)),
        price: price(sources, &target),
        choices: target.choices,
        window,
        max_steps: max_steps(sources),
        max_repeats: max_repeats(sources),
        permission_mode: permission_mode(sources, &world.strength),
        rules: rules(sources),
        timeouts: timeouts(sources, target.endpoint.as_ref()),
        retry: retry(sources),
        color: color(sources),
        workspace: world.workspace.clone(),
        add_dirs: world.add_dirs.clone(),
        system_prompt: world.system_prompt.clone(),
        append_system_prompt: args.work.append_system_prompt.clone(),
        user_dir: env.user_dir(),
        state_dir: env.state_dir(),
        home: env.home(),
        term: env.get("TERM").unwrap_or_default(),
        ollama_host: env.get("OLLAMA_HOST").and_then(|value| endpoint::ollama_url(&value)),
        history: sources.user.and_then(|file| file.values.history).unwrap_or_default(),
        masks: masks(sources, env, &hidden_env),
        hidden_env,
        warnings: warnings(world, &target.warnings),
        endpoint: target.endpoint,
        model: target.model,
    }
}

fn files_window(sources: &Sources<'_>) -> Option<Setting<u64>> {
    Some(sources.files(|v| v.context_window)?.map(std::num::NonZero::get))
}

/// What the user's file says about the very model; with its provider's name before it, or without.
fn of_model<T>(
    sources: &Sources<'_>,
    target: &Target,
    read: impl Fn(&ModelValues) -> Option<T>,
) -> Option<Setting<T>> {
    let model = &target.model.as_ref()?.value;
    let full = format!("{}/{model}", target.endpoint.as_ref()?.provider.value);
    sources.user(|v| [&full, model].into_iter().find_map(|name| read(v.models.get(name)?)))
}

fn model_window(sources: &Sources<'_>, target: &Target) -> Option<Setting<u64>> {
    Some(of_model(sources, target, |model| model.context_window)?.map(std::num::NonZero::get))
}

fn price(sources: &Sources<'_>, target: &Target) -> Option<Setting<Price>> {
    let said = of_model(sources, target, |model| model.price);
    let said = said.map(|price| {
        price.map(|PriceValues { input, output, cached }| Price {
            input: input.0,
            output: output.0,
            cached: cached.unwrap_or(input).0,
        })
    });
    said.or_else(|| {
        let known = preset(target.endpoint.as_ref()?, &target.model.as_ref()?.value)?;
        Some(Setting::new(known.price, Origin::Preset(known.provider.to_owned())))
    })
}

/// What is built in about a model at its maker's own endpoint.
fn preset(endpoint: &Endpoint, model: &str) -> Option<Model> {
    let at_home = endpoint::owns(endpoint.profile, &endpoint.base_url.value);
    models::find(endpoint.profile.name, model).filter(|_| at_home)
}

fn preset_window(endpoint: &Endpoint, model: &str) -> Option<Setting<u64>> {
    let known = preset(endpoint, model)?;
    Some(Setting::new(known.window, Origin::Preset(endpoint.profile.name.to_owned())))
}

impl Config {
    /// Takes a server that was found on this machine, and its model where none was named.
    pub fn adopt(&mut self, server: &Server) {
        let model = self.model.take().or_else(|| {
            let id = server.usual_model()?.id.clone();
            Some(Setting::new(id, Origin::Discovered))
        });
        let listed = model.as_ref().and_then(|m| server.models.iter().find(|l| l.id == m.value));
        if let Some(window) = listed.and_then(|listed| listed.window) {
            self.learn_window(window);
        }
        self.model = model;
        self.endpoint = Some(Endpoint::of_server(server));
        let (first_byte, idle) = patience(true);
        for (timeout, local) in
            [(&mut self.timeouts.first_byte, first_byte), (&mut self.timeouts.idle, idle)]
        {
            if timeout.origin == Origin::Default {
                timeout.value = local;
            }
        }
    }

    /// Takes the window that the server itself reports, unless somebody knows better.
    pub fn learn_window(&mut self, tokens: u64) {
        if self.window.is_none() {
            self.window = Some(Setting::new(tokens, Origin::Discovered));
        }
    }
}

impl Endpoint {
    /// The endpoint of a server on this machine.
    pub fn of_server(server: &Server) -> Self {
        Self {
            provider: Setting::new(server.provider.to_owned(), Origin::Discovered),
            profile: profile::profile_for(&server.base_url, Some(server.provider)),
            base_url: Setting::new(server.base_url.clone(), Origin::Discovered),
            key: None,
            loopback: true,
            headers: Vec::new(),
            extra_body: serde_json::Map::new(),
        }
    }
}

fn max_repeats(sources: &Sources<'_>) -> Setting<u32> {
    let said = sources.files(|v| v.max_repeats).map(|rounds| rounds.map(std::num::NonZero::get));
    said.unwrap_or(Setting::new(USUAL_REPEATS, Origin::Default))
}

fn max_steps(sources: &Sources<'_>) -> Option<Setting<u32>> {
    let said = flag("--max-steps", sources.args.work.max_steps)
        .or_else(|| sources.files(|v| v.max_steps))
        .map(|steps| steps.map(std::num::NonZero::get));
    let usual = Setting::new(HEADLESS_MAX_STEPS, Origin::Default);
    said.or_else(|| sources.args.headless().then_some(usual))
}

fn permission_mode(sources: &Sources<'_>, strength: &Strength) -> Setting<Mode> {
    let flag = sources.args.permission_mode();
    // Without a sandbox a command can do anything, so a person at the keyboard is asked. Headless
    // there is nobody to ask: edits are made, and a command that is not confined is denied.
    let confined = *strength == Strength::Full;
    let usual = if confined || sources.args.headless() { Mode::Auto } else { Mode::Ask };
    flag.map(|(mode, name)| Setting::new(mode, Origin::Flag(name)))
        .or_else(|| sources.files(|v| v.permission_mode))
        .unwrap_or(Setting::new(usual, Origin::Default))
}

/// The user's rules: of the configuration, then of the command line.
fn rules(sources: &Sources<'_>) -> Vec<Written> {
    let mut rules: Vec<Written> =
        sources.user.map(|file| file.values.permissions.clone()).unwrap_or_default();
    let work = &sources.args.work;
    for (list, name, values) in [
        (List::Deny, "--disallowed-tools", &work.disallowed_tools),
        (List::Allow, "--allowed-tools", &work.allowed_tools),
    ] {
        let texts = values.iter().flat_map(|value| split_rules(value));
        rules.extend(texts.map(|text| Written { list, text, place: Place::Flag(name) }));
    }
    rules
}

/// Splits at the commas that are in no brackets.
fn split_rules(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn timeouts(sources: &Sources<'_>, endpoint: Option<&Endpoint>) -> Timeouts {
    let (first_byte, idle) = patience(endpoint.is_some_and(|endpoint| endpoint.loopback));
    Timeouts {
        connect: seconds(sources, |v| v.timeouts.connect, Duration::from_secs(15)),
        first_byte: seconds(sources, |v| v.timeouts.first_byte, first_byte),
        idle: seconds(sources, |v| v.timeouts.idle, idle),
    }
}

/// First byte and idle. A server on the same machine is silent while it reads the prompt.
fn patience(loopback: bool) -> (Duration, Duration) {
    let (first_byte, idle) = if loopback { (900, 300) } else { (300, 120) };
    (Duration::from_secs(first_byte), Duration::from_secs(idle))
}

fn retry(sources: &Sources<'_>) -> Retry {
    let attempts = sources.files(|v| v.retry.max_attempts).map(|n| n.map(std::num::NonZero::get));
    Retry {
        max_attempts: attempts.unwrap_or(Setting::new(6, Origin::Default)),
        max_wait: seconds(sources, |v| v.retry.max_wait, Duration::from_mins(1)),
    }
}

fn seconds(
    sources: &Sources<'_>,
    read: impl Fn(&Values) -> Option<Seconds>,
    usual: Duration,
) -> Setting<Duration> {
    let said = sources.files(read).map(|seconds| seconds.map(|Seconds(duration)| duration));
    said.unwrap_or(Setting::new(usual, Origin::Default))
}

fn color(sources: &Sources<'_>) -> Setting<bool> {
    let dumb = sources.env("TERM").filter(|term| term.value == "dumb");
    flag("--no-color", sources.args.output.no_color.then_some(false))
        .or_else(|| sources.env("NO_COLOR").or(dumb).map(|setting| setting.map(|_| false)))
        .unwrap_or(Setting::new(true, Origin::Default))
}

/// Parts of the names of headers whose values are secret.
const SECRET_HEADERS: [&str; 6] = ["auth", "key", "token", "secret", "cookie", "password"];

/// The variables that hold keys. `GITHUB_TOKEN` is also the user's own for git and gh, so it is
/// hidden only while it is the key in use.
fn hidden_env(sources: &Sources<'_>, endpoint: Option<&Endpoint>) -> Vec<String> {
    let usual = PROFILES.iter().flat_map(|p| p.key_envs).filter(|name| **name != "GITHUB_TOKEN");
    let mut names: Vec<String> = usual.map(|name| (*name).to_owned()).collect();
    names.push("XSH_API_KEY".to_owned());
    if let Some(file) = sources.user {
        let sections = file.values.providers.values().filter_map(|p| p.api_key_env.clone());
        names.extend(file.values.api_key_env.clone().into_iter().chain(sections));
    }
    let in_use = endpoint.and_then(|endpoint| endpoint.key.as_ref()).map(|key| &key.origin);
    if let Some(Origin::Environment(name)) = in_use {
        names.push(name.clone());
    }
    names.sort();
    names.dedup();
    names
}

/// The keys in the environment, and what looks like one among the headers of the user's own.
fn masks(sources: &Sources<'_>, env: &Environment, hidden_env: &[String]) -> Masks {
    let keys = hidden_env.iter().filter_map(|name| Some((name.clone(), env.get(name)?)));
    let providers = sources.user.iter().flat_map(|file| file.values.providers.values());
    let headers = providers.flat_map(|provider| &provider.headers);
    let secret = headers.filter(|(name, _)| {
        let name = name.to_lowercase();
        SECRET_HEADERS.iter().any(|part| name.contains(part))
    });
    let secret = secret.flat_map(|(name, value)| {
        // `Bearer KEY`: the key alone must not be shown either.
        let words = value.split_whitespace().map(str::to_owned);
        words.chain([value.clone()]).map(move |value| (name.clone(), value))
    });
    Masks::new(keys.chain(secret))
}

fn warnings(world: &World, more: &[String]) -> Vec<String> {
    let mut warnings = world.warnings.clone();
    if let Some(project) = world.project.as_ref().filter(|file| !file.ignored.is_empty()) {
        warnings.push(format!(
            "{} may not set {}; ignored (only your own configuration may)",
            project.path.display(),
            project.ignored.join(", "),
        ));
    }
    warnings.extend_from_slice(more);
    warnings
}

#[cfg(test)]
mod tests;
