//! `-p`: one turn, the answer on stdout, everything else on stderr.

use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
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
const STDIN_WITHIN: Timespec = Timespec { tv_sec: 3, tv_nsec: 0 };

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
    let stdin = std::io::stdin();
    let ready = {
        let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&STDIN_WITHIN))
    };
    match ready {
        Ok(0) => Ok(Piped::Silent),
        // What cannot be polled is told by reading it; a closed stdin is an empty one.
        Ok(_) | Err(_) => read_stdin().map(|(text, warning)| Piped::Text(text, warning)),
    }
}

fn read_stdin() -> Result<(String, Option<String>), Error> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_STDIN + 1).read_to_end(&mut bytes);
    if let Err(error) = read {
        // Closed before the program began.
        if error.raw_os_error() == Some(rustix::io::Errno::BADF.raw_os_error()) {
            return Ok((String::new(), None));
        }
        return Err(Error::usage("cannot read stdin", error));
    }
    let cut = bytes.len() as u64 > MAX_STDIN;
    bytes.truncate(usize::try_from(MAX_STDIN).unwrap_or(usize::MAX));
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if cut {
        text.push_str("\n[cut: stdin is longer than 4 MiB]");
    }
    Ok((text, cut.then(|| "stdin is longer than 4 MiB; the rest is left out".to_owned())))
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
