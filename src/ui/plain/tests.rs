use super::{Plain, PlainOptions};
use crate::error::Error;
use crate::event::Ending;
use crate::ui::{Screen, script};
use crate::update::Update;

fn shown(updates: &[Update], options: PlainOptions) -> (String, String) {
    let mut screen = Plain::new(Vec::new(), Vec::new(), options);
    for update in updates {
        screen.show(update);
    }
    screen.flush().unwrap();
    (String::from_utf8(screen.out).unwrap(), String::from_utf8(screen.err).unwrap())
}

#[test]
fn the_answer_alone_is_on_stdout() {
    let (out, err) = shown(&script::turn(), PlainOptions::default());
    assert_eq!(out, "The test passes now.\nDone.\n");
    insta::assert_snapshot!(err, @r"
    instructions: AGENTS.md
    deepseek: 503 overloaded; asking again in 2.0 s (1 of 5)
    First I look.
    ● read src/main.rs  42 lines
    ● edit src/main.rs  1 replacement
    ✗ shell cargo test  denied: the mode is plan; ask the user to change it with --permission-mode
    older messages compacted: 90k → 20k tokens
    warning: the log cannot be written
    ");
}

#[test]
fn a_call_is_one_line_of_bounded_length() {
    let calls = [
        script::tool("c1", &"n".repeat(1_000_000), ""),
        script::tool("c2", "shell", &"echo one\n".repeat(100_000)),
    ];
    let updates = calls.map(|tool| script::finished(tool, "", true, ("failed", None)));
    let (_, err) = shown(&updates, PlainOptions::default());
    assert_eq!(err.lines().count(), 2);
    assert!(err.len() < 1_000 && err.contains("…  failed\n"), "{err}");
}

#[test]
fn verbose_adds_the_figures() {
    let options = PlainOptions { verbose: true, terminal: false };
    let (out, err) = shown(&script::turn(), options);
    assert_eq!(out, "The test passes now.\nDone.\n");
    insta::assert_snapshot!(err, @r"
    instructions: AGENTS.md
    model deepseek-chat (deepseek), session 20260101T000000Z-abcd
    deepseek: 503 overloaded; asking again in 2.0 s (1 of 5)
    First I look.
    ● read src/main.rs  42 lines
    ● edit src/main.rs  1 replacement
    ✗ shell cargo test  denied: the mode is plan; ask the user to change it with --permission-mode
    older messages compacted: 90k → 20k tokens
    warning: the log cannot be written
    2 steps · 12k in (75 % cached) · 340 out · context 9 % · 14 s · $0.0123
    ");
}

#[test]
fn the_answer_is_inert_and_ends_with_one_newline() {
    for (answer, file, terminal) in [
        ("a\u{1b}[2Jb\u{7}\r\n\n", "ab\n", "ab\n"),
        ("a\u{200b}b", "a\u{200b}b\n", "ab\n"),
        (" \n", "", ""),
        ("  x", "  x\n", "  x\n"),
    ] {
        let mut summary = script::summary();
        summary.answer = answer.into();
        let updates = [Update::TurnFinished(summary)];
        assert_eq!(shown(&updates, PlainOptions::default()).0, file);
        let options = PlainOptions { terminal: true, verbose: false };
        assert_eq!(shown(&updates, options).0, terminal);
    }
}

#[test]
fn a_failure_is_told_on_stderr() {
    let mut summary = script::summary();
    summary.ending = Ending::Error;
    summary.answer = "half".into();
    summary.detail = "connection lost".into();
    summary.help = Some("try again".into());
    let (out, err) = shown(&[Update::TurnFinished(summary)], PlainOptions::default());
    assert_eq!(out, "half\n");
    assert_eq!(err, "error: the turn failed: connection lost\nhelp: try again\n");
}

#[test]
fn an_error_of_the_program_is_on_stderr() {
    let mut screen = Plain::new(Vec::new(), Vec::new(), PlainOptions::default());
    screen.error(&Error::usage("no model", "nothing is configured"));
    screen.flush().unwrap();
    assert!(screen.out.is_empty());
    assert_eq!(screen.err, b"error: no model: nothing is configured\n");
}
