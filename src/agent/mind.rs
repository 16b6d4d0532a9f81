//! What answers an agent's requests, and changing it in mid-session.
//!
//! `/model` and `/effort` apply from the next request on. The log stays whole: the history is only
//! encoded anew for its new reader, so going back to the old model gives the old bytes again.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{Agent, Probe, Window, log_error};
use crate::client::Model;
use crate::client::profile::Profile;
use crate::client::profile::effort::{self, Effort};
use crate::client::profile::models::Price;
use crate::compact::{self, Wish, plan::Budget};
use crate::error::Error;
use crate::event::{Event, ModelChanged, Trigger};
use crate::mask::Masks;
use crate::message::Usage;
use crate::session::log::LogError;
use crate::session::speaker::Speaker;
use crate::turn::Tally;
use crate::update::Update;

/// Requests for a summary when the model changes, the first included. The old model may be the
/// very thing that does not work.
const SUMMARY_ATTEMPTS: u32 = 2;

/// A model at a provider, ready to be asked, and what is known about it.
pub struct Mind {
    /// The way to it.
    pub model: Box<dyn Model>,
    /// Its id.
    pub name: String,
    /// The provider's name.
    pub provider: String,
    /// How the provider differs from others.
    pub profile: &'static Profile,
    /// Where requests go; empty for a script.
    pub base_url: String,
    /// Request fields that the user configured.
    pub extra_body: Map<String, Value>,
    /// Its context window.
    pub window: Window,
    /// What it costs, where known.
    pub price: Option<Price>,
    /// It runs on this machine.
    pub loopback: bool,
    /// Asks for the window, where it may be told.
    pub probe: Option<Probe>,
    /// Environment variables that children must not see.
    pub hidden_env: Arc<Vec<String>>,
    /// What must never be stored or shown.
    pub masks: Masks,
}

impl Mind {
    /// Its name in the log.
    pub fn speaker(&self) -> Speaker {
        Speaker { provider: self.provider.clone(), model: self.name.clone() }
    }

    fn title(&self) -> String {
        format!("{} ({})", self.name, self.provider)
    }

    fn event(&self, effort: Option<Effort>) -> Event {
        Event::ModelChanged(ModelChanged {
            provider: self.provider.clone(),
            model: self.name.clone(),
            effort: effort.map(|effort| effort.name().to_owned()),
        })
    }
}

/// What had to be done so that the history fits another window.
enum Room {
    Enough,
    /// Tokens before and after.
    Made(u64, u64),
    /// The user stopped it.
    Interrupted,
}

impl Agent {
    /// Provider and model in use.
    pub fn model(&self) -> (String, String) {
        (self.mind.provider.clone(), self.mind.name.clone())
    }

    /// `/model NAME`: this model answers from the next request on. A history that does not fit its
    /// window is shortened first. Says what changed and what it costs.
    pub async fn switch(
        &mut self,
        mind: Mind,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        if mind.speaker() == self.mind.speaker() {
            return Ok(format!("{} answers already", mind.title()));
        }
        let room = self.make_room(&mind, cancel).await.map_err(|error| log_error(&error))?;
        if matches!(room, Room::Interrupted) {
            return Ok(format!("interrupted; {} goes on", self.mind.title()));
        }
        let event = mind.event(self.options.effort);
        self.session.propose(event).map_err(|error| log_error(&error))?;
        self.adopt(mind);
        Ok(self.tell_switch(&room))
    }

    /// Puts a model in the place of the one before.
    pub fn adopt(&mut self, mut mind: Mind) {
        let old = (self.mind.provider.clone(), self.mind.name.clone());
        self.windows.leave(old, &self.mind.window);
        self.windows.arrive(&mut mind);
        self.options.hidden_env = mind.hidden_env.clone();
        self.options.masks = mind.masks.clone();
        self.mind = mind;
        self.tried.clear();
        self.retune();
        self.prompt_is_fresh = false;
    }

