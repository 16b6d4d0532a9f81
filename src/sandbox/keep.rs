//! Protected files ([`PROTECTED`]) in the folders that a command may write to.
//!
//! What is there when the command starts is nailed down by the box ([`nails`]). What is not there
//! cannot be: a placeholder would show up in the workspace, in `git status` and in archives. So
//! it is looked for while the command runs and when it has ended, and what has come into being is
//! moved aside ([`Guard`]), kept for the user and named.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use rustix::fs::FileType;
use tokio::time::timeout;
use walkdir::{DirEntry, WalkDir};

use super::Confinement;
use crate::policy::protected::{INNER, OF_GIT, PROTECTED};
use crate::tools::beneath::{self, Folder};

/// How often it is looked while a command runs.
const LOOK: Duration = Duration::from_millis(500);

/// The folder beside the private temporary one where things are moved.
const ASIDE: &str = "moved-aside";

/// Things that are moved aside at most, per command.
const MOST: usize = 100;

/// How deep submodules lie in each other at most, in folders of `.git`.
const INNER_DEPTH: usize = 6;

/// Entries of `.git/modules` that are looked at.
const INNER_MOST: usize = 2_000;

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
    let listed = PROTECTED.iter().map(|relative| root.join(relative));
    for path in listed.chain(inner_repositories(&root.join(GIT))) {
        // Most are not there, and this is the quickest way to know.
        if fs::symlink_metadata(&path).is_err() {
            continue;
        }
        let Ok(real) = fs::canonicalize(&path) else { continue };
        let whole = !path.ends_with(GIT) || real.is_file();
        if whole && real.starts_with(root) && real != root && !nails.read_only.contains(&real) {
            for folder in between(root, &real) {
                if !nails.held.contains(&folder) {
                    nails.held.push(folder);
                }
            }
            nails.read_only.push(real);
        }
    }
    nails
}

/// The folders on the way from one to another below it, outermost first, neither included.
pub fn between(above: &Path, below: &Path) -> Vec<PathBuf> {
    let on_the_way = below.ancestors().skip(1).take_while(|folder| *folder != above);
    let mut folders: Vec<_> = on_the_way.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// What is protected of the submodules and work trees of a repository.
fn inner_repositories(git: &Path) -> Vec<PathBuf> {
    let folders = INNER.iter().flat_map(|name| {
        let walk = WalkDir::new(git.join(name)).max_depth(INNER_DEPTH).into_iter();
        // What git keeps inside holds no further repository.
        let no_objects =
            |entry: &DirEntry| !matches!(entry.file_name().to_str(), Some("objects" | "refs"));
        walk.filter_entry(no_objects).take(INNER_MOST).flatten()
    });
    let folders =
        folders.filter(|entry| entry.file_type().is_dir() && entry.path().join(BARE).is_file());
    folders.flat_map(|entry| OF_GIT.iter().map(move |name| entry.path().join(name))).collect()
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
    /// Without links, as long as nobody puts one there.
    path: PathBuf,
    root: PathBuf,
    /// The link that was there, which is no file and cannot be nailed down.
    link: Option<PathBuf>,
}

impl Guard {
    /// Notes what is not there now, in all roots. What turns up is moved into `aside`.
    pub fn new(roots: &[PathBuf], aside: &Path) -> Self {
        let mut watched = Vec::new();
        for root in roots {
            let listed = PROTECTED.iter().filter_map(|relative| Watched::new(root, relative));
            let bare = (!is_repository(root)).then(|| Watched::absent(root, root.join(BARE)));
            watched.extend(listed.chain(bare));
        }
        Self { watched, aside: aside.to_owned() }
    }

    /// Moves aside what has turned up, and says what became of it, a line each.
    pub fn sweep(&self) -> Vec<String> {
        let said = self.watched.iter().filter_map(|watched| match watched.changed() {
            Ok(None) => None,
            Ok(Some(path)) => Some(self.take(watched, &path)),
            Err(error) => Some(Self::left(&watched.path, &error)),
        });
        said.take(MOST).collect()
    }

    fn take(&self, watched: &Watched, path: &Path) -> String {
        match self.move_aside(watched, path) {
            Ok(to) => format!(
                "{} came into being while the command ran, but is protected: other programs run what is in \
                 it. It was moved to {}",
                path.display(),
                to.display()
            ),
            Err(error) => Self::left(path, &error),
        }
    }

    fn left(path: &Path, error: &io::Error) -> String {
        format!(
            "{} came into being while the command ran, but is protected: other programs run what is in it. \
             It could not be moved away ({error}): tell the user",
            path.display()
        )
    }

    /// Whatever the command does meanwhile: no link is followed on either side.
    fn move_aside(&self, watched: &Watched, path: &Path) -> io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.aside)?;
        let aside = Folder::open(&fs::canonicalize(&self.aside)?)?;
        let (folder, name) = Folder::of(path)?;
        for number in 1..=10 * MOST {
            let new = format!("{number}-{}", name.display());
            match folder.move_to(name, &aside, new.as_ref()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => {
                    done?;
                    if let Some(link) = watched.link.as_ref().filter(|_| path == watched.path) {
                        folder.link(link, name)?;
                    }
                    return Ok(self.aside.join(new));
                }
            }
        }
        Err(io::Error::other("there is no room for more"))
    }
}

