//! What comes next in a turn. Pure: facts go in as [`Input`], the next [`Step`] comes out.
//!
//! All limits that end a turn live here: steps, repeats, empty and cut answers, compaction without
//! gain, overflow. Waits and retries of one request are not its business (see `client::retry`).

use super::repeat::{Repeats, Rut, Verdict};
use crate::client::classify::{ErrorKind, ProviderError};
use crate::event::{Ending, Trigger};
use crate::message::{FinishReason, Reply};

/// How often a cut answer is continued before the turn gives up.
const MAX_CONTINUATIONS: u32 = 2;
/// After so many summaries that came to nothing none is asked for in the rest of the turn.
const MAX_FAILED_SUMMARIES: u32 = 2;

/// How often in a row the model is asked again for a call that it wrote as text.
const MAX_MISWRITTEN: u32 = 2;

/// What the driver does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Shorten the history.
    Compact(Trigger, Means),
    /// Ask the model.
    CallModel,
    /// Run the calls of the open reply.
    RunTools,
    /// Record this message in the user's place, then go on.
    Tell(&'static str),
    /// The turn is over.
    Done(Finish),
}

/// How to shorten the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Ask the model for a summary.
    Summary,
    /// Cut tool outputs to their ends, but for those of the newest exchange.
    Cut,
    /// Cut those too.
    CutAll,
    /// Replace all but the newest by a mechanical digest.
    Digest,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// The ending.
    pub ending: Ending,
    /// The reason in words, where the ending alone does not say it.
    pub detail: String,
    /// What the user can do next.
    pub help: Option<String>,
}

impl Finish {
    fn new(ending: Ending, detail: impl Into<String>) -> Self {
        Self { ending, detail: detail.into(), help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// The turn's message is recorded.
    Started,
    /// The model replied, and the reply is recorded (unless it was empty).
    Replied(Reply),
    /// The model replied with a text that holds a call which cannot be run, and it is recorded.
    Miswritten,
    /// The request failed for good.
    Failed(ProviderError),
    /// Every call of the open reply has its result.
    ToolsDone,
    /// The same, and each of them is a failure.
    ToolsFailed,
    /// The message of [`Step::Tell`] is recorded.
    Told,
    /// The history was shortened to a size that is below the limit.
    Compacted,
    /// The attempt did not help.
    NotCompacted,
    /// The log cannot be written; nothing more may happen.
    LogFailed(String),
    /// The user interrupted.
    Interrupted,
}

/// How full the window is, as the driver sees it before a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Compaction is due.
    pub due: bool,
    /// Not even another reply would fit.
    pub full: bool,
    /// Tokens in use.
    pub size: u64,
    /// The window; 0 when unknown.
    pub window: u64,
}

/// The state of one turn.
#[derive(Debug)]
pub struct Machine {
    max_steps: Option<u32>,
    steps: u32,
    empty_replies: u32,
    continuations: u32,
    miswritten: u32,
    repeats: Repeats,
    /// What has been tried to shorten the history since it last helped.
    tried: Vec<Means>,
    /// Summaries of this turn that came to nothing.
    failed_summaries: u32,
    /// Compaction did not help in this turn and is not tried again before the window is full.
    gave_up: bool,
    /// The provider's overflow error, while it is being dealt with.
    overflow: Option<ProviderError>,
    overflows: u32,
}

impl Machine {
    /// A turn that has at most this many steps, and ends when the same calls come this often.
    pub fn new(max_steps: Option<u32>, max_repeats: u32) -> Self {
        Self {
            max_steps,
            steps: 0,
            empty_replies: 0,
            continuations: 0,
            miswritten: 0,
            repeats: Repeats::new(max_repeats),
            tried: Vec::new(),
            failed_summaries: 0,
            gave_up: false,
            overflow: None,
            overflows: 0,
        }
    }

    /// Decides what comes next.
    pub fn next(&mut self, input: Input, fill: Fill) -> Step {
        match input {
            Input::Started | Input::Told => self.before_request(fill),
            Input::Replied(reply) => self.after_reply(&reply, fill),
            Input::Miswritten => self.after_miswritten(),
            Input::ToolsDone => self.after_tools(true, fill),
            Input::ToolsFailed => self.after_tools(false, fill),
            Input::Compacted => self.after_compaction(fill),
            Input::NotCompacted => {
                self.failed_summaries += u32::from(self.tried.last() == Some(&Means::Summary));
                self.shorten_further(fill)
            }
            Input::Failed(error) => self.after_failure(error, fill),
            Input::LogFailed(why) => done(log_failure(why)),
            Input::Interrupted => done(Finish::new(Ending::Cancelled, "")),
        }
    }

