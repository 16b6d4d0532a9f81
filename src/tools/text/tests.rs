use proptest::prelude::*;

use super::*;

#[test]
fn endings_are_counted_by_kind() {
    let cases: [(&str, &str); 11] = [
        ("", "none"),
        ("a", "none"),
        ("a\nb\n", "LF"),
        ("a\r\nb\r\n", "CRLF"),
        ("a\r\nb\nc\n", "mixed (2 LF, 1 CRLF)"),
        ("a\rb\rc", "CR alone, 2 (old Mac style, counted as one line)"),
        ("a\rb\n", "LF, and 1 lone CR inside lines"),
        ("a\r\r\nb\r\n", "CRLF, and 1 lone CR inside lines"),
        ("\r\n\r", "CRLF, and 1 lone CR inside lines"),
        ("\n\r\n\r", "mixed (1 LF, 1 CRLF, 1 lone CR)"),
        ("a\u{2028}b\u{85}c\n", "LF"),
    ];
    for (text, expected) in cases {
        assert_eq!(Endings::of(text.as_bytes()).to_string(), expected, "{text:?}");
    }
}

#[test]
fn the_trailer_states_the_facts() {
    let cases: [(&[u8], &str); 4] = [
        (b"a\nb\n", "[Line endings: LF. Total lines: 2.]"),
        (b"a\r\nb", "[Line endings: CRLF. Total lines: 2. No newline at end of file.]"),
        (b"", "[Line endings: none. Total lines: 0.]"),
        (
            b"\xEF\xBB\xBFa\n",
            "[Line endings: LF. Total lines: 1. UTF-8 with byte order mark (not shown, kept).]",
        ),
    ];
    for (bytes, expected) in cases {
        let form = Form::of(bytes);
        assert_eq!(trailer(&form.decode(bytes), form), expected);
    }
}

#[test]
fn utf16_is_decoded_and_encoded() {
    for (bytes, encoding) in [
        (&b"\xFF\xFEa\0\n\0=\xD8\x0A\xDE"[..], Encoding::Utf16Le),
        (&b"\xFE\xFF\0a\0\n\xD8=\xDE\x0A"[..], Encoding::Utf16Be),
    ] {
        let form = Form::of(bytes);
        assert_eq!(form, Form { encoding, bom: true });
        assert_eq!(&*form.decode(bytes), "a\n\u{1F60A}".as_bytes());
        assert!(form.is_lossless(bytes));
    }
    for broken in [&b"\xFF\xFEa"[..], b"\xFF\xFE\x00\xD8a\0"] {
        assert!(!Form::of(broken).is_lossless(broken));
    }
    assert_eq!(Form::of(b"\xFF\xFE\0\0a\0\0\0"), Form::default());
}

#[test]
fn long_lines_are_cut_between_characters() {
    assert_eq!(shown("äöü\r\n".as_bytes(), 8, 3), "äöü");
    assert_eq!(
        shown("äöüß\n".as_bytes(), 9, 3),
        "äöü… [line cut after 3 characters; it has 9 bytes]"
    );
    assert_eq!(shown(b"a\0\xFFb", 4, 9), "a␀\u{FFFD}b");
}

#[test]
fn sizes_are_for_people() {
    for (bytes, expected) in [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1536, "1.5 KiB"),
        (16 << 20, "16.0 MiB"),
        (3 << 30, "3.0 GiB"),
        (5 << 40, "5120.0 GiB"),
    ] {
        assert_eq!(size(bytes), expected);
    }
}

#[test]
fn cut_lines_keeps_whole_lines() {
    assert_eq!(cut_lines("a\nb", 3), "a\nb");
    assert_eq!(cut_lines("ab\ncd\n", 5), "ab\n[cut here; the rest is not shown]");
    assert_eq!(cut_lines("äääää", 3), "[cut here; the rest is not shown]");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_counts_as_lossless_is(
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        mark in prop::sample::select(vec![&b""[..], b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF"]),
    ) {
        let bytes = [mark, bytes.as_slice()].concat();
        let form = Form::of(&bytes);
        if form.is_lossless(&bytes) {
            prop_assert_eq!(form.encode(&form.decode(&bytes)), bytes);
        }
    }

    #[test]
    fn lines_and_endings_agree(text in "[ab\r\n]{0,12}") {
        let endings = Endings::of(text.as_bytes());
        prop_assert_eq!(endings.lines(), text.matches('\n').count() as u64);
        prop_assert_eq!(endings.crlf, text.matches("\r\n").count() as u64);
        prop_assert_eq!(endings.crlf + endings.lone_cr, text.matches('\r').count() as u64);
        prop_assert_eq!(line_count(text.as_bytes()), text.split_inclusive('\n').count() as u64);
    }
}
