//! Protected files ([`PROTECTED`]) in the folders that a command may write to.
//!
//! What is there when the command starts is nailed down by the box ([`nails`]). What is not there
//! cannot be: a placeholder would show up in the workspace, in `git status` and in archives. So
//! it is looked for while the command runs and when it has ended, and what has come into being is
//! moved aside ([`Guard`]), kept for the user and named.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

use super::Confinement;
use crate::policy::protected::PROTECTED;

/// How often it is looked while a command runs.
const LOOK: Duration = Duration::from_millis(500);

/// The folder beside the private temporary one where things are moved.
const ASIDE: &str = "moved-aside";

/// Things that are moved aside at most, per command.
const MOST: usize = 100;

/// The folder that holds a repository's own files.
const GIT: &str = ".git";

/// The file by which git takes a folder itself for a repository.
const BARE: &str = "HEAD";

/// What has to be mounted on itself in one root.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Nails {
    /// Folders that hold something protected and must stay in their place, outermost first.
    pub held: Vec<PathBuf>,
    /// What must not change.
    pub read_only: Vec<PathBuf>,
}

/// What of a root is protected and there. A link is followed as long as it stays in the root: the
/// link itself is the [`Guard`]'s concern.
pub fn nails(root: &Path) -> Nails {
    let mut nails = Nails::default();
    let mut hold = |path: &Path| {
        let mut above: Vec<_> =
            path.ancestors().skip(1).take_while(|above| *above != root).collect();
        above.reverse();
        for folder in above {
            if !nails.held.iter().any(|held| held == folder) {
                nails.held.push(folder.to_owned());
            }
        }
    };
    let mut read_only = Vec::new();
    for relative in PROTECTED {
        let Ok(real) = fs::canonicalize(root.join(relative)) else { continue };
        let whole = *relative != GIT || real.is_file();
        if whole && real.starts_with(root) && real != root && !read_only.contains(&real) {
            hold(&real);
            read_only.push(real);
        }
    }
    nails.read_only = read_only;
    nails
}

/// Watches for protected files that come into being.
#[derive(Debug)]
pub struct Guard {
    watched: Vec<Watched>,
    /// Where things are moved.
    aside: PathBuf,
}

#[derive(Debug)]
struct Watched {
    path: PathBuf,
    /// The link that was there, which is no file and cannot be nailed down.
    link: Option<PathBuf>,
}

impl Guard {
    /// Notes what is not there now, in all roots. What turns up is moved into `aside`.
    pub fn new(roots: &[PathBuf], aside: PathBuf) -> Self {
        let paths = roots.iter().flat_map(|root| PROTECTED.iter().map(move |path| root.join(path)));
        let open = paths.filter_map(|path| match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => {
                let link = Some(fs::read_link(&path).unwrap_or_default());
                Some(Watched { path, link })
            }
            Ok(_) => None,
            Err(_) => Some(Watched { path, link: None }),
        });
        let heads = roots.iter().map(|root| root.join(BARE)).filter(|head| !head.exists());
        let heads = heads.map(|path| Watched { path, link: None });
        Self { watched: open.chain(heads).collect(), aside }
    }

    /// Moves aside what has turned up, and says what became of it, a line each.
    pub fn sweep(&self) -> Vec<String> {
        let changed = self.watched.iter().filter_map(|watched| watched.changed());
        changed.take(MOST).map(|(watched, meta)| self.take(watched, &meta)).collect()
    }

    fn take(&self, watched: &Watched, meta: &Metadata) -> String {
        let path = watched.path.display();
        match self.move_aside(watched) {
            Ok(to) => format!(
                "{path} was made by the command, but is protected: other programs run what is in it. It \
                 was moved to {}",
                to.display()
            ),
            Err(error) => {
                let kind = if meta.is_dir() { "folder" } else { "file" };
                format!(
                    "{path} was made by the command, but is protected: other programs run what is in \
                     it. This {kind} could not be moved away ({error}): tell the user"
                )
            }
        }
    }

    fn move_aside(&self, watched: &Watched) -> io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.aside)?;
        let name = watched.path.file_name().unwrap_or_default().to_string_lossy();
        let free = |number: &usize| {
            let to = self.aside.join(format!("{number}-{name}"));
            fs::symlink_metadata(&to).is_err().then_some(to)
        };
        let to = (1..=10 * MOST).find_map(|number| free(&number));
        let to = to.ok_or_else(|| io::Error::other("there is no room for more"))?;
        fs::rename(&watched.path, &to)?;
        if let Some(link) = &watched.link {
            std::os::unix::fs::symlink(link, &watched.path)?;
        }
        Ok(to)
    }
}

/// Waits for a command while the guard looks on. Beside its outcome it gives what was moved aside.
pub async fn watch<T>(
    confinement: Option<&Confinement>,
    command: impl Future<Output = T>,
) -> (T, Vec<String>) {
    let Some(confinement) = confinement else { return (command.await, Vec::new()) };
    let guard = Guard::new(&confinement.roots, confinement.tmp.with_file_name(ASIDE));
    let mut said = Vec::new();
    let mut command = pin!(command);
    loop {
        let done = timeout(LOOK, &mut command).await;
        said.extend(guard.sweep());
        if let Ok(done) = done {
            said.truncate(MOST);
            return (done, said);
        }
    }
}

impl Watched {
    fn changed(&self) -> Option<(&Self, Metadata)> {
        let meta = fs::symlink_metadata(&self.path).ok()?;
        let harmless = match &self.link {
            Some(link) => fs::read_link(&self.path).is_ok_and(|now| now == *link),
            // A repository may be made; what it would run may not.
            None if self.path.ends_with(GIT) => meta.is_dir(),
            None if self.path.ends_with(BARE) => !is_repository(self.path.parent()?),
            None => false,
        };
        (!harmless).then_some((self, meta))
    }
}

/// What git looks for in a folder beside [`BARE`].
fn is_repository(folder: &Path) -> bool {
    ["objects", "refs"].iter().all(|name| folder.join(name).is_dir())
}
