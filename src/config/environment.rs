//! The one place that reads the process's environment and working directory.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

/// The environment as it was at the start.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// The working directory; none when it was deleted or cannot be read.
    pub current_dir: Option<PathBuf>,
}

impl Environment {
    /// Reads it.
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    pub fn read() -> Self {
        Self { variables: std::env::vars_os().collect(), current_dir: std::env::current_dir().ok() }
    }

    /// One made of these variables.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let variables = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { variables: variables.collect(), current_dir: None }
    }

    /// A variable's text; an empty one counts as unset. What is not UTF-8 becomes U+FFFD.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = self.variables.get(OsStr::new(name))?;
        (!value.is_empty()).then(|| value.to_string_lossy().into_owned())
    }

    /// `$XDG_CONFIG_HOME/xsh`, else `~/.config/xsh`.
    pub fn user_dir(&self) -> Option<PathBuf> {
        self.base("XDG_CONFIG_HOME", ".config")
    }

    /// `$XDG_STATE_HOME/xsh`, else `~/.local/state/xsh`.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.base("XDG_STATE_HOME", ".local/state")
    }

    /// The home folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.folder("HOME")
    }

    fn base(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let base = self.folder(variable).or_else(|| Some(self.home()?.join(below_home)))?;
        Some(base.join("xsh"))
    }

    /// A variable that names a folder; relative ones are ignored, as the XDG rules ask.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.variables.get(OsStr::new(name))?);
        path.is_absolute().then_some(path)
    }
}

/// Names only: values may be secrets of any kind.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}
