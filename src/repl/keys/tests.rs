use rustyline::{Cmd, KeyCode, KeyEvent, Modifiers, Movement};

use super::{Keys, goes_on};

const START: KeyEvent = KeyEvent(KeyCode::BracketedPasteStart, Modifiers::NONE);
const END: KeyEvent = KeyEvent(KeyCode::BracketedPasteEnd, Modifiers::NONE);

/// What a paste of this text puts into the line.
fn paste(keys: &Keys, text: &str) -> Cmd {
    assert_eq!(keys.key(START, "", 0), Some(Cmd::Noop));
    for c in text.chars() {
        assert_eq!(keys.key(KeyEvent::new(c, Modifiers::NONE), "", 0), Some(Cmd::Noop), "{c:?}");
    }
    keys.key(END, "", 0).unwrap()
}

#[test]
fn a_paste_is_one_piece() {
    for (pasted, inserted) in [
        ("a\rb\n\tc\r\n", "a\nb\n\tc\n"),
        ("x\r\r\ny", "x\n\ny"),
        ("東京👨\u{200d}👩", "東京👨\u{200d}👩"),
        ("a\u{3}b\u{4}\u{1}\u{7}", "ab"),
    ] {
        assert_eq!(paste(&Keys::default(), pasted), Cmd::Insert(1, inserted.into()));
    }
    assert_eq!(paste(&Keys::default(), ""), Cmd::Noop);
}

#[test]
fn a_long_paste_is_a_mark_until_it_is_sent() {
    let keys = Keys::default();
    let long = "line\n".repeat(5_000);
    assert_eq!(paste(&keys, &long), Cmd::Insert(1, "[pasted text #1, 5000 lines]".into()));
    let wide = "[pasted text #1, 5000 lines]".repeat(100);
    assert_eq!(paste(&keys, &wide), Cmd::Insert(1, "[pasted text #2, 1 line]".into()));
    let message = "a [pasted text #1, 5000 lines] [pasted text #2, 1 line] [pasted text #3] b";
    assert_eq!(keys.finish(message), format!("a {long} {wide} [pasted text #3] b"));
    assert_eq!(keys.finish("[pasted text #1, 5000 lines]"), "[pasted text #1, 5000 lines]");
}

#[test]
fn enter_sends_unless_the_message_goes_on() {
    let keys = Keys::default();
    let enter = KeyEvent(KeyCode::Enter, Modifiers::NONE);
    for (line, expected) in [
        ("hello", None),
        ("", None),
        ("a \\", Some(Cmd::Newline)),
        ("```rust\nfn main() {}", Some(Cmd::Newline)),
        ("```rust\nfn main() {}\n```", None),
        ("```rust\n\n\n", None),
        ("say ``` please", None),
    ] {
        assert_eq!(keys.key(enter, line, line.len()), expected, "{line}");
    }
    assert_eq!(keys.key(enter, "a\\b\\", 2), None);
    keys.asking(true);
    assert_eq!(keys.key(enter, "a \\", 3), None);
    assert!(goes_on("```") && !goes_on(""));
}

#[test]
fn interrupt_clears_a_line_first() {
    let keys = Keys::default();
    let interrupt = KeyEvent::ctrl('C');
    assert_eq!(keys.key(interrupt, "text", 4), Some(Cmd::Kill(Movement::WholeBuffer)));
    assert_eq!(keys.key(interrupt, "", 0), None);
    keys.asking(true);
    assert_eq!(keys.key(interrupt, "text", 4), None);
}

#[test]
fn the_backslash_of_a_continued_line_goes() {
    let keys = Keys::default();
    let enter = KeyEvent(KeyCode::Enter, Modifiers::NONE);
    assert_eq!(paste(&keys, "echo \\\rx\r"), Cmd::Insert(1, "echo \\\nx\n".into()));
    for line in ["echo \\\nx\none\\", "echo \\\nx\none\\\ntwo \\\\"] {
        assert_eq!(keys.key(enter, line, line.len()), Some(Cmd::Newline));
    }
    let message = "echo \\\nx\none\\\ntwo \\\\\nend\\";
    assert_eq!(keys.finish(message), "echo \\\nx\none\ntwo \\\nend\\");
    assert_eq!(keys.finish(message), message);
}
