//! The git repositories in the folders that commands may write to: where they are, and which of their
//! files have something run.
//!
//! They are looked for once a turn, beside the first request ([`Repositories::begin`]). What is found is
//! protected like the workspace's own `.git`: by nails and by the guard (see [`super::keep`]). What a
//! command makes of a repository that was not there before is [`super::links`]'s concern.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use walkdir::{DirEntry, WalkDir};

use super::git;
use super::links::Links;
use crate::policy::protected::{INNER, OF_GIT};
use crate::tools::beneath;

/// The folder that holds a repository's own files, or the file that says where they are.
pub const GIT: &str = ".git";

/// The file by which git takes a folder itself for a repository.
pub const BARE: &str = "HEAD";

/// Folders that are looked into at most.
const FOLDERS: usize = 20_000;

/// Repositories that are protected at most.
const MOST: usize = 200;

/// How long it may take: a file system may be slow.
const WITHIN: Duration = Duration::from_secs(1);

/// Folders that are not searched: what build tools fill with clones and throw away, where nobody works;
/// and what is protected as a whole and holds many files.
const SKIPPED: [&str; 7] =
    [".xsh", "node_modules", "target", "_deps", ".venv", ".terraform", ".build"];

/// Entries of `.git/modules` that are looked at.
const INNER_MOST: usize = 20_000;

/// Hooks of a repository that are looked at.
const HOOKS: usize = 200;

/// Bytes of a file of settings that are read.
const SETTINGS_BYTES: u64 = 256 << 10;

/// Files of settings of one repository that are read.
const SETTINGS_FILES: usize = 8;

/// A repository with a work tree, or a bare one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Its work tree, or itself.
    pub folder: PathBuf,
    /// Its own files, links resolved.
    pub git: PathBuf,
}

/// What a look has found.
#[derive(Debug, Default)]
pub struct Found {
    /// The repositories, in the order of their depth.
    pub repositories: Vec<Repository>,
    /// The folders with the own files of all, submodules and work trees among them.
    pub git_folders: BTreeSet<PathBuf>,
    /// What is protected of them, there or not.
    pub protected: BTreeSet<PathBuf>,
    /// Folders that could not be looked into, or hold too much: what may be in them must not change.
    pub closed: BTreeSet<PathBuf>,
    /// Not every folder was looked into.
    pub cut: bool,
    /// The user's home folder.
    pub home: Option<PathBuf>,
}

/// What is known of repositories as long as the program runs.
#[derive(Debug, Default)]
pub struct Repositories {
    /// The user's, which settings call `~`.
    home: Option<PathBuf>,
    found: Mutex<Latest>,
    links: Mutex<Links>,
}

#[derive(Debug, Default)]
struct Latest {
    found: Arc<Found>,
    /// It is of this turn.
    fresh: bool,
}

impl Repositories {
    /// Nothing is known yet.
    pub fn new(home: Option<PathBuf>) -> Self {
        Self { home, ..Self::default() }
    }

    /// Looks anew, beside whatever goes on. The roots are absolute, links resolved.
    pub fn begin(self: &Arc<Self>, roots: Vec<PathBuf>) {
        self.forget();
        let this = Arc::clone(self);
        // If there is no thread for it, the first command looks.
        let _ = std::thread::Builder::new().spawn(move || this.found(&roots));
    }

    /// Lets the next command look anew.
    pub fn forget(&self) {
        lock(&self.found).fresh = false;
    }

    /// What there is, looked for if that has not been done in this turn; may block for a second.
    pub fn found(&self, roots: &[PathBuf]) -> Arc<Found> {
        let mut latest = lock(&self.found);
        if !latest.fresh {
            let found = Arc::new(look(roots, &latest.found.repositories, self.home.as_deref()));
            lock(&self.links).take_as_given(&found);
            *latest = Latest { found, fresh: true };
        }
        Arc::clone(&latest.found)
    }

    /// Whether what lies at a path is protected in a repository; may block like [`Repositories::found`].
    pub fn protect(&self, path: &Path, roots: &[PathBuf]) -> bool {
        let found = self.found(roots);
        let mut files = found.protected.iter().filter(|file| !file.ends_with(GIT));
        files.any(|file| path.starts_with(file))
    }

