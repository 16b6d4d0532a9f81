//! The messages of the next request as bytes: each encoded once, when it enters the history.
//!
//! Pure. Growing it costs what the new message costs; only a replaced history is encoded anew.

use crate::client::profile::{Profile, SystemRole, Turns};
use crate::client::request::{self, Message};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    /// The messages, joined by commas, the system message first.
    bytes: Vec<u8>,
    /// Where the system message ends, and what a message after it comes after.
    system: Mark,
    /// Likewise for each further message.
    marks: Vec<Mark>,
}

/// The end of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mark {
    at: usize,
    after: After,
}

/// Whose message was the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    #[default]
    Start,
    User,
    Assistant,
    Tool,
}

impl Encoded {
    /// Begins anew with a system message; none when it is empty.
    pub fn begin(&mut self, system: &str, profile: &Profile) {
        self.bytes.clear();
        self.marks.clear();
        if !system.is_empty() {
            request::encode_system(system, profile, &mut self.bytes);
        }
        let as_user = profile.system_role == SystemRole::User && !system.is_empty();
        let after = if as_user { After::User } else { After::Start };
        self.system = Mark { at: self.bytes.len(), after };
    }

    /// Adds a message. Where the provider refuses a user message right after the one before, a short
    /// assistant message goes between them.
    pub fn push(&mut self, message: &Message, profile: &Profile) {
        let after = self.last(self.marks.len());
        join(after, message, profile, &mut self.bytes);
        self.marks.push(Mark { at: self.bytes.len(), after: After::of(message) });
    }

    /// The system message, the first `count` further ones and one more, joined by commas.
    pub fn first_and(&self, count: usize, message: &Message, profile: &Profile) -> Vec<u8> {
        let mut bytes = self.first(count).to_vec();
        join(self.last(count), message, profile, &mut bytes);
        bytes
    }

    /// All messages, joined by commas.
    pub fn all(&self) -> &[u8] {
        &self.bytes
    }

    /// The system message and the first `count` further ones, joined by commas.
    pub fn first(&self, count: usize) -> &[u8] {
        self.bytes.get(..self.end_of(count)).unwrap_or_default()
    }

    /// Bytes of the message at this place, the system message not counted.
    pub fn bytes_of(&self, index: usize) -> usize {
        self.end_of(index + 1).saturating_sub(self.end_of(index))
    }

    fn last(&self, count: usize) -> After {
        self.mark(count).map_or(After::Start, |mark| mark.after)
    }

    fn end_of(&self, count: usize) -> usize {
        self.mark(count).map_or(self.bytes.len(), |mark| mark.at)
    }

    /// The end of the first `count` messages.
    fn mark(&self, count: usize) -> Option<Mark> {
        match count.checked_sub(1) {
            None => Some(self.system),
            Some(last) => self.marks.get(last).copied(),
        }
    }
}

impl After {
    fn of(message: &Message) -> Self {
        match message {
            Message::User(_) | Message::Summary(_) => Self::User,
            Message::Assistant(_) => Self::Assistant,
            Message::Tool { .. } => Self::Tool,
        }
    }
}

fn join(after: After, message: &Message, profile: &Profile, out: &mut Vec<u8>) {
    comma(out);
    let refused = match after {
        After::Tool => profile.turns >= Turns::NoUserAfterTool,
        After::User => profile.turns >= Turns::Alternate,
        After::Start | After::Assistant => false,
    };
    if refused && After::of(message) == After::User {
        request::encode_bridge(out);
        comma(out);
    }
    request::encode(message, profile, out);
}

fn comma(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}
