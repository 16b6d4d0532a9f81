use super::{SessionLine, context, sessions, tools};
use crate::agent::ContextReport;

#[test]
fn the_sessions() {
    let line = |id: &str, title: &str| SessionLine {
        id: id.into(),
        when: "2 h ago".into(),
        title: title.into(),
    };
    assert_eq!(
        sessions(&[line("a1", "fix it\r* c3"), line("b2", "try")], "b2"),
        "  a1  2 h ago  fix it * c3\n* b2  2 h ago  try"
    );
    assert_eq!(sessions(&[], "x"), "No sessions are saved in this workspace.");
}

#[test]
fn the_tools() {
    let table = [("read".to_owned(), "Reads.".to_owned()), ("grep_it".into(), "Searches.".into())];
    assert_eq!(tools(&table), "read     Reads.\ngrep_it  Searches.");
}

#[test]
fn the_context() {
    let report = ContextReport {
        tokens: 12_000,
        window: Some(128_000),
        window_origin: "built-in table".into(),
        compact_at: Some(102_400),
        parts: vec![("system prompt".into(), 900), ("tools".into(), 1_200)],
    };
    assert_eq!(
        context(&report),
        "12k of 128k tokens in use, 9 % (built-in table)\n\
         older messages are summarised at 102k\n  system prompt  900\n  tools          1.2k"
    );
    let unknown = ContextReport { tokens: 12, ..ContextReport::default() };
    assert_eq!(context(&unknown), "12 tokens in use; the model's window is not known");
}
