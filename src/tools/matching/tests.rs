use proptest::prelude::*;

use super::*;

/// The content after replacing what is found, and how it was found.
fn edited(content: &str, old: &str, new: &str) -> (String, How) {
    let matches = find(content.as_bytes(), old);
    let (bytes, _) = replace(content.as_bytes(), &matches.spans, new);
    (String::from_utf8(bytes).unwrap(), matches.how)
}

#[track_caller]
fn check(content: &str, (old, new): (&str, &str), how: How, expected: &str) {
    assert_eq!(find(content.as_bytes(), old).how, how);
    assert_eq!(edited(content, old, new).0, expected);
}

#[test]
fn exact_matches_are_replaced_literally() {
    check("n = 7\n", ("7", "8"), How::Exact, "n = 8\n");
    check(
        "aXb",
        ("X", "p=$$ m=$& a=$1 b=${n} c=$` d=$' e=\\1 \\0"),
        How::Exact,
        "ap=$$ m=$& a=$1 b=${n} c=$` d=$' e=\\1 \\0b",
    );
    check("a\nb", ("b", ""), How::Exact, "a\n");
    check("f()\nf()\n", ("f()", "g"), How::Exact, "g\ng\n");
    check("aaaa", ("aa", "b"), How::Exact, "bb");
    check("\u{FEFF}x \u{FEFF}y", ("y", "z"), How::Exact, "\u{FEFF}x \u{FEFF}z");
}

#[test]
fn line_endings_of_the_place_are_kept() {
    let by_lines = How::LineEndings;
    check("a\r\nb\r\nc\r\n", ("a\nb", "a\nB"), by_lines, "a\r\nB\r\nc\r\n");
    check("a\r\nb\r\n", ("a\r\nb", "a\nB\nC"), How::Exact, "a\r\nB\r\nC\r\n");
    check("a\r\nb\r\n", ("b", "x\ny"), How::Exact, "a\r\nx\r\ny\r\n");
    check("a\r\nb", ("b", "x\ny"), How::Exact, "a\r\nx\r\ny");
    check("a\r\nb\r\n", ("\nb", "\nc"), by_lines, "a\r\nc\r\n");
    check("a\r\nb\r\n", ("a\n", "c\n"), by_lines, "c\r\nb\r\n");
    check("a\nb\n", ("a\r\nb", "a\r\nB"), by_lines, "a\r\nB\n");
    check(
        "one\r\ntwo\nthree\nfour\r\n",
        ("two\nthree", "2\n3"),
        How::Exact,
        "one\r\n2\n3\nfour\r\n",
    );
    check(
        "one\r\ntwo\nthree\nfour\r\n",
        ("four", "4\n5"),
        How::Exact,
        "one\r\ntwo\nthree\n4\r\n5\r\n",
    );
    check("a\rb\r", ("b\r", "c\r"), How::Exact, "a\rc\r");
    check("x\r\ny", ("x\r", "z\r"), How::Exact, "z\r\ny");
}

#[test]
fn places_are_counted_on_equal_line_endings() {
    let matches = find(b"a\r\nb\na\nb\n", "a\nb");
    assert_eq!((matches.spans.len(), matches.how), (2, How::LineEndings));
    assert!(!matches.is_unique());
}

#[test]
fn overlapping_places_are_not_unique() {
    for (content, old, unique) in
        [("aaa", "aa", false), ("abab", "ab", false), ("ababa", "aba", false), ("aab", "ab", true)]
    {
        assert_eq!(find(content.as_bytes(), old).is_unique(), unique, "{old} in {content}");
    }
}

#[test]
fn look_alikes_match_only_where_nothing_else_does() {
    let alike = How::LookAlikes;
    for (content, old, expected) in [
        ("a\u{A0}= 1;\n", "a = 1;", "N\n"),
        ("say \u{201C}hi\u{201D} \u{2019}x\u{2019}\n", "say \"hi\" 'x'", "N\n"),
        ("1\u{2013}2 \u{2212}3\n", "1-2 -3", "N\n"),
        ("\tif x:\n\t\ty\n", "    if x:\n        y", "N\n"),
        ("\tif x:\n\t\ty\n", "  if x:\n    y", "N\n"),
        ("    if x:\n        y\n", "\tif x:\n\t\ty", "N\n"),
        ("if x:  \n  y\t\n", "if x:\n  y\n", "N"),
        ("if x:\n  y\n", "if x:  \n  y", "N\n"),
        ("if x: \r\n  y\r\nz", "if x:\n  y\n", "Nz"),
        ("a \nb  \nc", "a\nb\nc", "N"),
    ] {
        check(content, (old, "N"), alike, expected);
    }
    check("a b\na\u{A0}b\n", ("a b", "N"), How::Exact, "N\na\u{A0}b\n");
}

