use std::time::Duration;

use super::{ending, exit, time, tokens, usage};
use crate::error::Exit;
use crate::event::Ending;
use crate::message::Usage;
use crate::ui::script;

#[test]
fn token_counts() {
    for (count, expected) in [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_249, "1.2k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (128_000, "128k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (1_549_999, "1.5M"),
    ] {
        assert_eq!(tokens(count), expected);
    }
}

#[test]
fn spans() {
    for (millis, expected) in [
        (0, "0.0 s"),
        (3_149, "3.1 s"),
        (9_999, "9.9 s"),
        (42_000, "42 s"),
        (125_000, "2 m 05 s"),
        (3_720_000, "1 h 02 m"),
    ] {
        assert_eq!(time(Duration::from_millis(millis)), expected);
    }
}

#[test]
fn the_line_after_a_turn() {
    let mut summary = script::summary();
    assert_eq!(
        usage(&summary),
        "2 steps · 12k in (75 % cached) · 340 out · context 9 % · 14 s · $0.0123"
    );
    summary.window = None;
    summary.steps = 1;
    summary.usage = Usage { cost: Some(1.5), ..Usage::default() };
    assert_eq!(usage(&summary), "1 step · 0 in · 0 out · context 12k of ~128k · 14 s · $1.50");
}

#[test]
fn every_ending_has_its_words_and_code() {
    for (kind, words, code) in [
        (Ending::Completed, None, Exit::Done),
        (Ending::Cancelled, Some("error: interrupted: why"), Exit::Interrupted),
        (Ending::StepLimit, Some("error: stopped at the step limit: why"), Exit::Limit),
        (Ending::Repeating, Some("error: stopped: the model gets nowhere: why"), Exit::Limit),
        (Ending::Empty, Some("error: the model gave no answer: why"), Exit::Failed),
        (Ending::Refused, Some("error: the provider withheld the answer: why"), Exit::Failed),
        (Ending::Error, Some("error: the turn failed: why"), Exit::Failed),
        (Ending::Other, Some("error: the turn ended early: why"), Exit::Failed),
    ] {
        let mut summary = script::summary();
        summary.ending = kind;
        summary.detail = "why".into();
        assert_eq!(ending(&summary).map(|e| e.to_string()).as_deref(), words);
        assert_eq!(exit(&summary), code);
    }
    let mut denied = script::summary();
    denied.denied = true;
    assert_eq!(exit(&denied), Exit::Denied);
}
