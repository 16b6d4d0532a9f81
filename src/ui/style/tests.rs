use super::{Palette, Style, fit, width};
use proptest::prelude::*;

#[test]
fn cuts_between_glyphs() {
    for (text, columns, expected) in [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("hello", 1, "…"),
        ("hello", 0, ""),
        ("東京タワー", 10, "東京タワー"),
        ("東京タワー", 9, "東京タワ…"),
        ("東京タワー", 8, "東京タ…"),
        ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
        ("👨\u{200d}👩\u{200d}👧x", 4, "…"),
    ] {
        assert_eq!(fit(text, columns), expected, "{text} in {columns}");
    }
}

#[test]
fn colour_is_optional() {
    assert_eq!(Palette { color: true }.paint(Style::Bad, "x"), "\x1b[31mx\x1b[0m");
    assert_eq!(Palette { color: false }.paint(Style::Bad, "x"), "x");
    assert_eq!(Palette { color: true }.paint(Style::Plain, "x"), "x");
}

proptest! {
    #[test]
    fn never_wider(text in "[a東é👋🏿\u{200d}\u{301}❤\u{fe0f} ]{0,30}", columns in 0usize..30) {
        prop_assert!(width(&fit(&text, columns)) <= columns);
    }
}
