//! What the provider answers: built as a value, sent by [`super::provider`].

use std::time::Duration;

use serde_json::{Value, json};

/// One tool call of a reply.
#[derive(Clone, Debug)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// The text as the model wrote it; need not be JSON.
    pub arguments: String,
}

/// A call with arguments given as JSON.
#[expect(clippy::needless_pass_by_value, reason = "called with json!(…) everywhere")]
pub fn call(id: &str, name: &str, arguments: Value) -> Call {
    raw_call(id, name, &arguments.to_string())
}

/// A call with arguments given as text, possibly broken.
pub fn raw_call(id: &str, name: &str, arguments: &str) -> Call {
    Call { id: id.into(), name: name.into(), arguments: arguments.into() }
}

/// A `shell` call.
pub fn shell(id: &str, command: &str) -> Call {
    call(id, "shell", json!({ "command": command }))
}

/// A `read` call.
pub fn read(id: &str, path: &str) -> Call {
    call(id, "read", json!({ "file_path": path }))
}

/// A `write` call.
pub fn write(id: &str, path: &str, content: &str) -> Call {
    call(id, "write", json!({ "file_path": path, "content": content }))
}

/// An `edit` call.
pub fn edit(id: &str, path: &str, old: &str, new: &str) -> Call {
    call(id, "edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

/// One event holding a delta of the first choice.
#[expect(clippy::needless_pass_by_value, reason = "called with json!(…) everywhere")]
pub fn delta(delta: Value) -> String {
    event(json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
}

/// One event holding a finish reason.
pub fn finish(reason: &str) -> String {
    event(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }))
}

/// One event.
#[expect(clippy::needless_pass_by_value, reason = "called with json!(…) everywhere")]
pub fn event(value: Value) -> String {
    format!("data: {value}\n\n")
}

/// The closing event.
pub const DONE: &str = "data: [DONE]\n\n";

/// Where the bytes of a stream are cut into pieces that are sent one by one.
#[derive(Clone, Debug, Default)]
pub enum Cut {
    /// After each event.
    #[default]
    Events,
    /// After every so many bytes.
    Every(usize),
    /// At these offsets.
    At(Vec<usize>),
}

/// What happens when all that is to be sent was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The response ends as HTTP wants it.
    #[default]
    Polite,
    /// The socket closes without the last chunk.
    Dropped,
    /// The connection is reset.
    Reset,
    /// The socket stays open and silent.
    Stall,
}

/// A scripted answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Pieces of the body: the events of a stream, or one whole body.
    pub events: Vec<Vec<u8>>,
    pub cut: Cut,
    /// Waits before the first byte, and between pieces.
    pub delay: Duration,
    pub pause: Duration,
    pub end: End,
    /// Not even a status line is sent.
    pub silent: bool,
    pub gzip: bool,
}

impl Reply {
    /// A finished answer of one event per word.
    pub fn text(text: &str) -> Self {
        Self::pieces(&text.split_inclusive(' ').collect::<Vec<_>>())
    }

    /// A finished answer of one event per piece.
    pub fn pieces(pieces: &[&str]) -> Self {
        let mut events: Vec<_> =
            pieces.iter().map(|piece| delta(json!({"content": piece}))).collect();
        events.extend([finish("stop"), DONE.to_owned()]);
        Self::events(events)
    }

