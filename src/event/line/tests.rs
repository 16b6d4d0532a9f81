use super::*;
use crate::event::{Author, UserMessage};

fn read(line: &str) -> Result<Record, serde_json::Error> {
    Record::from_line(line.as_bytes())
}

fn said(content: &str) -> Event {
    Event::UserMessage(UserMessage { turn: 1, content: content.into(), author: Author::User })
}

#[test]
fn a_line_reads_in_whatever_order_its_fields_stand() {
    let cases = [
        r#"{"type":"user_message","seq":7,"at":"now","turn":1,"content":"a\nb"}"#,
        r#"{"at":"now","type":"user_message","seq":7,"turn":1,"content":"a\nb"}"#,
        r#"{"content":"a\nb","turn":1,"seq":7,"at":"now","type":"user_message"}"#,
        r#" { "seq" : 7, "type" : "user_message", "at":"now", "turn" : 1, "content" : "a\nb", "later" : [{}] } "#,
        r#"{"t\u0079pe":"user\u005fmessage","seq":7,"at":"n\u006fw","turn":1,"content":"a\u000ab"}"#,
    ];
    for line in cases {
        let expected = Record { seq: 7, at: "now".into(), event: said("a\nb") };
        assert_eq!(read(line).unwrap(), expected, "{line}");
    }
}

#[test]
fn a_line_without_a_time_is_a_line() {
    let record = read(r#"{"type":"user_message","seq":7,"turn":1,"content":"x"}"#).unwrap();
    assert_eq!(record, Record { seq: 7, at: String::new(), event: said("x") });
}

#[test]
fn an_unknown_kind_keeps_its_name_and_the_rest_is_passed_over() {
    for line in [
        r#"{"type":"hologram","seq":2,"at":"x","depth":{"a":[1,2]}}"#,
        r#"{"depth":{"a":[1,2]},"at":"x","seq":2,"type":"hologram"}"#,
    ] {
        let expected = Record { seq: 2, at: "x".into(), event: Event::Unknown("hologram".into()) };
        assert_eq!(read(line).unwrap(), expected, "{line}");
    }
}

#[test]
fn what_is_no_event_is_refused() {
    let cases = [
        "",
        "[]",
        "7",
        "{}",
        r#"{"type":"user_message","at":"x","turn":1,"content":"x"}"#,
        r#"{"type":"user_message","seq":-1,"at":"x","turn":1,"content":"x"}"#,
        r#"{"type":null,"seq":1,"at":"x","turn":1,"content":"x"}"#,
        r#"{"type":"user_message","seq":1,"at":"x","turn":1}"#,
        r#"{"type":"user_message","seq":1,"at":"x","turn":1,"content":"x""#,
        r#"{"type":"user_message","seq":1,"at":"x","turn":1,"content":"x"} {}"#,
        r#"{"type":"hologram","seq":1,"at":"x","depth":}"#,
    ];
    for line in cases {
        assert!(read(line).is_err(), "{line}");
    }
}
