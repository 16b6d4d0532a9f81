//! Runs cancellable work while signals and questions are attended to.

use std::pin::pin;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Shell;
use super::editor::Line;
use super::signals::{Signal, Signals};
use crate::agent::{Answer, Question};
use crate::ui::{Handle, question::Ask};
use crate::update::Update;

/// A cancelled turn that takes longer than this says so.
const SLOW_STOP: Duration = Duration::from_secs(1);

/// How work ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Driven<T> {
    /// It came to its end, cancelled or not.
    Done(T),
    /// The same, and a signal asks the program to end.
    DoneThenEnd(T),
    /// A second signal came while it was being stopped; it was dropped.
    Abandoned,
}

/// What signals have asked for so far.
#[derive(Default)]
struct Asked {
    end: bool,
}

impl Asked {
    /// Takes a signal in. True if the work must be dropped at once.
    fn signal(&mut self, signal: Signal, cancel: &CancellationToken) -> bool {
        let again = cancel.is_cancelled();
        let end_again = self.end;
        self.end |= signal != Signal::Interrupt;
        cancel.cancel();
        again
            && match signal {
                Signal::Interrupt => true,
                Signal::Terminate => end_again,
                Signal::HangUp => false,
            }
    }

    fn done<T>(&self, value: T) -> Driven<T> {
        if self.end { Driven::DoneThenEnd(value) } else { Driven::Done(value) }
    }
}

/// Runs work at the keyboard: Ctrl-C cancels it, the agent's questions go to the user.
pub(super) async fn drive<T>(
    shell: &mut Shell,
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Driven<T> {
    let mut work = pin!(work);
    let mut asked = Asked::default();
    let mut open: Option<Question> = None;
    let mut said_slow = false;
    let driven = loop {
        tokio::select! {
            value = &mut work => break asked.done(value),
            signal = shell.signals.next() => {
                if asked.signal(signal, cancel) {
                    break Driven::Abandoned;
                }
            }
            Some(question) = shell.questions.recv(), if open.is_none() => {
                shell.screen.pause().await;
                shell.screen.ask(visible(&question)).await;
                shell.editor.ask_answer(&prompt(&question.tool));
                open = Some(question);
            }
            line = shell.editor.line(), if open.is_some() => {
                // Ctrl-C at a question is a no, and stops the turn like anywhere else.
                if line == Line::Interrupted {
                    cancel.cancel();
                }
                if let Some(question) = open.take() {
                    let _ = question.answer.send(answer(line));
                }
                shell.screen.resume();
            }
            () = shell.screen.broken().cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            () = sleep(SLOW_STOP), if cancel.is_cancelled() && !said_slow => {
                said_slow = true;
                let text = "Still stopping; Ctrl-C again quits at once.";
                shell.screen.show(Update::Note(text.to_owned()));
            }
        }
    };
    if open.is_some() {
        shell.screen.resume();
    }
    driven
}

/// Runs one turn without a keyboard: a signal or a closed output cancels it.
pub async fn unattended<T>(
    signals: &mut Signals,
    screen: &Handle,
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Driven<T> {
    let mut work = pin!(work);
    let mut asked = Asked::default();
    loop {
        tokio::select! {
            value = &mut work => return asked.done(value),
            signal = signals.next() => {
                if asked.signal(signal, cancel) {
                    return Driven::Abandoned;
                }
            }
            () = screen.broken().cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
        }
    }
}

fn visible(question: &Question) -> Ask {
    Ask {
        tool: question.tool.clone(),
        subject: question.subject.clone(),
        diff: question.diff.clone(),
        cwd: question.cwd.clone(),
    }
}

fn prompt(tool: &str) -> String {
    let tool = crate::ui::sanitize::line(tool);
    format!("y yes, a always for {tool}, n no, or why not > ")
}

/// What a line means as an answer. Whatever is not clearly a yes is a no, and its text is for the
/// model.
fn answer(line: Line) -> Answer {
    let Line::Text(text) = line else { return Answer::No(None) };
    let text = text.trim();
    match text.to_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        "a" | "always" => Answer::Always,
        "" | "n" | "no" => Answer::No(None),
        _ => Answer::No(Some(text.to_owned())),
    }
}

#[cfg(test)]
mod tests;
