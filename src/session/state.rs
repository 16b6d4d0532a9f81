//! What a log adds up to: the fold of its events.
//!
//! Pure. [`State::apply`] is the only way a state changes, live and on replay alike. The history it
//! holds is valid for a strict provider at every moment, because a reply with calls enters it only
//! together with a result for each of them; until then it waits in [`State::open`].

mod retell;

mod replace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::encoded::Encoded;
use super::replaced::Replaced;
use super::speaker::{self, Speaker};
use crate::client::profile::Profile;
use crate::client::request::Message;
use crate::event::{
    AssistantMessage, Author, ChangedBy, Event, FileChange, ModelChanged, Record, Restored,
    ToolResult,
};
use crate::message::{Reply, ToolCall, Usage};

/// A message of the history with the event it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The event's position in the log; a summary has the last position it replaces.
    pub seq: u64,
    /// The message.
    pub message: Message,
    /// Who wrote it, if a model did.
    pub by: Option<Arc<Speaker>>,
}

/// A reply whose calls do not all have their result yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    seq: u64,
    reply: Box<Reply>,
    by: Arc<Speaker>,
    calls: Vec<OpenCall>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct OpenCall {
    started: bool,
    result: Option<(u64, String)>,
}

/// A call that still needs its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Unanswered<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// Its tool was started, so it may have had effects.
    pub started: bool,
}

/// What the provider reported about the context's size, and how far the report reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    tokens: u64,
    /// Messages of the history that the report covers.
    messages: usize,
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The system prompt in force.
    pub system: String,
    /// The messages after the system prompt.
    pub history: Vec<Entry>,
    /// The reply whose tools are running.
    pub open: Option<Open>,
    /// The current or last turn; 0 before the first.
    pub turn: u32,
    /// Replies in that turn.
    pub step: u32,
    /// The turn has not ended.
    pub turn_open: bool,
    /// Tokens of the current or last turn.
    pub turn_usage: Usage,
    /// Tokens of the session.
    pub usage: Usage,
    /// File versions the model knows: real path to SHA-256.
    pub files: Arc<BTreeMap<PathBuf, String>>,
    /// The model in use, once one has been recorded.
    pub model: Option<ModelChanged>,
    /// What the user asked for, word for word, with positions; compaction carries it over.
    pub requests: Vec<(u64, String)>,
    /// File changes that can be undone, oldest first, with positions.
    pub changes: Vec<(u64, FileChange)>,
    /// Positions of the results of commands whose changes cannot be undone.
    pub unwatched: Vec<u64>,
    /// Files of a rewind that nothing in the log says to be finished; a killed run leaves some.
    pub putting_back: Vec<Restored>,
    replaced: Replaced,
    seq: u64,
    profile: Profile,
    /// The model that the history is encoded for; none = whoever wrote each part of it.
    reader: Option<Speaker>,
    /// The writer of the last reply.
    speaker: Option<Arc<Speaker>>,
    encoded: Encoded,
    /// A log is being replayed: nothing is encoded yet.
    replaying: bool,
    measured: Option<Measured>,
}

impl State {
    /// An empty session with a provider of this kind.
    pub fn new(profile: &Profile) -> Self {
        Self {
            replaying: false,
            profile: *profile,
            system: String::new(),
            history: Vec::new(),
            open: None,
            turn: 0,
            step: 0,
            turn_open: false,
            turn_usage: Usage::default(),
            usage: Usage::default(),
            files: Arc::default(),
            model: None,
            requests: Vec::new(),
            changes: Vec::new(),
            unwatched: Vec::new(),
            putting_back: Vec::new(),
            replaced: Replaced::default(),
            seq: 0,
            reader: None,
            speaker: None,
            encoded: Encoded::default(),
            measured: None,
        }
    }

    /// Where a replay begins. Nothing is encoded before [`State::set_reader`] ends it: by then most of
    /// a long log has made place for summaries, and who reads the rest is in the log itself.
    pub fn replaying(profile: &Profile) -> Self {
        Self { replaying: true, ..Self::new(profile) }
    }

    /// The position of the last event.
    pub fn last_seq(&self) -> u64 {
        self.seq
    }

