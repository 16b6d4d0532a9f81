//! The part of `shell` that is about background jobs: how they are asked for, and what is said of
//! them.
//!
//! Jobs are spoken of in the words of the shell itself: `jobs`, `wait %1`, `kill %1`. A shell that
//! has just been started has no jobs of its own, so nothing is lost when these few commands, each
//! the whole of a call, never reach one.

use std::time::Duration;

use tokio::time::timeout;

use super::{Args, MAX_LIMIT, Report, count, one_line, seconds, short_status, status, time_limit};
use crate::brief::brief;
use crate::jobs::{End, Job, Jobs, Launch, MAX_RUNNING};
use crate::tools::output::{NO_OUTPUT, RESULT_BYTES};
use crate::tools::{Effect, Outcome, ToolContext};

/// How long a new job is watched before its call returns: most that cannot run say so at once.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// How long a job that was told to stop is waited for: it is killed before that.
const STOP_WITHIN: Duration = Duration::from_secs(8);

/// Characters of a command that name its job.
const NAME_CHARS: usize = 60;

/// What a call of `shell` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Run a command to its end.
    Run,
    /// Start a job.
    Start,
    /// List the jobs.
    List,
    /// What a job has said since the last look.
    Look(u32),
    /// The same, once it has ended.
    Wait(u32),
    /// End a job.
    Stop(u32),
}

impl Request {
    pub(super) fn of(args: &Args) -> Self {
        let words: Vec<&str> = args.command.split_whitespace().collect();
        let about_jobs = match *words.as_slice() {
            ["jobs"] => Some(Self::List),
            ["jobs", flag] if flag.starts_with('-') => Some(Self::List),
            ["jobs", job] => number(job).map(Self::Look),
            ["wait", job] => number(job).map(Self::Wait),
            ["kill", job] => marked(job).map(Self::Stop),
            ["kill", signal, job] if signal.starts_with('-') => marked(job).map(Self::Stop),
            _ => None,
        };
        let or_else = if args.background == Some(true) { Self::Start } else { Self::Run };
        about_jobs.unwrap_or(or_else)
    }

    pub(super) fn effect(self, args: &Args) -> Effect {
        match self {
            Self::Run | Self::Start => {
                let (command, leave) = (args.command.clone(), args.outside_sandbox.clone());
                Effect::Exec { command, leave }
            }
            Self::List | Self::Look(_) | Self::Wait(_) => Effect::Read,
            Self::Stop(_) => Effect::Stop,
        }
    }

    /// Does what is asked for.
    pub(super) fn answer(self, args: &Args, context: &ToolContext<'_>) -> Outcome {
        match self {
            Self::Run => super::run(args, context),
            Self::Start => start(args, context),
            Self::List => {
                let running = count(context.jobs.running().len() as u64, "job");
                Outcome::ok(list(context.jobs), format!("{running} running"))
            }
            Self::Look(number) => with(number, context, |job| look(job, &[])),
            Self::Wait(number) => with(number, context, |job| wait(job, args, context)),
            Self::Stop(number) => with(number, context, |job| stop(job, context)),
        }
    }
}

/// `1` or `%1`.
fn number(word: &str) -> Option<u32> {
    word.strip_prefix('%').unwrap_or(word).parse().ok()
}

/// `%1` alone: a bare number is a process.
fn marked(word: &str) -> Option<u32> {
    word.strip_prefix('%')?.parse().ok()
}

fn with(number: u32, context: &ToolContext<'_>, act: impl FnOnce(&Job) -> Outcome) -> Outcome {
    match context.jobs.find(number) {
        Some(job) => act(&job),
        None => Outcome::error(format!(
            "There is no job {number}; nothing was done.\n{}",
            list(context.jobs)
        )),
    }
}

fn start(args: &Args, context: &ToolContext<'_>) -> Outcome {
    let launch = Launch {
        command: &args.command,
        folder: &context.workspace.root,
        hidden_env: context.hidden_env,
        masks: context.masks,
        confinement: context.sandbox,
        output_dir: context.output_dir,
        output_bytes: RESULT_BYTES - super::STATUS_BYTES,
    };
    let Some(job) = context.jobs.start(&launch, context.runtime) else {
        return Outcome::error(format!(
            "{MAX_RUNNING} jobs are running and no more may; nothing was started. Stop one first.\n{}",
            list(context.jobs)
        ));
    };
    watch(&job, FIRST_LOOK, context);
    let mut notes = Vec::new();
    if job.is_running() {
        notes.push(format!(
            "`jobs {0}` shows what is new, `wait %{0}` waits for the end, `kill %{0}` stops it; \
             leaving this session stops it too",
            job.number
        ));
        notes.extend(job.file().map(|path| format!("the whole output goes to {}", path.display())));
    }
    if args.timeout_seconds.is_some() {
        notes.push("timeout_seconds was ignored: a job has no time limit".to_owned());
    }
    look(&job, &notes)
}

