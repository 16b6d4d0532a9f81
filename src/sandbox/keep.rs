//! Protected files ([`PROTECTED`]) in the folders that a command may write to.
//!
//! What is there when the command starts is nailed down by the box ([`nails`]). What is not there
//! cannot be: a placeholder would show up in the workspace, in `git status` and in archives. So
//! it is looked for while the command runs and when it has ended, and what has come into being is
//! moved aside ([`Guard`]), kept for the user and named.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::FileType;
use tokio::time::timeout;

use super::Confinement;
use super::inner::{BARE, Found, GIT, Repositories};
use crate::policy::protected::{ONCE_THERE, PROTECTED};
use crate::session::clock;
use crate::tools::beneath::{self, Folder};
use crate::update::Update;

/// How often it is looked while a command runs.
const LOOK: Duration = Duration::from_millis(500);

/// The folder beside the private temporary one where things are moved.
const ASIDE: &str = "moved-aside";

/// Lines about things that were moved aside at most, per command.
const MOST: usize = 100;

/// Names that are tried for a thing.
const NAMES: usize = 1_000;

/// Why something is moved aside.
const TURNED_UP: &str =
    "came into being while the command ran, but is protected: other programs run what is in it";

/// Likewise.
const LINKED: &str = "belongs to a repository that has become part of the one around it, where git would run what \
                      it says";

/// What is said of a file that somebody outside of the box has replaced: what is mounted on the old one
/// does not cover the new one.
const REPLACED: &str = "was replaced by somebody else while the command ran; from then on the sandbox did not keep the \
                        command from changing it: look at what it holds now";

/// What has to be mounted on itself in one root.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Nails {
    /// Folders that hold something protected and must stay in their place, outermost first.
    pub held: BTreeSet<PathBuf>,
    /// What must not change.
    pub read_only: BTreeSet<PathBuf>,
}

