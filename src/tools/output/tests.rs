#![expect(clippy::format_collect, reason = "test texts are small")]

use std::borrow::Cow;

use proptest::prelude::*;

use super::{LINE_CHARS, cut_line, cut_middle, grouped};

fn numbered(lines: u32) -> String {
    (1..=lines).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn what_fits_is_untouched() {
    for text in ["", "a", "äöü", &numbered(10)] {
        assert!(matches!(cut_middle(text, 200, ""), Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn a_cut_keeps_whole_lines_at_both_ends_and_says_what_is_missing() {
    let cut = cut_middle(&numbered(1000), 200, "it is in /x").into_owned();
    assert_eq!(
        cut,
        format!(
            "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n\
             [… 984 lines (8,760 bytes) left out; it is in /x …]\n{}",
            (991..=1000).map(|line| format!("line {line}\n")).collect::<String>()
        )
    );
}

#[test]
fn one_endless_line_is_cut_in_its_middle() {
    let line = "é".repeat(500_000);
    let cut = cut_middle(&line, 1_000, "").into_owned();
    assert!(cut.len() <= 1_000 && cut.starts_with("éé") && cut.ends_with("éé"), "{cut}");
    assert!(cut.contains("bytes left out …]") && !cut.contains("lines"), "{cut}");
}

#[test]
fn a_cap_smaller_than_the_notice_still_holds() {
    assert_eq!(cut_middle(&"é".repeat(100), 5, ""), "éé");
    assert_eq!(cut_middle("abc", 0, ""), "");
}

#[test]
fn long_lines_say_how_much_is_missing() {
    let just = "é".repeat(LINE_CHARS);
    assert_eq!(cut_line(&just), just);
    let longer = format!("{just}{}", "x".repeat(1_234));
    assert_eq!(cut_line(&longer), format!("{just}[… 1,234 more characters on this line]"));
}

#[test]
fn thousands_have_commas() {
    let cases =
        [(0, "0"), (999, "999"), (1_000, "1,000"), (u64::MAX, "18,446,744,073,709,551,615")];
    for (number, text) in cases {
        assert_eq!(grouped(number), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_cut_never_exceeds_its_cap(text in "(\\PC{0,9}\n?){0,40}", cap in 0usize..300, note in "\\PC{0,9}") {
        let cut = cut_middle(&text, cap, &note);
        prop_assert!(cut.len() <= cap);
        prop_assert!(text.len() > cap || cut == text);
    }
}
