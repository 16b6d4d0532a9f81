//! Numbers and endings in words: the line after a turn, and why a turn stopped.

use std::time::Duration;

use crate::error::{Error, Exit};
use crate::event::Ending;
use crate::update::TurnSummary;

/// A count of tokens in three figures: `950`, `1.2k`, `34k`, `1.5M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..9_950 => tenths(count / 100 + u64::from(count % 100 >= 50), "k"),
        9_950..999_500 => format!("{}k", count / 1_000 + u64::from(count % 1_000 >= 500)),
        _ => tenths(count / 100_000 + u64::from(count % 100_000 >= 50_000), "M"),
    }
}

fn tenths(count: u64, unit: &str) -> String {
    format!("{}.{}{unit}", count / 10, count % 10)
}

/// A span of time: `0.4 s`, `42 s`, `2 m 05 s`, `1 h 02 m`.
pub fn time(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..10 => format!("{seconds}.{} s", span.subsec_millis() / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `1 step`, `3 steps`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The line after a turn: steps, tokens, cache, context, time, cost, running jobs. Unknown figures are left out.
pub fn usage(summary: &TurnSummary) -> String {
    let usage = &summary.usage;
    let mut parts = vec![count(summary.steps.into(), "step")];
    let cached = match percent(usage.cached, usage.prompt) {
        Some(share) if usage.cached > 0 => format!(" ({share} % cached)"),
        _ => String::new(),
    };
    parts.push(format!("{} in{cached}", tokens(usage.prompt)));
    parts.push(format!("{} out", tokens(usage.completion)));
    parts.push(match summary.window.and_then(|window| percent(summary.context, window)) {
        Some(share) => format!("context {share} %"),
        None => format!("context {} of ~{}", tokens(summary.context), tokens(summary.assumed)),
    });
    parts.push(time(summary.duration));
    parts.extend(usage.cost.map(cost));
    parts.extend((summary.jobs > 0).then(|| count(summary.jobs as u64, "job")));
    parts.join(" · ")
}

fn percent(part: u64, whole: u64) -> Option<u64> {
    part.saturating_mul(100).checked_div(whole)
}

fn cost(dollars: f64) -> String {
    if dollars < 0.1 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}

/// What to tell about a turn that did not end with an answer. The exit code in it is the one of
/// [`exit`].
pub fn ending(summary: &TurnSummary) -> Option<Error> {
    let what = match summary.ending {
        Ending::Completed => return None,
        Ending::Cancelled => "interrupted",
        Ending::StepLimit => "stopped at the step limit",
        Ending::Repeating => "stopped: the model gets nowhere",
        Ending::Empty => "the model gave no answer",
        Ending::Refused => "the provider withheld the answer",
        Ending::Error => "the turn failed",
        Ending::Other => "the turn ended early",
    };
    Some(Error {
        what: what.to_owned(),
        why: summary.detail.clone(),
        help: summary.help.clone(),
        exit: exit(summary),
    })
}

/// What to tell about a turn that did end as it should.
pub fn remark(summary: &TurnSummary) -> Option<&str> {
    let worth_telling = summary.ending == Ending::Completed && !summary.detail.is_empty();
    worth_telling.then_some(&*summary.detail)
}

/// How the process ends after a single turn.
pub fn exit(summary: &TurnSummary) -> Exit {
    match summary.ending {
        Ending::Completed if summary.denied => Exit::Denied,
        Ending::Completed => Exit::Done,
        Ending::Cancelled => Exit::Interrupted,
        Ending::StepLimit | Ending::Repeating => Exit::Limit,
        Ending::Empty | Ending::Refused | Ending::Error | Ending::Other => Exit::Failed,
    }
}

#[cfg(test)]
mod tests;
