//! Tool calls, put together from their pieces.
//!
//! Providers disagree on what names a call: an id, an index, both, or nothing. A piece belongs to
//! the call with its id, else to the newest at its index, else to the newest of all; a piece that
//! can't be part of that one opens another. Calls without an id of their own get a made-up one.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::chunk::{Call as WireCall, Function};
use super::details;
use super::objects::{Objects, Settled};
use super::surrogate::{self, Joiner};
use crate::message::{Delta, ToolCall};

/// The most calls in one reply; what goes beyond is refused as a runaway.
pub(super) const MAX_CALLS: usize = 512;

/// The calls of a reply so far, in the order they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The one that grew last: where a cut hits.
    last: usize,
}

#[derive(Debug, Default)]
struct Call {
    id: String,
    choice: i64,
    index: Option<i64>,
    name: String,
    arguments: Objects,
    joiner: Joiner,
    extra_content: Option<Value>,
    /// The screen knows of it.
    announced: bool,
}

/// A piece of a call, in plain words.
struct Piece<'a> {
    id: &'a str,
    choice: i64,
    index: Option<i64>,
    name: &'a str,
    arguments: &'a str,
    extra_content: Value,
    rewritten: bool,
}

/// Where a piece came from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Origin {
    pub(super) choice: i64,
    /// Its strings may hold parked surrogate halves.
    pub(super) rewritten: bool,
}

impl Calls {
    /// True when there are more than a model in its senses would make.
    pub(super) fn too_many(&self) -> bool {
        self.calls.len() > MAX_CALLS
    }

    /// Adds a piece; the name of a call is told once its arguments begin.
    pub(super) fn push(
        &mut self,
        mut wire: WireCall<'_>,
        origin: Origin,
        on_delta: &mut dyn FnMut(Delta),
    ) {
        let Function { name, arguments } = wire.function.take().unwrap_or_default();
        if origin.rewritten {
            details::resolve(&mut wire.extra_content);
        }
        let piece = Piece {
            id: known(&wire.id),
            choice: origin.choice,
            index: wire.index,
            name: name.trim(),
            arguments: &arguments.0,
            extra_content: wire.extra_content,
            rewritten: origin.rewritten,
        };
        if piece.is_empty() {
            return;
        }
        let at = self.find(&piece).unwrap_or_else(|| self.open(&piece, on_delta));
        self.last = at;
        if let Some(call) = self.calls.get_mut(at) {
            call.grow(piece, on_delta);
        }
    }

    /// The call that the piece goes on with; none when it begins one.
    fn find(&self, piece: &Piece<'_>) -> Option<usize> {
        let newest = |test: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(test);
        let here = |call: &Call| call.choice == piece.choice;
        if !piece.id.is_empty() {
            let same = newest(&|call| call.id == piece.id && !differ(call.index, piece.index));
            let late = || newest(&|call| here(call) && call.index == piece.index).filter(|at| {
                self.calls.get(*at).is_some_and(|call| call.awaits_id(piece))
            });
            let at = same.or_else(late)?;
            return self.calls.get(at).is_some_and(|call| !call.replaced_by(piece)).then_some(at);
        }
        let at = match piece.index {
            Some(_) => newest(&|call| here(call) && call.index == piece.index)
                .or_else(|| newest(&|call| here(call) && call.index.is_none())),
            None => self.calls.len().checked_sub(1),
        }?;
        self.calls.get(at).is_some_and(|call| !call.followed_by(piece)).then_some(at)
    }

