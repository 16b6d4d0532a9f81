//! What a killed process leaves half made, and its removal by the next one.
//!
//! A change of a user's file goes through a temporary file beside it, and the log announces the
//! change before that file is made. Nothing else is logged until that file is gone again: a call that
//! writes is a barrier. So the last whole event of a session that was killed, and a few before it, say
//! where one may lie: in the folder of a change whose call has no result, or of a file that was being
//! put back. Its name holds the session's id, so that nobody else's file is ever taken for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memchr_iter;

use super::{blobs, lock, store};
use crate::event::{Event, Record};

/// What the names of temporary files end with.
pub const TEMPORARY_SUFFIX: &str = ".tmp";

/// How much of a log's end is looked at, or more where the last event is longer: a rewind names all
/// its files.
const TAIL: u64 = 64 << 10;
/// An event longer than this is no announcement.
const MOST: u64 = 64 << 20;

/// What the names of a session's temporary files begin with.
pub fn temporary_prefix(session_id: &str) -> String {
    format!(".xsh-{session_id}-")
}

/// Removes what the last writer of this log left half made. Only for who holds the session's lock.
/// Best effort: what cannot be removed is harmless.
pub(super) fn remove(log: &Path, session_id: &str) {
    let prefix = temporary_prefix(session_id);
    let changes = unfinished_changes(log);
    let folders: BTreeSet<&Path> = changes.iter().filter_map(|path| path.parent()).collect();
    for folder in folders {
        remove_files(Some(folder), |name| {
            name.starts_with(&prefix) && name.ends_with(TEMPORARY_SUFFIX)
        });
    }
    let blobs = log.with_extension("files").join("blobs");
    remove_files(Some(&blobs), |name| {
        Path::new(name).extension().is_some_and(|e| e == blobs::PART)
    });
}

/// Does the same for a session that somebody else may hold; then there is nothing to remove.
pub(super) fn remove_if_abandoned(log: &Path, session_id: &str) {
    if !lock::is_left_behind(log) {
        return;
    }
    if let Ok(_lock) = lock::Lock::acquire(log) {
        remove(log, session_id);
    }
}

/// Removes what is left of sessions that were killed while their file was made: a lock without a
/// session, and a session without a whole first line.
pub(super) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_lock = path.extension().is_some_and(|extension| extension == "lock");
        let log = path.with_extension("jsonl");
        let is_file = log.symlink_metadata().map(|meta| meta.is_file());
        if !is_lock || is_file.is_ok_and(|is_file| !is_file || !store::is_half_made(&log)) {
            continue;
        }
        // Whoever makes a session has locked it before.
        if let Ok(_lock) = lock::Lock::acquire(&log)
            && store::is_half_made(&log)
        {
            let _ = fs::remove_file(&log);
        }
    }
}

fn remove_files(folder: Option<&Path>, is_leftover: impl Fn(&str) -> bool) {
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
    for entry in entries.into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(&is_leftover) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The files of announced changes whose calls have no result, from the end of a log.
fn unfinished_changes(log: &Path) -> Vec<PathBuf> {
    let mut changes = BTreeMap::new();
    let mut put_back = Vec::new();
    for line in tail(log).unwrap_or_default().split(|&byte| byte == b'\n') {
        let Ok(record) = Record::from_line(line) else { continue };
        if let Event::ToolResult(result) = &record.event {
            changes.remove(&result.call_id);
        }
        put_back.clear();
        if let Event::FileChange(change) = record.event {
            changes.insert(change.call_id, PathBuf::from(change.path));
        } else if let Event::Rewind(rewind) = record.event {
            put_back = rewind.files.into_iter().map(|file| PathBuf::from(file.path)).collect();
        }
    }
    put_back.extend(changes.into_values());
    put_back
}

/// The end of a log, with at least its last whole line.
fn tail(log: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    let mut take = TAIL;
    loop {
        file.seek(SeekFrom::Start(length.saturating_sub(take)))?;
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(take).read_to_end(&mut bytes)?;
        if take >= length.min(MOST) || memchr_iter(b'\n', &bytes).count() > 1 {
            return Ok(bytes);
        }
        take *= 4;
    }
}

#[cfg(test)]
mod tests;