    /// What is known of links between repositories.
    pub fn links(&self) -> MutexGuard<'_, Links> {
        lock(&self.links)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks for repositories, near ones first, and follows no link. What was found `before` is looked at in
/// any case: whoever makes many folders hides nothing.
pub fn look(roots: &[PathBuf], before: &[Repository], home: Option<&Path>) -> Found {
    let mut found = Found { home: home.map(Path::to_owned), ..Found::default() };
    let until = Instant::now() + WITHIN;
    let before = before.iter().map(|repository| &repository.folder);
    let before = before.filter(|folder| roots.iter().any(|root| folder.starts_with(root)));
    let mut queue: VecDeque<PathBuf> = roots.iter().chain(before).cloned().collect();
    for root in roots {
        found.add_above(root, roots);
    }
    let mut looked = 0;
    while let Some(folder) = queue.pop_front() {
        looked += 1;
        let listed = Listed::of(&folder, until).filter(|_| looked <= FOLDERS);
        let Some(listed) = listed else {
            found.cut = true;
            break;
        };
        if !listed.readable {
            found.closed.insert(folder);
            continue;
        }
        let known = || found.repositories.iter().any(|repository| repository.folder == folder);
        if (listed.git || listed.bare) && !known() {
            if found.repositories.len() == MOST {
                found.cut = true;
                break;
            }
            found.add(&folder, listed.bare && !listed.git, roots);
        }
        // What looks like a bare repository need not be one.
        let inside = listed.folders.iter().map(|name| folder.join(name));
        queue.extend(inside.filter(|folder| !roots.contains(folder)));
    }
    found
}

/// What matters of the names in a folder.
struct Listed {
    readable: bool,
    git: bool,
    bare: bool,
    folders: Vec<std::ffi::OsString>,
}

impl Listed {
    /// None if there is no time left. A folder whose names cannot be read may still hold files that can be
    /// opened.
    fn of(folder: &Path, until: Instant) -> Option<Self> {
        let (mut git, mut head, mut folders) = (false, false, Vec::new());
        let read = fs::read_dir(folder);
        let readable = !is_closed(read.as_ref().err());
        for entry in read.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if name == GIT {
                git = true;
            } else if name == BARE {
                head = true;
            } else if is_folder && !SKIPPED.iter().any(|skipped| name == *skipped) {
                folders.push(name);
            }
            if Instant::now() > until {
                return None;
            }
        }
        let bare = head && ["objects", "refs"].iter().all(|name| folders.iter().any(|f| f == name));
        Some(Self { readable, git, bare, folders })
    }
}

