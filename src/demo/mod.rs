//! `--demo`: the real loop, log, tools and screen, with a model that is a script.
//!
//! A newcomer without a key sees the whole thing work. The script only stands in for the model: it
//! finds, fixes and verifies a bug in a small project that is unpacked to a temporary folder, and its
//! last answer depends on what the test really printed.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::client::{Failure, Model, Pending, Request};
use crate::message::{Delta, FinishReason, Reply, ToolCall, Usage};

/// What the demo asks for.
pub const PROMPT: &str = "The total on the receipt is wrong. Find the bug, fix it, and show that the \
                          test passes.";

/// The name that is shown in the model's place.
pub const MODEL: &str = "scripted";

/// The sample project: file names and contents.
const PROJECT: [(&str, &str); 4] = [
    ("README.md", include_str!("project/README.md")),
    ("prices.txt", include_str!("project/prices.txt")),
    ("receipt.sh", include_str!("project/receipt.sh")),
    ("test.sh", include_str!("project/test.sh")),
];

/// Between two words, so that the answer streams as one from a model does.
const WORD: Duration = Duration::from_millis(12);

/// Unpacks the sample project.
pub fn unpack(folder: &Path) -> std::io::Result<()> {
    for (name, content) in PROJECT {
        std::fs::write(folder.join(name), content)?;
    }
    Ok(())
}

/// What is said after the demo.
pub fn farewell(folder: &Path) -> String {
    format!(
        "The project is in {}; its session log is in .xsh/sessions there. For work of your own, set \
         a provider's key (DEEPSEEK_API_KEY, OPENAI_API_KEY, …) or start a model server on this \
         machine, and run xsh in a project.",
        folder.display()
    )
}

/// The model in the program.
#[derive(Default)]
pub struct ScriptedModel {
    replies: usize,
}

impl Model for ScriptedModel {
    fn complete<'a>(
        &'a mut self,
        request: Request,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
        cancel: &'a CancellationToken,
    ) -> Pending<'a> {
        Box::pin(async move {
            self.replies += 1;
            let scripted = reply(self.replies, &request);
            let mut said = String::new();
            for word in scripted.content.split_inclusive(' ') {
                tokio::select! {
                    () = cancel.cancelled() => {
                        let partial = Reply { content: said, ..Reply::default() };
                        return Err(Box::new(Failure::Cancelled(partial)));
                    }
                    () = tokio::time::sleep(WORD) => {}
                }
                said.push_str(word);
                on_delta(Delta::Content(word.to_owned()));
            }
            Ok(scripted)
        })
    }
}

/// The script: one reply per request.
fn reply(number: usize, request: &Request) -> Reply {
    let (content, calls): (&str, &[(&str, &str)]) = match number {
        1 => (
            "I will see what is here and where the total is computed.",
            &[("glob", r#"{"pattern":"**/*"}"#), ("grep", r#"{"pattern":"total"}"#)],
        ),
        2 => (
            "The sum is made in `receipt.sh`. I will read it, and the test that should catch this.",
            &[("read", r#"{"file_path":"receipt.sh"}"#), ("read", r#"{"file_path":"test.sh"}"#)],
        ),
        3 => (
            "Before changing anything, I run the test.",
            &[("shell", r#"{"command":"sh test.sh"}"#)],
        ),
        4 => (
            "Line 6 replaces the total with each price instead of adding to it.",
            &[(
                "edit",
                r#"{"file_path":"receipt.sh","old_string":"total=$price","new_string":"total=$((total + price))"}"#,
            )],
        ),
        5 => ("Now the test again.", &[("shell", r#"{"command":"sh test.sh"}"#)]),
        _ => (verdict(request), &[]),
    };
    let tool_calls: Vec<ToolCall> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| ToolCall {
            id: format!("{}{index}", request.id_prefix),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
            ..ToolCall::default()
        })
        .collect();
    let finish_reason =
        if tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    let usage = Some(usage(request, content));
    Reply { content: content.to_owned(), tool_calls, finish_reason, usage, ..Reply::default() }
}

/// The last answer goes by what the last run of the test printed.
fn verdict(request: &Request) -> &'static str {
    let body = String::from_utf8_lossy(&request.body);
    let last_result =
        body.rfind(r#""role":"tool""#).and_then(|at| body.get(at..)).unwrap_or_default();
    if last_result.contains("PASS") {
        "Fixed. `receipt.sh` kept only the last price, because the loop assigned `total=$price`; it \
         now adds each price to the total. The test failed before the change and passes after it."
    } else {
        "The change is made, but the test does not pass here; its output above says why."
    }
}

/// Plausible figures by the rule of thumb of three bytes a token.
fn usage(request: &Request, content: &str) -> Usage {
    let prompt = (request.body.len() as u64).div_ceil(3);
    Usage { prompt, completion: (content.len() as u64).div_ceil(3) + 20, ..Usage::default() }
}
