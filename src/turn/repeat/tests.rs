use super::*;

fn call(arguments: &str) -> Vec<ToolCall> {
    vec![ToolCall { name: "shell".into(), arguments: arguments.into(), ..ToolCall::default() }]
}

/// Feeds one reply per letter and gives the verdicts: `.` fine, `T` tell, `S` stop.
fn check(replies: &str, expected: &str) {
    let mut repeats = Repeats::default();
    let verdicts: String = replies
        .chars()
        .map(|letter| {
            repeats.add(&call(&letter.to_string()));
            match repeats.verdict() {
                Verdict::Fine => '.',
                Verdict::Tell => 'T',
                Verdict::Stop(_) => 'S',
            }
        })
        .collect();
    assert_eq!(verdicts, expected, "{replies}");
}

#[test]
fn verdicts() {
    check("abcdefgh", "........");
    check("aaaaaaaa", "...T...S");
    check("abababababababab", ".......T.......S");
    check("abcabcabcabc", "...........T");
    // Another call in between begins the count anew, and telling too.
    check("aaaabaaaa", "...T....T");
    // A cycle longer than the limit does not count.
    check("abcdeabcdeabcdeabcde", "....................");
}

#[test]
fn the_same_call_written_differently_is_the_same() {
    let mut repeats = Repeats::default();
    let ways = [r#"{"a":1,"b":"x y"}"#, r#"{"b": "x y", "a": 1}"#, "{ \"a\":1,\n\"b\":\"x y\" }"];
    let verdicts = (0..8).map(|round| {
        repeats.add(&call(ways[round % ways.len()]));
        repeats.verdict()
    });
    assert_eq!(verdicts.last(), Some(Verdict::Stop(8)));
}

#[test]
fn several_calls_in_a_reply_count_together() {
    let mut repeats = Repeats::default();
    for number in 0..8 {
        let mut calls = call("same");
        calls.extend(call(&number.to_string()));
        repeats.add(&calls);
        assert_eq!(repeats.verdict(), Verdict::Fine);
    }
}
