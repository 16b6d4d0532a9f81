use proptest::prelude::*;

use super::*;

#[test]
fn rewriting_touches_only_lone_halves() {
    let cases = [
        (r#""plain""#, r#""plain""#),
        (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
        (r#""\uD83D""#, "\"\u{FFFD}\""),
        (r#""\ude00\ud83d""#, "\"\u{FFFD}\u{FFFD}\""),
        (r#""\ud83d\ud83d\ude00""#, "\"\u{FFFD}\\ud83d\\ude00\""),
        (r#""\ud83dx\u0041""#, "\"\u{FFFD}x\\u0041\""),
        // The backslash is itself escaped: no escape of a half follows.
        (r#""\\ud83d""#, r#""\\ud83d""#),
        (r#""\\\ud83d""#, "\"\\\\\u{FFFD}\""),
        (r#""\ud8""#, r#""\ud8""#),
        (r#""\u日本語""#, r#""\u日本語""#),
        ("\\", "\\"),
        ("\\é", "\\é"),
    ];
    for (json, expected) in cases {
        assert_eq!(rewrite(json, |_| char::REPLACEMENT_CHARACTER), expected, "{json}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Any UTF-16 text, valid or not, in pieces with parked halves, comes out as a lossy decoder
    /// would have it.
    #[test]
    fn pieces_join_like_the_whole(units in prop::collection::vec(
        prop_oneof![Just(0xD83D_u16), Just(0xDE00), Just(0x41), any::<u16>()], 0..12),
        size in 1..4usize) {
        let mut joiner = Joiner::default();
        let mut out = String::new();
        for piece in units.chunks(size) {
            let escaped: String = piece.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = rewrite(&format!("\"{escaped}\""), park);
            let text: String = serde_json::from_str(&json).unwrap();
            out.push_str(&joiner.join(&text, true));
        }
        out.push_str(joiner.finish());
        prop_assert_eq!(out, String::from_utf16_lossy(&units));
    }

    #[test]
    fn any_text_is_rewritten_without_panic(text in "[\\\\ud8D39cé\"]{0,40}") {
        let _ = rewrite(&text, park);
    }
}
