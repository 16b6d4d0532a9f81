use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::event::{AssistantMessage, Author, Event, ToolResult, TurnFinished, UserMessage};
use crate::message::{Reply, ToolCall, Usage};

const SECRET: &str = "sk-very-secret-key";

fn export(format: ExportFormat) -> Export {
    Export { format, masks: Masks::new([("KEY".to_owned(), SECRET.to_owned())]) }
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: "c1".into(),
        name: name.into(),
        arguments: arguments.into(),
        ..ToolCall::default()
    }
}

fn answer(content: &str, reasoning: &str, tool_calls: Vec<ToolCall>, partial: bool) -> Event {
    Event::AssistantMessage(AssistantMessage {
        turn: 1,
        step: 1,
        provider: "p".into(),
        model: "m".into(),
        reply: Reply {
            content: content.into(),
            reasoning: reasoning.into(),
            tool_calls,
            ..Reply::default()
        },
        partial,
    })
}

fn said(content: &str) -> Event {
    Event::UserMessage(UserMessage { turn: 1, content: content.into(), author: Author::User })
}

fn result(content: &str, is_error: bool) -> Event {
    Event::ToolResult(ToolResult {
        call_id: "c1".into(),
        content: content.into(),
        is_error,
        ..ToolResult::default()
    })
}

/// A conversation in which everything tries to be something else.
fn events() -> Vec<Event> {
    vec![
        said("look at <b>this</b>\n\n```\nand close nothing"),
        answer(
            "I *will*.\n<!-- hide\n~~~sh\nls",
            "Key is sk-very-\u{200b}secret-key",
            vec![call("shell", "{\"command\": \"echo '```'; ls\"}")],
            false,
        ),
        result("````\n</pre><script>alert(1)</script>\u{1b}[2J & \u{202e}txt.exe", false),
        result("exit 1", true),
        answer("Stop", "", Vec::new(), true),
        Event::TurnFinished(TurnFinished {
            turn: 1,
            ending: crate::event::Ending::Error,
            steps: 2,
            usage: Usage::default(),
            detail: "*503* <overloaded>".into(),
        }),
    ]
}

fn log_of(events: Vec<Event>) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let header = r#"{"type":"session","version":1,"id":"20260101T000000Z-abc123","created_at":"2026-01-01T00:00:00.000Z","cwd":"/work/a_`b`","xsh":"0.1.0","mark":"0123abcd"}"#;
    let records = events.into_iter().zip(1..).map(|(event, seq)| Record {
        seq,
        at: "2026-01-01T00:00:01.000Z".into(),
        event,
    });
    let lines: Vec<u8> = records.flat_map(|record| record.to_line().unwrap()).collect();
    fs::write(&path, [header.as_bytes(), b"\n", &lines].concat()).unwrap();
    (folder, path)
}

fn document(format: ExportFormat, events: Vec<Event>) -> String {
    let (_folder, path) = log_of(events);
    let mut out = Vec::new();
    export(format).write(&path, &CancellationToken::new(), &mut out).unwrap().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn markdown() {
    insta::assert_snapshot!(document(ExportFormat::Md, events()));
}

#[test]
fn html() {
    let page = document(ExportFormat::Html, events());
    let body = page.split_once("<body>").unwrap().1;
    insta::assert_snapshot!(body);
    assert!(page.contains("default-src 'none'"), "{page}");
}

#[test]
fn json() {
    insta::assert_snapshot!(document(ExportFormat::Json, events()));
}

#[test]
fn damage_is_told_in_every_document() {
    for format in [ExportFormat::Md, ExportFormat::Html, ExportFormat::Json] {
        let (_folder, path) = log_of(events());
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(b"{\"type\":\"user_mes");
        fs::write(&path, bytes).unwrap();
        let mut out = Vec::new();
        export(format).write(&path, &CancellationToken::new(), &mut out).unwrap().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("unfinished last line"), "{text}");
        if format == ExportFormat::Json {
            let lines: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
            assert_eq!(lines.last().unwrap()["type"], "warning");
        }
    }
}

