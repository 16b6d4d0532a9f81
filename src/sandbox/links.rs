//! Repositories that are part of another: what git runs at the top reads their settings too.
//!
//! A command may make a repository and choose what its settings say. As long as it is only a folder
//! that nobody works in, nothing comes of that. Once an index takes it for a part of the repository
//! around it (`git add` of it; a submodule that was not there yet), plain `git status` at the top runs
//! git in it. So after a command each such repository is judged by what its files say, unless it was
//! a part already when no command ran.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::git;
use super::inner::{self, Found, GIT, Repository};
use crate::policy::protected::OF_GIT;
use crate::tools::beneath;

/// Bytes of an index that are read.
const INDEX_BYTES: u64 = 64 << 20;

/// Bytes of a file of settings that can be plain.
const SETTINGS_BYTES: u64 = 64 << 10;

/// Repositories that are looked at, per look.
const MOST: usize = 1_000;

/// Said once.
const CUT: &str = "the workspace has more folders than are searched for git repositories: hooks and settings of \
                   those that were not found are not protected";

/// See the module.
#[derive(Debug, Default)]
pub struct Links {
    /// Repositories that were there before the first command; none before that was looked.
    known: Option<BTreeSet<PathBuf>>,
    /// Folders that were part of another repository while no command ran, with what their `.git`
    /// led to.
    given: BTreeSet<(PathBuf, PathBuf)>,
    /// Indexes as they were read.
    read: BTreeMap<PathBuf, (Stamp, Arc<[PathBuf]>)>,
    /// Commands that run.
    running: usize,
    told: BTreeSet<String>,
}

/// The repositories that are part of another.
#[derive(Debug, Default)]
struct Parts {
    all: Vec<Repository>,
    /// Work trees whose index was not understood.
    unread: Vec<PathBuf>,
    /// There are more of them.
    cut: bool,
}

/// What changes when a file's content does.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

/// What was found after a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dangers {
    /// What has to be moved aside.
    pub files: Vec<PathBuf>,
    /// What else has to be said, a line each.
    pub said: Vec<String>,
}

impl Links {
    /// Takes what is there for the user's own, if no command runs.
    pub fn take_as_given(&mut self, found: &Found) {
        if self.running > 0 {
            return;
        }
        let parts = self.parts(found).all.into_iter();
        self.given = parts.map(|part| (part.folder, part.git)).collect();
        self.known.get_or_insert_with(|| found.git_folders.clone());
    }

    /// A command begins; to be followed by [`Links::ended`].
    pub fn began(&mut self) {
        self.running += 1;
    }

    /// It has ended, and what it left has been looked at.
    pub fn ended(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// What is to be done about what a command has made a part of a repository.
    pub fn dangers(&mut self, found: &Found, roots: &[PathBuf]) -> Dangers {
        let parts = self.parts(found);
        let mut dangers = Dangers::default();
        for part in parts.all {
            let files = self.obeyed(&part, roots);
            let dot = part.folder.join(GIT);
            if files.is_empty() || self.given.contains(&(part.folder, part.git.clone())) {
                continue;
            }
            if self.known.as_ref().is_some_and(|known| known.contains(&part.git)) {
                dangers.said.push(has_become_part(&dot, &files));
            } else if part.git == dot {
                dangers.files.extend(files);
            } else {
                dangers.files.push(dot);
            }
        }
        dangers.said.extend(parts.unread.iter().map(|folder| {
            format!(
                "the git index of {} was not understood: every repository below it is taken for a part of it",
                folder.display()
            )
        }));
        dangers.said.extend((found.cut || parts.cut).then(|| CUT.to_owned()));
        dangers.said.retain(|line| self.told.insert(line.clone()));
        dangers
    }

    /// All that are part of one that was found, and of those parts in turn.
    fn parts(&mut self, found: &Found) -> Parts {
        let mut parts = Parts::default();
        let mut queue = found.repositories.clone();
        let mut seen = BTreeSet::new();
        while let Some(around) = queue.pop() {
            if seen.len() >= MOST {
                parts.cut = true;
                break;
            }
            let folders = self.linked(&around).unwrap_or_else(|| {
                let below =
                    inner::look(std::slice::from_ref(&around.folder), &[], None).repositories;
                parts.unread.push(around.folder);
                below.into_iter().skip(1).map(|repository| repository.folder).collect()
            });
            for folder in folders.iter() {
                // Git takes what lies behind a link for gone.
                let real = fs::canonicalize(folder).is_ok_and(|real| real == *folder);
                let git = inner::git_folder(folder).filter(|_| real);
                if let Some(git) = git.filter(|_| seen.insert(folder.clone())) {
                    let part = Repository { folder: folder.clone(), git };
                    queue.push(part.clone());
                    parts.all.push(part);
                }
            }
        }
        parts
    }

    /// The folders that the index of a repository takes for repositories; none if it is not understood.
    fn linked(&mut self, around: &Repository) -> Option<Arc<[PathBuf]>> {
        let index = around.git.join("index");
        let stamp = match fs::metadata(&index) {
            Ok(meta) => stamp(&meta),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Arc::default()),
            Err(_) => return None,
        };
        if let Some((_, folders)) = self.read.get(&index).filter(|(known, _)| *known == stamp) {
            return Some(Arc::clone(folders));
        }
        let Linked { links, whole } = links(&around.git, "index", true)?;
        let folders: Arc<[PathBuf]> = links.iter().map(|link| around.folder.join(link)).collect();
        if whole {
            self.read.insert(index, (stamp, Arc::clone(&folders)));
        }
        Some(folders)
    }

