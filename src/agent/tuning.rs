//! How the agent talks to its model: what is built in, what was learned here, what the user set.
//!
//! [`Agent::retune`] is the one place where all of it becomes the profile, the envelope and the
//! encoded history. A change that a refusal asked for is tried first and kept only when it led to an
//! answer.

use super::Agent;
use crate::client::classify::{ErrorKind, ProviderError};
use crate::client::learned::Facts;
use crate::client::profile::adjust::{self, Adjustment};
use crate::client::profile::{Field, effort};
use crate::client::request::{self, Envelope, Extras};
use crate::client::schemas;
use crate::session::clock;
use crate::update::Update;

impl Agent {
    /// Takes over what holds for the model and the session in use.
    pub(crate) fn retune(&mut self) {
        let mind = &self.mind;
        let mut known = self.learned.facts(&mind.base_url, &mind.name).adjustments;
        known.extend_from_slice(&self.tried);
        let profile = adjust::effective(mind.profile, &mind.name, &known);
        let extras = Extras {
            effort: &effort::fields(&profile, &mind.name, self.options.effort),
            session: &self.session.header.id,
            user: &mind.extra_body,
        };
        self.envelope = Envelope {
            model: mind.name.clone(),
            tools: schemas::at_level(&self.registry.wire(), profile.schemas),
            extra: request::extra(&profile, &extras),
            model_prefix: profile.model_prefix,
            no_calls: profile.sends(Field::ToolChoice),
        };
        self.session.state.set_reader(&profile, mind.speaker());
        self.profile = profile;
    }

    /// Tries requests with this change from here on.
    pub(crate) fn try_change(&mut self, change: Adjustment) {
        self.tried.push(change);
        self.retune();
    }

    /// Takes the last change back.
    pub(crate) fn untry_change(&mut self) {
        self.tried.pop();
        self.retune();
    }

    /// The changes led to an answer: they are kept for later runs.
    pub(crate) fn keep_changes(&mut self) {
        if self.tried.is_empty() {
            return;
        }
        let adjustments = std::mem::take(&mut self.tried);
        self.learn(&Facts { adjustments, window: None });
    }

    /// No change helped: the next request is as the first one was.
    pub(crate) fn drop_changes(&mut self, error: &ProviderError) {
        let refused = matches!(error.kind, ErrorKind::InvalidRequest | ErrorKind::NotAnApi);
        if refused && !self.tried.is_empty() {
            self.tried.clear();
            self.retune();
        }
    }

    /// Keeps facts about the model in use.
    pub(crate) fn learn(&mut self, facts: &Facts) {
        if self.mind.base_url.is_empty() {
            return;
        }
        let (place, model) = (&self.mind.base_url, &self.mind.name);
        if let Err(error) = self.learned.learn(place, model, facts, clock::timestamp()) {
            let why = format!("what was learned about this provider cannot be kept: {error}");
            self.show(Update::Note(why));
        }
    }
}
