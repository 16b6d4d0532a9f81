//! One request with its retries: the same bytes again, after a wait that is shown and can be
//! interrupted; or changed bytes at once, where the provider refuses something optional.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::Tally;
use crate::agent::Agent;
use crate::brief::brief;
use crate::client::classify::ProviderError;
use crate::client::negotiate::{self, negotiate};
use crate::client::request::{Kind, Message};
use crate::client::retry::{self, Next};
use crate::client::textcalls::Hold;
use crate::client::{Failure, Request};
use crate::mask::{Masks, Stream};
use crate::message::{Delta, Reply};
use crate::session::clock;
use crate::update::Update;

/// What the model is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Ask<'a> {
    /// The next step of the turn; the user sees it stream.
    Step,
    /// A summary for the model's own use: the prompt after the first so many messages.
    Summary { messages: usize, prompt: &'a Message },
}

impl Ask<'_> {
    /// Where ids for calls without one begin.
    pub(crate) fn id_prefix(self, agent: &Agent) -> String {
        let state = &agent.session.state;
        match self {
            Self::Step => format!("call_{}_{}_", state.turn, state.step.saturating_add(1)),
            Self::Summary { .. } => "summary_".to_owned(),
        }
    }

    fn request(self, agent: &Agent) -> Request {
        let encoded = agent.session.state.encoded();
        let body = match self {
            Self::Step => agent.envelope.body(encoded.all(), Kind::Step),
            Self::Summary { messages, prompt } => {
                let messages = encoded.first_and(messages, prompt, &agent.profile);
                agent.envelope.body(&messages, Kind::Summary)
            }
        };
        Request { body: body.into(), id_prefix: self.id_prefix(agent), path: agent.profile.path() }
    }
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
    ask: Ask<'_>,
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<Answer, Failure> {
    let mut request = ask.request(agent);
    let mut attempt = 0;
    let mut changes = Changes::default();
    loop {
        let (result, shown) = attempt_once(agent, (&request, ask), tally, cancel).await;
        let (mut error, partial) = match result {
            Ok(Answer { reply, held }) => {
                agent.keep_changes();
                return Ok(Answer { reply: priced(agent, reply), held });
            }
            Err(failure) => match *failure {
                Failure::Provider(error, partial) => (error, priced(agent, partial)),
                cancelled @ Failure::Cancelled(_) => return Err(cancelled),
            },
        };
        agent.options.masks.apply_to(&mut error.message);
        if shown {
            agent.show(Update::ReplyDiscarded);
        }
        if let Some(changed) = changes.next(agent, ask, &request, &error) {
            request = changed;
            continue;
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
            Next::GiveUp => {
                agent.drop_changes(&error);
                return Err(Failure::Provider(changes.most_telling(error), partial));
            }
            Next::TooLong(wait) => {
                error.message = format!("{} (it asks to wait {})", error.message, long(wait));
                return Err(Failure::Provider(error, partial));
            }
        }
    }
}

/// What was changed about a request because it was refused.
#[derive(Default)]
struct Changes {
    made: u32,
    /// What the address that the user gave answered, while another one is tried.
    at_first_address: Option<ProviderError>,
}

impl Changes {
    /// The request with the change that the refusal asks for; none where there is no such change, or
    /// where it makes no difference.
    fn next(
        &mut self,
        agent: &mut Agent,
        ask: Ask<'_>,
        refused: &Request,
        error: &ProviderError,
    ) -> Option<Request> {
        if self.made >= negotiate::MOST {
            return None;
        }
        let change = negotiate(error, &agent.profile, &agent.mind.base_url)?;
        agent.try_change(change);
        let request = ask.request(agent);
        if request.body == refused.body && request.path == refused.path {
            agent.untry_change();
            return None;
        }
        self.made += 1;
        if request.path != refused.path {
            self.at_first_address = Some(error.clone());
        }
        let cache =
            if agent.lost_cache(refused) { "; the provider's cache starts anew" } else { "" };
        let text = format!("{}: {}{cache}", excerpt(error), change.describe());
        agent.show(Update::Note(text));
        Some(request)
    }

    /// Where the other address is no API either, what the first one said is of more use.
    fn most_telling(&mut self, error: ProviderError) -> ProviderError {
        let same = |first: &ProviderError| first.kind == error.kind;
        self.at_first_address.take().filter(same).unwrap_or(error)
    }
}

/// The beginning of an error's text, for a note.
fn excerpt(error: &ProviderError) -> String {
    brief(&error.to_string(), 120).into_owned()
}

fn priced(agent: &mut Agent, mut reply: Reply) -> Reply {
    agent.take_window();
    reply.usage = reply.usage.map(|usage| agent.priced(usage));
    mask(&agent.options.masks, &mut reply);
    reply
}

/// A provider may say the key that it was sent.
fn mask(masks: &Masks, reply: &mut Reply) {
    let texts =
        [&mut reply.content, &mut reply.reasoning].into_iter().chain(&mut reply.raw_content);
    let arguments = reply.tool_calls.iter_mut().map(|call| &mut call.arguments);
    texts.chain(arguments).for_each(|text| masks.apply_to(text));
}

/// One attempt, and whether anything of it was shown.
async fn attempt_once(
    agent: &mut Agent,
    (request, ask): (&Request, Ask<'_>),
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> (Result<Answer, Box<Failure>>, bool) {
    let visible = matches!(ask, Ask::Step);
    if visible {
        agent.show(Update::Waiting);
    }
    let began = Instant::now();
    let mut shown = false;
    let updates = agent.updates.clone();
    let mut hold = Hold::default();
    let mut content = Stream::new(agent.options.masks.clone());
    let mut reasoning = content.clone();
    let mut on_delta = |delta: Delta| {
        if !visible {
            return;
        }
        shown |= !matches!(delta, Delta::Note(_));
        // A screen that is gone is no reason to stop working.
        let _ = updates.send(match delta {
            Delta::Content(text) => match hold.push(&content.push_text(&text)) {
                text if text.is_empty() => return,
                text => Update::Text(text),
            },
            Delta::Reasoning(text) => Update::Reasoning(reasoning.push_text(&text)),
            Delta::ToolCall(name) => Update::ToolCallComing(name),
            Delta::Note(text) => Update::Note(text),
        });
    };
    let result = agent.mind.model.complete(request.clone(), &mut on_delta, cancel).await;
    tally.api += began.elapsed();
    let rest = hold.push(&content.finish_text());
    if visible && !rest.is_empty() {
        agent.show(Update::Text(rest));
    }
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
