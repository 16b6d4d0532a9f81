//! The box that commands run in: the kernel, not the reading of a command line, decides what they
//! can reach.
//!
//! Inside, a command writes only below the workspace (with `--add-dir`) and to a private `/tmp`, has
//! no network but a loopback of its own and no UNIX socket, sees and signals no process but its own,
//! and cannot change what other programs run by themselves ([`protected`]). It still reads whatever
//! the user may read.
//!
//! On Linux that is done by user, mount, network and process namespaces and a system call filter
//! ([`enter`]); where those are not allowed, by Landlock and a stricter filter; on macOS by
//! `sandbox-exec` ([`seatbelt`], untested). How much of the promise holds is found out by trying
//! ([`Attempt`]), before the first command, and is never weaker than it says: if the box
//! cannot be built the command does not start.
//!
//! To enter it, [`crate::process`] starts this very program under another name ([`ENTRANCE`]), which
//! builds the box around itself and becomes the command. So everything that has to happen between
//! fork and exec happens in a process of one thread, in ordinary code.
//!
//! It does not decide which commands go into it: that is [`crate::policy`]'s.

#[cfg(target_os = "linux")]
mod enter;
pub mod git;
pub mod inner;
pub mod keep;
pub mod links;
pub mod seatbelt;

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::policy::Strength;
use crate::update::Update;
use inner::Repositories;

/// The name under which this program is started to enter the box.
pub const ENTRANCE: &str = "xsh-sandbox";

/// Namespaces that commands share.
pub const SHARED: usize = 2;

/// How the line of a report begins that says why the box could not be built.
pub const FAULT: &str = "error: ";

/// The line of a report that says that the command wanted to reach the network.
pub const MISSED_NETWORK: &str = "network";

/// The line of a report that says that the command had no process left when it ended.
pub const ALONE: &str = "alone";

/// What this program does when it is started under that name; the arguments are what follows the
/// name. Comes back only with an exit code.
pub fn enter(arguments: impl Iterator<Item = OsString>) -> u8 {
    #[cfg(target_os = "linux")]
    return enter::run(arguments);
    #[cfg(not(target_os = "linux"))]
    {
        drop(arguments);
        125
    }
}

/// An attempt to build a box, which tells how much of the promise holds here. It goes on beside what
/// this program does until its outcome is asked for.
pub struct Attempt {
    #[cfg(target_os = "linux")]
    started: Result<enter::attempt::Attempt, String>,
}

impl Attempt {
    /// Starts it, which takes a fraction of a millisecond. Only a process of one thread can.
    pub fn start() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            started: enter::attempt::Attempt::start(),
        }
    }

    /// Waits for the outcome: a few milliseconds after the start.
    pub fn outcome(self) -> Sandbox {
        #[cfg(target_os = "linux")]
        return self.started.map_or_else(Sandbox::none, enter::attempt::Attempt::outcome);
        #[cfg(not(target_os = "linux"))]
        seatbelt::probe()
    }
}

/// Where the private temporary folder is inside the namespaces.
pub const TMP: &str = "/tmp";

/// What confines a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Linux namespaces and a system call filter.
    Namespaces,
    /// Landlock and a system call filter.
    Landlock,
    /// `sandbox-exec` of macOS.
    Seatbelt,
}

impl Means {
    const ALL: [Self; 3] = [Self::Namespaces, Self::Landlock, Self::Seatbelt];

    /// Its name on screen and between the program and its entrance.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|means| means.name() == name)
    }
}

/// What this machine can do.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// What confines commands; none where nothing can.
    pub means: Option<Means>,
    /// How well.
    pub strength: Strength,
    /// The namespaces that all commands share.
    pub shared: Arc<Vec<OwnedFd>>,
    /// This program's own state folder, which is not for commands.
    pub state: Option<PathBuf>,
}

impl Sandbox {
    /// No box, for this reason.
    pub fn none(why: impl Into<String>) -> Self {
        Self {
            means: None,
            strength: Strength::None(why.into()),
            shared: Arc::default(),
            state: None,
        }
    }

