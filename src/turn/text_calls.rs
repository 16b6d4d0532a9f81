//! Calls that the model wrote as text: taken over as calls, or kept from passing for an answer.

use crate::agent::Agent;
use crate::client::textcalls::{self, Found};
use crate::message::{FinishReason, Reply};
use crate::update::Update;

/// Looks into a finished reply without calls. Whole calls become calls of the reply; `held`, what the
/// screen has not been shown of the text, is shown if it is an answer after all. True when there is a
/// call that cannot be run.
pub(super) fn take_over(agent: &Agent, reply: &mut Reply, held: String, id_prefix: &str) -> bool {
    let withheld = reply.finish_reason == FinishReason::ContentFilter;
    let found = if withheld || !reply.tool_calls.is_empty() {
        Found::Nothing
    } else {
        textcalls::find(&reply.content, &agent.registry.names())
    };
    let broken = found == Found::Broken;
    match found {
        Found::Calls { rest, calls } => {
            textcalls::take_over(reply, rest, calls, id_prefix);
            agent.show(Update::Note(note(reply)));
        }
        Found::Nothing | Found::Broken if held.is_empty() => {}
        Found::Nothing | Found::Broken => agent.show(Update::Text(held)),
    }
    broken
}

fn note(reply: &Reply) -> String {
    let names: Vec<&str> = reply.tool_calls.iter().map(|call| call.name.as_str()).collect();
    format!("the model wrote its call as text; it is taken as a call: {}", names.join(", "))
}