    fn before_request(&mut self, fill: Fill) -> Step {
        if self.max_steps.is_some_and(|max| self.steps >= max) {
            let detail = format!("stopped after {} steps", self.steps);
            return done(
                Finish::new(Ending::StepLimit, detail)
                    .help("say \"continue\", or raise --max-steps"),
            );
        }
        if fill.due && !self.gave_up {
            return self.shorten_with(Means::Summary, fill);
        }
        if fill.full && self.gave_up {
            return self.shorten_further(fill);
        }
        Step::CallModel
    }

    fn shorten(&mut self, trigger: Trigger, means: Means) -> Step {
        self.tried.push(means);
        Step::Compact(trigger, means)
    }

    fn after_compaction(&mut self, fill: Fill) -> Step {
        if self.overflow.is_none() {
            if fill.due {
                return self.shorten_further(fill);
            }
            self.tried.clear();
        }
        self.before_request(Fill { due: false, ..fill })
    }

    /// Shortens by these means, or by the next that may help.
    fn shorten_with(&mut self, means: Means, fill: Fill) -> Step {
        if means == Means::Summary && self.failed_summaries >= MAX_FAILED_SUMMARIES {
            return self.shorten_further(fill);
        }
        let trigger = if self.overflow.is_some() { Trigger::Overflow } else { Trigger::Auto };
        self.shorten(trigger, means)
    }

    /// The last attempt did not help (enough): the next means, the gentlest first, or the end of
    /// trying.
    fn shorten_further(&mut self, fill: Fill) -> Step {
        let refused = self.overflow.is_some();
        let allowed = |means| match means {
            Means::Summary => false,
            // The step is retried once: what shortens a refused request must be sure to help.
            Means::Cut => !refused,
            // These lose what the work rests on: only when it cannot go on with it.
            Means::CutAll | Means::Digest => refused || fill.full,
        };
        let next = [Means::Cut, Means::CutAll, Means::Digest]
            .into_iter()
            .find(|means| allowed(*means) && !self.tried.contains(means));
        if let Some(means) = next {
            return self.shorten_with(means, fill);
        }
        self.gave_up = true;
        match self.overflow.take() {
            Some(error) => done(failure(&error)),
            None if fill.full => done(too_full(fill)),
            None => Step::CallModel,
        }
    }

    fn after_failure(&mut self, error: ProviderError, fill: Fill) -> Step {
        if error.kind != ErrorKind::Overflow {
            return done(failure(&error));
        }
        self.overflows += 1;
        match self.overflows {
            1 => {
                self.tried.clear();
                self.overflow = Some(error);
                self.shorten_with(Means::Summary, fill)
            }
            2 => {
                self.overflow = Some(error);
                self.shorten(Trigger::Overflow, Means::Digest)
            }
            _ => done(failure(&error)),
        }
    }

    fn count_reply(&mut self) {
        self.overflow = None;
        self.overflows = 0;
        self.steps += 1;
    }

    fn after_reply(&mut self, reply: &Reply, fill: Fill) -> Step {
        self.count_reply();
        if reply.is_empty() && reply.finish_reason != FinishReason::ContentFilter {
            return self.after_empty_reply(fill);
        }
        self.empty_replies = 0;
        match reply.finish_reason {
            FinishReason::ContentFilter => {
                done(Finish::new(Ending::Refused, "the provider's filter withheld the answer"))
            }
            FinishReason::Length if reply.tool_calls.is_empty() => self.after_cut_text(),
            FinishReason::Length => self.after_cut_call(),
            // Whether there are calls decides, whatever the provider says of its finish.
            FinishReason::Stop
            | FinishReason::ToolCalls
            | FinishReason::ContextOverflow
            | FinishReason::Error
            | FinishReason::Other => self.after_whole_reply(reply),
        }
    }

    fn after_whole_reply(&mut self, reply: &Reply) -> Step {
        if reply.tool_calls.is_empty() {
            return done(completed(reply));
        }
        self.continuations = 0;
        self.miswritten = 0;
        self.repeats.add(&reply.tool_calls);
        Step::RunTools
    }

