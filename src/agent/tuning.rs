//! How the agent talks to its model: what is built in, what was learned here, what the user set.
//!
//! [`Agent::retune`] is the one place where all of it becomes the profile, the envelope and the
//! encoded history. A change that a refusal asked for is tried first and kept only when it led to an
//! answer.

use serde_json::{Map, Value};

use super::Agent;
use crate::client::classify::{ErrorKind, ProviderError};
use crate::client::learned::{Facts, Learned};
use crate::client::profile::adjust::{self, Adjustment};
use crate::client::profile::{Field, Profile, effort};
use crate::client::request::{self, Extras};
use crate::client::schemas;
use crate::session::state::Speaker;
use crate::session::{Session, clock};
use crate::update::Update;

/// What an [`Agent`] makes its requests from.
pub(crate) struct Tuning {
    /// The provider's row.
    pub(crate) row: &'static Profile,
    /// Where requests go; empty for a script.
    pub(crate) base_url: String,
    /// What was learned, here and elsewhere.
    pub(crate) learned: Learned,
    /// Request fields that the user configured.
    pub(crate) extra_body: Map<String, Value>,
    /// Changes that have not led to an answer yet.
    pub(crate) tried: Vec<Adjustment>,
}

impl Tuning {
    /// What holds for this model.
    pub(crate) fn profile(&self, model: &str) -> Profile {
        let mut known = self.learned.facts(&self.base_url, model).adjustments;
        known.extend_from_slice(&self.tried);
        adjust::effective(self.row, model, &known)
    }
}

impl Agent {
    /// Goes on in another session.
    pub(crate) fn enter(&mut self, session: Session) {
        self.session = session;
        self.retune();
    }

    /// Takes over what holds for the model and the session in use.
    pub fn retune(&mut self) {
        let model = &self.envelope.model;
        self.profile = self.tuning.profile(model);
        let extras = Extras {
            effort: &effort::fields(&self.profile, model, self.options.effort),
            session: &self.session.header.id,
            user: &self.tuning.extra_body,
        };
        self.envelope.extra = request::extra(&self.profile, &extras);
        self.envelope.tools = schemas::at_level(&self.registry.wire(), self.profile.schemas);
        self.envelope.model_prefix = self.profile.model_prefix;
        self.envelope.no_calls = self.profile.sends(Field::ToolChoice);
        let reader = Speaker { provider: self.provider.clone(), model: model.clone() };
        self.session.state.set_reader(&self.profile, reader);
    }

    /// Tries requests with this change from here on.
    pub(crate) fn try_change(&mut self, change: Adjustment) {
        self.tuning.tried.push(change);
        self.retune();
    }

    /// Takes the last change back.
    pub(crate) fn untry_change(&mut self) {
        self.tuning.tried.pop();
        self.retune();
    }

    /// The changes led to an answer: they are kept for later runs.
    pub(crate) fn keep_changes(&mut self) {
        if self.tuning.tried.is_empty() {
            return;
        }
        let adjustments = std::mem::take(&mut self.tuning.tried);
        self.learn(&Facts { adjustments, window: None });
    }

    /// No change helped: the next request is as the first one was.
    pub(crate) fn drop_changes(&mut self, error: &ProviderError) {
        let refused = matches!(error.kind, ErrorKind::InvalidRequest | ErrorKind::NotAnApi);
        if refused && !self.tuning.tried.is_empty() {
            self.tuning.tried.clear();
            self.retune();
        }
    }

    /// Keeps facts about the model in use.
    pub(crate) fn learn(&mut self, facts: &Facts) {
        if self.tuning.base_url.is_empty() {
            return;
        }
        let Tuning { base_url, learned, .. } = &mut self.tuning;
        let kept = learned.learn(base_url, &self.envelope.model, facts, clock::timestamp());
        if let Err(error) = kept {
            let why = format!("what was learned about this provider cannot be kept: {error}");
            self.show(Update::Note(why));
        }
    }
}
