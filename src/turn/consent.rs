//! May this call run? Asks the policy, and the user where the policy wants it.

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Tally;
use super::tool_calls::not_started;
use crate::agent::{Agent, Answer, Question};
use crate::event::{Event, Permission};
use crate::policy::offer::Offer;
use crate::policy::path::Target;
use crate::policy::{self, Action, Decision, Kind, Mode, Strength, Why};
use crate::session::log::LogError;
use crate::tools::registry::Prepared;
use crate::tools::{Effect, Outcome};
use crate::update::{Ask, ToolShown, Update};

/// What was decided, with its reason.
struct Verdict {
    allowed: bool,
    reason: String,
    /// What is to hold from here on.
    learn: Option<Offer>,
}

impl Verdict {
    fn no(reason: impl Into<String>) -> Self {
        Self { allowed: false, reason: reason.into(), learn: None }
    }

    fn yes(reason: impl Into<String>) -> Self {
        Self { allowed: true, reason: reason.into(), learn: None }
    }
}

/// Whether the call may run: none if it may, else its outcome.
pub(super) async fn allow(
    agent: &mut Agent,
    shown: &ToolShown,
    prepared: &Prepared,
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, LogError> {
    let target = match target(agent, prepared) {
        Ok(target) => target,
        Err(outcome) => return Ok(Some(outcome)),
    };
    let action = Action { tool: &prepared.name, kind: kind(&prepared.effect, target.as_ref()) };
    let strength = agent.options.sandbox.strength.relied_on(agent.options.mode_chosen);
    let verdict = match policy::decide(agent.options.mode, &agent.rules, &strength, &action) {
        Decision::Allow(None) => return Ok(None),
        Decision::Allow(Some(rule)) => Verdict::yes(format!("the user's rule `{rule}` allows it")),
        Decision::Deny(reason) => Verdict::no(reason),
        Decision::Ask(why) => {
            let always = agent.offer(&action, &why);
            let open = Open { shown, prepared, why: &why, always };
            match ask(agent, open, cancel).await {
                Some(answered) => answered,
                None => return Ok(Some(not_started())),
            }
        }
    };
    let Verdict { allowed, reason, learn } = verdict;
    let call_id = shown.call_id.clone();
    let event = Permission { call_id, allowed, reason: reason.clone(), mode: None };
    agent.session.record(Event::Permission(event))?;
    if let Some(offer) = learn {
        agent.take_at_word(offer);
    }
    if allowed {
        return Ok(None);
    }
    tally.denied = true;
    agent.show(Update::Denied(shown.clone()));
    Ok(Some(Outcome {
        summary: "denied".to_owned(),
        ..Outcome::error(format!("Denied: {reason}"))
    }))
}

/// The path that a call is about, links resolved. A change of what cannot be reached ends here, and
/// nobody is asked about it; a tool that only looks says itself what is wrong.
fn target(agent: &Agent, prepared: &Prepared) -> Result<Option<Target>, Outcome> {
    let workspace = &agent.workspace;
    let roots = agent.roots();
    let place = |given: &str| Ok::<_, String>(Target::new(&workspace.locate(given)?.real, &roots));
    match (&prepared.effect, &prepared.path) {
        (Effect::Write(path), _) => {
            let mut target = place(path).map_err(Outcome::error)?;
            target.obeyed = agent.options.mode != Mode::Full
                && agent.repositories.protect(&target.real, &roots);
            Ok(Some(target))
        }
        (Effect::Read, Some(path)) => Ok(place(path).ok()),
        (Effect::Read | Effect::Exec { .. } | Effect::Stop, _) => Ok(None),
    }
}

fn kind<'a>(effect: &'a Effect, target: Option<&'a Target>) -> Kind<'a> {
    match (effect, target) {
        (Effect::Write(_), Some(target)) => Kind::Write(target),
        (Effect::Exec { command, leave }, _) => Kind::Exec { command, leave: leave.as_deref() },
        (Effect::Stop, _) => Kind::Stop,
        (Effect::Read | Effect::Write(_), target) => Kind::Read(target),
    }
}

/// A call that the user is to decide about.
struct Open<'a> {
    shown: &'a ToolShown,
    prepared: &'a Prepared,
    why: &'a Why,
    always: Option<Offer>,
}

/// Asks the user; without anyone to ask the answer is no. None when the user interrupted instead
/// of answering.
async fn ask(agent: &Agent, open: Open<'_>, cancel: &CancellationToken) -> Option<Verdict> {
    let (answer, answered) = oneshot::channel();
    let question = question(agent, &open, answer);
    if agent.questions.as_ref().is_none_or(|questions| questions.send(question).is_err()) {
        return Some(Verdict::no(unasked(&open.shown.name, agent.options.mode, open.why)));
    }
    let answer = tokio::select! {
        biased;
        () = cancel.cancelled() => return None,
        answer = answered => answer.unwrap_or(Answer::No(None)),
    };
    Some(match (answer, open.always) {
        (Answer::Yes, _) => Verdict::yes("the user allowed it"),
        (Answer::Always, Some(offer)) => Verdict {
            learn: Some(offer),
            ..Verdict::yes("the user allowed it, and the same from now on")
        },
        (Answer::No(None) | Answer::Always, _) => {
            Verdict::no("the user said no. Ask what to do instead.")
        }
        (Answer::No(Some(comment)), _) => Verdict::no(format!("the user said no: {comment}")),
    })
}

fn question(agent: &Agent, open: &Open<'_>, answer: oneshot::Sender<Answer>) -> Question {
    let Open { shown, prepared, why, always } = open;
    let mut tool = shown.name.clone();
    let mut reason = why.text(agent.options.mode);
    let (mut subject, mut model_says) = (shown.subject.clone(), None);
    if let Effect::Exec { command, leave } = &prepared.effect {
        subject.clone_from(command);
        model_says.clone_from(leave);
        if prepared.in_background() {
            tool.push_str(", in the background");
        }
        if matches!(agent.options.sandbox.strength, Strength::None(_)) {
            reason.push_str("; it can do whatever you can");
        }
    }
    let ask = Ask {
        tool,
        subject,
        diff: prepared.preview.clone(),
        cwd: agent.workspace.root.display().to_string(),
        reason,
        model_says,
        always: always.as_ref().map(meaning).unwrap_or_default(),
    };
    Question { ask, always: always.clone(), answer }
}

/// What "always" would do, so that nobody has to guess.
fn meaning(offer: &Offer) -> Vec<String> {
    match offer {
        Offer::Keep(rules) => {
            rules.iter().map(|rule| format!("always allows, in every session: {rule}")).collect()
        }
        Offer::Session(rules) => {
            let line = |rule| format!("always allows, in this session only: {rule}");
            rules.iter().map(line).collect()
        }
        Offer::Leave(_) => {
            vec!["always lets exactly this command leave the sandbox, in this session only".into()]
        }
    }
}

/// What the model is told where nobody can be asked.
fn unasked(tool: &str, mode: Mode, why: &Why) -> String {
    format!(
        "{tool} needs the user's consent ({}), and nobody can be asked in this run. Do not try it \
         again; go on without it, or say what you would have done. (The user can allow it with a \
         rule, --allowed-tools, or another --permission-mode.)",
        why.text(mode)
    )
}
