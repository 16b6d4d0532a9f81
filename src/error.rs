//! What fails, told so that the user knows what to do next.
//!
//! One error type at the edge: a kind (which decides the exit code), what failed and why, and
//! where there is one the next step. Tools never use it: their faults are outcomes for the model.

use std::fmt;

/// How the process ends. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The work is done.
    Done,
    /// The turn failed: provider, network or internal.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// Stopped at a limit: steps or repeats.
    Limit,
    /// Finished, but an action was denied.
    Denied,
    /// The user interrupted.
    Interrupted,
}

impl Exit {
    /// The process exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Limit => 3,
            Self::Denied => 4,
            Self::Interrupted => 130,
        }
    }
}

/// An error for the user: `error: what: why` and `help: next step`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What was being done, as a short phrase without a final stop.
    pub what: String,
    /// Why it failed; may be empty when `what` says it all.
    pub why: String,
    /// What the user can do next.
    pub help: Option<String>,
    /// The exit code it leads to.
    pub exit: Exit,
}

impl Error {
    /// A failure at run time (exit 1).
    pub fn failed(what: impl Into<String>, why: impl fmt::Display) -> Self {
        Self { what: what.into(), why: why.to_string(), help: None, exit: Exit::Failed }
    }

    /// A usage or configuration error (exit 2).
    pub fn usage(what: impl Into<String>, why: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, ..Self::failed(what, why) }
    }

    /// The user did not want to wait for it (exit 130).
    pub fn interrupted() -> Self {
        Self { exit: Exit::Interrupted, ..Self::failed("interrupted", "") }
    }

    /// The same error with its next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        if !self.why.is_empty() {
            write!(f, ": {}", self.why)?;
        }
        if let Some(help) = &self.help {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
