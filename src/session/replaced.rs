//! What compactions took out of the history, for going back behind them.
//!
//! Pure and bounded: the oldest is forgotten first, and behind it there is no way back.

use std::ops::Range;
use std::sync::Arc;

use super::state::Entry;

/// Bytes of replaced messages that are kept for going back: about ten large windows.
const KEEP_REPLACED: usize = 4 << 20;

/// One compaction: its position, where its stand-in was put, and what was there before. A state is
/// copied to try a compaction out; this part of it is only shared.
type Kept = (u64, Range<usize>, Arc<[Entry]>);

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replaced {
    kept: Vec<Kept>,
    bytes: usize,
    forgotten: u64,
}

impl Replaced {
    /// Behind this position there is no way back.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Takes in what a compaction replaced.
    pub fn keep(&mut self, seq: u64, place: Range<usize>, old: Vec<Entry>) {
        self.bytes += weight(&old);
        self.kept.push((seq, place, old.into()));
        while self.bytes > KEEP_REPLACED && !self.kept.is_empty() {
            let (seq, _, old) = self.kept.remove(0);
            self.bytes -= weight(&old);
            self.forgotten = seq;
        }
    }

    /// The newest compaction after a position: where its stand-in is, and what belongs there.
    pub fn take_after(&mut self, seq: u64) -> Option<(Range<usize>, Arc<[Entry]>)> {
        let (_, place, old) = self.kept.pop_if(|(at, ..)| *at > seq)?;
        self.bytes -= weight(&old);
        Some((place, old))
    }
}

fn weight(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| entry.message.weight()).sum()
}
