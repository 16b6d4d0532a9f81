//! One request with its retries: the same bytes again, after a wait that is shown and can be
//! interrupted.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::Tally;
use crate::agent::Agent;
use crate::client::retry::{self, Next};
use crate::client::textcalls::Hold;
use crate::client::{Failure, Request};
use crate::message::{Delta, Reply};
use crate::session::clock;
use crate::update::Update;

/// Who sees a reply while it streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The user: it is the next step of the turn.
    User,
    /// Nobody: it is a summary for the model's own use.
    Nobody,
}

/// A whole reply.
pub(crate) struct Answer {
    /// What the model said.
    pub reply: Reply,
    /// The end of its text that was not shown, because it looks like a call.
    pub held: String,
}

/// Asks the model until there is a reply, the user interrupts, or trying again makes no sense.
pub(crate) async fn call(
    agent: &mut Agent,
    (request, audience): (Request, Audience),
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<Answer, Failure> {
    let mut attempt = 0;
    loop {
        let (result, shown) = attempt_once(agent, (&request, audience), tally, cancel).await;
        let (mut error, partial) = match result {
            Ok(Answer { reply, held }) => return Ok(Answer { reply: priced(agent, reply), held }),
            Err(failure) => match *failure {
                Failure::Provider(error, partial) => (error, priced(agent, partial)),
                cancelled @ Failure::Cancelled(_) => return Err(cancelled),
            },
        };
        agent.options.masks.apply_to(&mut error.message);
        if shown {
            agent.show(Update::ReplyDiscarded);
        }
        match retry::next(&error, attempt, agent.options.retry, clock::random()) {
            Next::Wait(wait) => {
                tally.wasted.add(&partial.usage.unwrap_or_default());
                attempt += 1;
                let of = agent.options.retry.max_attempts;
                agent.show(Update::Retrying { reason: error.to_string(), wait, attempt, of });
                if interrupted_within(wait, cancel).await {
                    return Err(Failure::Cancelled(Reply::default()));
                }
            }
            Next::GiveUp => return Err(Failure::Provider(error, partial)),
            Next::TooLong(wait) => {
                error.message = format!("{} (it asks to wait {})", error.message, long(wait));
                return Err(Failure::Provider(error, partial));
            }
        }
    }
}

fn priced(agent: &Agent, mut reply: Reply) -> Reply {
    reply.usage = reply.usage.map(|usage| agent.priced(usage));
    reply
}

/// One attempt, and whether anything of it was shown.
async fn attempt_once(
    agent: &mut Agent,
    (request, audience): (&Request, Audience),
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> (Result<Answer, Box<Failure>>, bool) {
    if audience == Audience::User {
        agent.show(Update::Waiting);
    }
    let began = Instant::now();
    let mut shown = false;
    let updates = agent.updates.clone();
    let mut hold = Hold::default();
    let mut on_delta = |delta: Delta| {
        if audience == Audience::Nobody {
            return;
        }
        shown = true;
        // A screen that is gone is no reason to stop working.
        let _ = updates.send(match delta {
            Delta::Content(text) => match hold.push(&text) {
                text if text.is_empty() => return,
                text => Update::Text(text),
            },
            Delta::Reasoning(text) => Update::Reasoning(text),
            Delta::ToolCall(name) => Update::ToolCallComing(name),
        });
    };
    let result = agent.mind.model.complete(request.clone(), &mut on_delta, cancel).await;
    tally.api += began.elapsed();
    let held = hold.finish();
    if let Err(failure) = &result
        && matches!(**failure, Failure::Cancelled(_))
        && !held.is_empty()
    {
        agent.show(Update::Text(held.clone()));
    }
    (result.map(|reply| Answer { reply, held }), shown)
}

async fn interrupted_within(wait: Duration, cancel: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(wait) => false,
        () = cancel.cancelled() => true,
    }
}

fn long(wait: Duration) -> String {
    let seconds = wait.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}
