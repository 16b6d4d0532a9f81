//! The `shell` tool: one command in the foreground, and the truth about how it ended; or one in the
//! background, as a job (see [`jobs`]).
//!
//! Starting and ending processes is [`crate::process`]'s work, bounding the output
//! [`super::collect`]'s; here the command is checked and the result is worded. Whether a command may
//! run is decided before, by policy and on [`Effect::Exec`].

pub mod jobs;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::collect::{Collected, HeadTail};
use super::output::{NO_OUTPUT, RESULT_BYTES, grouped};
use super::{Effect, Outcome, Tool, ToolContext};
use crate::process::{self, CommandSpec, Ended, Exit, Stopped};
use crate::sandbox::{Confinement, keep};
use jobs::Request;

/// The time limit if the model gives none, in seconds.
pub(super) const DEFAULT_LIMIT: u64 = 120;

/// What the subject of a call begins with that starts a job.
pub(super) const BACKGROUND: &str = "(background) ";

/// The longest time limit, in seconds.
pub(super) const MAX_LIMIT: u64 = 600;

/// Bytes of a result that are kept for what is said besides the output.
const STATUS_BYTES: usize = 2_000;

/// How many stopped background processes are named.
const NAMED: usize = 4;

/// What programs say when they wanted an answer and could not get one.
const WANTED_INPUT: [&str; 10] = [
    "/dev/tty",
    "terminal prompts disabled",
    "terminal is required",
    "password is required",
    "EOF when reading a line",
    "EOFError",
    "empty commit message",
    "Host key verification failed",
    "not a tty",
    "not a terminal",
];

/// What programs say when the kernel did not let them.
const REFUSED: [&str; 6] = [
    "Read-only file system",
    "EROFS",
    "Operation not permitted",
    "EPERM",
    "Permission denied",
    "Device or resource busy",
];

/// What the shell says of jobs, of which it has none.
const NO_SUCH_JOB: [&str; 2] = [": no such job", ": no job control"];

/// See the module's documentation.
pub struct Shell;

/// The arguments of `shell`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Args {
    /// May have several lines.
    pub command: String,
    /// 1 to 600; default 120.
    pub timeout_seconds: Option<i64>,
    /// For a server and the like: starts a job. Commands for jobs: `jobs`, `jobs 1` (new output),
    /// `wait %1`, `kill %1`.
    pub background: Option<bool>,
    /// To leave the sandbox: why. Asks the user.
    pub outside_sandbox: Option<String>,
}

impl Tool for Shell {
    const NAME: &'static str = "shell";
    const DESCRIPTION: &'static str = "Runs a command in {shell}: to build, test, use git. Returns its output, then the exit \
        code; a long one is cut in the middle and kept whole in a file. Its sandbox has no network \
        and only the workspace and /tmp are writable. Each command starts in the workspace, `cd` \
        does not last. Stdin is empty. What it leaves running is stopped.";
    type Args = Args;

    fn description() -> String {
        Self::DESCRIPTION.replace("{shell}", process::Shell::current().name)
    }

    fn effect(args: &Args) -> Effect {
        Request::of(args).effect(args)
    }

    fn subject(args: &Args) -> String {
        let line = one_line(&args.command);
        let prefix = if Request::of(args) == Request::Start { BACKGROUND } else { "" };
        format!("{prefix}{line}")
    }

    fn run(args: Args, context: &ToolContext<'_>) -> Outcome {
        if let Some(refusal) = refusal(&args.command) {
            return Outcome::error(refusal);
        }
        Request::of(&args).answer(&args, context)
    }
}

/// Runs a command to its end.
fn run(args: &Args, context: &ToolContext<'_>) -> Outcome {
    let (seconds, note) = time_limit(args.timeout_seconds);
    let spec = CommandSpec {
        argv: process::Shell::current().argv(&args.command),
        folder: &context.workspace.root,
        input: &[],
        hidden_env: context.hidden_env,
        limit: Some(Duration::from_secs(seconds)),
        confinement: context.sandbox,
    };
    execute(&spec, Some(&args.command), note, context)
}