#[test]
fn a_file_is_whole_private_and_never_in_the_place_of_another() {
    let (folder, path) = log_of(events());
    let to = folder.path().join("out.md");
    let stop = CancellationToken::new();
    export(ExportFormat::Md).write_file(&path, &stop, &to).unwrap();
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(&to).unwrap();
    for (taken, help) in [
        (to.clone(), "none is overwritten"),
        (folder.path().join("no/such/folder.md"), "a folder that exists"),
    ] {
        let error = export(ExportFormat::Html).write_file(&path, &stop, &taken).unwrap_err();
        assert!(error.to_string().contains(help), "{error}");
    }
    assert_eq!(fs::read(&to).unwrap(), before);
    stop.cancel();
    let stopped = export(ExportFormat::Md).write_file(&path, &stop, &folder.path().join("b.md"));
    assert_eq!(stopped, Err(Error::interrupted()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn an_output_that_cannot_be_written_is_no_fault_of_the_session() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (_folder, path) = log_of(events());
    let done = export(ExportFormat::Md).write(&path, &CancellationToken::new(), &mut Full).unwrap();
    assert_eq!(done.unwrap_err().kind(), io::ErrorKind::StorageFull);
}

/// Text with everything that means something in one of the documents.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("```"),
        Just("````"),
        Just("~~~"),
        Just("\n"),
        Just("<!--"),
        Just("</pre>"),
        Just("<script>"),
        Just("&"),
        Just("\""),
        Just("\u{1b}[2J"),
        Just("\u{202e}"),
        Just("\u{200b}"),
        Just(SECRET),
        Just("a"),
        Just(" "),
        Just("\u{e0041}"),
    ];
    proptest::collection::vec(pieces, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_in_a_text_ends_its_place(texts in proptest::collection::vec(hostile(), 5)) {
        let [user, text, arguments, output, name] = &texts[..] else { unreachable!() };
        let text = format!("a{text}");
        let events = |user: &str, text: &str, arguments: &str, output: &str, name: &str| {
            let called = answer(text, text, vec![call(name, arguments)], true);
            vec![said(user), called, result(output, false)]
        };
        let hostile = || events(user, &text, arguments, output, name);
        // HTML: the very same tags, whatever the text.
        let tags = |events| document(ExportFormat::Html, events).matches('<').count();
        prop_assert_eq!(tags(hostile()), tags(events("a", "a", "a", "a", "a")));
        // JSON: reads back as it was, but for the secret.
        let json = document(ExportFormat::Json, hostile());
        let lines: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(lines[1]["content"].as_str().unwrap(), user.replace(SECRET, "[KEY masked]"));
        for format in [ExportFormat::Md, ExportFormat::Html, ExportFormat::Json] {
            let page = document(format, hostile());
            prop_assert!(page.chars().all(|c| c == '\n' || sanitize::is_plain(c)), "{}", page);
            prop_assert!(!page.contains(SECRET), "{}", page);
        }
        // Markdown: outside quotes and fences there are the very same lines.
        let lines = |events| own_lines(&document(ExportFormat::Md, events));
        prop_assert_eq!(lines(hostile()), lines(events("a", "a", "a", "a", name)));
    }
}

/// The lines of a Markdown document that are neither quoted nor fenced.
fn own_lines(page: &str) -> Vec<String> {
    let mut fence: Option<&str> = None;
    let mut own = Vec::new();
    for line in page.lines() {
        let marks = line.trim_end_matches("text");
        let is_fence = line.starts_with("```") && marks.chars().all(|c| c == '`');
        match fence {
            Some(open) if marks == line && is_fence && line.len() >= open.len() => fence = None,
            Some(_) => {}
            None if is_fence => fence = Some(marks),
            None if line.starts_with('>') => {}
            None => own.push(line.to_owned()),
        }
    }
    assert_eq!(fence, None, "{page}");
    own
}
