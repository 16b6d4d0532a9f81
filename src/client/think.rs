//! Reasoning that comes inside the content, between `<think>` and `</think>`.
//!
//! A tag counts only at the very start of the content; later ones, and any in code, are text. A
//! tag may be cut anywhere, so what could become one is held back. White space next to a tag is
//! dropped. The result does not depend on how the text was cut, and each character is looked at
//! a bounded number of times.

/// Where think tags are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkTags {
    /// Nowhere: all content is text.
    #[default]
    Off,
    /// An opening tag at the start of the content begins reasoning.
    Start,
    /// The prompt template has already opened the tag: content is reasoning until a closing one.
    Opened,
}

const TAGS: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
];

/// What a piece of content is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Thinking(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but white space yet; without an opening tag it goes on as this.
    Start { opened: bool },
    /// Inside; ends with this tag.
    Thinking { close: &'static str, begun: bool },
    /// Behind the closing tag, before the first character of the text.
    After,
    Text,
}

/// Splits content into reasoning and text.
#[derive(Debug)]
pub(super) struct Splitter {
    state: State,
    /// White space that is dropped if a tag follows it.
    space: String,
    /// What may be the beginning of a tag.
    held: String,
}

impl Splitter {
    pub(super) fn new(tags: ThinkTags) -> Self {
        let state = match tags {
            ThinkTags::Off => State::Text,
            ThinkTags::Start => State::Start { opened: false },
            ThinkTags::Opened => State::Start { opened: true },
        };
        Self { state, space: String::new(), held: String::new() }
    }

    /// True when whatever comes is plain text.
    pub(super) fn passes(&self) -> bool {
        self.state == State::Text
    }

    /// The parts that `piece` makes certain.
    pub(super) fn push(&mut self, piece: &str, out: &mut Vec<Part>) {
        let mut work = std::mem::take(&mut self.held);
        work.push_str(piece);
        while let Some(rest) = self.step(&work, out) {
            work = rest;
        }
    }

    /// The content is over: what was held back is what it looks like.
    pub(super) fn finish(&mut self, out: &mut Vec<Part>) {
        let space = std::mem::take(&mut self.space);
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Start { opened: false } if !(space.is_empty() && held.is_empty()) => {
                out.push(Part::Text(space + &held));
            }
            State::Start { opened: true } | State::Thinking { .. } if !held.is_empty() => {
                let begun = matches!(self.state, State::Thinking { begun: true, .. });
                out.push(Part::Thinking(if begun { space + &held } else { held }));
            }
            _ => {}
        }
        self.state = State::Text;
    }

    /// Works on the text as far as the state allows; the rest belongs to the next state.
    fn step(&mut self, work: &str, out: &mut Vec<Part>) -> Option<String> {
        if work.is_empty() {
            return None;
        }
        match self.state {
            State::Start { opened } => self.start(work, opened, out),
            State::Thinking { close, begun } => self.think(work, close, begun, out),
            State::After => {
                let text = work.trim_start();
                if !text.is_empty() {
                    self.state = State::Text;
                }
                Some(text.to_owned())
            }
            State::Text => {
                out.push(Part::Text(work.to_owned()));
                None
            }
        }
    }

    fn start(&mut self, work: &str, opened: bool, out: &mut Vec<Part>) -> Option<String> {
        let text = work.trim_start();
        let (space, _) = work.split_at_checked(work.len() - text.len())?;
        self.space.push_str(space);
        for (open, close) in TAGS {
            if let Some(rest) = text.strip_prefix(open) {
                self.space.clear();
                self.state = State::Thinking { close, begun: false };
                return Some(rest.to_owned());
            }
        }
        if TAGS.iter().any(|(open, _)| open.starts_with(text)) {
            text.clone_into(&mut self.held);
            return None;
        }
        let space = std::mem::take(&mut self.space);
        if opened {
            self.state = State::Thinking { close: TAGS[0].1, begun: false };
            return Some(text.to_owned());
        }
        self.state = State::Text;
        out.push(Part::Text(space + text));
        None
    }

    fn think(
        &mut self,
        work: &str,
        close: &'static str,
        begun: bool,
        out: &mut Vec<Part>,
    ) -> Option<String> {
        let (inside, rest) = match work.split_once(close) {
            Some((inside, rest)) => (inside, Some(rest.to_owned())),
            None => work.split_at_checked(work.len() - partial(work, close)).map(|(inside, held)| {
                held.clone_into(&mut self.held);
                (inside, None)
            })?,
        };
        let begun = self.emit_thinking(inside, begun, out);
        self.state = State::Thinking { close, begun };
        if rest.is_some() {
            self.space.clear();
            self.state = State::After;
        }
        rest
    }

    /// Hands out reasoning without the white space at its ends; true once there was some.
    fn emit_thinking(&mut self, inside: &str, begun: bool, out: &mut Vec<Part>) -> bool {
        let inside = if begun { inside } else { inside.trim_start() };
        let text = inside.trim_end();
        if !text.is_empty() {
            let mut part = std::mem::take(&mut self.space);
            part.push_str(text);
            out.push(Part::Thinking(part));
        }
        self.space.push_str(inside.get(text.len()..).unwrap_or_default());
        begun || !text.is_empty()
    }
}

/// How many bytes at the end of `text` are a beginning of `tag`.
fn partial(text: &str, tag: &str) -> usize {
    (1..tag.len())
        .rev()
        .find(|length| tag.get(..*length).is_some_and(|start| text.ends_with(start)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
