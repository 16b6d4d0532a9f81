//! May this action happen? Decided by one pure function, [`decide`], from the mode, the user's rules,
//! the strength of the sandbox and the action.
//!
//! Letting a command run rests on the strict reader ([`command`]), forbidding one on the generous one
//! ([`loose`]); what neither understands is asked about. Paths come here with their links resolved.

pub mod command;
pub mod loose;
pub mod offer;
pub mod overlap;
pub mod path;
pub mod protected;
pub mod rules;

use clap::ValueEnum;
use serde::Deserialize;

use command::Part;
use path::Target;
use protected::is_protected;
use rules::{List, Rules, SHELL};

/// How freely the agent may act. The names other agents use for the same are accepted too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Nothing changes: only reading and searching
    Plan,
    /// Every write, edit and command is asked for
    #[default]
    #[value(alias = "default")]
    #[serde(alias = "default")]
    Ask,
    /// Edits in the workspace and commands run unasked
    #[value(alias = "acceptEdits")]
    #[serde(alias = "acceptEdits")]
    Auto,
    /// Everything runs unasked
    #[value(alias = "bypassPermissions")]
    #[serde(alias = "bypassPermissions")]
    Full,
}

impl Mode {
    /// Its name in flags, files, logs and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Auto => "auto",
            Self::Full => "full",
        }
    }
}

/// How well the sandbox confines a command on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Everything that is promised holds.
    Full,
    /// Writes and network are confined; what is named here is not.
    Partial(Vec<String>),
    /// Commands run unconfined, for this reason.
    None(String),
}

impl Strength {
    /// Its name on screen and in logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial(_) => "partial",
            Self::None(_) => "none",
        }
    }

    /// The name, and what is missing.
    pub fn describe(&self) -> String {
        match self {
            Self::Full => "full".to_owned(),
            Self::Partial(missing) => format!("partial: {}", missing.join("; ")),
            Self::None(why) => format!("none: {why}"),
        }
    }

    /// What can be relied on. A sandbox with gaps counts only for who has chosen the mode.
    #[must_use]
    pub fn relied_on(&self, chosen: bool) -> Self {
        match self {
            Self::Partial(gaps) if !chosen => Self::None(format!(
                "the sandbox is only partial ({}), and mode auto was not chosen by anyone",
                gaps.join("; ")
            )),
            Self::Full | Self::Partial(_) | Self::None(_) => self.clone(),
        }
    }
}

impl Default for Strength {
    fn default() -> Self {
        Self::None("nobody has looked".to_owned())
    }
}

/// What a call would do.
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The rest.
    pub kind: Kind<'a>,
}

/// See [`Action`].
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// Looks, at this path if at one.
    Read(Option<&'a Target>),
    /// Changes this file.
    Write(&'a Target),
    /// Runs a command.
    Exec {
        /// The whole of it.
        command: &'a str,
        /// Why the model wants it to run outside the sandbox; none = it stays inside.
        leave: Option<&'a str>,
    },
    /// Stops what was allowed to begin.
    Stop,
}

impl<'a> Action<'a> {
    /// The path that it is about.
    pub fn target(&self) -> Option<&'a Target> {
        match self.kind {
            Kind::Read(target) => target,
            Kind::Write(target) => Some(target),
            Kind::Exec { .. } | Kind::Stop => None,
        }
    }
}

/// What is to happen with an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may run; because of this rule, if of any.
    Allow(Option<String>),
    /// The user decides.
    Ask(Why),
    /// It may not run; the reason is for the model.
    Deny(String),
}

/// Why the user is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The mode wants it.
    Mode,
    /// The mode wants it where a command is not fully understood, because of this.
    Unclear(&'static str),
    /// The user's rule wants it.
    Rule(String),
    /// A command may name what this rule keeps closed.
    Named(String),
    /// Other programs run what stands in this file.
    Protected,
    /// It would leave the sandbox.
    Leaves,
    /// There is no sandbox that it could run in.
    Unconfined(String),
}

