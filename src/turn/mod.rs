//! The turn driver: asks the machine what is next, does it, and records what came of it.
//!
//! One turn is a loop over [`machine::Step`]. The driver holds no rules of its own: what ends a
//! turn stands in [`machine`], which calls run together in [`schedule`], what may run in
//! [`crate::policy`].

mod consent;
pub mod machine;
pub(crate) mod model_call;
pub mod repeat;
pub mod schedule;
mod text_calls;
mod tool_calls;

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Sent};
use crate::client::Failure;
use crate::client::classify::ProviderError;
use crate::compact;
use crate::event::{AssistantMessage, Author, Ending, Event, TurnFinished, UserMessage};
use crate::message::{Reply, Usage};
use crate::session::log::LogError;
use crate::update::{TurnSummary, Update};
use machine::{Fill, Finish, Input, Machine, Step};
use model_call::{Answer, Ask};

/// What a turn adds up besides its events.
#[derive(Default)]
pub(crate) struct Tally {
    /// Tokens of attempts whose reply did not enter the history.
    pub wasted: Usage,
    /// Time spent waiting for the model.
    pub api: Duration,
    /// An action was denied.
    pub denied: bool,
    /// The answer so far; a continued answer has several parts.
    answer: String,
}

/// Runs one turn to its end. An error means that its first event could not be recorded: nothing
/// has happened.
pub(crate) async fn run(
    agent: &mut Agent,
    prompt: &str,
    cancel: &CancellationToken,
) -> Result<TurnSummary, LogError> {
    let began = Instant::now();
    let turn = begin(agent, prompt)?;
    let mut machine = Machine::new(agent.options.max_steps, agent.options.max_repeats);
    let mut tally = Tally::default();
    let mut input = Input::Started;
    let finish = loop {
        if cancel.is_cancelled() {
            input = Input::Interrupted;
        }
        agent.take_window();
        let step = machine.next(input, fill(agent));
        let result = match step {
            Step::Done(finish) => break finish,
            Step::CallModel => call_model(agent, &mut tally, cancel).await,
            Step::RunTools => tool_calls::run(agent, &mut tally, cancel).await,
            Step::Tell(text) => tell(agent, text),
            Step::Compact(trigger, means) => {
                compact::run(agent, trigger, means, &mut tally, cancel).await
            }
        };
        agent.tell_notices();
        input = result.unwrap_or_else(|error| Input::LogFailed(log_failed(&error)));
    };
    Ok(end(agent, turn, finish, tally, began))
}

fn begin(agent: &mut Agent, prompt: &str) -> Result<u32, LogError> {
    agent.session.flush()?;
    agent.refresh_system_prompt()?;
    let turn = agent.session.state.turn.saturating_add(1);
    let prompt = agent.options.masks.apply(prompt).into_owned();
    let content = prompt.clone();
    agent.session.propose(Event::UserMessage(UserMessage {
        turn,
        content,
        author: Author::User,
    }))?;
    agent.show(Update::TurnStarted { turn, prompt });
    agent.look_for_repositories();
    Ok(turn)
}

fn tell(agent: &mut Agent, text: &str) -> Result<Input, LogError> {
    let turn = agent.session.state.turn;
    let content = text.to_owned();
    agent.session.record(Event::UserMessage(UserMessage { turn, content, author: Author::Xsh }))?;
    Ok(Input::Told)
}

fn fill(agent: &Agent) -> Fill {
    let size = agent.session.state.size(agent.envelope.tools.len());
    match agent.budget() {
        Some(budget) => Fill {
            due: budget.is_due(&agent.session.state),
            full: budget.is_full(&agent.session.state),
            size,
            window: budget.window,
        },
        None => Fill { size, ..Fill::default() },
    }
}