    /// Adds one event. Total: an event that does not fit (a result without its call, because a
    /// damaged line was skipped) changes nothing, and what it leaves open is closed as lost.
    pub fn apply(&mut self, record: Record) {
        let Record { seq, event, .. } = record;
        self.seq = seq;
        self.putting_back = Vec::new();
        match event {
            Event::SystemPrompt(prompt) => self.apply_system(prompt.content),
            Event::UserMessage(message) => {
                self.close_open();
                if message.author == Author::User {
                    self.begin_turn(message.turn);
                    self.requests.push((seq, message.content.clone()));
                }
                self.push(Entry { seq, message: Message::User(message.content), by: None });
            }
            Event::AssistantMessage(message) => self.apply_assistant(seq, message),
            Event::ToolStarted(started) => {
                if let Some(call) = self.open_call(&started.call_id) {
                    call.started = true;
                }
            }
            Event::ToolResult(result) => self.apply_result(seq, result),
            Event::Compaction(compaction) => self.apply_compaction(seq, &compaction),
            Event::Rewind(rewind) => self.apply_rewind(rewind),
            Event::ModelChanged(model) => self.model = Some(model),
            Event::FileChange(change) => {
                // What a command made of a file was not shown to the model: it must read it again.
                if change.by == ChangedBy::Tool {
                    self.know(change.path.clone(), change.after.clone());
                }
                self.changes.push((seq, change));
            }
            Event::TurnFinished(finished) => {
                self.close_open();
                self.turn_open = false;
                self.settle_usage(finished.usage);
            }
            Event::RewindFinished(_) | Event::Permission(_) | Event::Unknown(_) => {}
        }
    }

    fn know(&mut self, path: String, sha256: String) {
        Arc::make_mut(&mut self.files).insert(PathBuf::from(path), sha256);
    }

    fn begin_turn(&mut self, turn: u32) {
        self.turn = turn;
        self.step = 0;
        self.turn_open = true;
        self.turn_usage = Usage::default();
    }

    /// The rest of the history stays as it was measured; only the difference is estimated.
    fn apply_system(&mut self, content: String) {
        let before = estimate(self.system_bytes());
        self.system = content;
        self.encode_all();
        let after = estimate(self.system_bytes());
        if let Some(measured) = &mut self.measured {
            measured.tokens = (measured.tokens + after).saturating_sub(before);
        }
    }

    fn system_bytes(&self) -> usize {
        let mut alone = Encoded::default();
        alone.begin(&self.system, &self.profile);
        alone.all().len()
    }

    fn apply_assistant(&mut self, seq: u64, message: AssistantMessage) {
        self.close_open();
        self.step = message.step;
        if let Some(usage) = &message.reply.usage {
            self.count(usage);
        }
        let by = self.spoken_by(Speaker { provider: message.provider, model: message.model });
        let reply = Box::new(message.reply);
        if reply.tool_calls.is_empty() {
            self.push_reply(seq, reply, by);
        } else {
            let calls = vec![OpenCall::default(); reply.tool_calls.len()];
            self.open = Some(Open { seq, reply, by, calls });
        }
    }

    /// Notes who replies; all replies of one model share its name.
    fn spoken_by(&mut self, speaker: Speaker) -> Arc<Speaker> {
        let effort = self.model.take().and_then(|model| model.effort);
        let Speaker { provider, model } = speaker.clone();
        self.model = Some(ModelChanged { provider, model, effort });
        let same = self.speaker.as_ref().filter(|last| ***last == speaker).cloned();
        let by = same.unwrap_or_else(|| Arc::new(speaker));
        self.speaker = Some(by.clone());
        by
    }

    fn count(&mut self, usage: &Usage) {
        self.turn_usage.add(usage);
        self.usage.add(usage);
    }

    /// Takes over a turn's sum, which also counts attempts whose reply was thrown away.
    fn settle_usage(&mut self, total: Usage) {
        let counted = self.turn_usage;
        self.usage.add(&Usage {
            prompt: total.prompt.saturating_sub(counted.prompt),
            completion: total.completion.saturating_sub(counted.completion),
            cached: total.cached.saturating_sub(counted.cached),
            reasoning: total.reasoning.saturating_sub(counted.reasoning),
            cost: total.cost.map(|cost| cost - counted.cost.unwrap_or(0.0)),
        });
        self.turn_usage = total;
    }

    /// Adds a reply to the history. One without text or calls is not sent: providers refuse it.
    fn push_reply(&mut self, seq: u64, reply: Box<Reply>, by: Arc<Speaker>) {
        if reply.content.trim().is_empty() && reply.tool_calls.is_empty() {
            return;
        }
        let usage = reply.usage;
        self.push(Entry { seq, message: Message::Assistant(reply), by: Some(by) });
        if let Some(usage) = usage.filter(|usage| usage.prompt > 0) {
            let tokens = usage.prompt.saturating_add(usage.completion);
            self.measured = Some(Measured { tokens, messages: self.history.len() });
        }
    }

    fn apply_result(&mut self, seq: u64, result: ToolResult) {
        for file in result.files {
            self.know(file.path, file.sha256);
        }
        if result.unwatched {
            self.unwatched.push(seq);
        }
        let Some(call) = self.open_call(&result.call_id) else { return };
        call.result = Some((seq, result.content));
        let all = self.open.as_ref().is_some_and(|o| o.calls.iter().all(|c| c.result.is_some()));
        if all {
            self.close_open();
        }
    }

