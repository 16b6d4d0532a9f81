//! Compaction: old history gives way to a summary, so that work goes on in the same session.
//!
//! [`plan`] decides when and where to cut, [`summary`] writes what stands in the place of the old
//! messages; this driver makes the one model call and records the one event. Until that event is
//! recorded nothing has changed.

pub mod plan;
pub mod summary;

use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::client::Failure;
use crate::client::request::Message;
use crate::event::{Compaction, CompactionKind, Event, Trigger};
use crate::message::{FinishReason, Reply, Usage};
use crate::prompt;
use crate::session::log::LogError;
use crate::session::state::State;
use crate::turn::Tally;
use crate::turn::machine::{Input, Means};
use crate::turn::model_call::{self, Ask};
use crate::update::Update;
use plan::{Budget, Plan};

/// A compaction that leaves more than this part of the size has gained nothing, in percent.
const GAIN_PERCENT: u64 = 95;

/// Bytes around the summary's prompt in a request, with what may have to stand before it.
const PROMPT_FRAME: usize = 128;

/// Why a compaction changed nothing, in words for the user.
pub(crate) type Refusal = String;

/// Shortens the history within a turn.
pub(crate) async fn run(
    agent: &mut Agent,
    trigger: Trigger,
    means: Means,
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<Input, LogError> {
    let outcome = match means {
        Means::Summary => {
            agent.show(Update::Compacting(trigger));
            summarise(agent, Wish { trigger, focus: None, into: None }, tally, cancel).await?
        }
        Means::Cut => cut_outputs(agent, trigger)?,
        Means::CutAll => {
            let all = agent.session.state.history.len();
            mechanical(agent, all, trigger, CompactionKind::Cut)?
        }
        Means::Digest => digest(agent, trigger)?,
    };
    if cancel.is_cancelled() {
        return Ok(Input::Interrupted);
    }
    match outcome {
        Ok(_) => Ok(Input::Compacted),
        Err(refusal) => {
            // What is tried next says for itself whether it helped.
            if means == Means::Summary {
                agent.show(Update::Warning(format!("compaction changed nothing: {refusal}")));
            }
            Ok(Input::NotCompacted)
        }
    }
}

/// What the summary request is made of.
struct Draft {
    plan: Plan,
    prompt: Message,
    before: u64,
    replaced_bytes: usize,
}

/// What a summary is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    /// What set it off.
    pub trigger: Trigger,
    /// What the user wants it to be about.
    pub focus: Option<&'a str>,
    /// The window that the history must fit afterwards; none = that of the model in use.
    pub into: Option<u64>,
}