/// Waits for a command while the guard looks on. Beside its outcome it gives what was moved aside.
pub async fn watch<T>(
    confinement: Option<&Confinement>,
    command: impl Future<Output = T>,
) -> (T, Vec<String>) {
    let Some(confinement) = confinement else { return (command.await, Vec::new()) };
    let guard = Guard::new(&confinement.roots, &confinement.tmp.with_file_name(ASIDE));
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
    /// What is to be watched of a protected path: that nothing comes, or that a link stays. A path that
    /// leads out of the root by a link is not the command's to change.
    fn new(root: &Path, relative: &str) -> Option<Self> {
        let path = root.join(relative);
        let (above, name) = (path.parent()?, path.file_name()?);
        let above = if above == root { Ok(root.to_owned()) } else { fs::canonicalize(above) };
        let path = match above {
            Ok(real) if real.starts_with(root) => real.join(name),
            Ok(_) => return None,
            Err(_) => path,
        };
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => {
                let link = Some(fs::read_link(&path).unwrap_or_default());
                Some(Self { path, root: root.to_owned(), link })
            }
            Ok(_) => None,
            Err(_) => Some(Self::absent(root, path)),
        }
    }

    fn absent(root: &Path, path: PathBuf) -> Self {
        Self { path, root: root.to_owned(), link: None }
    }

    /// What has to be moved aside: the path, or a link that has taken the place of a folder above it.
    fn changed(&self) -> io::Result<Option<PathBuf>> {
        let (folder, name) = match Folder::of(&self.path) {
            Ok(found) => found,
            Err(error) if beneath::is_link(&error) => {
                let above = between(&self.root, &self.path);
                return Ok(above.into_iter().find(|folder| folder.is_symlink()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(entry) = folder.entry(name)? else { return Ok(None) };
        let harmless = match &self.link {
            Some(link) => {
                folder.link_target(name).is_ok_and(|now| now == link.as_os_str().as_bytes())
            }
            // A repository may be made; what it would run may not.
            None if self.path.ends_with(GIT) => entry.kind() == FileType::Directory,
            None if self.path.ends_with(BARE) => !is_repository(&self.root),
            None => false,
        };
        Ok((!harmless).then(|| self.path.clone()))
    }
}

/// Whether git would take the folder itself for a repository.
fn is_repository(folder: &Path) -> bool {
    folder.join(BARE).exists() && ["objects", "refs"].iter().all(|name| folder.join(name).is_dir())
}
