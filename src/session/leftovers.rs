//! What a killed process leaves half made, and its removal by the next one.
//!
//! A change of a user's file goes through a temporary file beside it, and the log announces the
//! change before that file is made. So the end of the log of a session that was killed says where
//! one may lie: in the folder of a change whose call has no result, or of a file that was being put
//! back. Its name holds the session's id,
//! so that nobody else's file is ever taken for it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{blobs, lock};
use crate::event::{Event, Record};

/// What the names of temporary files end with.
pub const TEMPORARY_SUFFIX: &str = ".tmp";

/// How much of a log's end is looked at. Behind the announcement of a change there is little.
const TAIL: u64 = 64 << 10;

/// What the names of a session's temporary files begin with.
pub fn temporary_prefix(session_id: &str) -> String {
    format!(".xsh-{session_id}-")
}

/// Removes what the last writer of this log left half made. Only for who holds the session's lock.
/// Best effort: what cannot be removed is harmless.
pub(super) fn remove(log: &Path, session_id: &str) {
    let prefix = temporary_prefix(session_id);
    for path in unfinished_changes(log) {
        remove_files(path.parent(), |name| {
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

fn tail(log: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
