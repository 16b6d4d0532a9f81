//! When to compact, and where to cut. Pure.
//!
//! Sizes are tokens. The newest messages stay as they are; everything before the cut is summarised.
//! A cut never parts a call from its result.

use crate::session::state::{State, estimate};

/// The part of the window that the newest messages may keep, in percent.
const KEEP_PERCENT: u64 = 16;
/// The last exchange is kept whole up to this part of the window, in percent: without it the model
/// would have to look up again what it has only just read.
const KEEP_LAST_PERCENT: u64 = 40;
/// The part of the window that sets compaction off, in percent.
const TRIGGER_PERCENT: u64 = 80;
/// The least room for a reply, in percent of the window.
const REPLY_PERCENT: u64 = 6;
/// Tokens kept free for a summary, at most.
const MAX_RESERVE: u64 = 16_000;

/// The room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The model's context window.
    pub window: u64,
    /// Bytes of the `tools` array.
    pub tools_bytes: usize,
}

impl Budget {
    /// Tokens kept free for the summary.
    pub fn reserve(self) -> u64 {
        MAX_RESERVE.min(self.window / 5)
    }

    /// The size at which compaction sets in.
    pub fn trigger(self) -> u64 {
        percent(self.window, TRIGGER_PERCENT).min(self.window.saturating_sub(self.reserve()))
    }

    /// True when the context has grown so far that it should be compacted.
    pub fn is_due(self, state: &State) -> bool {
        state.size(self.tools_bytes) >= self.trigger()
    }

    /// True when another reply would hardly fit.
    pub fn is_full(self, state: &State) -> bool {
        let room = self.window.saturating_sub(state.size(self.tools_bytes));
        room < percent(self.window, REPLY_PERCENT)
    }
}

/// Which messages a summary would replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many messages from the oldest on.
    pub messages: usize,
    /// The position of the first one's event.
    pub from_seq: u64,
    /// The position of the last one's event.
    pub to_seq: u64,
}

/// Where to cut: as few messages as possible are kept within their part of the window `into`, and
/// the summary request must fit the window of the model that writes it. None when there is nothing
/// that a summary could replace.
pub fn plan(state: &State, budget: Budget, into: u64, prompt_bytes: usize) -> Option<Plan> {
    let scale = Scale::of(state, budget);
    let newest = newest_kept(state, scale, into);
    let fits = |count: &usize| {
        let bytes = state.encoded().first(*count).len() + budget.tools_bytes + prompt_bytes;
        scale.tokens(bytes).saturating_add(budget.reserve()) <= budget.window
    };
    let messages = (1..=newest).rev().filter(|&i| state.is_boundary(i)).find(fits)?;
    let only_a_summary = messages == 1
        && matches!(state.history.first()?.message, crate::client::request::Message::Summary(_));
    if only_a_summary { None } else { plan_for(state, messages) }
}

/// The plan that replaces the first `messages` messages.
pub fn plan_for(state: &State, messages: usize) -> Option<Plan> {
    let replaced = state.history.get(..messages)?;
    Some(Plan { messages, from_seq: replaced.first()?.seq, to_seq: replaced.last()?.seq })
}

/// The boundary after which messages are kept.
fn newest_kept(state: &State, scale: Scale, window: u64) -> usize {
    let mut boundary = state.history.len();
    let mut bytes = 0;
    for index in (0..state.history.len()).rev() {
        bytes += state.encoded().bytes_of(index);
        let limit = if boundary == state.history.len() { KEEP_LAST_PERCENT } else { KEEP_PERCENT };
        if scale.tokens(bytes) > percent(window, limit) {
            break;
        }
        if state.is_boundary(index) {
            boundary = index;
        }
    }
    boundary
}

/// Bytes to tokens, corrected by what the provider reported: the rule of thumb alone would find
/// that nothing fits where in truth it does.
#[derive(Clone, Copy)]
struct Scale {
    tokens: u64,
    bytes: u64,
}

impl Scale {
    fn of(state: &State, budget: Budget) -> Self {
        let bytes = state.encoded().all().len() + budget.tools_bytes;
        let tokens = state.size(budget.tools_bytes).min(estimate(bytes)).max(1);
        Self { tokens, bytes: (bytes as u64).max(1) }
    }

    fn tokens(self, bytes: usize) -> u64 {
        let scaled = u128::from(bytes as u64) * u128::from(self.tokens);
        u64::try_from(scaled.div_ceil(u128::from(self.bytes))).unwrap_or(u64::MAX)
    }
}

fn percent(of: u64, percent: u64) -> u64 {
    of / 100 * percent + of % 100 * percent / 100
}

#[cfg(test)]
mod tests;
