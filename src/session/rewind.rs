//! Going back: which files get their earlier content again, and putting it there.
//!
//! The user's git repository is not used. What a change replaced lies beside the session (see
//! [`super::blobs`]), and so does afterwards what going back took away. A file that somebody else has
//! changed, since or in between, is left alone, and said.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::blobs;
use super::state::State;
use crate::event::{ChangedBy, FileChange, LINK_MODE, Restored};
use crate::hash;
use crate::tools::paths::Workspace;
use crate::tools::save::{self, Spot};

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

/// Looks at every file that was changed from a position on. A log can come from anywhere: only what
/// tools may change is put back.
pub fn plan(state: &State, to_seq: u64, workspace: &Workspace, blobs: Option<&Path>) -> FilePlan {
    let mut by_path: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
    for (_, change) in state.changes.iter().filter(|(seq, _)| *seq >= to_seq) {
        by_path.entry(&change.path).or_default().push(change);
    }
    let mut plan = FilePlan::default();
    for (path, changes) in by_path {
        let found = if workspace.holds(Path::new(path)) {
            earlier(Path::new(path), &changes, blobs)
        } else {
            Err("it is outside the workspace".to_owned())
        };
        match found {
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
    let now = find(path)?.map(|(found, _)| found);
    if is(now.as_ref(), first.before.as_deref(), first.mode) {
        return Ok(None);
    }
    let after = Some(last.after.as_str()).filter(|after| *after != save::ABSENT);
    // The last change may have been announced only, by a run that was killed.
    let not_done =
        last.by == ChangedBy::Tool && is(now.as_ref(), last.before.as_deref(), last.mode);
    if !not_done && !is(now.as_ref(), after, last.mode_after) {
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
fn find(path: &Path) -> Result<Option<(Found, Spot<'_>)>, String> {
    let said = |error: io::Error| error.to_string();
    let Some(place) = save::lies_at(path).map_err(said)? else { return Ok(None) };
    let kind = place.entry.kind();
    let content = if kind.is_symlink() {
        place.folder.link_target(place.name)
    } else if !kind.is_file() {
        return Err("it is no regular file any more".to_owned());
    } else if place.entry.len() > MAX_FILE {
        return Err("it is too large".to_owned());
    } else {
        place.folder.read(place.name).and_then(|file| {
            let mut content = Vec::new();
            file.take(MAX_FILE).read_to_end(&mut content).map(|_| content)
        })
    };
    let content = content.map_err(said)?;
    let sha256 = hash::sha256(&content);
    Ok(Some((Found { content, sha256, mode: place.mode() }, place)))
}

/// Puts the contents back. Says what could not be.
pub fn restore(
    session_id: &str,
    files: &[Restored],
    blobs: Option<&Path>,
) -> Vec<(String, String)> {
    let mut failed = Vec::new();
    for file in files {
        if let Err(why) = restore_one(session_id, file, blobs) {
            failed.push((file.path.clone(), why));
        }
    }
    failed
}

fn restore_one(session_id: &str, file: &Restored, blobs: Option<&Path>) -> Result<(), String> {
    let path = Path::new(&file.path);
    let now = find(path)?;
    if let Some(((now, _), folder)) = now.as_ref().zip(blobs) {
        // What is taken away is not lost either.
        blobs::keep(folder, &now.sha256, &now.content).map_err(|error| format!("{error:#}"))?;
    }
    let said = |error: io::Error| error.to_string();
    let only = now.and_then(|(now, place)| Some((only_mode(file, &now)?, place)));
    if let Some((mode, Spot { folder, name, .. })) = only {
        let set = |file: fs::File| file.set_permissions(Permissions::from_mode(mode));
        return folder.read(name).and_then(set).map_err(said);
    }
    let kept = file.sha256.as_ref().zip(blobs).map(|(hash, folder)| folder.join(hash));
    let content = kept.map(fs::read).transpose().map_err(said)?;
    // A damaged copy must not pass for the earlier content.
    if content.as_deref().map(hash::sha256) != file.sha256 {
        return Err("the content that was kept is damaged".to_owned());
    }
    save::put_back(session_id, path, content.as_deref(), file.mode).map_err(said)
}

/// The mode to put back, where nothing else is different.
fn only_mode(file: &Restored, now: &Found) -> Option<u32> {
    let same = Some(&now.sha256) == file.sha256.as_ref();
    file.mode.filter(|mode| same && *mode != LINK_MODE && now.mode != LINK_MODE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `before>after` with a letter for a content, `-` for no file and `x` after it for an
    /// executable one.
    fn change(path: &Path, text: &str) -> FileChange {
        let (before, after) = text.split_once('>').unwrap();
        let hash =
            |side: &str| (side != "-").then(|| hash::sha256(side.trim_end_matches('x').as_bytes()));
        let mode =
            |side: &str| (side != "-").then_some(if side.ends_with('x') { 0o755 } else { 0o644 });
        FileChange {
            path: path.display().to_string(),
            before: hash(before),
            after: hash(after).unwrap_or_default(),
            mode: mode(before),
            mode_after: mode(after),
            ..FileChange::default()
        }
    }

    #[test]
    fn a_file_goes_back_only_if_nobody_else_had_a_hand_in_it() {
        let since = "somebody else has changed it since";
        let between = "somebody else changed it in between";
        let not_kept = "its earlier content was not kept";
        for (changes, now, expected) in [
            ("A>B", "B", Ok("A")),
            ("A>B", "A", Ok("as it is")),
            ("A>B", "C", Err(since)),
            ("A>B", "-", Err(since)),
            ("A>B", "Bx", Err(since)),
            ("A>Ax", "Ax", Ok("A")),
            ("A>-", "-", Ok("A")),
            ("A>-", "A", Ok("as it is")),
            ("A>-", "B", Err(since)),
            ("->B", "B", Ok("-")),
            ("->B", "-", Ok("as it is")),
            ("A>B B>C", "C", Ok("A")),
            ("A>B B>-", "-", Ok("A")),
            ("A>- ->C", "C", Ok("A")),
            // Announced, but not done.
            ("A>B A>C", "C", Ok("A")),
            ("A>B B>C", "B", Ok("A")),
            ("A>B C>D", "D", Err(between)),
            ("A>- C>D", "D", Err(between)),
            ("Z>B", "B", Err(not_kept)),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().canonicalize().unwrap();
            fs::write(folder.join(hash::sha256(b"A")), "A").unwrap();
            let path = folder.join("file");
            if now != "-" {
                fs::write(&path, now.trim_end_matches('x')).unwrap();
                let mode = if now.ends_with('x') { 0o755 } else { 0o644 };
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            let changes: Vec<_> = changes.split(' ').map(|text| change(&path, text)).collect();
            let found = earlier(&path, &changes.iter().collect::<Vec<_>>(), Some(&folder));
            let said = found.map(|restored| match restored {
                None => "as it is",
                Some(restored) if restored.sha256.is_some() => "A",
                Some(_) => "-",
            });
            assert_eq!(said, expected.map_err(str::to_owned), "{changes:?} {now}");
        }
    }

    #[test]
    fn what_going_back_takes_away_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let path = folder.join("file");
        fs::write(&path, "new").unwrap();
        let file = Restored { path: path.display().to_string(), sha256: None, mode: None };
        let blobs = folder.join("blobs");
        assert_eq!(restore("s", &[file], Some(&blobs)), []);
        assert!(!path.exists());
        assert_eq!(fs::read(blobs.join(hash::sha256(b"new"))).unwrap(), b"new");
    }
}