    /// A reply that calls tools.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::text_and_calls("", calls)
    }

    /// A reply that says something and calls tools; the arguments arrive in fragments.
    pub fn text_and_calls(text: &str, calls: impl IntoIterator<Item = Call>) -> Self {
        let mut events = Vec::new();
        if !text.is_empty() {
            events.push(delta(json!({"content": text})));
        }
        for (index, call) in calls.into_iter().enumerate() {
            events.extend(call_events(index, &call));
        }
        events.extend([finish("tool_calls"), DONE.to_owned()]);
        Self::events(events)
    }

    /// A stream of these events, each ending in an empty line.
    pub fn events(events: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        let events = events.into_iter().map(Into::into).collect();
        Self { events, ..Self::plain(200, "text/event-stream", "") }
    }

    /// A body that is no stream.
    pub fn plain(status: u16, content_type: &str, body: &str) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".into(), content_type.into())],
            events: vec![body.as_bytes().to_vec()],
            cut: Cut::default(),
            delay: Duration::ZERO,
            pause: Duration::ZERO,
            end: End::default(),
            silent: false,
            gzip: false,
        }
    }

    /// A JSON body that is no stream.
    #[expect(clippy::needless_pass_by_value, reason = "called with json!(…) everywhere")]
    pub fn json(status: u16, body: Value) -> Self {
        Self::plain(status, "application/json", &body.to_string())
    }

    /// An error in the usual shape.
    pub fn error(status: u16, message: &str) -> Self {
        Self::error_code(status, message, "")
    }

    /// An error in the usual shape with a code.
    pub fn error_code(status: u16, message: &str, code: &str) -> Self {
        let code = if code.is_empty() { Value::Null } else { code.into() };
        let error = json!({"message": message, "type": "scripted", "param": null, "code": code});
        Self::json(status, json!({ "error": error }))
    }

    /// The usual refusal of a request that outgrew the window.
    pub fn overflow(window: u32) -> Self {
        let message = format!(
            "This model's maximum context length is {window} tokens. However, \
            your messages resulted in more. Please reduce the length of the messages."
        );
        Self::error_code(400, &message, "context_length_exceeded")
    }

    /// The connection is accepted and never answered.
    pub fn silence() -> Self {
        Self { silent: true, end: End::Stall, ..Self::text("") }
    }

    /// Reasoning before the answer, in this wire field.
    #[must_use]
    pub fn reasoning(mut self, field: &str, text: &str) -> Self {
        self.events.insert(0, delta(json!({ field: text })).into());
        self
    }

    /// Another finish reason.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        for event in &mut self.events {
            if String::from_utf8_lossy(event).contains("\"delta\":{},\"finish_reason\"") {
                *event = finish(reason).into();
            }
        }
        self
    }

    /// Reports usage in an event of its own before the end, as `OpenAI` does.
    #[must_use]
    pub fn usage(mut self, prompt: u64, completion: u64, cached: u64) -> Self {
        let usage = json!({
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        });
        let place = self.events.len().saturating_sub(1);
        self.events.insert(place, event(json!({"choices": [], "usage": usage})).into());
        self
    }

    /// A comment before each event.
    #[must_use]
    pub fn comments(mut self, text: &str) -> Self {
        for event in &mut self.events {
            event.splice(0..0, format!(": {text}\n\n").into_bytes());
        }
        self
    }

    /// Every line feed of the stream becomes this.
    #[must_use]
    pub fn line_ending(mut self, ending: &str) -> Self {
        for event in &mut self.events {
            let text = String::from_utf8_lossy(event).replace('\n', ending);
            *event = text.into_bytes();
        }
        self
    }

    #[must_use]
    pub fn cut(mut self, cut: Cut) -> Self {
        self.cut = cut;
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Waits before the first byte.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits between pieces.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sends only so many events, then ends in this way.
    #[must_use]
    pub fn cut_off(mut self, events: usize, end: End) -> Self {
        self.events.truncate(events);
        self.end = end;
        self
    }

    /// Compresses the body, with or without saying so in the header.
    #[must_use]
    pub fn gzip(mut self, labelled: bool) -> Self {
        self.gzip = true;
        if labelled { self.header("Content-Encoding", "gzip") } else { self }
    }

    /// The pieces to send, in order.
    pub fn wire(&self) -> Vec<Vec<u8>> {
        if self.gzip {
            return vec![super::gzip::gzip(&self.events.concat())];
        }
        match &self.cut {
            Cut::Events => self.events.clone(),
            Cut::Every(size) => self.events.concat().chunks(*size).map(<[u8]>::to_vec).collect(),
            Cut::At(offsets) => split_at(&self.events.concat(), offsets),
        }
    }
}

/// The opening of a call and its arguments in small fragments.
fn call_events(index: usize, call: &Call) -> Vec<String> {
    let open = json!({"index": index, "id": call.id, "type": "function",
        "function": {"name": call.name, "arguments": ""}});
    let mut events = vec![delta(json!({ "tool_calls": [open] }))];
    let chars: Vec<char> = call.arguments.chars().collect();
    // A fragment per 24 characters keeps small calls realistic and large ones quick.
    let size = 24.max(chars.len() / 50);
    for fragment in chars.chunks(size) {
        let fragment: String = fragment.iter().collect();
        let more = json!({"index": index, "function": {"arguments": fragment}});
        events.push(delta(json!({ "tool_calls": [more] })));
    }
    events
}

fn split_at(bytes: &[u8], offsets: &[usize]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for end in offsets.iter().copied().chain([bytes.len()]) {
        pieces.extend(bytes.get(start..end).map(<[u8]>::to_vec));
        start = end;
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(reply: &Reply) -> String {
        String::from_utf8(reply.wire().concat()).expect("text")
    }

    #[test]
    fn a_text_is_one_event_per_word_and_ends_as_it_should() {
        let reply = Reply::text("one two").usage(9, 2, 4);
        assert_eq!(reply.wire().len(), 5);
        let text = wire(&reply);
        assert!(text.contains(r#""content":"one ""#) && text.ends_with(DONE));
        assert!(text.contains(r#""cached_tokens":4"#));
    }

    #[test]
    fn every_cut_keeps_the_bytes() {
        let reply = Reply::calls([write("c1", "a.txt", "那🌍")]).comments("wait");
        let whole = wire(&reply);
        for cut in [Cut::Every(1), Cut::Every(7), Cut::At(vec![3, 200, 201]), Cut::Events] {
            assert_eq!(wire(&reply.clone().cut(cut)), whole);
        }
    }

    #[test]
    fn shapes() {
        assert!(wire(&Reply::text("x").finish("length")).contains(r#""finish_reason":"length""#));
        assert!(wire(&Reply::text("x").line_ending("\r\n")).contains("\r\n\r\n"));
        assert!(
            wire(&Reply::text("x").reasoning("reasoning", "hm")).contains(r#""reasoning":"hm""#)
        );
        assert_eq!(Reply::text("a b c").cut_off(2, End::Reset).wire().len(), 2);
        assert!(wire(&Reply::overflow(100)).contains("context_length_exceeded"));
    }
}
