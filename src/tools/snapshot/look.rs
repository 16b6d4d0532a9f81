//! A look at all files of the workspace: the file system is asked about each, and only what is new
//! or changed is read.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use super::Limits;
use super::changes::{Index, Seen, Stamp, Version};
use super::pack::{Pack, nanoseconds};
use crate::event::LINK_MODE;
use crate::hash;
use crate::tools::beneath::open_file;
use crate::tools::save;
use crate::tools::text::size;
use crate::tools::walk::{self, Until, Walk};

/// Two changes within one tick of the system's clock can leave the same stamp; no clock that is in
/// use ticks slower, in nanoseconds.
const TICK: i128 = 20_000_000;

/// What to look at.
pub(super) struct Look<'a> {
    pub(super) limits: &'a Limits,
    /// The workspace, links resolved.
    pub(super) root: &'a Path,
    /// The folder with the session, whose files are not the user's.
    pub(super) skip: &'a Path,
    /// The index of the last look.
    pub(super) old: &'a Index,
    /// Where contents are kept.
    pub(super) pack: &'a Pack,
    /// The user interrupts.
    pub(super) cancel: &'a CancellationToken,
}

/// Why there is no whole index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Blind {
    /// The workspace is beyond the limits, or contents cannot be kept. For the user.
    Unable(String),
    /// The time was up.
    Late,
    /// The user interrupted.
    Cancelled,
}

/// A look in progress.
struct Looking<'a> {
    look: &'a Look<'a>,
    /// Ends the walk.
    stop: CancellationToken,
    unable: OnceLock<String>,
    files: AtomicUsize,
    bytes: AtomicU64,
    began: i128,
}

/// Looks. Gives what was seen, and the file system's time at the beginning if that was all.
pub(super) fn look(look: &Look<'_>) -> (Index, Result<i128, Blind>) {
    let began = match look.pack.now() {
        Ok(began) => began,
        Err(error) => return (Index::new(), Err(Blind::Unable(cannot_keep(&error)))),
    };
    let looking = Looking {
        look,
        stop: look.cancel.child_token(),
        unable: OnceLock::new(),
        files: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        began,
    };
    let until = Until::within(look.limits.time, &looking.stop);
    let mut index = looking.walk(until);
    looking.look_for_missing(&mut index, until);
    let result = match looking.unable.get() {
        Some(why) => Err(Blind::Unable(why.clone())),
        None if look.cancel.is_cancelled() => Err(Blind::Cancelled),
        None if until.is_late() => Err(Blind::Late),
        None => Ok(began),
    };
    (index, result)
}

impl Looking<'_> {
    fn walk(&self, until: Until<'_>) -> Index {
        let root = self.look.root;
        let walk = Walk {
            start: root,
            workspace: root,
            named: true,
            closed: None,
            every_link: true,
            until,
        };
        let visit = |found: &mut Vec<(String, Seen)>, file: walk::Found| {
            found.extend(self.visit(&file.path));
        };
        let (parts, _) = walk::walk(&walk, Vec::new, visit);
        parts.into_iter().flatten().collect()
    }

    /// What was seen once and did not come by now: gone, or ignored since, or in a folder that can
    /// no longer be read. What is still there must not count as deleted.
    fn look_for_missing(&self, index: &mut Index, until: Until<'_>) {
        let missing = self.look.old.keys().filter(|path| !index.contains_key(*path));
        for path in missing.cloned().collect::<Vec<_>>() {
            if until.over() {
                return;
            }
            let path = Path::new(&path);
            let is_there = match save::lies_at(path) {
                Ok(found) => found.is_some_and(|place| {
                    let kind = place.entry.kind();
                    kind.is_file() || kind.is_symlink()
                }),
                Err(_) => true,
            };
            if is_there {
                index.extend(self.visit(path));
            }
        }
    }

    /// A file as it is now. Nothing for one whose name cannot be logged, or that went meanwhile.
    fn visit(&self, path: &Path) -> Option<(String, Seen)> {
        let name = path.to_str().filter(|_| !path.starts_with(self.look.skip))?;
        let seen = match self.see(path, self.look.old.get(name)) {
            Ok(seen) => seen?,
            Err(error) => {
                self.give_up(cannot_keep(&error));
                return None;
            }
        };
        self.count(&seen);
        Some((name.to_owned(), seen))
    }

    fn count(&self, seen: &Seen) {
        let limits = self.look.limits;
        let len = seen.version.as_ref().map_or(0, |version| version.place.len as u64);
        if self.files.fetch_add(1, Ordering::Relaxed) >= limits.files {
            self.give_up(format!("it has more than {} files", limits.files));
        }
        if self.bytes.fetch_add(len, Ordering::Relaxed) + len > limits.bytes {
            self.give_up(format!("its files are more than {}", size(limits.bytes)));
        }
    }

    fn give_up(&self, why: String) {
        let _ = self.unable.set(why);
        self.stop.cancel();
    }

    /// An error means that a content could not be kept.
    fn see(&self, path: &Path, old: Option<&Seen>) -> io::Result<Option<Seen>> {
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            // It cannot even be asked about: nothing is known of it any more.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(old.map(|old| Seen { stamp: old.stamp, settled: false, version: None }));
            }
            Err(_) => return Ok(None),
        };
        if let Some(old) = old.filter(|old| old.settled && old.stamp == stamp(&meta)) {
            return Ok(Some(old.clone()));
        }
        let (meta, content) = match read(path, &meta, self.look.limits.file) {
            Some((opened, content)) => (opened.unwrap_or(meta), Some(content)),
            None => (meta, None),
        };
        let stamp = stamp(&meta);
        let version = content.map(|content| self.keep(&meta, &content, old)).transpose()?;
        let settled = version.is_none() || stamp.changed + TICK < self.began;
        Ok(Some(Seen { stamp, settled, version }))
    }

    /// A content that is in the pack already is not put there again.
    fn keep(&self, meta: &Metadata, content: &[u8], old: Option<&Seen>) -> io::Result<Version> {
        let (sha256, mode) = (hash::sha256(content), mode(meta));
        let old = old.and_then(|old| old.version.as_ref()).filter(|old| old.sha256 == sha256);
        let place = match old {
            Some(old) => old.place,
            None => self.look.pack.add(content)?,
        };
        Ok(Version { sha256, mode, place })
    }
}

/// The content: of a link its target, of a file all its bytes and what the system said of it when it
/// was opened. None beyond the limits.
fn read(path: &Path, meta: &Metadata, limit: u64) -> Option<(Option<Metadata>, Vec<u8>)> {
    if meta.is_symlink() {
        return Some((None, fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec()));
    }
    if !meta.is_file() || meta.len() > limit {
        return None;
    }
    let file = open_file(path).ok()?;
    let opened = file.metadata().ok().filter(Metadata::is_file)?;
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= limit).then_some((Some(opened), content))
}

/// The mode as a change of the file has it.
fn mode(meta: &Metadata) -> u32 {
    if meta.is_symlink() { LINK_MODE } else { meta.mode() & 0o7777 }
}

fn stamp(meta: &Metadata) -> Stamp {
    Stamp {
        inode: (meta.dev(), meta.ino()),
        size: meta.size(),
        modified: nanoseconds(meta.mtime(), meta.mtime_nsec()),
        changed: nanoseconds(meta.ctime(), meta.ctime_nsec()),
    }
}

pub(super) fn cannot_keep(error: &io::Error) -> String {
    format!("the session's folder cannot hold a copy of its files: {error}")
}
