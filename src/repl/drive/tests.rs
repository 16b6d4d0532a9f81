use tokio_util::sync::CancellationToken;

use super::{Asked, COMMENT, Driven, Said, answer, unattended};
use crate::agent::Answer;
use crate::repl::editor::Line;
use crate::repl::signals::Signal::{self, HangUp, Interrupt, Terminate};
use crate::repl::signals::Signals;
use crate::update::Update;

#[test]
fn only_a_clear_yes_is_a_yes() {
    let no = |text: &str| Answer::No(Some(text.into()));
    for (text, expected) in [
        ("y", Answer::Yes),
        (" YES ", Answer::Yes),
        ("a", Answer::Always),
        ("always", Answer::Always),
        ("", Answer::No(None)),
        ("n", Answer::No(None)),
        ("No", Answer::No(None)),
        ("yy", no("yy")),
        ("yes but not in src", no("yes but not in src")),
        ("y\ny", no("y\ny")),
        ("use make instead", no("use make instead")),
    ] {
        let said = answer(Line::Text(text.into()), true, false);
        assert_eq!(said, Said::Answer(expected), "{text}");
    }
    for line in [Line::Interrupted, Line::Eof] {
        for (always, comment) in [(true, false), (false, false), (false, true)] {
            assert_eq!(answer(line.clone(), always, comment), Said::Answer(Answer::No(None)));
        }
    }
}

#[test]
fn a_comment_and_an_always_that_is_none_are_asked_for_again() {
    let text = |text: &str| Line::Text(text.into());
    let no = |text: &str| Said::Answer(Answer::No(Some(text.into())));
    assert_eq!(answer(text("c"), true, false), Said::Again(COMMENT));
    assert_eq!(answer(text("c use make"), true, false), no("use make"));
    for comment in ["y", "a", "use make"] {
        assert_eq!(answer(text(comment), true, true), no(comment), "a comment is no answer");
    }
    assert_eq!(answer(text(""), true, true), Said::Answer(Answer::No(None)));
    assert!(matches!(answer(text("a"), false, false), Said::Again(again) if again != COMMENT));
}

/// Whether each signal drops the work, and how it ends if none does.
fn signals(signals: &[Signal]) -> (Vec<bool>, Driven<()>) {
    let cancel = CancellationToken::new();
    let mut asked = Asked::default();
    let drops = signals.iter().map(|signal| asked.signal(*signal, &cancel)).collect();
    assert_eq!(cancel.is_cancelled(), !signals.is_empty());
    (drops, asked.done(()))
}

#[test]
fn the_second_signal_does_not_wait() {
    for (sent, drops, end) in [
        (&[][..], &[][..], Driven::Done(())),
        (&[Interrupt], &[false], Driven::Done(())),
        (&[Interrupt, Interrupt], &[false, true], Driven::Done(())),
        (&[Terminate], &[false], Driven::DoneThenEnd(())),
        (&[Terminate, Terminate], &[false, true], Driven::DoneThenEnd(())),
        (&[Interrupt, Terminate], &[false, false], Driven::DoneThenEnd(())),
        (&[Terminate, Interrupt], &[false, true], Driven::DoneThenEnd(())),
        (&[HangUp, HangUp], &[false, false], Driven::DoneThenEnd(())),
        (&[HangUp, Terminate], &[false, true], Driven::DoneThenEnd(())),
    ] {
        assert_eq!(signals(sent), (drops.to_vec(), end), "{sent:?}");
    }
}

/// A screen whose reader has gone.
struct Closed;

impl crate::ui::Screen for Closed {
    fn show(&mut self, _: &Update) {}
    fn error(&mut self, _: &crate::error::Error) {}
    fn flush(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_closed_output_cancels_unattended_work() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let screen = crate::ui::start(Closed).unwrap();
        let mut signals = Signals::listen().unwrap();
        let cancel = CancellationToken::new();
        screen.show(Update::Waiting);
        let ended = unattended(&mut signals, &screen, &cancel, cancel.cancelled()).await;
        assert_eq!(ended, Driven::Done(()));
    });
}
