//! The question whether what a project brings along may be used.

use std::path::Path;

use super::editor::{Editor, Line};
use crate::ui::Handle;
use crate::update::Update;

/// The prompt; whatever is no clear yes is a no.
const PROMPT: &str = "Trust exactly this content? [y/N] ";
/// Demands that are shown; the others are counted.
const SHOWN: usize = 40;

/// Shows the demands and asks once.
pub async fn ask(
    screen: &Handle,
    editor: &mut Editor,
    workspace: &Path,
    demands: &[String],
) -> bool {
    screen.show(Update::Note(told(workspace, demands)));
    screen.pause().await;
    editor.ask_answer(PROMPT);
    let line = editor.line().await;
    screen.resume();
    is_yes(&line)
}

/// What came of it, in a line.
pub fn answered(yes: bool) -> String {
    if yes {
        "trusted until it changes (`xsh trust` asks again)".to_owned()
    } else {
        "not trusted: ignored until it changes (`xsh trust` asks again)".to_owned()
    }
}

fn told(workspace: &Path, demands: &[String]) -> String {
    let head = format!(
        "This project brings settings or tools along that need your trust, in {}:",
        workspace.join(".xsh").display()
    );
    let rows = demands.iter().take(SHOWN).map(|demand| format!("  {demand}"));
    let more = demands.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("  … and {more} more"));
    let end = "A tool is a program that the model can start. No key of yours goes to an endpoint that \
         is not its own.";
    std::iter::once(head)
        .chain(rows)
        .chain(more)
        .chain([end.to_owned()])
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_yes(line: &Line) -> bool {
    let Line::Text(text) = line else { return false };
    matches!(text.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (line, yes) in [("y", true), (" YES ", true), ("", false), ("n", false), ("yep", false)]
        {
            assert_eq!(is_yes(&Line::Text(line.to_owned())), yes, "{line}");
        }
        assert!(!is_yes(&Line::Interrupted) && !is_yes(&Line::Eof));
    }

    #[test]
    fn many_demands_are_counted() {
        let demands: Vec<String> = (0..50).map(|n| format!("tool t{n}: x")).collect();
        let told = told(Path::new("/w"), &demands);
        assert!(told.contains("\n  tool t39: x\n  … and 10 more\n"), "{told}");
    }
}
