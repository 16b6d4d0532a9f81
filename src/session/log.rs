//! The log file: one writer, one `write` per event, a torn tail cut before the first append.
//!
//! The file is never rewritten. Reading is streaming: a few blocks of lines in memory at a time. A
//! new session's file is made with its first event, so that a session in which nothing was said
//! leaves no trace. Before every append a look at the file makes sure that it is still the one that
//! was written: in somebody else's file nothing is written, and what is cut back is only ever this
//! program's own.

mod lines;
mod reading;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub(super) use reading::open_to_read;
pub use reading::{Damage, read, read_header};
use rustix::io::Errno;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::lock::{Lock, LockError};
use super::{origin, rescue, store};
use crate::event::{FORMAT_VERSION, Header, Record};

/// Bytes of the file's end that are compared when it was written by somebody else.
const END: u64 = 512;

/// Why a log could not be written or read.
#[derive(Debug, Error)]
pub enum LogError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Another process writes this session.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The first line is not a session header.
    #[error("{} is not a session file: {why}", path.display())]
    NotASession {
        /// The file.
        path: PathBuf,
        /// What is wrong with its first line.
        why: String,
    },
    /// Written by a newer program.
    #[error("{} has format version {found}; this xsh reads version {FORMAT_VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Somebody else removed, replaced or changed the file while it was being written.
    #[error("{} {how}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What has become of it.
        how: Change,
    },
    /// An event could not be turned into JSON.
    #[error("cannot encode an event: {0}")]
    Encode(#[from] serde_json::Error),
}

/// What somebody else has done to a log that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Change {
    /// There is no file under its name any more.
    #[error("was removed while it was in use")]
    Removed,
    /// It was never made, because the workspace that it belongs into is gone.
    #[error("cannot be made: its workspace is gone")]
    Homeless,
    /// Another file has its name.
    #[error("was replaced by another file")]
    Replaced,
    /// It no longer ends where the last event ended.
    #[error("was changed by another program: it has {found} bytes instead of {expected}")]
    Resized {
        /// Bytes there are.
        found: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// It has its length, but does not end with what was written last.
    #[error("was overwritten by another program")]
    Overwritten,
}

impl LogError {
    pub(super) fn is_removal(&self) -> bool {
        matches!(self, Self::Changed { how: Change::Removed, .. })
    }

    /// What was written is not in the file any more.
    pub(super) fn is_loss(&self) -> bool {
        matches!(self, Self::Changed { how: Change::Overwritten, .. })
    }

    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// Where a session's events go.
pub enum Log {
    /// Nowhere: `--no-session`, or nothing is writable.
    Unsaved,
    /// A file that is made with the first event.
    Planned {
        /// The file to be.
        path: PathBuf,
        /// Its first line.
        header: Header,
        /// The folder of the user's that takes this workspace's sessions where it is gone itself.
        refuge: Option<PathBuf>,
    },
    /// An open file.
    Open(LogFile),
}

/// How the file was left by the last write, so that a change by somebody else shows also where the
/// length stays. Reading the file again for every event would be too dear: a change in its middle
/// shows only when it is read back.
#[derive(Debug, Default)]
struct End {
    /// When its content changed last, in seconds and nanoseconds.
    modified: (i64, i64),
    /// Its last bytes.
    bytes: Vec<u8>,
}

/// An open log file.
pub struct LogFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// Length up to the last whole line; a failed write is cut back to it.
    pub(super) len: u64,
    end: End,
    /// A write failed in the middle of a line, and the rest of it is still there.
    torn: bool,
    lock: Lock,
}

impl Log {
    /// Appends one event: a single `write`, in the page cache when this returns.
    pub fn append(&mut self, record: &Record) -> Result<(), LogError> {
        let line = record.to_line()?;
        if let Self::Planned { path, header, refuge } = self {
            if rescue::is_homeless(path, header) {
                return Err(LogError::Changed { path: path.clone(), how: Change::Homeless });
            }
            let file = LogFile::create(path, header, refuge.as_deref())?;
            store::tidy_latest(path);
            store::note_latest(path, &header.id);
            if let Some(refuge) = refuge {
                store::note_workspace(refuge, &header.cwd);
            }
            *self = Self::Open(file);
        }
        match self {
            Self::Open(file) => file.append(&line),
            Self::Unsaved | Self::Planned { .. } => Ok(()),
        }
    }

    /// Forces what was appended onto the disk.
    pub fn sync(&mut self) -> Result<(), LogError> {
        match self {
            Self::Open(log) => sync_data(&log.file).map_err(|e| LogError::io(&log.path, e)),
            Self::Unsaved | Self::Planned { .. } => Ok(()),
        }
    }

    /// The file, where there is or will be one.
    pub fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Unsaved => None,
            Self::Planned { path, .. } => Some(path.clone()),
            Self::Open(log) => Some(log.path.clone()),
        }
    }
}

impl LogFile {
    /// Makes the file with its header line, in folders that only this user can enter.
    pub(super) fn create(
        path: &Path,
        header: &Header,
        refuge: Option<&Path>,
    ) -> Result<Self, LogError> {
        if let Some(folder) = path.parent() {
            store::prepare_folder(folder).map_err(|e| LogError::io(folder, e))?;
        }
        let lock = Lock::acquire(path)?;
        let file = make_file(path).map_err(|e| LogError::io(path, e))?;
        let mut log = Self::new(path, file, 0, lock);
        let header = Header { mark: origin::mark(header, refuge), ..header.clone() };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        log.append(&line).inspect_err(|_| {
            // An empty file would pass for a damaged session, and keep the next try from making it.
            let _ = std::fs::remove_file(path);
        })?;
        Ok(log)
    }

