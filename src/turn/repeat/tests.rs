use super::*;

fn call(arguments: &str) -> Vec<ToolCall> {
    vec![ToolCall { name: "shell".into(), arguments: arguments.into(), ..ToolCall::default() }]
}

/// Feeds one reply per letter and gives the verdicts: `.` fine, `T` tell, `S` stop.
fn check(replies: &str, expected: &str) {
    check_with(USUAL_REPEATS, replies, expected);
}

fn check_with(max: u32, replies: &str, expected: &str) {
    let mut repeats = Repeats::new(max);
    let verdicts: String = replies
        .chars()
        .map(|letter| {
            repeats.add(&call(&letter.to_string()));
            match repeats.verdict() {
                Verdict::Fine => '.',
                Verdict::Tell(_) => 'T',
                Verdict::Stop(..) => 'S',
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
    let mut repeats = Repeats::new(USUAL_REPEATS);
    let ways = [r#"{"a":1,"b":"x y"}"#, r#"{"b": "x y", "a": 1}"#, "{ \"a\":1,\n\"b\":\"x y\" }"];
    let verdicts = (0..8).map(|round| {
        repeats.add(&call(ways[round % ways.len()]));
        repeats.verdict()
    });
    assert_eq!(verdicts.last(), Some(Verdict::Stop(Rut::Circle, 8)));
}

#[test]
fn several_calls_in_a_reply_count_together() {
    let mut repeats = Repeats::new(USUAL_REPEATS);
    for number in 0..8 {
        let mut calls = call("same");
        calls.extend(call(&number.to_string()));
        repeats.add(&calls);
        assert_eq!(repeats.verdict(), Verdict::Fine);
    }
}

#[test]
fn the_limit_is_the_users() {
    check_with(2, "ab", "..");
    check_with(2, "aa", ".S");
    check_with(3, "aaa", ".TS");
    check_with(1, "aa", ".S");
    check_with(12, "aaaaaaaaaaaa", ".....T.....S");
}

#[test]
fn calls_that_all_fail_come_to_an_end() {
    let mut repeats = Repeats::new(USUAL_REPEATS);
    let verdicts: Vec<Verdict> = (0..30)
        .map(|number| {
            repeats.add(&call(&number.to_string()));
            repeats.worked(number == 9);
            repeats.verdict()
        })
        .collect();
    let fine = |verdicts: &[Verdict]| verdicts.iter().all(|verdict| *verdict == Verdict::Fine);
    assert!(fine(&verdicts[..19]), "one that works begins the count anew: {verdicts:?}");
    assert_eq!(verdicts[19], Verdict::Tell(Rut::Failures));
    assert!(fine(&verdicts[20..29]));
    assert_eq!(verdicts[29], Verdict::Stop(Rut::Failures, 20));
}
