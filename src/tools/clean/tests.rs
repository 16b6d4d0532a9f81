#![expect(clippy::format_collect, reason = "test texts are small")]

use proptest::prelude::*;

use super::{Cleaner, HOLD, Lost};

fn clean_pieces(pieces: &[&[u8]]) -> (String, Lost) {
    let mut cleaner = Cleaner::default();
    let mut text = String::new();
    for piece in pieces {
        cleaner.push(piece, &mut |part| text.push_str(part));
    }
    let lost = cleaner.finish(&mut |part| text.push_str(part));
    (text, lost)
}

fn clean(bytes: &[u8]) -> String {
    clean_pieces(&[bytes]).0
}

#[test]
fn only_the_text_is_left() {
    fn check(given: &str, expected: &str) {
        assert_eq!(clean(given.as_bytes()), expected, "{given:?}");
    }
    check("plain\ttext\nä🌍\n", "plain\ttext\nä🌍\n");
    check("\x1b[1;31merror\x1b[0m: no\x1b[K", "error: no");
    check("\x1b[38;2;1;2;3mx\x1b[?25l\x1b[2Jy", "xy");
    check("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb");
    check("\x1bPdata\x1b\\a\x1b(Bb\x1b=c\x1b7d", "abcd");
    check("\x1b[31\nnext", "\nnext");
    check("\x1b]never ended\nnext\n", "\nnext\n");
    check("\x1b", "");
    check("10%\r50%\r100%\ndone\n", "10%\n100%\ndone\n");
    check("a\rb\nc\rd\n", "a\nb\nc\nd\n");
    check("first\nold\r\x1b[Knew", "first\nold\nnew");
    check("dos\r\nline\r\r\n", "dos\nline\n");
    check("last\r", "last");
    check("_\x08x\x08\x08\x08y", "y");
    check("a\n\x08b\x07\x0e\x7f", "a\nb");
    check("é\x08e", "e");
    check("a\x0cb\0c", "a\nb\u{fffd}c");
}

#[test]
fn what_is_not_text_is_shown_and_counted() {
    let check = |bytes: &[u8], expected: &str, replaced: u64| {
        let lost = Lost { replaced, states: 0 };
        assert_eq!(clean_pieces(&[bytes]), (expected.to_owned(), lost));
    };
    check(b"\xff\xfea\0", "\u{fffd}\u{fffd}a\u{fffd}", 3);
    check(b"\xe4\xb8", "\u{fffd}", 2);
    check("那🌍".as_bytes(), "那🌍", 0);
}

#[test]
fn an_endless_string_sequence_does_not_swallow_the_output() {
    let text = format!("\x1b]{}end", "x".repeat(10_000));
    assert!(clean(text.as_bytes()).ends_with("xxend"));
}

#[test]
fn progress_without_end_is_two_lines() {
    let bars: String = (0..100_000).map(|at| format!("{at} of 99999\r")).collect();
    let (text, lost) = clean_pieces(&[bars.as_bytes()]);
    assert_eq!(text, "0 of 99999\n99999 of 99999");
    assert_eq!(lost, Lost { replaced: 0, states: 99_998 });
}

#[test]
fn an_endless_line_is_passed_on_in_pieces() {
    let mut cleaner = Cleaner::default();
    let (mut passed, piece) = (0, "é".repeat(1_000));
    for _ in 0..1_000 {
        cleaner.push(piece.as_bytes(), &mut |part| passed += part.len());
        assert!(cleaner.held.len() <= HOLD);
    }
    cleaner.push(b"\rnext", &mut |part| passed += part.len());
    let mut last = String::new();
    assert_eq!(cleaner.finish(&mut |part| last.push_str(part)), Lost::default());
    assert!(last.ends_with("é\nnext"), "a line that is out cannot be redrawn");
    assert_eq!(passed + last.len(), 2_000_000 + 5);
}

fn terminal_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<Vec<u8>>(),
        prop_oneof![
            Just("\x1b["),
            Just("\x1b]"),
            Just("\x1b\\"),
            Just("\x07"),
            Just("\r"),
            Just("\n"),
            Just("\r\n"),
            Just("31m"),
            Just("那🌍"),
            Just("\x08"),
            Just("word"),
        ]
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_look_in_the_middle_of_a_line_shows_it_and_its_next_states() {
    let (mut cleaner, mut seen) = (Cleaner::default(), Vec::new());
    for piece in ["at 1\rat 2", "\rat 3", "", "\rat 4\rat 5\n", "end"] {
        let mut text = String::new();
        cleaner.push(piece.as_bytes(), &mut |more| text.push_str(more));
        let lost = cleaner.settle(&mut |more| text.push_str(more));
        seen.push((text, lost.states));
    }
    let expected = [("at 1\nat 2", 0), ("\nat 3", 0), ("", 0), ("\nat 5\n", 1), ("end", 0)];
    assert_eq!(seen, expected.map(|(text, states)| (text.to_owned(), states)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_pieces_do_not_matter(bytes in terminal_like(), at in any::<prop::sample::Index>()) {
        let (first, second) = bytes.split_at(at.index(bytes.len() + 1));
        prop_assert_eq!(clean_pieces(&[first, second]), clean_pieces(&[&bytes]));
        let bytewise: Vec<_> = bytes.chunks(1).collect();
        prop_assert_eq!(clean_pieces(&bytewise), clean_pieces(&[&bytes]));
    }

    #[test]
    fn no_control_character_is_left(bytes in terminal_like()) {
        let text = clean(&bytes);
        let bad = text.chars().find(|c| c.is_ascii_control() && !matches!(c, '\n' | '\t'));
        prop_assert_eq!(bad, None);
    }

    #[test]
    fn a_look_between_two_pieces_changes_no_plain_text(
        text in "(\\PC|\n|\t){0,50}", at in any::<prop::sample::Index>()
    ) {
        let (first, second) = text.as_bytes().split_at(at.index(text.len() + 1));
        let (mut cleaner, mut seen) = (Cleaner::default(), String::new());
        let mut out = |text: &str| seen.push_str(text);
        cleaner.push(first, &mut out);
        prop_assert_eq!(cleaner.settle(&mut out), Lost::default());
        cleaner.push(second, &mut out);
        prop_assert_eq!(cleaner.finish(&mut out), Lost::default());
        prop_assert_eq!(seen, text);
    }

    #[test]
    fn plain_text_passes_as_it_is(text in "(\\PC|\n|\t){0,200}") {
        prop_assert_eq!(clean(text.as_bytes()), text);
    }
}
