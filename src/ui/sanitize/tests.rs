use super::{Sanitizer, Target, file, line, text, visible};
use proptest::prelude::*;

fn check(input: &str, expected: &str) {
    assert_eq!(text(input), expected, "{input:?}");
}

#[test]
fn text_stays() {
    for plain in ["", "hello\n\tworld", "東京タワー", "e\u{301}", "שלום", "👋🏿", "[2J", "a;b"]
    {
        check(plain, plain);
    }
}

#[test]
fn sequences_vanish_whole() {
    check("a\u{1b}[2Jb", "ab");
    check("a\u{1b}[1;31mred\u{1b}[0m", "ared");
    check("\u{1b}[?25l\u{1b}[10;10Hx", "x");
    check("\u{1b}]0;title\u{7}x", "x");
    check("\u{1b}]52;c;eA==\u{7}x", "x");
    check("\u{1b}]8;;http://e\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link");
    check("\u{1b}P1$r\u{1b}\\x", "x");
    check("\u{1b}_apc\u{9c}x", "x");
    check("\u{1b}(Bx\u{1b}cy\u{1b}=z", "xyz");
    check("\u{9b}2Jx\u{9d}0;t\u{7}y", "xy");
    check("\u{1b}\u{1b}[2Jx", "x");
}

#[test]
fn a_broken_sequence_hides_at_most_its_line() {
    check("a\u{1b}]0;never closed\nb", "a\nb");
    check("a\u{1b}[12東b", "a東b");
    check("a\u{1b}\nb", "a\nb");
    check("a\u{1b}]0;t\u{1b}[31mred", "ared");
    check("a\u{1b}", "a");
}

#[test]
fn controls_and_line_ends() {
    check("a\u{0}\u{8}\u{7f}\u{81}b", "ab");
    check("a\r\nb", "a\nb");
    check("10%\r20%\r", "10%\n20%\n");
    check("a\r\r\nb", "a\n\nb");
    check("a\u{2028}b\u{85}c", "a\nb\nc");
}

#[test]
fn hidden_and_reordering_characters() {
    check("a\u{200b}\u{feff}\u{2060}b", "ab");
    check("a\u{202e}b", "a<U+202E>b");
    check("x\u{2066}y\u{2069}", "x<U+2066>y<U+2069>");
    check("👨\u{200d}👩\u{200d}👧", "👨\u{200d}👩\u{200d}👧");
    check("❤\u{fe0f}\u{200d}🔥", "❤\u{fe0f}\u{200d}🔥");
    check("می\u{200c}خواهم", "می\u{200c}خواهم");
    check("a\u{200d}b 👨\u{200d}b👨\u{200d}", "ab 👨b👨");
}

#[test]
fn a_file_keeps_what_no_terminal_obeys() {
    assert_eq!(
        file("a\u{1b}[2Jb\u{7}\u{200b}\u{202e}\u{200d}c\r\n"),
        "ab\u{200b}\u{202e}\u{200d}c\n"
    );
}

#[test]
fn one_line() {
    assert_eq!(line(" a\r\n\tb \u{1b}[31m c\n"), "a b c");
}

#[test]
fn visible_hides_nothing() {
    assert_eq!(
        visible("rm\u{1b}[2K -rf\t\r\u{202e}\u{200b}\né"),
        "rm\\u{1b}[2K -rf\\t\\r\\u{202e}\\u{200b}\né"
    );
}

/// Pieces that exercise every state, in any order.
fn noisy() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            "\u{1b}", "[", "]", "P", "\\", "\u{7}", "\u{9b}", "\u{9d}", "\u{9c}", "\r", "\n", "\t",
            "2J", "m", ";", "👨", "\u{200d}", "\u{200c}", "\u{202e}", "é", "x", " ",
        ])
        .prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_control_character_comes_out(input in noisy()) {
        for out in [text(&input), file(&input)] {
            prop_assert!(!out.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{out:?}");
        }
        prop_assert!(!visible(&input).chars().any(|c| c.is_control() && c != '\n'));
        prop_assert!(!line(&input).chars().any(char::is_control));
    }

    #[test]
    fn the_cut_does_not_matter(input in noisy(), cuts in prop::collection::vec(0usize..8, 0..40)) {
        for target in [Target::Terminal, Target::File] {
            let mut sanitizer = Sanitizer::new(target);
            let mut out = String::new();
            let mut chars = input.chars();
            for cut in cuts.iter().copied().chain([usize::MAX]) {
                let piece: String = chars.by_ref().take(cut).collect();
                sanitizer.push(&piece, &mut out);
            }
            sanitizer.finish(&mut out);
            prop_assert_eq!(out, super::whole(&input, target));
        }
    }

    #[test]
    fn cleaning_twice_changes_nothing(input in noisy()) {
        let once = text(&input);
        prop_assert_eq!(text(&once), once);
    }
}
