//! The line at the bottom that shows what the program is waiting for.

use std::time::Duration;

use super::style::{fit, width};
use super::{figures, sanitize};
use crate::update::ToolShown;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What the program is doing while nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing has come back yet.
    Waiting,
    /// The model reasons.
    Thinking,
    /// The model writes a call of this tool.
    Calling(String),
    /// Tools run.
    Running,
    /// The request will be sent again after this time.
    Retrying(Duration),
    /// A summary is being asked for.
    Compacting,
}

impl Phase {
    /// The line, this long after the phase began, in at most `columns` columns.
    pub(super) fn line(&self, running: &[ToolShown], elapsed: Duration, columns: usize) -> String {
        // A countdown is a time already.
        let tail = if matches!(self, Self::Retrying(_)) {
            " · Ctrl-C stops".to_owned()
        } else {
            format!(" · {} s · Ctrl-C stops", elapsed.as_secs())
        };
        let room = columns.saturating_sub(width(&tail) + 2);
        let label = fit(&self.label(running, elapsed), room);
        fit(&format!("{} {label}{tail}", spinner(elapsed)), columns)
    }

    fn label(&self, running: &[ToolShown], elapsed: Duration) -> String {
        match self {
            Self::Waiting => "waiting for the model".to_owned(),
            Self::Thinking => "thinking".to_owned(),
            Self::Calling(name) => format!("writing a call of {}", sanitize::line(name)),
            Self::Compacting => "summarising older messages".to_owned(),
            Self::Retrying(wait) => {
                let left = wait.saturating_sub(elapsed).as_millis().div_ceil(1000);
                format!("asking again in {left} s")
            }
            Self::Running => match running {
                [tool] => sanitize::line(&format!("{} {}", tool.name, tool.subject)),
                tools => figures::count(tools.len().try_into().unwrap_or(u64::MAX), "tool"),
            },
        }
    }
}

fn spinner(elapsed: Duration) -> &'static str {
    let frames = u128::try_from(SPINNER.len()).unwrap_or(1);
    let frame = usize::try_from(elapsed.as_millis() / 100 % frames).unwrap_or(0);
    SPINNER.get(frame).copied().unwrap_or_default()
}
