//! Notices a model that goes in circles: the same calls, or a short cycle of them, reply after
//! reply. Pure.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::message::ToolCall;

/// The longest cycle, in replies, that counts as going in circles.
const MAX_CYCLE: usize = 4;
/// The model is told when a cycle has come round this often.
const TELL_AT: usize = 4;
/// The turn ends when a cycle has come round this often.
const STOP_AT: usize = 8;

/// What to do about the calls so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Fine,
    /// Tell the model, once.
    Tell,
    /// Stop: the cycle has come round this often.
    Stop(usize),
}

/// The calls of the last replies of a turn.
#[derive(Debug, Default)]
pub struct Repeats {
    /// One hash per reply: arguments may be megabytes.
    recent: Vec<u64>,
    told: bool,
}

impl Repeats {
    /// Adds the calls of one reply.
    pub fn add(&mut self, calls: &[ToolCall]) {
        if self.recent.len() >= MAX_CYCLE * STOP_AT {
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
        if rounds < TELL_AT {
            self.told = false;
        }
        match rounds {
            STOP_AT.. => Verdict::Stop(rounds),
            TELL_AT.. if !self.told => {
                self.told = true;
                Verdict::Tell
            }
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