    fn after_miswritten(&mut self) -> Step {
        self.count_reply();
        self.empty_replies = 0;
        self.miswritten += 1;
        if self.miswritten <= MAX_MISWRITTEN {
            return Step::Tell(MISWRITTEN);
        }
        let detail = "the model wrote its tool calls as text that cannot be run";
        done(Finish::new(Ending::Error, detail).help(
            "try again, or use a model (or a chat template of its server) that supports tool calls",
        ))
    }

    fn after_empty_reply(&mut self, fill: Fill) -> Step {
        self.empty_replies += 1;
        if self.empty_replies >= 2 {
            let finish = Finish::new(Ending::Empty, "the model sent two empty answers in a row");
            return done(finish.help("try again, or another model with /model"));
        }
        self.before_request(fill)
    }

    fn after_cut_text(&mut self) -> Step {
        self.continuations += 1;
        if self.continuations > MAX_CONTINUATIONS { done(cut_off()) } else { Step::Tell(CONTINUE) }
    }

    /// Calls that were whole run, the cut one gets an error result that asks for smaller pieces.
    fn after_cut_call(&mut self) -> Step {
        self.continuations += 1;
        Step::RunTools
    }

    fn after_tools(&mut self, worked: bool, fill: Fill) -> Step {
        self.repeats.worked(worked);
        if self.continuations > MAX_CONTINUATIONS {
            return done(cut_off());
        }
        match self.repeats.verdict() {
            Verdict::Fine => self.before_request(fill),
            Verdict::Tell(Rut::Circle) => Step::Tell(REPEATING),
            Verdict::Tell(Rut::Failures) => Step::Tell(FAILING),
            Verdict::Stop(rut, times) => done(stuck(rut, times)),
        }
    }
}

/// What the model is told when its answer was cut by the output limit.
const CONTINUE: &str = "[xsh] Your answer was cut off by the output limit. Go on exactly where it \
                        stopped; do not repeat what is already there.";

/// What the model is told when it wrote a call as text.
const MISWRITTEN: &str = "[xsh] Your answer holds a tool call written as text, and nothing was run: \
                          it is cut off, malformed or names no tool of yours. Make the call in the \
                          tool-calling format. If you only meant to show one, put it in a code \
                          block and answer again.";

/// What the model is told when it repeats itself.
const REPEATING: &str = "[xsh] You have made the same calls several times in a row with nothing new \
                         to show for it. Take another way, or say what stops you.";

/// What the model is told when all it tries fails.
const FAILING: &str = "[xsh] Every call of your last replies has failed. Read the errors, take another \
                       way, or say what stops you.";

fn done(finish: Finish) -> Step {
    Step::Done(finish)
}

/// The ending of a turn whose events cannot be saved.
pub(super) fn log_failure(why: impl Into<String>) -> Finish {
    Finish::new(Ending::Error, why).help(
        "free some space or make the session folder writable; what could not be saved is kept \
         and written first when you go on",
    )
}

fn stuck(rut: Rut, times: usize) -> Finish {
    let detail = match rut {
        Rut::Circle => format!("the model made the same calls {times} times in a row"),
        Rut::Failures => format!("every call of the last {times} replies failed"),
    };
    Finish::new(Ending::Repeating, detail).help("say what it should do instead")
}

fn completed(reply: &Reply) -> Finish {
    if reply.content.trim().is_empty() {
        Finish::new(Ending::Completed, "the model ended after its reasoning, without an answer")
    } else {
        Finish::new(Ending::Completed, "")
    }
}

fn cut_off() -> Finish {
    Finish::new(Ending::Error, "the answer hit the model's output limit again and again")
        .help("ask for less at once, or use a model with a larger output limit")
}

fn failure(error: &ProviderError) -> Finish {
    Finish { ending: Ending::Error, detail: error.to_string(), help: Some(error.help().to_owned()) }
}

fn too_full(fill: Fill) -> Finish {
    let Fill { size, window, .. } = fill;
    let detail = format!(
        "the context is full: {size} of {window} tokens are in use and compaction cannot make it \
         smaller"
    );
    Finish::new(Ending::Error, detail)
        .help("begin a /new session, use a model with a larger window, or set --context-window")
}

#[cfg(test)]
mod tests;