    /// What an attempt has shown: the lines that the entrance prints when it is asked. The first is
    /// the means, each further one something that does not hold. With it come the namespaces that it
    /// has made.
    pub fn told(answer: &str, shared: Vec<OwnedFd>) -> Self {
        let mut lines = answer.lines().map(str::to_owned);
        let first = lines.next().unwrap_or_default();
        let Some(means) = Means::of(&first) else {
            let why = if first.is_empty() { "it could not be tried out" } else { &first };
            return Self::none(why);
        };
        let missing: Vec<String> = lines.collect();
        let strength = if missing.is_empty() { Strength::Full } else { Strength::Partial(missing) };
        Self { means: Some(means), strength, shared: Arc::new(shared), state: None }
    }

    /// The same for these writable folders: nothing is confined that may write everywhere.
    #[must_use]
    pub fn with(self, mut roots: impl Iterator<Item = impl AsRef<Path>>) -> Self {
        if roots.any(|root| root.as_ref().parent().is_none()) {
            return Self::none("commands may write everywhere: the workspace is /");
        }
        self
    }

    /// The box for commands of one session; none where there is none.
    pub fn around(
        &self,
        roots: Vec<PathBuf>,
        tmp: PathBuf,
        repositories: &Arc<Repositories>,
        updates: UnboundedSender<Update>,
    ) -> Option<Confinement> {
        let (means, shared, state) = (self.means?, Arc::clone(&self.shared), self.state.clone());
        let repositories = Arc::clone(repositories);
        Some(Confinement { means, roots, tmp, state, shared, repositories, updates })
    }
}

/// The box for one command.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// What builds it.
    pub means: Means,
    /// Where the command may write: absolute, links resolved, the workspace first.
    pub roots: Vec<PathBuf>,
    /// The private temporary folder; made when first needed.
    pub tmp: PathBuf,
    /// See [`Sandbox::state`].
    pub state: Option<PathBuf>,
    /// The namespaces that all commands share: users and network. So one command can speak to a
    /// server that another has started.
    pub shared: Arc<Vec<OwnedFd>>,
    /// What is known of repositories in the roots.
    pub repositories: Arc<Repositories>,
    /// Where the user is told what became of protected files, whatever the model says of it.
    pub updates: UnboundedSender<Update>,
}

impl Confinement {
    /// What is started instead of a command line so that it runs in the box: the arguments for the
    /// entrance or for the system's own program. `given` are the open file descriptors of the
    /// [`Confinement::shared`] namespaces, and after them the one to which goes, as lines, what
    /// cannot be said in advance.
    pub fn wrap(&self, folder: &Path, given: &[OwnedFd], argv: &[OsString]) -> Vec<OsString> {
        if self.means == Means::Seatbelt {
            return seatbelt::wrap(self, argv);
        }
        let mut words: Vec<OsString> = vec![ENTRANCE.into(), self.means.name().into()];
        words.push(given.len().to_string().into());
        words.extend(given.iter().map(|file| OsString::from(file.as_raw_fd().to_string())));
        words.push(self.tmp.clone().into());
        words.push(self.state.clone().unwrap_or_default().into());
        words.push(folder.into());
        words.push(self.roots.len().to_string().into());
        words.extend(self.roots.iter().map(OsString::from));
        let found = self.repositories.found(&self.roots);
        let protected: Vec<_> =
            found.protected.iter().chain(&found.closed).chain(&self.state).collect();
        words.push(protected.len().to_string().into());
        words.extend(protected.into_iter().map(OsString::from));
        words.extend(argv.iter().cloned());
        words
    }

    /// What a command in it may do, for the model.
    pub fn rule(&self) -> String {
        let tmp = match self.means {
            Means::Namespaces => "/tmp".to_owned(),
            Means::Landlock | Means::Seatbelt => "$TMPDIR".to_owned(),
        };
        let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
        format!(
            "the sandbox lets commands write only below {} and {tmp}, and not to what other programs run by \
             themselves (.git/config, .git/hooks, .vscode, …)",
            roots.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_tells_the_strength() {
        for (answer, means, strength) in [
            ("namespaces\n", Some(Means::Namespaces), "full"),
            ("landlock\na\nb\n", Some(Means::Landlock), "partial"),
            ("no such thing", None, "none"),
            ("", None, "none"),
        ] {
            let told = Sandbox::told(answer, Vec::new());
            assert_eq!((told.means, told.strength.name()), (means, strength), "{answer}");
        }
    }

    #[test]
    fn a_box_around_everything_is_none() {
        let all = Sandbox::told("namespaces", Vec::new());
        assert_eq!(all.clone().with(["/a", "/"].iter()).strength.name(), "none");
        assert_eq!(all.with(["/a", "/b"].iter()).strength.name(), "full");
    }
}
