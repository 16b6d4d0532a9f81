//! Server-sent events: bytes in, events out, however the network cut them.
//!
//! Only the framing. Lines are found on bytes and decoded when they are whole, so a character
//! split over two reads stays whole. Every byte is looked at once: the work is linear in the
//! stream, whatever the size of its pieces. It does not know JSON and keeps no timer: for an
//! idle limit every `push` is a sign of life, comment lines included.

use memchr::memchr2;

/// The longest event (or line) that is accepted, in bytes; a longer one is an error.
pub const MAX_EVENT: usize = 32 * 1024 * 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Whether the reader should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More is expected.
    More,
    /// What follows is of no interest.
    Done,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event:` field; empty when there was none.
    pub name: &'a str,
    /// The `data:` lines, joined with newlines.
    pub data: &'a str,
}

/// An event grew over [`MAX_EVENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// The state between two pieces of a stream.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    name: String,
    data: String,
    /// There was a `data:` line, perhaps an empty one.
    has_data: bool,
    /// The last piece ended in a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line is over: a BOM is no longer expected.
    started: bool,
}

impl SseDecoder {
    /// Takes the next bytes and calls `on_event` for each event they complete, until it says
    /// [`Flow::Done`]; the decoder is of no use after that.
    ///
    /// # Errors
    /// [`TooLong`] when an event passes [`MAX_EVENT`].
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        on_event: &mut dyn FnMut(Event<'_>) -> Flow,
    ) -> Result<Flow, TooLong> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            self.after_cr = rest == b"\r";
            bytes = rest.strip_prefix(b"\r\n").unwrap_or(&rest[1..]);
            if self.end_line(line, on_event)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        self.check_room(bytes)?;
        self.line.extend_from_slice(bytes);
        Ok(Flow::More)
    }

    /// The stream is over: an event without its blank line, or even without a line end, is handed
    /// out too.
    ///
    /// # Errors
    /// [`TooLong`] when that event passes [`MAX_EVENT`].
    pub fn finish(
        &mut self,
        on_event: &mut dyn FnMut(Event<'_>) -> Flow,
    ) -> Result<Flow, TooLong> {
        if !self.line.is_empty() {
            self.end_line(b"", on_event)?;
        }
        Ok(self.dispatch(on_event))
    }

    fn end_line(
        &mut self,
        end: &[u8],
        on_event: &mut dyn FnMut(Event<'_>) -> Flow,
    ) -> Result<Flow, TooLong> {
        self.check_room(end)?;
        if self.line.is_empty() {
            return Ok(self.take_line(end, on_event));
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(end);
        let flow = self.take_line(&line, on_event);
        line.clear();
        self.line = line;
        Ok(flow)
    }

    fn take_line(&mut self, line: &[u8], on_event: &mut dyn FnMut(Event<'_>) -> Flow) -> Flow {
        let line = if self.started { line } else { line.strip_prefix(BOM).unwrap_or(line) };
        self.started = true;
        match split_field(line) {
            _ if line.is_empty() => return self.dispatch(on_event),
            (b"data", value) => self.add_data(value),
            (b"event", value) => self.name = String::from_utf8_lossy(value).into_owned(),
            // Some gateways drop a bare JSON error into the stream; no field begins like that.
            _ if line.starts_with(b"{") => self.add_data(line),
            _ => {}
        }
        Flow::More
    }

    fn add_data(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push('\n');
        }
        self.has_data = true;
        self.data.push_str(&String::from_utf8_lossy(value));
    }

    fn dispatch(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Flow) -> Flow {
        let flow = if self.has_data {
            on_event(Event { name: &self.name, data: &self.data })
        } else {
            Flow::More
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        flow
    }

    fn check_room(&self, more: &[u8]) -> Result<(), TooLong> {
        let size = self.line.len() + self.data.len() + more.len();
        if size > MAX_EVENT { Err(TooLong) } else { Ok(()) }
    }
}

/// A line's field name and value; a comment's name is empty.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr::memchr(b':', line) else { return (line, b"") };
    let value = &line[colon + 1..];
    (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests;
