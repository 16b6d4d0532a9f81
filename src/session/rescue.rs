//! Going on in another file when a session's own was replaced or changed while it was being written
//! (an editor that saved an old copy, a script that emptied it), or is gone with its workspace. One
//! that was only removed (`git clean -fdx`) is written again: see [`LogFile::revive`].
//!
//! Nothing is lost: what was written is read back through the open file, also where its name is
//! gone; where the content itself is gone, the state in memory is told again. The file that has the
//! name now is not touched.

use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::log::{LogError, LogFile};
use super::state::State;
use super::{clock, fork, store};
use crate::event::{Header, Record};

/// A session in its new file.
pub(super) struct Rescued {
    pub file: LogFile,
    pub header: Header,
    /// The events of the new file, where they are not those of the old one.
    pub retold: Option<Vec<Record>>,
}

impl Rescued {
    /// What the user is told.
    pub(super) fn notice(&self, why: &LogError) -> String {
        let lost = match self.retold {
            None => "",
            Some(_) => " with what the model knows; older messages were only in that file",
        };
        format!("the session log {why}; the session goes on as {}{lost}", self.header.id)
    }
}

/// Writes a session into a new file, beside the old one, or in `refuge` where the workspace is gone.
/// None where there is no place for it.
pub(super) fn rescue(
    old: &LogFile,
    header: &Header,
    state: &State,
    refuge: Option<&Path>,
    why: &LogError,
) -> Result<Option<Rescued>, LogError> {
    let id = clock::session_id();
    let Some(path) = place(&old.path, header, refuge, &id) else { return Ok(None) };
    let header = Header { id: id.clone(), forked_from: Some(header.id.clone()), ..header.clone() };
    let mut file = LogFile::create(&path, &header, refuge)?;
    let io = |error| LogError::io(&path, error);
    let whole = !why.is_loss() && old.file.metadata().map_err(io)?.len() >= old.len;
    let filled = if whole {
        copy(old, &mut file).map(|()| None)
    } else {
        retell(state, &mut file).map(Some)
    };
    let retold = filled.inspect_err(|_| {
        // Half a copy must not pass for the session; the next attempt begins anew.
        let _ = std::fs::remove_file(&path);
    })?;
    // For undo; without it going back says which file it cannot put back.
    let _ = fork::share_blobs(&old.path.with_extension("files"), &path.with_extension("files"));
    store::note_latest(&path, &id);
    Ok(Some(Rescued { file, header, retold }))
}

/// The path of a new file. A workspace that is gone is not made again.
pub(super) fn place(
    old: &Path,
    header: &Header,
    refuge: Option<&Path>,
    id: &str,
) -> Option<PathBuf> {
    let folder = if is_homeless(old, header) { refuge? } else { old.parent()? };
    Some(folder.join(format!("{id}.jsonl")))
}

/// True for a log in a workspace that is gone.
pub(super) fn is_homeless(log: &Path, header: &Header) -> bool {
    let workspace = Path::new(&header.cwd);
    log.starts_with(workspace) && !workspace.is_dir()
}

fn copy(old: &LogFile, new: &mut LogFile) -> Result<(), LogError> {
    let io = |error| LogError::io(&old.path, error);
    let mut file = &old.file;
    file.rewind().map_err(io)?;
    let mut reader = BufReader::with_capacity(1 << 20, file.take(old.len));
    let mut copied = reader.read_until(b'\n', &mut Vec::new()).map_err(io)? as u64;
    loop {
        let piece = reader.fill_buf().map_err(io)?;
        let count = piece.len();
        if count == 0 {
            break;
        }
        new.append(piece)?;
        copied += count as u64;
        reader.consume(count);
    }
    if copied == old.len { Ok(()) } else { Err(io(io::ErrorKind::UnexpectedEof.into())) }
}

fn retell(state: &State, new: &mut LogFile) -> Result<Vec<Record>, LogError> {
    let records = state.retell(&clock::now());
    for record in &records {
        new.append(&record.to_line()?)?;
    }
    Ok(records)
}

#[cfg(test)]
mod tests;
