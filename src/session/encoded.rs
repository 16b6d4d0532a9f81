//! The messages of the next request as bytes: each encoded once, when it enters the history.
//!
//! Pure. Growing it costs what the new message costs; only a replaced history is encoded anew.

use crate::client::profile::Profile;
use crate::client::request::{self, Message};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    /// The messages, joined by commas, the system message first.
    bytes: Vec<u8>,
    /// Where the system message ends.
    system_end: usize,
    /// Where each further message ends.
    ends: Vec<usize>,
    after_tool: bool,
}

impl Encoded {
    /// Begins anew with a system message; none when it is empty.
    pub fn begin(&mut self, system: &str, profile: &Profile) {
        self.bytes.clear();
        self.ends.clear();
        self.after_tool = false;
        if !system.is_empty() {
            request::encode_system(system, profile, &mut self.bytes);
        }
        self.system_end = self.bytes.len();
    }

    /// Adds a message. Where the provider refuses a user message right after a tool result, a short
    /// assistant message goes between them.
    pub fn push(&mut self, message: &Message, profile: &Profile) {
        self.comma();
        let from_user = matches!(message, Message::User(_) | Message::Summary(_));
        if from_user && self.after_tool && !profile.user_after_tool {
            request::encode_bridge(&mut self.bytes);
            self.comma();
        }
        request::encode(message, profile, &mut self.bytes);
        self.ends.push(self.bytes.len());
        self.after_tool = matches!(message, Message::Tool { .. });
    }

    fn comma(&mut self) {
        if !self.bytes.is_empty() {
            self.bytes.push(b',');
        }
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

    fn end_of(&self, count: usize) -> usize {
        match count.checked_sub(1) {
            None => self.system_end,
            Some(last) => self.ends.get(last).copied().unwrap_or(self.bytes.len()),
        }
    }
}
