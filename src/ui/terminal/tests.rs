use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::{Terminal, TerminalOptions};
use crate::error::Error;
use crate::event::Ending;
use crate::ui::{Screen, script, style};
use crate::update::{Ask, Update};

fn screen(width: usize, color: bool, interactive: bool) -> Terminal<Vec<u8>> {
    let width = Box::new(move || width);
    Terminal::new(Vec::new(), TerminalOptions { color, interactive, verbose: false, width })
}

fn shown(mut screen: Terminal<Vec<u8>>, updates: &[Update]) -> String {
    for update in updates {
        screen.show(update);
    }
    screen.rest();
    screen.flush().unwrap();
    String::from_utf8(screen.out).unwrap()
}

#[test]
fn a_turn_in_80_columns() {
    insta::assert_snapshot!(shown(screen(80, false, false), &script::turn()), @r"
    xsh 0.1.0 · deepseek-chat (deepseek) · /work/demo · mode auto · sandbox full
    AGENTS.md · /help lists the commands
    I will

    (the answer above was cut off; asking again)
    deepseek: 503 overloaded; asking again in 2.0 s (1 of 5)

    Look at
    the test.

    First I look.

    ● read src/main.rs  42 lines
    ● edit src/main.rs  1 replacement
        1 - a
        1 + b
        2   c
    ✗ shell cargo test
      denied: the mode is plan; ask the user to change it with --permission-mode · …
    older messages summarised: 90k → 20k tokens
    warning: the log cannot be written

    The test passes now.
    Done.

    2 steps · 12k in (75 % cached) · 340 out · context 9 % · 14 s · $0.0123
    ");
}

#[test]
fn a_turn_in_40_columns() {
    let out = shown(screen(40, false, false), &script::turn());
    for line in out.lines().filter(|line| line.starts_with(['●', '✗', ' '])) {
        assert!(style::width(line) <= 40, "{line}");
    }
    insta::assert_snapshot!(out, @r"
    xsh 0.1.0 · deepseek-chat (deepseek)
    /work/demo · mode auto · sandbox full
    AGENTS.md · /help lists the commands
    I will

    (the answer above was cut off; asking again)
    deepseek: 503 overloaded; asking again in 2.0 s (1 of 5)

    Look at
    the test.

    First I look.

    ● read src/main.rs  42 lines
    ● edit src/main.rs  1 replacement
        1 - a
        1 + b
        2   c
    ✗ shell cargo test
      denied: the mode is plan; ask the use…
    older messages summarised: 90k → 20k tokens
    warning: the log cannot be written

    The test passes now.
    Done.

    2 steps · 12k in (75 % cached) · 340 out
    context 9 % · 14 s · $0.0123
    ");
}

#[test]
fn colours_are_only_styles() {
    let out = shown(screen(80, true, false), &script::turn());
    assert!(
        out.contains("\x1b[32m●\x1b[0m \x1b[1mread\x1b[0m src/main.rs  \x1b[2m42 lines\x1b[0m")
    );
    let styles = regex::Regex::new("\x1b\\[(0|1|2|31|32|33)m").unwrap();
    assert_eq!(styles.replace_all(&out, ""), shown(screen(80, false, false), &script::turn()));
}

/// What is written for the status line at these seconds after it began.
fn statuses(updates: &[Update], seconds: &[u64]) -> Vec<String> {
    let mut screen = screen(50, false, true);
    for update in updates {
        screen.show(update);
    }
    let begin = Instant::now();
    screen.buffer.clear();
    let mut statuses = Vec::new();
    for &second in seconds {
        screen.tick(begin + Duration::from_secs(second));
        statuses.push(std::mem::take(&mut screen.buffer));
    }
    screen.show(&Update::Note("note".into()));
    statuses.push(screen.buffer);
    statuses
}

#[test]
fn the_status_line_lives_and_leaves_no_trace() {
    assert_eq!(
        statuses(&[Update::Waiting], &[0, 3]),
        [
            "⠋ waiting for the model · 0 s · Ctrl-C stops",
            "\r\x1b[K⠋ waiting for the model · 3 s · Ctrl-C stops",
            "\r\x1b[Knote\n",
        ]
    );
    let long = script::tool("c", "shell", "cargo test --workspace --all-targets 東京タワー");
    assert_eq!(
        statuses(&[Update::ToolStarted(long)], &[0]),
        ["⠋ shell cargo test --worksp… · 0 s · Ctrl-C stops", "\r\x1b[Knote\n"]
    );
    let tools = ["a", "b"].map(|id| Update::ToolStarted(script::tool(id, "read", "x")));
    assert_eq!(statuses(&tools, &[0])[0], "⠋ 2 tools · 0 s · Ctrl-C stops");
    let retry =
        Update::Retrying { reason: "x".into(), wait: Duration::from_secs(4), attempt: 1, of: 5 };
    assert_eq!(
        statuses(&[retry], &[0, 3, 9])[..3],
        [
            "⠋ asking again in 4 s · Ctrl-C stops",
            "\r\x1b[K⠋ asking again in 1 s · Ctrl-C stops",
            "\r\x1b[K⠋ asking again in 0 s · Ctrl-C stops",
        ]
    );
}

#[test]
fn no_status_within_streamed_text() {
    let streaming = [Update::Waiting, Update::Text("half a".into())];
    assert_eq!(statuses(&streaming, &[0, 5]), ["", "", "\n\nnote\n"]);
}

#[test]
fn only_an_interactive_terminal_has_a_status_line() {
    let mut screen = screen(50, false, false);
    screen.show(&Update::Waiting);
    assert!(!screen.tick(Instant::now()));
    assert_eq!(screen.buffer, "");
}

#[test]
fn endings_errors_and_questions() {
    let mut cancelled = script::summary();
    cancelled.ending = Ending::Cancelled;
    cancelled.detail = "the shell command was stopped".into();
    let mut failed = script::summary();
    failed.ending = Ending::Error;
    failed.detail = "deepseek: 401 invalid key\u{1b}[2J".into();
    failed.help = Some("set DEEPSEEK_API_KEY".into());
    let mut screen = screen(60, false, false);
    screen.show(&Update::TurnFinished(cancelled));
    screen.show(&Update::TurnFinished(failed));
    screen.error(&Error::failed("cannot resume", "no session").help("xsh sessions lists them"));
    screen.ask(&Ask {
        tool: "shell".into(),
        subject: "make\nmake install".into(),
        cwd: "/work".into(),
        ..Ask::default()
    });
    insta::assert_snapshot!(shown(screen, &[]), @r"
    interrupted: the shell command was stopped

    2 steps · 12k in (75 % cached) · 340 out · context 9 %
    14 s · $0.0123

    error: the turn failed: deepseek: 401 invalid key
    help: set DEEPSEEK_API_KEY

    2 steps · 12k in (75 % cached) · 340 out · context 9 %
    14 s · $0.0123

    error: cannot resume: no session
    help: xsh sessions lists them
    ? Allow shell
      │ make
      │ make install
      in /work
    ");
}

#[test]
fn reasoning_is_short_unless_verbose() {
    let long = Update::Reasoning("word ".repeat(1000));
    let out = shown(screen(80, false, false), std::slice::from_ref(&long));
    assert_eq!(out.chars().count(), super::REASONING_SHOWN + " …\n".chars().count());
    let mut verbose = screen(80, false, false);
    verbose.options.verbose = true;
    assert_eq!(shown(verbose, &[long]).len(), 5001);
}

#[test]
fn the_demo_is_labelled() {
    let mut session = script::opened();
    session.scripted = true;
    session.resumed_turns = Some(3);
    insta::assert_snapshot!(shown(screen(60, false, false), &[Update::SessionOpened(session)]), @r"
    xsh 0.1.0 · deepseek-chat (deepseek) · /work/demo
    mode auto · sandbox full · AGENTS.md · resumed, 3 turns
    Demo: the replies come from a script, not from a model.
    ");
}

proptest! {
    #[test]
    fn the_cut_of_a_stream_does_not_show(
        text in "[a \n\r東\u{1b}\\[m]{0,40}",
        cuts in prop::collection::vec(0usize..6, 0..20),
    ) {
        let whole = shown(screen(80, false, false), &[Update::Text(text.clone())]);
        let mut chars = text.chars();
        let pieces: Vec<_> = cuts
            .into_iter()
            .chain([usize::MAX])
            .map(|cut| Update::Text(chars.by_ref().take(cut).collect()))
            .collect();
        prop_assert_eq!(shown(screen(80, false, false), &pieces), whole);
    }
}
