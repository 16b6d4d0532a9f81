//! The texts that slash commands show.

use crate::agent::ContextReport;
use crate::ui::figures::tokens;

/// A session in the list of `/sessions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionLine {
    /// Its id.
    pub id: String,
    /// When it was last used, for the reader.
    pub when: String,
    /// What it is about: the beginning of its first message.
    pub title: String,
}

/// The text of `/sessions`; the current one is marked.
pub(super) fn sessions(sessions: &[SessionLine], current: &str) -> String {
    if sessions.is_empty() {
        return "No sessions are saved in this workspace.".to_owned();
    }
    let lines = sessions.iter().map(|session| {
        let mark = if session.id == current { '*' } else { ' ' };
        format!("{mark} {}  {}  {}", session.id, session.when, session.title)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The text of `/rewind`.
pub(super) fn points(points: &[(usize, String)]) -> String {
    if points.is_empty() {
        return "Nothing has been said yet.".to_owned();
    }
    let lines = points.iter().map(|(number, text)| format!("{number:>4}  {text}"));
    let how = "/rewind N goes back before message N: messages and files; add `conversation` or \
               `files` for one of them";
    lines.chain([how.to_owned()]).collect::<Vec<_>>().join("\n")
}

/// The text of `/tools`.
pub(super) fn tools(tools: &[(String, String)]) -> String {
    let widest = tools.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = tools.iter().map(|(name, about)| format!("{name:widest$}  {about}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The text of `/context`.
pub(super) fn context(report: &ContextReport) -> String {
    let used = tokens(report.tokens);
    let mut lines = vec![match report.window {
        Some(window) => {
            let share = report.tokens.saturating_mul(100).checked_div(window).unwrap_or(0);
            let origin = match report.window_origin.as_str() {
                "" => String::new(),
                origin => format!(" ({origin})"),
            };
            format!("{used} of {} tokens in use, {share} %{origin}", tokens(window))
        }
        None => format!("{used} tokens in use; the model's window is not known"),
    }];
    if let Some(at) = report.compact_at {
        lines.push(format!("older messages are summarised at {}", tokens(at)));
    }
    let widest = report.parts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let parts =
        report.parts.iter().map(|(name, size)| format!("  {name:widest$}  {}", tokens(*size)));
    lines.extend(parts);
    lines.join("\n")
}

#[cfg(test)]
mod tests;
