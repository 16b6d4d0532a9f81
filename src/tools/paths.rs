//! Which paths tools may touch, and what a path means.
//!
//! Placeholder resolved on the text and the file system; see [`Workspace::resolve`].

use std::path::{Path, PathBuf};

/// The folders that file tools may work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The workspace, absolute, links resolved.
    pub root: PathBuf,
    /// Further folders from `--add-dir`, absolute, links resolved.
    pub extra: Vec<PathBuf>,
}

/// A path that passed the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Absolute, links resolved (for a file that does not exist yet: its folder's links).
    pub real: PathBuf,
    /// What is shown to the model: relative to the workspace where it lies inside it.
    pub shown: String,
}

impl Workspace {
    /// Resolves a path as a model gives it (relative to the root, or absolute), following links,
    /// and refuses what lies outside or in an `.xsh` folder. The error tells the model what to do.
    pub fn resolve(&self, given: &str) -> Result<Resolved, String> {
        let _ = Path::new(given);
        Err("not built yet".into())
    }
}