    fn open(&mut self, piece: &Piece<'_>, on_delta: &mut dyn FnMut(Delta)) -> usize {
        if let Some(call) = self.calls.last_mut() {
            call.announce(on_delta);
        }
        let call = Call { choice: piece.choice, index: piece.index, ..Call::default() };
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// The finished calls, each with an id of its own. `cut` says that the answer ended before its
    /// time, so that the call which grew last may lack its end.
    pub(super) fn finish(
        self,
        id_prefix: &str,
        cut: bool,
        on_delta: &mut dyn FnMut(Delta),
    ) -> Vec<ToolCall> {
        let mut ids = Ids { prefix: clean_prefix(id_prefix), made: 0, used: BTreeSet::new() };
        let mut done = Vec::with_capacity(self.calls.len());
        for (at, mut call) in self.calls.into_iter().enumerate() {
            call.announce(on_delta);
            call.settle(cut && at == self.last, &mut ids, &mut done);
        }
        done
    }
}

impl Piece<'_> {
    fn is_empty(&self) -> bool {
        self.id.is_empty()
            && self.name.is_empty()
            && self.arguments.is_empty()
            && self.extra_content.is_null()
    }
}

impl Call {
    /// A named piece with arguments behind complete ones is another call.
    fn followed_by(&self, piece: &Piece<'_>) -> bool {
        !piece.name.is_empty() && !piece.arguments.trim().is_empty() && self.arguments.is_complete()
    }

    /// The same, where the id says it is the same call: only another name proves it is not.
    fn replaced_by(&self, piece: &Piece<'_>) -> bool {
        self.followed_by(piece) && piece.name != self.name
    }

    /// The piece brings the id that the call began without.
    fn awaits_id(&self, piece: &Piece<'_>) -> bool {
        let fits = piece.name.is_empty()
            || self.name.is_empty()
            || (piece.index.is_some() && piece.name == self.name);
        self.id.is_empty() && fits && !self.followed_by(piece)
    }

    fn grow(&mut self, piece: Piece<'_>, on_delta: &mut dyn FnMut(Delta)) {
        if self.id.is_empty() {
            piece.id.clone_into(&mut self.id);
        }
        // Names come in fragments, or again with every piece.
        if self.arguments.is_blank() && self.name != piece.name {
            self.name.push_str(piece.name);
        }
        if !piece.extra_content.is_null() {
            self.extra_content = Some(piece.extra_content);
        }
        let arguments = self.joiner.join(piece.arguments, piece.rewritten);
        if arguments.is_empty() || (arguments == "null" && self.arguments.is_blank()) {
            return;
        }
        self.arguments.push(&arguments);
        self.announce(on_delta);
    }

    fn announce(&mut self, on_delta: &mut dyn FnMut(Delta)) {
        if !self.announced && !self.name.is_empty() {
            self.announced = true;
            on_delta(Delta::ToolCall(self.name.clone()));
        }
    }

    fn settle(mut self, cut: bool, ids: &mut Ids, done: &mut Vec<ToolCall>) {
        self.arguments.push(self.joiner.finish());
        let name = surrogate::resolve(&self.name);
        let all = self.arguments.settle();
        let last = all.len().saturating_sub(1);
        for (at, Settled { text, cut: inside, blank }) in all.into_iter().enumerate() {
            let lacks_end = cut && at == last && (blank || !is_object(&text));
            done.push(ToolCall {
                id: ids.take(&std::mem::take(&mut self.id)),
                name: name.clone(),
                arguments: text,
                extra_content: self.extra_content.take(),
                incomplete: inside || lacks_end,
            });
        }
    }
}

/// True for the text of a JSON object.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// An id as the provider means it: several write a missing one as a word.
fn known(id: &str) -> &str {
    let id = id.trim();
    if matches!(id, "null" | "None" | "undefined") { "" } else { id }
}

fn differ(one: Option<i64>, other: Option<i64>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// Ids that are in use, and a source of new ones.
struct Ids {
    prefix: String,
    made: usize,
    used: BTreeSet<String>,
}

impl Ids {
    /// `wanted` where it is one and free, else a made-up id.
    fn take(&mut self, wanted: &str) -> String {
        let mut id = wanted.to_owned();
        while id.is_empty() || self.used.contains(&id) {
            self.made += 1;
            id = format!("{}{}", self.prefix, self.made);
        }
        self.used.insert(id.clone());
        id
    }
}

/// A prefix that keeps ids within `^[a-zA-Z0-9_-]{1,40}$`.
fn clean_prefix(prefix: &str) -> String {
    let safe = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    prefix.chars().filter(safe).take(30).collect()
}
