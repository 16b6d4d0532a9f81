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
fn several_calls_in_a_reply_count_together() {
    let mut repeats = Repeats::default();
    for number in 0..8 {
        let mut calls = call("same");
        calls.extend(call(&number.to_string()));
        repeats.add(&calls);
        assert_eq!(repeats.verdict(), Verdict::Fine);
    }
}