fn is_closed(error: Option<&io::Error>) -> bool {
    error.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

impl Found {
    /// Adds the repositories that a root lies in. They are out of reach, but for what they name in it.
    fn add_above(&mut self, root: &Path, roots: &[PathBuf]) {
        let above = root.ancestors().skip(1).filter(|folder| folder.join(GIT).exists());
        above.for_each(|folder| self.add(folder, false, roots));
    }

    fn add(&mut self, folder: &Path, bare: bool, roots: &[PathBuf]) {
        let git = if bare { Some(folder.to_owned()) } else { git_folder(folder) };
        let mut protected = if bare { Vec::new() } else { vec![folder.join(GIT)] };
        if let Some(git) = git {
            let mut all = vec![git.clone()];
            for inner in INNER.iter().map(|name| git.join(name)) {
                match inner_repositories(&inner) {
                    Some(repositories) => all.extend(repositories),
                    None => drop(self.closed.insert(inner)),
                }
            }
            for git in all {
                protected.extend(OF_GIT.iter().map(|name| git.join(name)));
                protected.extend(linked_hooks(&git));
                self.git_folders.insert(git);
            }
            protected.extend(named_in_settings(&git, folder, self.home.as_deref()));
            self.repositories.push(Repository { folder: folder.to_owned(), git });
        }
        let inside = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
        self.protected.extend(protected.into_iter().filter(inside));
    }
}

/// Where the own files of the repository in a folder are, as git finds them; links resolved.
pub fn git_folder(folder: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(folder.join(GIT)).ok()?;
    if real.is_dir() {
        return Some(real);
    }
    let target = git::pointer(&read(&real, SETTINGS_BYTES).ok()?)?;
    fs::canonicalize(folder.join(target)).ok().filter(|real| real.is_dir())
}

/// Where a work tree's repository keeps what all its work trees share.
pub fn common_folder(git: &Path) -> Option<PathBuf> {
    let mut text = b"gitdir: ".to_vec();
    text.extend(read(&git.join("commondir"), SETTINGS_BYTES).ok()?);
    fs::canonicalize(git.join(git::pointer(&text)?)).ok()
}

/// The repositories of submodules or work trees in this folder of a repository; none if not all of it
/// can be looked at.
fn inner_repositories(folder: &Path) -> Option<Vec<PathBuf>> {
    // What git keeps inside holds no further repository.
    let no_objects = |entry: &DirEntry| {
        let name = entry.file_name().to_str();
        !matches!(name, Some("objects" | "refs" | "logs")) || !is_git_folder(entry.path().parent())
    };
    let mut repositories = Vec::new();
    for (count, entry) in WalkDir::new(folder).into_iter().filter_entry(no_objects).enumerate() {
        match entry {
            _ if count >= INNER_MOST => return None,
            Ok(entry) if entry.file_type().is_dir() && is_git_folder(Some(entry.path())) => {
                repositories.push(entry.into_path());
            }
            Err(error) if is_closed(error.io_error()) => return None,
            Ok(_) | Err(_) => {}
        }
    }
    Some(repositories)
}

fn is_git_folder(folder: Option<&Path>) -> bool {
    folder.is_some_and(|folder| folder.join(BARE).is_file())
}

/// What hooks lead to that are links.
fn linked_hooks(git: &Path) -> Vec<PathBuf> {
    let hooks = fs::read_dir(git.join("hooks")).into_iter().flatten().flatten().take(HOOKS);
    let links = hooks.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.filter_map(|link| fs::canonicalize(link.path()).ok()).collect()
}

/// The folder of hooks and the further files of settings that a repository's settings name.
fn named_in_settings(git: &Path, folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut files = vec![git.join("config"), git.join("config.worktree")];
    files.extend(common_folder(git).map(|common| common.join("config")));
    let (mut named, mut next) = (Vec::new(), 0);
    while let Some(file) = files.get(next).filter(|_| next < SETTINGS_FILES).cloned() {
        next += 1;
        let Ok(text) = fs::canonicalize(&file).and_then(|real| read(&real, SETTINGS_BYTES)) else {
            continue;
        };
        for setting in git::settings(&text) {
            let from = match (setting.section.as_str(), setting.key.as_str()) {
                _ if setting.value.is_empty() => continue,
                ("core", "hookspath") => folder.join("any"),
                ("include" | "includeif", "path") => file.clone(),
                _ => continue,
            };
            let Some(path) = named_path(&from, &setting.value, home) else { continue };
            if setting.key == "path" {
                files.push(path.clone());
            }
            // A link on the way is as good as what it leads to.
            named.extend(fs::canonicalize(&path));
            named.push(path);
        }
    }
    // A whole work tree cannot be kept from changing.
    named.retain(|path| !folder.starts_with(path));
    named
}

/// Where a path in the settings leads that is seen from a file: without `..`, links on the way to its
/// folder followed, there or not.
fn named_path(from: &Path, value: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match value.strip_prefix("~/") {
        Some(below) => home?.join(below),
        None => from.with_file_name(value),
    };
    let mut real = PathBuf::from("/");
    let mut parts = path.components().skip(1).peekable();
    while let Some(part) = parts.next() {
        match part {
            Component::ParentDir => drop(real.pop()),
            Component::Normal(name) => real.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
        if parts.peek().is_some() {
            real = fs::canonicalize(&real).unwrap_or(real);
        }
    }
    Some(real)
}

/// What a file holds that is one and no longer than this; no link is followed.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = beneath::open_file(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other("it is too large"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