    /// Shortens the history until it fits the window of `mind`: by a summary of the model in use,
    /// which has the whole of it in its cache, else without a model.
    async fn make_room(
        &mut self,
        mind: &Mind,
        cancel: &CancellationToken,
    ) -> Result<Room, LogError> {
        let Some(window) = mind.window.tokens else { return Ok(Room::Enough) };
        let budget = Budget { window, tools_bytes: self.envelope.tools.len() };
        if !budget.is_due(&self.session.state) {
            return Ok(Room::Enough);
        }
        let before = self.session.state.size(budget.tools_bytes);
        self.summarise_for(window, cancel).await?;
        if cancel.is_cancelled() {
            return Ok(Room::Interrupted);
        }
        // What these two refuse to do, there was no gain in.
        if budget.is_due(&self.session.state) {
            let _ = compact::cut_outputs(self, Trigger::Auto)?;
        }
        if budget.is_full(&self.session.state) {
            let _ = compact::digest(self, Trigger::Auto)?;
        }
        Ok(Room::Made(before, self.session.state.size(budget.tools_bytes)))
    }

    async fn summarise_for(
        &mut self,
        window: u64,
        cancel: &CancellationToken,
    ) -> Result<(), LogError> {
        self.show(Update::Compacting(Trigger::Auto));
        let patience = self.options.retry.max_attempts;
        self.options.retry.max_attempts = patience.min(SUMMARY_ATTEMPTS - 1);
        let wish = Wish { trigger: Trigger::Auto, focus: None, into: Some(window) };
        let done = compact::summarise(self, wish, &mut Tally::default(), cancel).await;
        self.options.retry.max_attempts = patience;
        if let Err(refusal) = done?
            && !cancel.is_cancelled()
        {
            let text = format!("no summary, the history is cut instead: {refusal}");
            self.show(Update::Warning(text));
        }
        Ok(())
    }

    fn tell_switch(&self, room: &Room) -> String {
        let Window { tokens, origin } = &self.mind.window;
        let window = match tokens {
            Some(tokens) => format!("window {tokens} ({origin})"),
            None => format!("window not known, assumed {}", self.mind.assumed_window()),
        };
        let mut parts = vec![format!("model: {}, {window}", self.mind.title())];
        if let Room::Made(before, after) = room {
            parts.push(format!("the history was shortened: {before} → {after} tokens"));
        }
        if !self.session.state.history.is_empty() {
            parts.push(self.tell_cost());
        }
        parts.join("; ")
    }

    /// What it costs that the provider's cache knows nothing of this session.
    fn tell_cost(&self) -> String {
        let sent = self.session.state.size(self.envelope.tools.len());
        let usage = Usage { prompt: sent, ..Usage::default() };
        let dollars = self.mind.price.map(|price| format!(", about ${:.4}", price.cost(&usage)));
        let dollars = dollars.unwrap_or_default();
        format!("its cache is empty: the next request sends {sent} tokens anew{dollars}")
    }

    /// `/effort LEVEL`: how hard the model thinks from the next request on; none = as the provider
    /// sees fit. Says what that means here.
    pub fn set_effort(&mut self, effort: Option<Effort>) -> Result<String, Error> {
        let event = self.mind.event(effort);
        self.session.propose(event).map_err(|error| log_error(&error))?;
        self.restore_effort(effort);
        Ok(self.effort())
    }

    /// Takes over a level that the log holds already.
    pub fn restore_effort(&mut self, effort: Option<Effort>) {
        self.options.effort = effort;
        self.retune();
    }

    /// `/effort`: the level, and how it is sent.
    pub fn effort(&self) -> String {
        let fields = |effort| effort::fields(&self.profile, &self.mind.name, effort);
        let Some(level) = self.options.effort else {
            return "effort: as the provider sees fit".to_owned();
        };
        let name = level.name();
        let sent = fields(Some(level));
        if sent == fields(None) {
            return format!("effort: {name}; {} takes no such setting", self.mind.title());
        }
        let sent: Vec<String> =
            sent.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        format!("effort: {name} (sent as {})", sent.join(", "))
    }

    /// The usage with its cost, where the provider named none and prices are known.
    pub(crate) fn priced(&self, usage: Usage) -> Usage {
        Usage { cost: usage.cost.or_else(|| Some(self.mind.price?.cost(&usage))), ..usage }
    }
}
