//! One writer per session: a lock file beside the log, held by the operating system for as long as
//! the process lives, with the holder's process id in it for the one who comes second.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// Why a session could not be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("{} is in use by {holder}", session.display())]
    Held {
        /// The session's log.
        session: PathBuf,
        /// `process 123`, or `another process`.
        holder: String,
    },
    /// The lock file could not be made.
    #[error("{}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A held lock; let go when dropped, and by the system when the process dies.
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Locks the session with this log file. A lock file left by a dead process is taken over.
    pub fn acquire(session: &Path) -> Result<Self, LockError> {
        let path = session.with_extension("lock");
        let io = |source| LockError::Io { path: path.clone(), source };
        // A holder removes the file on leaving: having locked a removed file, begin again.
        for attempt in 0..100 {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
                .map_err(io)?;
            match file.try_lock() {
                Ok(()) => {}
                // A process that has just been killed may leave the lock to a child of its own
                // for the moment until that child has begun its program.
                Err(TryLockError::WouldBlock) if attempt < 10 && holder_is_dead(&mut file) => {
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
                Err(TryLockError::WouldBlock) => return Err(held(session, file)),
                Err(TryLockError::Error(source)) => return Err(io(source)),
            }
            if !same_file(&file, &path) {
                continue;
            }
            let written = file.set_len(0).and_then(|()| file.rewind());
            // A full disk must not keep anyone from resuming: the name is only for the message.
            let _ = written.and_then(|()| write!(file, "{}", std::process::id()));
            return Ok(Self { path, file });
        }
        Err(io(io::Error::other("the lock file keeps changing")))
    }
}

impl Lock {
    /// False once somebody has deleted the lock file: then another process could lock a new one.
    pub fn is_in_place(&self) -> bool {
        same_file(&self.file, &self.path)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still locked: nobody else can be using this very file. Another one that has
        // taken its place is not ours.
        if self.is_in_place() {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

/// True when the session has a lock file: it is in use, or its writer was killed.
pub(super) fn is_left_behind(session: &Path) -> bool {
    session.with_extension("lock").exists()
}

fn same_file(file: &File, path: &Path) -> bool {
    let (Ok(a), Ok(b)) = (file.metadata(), std::fs::metadata(path)) else { return false };
    a.ino() == b.ino() && a.dev() == b.dev()
}

fn holder(file: &mut File) -> Option<i32> {
    let mut pid = String::new();
    file.rewind().and_then(|()| file.take(32).read_to_string(&mut pid)).ok()?;
    pid.trim().parse().ok()
}

fn holder_is_dead(file: &mut File) -> bool {
    let pid = holder(file).and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_err())
}

fn held(session: &Path, mut file: File) -> LockError {
    let holder = match holder(&mut file) {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    LockError::Held { session: session.to_owned(), holder }
}