fn wait(job: &Job, args: &Args, context: &ToolContext<'_>) -> Outcome {
    let (limit, changed) = time_limit(args.timeout_seconds);
    watch(job, Duration::from_secs(limit), context);
    let mut notes = Vec::new();
    if context.cancelled() {
        notes.push("the user interrupted the wait, not the job".to_owned());
    } else if job.is_running() {
        notes.push(format!("waited for {limit} s; timeout_seconds may be up to {MAX_LIMIT}"));
    }
    notes.extend(changed);
    look(job, &notes)
}

fn stop(job: &Job, context: &ToolContext<'_>) -> Outcome {
    job.stop();
    watch(job, STOP_WITHIN, context);
    Outcome { is_error: false, ..look(job, &[]) }
}

/// Waits for a job's end, but not longer than this or than the user likes.
fn watch(job: &Job, limit: Duration, context: &ToolContext<'_>) {
    context.runtime.block_on(async {
        tokio::select! {
            _ = timeout(limit, job.ended()) => {}
            () = context.cancel.cancelled() => {}
        }
    });
}

/// What is new from a job, then its state and these notes. A job that has failed is an error, as
/// the command would have been.
fn look(job: &Job, notes: &[String]) -> Outcome {
    let (output, end) = job.look();
    let lines = output.lines;
    let text = output.text.trim_end();
    let mut parts = vec![if text.is_empty() { NO_OUTPUT } else { text }.to_owned()];
    parts.push(format!("[{}]", state(job, end.as_ref())));
    parts.extend(notes.iter().map(|note| format!("[{note}]")));
    let mut is_error = matches!(end, Some(Err(_)));
    if let Some(Ok(ended)) = &end {
        let (sandbox, moved) = (job.confinement.as_ref(), Vec::new());
        let report =
            Report { line: Some(&job.command), ended: ended.clone(), output, sandbox, moved };
        is_error = !report.succeeded();
        parts.extend(report.remarks());
        parts.extend(job.file().map(|path| format!("[the whole output is in {}]", path.display())));
    }
    let summary = format!("{} · {}", short_state(end.as_ref()), count(lines, "new line"));
    Outcome { content: parts.join("\n"), is_error, summary, ..Outcome::default() }
}

/// The jobs of the session, one line each; for the model and for `/jobs`.
pub fn list(jobs: &Jobs) -> String {
    let lines: Vec<_> = jobs.all().iter().map(|job| state(job, job.end().as_ref())).collect();
    if lines.is_empty() {
        return "No background job was started since this session was opened; those of earlier times \
                have ended."
            .to_owned();
    }
    lines.join("\n")
}

/// Lines about jobs that have ended by themselves, to be added to the next result of any call.
pub fn news(jobs: &Jobs) -> String {
    let lines = jobs.news().into_iter().map(|job| {
        let state = state(&job, job.end().as_ref());
        format!("\n[{state}; `jobs {}` shows its last output]", job.number)
    });
    lines.collect()
}

fn state(job: &Job, end: Option<&End>) -> String {
    let name = format!("job {} ({})", job.number, name(&job.command));
    match end {
        None => format!("{name} is running, for {}", seconds(job.age())),
        Some(Err(why)) => format!("{name} was not started: {why}"),
        Some(Ok(ended)) if job.was_stopped_by_user() => {
            format!("{name} was stopped by the user: {}", status(ended))
        }
        Some(Ok(ended)) => format!("{name} has ended: {}", status(ended)),
    }
}

fn short_state(end: Option<&End>) -> String {
    match end {
        None => "running".to_owned(),
        Some(Err(_)) => "not started".to_owned(),
        Some(Ok(ended)) => short_status(ended),
    }
}

/// A command in one short line.
fn name(command: &str) -> String {
    brief(&one_line(command), NAME_CHARS).into_owned()
}

#[cfg(test)]
mod tests;
