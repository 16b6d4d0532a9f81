//! Notices a model that gets nowhere: the same calls, or a short cycle of them, reply after reply, or
//! nothing but calls that fail. Pure.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::message::ToolCall;

/// The longest cycle, in replies, that counts as going in circles.
const MAX_CYCLE: usize = 4;
/// A turn ends when a cycle has come round this often, where nothing else is said; at half of it the
/// model is told.
pub const USUAL_REPEATS: u32 = 8;
/// The fewest rounds that can end a turn: once is no repetition.
const FEWEST_REPEATS: usize = 2;
/// The turn ends after so many replies in a row whose calls all failed; at half of it the model is
/// told. Other calls each time are better than a circle, so there are more of them.
const FAILURES: usize = 20;

/// What to do about the calls so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Fine,
    /// Tell the model, once.
    Tell(Rut),
    /// Stop: it has come to this many rounds, or replies.
    Stop(Rut, usize),
}

/// How a model gets nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rut {
    /// The same calls again and again.
    Circle,
    /// Calls that all fail.
    Failures,
}

/// The calls of the last replies of a turn.
#[derive(Debug)]
pub struct Repeats {
    /// One hash per reply: arguments may be megabytes.
    recent: Vec<u64>,
    told: bool,
    stop_at: usize,
    /// Replies in a row whose calls all failed.
    failures: usize,
}

impl Repeats {
    /// A cycle ends the turn when it has come round this often, but not before the second time.
    pub fn new(max: u32) -> Self {
        let stop_at = usize::try_from(max).unwrap_or(usize::MAX).max(FEWEST_REPEATS);
        Self { recent: Vec::new(), told: false, stop_at, failures: 0 }
    }

    /// Notes whether any call of the last reply did what was asked.
    pub fn worked(&mut self, any: bool) {
        self.failures = if any { 0 } else { self.failures + 1 };
    }

    /// Adds the calls of one reply.
    pub fn add(&mut self, calls: &[ToolCall]) {
        if self.recent.len() >= self.stop_at.saturating_mul(MAX_CYCLE) {
            self.recent.remove(0);
        }
        let mut hasher = DefaultHasher::new();
        for call in calls {
            (&call.name, plain(&call.arguments)).hash(&mut hasher);
        }
        self.recent.push(hasher.finish());
    }

    /// What to do now. Telling happens once per circle.
    pub fn verdict(&mut self) -> Verdict {
        let rounds = (1..=MAX_CYCLE).map(|cycle| self.rounds(cycle)).max().unwrap_or(0);
        let in_circles = rounds >= self.stop_at.div_ceil(2).max(FEWEST_REPEATS);
        let told = std::mem::replace(&mut self.told, in_circles);
        match self.failures {
            _ if rounds >= self.stop_at => Verdict::Stop(Rut::Circle, rounds),
            FAILURES.. => Verdict::Stop(Rut::Failures, self.failures),
            _ if in_circles && !told => Verdict::Tell(Rut::Circle),
            failures if failures == FAILURES / 2 => Verdict::Tell(Rut::Failures),
            _ => Verdict::Fine,
        }
    }

    /// How often the last `cycle` replies came in a row.
    fn rounds(&self, cycle: usize) -> usize {
        let mut newest_first = self.recent.rchunks_exact(cycle);
        let Some(last) = newest_first.next() else { return 0 };
        1 + newest_first.take_while(|chunk| *chunk == last).count()
    }
}

/// Arguments without what makes no difference: white space, the order of names.
fn plain(arguments: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(arguments);
    value.map_or_else(|_| arguments.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests;
