//! The permissions of a session: the mode, the rules, and what the user's answers add to them.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Agent, log_error};
use crate::error::Error;
use crate::event::{Event, Permission};
use crate::policy::offer::{self, Offer};
use crate::policy::rules::{Ground, List, PathRules, Place, Written};
use crate::policy::{Action, Mode, Strength, Why};
use crate::tools::paths::Workspace;
use crate::update::Update;

/// Puts rules into the user's configuration. Says where, or why it could not be done.
pub type KeepRules = Box<dyn Fn(&[String]) -> Result<String, String> + Send>;

impl Agent {
    /// The permission mode.
    pub fn mode(&self) -> Mode {
        self.options.mode
    }

    /// `/permissions MODE`: this mode holds from the next call on. Nothing that the model is told
    /// changes by it.
    pub fn set_mode(&mut self, mode: Mode) -> Result<String, Error> {
        let event = Permission {
            allowed: true,
            reason: "the user changed the mode".to_owned(),
            mode: Some(mode.name().to_owned()),
            ..Permission::default()
        };
        self.session.propose(Event::Permission(event)).map_err(|error| log_error(&error))?;
        self.options.mode = mode;
        self.options.mode_chosen = true;
        self.apply_rules();
        let note = match (mode, &self.options.sandbox.strength) {
            (Mode::Auto, Strength::None(why)) => {
                format!("; there is no sandbox ({why}), so commands are asked about")
            }
            _ => String::new(),
        };
        Ok(format!("permission mode: {}{note}", mode.name()))
    }

    /// `/permissions`: mode, sandbox, and every rule with its origin.
    pub fn permissions(&self) -> String {
        let strength = self.options.sandbox.strength.describe();
        let mode = self.options.mode.name();
        let mut lines = vec![
            format!("mode     {mode}   (plan, ask, auto, full: /permissions MODE)"),
            format!("sandbox  {strength}"),
        ];
        let rules =
            self.rules.written().into_iter().map(|Written { list, text, place }| {
                format!("{:<8} {text}   ({place})", list.name())
            });
        lines.extend(rules);
        let leaving = self.rules.leaving().iter();
        lines.extend(leaving.map(|text| format!("outside  {text}   (this session)")));
        if lines.len() == 2 {
            lines.push("no rules ([permissions] in your configuration)".to_owned());
        }
        lines.join("\n")
    }

    /// The folders that are open: the workspace, then the others.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        std::iter::once(&self.workspace.root).chain(&self.workspace.extra).cloned().collect()
    }

    /// What "always" would mean for an action.
    pub(crate) fn offer(&self, action: &Action<'_>, why: &Why) -> Option<Offer> {
        let (tools, roots) = (self.registry.names(), self.roots());
        let ground = Ground { tools: &tools, roots: &roots };
        offer::offer(&self.rules, ground, &self.options.masks, action, why)
    }

    /// Takes the user at their word.
    pub(crate) fn take_at_word(&mut self, offer: Offer) {
        match offer {
            Offer::Leave(command) => self.rules.let_leave(&command),
            Offer::Session(rules) => self.add(rules, &Place::Session),
            Offer::Keep(rules) => match (self.keep_rules)(&rules) {
                Ok(said) => {
                    self.show(Update::Note(said));
                    self.add(rules, &Place::Kept);
                }
                Err(why) => {
                    let text = format!("the rule holds for this session only: {why}");
                    self.show(Update::Warning(text));
                    self.add(rules, &Place::Session);
                }
            },
        }
    }

    fn add(&mut self, rules: Vec<String>, place: &Place) {
        let (tools, roots) = (Arc::clone(&self.registry), self.roots());
        let tools = tools.names();
        for text in rules {
            let written = Written { list: List::Allow, text, place: place.clone() };
            let ground = Ground { tools: &tools, roots: &roots };
            // An offer was tried out before it was made.
            if let Err(error) = self.rules.add(written, ground) {
                self.show(Update::Warning(error.to_string()));
            }
        }
    }

    /// Lets the file tools know what the rules keep closed in this mode.
    pub(crate) fn apply_rules(&mut self) {
        // In mode full nobody is asked, and only what is denied stays closed.
        let asks = self.options.mode != Mode::Full;
        let rules = PathRules::of(&self.rules, &self.roots(), asks);
        if rules != self.workspace.rules {
            let workspace = Workspace { rules, ..(*self.workspace).clone() };
            self.workspace = Arc::new(workspace);
        }
    }
}
