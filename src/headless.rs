//! `-p`: one turn, the answer on stdout, everything else on stderr.

use std::io::{ErrorKind, IsTerminal, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::cli::{Args, Prompt};
use crate::error::{Error, Exit};
use crate::prompt;
use crate::repl::drive::{Driven, unattended};
use crate::repl::signals::Signals;
use crate::ui::{Handle, figures, out};

/// Bytes of a piped stdin that are taken.
const MAX_STDIN: u64 = 4 << 20;
/// How long, after a signal, the output may take for what is already there.
const OUTPUT_WITHIN: Duration = Duration::from_millis(500);
/// How long an open stdin may send nothing before the run goes on without it.
const STDIN_WITHIN: Duration = Duration::from_secs(3);
/// After so long without anything new from a stdin that has sent something, the user is told.
const STDIN_TOLD: Duration = Duration::from_secs(3);
/// After so long again the run goes on with what came.
const STDIN_IDLE: Duration = Duration::from_mins(10);
/// Bytes that are read from stdin at once.
const PIECE: usize = 64 << 10;

/// The prompt of a headless run, with a piped stdin added as context. The second value is a warning.
/// Whoever writes to stdin may take any time: a signal ends the waiting.
pub async fn prompt(args: &Args, signals: &mut Signals) -> Result<(String, Option<String>), Error> {
    let args = args.clone();
    let read = tokio::task::spawn_blocking(move || read_prompt(&args));
    tokio::select! {
        read = read => read.map_err(|error| Error::failed("cannot read stdin", error))?,
        _ = signals.next() => Err(Error::interrupted()),
    }
}

fn read_prompt(args: &Args) -> Result<(String, Option<String>), Error> {
    let missing = || {
        Error::usage("no prompt", "-p needs a prompt, as an argument or on stdin")
            .help("xsh -p \"what does this project do?\"")
    };
    let stdin = std::io::stdin();
    let (text, warning) = match args.prompt() {
        Prompt::Text(text) if stdin.is_terminal() => (text, None),
        Prompt::Text(text) => match piped_context()? {
            Piped::Text(context, warning) if !context.trim().is_empty() => {
                (prompt::with_context(&text, &context), warning)
            }
            Piped::Text(_, warning) => (text, warning),
            Piped::Silent => {
                let warning = "stdin is open but sent nothing; going on without it";
                (text, Some(warning.to_owned()))
            }
        },
        Prompt::None if stdin.is_terminal() => return Err(missing()),
        Prompt::Stdin | Prompt::None => read_stdin()?,
    };
    if text.trim().is_empty() { Err(missing()) } else { Ok((text, warning)) }
}

enum Piped {
    Text(String, Option<String>),
    /// Open, but nothing came.
    Silent,
}

fn piped_context() -> Result<Piped, Error> {
    if is_ready(STDIN_WITHIN) {
        read_stdin().map(|(text, warning)| Piped::Text(text, warning))
    } else {
        Ok(Piped::Silent)
    }
}

/// Whether there is something to read, or the end, within so long. What cannot be polled is told by
/// reading it; a closed stdin is an empty one.
fn is_ready(within: Duration) -> bool {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    let within = Timespec::try_from(within).ok();
    !matches!(poll(&mut fds, within.as_ref()), Ok(0))
}

/// Reads to the end. One that has begun to send may take its time, like the output of a long build,
/// but not for ever: `tail -f` never ends.
fn read_stdin() -> Result<(String, Option<String>), Error> {
    let mut bytes = Vec::new();
    let mut told = false;
    let mut piece = vec![0; PIECE];
    let mut stdin = std::io::stdin().lock();
    let mut idle = false;
    while bytes.len() as u64 <= MAX_STDIN {
        if !is_ready(STDIN_TOLD) {
            if !told && !std::io::stdin().is_terminal() {
                told = true;
                out::print_warning("stdin is still open; waiting for its end (Ctrl-C stops)");
            }
            idle = !is_ready(STDIN_IDLE);
            if idle {
                break;
            }
        }
        match stdin.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => bytes.extend(piece.iter().take(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Closed before the program began.
            Err(error) if error.raw_os_error() == Some(Errno::BADF.raw_os_error()) => break,
            Err(error) => return Err(Error::usage("cannot read stdin", error)),
        }
    }
    Ok(text_of(bytes, idle))
}

/// The text, and what is to be said of it.
fn text_of(mut bytes: Vec<u8>, idle: bool) -> (String, Option<String>) {
    let cut = bytes.len() as u64 > MAX_STDIN;
    bytes.truncate(usize::try_from(MAX_STDIN).unwrap_or(usize::MAX));
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if cut {
        text.push_str("\n[cut: stdin is longer than 4 MiB]");
        return (text, Some("stdin is longer than 4 MiB; the rest is left out".to_owned()));
    }
    if idle {
        text.push_str("\n[cut: stdin was silent for 10 minutes]");
        let warning = "stdin was silent for 10 minutes; going on with what came";
        return (text, Some(warning.to_owned()));
    }
    (text, None)
}

/// Some time after a signal: then nothing is waited for any more.
async fn late(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(OUTPUT_WITHIN).await;
}

/// Runs the turn, and stops it at the first signal. A stdout whose reader has gone ends the run
/// quietly; one that cannot be written is an error.
pub async fn run(
    agent: &mut Agent,
    prompt: &str,
    signals: &mut Signals,
    screen: &Handle,
) -> Result<Exit, Error> {
    let cancel = CancellationToken::new();
    let work = async {
        let summary = agent.turn(prompt, &cancel).await;
        tokio::select! {
            () = screen.flush() => {}
            () = late(&cancel) => screen.give_up(),
        }
        summary
    };
    match unattended(signals, screen, &cancel, work).await {
        Driven::Done(_) if screen.broken().is_cancelled() => match screen.fault() {
            Some(error) => Err(out::cannot_write(error)),
            None => Ok(Exit::Done),
        },
        Driven::Done(summary) => {
            let exit = figures::exit(&summary?);
            Ok(if exit == Exit::Done && cancel.is_cancelled() { Exit::Interrupted } else { exit })
        }
        Driven::DoneThenEnd(_) => Ok(Exit::Interrupted),
        Driven::Abandoned => {
            screen.give_up();
            Ok(Exit::Interrupted)
        }
    }
}