#[test]
fn look_alikes_are_conservative() {
    for (content, old) in [
        ("\tx", "   x"),        // three columns are no tab
        ("a\tb", "a    b"),     // tabs inside a line are what they are
        ("\u{A0}\u{A0}", "  "), // blanks alone say nothing
        ("ab", "a b"),
        ("foo", "Foo"),
        ("a\n\nb", "a\nb"),
    ] {
        assert!(find(content.as_bytes(), old).spans.is_empty(), "{old:?} in {content:?}");
    }
    let twice = find("a\u{A0}b a\u{A0}b".as_bytes(), "a b");
    assert_eq!((twice.spans.len(), twice.how, twice.is_unique()), (2, How::LookAlikes, false));
}

#[test]
fn bytes_that_are_no_text_pass_through() {
    let content = b"n = 7\n# \xFCber \xC4\xE3\xBA\xC3\n\xA0x\xFF\n";
    let matches = find(content, "n = 7\n#");
    assert!(matches.is_unique());
    let (edited, placed) = replace(content, &matches.spans, "n = 8\n#");
    assert_eq!(edited, b"n = 8\n# \xFCber \xC4\xE3\xBA\xC3\n\xA0x\xFF\n");
    assert_eq!((placed.len(), placed[0].clone()), (1, 0..7));
    assert!(find(content, "\u{FC}").spans.is_empty());
    assert!(find(content, "").spans.is_empty());
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"a".to_vec()),
        Just(b"b".to_vec()),
        Just(b" ".to_vec()),
        Just(b"\t".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just("\u{A0}".as_bytes().to_vec()),
        Just("\u{201C}".as_bytes().to_vec()),
        any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_byte_outside_the_spans_changes(
        content in content(), old in "[ab \t\n\r\u{A0}\"]{1,4}", new in "[xy\n\r$&]{0,4}",
    ) {
        let matches = find(&content, &old);
        let (edited, placed) = replace(&content, &matches.spans, &new);
        prop_assert_eq!(placed.len(), matches.spans.len());
        let (mut from_old, mut from_new) = (0, 0);
        for (span, place) in matches.spans.iter().zip(&placed) {
            prop_assert!(span.start >= from_old && span.end > span.start);
            prop_assert_eq!(&content[from_old..span.start], &edited[from_new..place.start]);
            let text = &edited[place.clone()];
            prop_assert!(text == new.as_bytes() || text == crlf(&new).as_bytes());
            (from_old, from_new) = (span.end, place.end);
        }
        prop_assert_eq!(&content[from_old..], &edited[from_new..]);
    }

    #[test]
    fn what_is_there_is_found(before in content(), old in "[ab \t\n\r]{1,5}", after in content()) {
        let content = [&before, old.as_bytes(), &after].concat();
        prop_assert!(!find(&content, &old).spans.is_empty());
    }

    #[test]
    fn every_span_of_an_exact_match_is_the_text(content in content(), old in "[ab\n]{1,3}") {
        let matches = find(&content, &old);
        if matches.how == How::Exact {
            for span in matches.spans {
                prop_assert_eq!(&content[span], old.as_bytes());
            }
        }
    }

    #[test]
    fn crlf_files_are_edited_as_lf_files(
        content in "[ab\n]{0,20}", old in "[ab\n]{1,4}", new in "[xy\n]{0,4}",
    ) {
        let with_lf = edited(&content, &old, &new).0;
        let with_crlf = edited(&crlf(&content), &old, &new).0;
        // A file without any line ending gives no hint which one to use.
        prop_assume!(content.contains('\n'));
        prop_assert_eq!(crlf(&with_lf), with_crlf);
    }
}
