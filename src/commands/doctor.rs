//! `xsh doctor`: every setting with where it comes from, and whether all is well.

use std::fmt::{Display, Write};
use std::path::PathBuf;

use super::models::tokens;
use crate::agent;
use crate::client::discover::Server;
use crate::client::learned::Learned;
use crate::client::profile::adjust::Adjustment;
use crate::config::{Config, Endpoint, Setting};
use crate::error::{Error, Exit};
use crate::session::clock;

/// What the configuration alone does not know.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Servers found on this machine; only looked for when nothing is configured.
    pub servers: Vec<Server>,
    /// Where sessions are saved, or why they cannot be.
    pub session_folder: Result<PathBuf, String>,
    /// Strength of the command sandbox and what it means.
    pub sandbox: String,
    /// Instruction files that go into the prompt.
    pub instructions: Vec<String>,
    /// Columns of the terminal; none where output is no terminal.
    pub columns: Option<u16>,
}

/// The report, and [`Exit::Usage`] where xsh could not start a turn.
pub fn report(config: &Config, facts: &Facts) -> (String, Exit) {
    let mut page = Page::default();
    page.line("version", env!("CARGO_PKG_VERSION"));
    page.line("workspace", config.workspace.display());
    endpoint(&mut page, config);
    page.optional(
        "effort",
        config.effort.as_ref().map(|s| (s.value.name(), &s.origin)),
        "as the provider sees fit",
    );
    page.setting("permissions", config.permission_mode.value.name(), &config.permission_mode);
    page.line("sandbox", &facts.sandbox);
    let steps = config.max_steps.as_ref().map(|s| (s.value, &s.origin));
    page.optional("max steps", steps, "no limit");
    page.setting("max repeats", config.max_repeats.value, &config.max_repeats);
    waiting(&mut page, config);
    match &facts.session_folder {
        Ok(folder) => page.line("sessions", format!("{} (writable)", folder.display())),
        Err(why) => page.line("sessions", format!("not saved: {why}")),
    }
    page.list("instructions", &facts.instructions);
    page.line("user files", folder(config.user_dir.as_ref()));
    terminal(&mut page, config, facts);
    for warning in &config.warnings {
        page.line("warning", warning);
    }
    finish(page, config.ready().err().as_ref())
}

fn finish(mut page: Page, problem: Option<&Error>) -> (String, Exit) {
    let Some(error) = problem else {
        page.text.push_str("\nready\n");
        return (page.text, Exit::Done);
    };
    page.push(format_args!("\n{error}\n"));
    (page.text, error.exit)
}

fn endpoint(page: &mut Page, config: &Config) {
    match &config.endpoint {
        Some(endpoint) => {
            page.setting("provider", &endpoint.provider.value, &endpoint.provider);
            page.setting("endpoint", &endpoint.base_url.value, &endpoint.base_url);
            key(page, endpoint);
        }
        None => page.line("endpoint", "none configured or found"),
    }
    let others = config.choices.iter().skip(1).map(|choice| choice.provider.as_str());
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        page.line("also usable", others.join(", "));
    }
    let model = config.model.as_ref().map(|s| (&s.value, &s.origin));
    page.optional("model", model, "none");
    let window = config.window.as_ref().map(|s| (tokens(s.value), &s.origin));
    page.optional("window", window, &assumed(config.endpoint.as_ref()));
    learned(page, config);
}

/// What this endpoint was seen to refuse or state; it counts until it is a month old.
fn learned(page: &mut Page, config: &Config) {
    let (Some(endpoint), Some(model)) = (&config.endpoint, &config.model) else { return };
    let known = Learned::open(config.state_dir.as_deref(), clock::timestamp());
    let facts = known.facts(&endpoint.base_url.value, &model.value);
    let window = facts.window.map(|window| format!("a window of {}", tokens(window)));
    let all = facts.adjustments.into_iter().map(Adjustment::describe).chain(window);
    let all: Vec<String> = all.collect();
    if !all.is_empty() {
        page.line("learned", all.join("; "));
    }
}

fn key(page: &mut Page, endpoint: &Endpoint) {
    match &endpoint.key {
        Some(key) => page.setting("key", "present", key),
        None if endpoint.profile.needs_key() => page.line("key", "missing"),
        None => page.line("key", "none, none needed"),
    }
}

/// What an unknown window is taken for on screen. Nothing is decided by it.
pub fn assumed(endpoint: Option<&Endpoint>) -> String {
    let guess = tokens(agent::assumed(endpoint.is_some_and(|e| e.loopback)));
    format!("unknown, assumed {guess}; set it with --context-window or context_window")
}

fn waiting(page: &mut Page, config: &Config) {
    let times = &config.timeouts;
    for (label, time) in [
        ("connect", &times.connect),
        ("first byte", &times.first_byte),
        ("idle", &times.idle),
        ("retry wait", &config.retry.max_wait),
    ] {
        page.setting(label, format!("{} s", time.value.as_secs_f64()), time);
    }
    let attempts = &config.retry.max_attempts;
    page.setting("attempts", attempts.value, attempts);
}

fn terminal(page: &mut Page, config: &Config, facts: &Facts) {
    let term = if config.term.is_empty() { "TERM is not set" } else { &config.term };
    let size = match facts.columns {
        Some(columns) => format!("{columns} columns"),
        None => "output is not a terminal".to_owned(),
    };
    page.line("terminal", format!("{term}, {size}"));
    page.setting("colour", if config.color.value { "on" } else { "off" }, &config.color);
    for server in &facts.servers {
        let found =
            format!("{} at {}, {} models", server.provider, server.base_url, server.models.len());
        page.line("found", found);
    }
}

fn folder(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "none: no usable HOME".to_owned(), |path| path.display().to_string())
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, label: &str, value: impl Display) {
        self.push(format_args!("{label:<13} {value}\n"));
    }

    fn with_origin(&mut self, label: &str, value: impl Display, origin: impl Display) {
        self.line(label, format_args!("{value}  [{origin}]"));
    }

    fn setting<T>(&mut self, label: &str, value: impl Display, setting: &Setting<T>) {
        self.with_origin(label, value, &setting.origin);
    }

    fn optional(
        &mut self,
        label: &str,
        value: Option<(impl Display, impl Display)>,
        otherwise: &str,
    ) {
        match value {
            Some((value, origin)) => self.with_origin(label, value, origin),
            None => self.line(label, otherwise),
        }
    }

    fn list(&mut self, label: &str, items: &[String]) {
        if items.is_empty() {
            self.line(label, "none");
        }
        for item in items {
            self.line(label, item);
        }
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }
}

#[cfg(test)]
mod tests;