/// What of a root is protected and there, with what else is protected in it. A link is followed as long
/// as it stays in the root: the link itself is the [`Guard`]'s concern.
pub fn nails(root: &Path, more: &[PathBuf]) -> Nails {
    let mut nails = Nails::default();
    let listed = PROTECTED.iter().chain(ONCE_THERE).map(|relative| root.join(relative));
    let more = more.iter().filter(|path| path.starts_with(root)).cloned();
    for path in listed.chain(more) {
        // Most are not there, and this is the quickest way to know.
        if fs::symlink_metadata(&path).is_err() {
            continue;
        }
        let Ok(real) = fs::canonicalize(&path) else { continue };
        if !real.starts_with(root) || (real == root && path != root) {
            continue;
        }
        nails.held.extend(between(root, &real));
        // A repository works in its folder, which stays in its place.
        let open = path.ends_with(GIT) && real.is_dir();
        if open {
            nails.held.insert(real)
        } else {
            nails.read_only.insert(real)
        };
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

/// Watches for protected files that come into being.
#[derive(Debug)]
pub struct Guard {
    watched: Vec<Watched>,
    /// The files that the box has nailed down.
    nailed: Vec<(PathBuf, Identity)>,
    roots: Vec<PathBuf>,
    /// What is known of repositories, and what was when the command began.
    repositories: Arc<Repositories>,
    found: Arc<Found>,
    /// Where things are moved.
    aside: PathBuf,
}

/// Which file it is, whatever it holds.
type Identity = (u64, u64);

#[derive(Debug)]
struct Watched {
    /// Without links, as long as nobody puts one there.
    path: PathBuf,
    root: PathBuf,
    /// The link that was there, which is no file and cannot be nailed down.
    link: Option<PathBuf>,
}

impl Guard {
    /// Notes what is not there now of what the box protects.
    pub fn new(confinement: &Confinement) -> Self {
        let Confinement { roots, repositories, tmp, .. } = confinement;
        let found = repositories.found(roots);
        let mut watched = Vec::new();
        for root in roots {
            let listed =
                PROTECTED.iter().filter_map(|relative| Watched::new(root, relative.as_ref()));
            let bare = (!is_repository(root)).then(|| Watched::absent(root, root.join(BARE)));
            watched.extend(listed.chain(bare));
        }
        watched.extend(found.protected.iter().filter_map(|path| {
            let around = roots.iter().filter(|root| path.starts_with(root));
            Watched::new(around.max_by_key(|root| root.components().count())?, path)
        }));
        repositories.links().began();
        let more: Vec<_> = found.protected.iter().cloned().collect();
        let nailed = roots.iter().flat_map(|root| nails(root, &more).read_only);
        let nailed = nailed.filter_map(|path| identity(&path).map(|file| (path, file))).collect();
        let (repositories, aside) = (Arc::clone(repositories), tmp.with_file_name(ASIDE));
        Self { watched, nailed, roots: roots.clone(), repositories, found, aside }
    }

    /// Moves aside what has turned up, and says what became of it, a line each.
    pub fn sweep(&self) -> Vec<String> {
        let said = self.watched.iter().filter_map(|watched| match watched.changed() {
            Ok(None) => None,
            Ok(Some(path)) => {
                let link = watched.link.as_ref().filter(|_| path == watched.path);
                Some(self.take(&path, link, TURNED_UP))
            }
            Err(error) => Some(Self::left(&watched.path, &error, TURNED_UP)),
        });
        let mut said: Vec<_> = said.collect();
        let dangers = self.repositories.links().dangers(&self.found, &self.roots);
        said.extend(dangers.files.iter().map(|path| self.take(path, None, LINKED)));
        said.extend(dangers.said);
        let replaced = self.nailed.iter().filter(|(path, file)| identity(path) != Some(*file));
        said.extend(replaced.map(|(path, _)| format!("{} {REPLACED}", path.display())));
        said
    }

    fn take(&self, path: &Path, link: Option<&PathBuf>, why: &str) -> String {
        match self.move_aside(path, link) {
            Ok(to) => format!("{} {why}. It was moved to {}", path.display(), to.display()),
            Err(error) => Self::left(path, &error, why),
        }
    }

    fn left(path: &Path, error: &io::Error, why: &str) -> String {
        format!("{} {why}. It could not be moved away ({error})", path.display())
    }

    /// Whatever the command does meanwhile: no link is followed on either side. On another file system
    /// it stays beside where it was.
    fn move_aside(&self, path: &Path, link: Option<&PathBuf>) -> io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.aside)?;
        let aside = Folder::open(&fs::canonicalize(&self.aside)?)?;
        let (folder, name) = Folder::of(path)?;
        let mut opened = false;
        let taken = fs::read_dir(&self.aside)?.count();
        for number in taken + 1..=taken + NAMES {
            let new = format!("{number}-{}", name.display());
            let mut to = self.aside.join(&new);
            let mut moved = folder.move_to(name, &aside, new.as_ref());
            if moved.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::CrossesDevices) {
                let new = format!("{}.{ASIDE}-{:08x}", name.display(), clock::random() >> 32);
                to = path.with_file_name(&new);
                moved = folder.move_to(name, &folder, new.as_ref());
            }
            match moved {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // The command may have taken the rights from what it made.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !opened => {
                    opened = true;
                    folder.open_up()?;
                    folder.folder(name).and_then(|folder| folder.open_up()).or_else(no_folder)?;
                }
                done => {
                    done?;
                    if let Some(link) = link {
                        folder.link(link, name)?;
                    }
                    return Ok(to);
                }
            }
        }
        Err(io::Error::other("there is no room for more"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.repositories.links().ended();
    }
}

/// Waits for a command while the guard looks on. Beside its outcome it gives what was moved aside.
pub async fn watch<T>(
    confinement: Option<&Confinement>,
    command: impl Future<Output = T>,
) -> (T, Vec<String>) {
    let Some(confinement) = confinement else { return (command.await, Vec::new()) };
    let guard = Guard::new(confinement);
    let mut said: Vec<String> = Vec::new();
    let mut more = 0;
    let mut command = pin!(command);
    loop {
        let done = timeout(LOOK, &mut command).await;
        for line in guard.sweep() {
            match said.len() {
                _ if said.contains(&line) => {}
                MOST.. => more += 1,
                _ => {
                    // A screen that is gone needs no warning.
                    let _ = confinement.updates.send(Update::Warning(line.clone()));
                    said.push(line);
                }
            }
        }
        if let Ok(done) = done {
            if more > 0 {
                let more = format!("there are {more} more of such things");
                let _ = confinement.updates.send(Update::Warning(more.clone()));
                said.push(more);
            }
            return (done, said);
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((meta.dev(), meta.ino()))
}

/// What is no folder needs no rights to be moved.
fn no_folder(error: io::Error) -> io::Result<()> {
    if matches!(error.kind(), io::ErrorKind::NotADirectory) || beneath::is_link(&error) {
        Ok(())
    } else {
        Err(error)
    }
}

impl Watched {
    /// What is to be watched of a protected path: that nothing comes, or that a link stays. A path that
    /// leads out of the root by a link is not the command's to change.
    fn new(root: &Path, relative: &Path) -> Option<Self> {
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