/// Runs a program to its end and words what came of it. `line` is the command line of a model, to
/// which advice on command lines applies.
pub(super) fn execute(
    spec: &CommandSpec<'_>,
    line: Option<&str>,
    note: Option<String>,
    context: &ToolContext<'_>,
) -> Outcome {
    let room = RESULT_BYTES - STATUS_BYTES;
    let mut output = HeadTail::new(room, context.output_dir, context.call_id).masked(context.masks);
    let mut sink = |bytes: &[u8]| output.push(bytes);
    let running = process::run(spec, context.cancel, &mut sink);
    let (ended, moved) = context.runtime.block_on(keep::watch(context.sandbox, running));
    match ended {
        Err(why) => Outcome::error(format!("The command was not started: {why}.")),
        Ok(ended) => {
            let sandbox = context.sandbox;
            let output = output.finish();
            let report = Report { line, ended, output, sandbox, moved };
            report.outcome(note, &context.workspace.root.to_string_lossy())
        }
    }
}

fn refusal(command: &str) -> Option<String> {
    if command.trim().is_empty() {
        return Some("The command is empty; nothing was run. Give a command line.".to_owned());
    }
    command.contains('\0').then(|| {
        "The command holds a NUL character, which no command line can; nothing was run. Write it \
         as an escape that the program understands, such as printf '\\0'."
            .to_owned()
    })
}

/// The limit that counts, and a note if it is not the one asked for.
fn time_limit(asked: Option<i64>) -> (u64, Option<String>) {
    let Some(asked) = asked else { return (DEFAULT_LIMIT, None) };
    let seconds = u64::try_from(asked).unwrap_or(0).clamp(1, MAX_LIMIT);
    let changed = i64::try_from(seconds) != Ok(asked);
    let note = format!("timeout_seconds must be 1 to {MAX_LIMIT}: {asked} was taken as {seconds}");
    (seconds, changed.then_some(note))
}

/// What is known of a command that has run.
struct Report<'a> {
    line: Option<&'a str>,
    ended: Ended,
    output: Collected,
    /// The box it ran in.
    sandbox: Option<&'a Confinement>,
    /// What the box has moved aside.
    moved: Vec<String>,
}

