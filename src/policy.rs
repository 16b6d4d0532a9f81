//! May this action happen? Decided by one pure function.
//!
//! There is no sandbox yet: `auto` and `full` run everything, `ask` asks before whatever changes
//! something, `plan` refuses it. Paths are guarded elsewhere, in every mode (`tools::paths`).

pub mod protected;

use clap::ValueEnum;
use serde::Deserialize;

use crate::tools::Effect;

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
}

/// What is to happen with an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Allow,
    /// The user decides.
    Ask,
    /// It may not run; the reason is for the model.
    Deny(&'static str),
}

/// Decides; `always` means that the user has allowed this tool for the rest of the session.
pub fn decide(mode: Mode, effect: &Effect, always: bool) -> Decision {
    match (mode, effect) {
        (_, Effect::Read) | (Mode::Auto | Mode::Full, _) => Decision::Allow,
        // What may be ended was allowed to begin.
        (Mode::Ask, Effect::Stop) => Decision::Allow,
        (Mode::Plan, Effect::Write(_) | Effect::Exec { .. } | Effect::Stop) => Decision::Deny(
            "xsh is in plan mode: nothing may be changed or run. Describe what you would do.",
        ),
        (Mode::Ask, Effect::Write(_) | Effect::Exec { .. }) if always => Decision::Allow,
        (Mode::Ask, Effect::Write(_) | Effect::Exec { .. }) => Decision::Ask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        use Decision::{Allow, Ask};
        let write = Effect::Write("a".into());
        let exec = Effect::Exec { command: "ls".into(), leave: None };
        for (mode, always, on_write) in [
            (Mode::Ask, false, Some(Ask)),
            (Mode::Ask, true, Some(Allow)),
            (Mode::Auto, false, Some(Allow)),
            (Mode::Full, false, Some(Allow)),
            (Mode::Plan, false, None),
            (Mode::Plan, true, None),
        ] {
            assert_eq!(decide(mode, &Effect::Read, always), Allow, "{mode:?} read");
            for effect in [&write, &exec] {
                let decision = decide(mode, effect, always);
                match &on_write {
                    Some(expected) => assert_eq!(&decision, expected, "{mode:?} {effect:?}"),
                    None => assert!(matches!(decision, Decision::Deny(_)), "{mode:?} {effect:?}"),
                }
            }
            let stop = decide(mode, &Effect::Stop, always);
            assert_eq!(stop == Allow, mode != Mode::Plan, "{mode:?} stop");
        }
    }
}
