use proptest::prelude::*;

use super::*;

/// Text and reasoning of content that comes in these pieces.
fn split<'a>(tags: ThinkTags, pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
    let mut splitter = Splitter::new(tags);
    let mut parts = Vec::new();
    for piece in pieces {
        splitter.push(piece, &mut parts);
    }
    splitter.finish(&mut parts);
    let (mut text, mut thinking) = (String::new(), String::new());
    for part in parts {
        match part {
            Part::Text(piece) => text.push_str(&piece),
            Part::Thinking(piece) => thinking.push_str(&piece),
        }
    }
    (text, thinking)
}

fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, c)| text.get(at..at + c.len_utf8()).unwrap())
}

fn check(tags: ThinkTags, content: &str, text: &str, thinking: &str) {
    let expected = (text.to_owned(), thinking.to_owned());
    assert_eq!(split(tags, [content]), expected, "{tags:?} {content:?}");
    assert_eq!(split(tags, characters(content)), expected, "{tags:?} by characters {content:?}");
}

#[test]
fn tags_at_the_start_only() {
    let cases = [
        ("", "", ""),
        ("plain", "plain", ""),
        ("  plain \n", "  plain \n", ""),
        ("<think>a</think>b", "b", "a"),
        (" \n<think>\n a \n</think>\n\n b ", "b ", "a"),
        ("<thinking>a</thinking>b", "b", "a"),
        ("<thought>a</thought>b", "b", "a"),
        ("<thinking>a</think>b</thinking>c", "c", "a</think>b"),
        ("<think></think>b", "b", ""),
        ("<think>a  b</think>", "", "a  b"),
        ("<think>a</think>b <think>c</think>", "b <think>c</think>", "a"),
        ("b <think>c</think>", "b <think>c</think>", ""),
        ("`<think>` is a tag", "`<think>` is a tag", ""),
        ("```\n<think>x</think>\n```", "```\n<think>x</think>\n```", ""),
        ("<thin air>", "<thin air>", ""),
        ("<thi", "<thi", ""),
        ("  <", "  <", ""),
        ("   ", "   ", ""),
        ("<think>cut", "", "cut"),
        ("<think>cut </thi", "", "cut </thi"),
        ("<think>a < b </ c </think>d", "d", "a < b </ c"),
        ("a</think>b", "a</think>b", ""),
    ];
    for (content, text, thinking) in cases {
        check(ThinkTags::Start, content, text, thinking);
        check(ThinkTags::Off, content, content, "");
    }
}

#[test]
fn a_tag_that_the_template_opened() {
    let cases = [
        ("", "", ""),
        (" a </think> b", "b", "a"),
        ("<think>a</think>b", "b", "a"),
        ("</think>b", "b", ""),
        ("never closed", "", "never closed"),
        ("<thi", "", "<thi"),
    ];
    for (content, text, thinking) in cases {
        check(ThinkTags::Opened, content, text, thinking);
    }
}

#[test]
fn text_is_told_as_soon_as_it_is_certain() {
    let mut splitter = Splitter::new(ThinkTags::Start);
    let mut told = |piece: &str| {
        let mut parts = Vec::new();
        splitter.push(piece, &mut parts);
        parts
    };
    assert_eq!(told("<thi"), []);
    assert_eq!(told("nk> see"), [Part::Thinking("see".to_owned())]);
    assert_eq!(told(" this <"), [Part::Thinking(" this".to_owned())]);
    assert_eq!(told("b"), [Part::Thinking(" <b".to_owned())]);
    assert_eq!(told("</think>\nHi"), [Part::Text("Hi".to_owned())]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn cuts_do_not_matter(
        words in prop::collection::vec(prop::sample::select(vec![
            "<think>", "</think>", "<thinking>", "</thinking>", "<", "</", "thi", "nk>", " ", "\n", "é", "x",
        ]), 0..10),
        tags in prop::sample::select(vec![ThinkTags::Start, ThinkTags::Opened]),
    ) {
        let content = words.concat();
        let whole = split(tags, [content.as_str()]);
        prop_assert_eq!(&split(tags, words), &whole);
        prop_assert_eq!(&split(tags, characters(&content)), &whole);
    }
}
