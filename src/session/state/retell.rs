//! A state told again as events, for when the log that it came from is gone.
//!
//! Pure. Folding the events gives the history that the model knows, and the file changes that can
//! be undone. What a compaction took out of the history is not in it, and files count as unread.
//! Positions stay, so that events which refer to others still mean the same.

use super::{Entry, Open, Speaker, State, lost};
use crate::client::request::Message;
use crate::event::{
    AssistantMessage, Author, Ending, Event, ModelChanged, Record, SystemPrompt, ToolResult,
    ToolStarted, TurnFinished, UserMessage,
};
use crate::message::Reply;

/// Events with the position that each had, or had at least.
struct Retelling<'a> {
    state: &'a State,
    turn: u32,
    step: u32,
    events: Vec<(u64, Event)>,
}

impl State {
    /// Events that add up to this state, without what is said above.
    pub fn retell(&self, at: &str) -> Vec<Record> {
        let turns = u32::try_from(self.requests.len()).unwrap_or(u32::MAX);
        let turn = self.turn.saturating_sub(turns);
        let mut retelling = Retelling { state: self, turn, step: 0, events: Vec::new() };
        if !self.system.is_empty() {
            let system = SystemPrompt { content: self.system.clone() };
            retelling.events.push((1, Event::SystemPrompt(system)));
        }
        for entry in &self.history {
            retelling.message(entry);
        }
        if let Some(open) = &self.open {
            retelling.open(open);
        }
        let changes = self.changes.iter().map(|(seq, c)| (*seq, Event::FileChange(c.clone())));
        retelling.events.extend(changes);
        retelling.end();
        let mut records = numbered(retelling.events, at);
        if let Some(model) = self.model_left() {
            let (place, seq) = last_gap(&records, self.seq);
            let event = Event::ModelChanged(model);
            records.insert(place, Record { seq, at: at.to_owned(), event });
        }
        records
    }

    /// The model where no reply tells it: switched to since the last one, or with an effort.
    fn model_left(&self) -> Option<ModelChanged> {
        let model = self.model.as_ref()?;
        let in_history = || self.history.iter().rev().find_map(|entry| entry.by.as_deref());
        let last = self.open.as_ref().map(|open| &*open.by).or_else(in_history);
        let told =
            last.is_some_and(|by| (&by.provider, &by.model) == (&model.provider, &model.model));
        (!told || model.effort.is_some()).then(|| model.clone())
    }
}

impl Retelling<'_> {
    fn message(&mut self, entry: &Entry) {
        let seq = entry.seq;
        let event = match &entry.message {
            Message::User(content) => self.user(seq, content),
            Message::Summary(content) => Event::UserMessage(UserMessage {
                turn: self.turn,
                content: content.clone(),
                author: Author::Xsh,
            }),
            Message::Assistant(reply) => self.reply(reply, entry.by.as_deref()),
            Message::Tool { call_id, content, .. } if content == lost(true) => {
                let (call_id, name) = (call_id.clone(), String::new());
                Event::ToolStarted(ToolStarted { call_id, name })
            }
            // It never had an event; the fold closes the call in the same words.
            Message::Tool { content, .. } if content == lost(false) => return,
            Message::Tool { call_id, content, .. } => result(call_id, content),
        };
        self.events.push((seq, event));
    }

    fn user(&mut self, seq: u64, content: &str) -> Event {
        let is_request = self.state.requests.iter().any(|(at, _)| *at == seq);
        let author = if is_request { Author::User } else { Author::Xsh };
        if is_request {
            self.turn = self.turn.saturating_add(1);
            self.step = 0;
        }
        Event::UserMessage(UserMessage { turn: self.turn, content: content.to_owned(), author })
    }

    fn reply(&mut self, reply: &Reply, by: Option<&Speaker>) -> Event {
        self.step += 1;
        let (provider, model) =
            by.map(|by| (by.provider.clone(), by.model.clone())).unwrap_or_default();
        Event::AssistantMessage(AssistantMessage {
            turn: self.turn,
            step: self.step,
            provider,
            model,
            reply: reply.clone(),
            partial: false,
        })
    }

    fn open(&mut self, open: &Open) {
        let event = self.reply(&open.reply, Some(&open.by));
        self.events.push((open.seq, event));
        for (call, state) in open.reply.tool_calls.iter().zip(&open.calls) {
            if state.started {
                let started = ToolStarted { call_id: call.id.clone(), name: call.name.clone() };
                self.events.push((open.seq, Event::ToolStarted(started)));
            }
            if let Some((at, content)) = &state.result {
                self.events.push((*at, result(&call.id, content)));
            }
        }
    }

    fn end(&mut self) {
        let state = self.state;
        if !state.turn_open && state.turn > 0 {
            let finished = TurnFinished {
                turn: state.turn,
                ending: Ending::Other,
                steps: state.step,
                usage: state.turn_usage,
                detail: String::new(),
            };
            let last = state.history.last().map_or(1, |entry| entry.seq);
            self.events.push((last, Event::TurnFinished(finished)));
        }
    }
}

fn result(call_id: &str, content: &str) -> Event {
    Event::ToolResult(ToolResult {
        call_id: call_id.to_owned(),
        content: content.to_owned(),
        ..ToolResult::default()
    })
}

/// In the order of their positions, none of them twice.
fn numbered(mut events: Vec<(u64, Event)>, at: &str) -> Vec<Record> {
    events.sort_by_key(|(seq, _)| *seq);
    let mut last = 0;
    let number = |(seq, event): (u64, Event)| {
        last = seq.max(last + 1);
        Record { seq: last, at: at.to_owned(), event }
    };
    events.into_iter().map(number).collect()
}

/// The last free position up to `end`, and its place among the records. The event that it is for
/// had one of its own, so there is one.
fn last_gap(records: &[Record], end: u64) -> (usize, u64) {
    let (mut place, mut free) = (records.len(), end);
    for record in records.iter().rev().take_while(|record| record.seq > 1) {
        if record.seq < free {
            break;
        }
        free = record.seq - 1;
        place -= 1;
    }
    (place, free)
}
