//! A response body to a reply: the one object that the HTTP code drives.
//!
//! It takes the body of any answer with status 200 and finds out by itself what it holds: a stream
//! of events, one JSON answer, an error in either, or a page that is no API at all. It does no
//! I/O and keeps no time.

use super::assemble::{Assembler, End, Failed};
use super::chunk::Chunk;
use super::classify::{self, ErrorKind, ProviderError};
use super::sse::{Event, Flow, MAX_EVENT, SseDecoder, TooLong};
use super::think::ThinkTags;
use crate::message::{Delta, Reply};

/// What about a provider's answers can't be seen in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where reasoning may stand inside the content.
    pub think_tags: ThinkTags,
    /// The address the answer came from, for error texts.
    pub url: String,
}

/// A response body that is being read.
#[derive(Debug)]
pub struct Decoder {
    id_prefix: String,
    url: String,
    form: Form,
    sse: SseDecoder,
    reading: Reading,
}

/// What the body is, by its first byte that is not white space.
#[derive(Debug)]
enum Form {
    Unknown,
    Events,
    /// Not events: kept whole until its end.
    Document(Vec<u8>),
}

/// Everything that an event changes.
#[derive(Debug)]
struct Reading {
    assembler: Assembler,
    end: Option<End>,
    /// Data that was no chunk, to show if nothing better comes.
    stray: Option<String>,
}

impl Decoder {
    /// A decoder for one response. Calls without a usable id get `id_prefix` and a number, so it
    /// must be unique in the session.
    pub fn new(id_prefix: &str, options: Options) -> Self {
        Self {
            id_prefix: id_prefix.to_owned(),
            url: options.url,
            form: Form::Unknown,
            sse: SseDecoder::default(),
            reading: Reading {
                assembler: Assembler::new(options.think_tags),
                end: None,
                stray: None,
            },
        }
    }

    /// Takes the next bytes of the body, cut anywhere, and tells what they bring. After
    /// [`Flow::Done`] (the end marker or an error) the rest of the body is of no interest.
    pub fn push(&mut self, bytes: &[u8], on_delta: &mut dyn FnMut(Delta)) -> Flow {
        if self.reading.end.is_some() {
            return Flow::Done;
        }
        if matches!(self.form, Form::Unknown) {
            self.form = form_of(bytes);
        }
        if let Form::Document(body) = &mut self.form {
            body.extend_from_slice(bytes);
            return if body.len() > MAX_EVENT { self.reading.too_long() } else { Flow::More };
        }
        let reading = &mut self.reading;
        let pushed = self.sse.push(bytes, &mut |event| reading.take(event, on_delta));
        pushed.unwrap_or_else(|TooLong| self.reading.too_long())
    }

    /// True once the provider said that the answer is over: a connection that breaks after this
    /// has lost nothing.
    pub fn is_finished(&self) -> bool {
        self.reading.assembler.has_finish() || self.reading.end.is_some()
    }

    /// The body is over: the reply, or why there is none. May tell last pieces.
    ///
    /// # Errors
    /// What the provider reported, or [`ErrorKind::Incomplete`] when the body ended too soon.
    pub fn finish(mut self, on_delta: &mut dyn FnMut(Delta)) -> Result<Reply, Box<Failed>> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            _ if self.reading.end.is_some() => {}
            Form::Document(body) => self.reading.read_document(&body, &self.url, on_delta),
            Form::Unknown | Form::Events => self.finish_events(on_delta),
        }
        let end = self.reading.end.unwrap_or(End::Bare);
        let stray = self.reading.stray;
        let finished = self.reading.assembler.finish(end, &self.id_prefix, on_delta);
        finished.map_err(|failed| with_stray(failed, stray))
    }

    /// The reading stopped for another reason (a broken connection, an idle limit, the user):
    /// that reason together with what had come.
    pub fn fail(self, error: ProviderError, on_delta: &mut dyn FnMut(Delta)) -> Box<Failed> {
        let end = End::Failed(error.clone());
        match self.reading.assembler.finish(end, &self.id_prefix, on_delta) {
            Ok(partial) => Box::new(Failed { error, partial }),
            Err(failed) => failed,
        }
    }

    fn finish_events(&mut self, on_delta: &mut dyn FnMut(Delta)) {
        let reading = &mut self.reading;
        let finished = self.sse.finish(&mut |event| reading.take_last(event, on_delta));
        if finished == Err(TooLong) {
            self.reading.too_long();
        }
    }
}

