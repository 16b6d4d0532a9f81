//! Going back: which files get their earlier content again, and putting it there.
//!
//! The user's git repository is not used. What a change replaced lies beside the session (see
//! [`super::blobs`]), and so does afterwards what going back took away. A file that somebody else has
//! changed, since or in between, is left alone, and said.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::blobs;
use super::state::State;
use crate::event::{FileChange, LINK_MODE, Restored};
use crate::hash;
use crate::tools::save;

/// Files of this size at most are compared and put back, as for edits.
const MAX_FILE: u64 = 16 << 20;

/// What going back does to the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// They get their earlier content; removals come first, since a file can stand where a folder
    /// has to be.
    pub restore: Vec<Restored>,
    /// They are left alone: path and reason.
    pub leave: Vec<(String, String)>,
}

/// What lies at a path.
struct Found {
    content: Vec<u8>,
    sha256: String,
    mode: u32,
}

/// Looks at every file that was changed from a position on.
pub fn plan(state: &State, to_seq: u64, blobs: Option<&Path>) -> FilePlan {
    let mut by_path: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
    for (_, change) in state.changes.iter().filter(|(seq, _)| *seq >= to_seq) {
        by_path.entry(&change.path).or_default().push(change);
    }
    let mut plan = FilePlan::default();
    for (path, changes) in by_path {
        match earlier(Path::new(path), &changes, blobs) {
            Ok(None) => {}
            Ok(Some(restored)) => plan.restore.push(restored),
            Err(why) => plan.leave.push((path.to_owned(), why)),
        }
    }
    plan.restore.sort_by_key(|file| file.sha256.is_some());
    plan
}

/// What has to be put at a path; nothing where it is there already. The error says why the path is
/// left alone.
fn earlier(
    path: &Path,
    changes: &[&FileChange],
    blobs: Option<&Path>,
) -> Result<Option<Restored>, String> {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Ok(None) };
    let now = find(path)?;
    if is(now.as_ref(), first.before.as_deref(), first.mode) {
        return Ok(None);
    }
    let after = Some(last.after.as_str()).filter(|after| *after != save::ABSENT);
    if !is(now.as_ref(), after, last.mode_after) {
        return Err("somebody else has changed it since".to_owned());
    }
    if changes.windows(2).any(|pair| matches!(pair, [one, next] if !follows(one, next))) {
        return Err("somebody else changed it in between".to_owned());
    }
    let kept = |hash| blobs.is_some_and(|folder| folder.join(hash).is_file());
    if first.before.as_ref().is_some_and(|hash| !kept(hash)) {
        return Err("its earlier content was not kept".to_owned());
    }
    Ok(Some(Restored { path: first.path.clone(), sha256: first.before.clone(), mode: first.mode }))
}

/// Whether a change began with what the one before it left; one that was announced may not have
/// come about.
fn follows(one: &FileChange, next: &FileChange) -> bool {
    next.before.as_deref().unwrap_or_default() == one.after || next.before == one.before
}

/// Whether this is what was noted of a file. A mode that was not noted does not count.
fn is(now: Option<&Found>, sha256: Option<&str>, mode: Option<u32>) -> bool {
    match (now, sha256) {
        (None, None) => true,
        (Some(now), Some(sha256)) => {
            let same_mode = mode.map_or(now.mode != LINK_MODE, |mode| mode == now.mode);
            now.sha256 == sha256 && same_mode
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// What lies at a path now; none where there is nothing.
fn find(path: &Path) -> Result<Option<Found>, String> {
    let Some(meta) = save::lies_at(path).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let content = if meta.is_symlink() {
        fs::read_link(path).map(|target| target.as_os_str().as_bytes().to_vec())
    } else if !meta.is_file() {
        return Err("it is no regular file any more".to_owned());
    } else if meta.len() > MAX_FILE {
        return Err("it is too large".to_owned());
    } else {
        fs::read(path)
    };
    let content = content.map_err(|error| error.to_string())?;
    let sha256 = hash::sha256(&content);
    Ok(Some(Found { content, sha256, mode: save::mode(&meta) }))
}

/// Puts the contents back. Says what could not be.
pub fn restore(files: &[Restored], blobs: Option<&Path>) -> Vec<(String, String)> {
    let mut failed = Vec::new();
    for file in files {
        if let Err(why) = restore_one(file, blobs) {
            failed.push((file.path.clone(), why));
        }
    }
    failed
}

fn restore_one(file: &Restored, blobs: Option<&Path>) -> Result<(), String> {
    let path = Path::new(&file.path);
    let now = find(path)?;
    if let Some((now, folder)) = now.as_ref().zip(blobs) {
        // What is taken away is not lost either.
        blobs::keep(folder, &now.sha256, &now.content).map_err(|error| format!("{error:#}"))?;
    }
    put(file, path, now.as_ref(), blobs)
}

fn put(
    file: &Restored,
    path: &Path,
    now: Option<&Found>,
    blobs: Option<&Path>,
) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    if let (Some(now), Some(mode)) = (now, file.mode)
        && Some(&now.sha256) == file.sha256.as_ref()
        && now.mode != LINK_MODE
        && mode != LINK_MODE
    {
        return fs::set_permissions(path, Permissions::from_mode(mode)).map_err(said);
    }
    let kept = file.sha256.as_ref().zip(blobs).map(|(hash, folder)| folder.join(hash));
    let content = kept.map(fs::read).transpose().map_err(said)?;
    // A damaged copy must not pass for the earlier content.
    if content.as_deref().map(hash::sha256) != file.sha256 {
        return Err("the content that was kept is damaged".to_owned());
    }
    save::put_back(path, content.as_deref(), file.mode).map_err(said)
}