/// Asks the model for a summary and puts it in the place of the old messages.
pub(crate) async fn summarise(
    agent: &mut Agent,
    wish: Wish<'_>,
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<Result<Compaction, Refusal>, LogError> {
    let trigger = wish.trigger;
    let Some(draft) = draft(agent, wish) else {
        return Ok(Err("there is nothing that a summary could replace".to_owned()));
    };
    let ask = Ask::Summary { messages: draft.plan.messages, prompt: &draft.prompt };
    let reply = match model_call::call(agent, ask, tally, cancel).await {
        Ok(answer) => answer.reply,
        Err(Failure::Cancelled(_)) => return Ok(Err("it was interrupted".to_owned())),
        Err(Failure::Provider(error, _)) => {
            agent.learn_window(&error);
            return Ok(Err(format!("the model could not summarise: {error}")));
        }
    };
    match accept(&reply, &draft, &agent.session.state) {
        Ok(()) => {
            let kind = CompactionKind::Summary;
            let change = Change { kind, trigger, text: reply.content, usage: reply.usage };
            let recorded = record(agent, draft.plan, change)?;
            if recorded.is_err() {
                tally.wasted.add(&reply.usage.unwrap_or_default());
            }
            Ok(recorded)
        }
        Err(refusal) => {
            tally.wasted.add(&reply.usage.unwrap_or_default());
            Ok(Err(refusal))
        }
    }
}

fn draft(agent: &Agent, wish: Wish<'_>) -> Option<Draft> {
    let state = &agent.session.state;
    let tools_bytes = agent.envelope.tools.len();
    let text = prompt::compact(wish.focus);
    let budget = budget(agent, wish.trigger);
    let into = wish.into.unwrap_or(budget.window).min(budget.window);
    let plan = plan::plan(state, budget, into, text.len() + PROMPT_FRAME)?;
    let replaced = state.encoded().first(plan.messages);
    let replaced_bytes = replaced.len() - state.encoded().first(0).len();
    // Not even an empty summary would be shorter.
    if summary::message("", &state.requests, plan.to_seq).len() >= replaced_bytes {
        return None;
    }
    let before = state.size(tools_bytes);
    Some(Draft { plan, prompt: Message::User(text), before, replaced_bytes })
}

/// The room that a summary is planned for. Where the window is unknown, and where a user or a
/// provider asks in spite of it, the present size stands for it: this is too much, says who asks.
fn budget(agent: &Agent, trigger: Trigger) -> Budget {
    let tools_bytes = agent.envelope.tools.len();
    let assumed = agent.session.state.size(tools_bytes).saturating_mul(5) / 4;
    let assumed = Budget { window: assumed.saturating_add(1_000), tools_bytes };
    match agent.budget() {
        Some(known) if trigger == Trigger::Auto || known.window < assumed.window => known,
        Some(_) | None => assumed,
    }
}

/// A summary is accepted only if the model ended normally and said something that is shorter than
/// what it replaces.
fn accept(reply: &Reply, draft: &Draft, state: &State) -> Result<(), Refusal> {
    if reply.finish_reason == FinishReason::Length {
        return Err("the summary was cut by the output limit".to_owned());
    }
    if !matches!(reply.finish_reason, FinishReason::Stop | FinishReason::ToolCalls) {
        return Err("the model did not finish the summary".to_owned());
    }
    if reply.content.trim().is_empty() {
        return Err("the model sent an empty summary".to_owned());
    }
    let new = summary::message(&reply.content, &state.requests, draft.plan.to_seq).len();
    if new >= draft.replaced_bytes {
        return Err(format!(
            "the summary ({new} bytes) is not shorter than what it would replace ({} bytes); the \
             context stays at about {} tokens",
            draft.replaced_bytes, draft.before
        ));
    }
    Ok(())
}

/// Cuts long tool outputs in everything but the newest exchange.
pub(crate) fn cut_outputs(
    agent: &mut Agent,
    trigger: Trigger,
) -> Result<Result<Compaction, Refusal>, LogError> {
    let newest = newest_exchange(&agent.session.state);
    mechanical(agent, newest, trigger, CompactionKind::Cut)
}

/// Replaces everything by a digest.
pub(crate) fn digest(
    agent: &mut Agent,
    trigger: Trigger,
) -> Result<Result<Compaction, Refusal>, LogError> {
    let all = agent.session.state.history.len();
    mechanical(agent, all, trigger, CompactionKind::Digest)
}

/// The first message of the newest exchange.
fn newest_exchange(state: &State) -> usize {
    (0..state.history.len()).rev().find(|&i| state.is_boundary(i)).unwrap_or(0)
}

/// Shortens the first `messages` messages without a model.
fn mechanical(
    agent: &mut Agent,
    messages: usize,
    trigger: Trigger,
    kind: CompactionKind,
) -> Result<Result<Compaction, Refusal>, LogError> {
    let state = &agent.session.state;
    let Some(plan) = plan::plan_for(state, messages) else {
        return Ok(Err("there is nothing to shorten".to_owned()));
    };
    let text = match kind {
        CompactionKind::Digest => summary::digest(&state.history),
        CompactionKind::Cut | CompactionKind::Summary => String::new(),
    };
    record(agent, plan, Change { kind, trigger, text, usage: None })
}

struct Change {
    kind: CompactionKind,
    trigger: Trigger,
    text: String,
    usage: Option<Usage>,
}

/// True for what takes from the newest messages too. Nobody has refused them yet, so this must at
/// least let the turn go on.
fn is_lossy(kind: CompactionKind, plan: &Plan, state: &State) -> bool {
    kind != CompactionKind::Summary && plan.messages == state.history.len()
}

/// Records the compaction if it gains something.
fn record(
    agent: &mut Agent,
    plan: Plan,
    change: Change,
) -> Result<Result<Compaction, Refusal>, LogError> {
    let tools_bytes = agent.envelope.tools.len();
    let state = &agent.session.state;
    let mut event = Compaction {
        from_seq: plan.from_seq,
        to_seq: plan.to_seq,
        summary: change.text,
        tokens_before: state.size(tools_bytes),
        tokens_after: 0,
        trigger: change.trigger,
        kind: change.kind,
        usage: change.usage,
    };
    event.tokens_after = state.after(&event, tools_bytes);
    let (before, after) = (event.tokens_before, event.tokens_after);
    let by_estimate = state.estimated(tools_bytes);
    if after.saturating_mul(100) > by_estimate.saturating_mul(GAIN_PERCENT) {
        return Ok(Err("it would hardly make a difference".to_owned()));
    }
    let enough = agent.budget().is_none_or(|budget| after < budget.trigger());
    if !enough && event.trigger == Trigger::Auto && is_lossy(event.kind, &plan, state) {
        return Ok(Err("it would not be enough".to_owned()));
    }
    agent.session.record(Event::Compaction(event.clone()))?;
    agent.show(Update::Compacted { kind: event.kind, before, after });
    Ok(Ok(event))
}