impl Reading {
    /// Takes an event.
    fn take(&mut self, event: Event<'_>, on_delta: &mut dyn FnMut(Delta)) -> Flow {
        let data = event.data.trim();
        if data.is_empty() {
            return Flow::More;
        }
        if data == "[DONE]" {
            self.end = Some(End::Marked);
            return Flow::Done;
        }
        let named_error = event.name == "error";
        if !data.starts_with('{') {
            return self.take_stray(data, named_error);
        }
        let mut spare = String::new();
        let (chunk, failed) = match Chunk::parse(data, &mut spare) {
            Ok(chunk) if named_error || chunk.is_error() => {
                (Some(chunk), Some(classify::classify_event(data)))
            }
            Ok(chunk) => (Some(chunk), None),
            Err(_) if named_error => (None, Some(classify::classify_event(data))),
            Err(error) => (None, Some(broken_chunk(data, &error))),
        };
        // Text beside an error came before it.
        let pushed = chunk.map_or(Ok(()), |chunk| self.assembler.push(chunk, on_delta));
        match failed.or(pushed.err()) {
            Some(error) => self.fail(error),
            None => Flow::More,
        }
    }

    /// Takes data that is no chunk: an error all the same, or a heartbeat of some kind.
    fn take_stray(&mut self, data: &str, named_error: bool) -> Flow {
        if named_error || classify::holds_error(data) {
            return self.fail(classify::classify_event(data));
        }
        self.stray = Some(classify::clean(data, 300));
        Flow::More
    }

    /// Takes the event at the end of the body, which may be cut: then it is as if it had not come.
    fn take_last(&mut self, event: Event<'_>, on_delta: &mut dyn FnMut(Delta)) -> Flow {
        let data = event.data.trim();
        let cut = data.starts_with(['{', '[']) && data != "[DONE]" && !is_json(data);
        if cut { Flow::More } else { self.take(event, on_delta) }
    }

    /// Takes a body that is no stream.
    fn read_document(&mut self, body: &[u8], url: &str, on_delta: &mut dyn FnMut(Delta)) {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{FEFF}').trim();
        let mut spare = String::new();
        let parsed = Chunk::parse(text, &mut spare);
        let answer = parsed.ok().filter(|chunk| !chunk.is_error() && !chunk.choices.is_empty());
        let end = match answer {
            Some(chunk) => match self.assembler.push(chunk, on_delta) {
                Ok(()) => End::Marked,
                Err(error) => End::Failed(error),
            },
            None => End::Failed(classify::classify_document(body, url)),
        };
        self.end = Some(end);
    }

    fn fail(&mut self, error: ProviderError) -> Flow {
        self.end = Some(End::Failed(error));
        Flow::Done
    }

    fn too_long(&mut self) -> Flow {
        let limit = MAX_EVENT / (1024 * 1024);
        let why = format!("the provider sent more than {limit} MiB in one piece");
        self.fail(ProviderError::new(ErrorKind::Server, why))
    }
}

/// Events never begin with these bytes: JSON, a page, or compressed data do.
fn form_of(bytes: &[u8]) -> Form {
    let filler = |byte: &u8| byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(byte);
    match bytes.iter().find(|byte| !filler(byte)) {
        None => Form::Unknown,
        Some(b'{' | b'[' | b'<' | 0x1F) => Form::Document(Vec::new()),
        Some(_) => Form::Events,
    }
}

fn is_json(data: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}

fn broken_chunk(data: &str, error: &serde_json::Error) -> ProviderError {
    let extract = classify::clean(data, 200);
    let why = format!("the stream held a chunk that is not valid JSON ({error}): {extract}");
    ProviderError::new(ErrorKind::Server, why)
}

/// An answer that never came may be explained by what came instead.
fn with_stray(mut failed: Box<Failed>, stray: Option<String>) -> Box<Failed> {
    if let (ErrorKind::Incomplete, Some(stray)) = (failed.error.kind, stray) {
        failed.error.message.push_str("; it held: ");
        failed.error.message.push_str(&stray);
    }
    failed
}

#[cfg(test)]
mod tests;