async fn call_model(
    agent: &mut Agent,
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<Input, LogError> {
    let state = &agent.session.state;
    let tokens = state.size(agent.envelope.tools.len());
    let sent = Sent { tokens, measured: state.is_measured() };
    let estimate = tokens.max(state.estimated(agent.envelope.tools.len()));
    let id_prefix = Ask::Step.id_prefix(agent);
    match model_call::call(agent, Ask::Step, tally, cancel).await {
        Ok(Answer { mut reply, held }) => {
            agent.warn_if_server_cuts(sent, reply.usage);
            if !reply.tool_calls.is_empty() {
                agent.ask_window();
            }
            if let Some(error) = ProviderError::of_full_window(&reply, agent.mind.window.tokens) {
                tally.wasted.add(&reply.usage.unwrap_or_default());
                return Ok(Input::Failed(error));
            }
            if text_calls::take_over(agent, &mut reply, held, &id_prefix) {
                tally.answer.clear();
                record_message(agent, reply, false)?;
                return Ok(Input::Miswritten);
            }
            record_reply(agent, reply, tally)
        }
        Err(Failure::Cancelled(partial)) => record_partial(agent, partial, tally),
        Err(Failure::Provider(error, partial)) => {
            tally.wasted.add(&partial.usage.unwrap_or_default());
            agent.learn_window(&error);
            Ok(Input::Failed(error.with_size(estimate, agent.mind.window.tokens)))
        }
    }
}

fn record_reply(agent: &mut Agent, reply: Reply, tally: &mut Tally) -> Result<Input, LogError> {
    if reply.is_empty() {
        tally.wasted.add(&reply.usage.unwrap_or_default());
        return Ok(Input::Replied(reply));
    }
    if reply.tool_calls.is_empty() {
        tally.answer.push_str(&reply.content);
    } else {
        tally.answer.clear();
    }
    record_message(agent, reply.clone(), false)?;
    Ok(Input::Replied(reply))
}

/// Keeps what had arrived when the user interrupted: text, never calls.
fn record_partial(
    agent: &mut Agent,
    mut partial: Reply,
    tally: &mut Tally,
) -> Result<Input, LogError> {
    partial.tool_calls.clear();
    if !partial.content.trim().is_empty() {
        tally.answer.push_str(&partial.content);
        record_message(agent, partial, true)?;
    }
    Ok(Input::Interrupted)
}

fn record_message(agent: &mut Agent, reply: Reply, partial: bool) -> Result<(), LogError> {
    let state = &agent.session.state;
    let message = AssistantMessage {
        turn: state.turn,
        step: state.step.saturating_add(1),
        provider: agent.mind.provider.clone(),
        model: agent.mind.name.clone(),
        reply,
        partial,
    };
    agent.session.record(Event::AssistantMessage(message.clone()))?;
    agent.show(Update::Replied(message));
    Ok(())
}

/// Records the ending and tells it. A log that cannot be written does not keep a turn from ending,
/// but it makes of it a failed one.
fn end(agent: &mut Agent, turn: u32, finish: Finish, tally: Tally, began: Instant) -> TurnSummary {
    agent.take_window();
    let Finish { ending, detail, .. } = &finish;
    let (ending, detail) = (*ending, detail.clone());
    let answered = tool_calls::answer_rest(agent);
    let state = &agent.session.state;
    let mut usage = state.turn_usage;
    usage.add(&tally.wasted);
    let steps = state.step;
    let finished = TurnFinished { turn, ending, steps, usage, detail };
    let recorded = agent.session.record(Event::TurnFinished(finished));
    let saved = answered.and(recorded).and_then(|_| agent.session.sync());
    agent.tell_notices();
    let Finish { ending, detail, help } = match saved {
        Ok(()) => finish,
        Err(error) => unsaved(agent, finish, log_failed(&error)),
    };
    let summary = TurnSummary {
        turn,
        ending,
        detail,
        help,
        steps,
        usage,
        context: agent.session.state.size(agent.envelope.tools.len()),
        window: agent.mind.window.tokens,
        assumed: agent.mind.assumed_window(),
        duration: began.elapsed(),
        api_duration: tally.api,
        jobs: agent.jobs.running().len(),
        denied: tally.denied,
        answer: tally.answer,
    };
    agent.show(Update::TurnFinished(summary.clone()));
    summary
}

/// The ending of a turn that could not be saved: a failure, whatever it was before.
fn unsaved(agent: &Agent, finish: Finish, why: String) -> Finish {
    if finish.ending != Ending::Error {
        return machine::log_failure(why);
    }
    if finish.detail != why {
        agent.show(Update::Warning(why));
    }
    finish
}

pub(crate) fn log_failed(error: &LogError) -> String {
    format!("the session log cannot be written: {error}")
}

#[cfg(test)]
mod tests;
