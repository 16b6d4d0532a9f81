//! The loop at the keyboard: read a message or a command, do it, show what came of it.
//!
//! It owns the keys and the signals, and hands questions from the agent to the user. What a turn
//! does is the agent's business, how it looks the screen's.

pub mod commands;
mod complete;
pub mod drive;
pub mod editor;
mod export;
mod keys;
pub mod lists;
mod model;
pub mod pick;
mod sessions;
pub mod signals;
pub mod trust;
pub mod tty;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Question};
use crate::desk::Desk;
use crate::error::{Error, Exit};
use crate::session::store::Store;
use crate::ui::Handle;
use crate::update::Update;
use commands::Command;
use drive::{Driven, drive};
use editor::{Editor, Line};
use signals::{Signal, Signals};

/// What the loop works with, beside the agent.
pub struct Shell {
    /// What the agent asks.
    pub questions: mpsc::UnboundedReceiver<Question>,
    /// Where everything is shown.
    pub screen: Handle,
    /// The keys.
    pub editor: Editor,
    /// Ctrl-C and the requests to end.
    pub signals: Signals,
    /// For `/sessions`.
    pub store: Store,
}

/// Runs until the user quits. `first` is sent as if it had been typed. The result is how the
/// process ends; what goes wrong in a turn or a command is shown, and the loop goes on.
pub async fn run(
    agent: &mut Agent,
    desk: &mut Desk,
    shell: &mut Shell,
    first: Option<String>,
) -> Exit {
    let exit = converse(agent, desk, shell, first).await;
    match agent.save_rest() {
        Ok(()) => exit,
        Err(error) => {
            shell.screen.error(error);
            Exit::Failed
        }
    }
}

async fn converse(
    agent: &mut Agent,
    desk: &mut Desk,
    shell: &mut Shell,
    first: Option<String>,
) -> Exit {
    shell.editor.complete_models(desk.names(&agent.model().0));
    // Also between two prompts: what is typed while a command is carried out is kept as it is.
    let _quiet = shell.editor.quiet();
    let mut next = first;
    let mut warned = false;
    loop {
        let typed = match next.take() {
            Some(text) => {
                note(shell, &format!("> {text}"));
                Typed::Line(Line::Text(text))
            }
            None => read(agent, shell).await,
        };
        let done = match typed {
            Typed::Line(Line::Text(text)) => {
                warned = false;
                message(agent, desk, shell, &text).await
            }
            Typed::Line(Line::Interrupted) if !warned => {
                warned = true;
                note(shell, "Ctrl-C again, or Ctrl-D, quits.");
                None
            }
            Typed::Line(Line::Interrupted | Line::Eof) => Some(Exit::Done),
            Typed::End => Some(Exit::Interrupted),
        };
        if let Some(exit) = done {
            return exit;
        }
        if shell.screen.broken().is_cancelled() {
            return Exit::Done;
        }
    }
}

enum Typed {
    Line(Line),
    /// A signal asks the program to end.
    End,
}

/// Reads a message while the screen stands still.
async fn read(agent: &mut Agent, shell: &mut Shell) -> Typed {
    shell.screen.pause().await;
    shell.editor.ask_message(&format!("{}> ", agent.mode().name()));
    agent.warm_up();
    let typed = tokio::select! {
        line = shell.editor.line() => Typed::Line(line),
        signal = shell.signals.next() => match signal {
            Signal::Interrupt => Typed::Line(Line::Interrupted),
            Signal::Terminate | Signal::HangUp => Typed::End,
        },
    };
    shell.screen.resume();
    typed
}