    /// What in a repository that a command may have made has something run.
    fn obeyed(&self, Repository { folder, git }: &Repository, roots: &[PathBuf]) -> Vec<PathBuf> {
        if !roots.iter().any(|root| git.starts_with(root)) {
            return Vec::new();
        }
        let of_known = || {
            let common = inner::common_folder(git);
            common.zip(self.known.as_ref()).is_some_and(|(common, known)| known.contains(&common))
        };
        let is_own =
            |tree: &str| fs::canonicalize(git.join(tree)).is_ok_and(|tree| tree == *folder);
        let harmless = |name: &str| {
            let path = git.join(name);
            match name {
                _ if beneath::is_absent(&path) => true,
                "hooks" => only_samples(&path),
                "config" => inner::read(&path, SETTINGS_BYTES)
                    .is_ok_and(|text| git::is_plain(&text, is_own)),
                "commondir" => of_known(),
                _ => false,
            }
        };
        let names = OF_GIT.iter().filter(|name| !harmless(name));
        names.map(|name| git.join(name)).collect()
    }
}

fn has_become_part(dot: &Path, files: &[PathBuf]) -> String {
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    format!(
        "the repository of {} has become part of the one around it, where git now also does what this says: \
         {}",
        dot.display(),
        files.join(", ")
    )
}

/// A folder of hooks that holds none.
fn only_samples(hooks: &Path) -> bool {
    let is_sample = |name: &[u8]| name == b"." || name == b".." || name.ends_with(b".sample");
    beneath::list(hooks).is_ok_and(|mut names| {
        names.all(|entry| entry.is_ok_and(|entry| is_sample(entry.file_name().to_bytes())))
    })
}

/// What an index takes for repositories.
struct Linked {
    links: Vec<PathBuf>,
    /// It is built on no other one, so that it changes only when its own file does.
    whole: bool,
}

/// Reads an index, and the one it is built on.
fn links(git: &Path, name: &str, follow: bool) -> Option<Linked> {
    let bytes = inner::read(&fs::canonicalize(git.join(name)).ok()?, INDEX_BYTES).ok()?;
    // Which of the two git takes stands in the settings; what both find is enough to be careful.
    let read = git::HASHES.iter().filter_map(|hash| git::index(&bytes, *hash));
    let (mut found, mut understood) = (Linked { links: Vec::new(), whole: true }, false);
    for index in read {
        understood = true;
        found.links.extend(index.links);
        if let Some(base) = index.base {
            let base = links(git, &format!("sharedindex.{base}"), false).filter(|_| follow)?;
            found.links.extend(base.links);
            found.whole = false;
        }
    }
    understood.then_some(found)
}

fn stamp(meta: &fs::Metadata) -> Stamp {
    let (written, changed) = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    (meta.dev(), meta.ino(), meta.size(), written, changed)
}

#[cfg(test)]
mod tests;
