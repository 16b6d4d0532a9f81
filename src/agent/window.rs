//! How large the model's context window is: said, built in, told by the server, or learned.
//!
//! A window that nobody has told is asked for in the background: while the user types, or, in a
//! headless run, once there is a second step. Neither the prompt nor the first request waits for it;
//! the answer is taken in between steps.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinSet;

use super::{Agent, Mind};
use crate::client::classify::ProviderError;
use crate::client::discover::listing::Listed;
use crate::client::learned::Facts;
use crate::message::Usage;
use crate::update::Update;

/// A smaller figure in an overflow error is not the window.
const SMALLEST: u64 = 1_000;
/// A window below this is soon full of files.
const LITTLE: u64 = 16_000;
/// A request below this many tokens says nothing about a server that cuts.
const CUT_FROM: u64 = 3_000;

/// A context window and where its figure comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Tokens, where known.
    pub tokens: Option<u64>,
    /// For people: `flag --context-window`, `preset openai`, `the provider's error` …
    pub origin: String,
}

/// Asks what the server tells of the model.
pub type Probe =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Option<Listed>> + Send>> + Send + Sync>;

/// What was found out about windows while the program runs.
#[derive(Default)]
pub(crate) struct Windows {
    /// By provider and model.
    known: BTreeMap<(String, String), Window>,
    /// How often the server in use was asked.
    asked: u8,
    answers: JoinSet<Option<Listed>>,
    /// The user has been warned that the server drops a part of what it is sent.
    warned_of_cut: bool,
}

impl Windows {
    /// Keeps a model's window for when it comes back.
    pub(super) fn leave(&mut self, name: (String, String), window: &Window) {
        if window.tokens.is_some() {
            self.known.insert(name, window.clone());
        }
    }

    /// Begins anew for another model. Answers about the old one are not waited for.
    pub(super) fn arrive(&mut self, mind: &mut Mind) {
        let known = self.known.get(&(mind.provider.clone(), mind.name.clone()));
        if let Some(window) = known {
            mind.window = window.clone();
        }
        self.asked = 0;
        self.answers = JoinSet::new();
        self.warned_of_cut = false;
    }
}

/// What an unknown window is taken for on screen, in tokens. Nothing is decided by it.
pub fn assumed(loopback: bool) -> u64 {
    if loopback { 32_000 } else { 128_000 }
}

impl Mind {
    pub(crate) fn assumed_window(&self) -> u64 {
        assumed(self.loopback)
    }
}

impl Agent {
    /// Begins to ask for an unknown window. Does not wait. Some local servers know only what is
    /// loaded, so they are asked again.
    pub(crate) fn ask_window(&mut self) {
        let times = if self.mind.loopback { 2 } else { 1 };
        if self.windows.asked < times && self.windows.answers.is_empty() {
            self.ask_now();
        }
    }

    fn ask_now(&mut self) {
        let Some(probe) = self.mind.probe.as_ref().filter(|_| self.mind.window.tokens.is_none())
        else {
            return;
        };
        self.windows.asked += 1;
        self.windows.answers.spawn(probe());
    }

    /// Takes over what has come back.
    pub(crate) fn take_window(&mut self) {
        while let Some(answer) = self.windows.answers.try_join_next() {
            if let Ok(Some(told)) = answer {
                self.mind.price = self.mind.price.or(told.price);
                self.take_told_window(told.window);
            }
        }
    }

    fn take_told_window(&mut self, told: Option<u64>) {
        let (Some(tokens), None) = (told, self.mind.window.tokens) else { return };
        let origin = "told by the server".to_owned();
        self.mind.window = Window { tokens: Some(tokens), origin };
        self.warn_if_little();
    }

    /// Warns of a window that a server has set too small, as some do if they are not told.
    pub fn warn_if_little(&self) {
        if let Some(tokens) = self.mind.window.tokens.filter(|&tokens| tokens < LITTLE) {
            self.show(Update::Warning(format!(
                "the server gives {} a window of {tokens} tokens, which is little for this work; \
                 raise its context length (Ollama: OLLAMA_CONTEXT_LENGTH)",
                self.mind.name
            )));
        }
    }

    /// Takes over the window that an overflow error states.
    pub(crate) fn learn_window(&mut self, error: &ProviderError) {
        if let Some(tokens) = error.window.filter(|&tokens| tokens >= SMALLEST) {
            let origin = "the provider's error".to_owned();
            self.mind.window = Window { tokens: Some(tokens), origin };
            self.learn(&Facts { adjustments: Vec::new(), window: Some(tokens) });
        }
    }

    /// Warns, once, when the server read far fewer tokens than it was sent.
    pub(crate) fn warn_if_server_cuts(&mut self, sent: Sent, usage: Option<Usage>) {
        let Some(read) = usage.map(|usage| usage.prompt).filter(|&read| read > 0) else { return };
        if self.windows.warned_of_cut || !sent.is_cut(read) {
            return;
        }
        self.windows.warned_of_cut = true;
        self.ask_now();
        self.show(Update::Warning(format!(
            "about {} tokens were sent but the server read only {read}: it seems to drop the \
             beginning of the conversation. Raise its context length (Ollama: \
             OLLAMA_CONTEXT_LENGTH) and set --context-window to match.",
            sent.tokens
        )));
    }
}

/// The size of a request, before the provider has reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub tokens: u64,
    /// It builds on an earlier report, so it is nearly right.
    pub measured: bool,
}

impl Sent {
    /// The rule of thumb alone can be too high by half.
    fn is_cut(self, read: u64) -> bool {
        let percent = if self.measured { 60 } else { 50 };
        self.tokens >= CUT_FROM && read.saturating_mul(100) < self.tokens.saturating_mul(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::Sent;

    #[test]
    fn when_a_server_has_cut_what_it_was_sent() {
        for (tokens, measured, read, expected) in [
            (10_000, true, 5_900, true),
            (10_000, true, 6_100, false),
            (10_000, false, 5_900, false),
            (10_000, false, 4_096, true),
            (2_900, true, 10, false),
            (u64::MAX, true, 4_096, true),
        ] {
            assert_eq!(Sent { tokens, measured }.is_cut(read), expected, "{tokens} {read}");
        }
    }
}