/// Does what a message or command asks. An exit means that the program ends.
async fn message(
    agent: &mut Agent,
    desk: &mut Desk,
    shell: &mut Shell,
    text: &str,
) -> Option<Exit> {
    if text.trim().is_empty() {
        return None;
    }
    let command = text.trim();
    if !commands::is_command(command) {
        let cancel = CancellationToken::new();
        return driven(drive(shell, &cancel, agent.turn(text, &cancel)).await, shell, |_, _| ());
    }
    match commands::parse(command) {
        Ok(Command::Quit) => Some(Exit::Done),
        Ok(Command::Compact(focus)) => {
            let cancel = CancellationToken::new();
            let work = agent.compact(focus.as_deref(), &cancel);
            driven(drive(shell, &cancel, work).await, shell, |shell, said| note(shell, &said))
        }
        Ok(Command::Resume(id)) => {
            let cancel = CancellationToken::new();
            let work = agent.resume_session(id, &cancel);
            driven(drive(shell, &cancel, work).await, shell, |_, ()| ())
        }
        Ok(Command::Sessions(words)) => {
            let cancel = CancellationToken::new();
            let work = sessions::look(shell.store.clone(), agent.session().0, words, &cancel);
            driven(drive(shell, &cancel, work).await, shell, |shell, said| note(shell, &said))
        }
        Ok(Command::Export(file)) => {
            let cancel = CancellationToken::new();
            let work = export::export(agent, file, &cancel);
            driven(drive(shell, &cancel, work).await, shell, |shell, said| note(shell, &said))
        }
        Ok(Command::Model(name)) => {
            let done = match name {
                Some(name) => model::switch(agent, desk, shell, &name).await,
                None => model::list(agent, desk, shell).await,
            };
            driven(done, shell, |shell, said| note(shell, &said))
        }
        Ok(command) => {
            match execute(agent, &command) {
                Ok(said) if said.is_empty() => {}
                Ok(said) => note(shell, &said),
                Err(error) => shell.screen.error(error),
            }
            None
        }
        Err(error) => {
            shell.screen.error(Error::usage(error, ""));
            None
        }
    }
}

/// Shows what came of cancellable work.
fn driven<T>(
    outcome: Driven<Result<T, Error>>,
    shell: &Shell,
    show: impl FnOnce(&Shell, T),
) -> Option<Exit> {
    let (result, exit) = match outcome {
        Driven::Done(result) => (result, None),
        Driven::DoneThenEnd(result) => (result, Some(Exit::Interrupted)),
        Driven::Abandoned => {
            shell.screen.give_up();
            return Some(Exit::Interrupted);
        }
    };
    match result {
        Ok(value) => show(shell, value),
        Err(error) => shell.screen.error(error),
    }
    exit
}

/// The commands that are done at once. Says what to show.
fn execute(agent: &mut Agent, command: &Command) -> Result<String, Error> {
    match command {
        Command::Help => Ok(commands::help()),
        Command::New => agent.new_session().map(|()| String::new()),
        Command::Context => Ok(lists::context(&agent.context())),
        Command::Effort(level) => model::effort(agent, level.as_deref()),
        Command::Permissions(None) => Ok(agent.permissions()),
        Command::Permissions(Some(mode)) => agent.set_mode(commands::mode(mode)?),
        Command::Tools => Ok(lists::tools(&agent.tools())),
        Command::Jobs(None) => Ok(agent.list_jobs()),
        Command::Jobs(Some(what)) => agent.stop_job(commands::job_to_stop(what)?),
        Command::Undo => agent.undo(),
        Command::Rewind(None) => Ok(lists::points(&agent.rewind_points())),
        Command::Rewind(Some(to)) => {
            let (number, scope) = commands::rewind_target(to)?;
            agent.rewind(number, scope)
        }
        Command::Fork(None) => agent.fork(None),
        Command::Fork(Some(to)) => agent.fork(Some(commands::number(to)?)),
        Command::Compact(_)
        | Command::Export(_)
        | Command::Model(_)
        | Command::Resume(_)
        | Command::Sessions(_)
        | Command::Quit => Ok(String::new()),
    }
}

fn note(shell: &Shell, text: &str) {
    shell.screen.show(Update::Note(text.to_owned()));
}
