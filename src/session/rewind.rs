//! Going back: which files get their earlier content again, and putting it there.
//!
//! The user's git repository is not used. What a change replaced lies beside the session (see
//! [`super::blobs`]); a file that somebody else has changed since is left alone, and said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::state::State;
use crate::event::{FileChange, Restored};
use crate::hash;
use crate::tools::save;

/// Files of this size at most are compared and put back, as for edits.
const MAX_FILE: u64 = 16 << 20;

/// What going back does to the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// They get their earlier content.
    pub restore: Vec<Restored>,
    /// They are left alone: path and reason.
    pub leave: Vec<(String, String)>,
}

/// Looks at every file that was changed from a position on.
pub fn plan(state: &State, to_seq: u64, blobs: Option<&Path>) -> FilePlan {
    let mut first: BTreeMap<&str, &FileChange> = BTreeMap::new();
    let mut last: BTreeMap<&str, &FileChange> = BTreeMap::new();
    for (_, change) in state.changes.iter().filter(|(seq, _)| *seq >= to_seq) {
        first.entry(&change.path).or_insert(change);
        last.insert(&change.path, change);
    }
    let mut plan = FilePlan::default();
    for (path, change) in first {
        let now = version(Path::new(path));
        // The last change may have been announced only, by a run that was killed.
        let expected =
            last.get(path).map(|last| [Some(last.after.as_str()), last.before.as_deref()]);
        if now == Ok(change.before.clone()) {
            continue;
        }
        match refusal(change, now, expected, blobs) {
            Some(reason) => plan.leave.push((path.to_owned(), reason)),
            None => plan.restore.push(Restored {
                path: path.to_owned(),
                sha256: change.before.clone(),
                mode: change.mode,
            }),
        }
    }
    plan
}

/// Why a file is left alone.
fn refusal(
    change: &FileChange,
    now: Result<Option<String>, String>,
    expected: Option<[Option<&str>; 2]>,
    blobs: Option<&Path>,
) -> Option<String> {
    match now {
        Err(why) => return Some(why),
        Ok(now) if expected.is_none_or(|versions| !versions.contains(&now.as_deref())) => {
            return Some("somebody else has changed it since".to_owned());
        }
        Ok(_) => {}
    }
    let before = change.before.as_ref()?;
    match blobs.map(|folder| folder.join(before)) {
        Some(kept) if kept.is_file() => None,
        _ => Some("its earlier content was not kept".to_owned()),
    }
}

/// The hash of what is there now; none where there is nothing.
fn version(path: &Path) -> Result<Option<String>, String> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(meta) if !meta.is_file() => return Err("it is no regular file any more".to_owned()),
        Ok(meta) if meta.len() > MAX_FILE => return Err("it is too large".to_owned()),
        Ok(_) => {}
    }
    std::fs::read(path).map(|bytes| Some(hash::sha256(&bytes))).map_err(|error| error.to_string())
}

/// Puts the contents back. Says what could not be.
pub fn restore(
    session_id: &str,
    files: &[Restored],
    blobs: Option<&Path>,
) -> Vec<(String, String)> {
    let mut failed = Vec::new();
    for file in files {
        let content = file.sha256.as_ref().zip(blobs).map(|(hash, folder)| folder.join(hash));
        if let Err(why) = restore_one(session_id, file, content.as_deref()) {
            failed.push((file.path.clone(), why));
        }
    }
    failed
}

fn restore_one(session_id: &str, file: &Restored, kept: Option<&Path>) -> Result<(), String> {
    let content = kept.map(std::fs::read).transpose().map_err(|error| error.to_string())?;
    // A damaged copy must not pass for the earlier content.
    if content.as_deref().map(hash::sha256) != file.sha256 {
        return Err("the content that was kept is damaged".to_owned());
    }
    save::put_back(session_id, &PathBuf::from(&file.path), content.as_deref(), file.mode)
        .map_err(|error| error.to_string())
}