impl Why {
    /// In words, as the end of "asked because …".
    pub fn text(&self, mode: Mode) -> String {
        match self {
            Self::Mode => format!("mode {} asks before this", mode.name()),
            Self::Unclear(what) => {
                format!("mode {} asks, and no rule can cover a command with {what}", mode.name())
            }
            Self::Rule(rule) => format!("your rule `{rule}` wants it"),
            Self::Named(rule) => format!("it may name what your rule `{rule}` is about"),
            Self::Protected => "other programs run what stands in this file".to_owned(),
            Self::Leaves => "it would run outside the sandbox".to_owned(),
            Self::Unconfined(why) => format!("there is no sandbox for it: {why}"),
        }
    }
}

const PLAN: &str =
    "xsh is in plan mode: nothing may be changed or run. Describe what you would do.";

/// Decides. Deny beats ask beats allow; deny holds in every mode.
pub fn decide(mode: Mode, rules: &Rules, strength: &Strength, action: &Action<'_>) -> Decision {
    if let Some(rule) = rules.forbidding(List::Deny, action) {
        return Decision::Deny(format!(
            "the user's rule `{}` forbids it. Do not try another way; say what you would have done.",
            rule.written.text
        ));
    }
    if mode == Mode::Plan && !matches!(action.kind, Kind::Read(_)) {
        return Decision::Deny(PLAN.to_owned());
    }
    if mode == Mode::Full {
        return Decision::Allow(None);
    }
    if let Some(rule) = rules.forbidding(List::Ask, action) {
        return Decision::Ask(Why::Rule(rule.written.text.clone()));
    }
    match action.kind {
        Kind::Read(_) | Kind::Stop => Decision::Allow(None),
        Kind::Write(target) => change(mode, rules, action, target),
        Kind::Exec { command, leave } => {
            if let Some(rule) = rules.named_by(command) {
                Decision::Ask(Why::Named(rule.to_owned()))
            } else if leave.is_none() {
                run(mode, rules, strength, action.tool, command)
            } else if rules.may_leave(command) {
                Decision::Allow(None)
            } else {
                Decision::Ask(Why::Leaves)
            }
        }
    }
}

fn change(mode: Mode, rules: &Rules, action: &Action<'_>, target: &Target) -> Decision {
    let protected = target.obeyed || target.relative.iter().any(|path| is_protected(path));
    match rules.allowing(action.tool, target, protected) {
        Some(rule) => Decision::Allow(Some(rule.written.text.clone())),
        None if protected => Decision::Ask(Why::Protected),
        None if mode == Mode::Auto => Decision::Allow(None),
        None => Decision::Ask(Why::Mode),
    }
}

fn run(mode: Mode, rules: &Rules, strength: &Strength, tool: &str, command: &str) -> Decision {
    if let Some(rule) = rules.allowing_tool(tool) {
        return Decision::Allow(Some(rule.written.text.clone()));
    }
    let confined = !matches!(strength, Strength::None(_));
    let read = command::read(command);
    let covers = read.as_ref().ok().and_then(|parts| {
        parts.iter().map(|part| covered(rules, part, confined)).collect::<Option<Vec<_>>>()
    });
    if let Some(covers) = covers {
        return Decision::Allow(covers.into_iter().find_map(|cover| match cover {
            Cover::Rule(rule) => Some(rule),
            Cover::Safe => None,
        }));
    }
    match (mode, strength) {
        (Mode::Auto, Strength::Full | Strength::Partial(_)) => Decision::Allow(None),
        (Mode::Auto, Strength::None(why)) => Decision::Ask(Why::Unconfined(why.clone())),
        // No rule is about the command of a user-defined tool; its name alone decides.
        _ if tool != SHELL => Decision::Ask(Why::Mode),
        _ => Decision::Ask(read.map_or_else(Why::Unclear, |_| Why::Mode)),
    }
}

/// Whether a simple command may run unasked, and by which rule if it takes one.
fn covered(rules: &Rules, part: &Part, confined: bool) -> Option<Cover> {
    if command::is_safe(part, confined) {
        return Some(Cover::Safe);
    }
    rules.allowing_part(part).map(|rule| Cover::Rule(rule.written.text.clone()))
}

/// Why a simple command may run unasked.
enum Cover {
    Safe,
    Rule(String),
}

#[cfg(test)]
mod tests;
