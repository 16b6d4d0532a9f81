use super::*;

/// The arguments that these pieces settle to; cut ones end in ` CUT`, unwritten ones in ` BLANK`.
fn check(pieces: &[&str], expected: &[&str]) {
    let mut objects = Objects::default();
    for piece in pieces {
        objects.push(piece);
    }
    let mark = |on: bool, mark: &'static str| if on { mark } else { "" };
    let found: Vec<String> = objects
        .settle()
        .into_iter()
        .map(|one| format!("{}{}{}", one.text, mark(one.cut, " CUT"), mark(one.blank, " BLANK")))
        .collect();
    assert_eq!(found, expected, "{pieces:?}");
}

#[test]
fn texts_settle_to_the_arguments_that_were_meant() {
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["{} BLANK"]),
        (&["  "], &["{} BLANK"]),
        (&["nu", "ll"], &["{} BLANK"]),
        (&["{}"], &["{}"]),
        (&["{}", "{}"], &["{}"]),
        (&["{ }", "{}", "{\"a\":1}"], &["{\"a\":1}"]),
        (&["{\"a\":1}", "{}"], &["{\"a\":1}"]),
        (&["{\"a\":1}", "{ \"a\" : 1 }"], &["{\"a\":1}"]),
        (&["{\"a\":1}{\"b\":2}"], &["{\"a\":1}", "{\"b\":2}"]),
        (&["{}", "{\"a\""], &["{\"a\" CUT"]),
        (&["{\"a\":\"}{\"}"], &["{\"a\":\"}{\"}"]),
        (&["{\"a\":\"\\\"", "}{\"}"], &["{\"a\":\"\\\"}{\"}"]),
        (&["{\"a\":\"\\", "\"}{\"}"], &["{\"a\":\"\\\"}{\"}"]),
        (&["{\"a\":[{\"b\":1}", ",{}]}"], &["{\"a\":[{\"b\":1},{}]}"]),
        (&["{\"a\":[1"], &["{\"a\":[1 CUT"]),
        (&["[1]"], &["[1]"]),
        (&["ls -la"], &["ls -la"]),
        (&["{\"a\":1}}"], &["{\"a\":1}}"]),
        (&["{\"a\":1}</tool_call>{\"b\":1}"], &["{\"a\":1}</tool_call>{\"b\":1}"]),
        (&["\n{\"a\":1}\n"], &["\n{\"a\":1}\n"]),
    ];
    for (pieces, expected) in cases {
        check(pieces, expected);
        let whole = pieces.concat();
        check(&[&whole], expected);
    }
}

#[test]
fn a_flood_of_objects_is_left_alone() {
    let flood: String = (0..1000).map(|n| format!("{{\"n\":{n}}}")).collect();
    check(&[&flood], &[&flood]);
}