impl Report<'_> {
    fn outcome(self, note: Option<String>, folder: &str) -> Outcome {
        let text = self.output.text.trim_end();
        let text = if text.is_empty() { NO_OUTPUT } else { text };
        let mut parts = vec![text.to_owned(), format!("[{}]", status(&self.ended))];
        parts.extend(note.map(|note| format!("[{note}]")));
        parts.extend(self.remarks());
        if self.line.is_some_and(changes_folder) {
            parts.push(format!("[the next command starts in {folder} again]"));
        }
        Outcome {
            content: parts.join("\n"),
            is_error: !self.succeeded(),
            summary: format!(
                "{} · {}",
                short_status(&self.ended),
                count(self.output.lines, "line")
            ),
            ..Outcome::default()
        }
    }

    fn succeeded(&self) -> bool {
        self.ended.stopped.is_none() && self.ended.exit == Exit::Code(0)
    }

    /// What there is to say besides how it ended, a line each.
    fn remarks(&self) -> impl Iterator<Item = String> {
        let moved = self.moved.iter().map(|line| format!("[{line}]"));
        self.left_over().into_iter().chain(moved).chain(self.denial()).chain(self.hint())
    }

    fn left_over(&self) -> Option<String> {
        let (first, more) =
            self.ended.left_over.split_at_checked(NAMED).unwrap_or((&self.ended.left_over, &[]));
        let total = count(first.len() as u64 + more.len() as u64, "background process");
        let rest =
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let were = if self.ended.left_over.len() == 1 { "was" } else { "were" };
        let named = first.join(", ");
        let advice =
            self.line.map_or("", |_| "\n[what is to go on needs `background`, and no `&`]");
        (!first.is_empty()).then(|| {
            format!("[{total} {were} still running and {were} stopped: {named}{rest}]{advice}")
        })
    }

    /// What the box may have had to do with a failure. A hint, so words are enough to go by.
    fn denial(&self) -> Option<String> {
        let sandbox = self.sandbox.filter(|_| !self.succeeded())?;
        let wanted = REFUSED.iter().any(|words| self.output.text.contains(words));
        let what = match (self.ended.missed_network, wanted) {
            (true, _) => "it wanted the network, and the sandbox has none".to_owned(),
            (false, true) => format!("if the sandbox stopped it: {}", sandbox.rule()),
            (false, false) => return None,
        };
        let advice = match self.line {
            Some(_) => {
                "Do without, or repeat the call with `outside_sandbox` and why: the user is asked"
            }
            None => "Do without",
        };
        Some(format!("[{what}. {advice}]"))
    }

    fn hint(&self) -> Option<String> {
        self.line?;
        if matches!(self.ended.stopped, Some(Stopped::Limit(_))) {
            return Some(format!(
                "[if it needs longer, give timeout_seconds (at most {MAX_LIMIT}) or `background`; if \
                 it waited for input, there is none: stdin is empty]"
            ));
        }
        if !self.succeeded() && NO_SUCH_JOB.iter().any(|words| self.output.text.contains(words)) {
            return Some(
                "[background jobs are known only to `jobs`, `wait %1` and `kill %1` as the whole \
                 command]"
                    .to_owned(),
            );
        }
        let wanted = WANTED_INPUT.iter().any(|words| self.output.text.contains(words));
        (wanted && !self.succeeded() && self.ended.stopped.is_none()).then(|| {
            "[it may have asked for input: stdin is empty and there is no terminal; pass answers as \
             options, arguments or a here-document]"
                .to_owned()
        })
    }
}

fn status(ended: &Ended) -> String {
    let took = seconds(ended.took);
    match (ended.stopped, ended.exit) {
        (None, Exit::Signal(_)) => format!("killed by {} · {took}", exit(ended.exit)),
        (None, how) => format!("{} · {took}", exit(how)),
        (Some(Stopped::Limit(limit)), how) => {
            format!("killed after {} by the time limit · {}", seconds(limit), exit(how))
        }
        (Some(Stopped::Cancelled), how) => {
            format!("stopped after {took} because the user interrupted · {}", exit(how))
        }
        (Some(Stopped::Asked), how) => format!("stopped after {took} · {}", exit(how)),
    }
}

fn short_status(ended: &Ended) -> String {
    match (ended.stopped, ended.exit) {
        (None, Exit::Code(code)) => format!("exit {code}"),
        (None, how) => exit(how),
        (Some(Stopped::Limit(limit)), _) => format!("time limit of {}", seconds(limit)),
        (Some(Stopped::Cancelled), _) => "interrupted".to_owned(),
        (Some(Stopped::Asked), _) => "stopped".to_owned(),
    }
}

/// True when the command seems to change the folder. Only decides whether the rule is repeated.
fn changes_folder(command: &str) -> bool {
    let words =
        command.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')'));
    words.into_iter().any(|word| matches!(word, "cd" | "pushd"))
}

fn exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}{}", signal_name(signal)),
        Exit::Unknown => "it hangs in the kernel and could not be ended".to_owned(),
    }
}

/// A command on one line.
fn one_line(command: &str) -> String {
    let lines: Vec<_> = command.trim().lines().map(str::trim).collect();
    lines.join(" ↵ ")
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 10.0 || time.subsec_nanos() == 0 {
        format!("{seconds:.0} s")
    } else {
        format!("{seconds:.1} s")
    }
}

fn count(number: u64, what: &str) -> String {
    let plural = match (number, what.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {what}{plural}", grouped(number))
}

#[cfg(test)]
pub(crate) mod tests;