    fn new(path: &Path, file: File, len: u64, lock: Lock) -> Self {
        Self { path: path.to_owned(), file, len, end: End::default(), torn: false, lock }
    }

    /// Appends whole lines in one `write`, if the file is still the one that was written last.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), LogError> {
        self.check()?;
        self.write(lines).map_err(|e| LogError::io(&self.path, e))?;
        self.note_end();
        Ok(())
    }

    /// Remembers what the file looks like now.
    fn note_end(&mut self) {
        let Ok(meta) = self.file.metadata() else { return };
        let bytes = self.last_bytes().unwrap_or_default();
        self.end = End { modified: (meta.mtime(), meta.mtime_nsec()), bytes };
    }

    fn last_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.len.min(END)).unwrap_or(0)];
        let from = self.len.saturating_sub(END);
        self.file.read_exact_at(&mut bytes, from)?;
        Ok(bytes)
    }

    /// True when the file was written since and no longer ends the same. Being touched is no harm.
    fn is_overwritten(&self, own: &Metadata) -> bool {
        (own.mtime(), own.mtime_nsec()) != self.end.modified
            && self.last_bytes().is_ok_and(|bytes| bytes != self.end.bytes)
    }

    fn check(&self) -> Result<(), LogError> {
        let changed = |how| LogError::Changed { path: self.path.clone(), how };
        let own = self.file.metadata().map_err(|e| LogError::io(&self.path, e))?;
        match std::fs::metadata(&self.path) {
            Ok(named) if (named.ino(), named.dev()) != (own.ino(), own.dev()) => {
                return Err(changed(Change::Replaced));
            }
            Err(error) if is_gone(&error) => return Err(changed(Change::Removed)),
            // A folder that may not be looked into any more does not make the file another one.
            Ok(_) | Err(_) => {}
        }
        let (found, expected) = (own.len(), self.len);
        if found == expected || (self.torn && found > expected) {
            let overwritten = self.is_overwritten(&own);
            return if overwritten { Err(changed(Change::Overwritten)) } else { Ok(()) };
        }
        Err(changed(Change::Resized { found, expected }))
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.len)?;
            self.torn = false;
        }
        if let Err(error) = self.file.write_all(lines) {
            // Best effort now, so that a reader sees whole lines; tried again before the next write.
            self.torn = self.file.set_len(self.len).is_err();
            return Err(error);
        }
        self.len += lines.len() as u64;
        Ok(())
    }

    /// Brings the file back where somebody has deleted it, with `git clean -xfd` for instance: as
    /// long as it is open, what was said is still in it.
    pub(super) fn revive(&mut self) -> Result<(), LogError> {
        if let Some(folder) = self.path.parent() {
            store::prepare_folder(folder).map_err(|e| LogError::io(folder, e))?;
        }
        if !self.lock.is_in_place() {
            self.lock = Lock::acquire(&self.path)?;
        }
        self.file = self.copy_back().map_err(|e| LogError::io(&self.path, e))?;
        self.note_end();
        if let Some(id) = self.path.file_stem().and_then(|stem| stem.to_str()) {
            store::note_latest(&self.path, id);
        }
        Ok(())
    }

    /// Under another name first: half a copy must never pass for the session.
    fn copy_back(&self) -> io::Result<File> {
        if self.path.exists() {
            return Err(io::Error::other("it was deleted, and another file was put in its place"));
        }
        let part = self.path.with_extension("part");
        let copied = make_file(&part).and_then(|mut file| {
            (&self.file).rewind()?;
            io::copy(&mut Read::take(&self.file, self.len), &mut file)?;
            std::fs::rename(&part, &self.path)?;
            Ok(file)
        });
        copied.inspect_err(|_| {
            let _ = std::fs::remove_file(&part);
        })
    }
}

/// Makes a new file that only this user can read.
fn make_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Forces a file's content onto the disk. A file system that has no such thing is no fault.
fn sync_data(file: &File) -> io::Result<()> {
    #[cfg(test)]
    if let Some(fault) = tests::synced() {
        return Err(fault.into());
    }
    match file.sync_data() {
        Err(error) if cannot_sync(&error) => Ok(()),
        done => done,
    }
}

fn cannot_sync(error: &io::Error) -> bool {
    let none = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::ROFS].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| none.contains(&code))
}

/// Makes a folder and its parents, each new one 0700 whatever the umask.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Opens a log for going on with it: takes the lock, reads every event into `apply`, and cuts an
/// unfinished last line, so that the next event is not glued to it.
pub fn resume(
    path: &Path,
    stop: &CancellationToken,
    apply: impl FnMut(Record),
) -> Result<(Header, Damage, LogFile), LogError> {
    // Nothing is made beside a file that is no session.
    read_header(path)?;
    let lock = Lock::acquire(path)?;
    let (header, damage, len) = read(path, stop, apply)?;
    let mut file =
        OpenOptions::new().read(true).append(true).open(path).map_err(|e| LogError::io(path, e))?;
    if damage.torn_bytes > 0 {
        file.set_len(len).map_err(|e| LogError::io(path, e))?;
    }
    let mut len = len;
    if damage.no_final_newline {
        file.write_all(b"\n").map_err(|e| LogError::io(path, e))?;
        len += 1;
    }
    let mut log = LogFile::new(path, file, len, lock);
    log.note_end();
    Ok((header, damage, log))
}

#[cfg(test)]
pub(crate) mod tests;