    /// The first call of the open reply with this id that has no result yet.
    fn open_call(&mut self, id: &str) -> Option<&mut OpenCall> {
        let open = self.open.as_mut()?;
        let position = (0..open.calls.len()).find(|&i| {
            open.calls.get(i).is_some_and(|call| call.result.is_none())
                && open.reply.tool_calls.get(i).is_some_and(|call| call.id == id)
        })?;
        open.calls.get_mut(position)
    }

    /// Moves the open reply into the history, with a result for every call.
    fn close_open(&mut self) {
        let Some(Open { seq, reply, by, calls }) = self.open.take() else { return };
        let ids: Vec<(String, String)> =
            reply.tool_calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
        self.push_reply(seq, reply, by);
        for ((call_id, name), call) in ids.into_iter().zip(calls) {
            let (at, content) = call.result.unwrap_or_else(|| (seq, lost(call.started).to_owned()));
            let message = Message::Tool { call_id, name, content };
            self.push(Entry { seq: at, message, by: None });
        }
    }

    fn push(&mut self, entry: Entry) {
        if !self.replaying {
            let by = entry.by.as_deref();
            let message = speaker::as_read(&entry.message, self.reader.as_ref(), by);
            self.encoded.push(&message, &self.profile);
        }
        self.history.push(entry);
    }

    /// Encodes everything anew, after the history was replaced or another model is to read it.
    fn encode_all(&mut self) {
        if self.replaying {
            return;
        }
        self.encoded.begin(&self.system, &self.profile);
        for entry in &self.history {
            let by = entry.by.as_deref();
            let message = speaker::as_read(&entry.message, self.reader.as_ref(), by);
            self.encoded.push(&message, &self.profile);
        }
    }

    /// Encodes the history as this model at this provider takes it. The state is then what a replay
    /// for that reader gives.
    pub fn set_reader(&mut self, profile: &Profile, reader: Speaker) {
        let before = self.reader.replace(reader);
        let (old, new) = (before.as_ref(), self.reader.as_ref());
        let mut authors = self.history.iter().map(|entry| entry.by.as_deref());
        let reads_alike = authors.all(|by| speaker::read_alike(old, new, by));
        if self.replaying || self.profile != *profile || !reads_alike {
            self.replaying = false;
            self.profile = *profile;
            self.encode_all();
        }
    }

    /// A state of the same kind, folded from these events.
    #[must_use]
    pub fn renewed(&self, records: Vec<Record>) -> Self {
        let mut state = Self { reader: self.reader.clone(), ..Self::new(&self.profile) };
        for record in records {
            state.apply(record);
        }
        state
    }

    /// The encoded messages of the next request.
    pub fn encoded(&self) -> &Encoded {
        debug_assert!(!self.replaying, "nobody has said who reads the history");
        &self.encoded
    }

    /// The context's size in tokens: what the provider reported for the prefix plus an estimate of
    /// what was added since; without a report an estimate of everything, `tools_bytes` included.
    pub fn size(&self, tools_bytes: usize) -> u64 {
        match self.measured {
            Some(Measured { tokens, messages }) => {
                let covered = self.encoded.first(messages).len();
                tokens.saturating_add(estimate(self.encoded.all().len().saturating_sub(covered)))
            }
            None => estimate(self.encoded.all().len() + tools_bytes),
        }
    }

    /// True when the size builds on what a provider reported.
    pub fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// The size by the rule of thumb alone.
    pub fn estimated(&self, tools_bytes: usize) -> u64 {
        estimate(self.encoded.all().len() + tools_bytes)
    }

    /// Calls that still need a result, in order.
    pub fn unanswered(&self) -> Vec<Unanswered<'_>> {
        let Some(open) = &self.open else { return Vec::new() };
        open.reply
            .tool_calls
            .iter()
            .zip(&open.calls)
            .filter(|(_, state)| state.result.is_none())
            .map(|(call, state)| Unanswered { call, started: state.started })
            .collect()
    }
}

/// Tokens in this many bytes, by the rule of thumb of three bytes each, rounded up.
pub fn estimate(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3)
}

/// The result of a call whose outcome is not known, for the model.
pub fn lost(started: bool) -> &'static str {
    if started {
        "[outcome unknown: xsh was interrupted while this call ran. It may have run in part or in \
         full. Check its effects before you repeat it.]"
    } else {
        "[not started: xsh was interrupted before this call ran. It had no effect.]"
    }
}

#[cfg(test)]
mod tests;
