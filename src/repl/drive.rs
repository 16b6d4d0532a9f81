//! Runs cancellable work while signals and questions are attended to.

use std::pin::pin;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::editor::Line;
use super::signals::{Signal, Signals};
use super::{Shell, note};
use crate::agent::{Answer, Question};
use crate::ui::Handle;

/// How often to look for what the user should be told of.
const LOOK: Duration = Duration::from_millis(250);

/// A cancelled turn that takes longer than so many looks says so.
const SLOW_STOP: u32 = 4;

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
    let mut stopping = 0;
    let mut commenting = false;
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
                shell.screen.ask(question.ask.clone()).await;
                shell.editor.ask_answer(prompt(&question));
                open = Some(question);
            }
            line = shell.editor.line(), if open.is_some() => {
                // Ctrl-C at a question is a no, and stops the turn like anywhere else.
                if line == Line::Interrupted {
                    cancel.cancel();
                }
                let Some(question) = open.take() else { continue };
                match answer(line, question.always.is_some(), std::mem::take(&mut commenting)) {
                    Said::Answer(answer) => {
                        let _ = question.answer.send(answer);
                        shell.screen.resume();
                    }
                    Said::Again(prompt) => {
                        commenting = prompt == COMMENT;
                        shell.editor.ask_answer(prompt);
                        open = Some(question);
                    }
                }
            }
            () = shell.screen.broken().cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            () = sleep(LOOK) => {
                stopping += u32::from(cancel.is_cancelled());
                if stopping == SLOW_STOP {
                    note(shell, "Still stopping; Ctrl-C again quits at once.");
                } else if shell.editor.typed_ahead() {
                    note(shell, "What you type waits until this is done; Ctrl-C stops it.");
                }
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

const COMMENT: &str = "why not > ";

fn prompt(question: &Question) -> &'static str {
    match question.always {
        Some(_) => "y yes, n no, a always, c no and why > ",
        None => "y yes, n no, c no and why > ",
    }
}

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Answer(Answer),
    /// Nothing yet: ask for a line with this prompt.
    Again(&'static str),
}

/// What a line means as an answer. Whatever is not clearly a yes is a no, and its text is for the
/// model.
fn answer(line: Line, always: bool, comment: bool) -> Said {
    let Line::Text(text) = line else { return Said::Answer(Answer::No(None)) };
    let text = text.trim();
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    if comment {
        return Said::Answer(Answer::No(said(text)));
    }
    Said::Answer(match text.to_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        "a" | "always" if always => Answer::Always,
        "a" | "always" => {
            return Said::Again("always is no answer here: y yes, n no, c no and why > ");
        }
        "" | "n" | "no" => Answer::No(None),
        "c" => return Said::Again(COMMENT),
        _ => Answer::No(said(text.strip_prefix("c ").unwrap_or(text).trim())),
    })
}

#[cfg(test)]
mod tests;
