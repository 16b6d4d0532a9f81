//! A scripted turn that all screens show in their tests.

use std::time::Duration;

use crate::event::{AssistantMessage, CompactionKind, Ending, ToolResult, Trigger};
use crate::message::{FinishReason, Reply, ToolCall, Usage};
use crate::update::{SessionOpened, ToolShown, TurnSummary, Update};

/// A session in `/work/demo`.
pub(crate) fn opened() -> SessionOpened {
    SessionOpened {
        id: "20260101T000000Z-abcd".into(),
        path: None,
        cwd: "/work/demo".into(),
        provider: "deepseek".into(),
        model: "deepseek-chat".into(),
        tools: vec!["read".into(), "shell".into()],
        permission_mode: "auto".into(),
        sandbox: "full".into(),
        instructions: vec!["AGENTS.md".into()],
        resumed_turns: None,
        scripted: false,
    }
}

/// The figures of a completed turn.
pub(crate) fn summary() -> TurnSummary {
    TurnSummary {
        turn: 1,
        ending: Ending::Completed,
        detail: String::new(),
        help: None,
        steps: 2,
        usage: Usage {
            prompt: 12_000,
            completion: 340,
            cached: 9_000,
            reasoning: 0,
            cost: Some(0.0123),
        },
        context: 12_000,
        window: Some(128_000),
        assumed: 128_000,
        duration: Duration::from_millis(14_200),
        api_duration: Duration::from_millis(9_100),
        jobs: 0,
        denied: false,
        answer: "The test passes now.\nDone.".into(),
    }
}

pub(crate) fn tool(id: &str, name: &str, subject: &str) -> ToolShown {
    ToolShown { call_id: id.into(), name: name.into(), subject: subject.into() }
}

pub(crate) fn finished(
    tool: ToolShown,
    content: &str,
    is_error: bool,
    (summary, diff): (&str, Option<&str>),
) -> Update {
    let result = ToolResult {
        call_id: tool.call_id.clone(),
        content: content.into(),
        is_error,
        duration_ms: if tool.name == "shell" { 3_149 } else { 2 },
        ..ToolResult::default()
    };
    Update::ToolFinished { tool, result, summary: summary.into(), diff: diff.map(Into::into) }
}

fn replied(step: u32, content: &str, calls: &[(&str, &str, &str)]) -> Update {
    let call = |&(id, name, arguments): &(&str, &str, &str)| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        ..ToolCall::default()
    };
    let reply = Reply {
        content: content.into(),
        tool_calls: calls.iter().map(call).collect(),
        finish_reason: if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls },
        usage: Some(Usage { prompt: 6_000, completion: 170, cached: 4_500, ..Usage::default() }),
        ..Reply::default()
    };
    Update::Replied(AssistantMessage {
        turn: 1,
        step,
        provider: "deepseek".into(),
        model: "deepseek-chat".into(),
        reply,
        partial: false,
    })
}

/// A whole turn: a discarded reply, a retry, reasoning, calls of every outcome, an answer.
pub(crate) fn turn() -> Vec<Update> {
    let diff = "@@ -1,2 +1,2 @@\n-a\n+b\n c\n";
    let text = |text: &str| Update::Text(text.into());
    vec![
        Update::SessionOpened(opened()),
        Update::TurnStarted { turn: 1, prompt: "fix the test".into() },
        Update::Waiting,
        text("I will"),
        Update::ReplyDiscarded,
        Update::Retrying {
            reason: "deepseek: 503 overloaded\u{1b}[2J".into(),
            wait: Duration::from_secs(2),
            attempt: 1,
            of: 5,
        },
        Update::Waiting,
        Update::Reasoning("Look at\nthe test.".into()),
        text("\n\nFirst I lo"),
        text("ok.\u{1b}["),
        text("2J\n\n"),
        Update::ToolCallComing("read".into()),
        replied(
            1,
            "First I look.",
            &[
                ("c1", "read", "{\"file_path\": \"src/main.rs\"}"),
                ("c2", "edit", "not json"),
                ("c3", "shell", "{\"command\":\n\"cargo test\"}"),
            ],
        ),
        Update::ToolStarted(tool("c1", "read", "src/main.rs")),
        finished(tool("c1", "read", "src/main.rs"), "1: a", false, ("42 lines", None)),
        Update::ToolStarted(tool("c2", "edit", "src/main.rs")),
        finished(tool("c2", "edit", "src/main.rs"), "ok", false, ("1 replacement", Some(diff))),
        Update::Denied(tool("c3", "shell", "cargo test")),
        finished(
            tool("c3", "shell", "cargo test"),
            "denied",
            true,
            ("denied: the mode is plan; ask the user to change it with --permission-mode", None),
        ),
        Update::Compacting(Trigger::Auto),
        Update::Compacted { kind: CompactionKind::Summary, before: 90_000, after: 20_000 },
        Update::Warning("the log cannot be written\u{7}".into()),
        Update::Waiting,
        text("The test passes"),
        text(" now.\r\nDone.\n"),
        replied(2, "The test passes now.\nDone.", &[]),
        Update::TurnFinished(summary()),
    ]
}
