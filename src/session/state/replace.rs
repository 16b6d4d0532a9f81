//! The part of the fold in which older messages are replaced: compaction, and going back behind it.

use crate::client::request::Message;
use crate::compact::summary;
use crate::event::{ChangedBy, Compaction, CompactionKind, FileChange, Restored, Rewind};

use super::{Entry, State};

impl State {
    pub(super) fn apply_compaction(&mut self, seq: u64, compaction: &Compaction) {
        if let Some(usage) = &compaction.usage {
            self.count(usage);
        }
        let Some((start, end)) = self.whole_groups(compaction.from_seq, compaction.to_seq) else {
            return;
        };
        let before = self.history.len();
        let old: Vec<Entry> = match compaction.kind {
            CompactionKind::Cut => {
                let entries = self.history.get_mut(start..end).unwrap_or_default();
                let old = entries.to_vec();
                for entry in entries {
                    if let Message::Tool { content, .. } = &mut entry.message {
                        summary::cut_output(content);
                    }
                }
                old
            }
            CompactionKind::Summary | CompactionKind::Digest => {
                let text = summary::message(&compaction.summary, &self.requests, compaction.to_seq);
                let message = Message::Summary(text);
                let entry = Entry { seq: compaction.to_seq, message, by: None };
                self.history.splice(start..end, [entry]).collect()
            }
        };
        let stand_in = self.history.len() + old.len() - before;
        self.replaced.keep(seq, start..start + stand_in, old);
        // What a provider reported about the old messages no longer holds.
        self.measured = None;
        self.encode_all();
    }

    /// True when the messages as they were before this position can still be put together.
    pub fn can_rewind(&self, to_seq: u64) -> bool {
        to_seq > self.replaced.forgotten()
    }

    /// Goes back: compactions after the point are undone, then everything from it on is dropped.
    pub(super) fn apply_rewind(&mut self, rewind: Rewind) {
        let to_seq = rewind.to_seq;
        if rewind.conversation {
            self.open = None;
            self.turn_open = false;
            while let Some((place, old)) = self.replaced.take_after(to_seq) {
                let place = place.start.min(self.history.len())..place.end.min(self.history.len());
                self.history.splice(place, old.iter().cloned());
            }
            let mut kept = self.history.iter().take_while(|entry| entry.seq < to_seq).count();
            // A point inside a group: the reply goes together with its results.
            while self.is_result(kept) {
                kept -= 1;
            }
            self.history.truncate(kept);
            self.requests.retain(|(seq, _)| *seq < to_seq);
            self.measured = None;
            self.encode_all();
        }
        for file in &rewind.files {
            self.put_back(to_seq, file);
        }
        self.putting_back = rewind.files;
    }

    /// What a tool replaced was known to the model and is again; what a command did was not.
    fn put_back(&mut self, to_seq: u64, file: &Restored) {
        let undone = |seq: u64, change: &FileChange| seq >= to_seq && change.path == file.path;
        let first = self.changes.iter().find(|(seq, change)| undone(*seq, change));
        let by = first.map_or(ChangedBy::Tool, |(_, change)| change.by);
        self.changes.retain(|(seq, change)| !undone(*seq, change));
        if by == ChangedBy::Tool {
            self.know(file.path.clone(), file.sha256.clone().unwrap_or_default());
        }
    }

    /// The entries between two positions, widened so that no call loses its result.
    fn whole_groups(&self, from_seq: u64, to_seq: u64) -> Option<(usize, usize)> {
        let mut start = self.history.iter().position(|entry| entry.seq >= from_seq)?;
        let mut end = self.history.iter().rposition(|entry| entry.seq <= to_seq)? + 1;
        while self.is_result(start) {
            start -= 1;
        }
        while self.is_result(end) {
            end += 1;
        }
        (start < end).then_some((start, end))
    }

    /// True where the history could be cut before this entry without parting a call from its
    /// result.
    pub fn is_boundary(&self, index: usize) -> bool {
        index <= self.history.len() && !self.is_result(index)
    }

    fn is_result(&self, index: usize) -> bool {
        self.history.get(index).is_some_and(|e| matches!(e.message, Message::Tool { .. }))
    }

    /// What the size would be after a compaction.
    pub fn after(&self, compaction: &Compaction, tools_bytes: usize) -> u64 {
        let mut after = self.clone();
        after.apply_compaction(self.seq, compaction);
        after.size(tools_bytes)
    }
}
