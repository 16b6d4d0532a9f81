//! Going back: which files get their earlier content again, and putting it there.
//!
//! The user's git repository is not used. What a change replaced lies beside the session (see
//! [`super::blobs`]), and so does afterwards what going back took away. A file that somebody else has
//! changed, since or in between, is left alone, and said.
//!
//! The log names the files, with what they hold and what they are to hold, before the first of them is
//! touched. A run that is killed in between is therefore finished by the next: what holds neither the
//! one nor the other by then is somebody else's. Only files of the workspace are touched, whatever the
//! log says: it may come from elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::iter;
use std::path::{Component, Path};

use super::blobs;
use super::state::State;
use crate::event::{ChangedBy, FileChange, LINK_MODE, LeftAlone, Restored, RewindFinished};
use crate::hash;
use crate::tools::paths::Workspace;
use crate::tools::save;

/// Files of this size at most are compared and put back, as for edits.
const MAX_FILE: u64 = 16 << 20;
/// Folders that nothing is put back in: they hold what programs run and obey by themselves.
const NOT_OURS: [&str; 2] = [".git", ".xsh"];
/// Why a file is left alone that is not what it was.
const CHANGED: &str = "somebody else has changed it since";

/// What going back does to the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// They get their earlier content; removals come first, since a file can stand where a folder
    /// has to be.
    pub restore: Vec<Restored>,
    /// They are left alone.
    pub leave: Vec<LeftAlone>,
}

/// Where files may be put back, and from what.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The session; temporary files have its name.
    pub session_id: &'a str,
    /// The kept contents; none where nothing is saved.
    pub blobs: Option<&'a Path>,
    /// The workspace.
    pub workspace: &'a Workspace,
}

/// What lies at a path.
struct Found {
    content: Vec<u8>,
    sha256: String,
    mode: u32,
}

/// Looks at every file that was changed from a position on.
pub fn plan(state: &State, to_seq: u64, place: Place<'_>) -> FilePlan {
    let mut by_path: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
    for (_, change) in state.changes.iter().filter(|(seq, _)| *seq >= to_seq) {
        by_path.entry(&change.path).or_default().push(change);
    }
    let mut plan = FilePlan::default();
    for (path, changes) in by_path {
        match earlier(Path::new(path), &changes, place) {
            Ok(None) => {}
            Ok(Some(restored)) => plan.restore.push(restored),
            Err(why) => plan.leave.push(LeftAlone { path: path.to_owned(), why }),
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
    place: Place<'_>,
) -> Result<Option<Restored>, String> {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Ok(None) };
    require_ours(path, place.workspace)?;
    let now = find(path)?;
    if is(now.as_ref(), first.before.as_deref(), first.mode) {
        return Ok(None);
    }
    let after = Some(last.after.as_str()).filter(|after| *after != save::ABSENT);
    // The last change may have been announced only, by a run that was killed.
    let not_done =
        last.by == ChangedBy::Tool && is(now.as_ref(), last.before.as_deref(), last.mode);
    if !not_done && !is(now.as_ref(), after, last.mode_after) {
        return Err(CHANGED.to_owned());
    }
    if changes.windows(2).any(|pair| matches!(pair, [one, next] if !follows(one, next))) {
        return Err("somebody else changed it in between".to_owned());
    }
    let kept = |hash| place.blobs.is_some_and(|folder| folder.join(hash).is_file());
    if first.before.as_ref().is_some_and(|hash| !kept(hash)) {
        return Err("its earlier content was not kept".to_owned());
    }
    Ok(Some(Restored {
        path: first.path.clone(),
        sha256: first.before.clone(),
        mode: first.mode,
        mode_was: now.as_ref().map(|now| now.mode),
        was: Some(now.map(|now| now.sha256).unwrap_or_default()),
    }))
}

/// Refuses a path that a tool would not have changed.
fn require_ours(path: &Path, workspace: &Workspace) -> Result<(), String> {
    let roots = iter::once(&workspace.root).chain(&workspace.extra);
    let mut rests = roots.filter_map(|root| path.strip_prefix(root).ok()).peekable();
    if rests.peek().is_none() || path.components().any(|part| part == Component::ParentDir) {
        return Err("it lies outside the workspace".to_owned());
    }
    let hidden = |rest: &Path| {
        rest.iter().any(|part| NOT_OURS.iter().any(|name| part.eq_ignore_ascii_case(name)))
    };
    if rests.all(hidden) { Err(format!("it lies in {}", NOT_OURS.join(" or "))) } else { Ok(()) }
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
    let said = |error: io::Error| error.to_string();
    let Some(spot) = save::lies_at(path).map_err(said)? else { return Ok(None) };
    let kind = spot.entry.kind();
    let content = if kind.is_symlink() {
        spot.folder.link_target(spot.name)
    } else if !kind.is_file() {
        return Err("it is no regular file any more".to_owned());
    } else if spot.entry.len() > MAX_FILE {
        return Err("it is too large".to_owned());
    } else {
        spot.folder.read(spot.name).and_then(|file| {
            let mut content = Vec::new();
            file.take(MAX_FILE).read_to_end(&mut content).map(|_| content)
        })
    };
    let content = content.map_err(said)?;
    let sha256 = hash::sha256(&content);
    Ok(Some(Found { content, sha256, mode: spot.mode() }))
}

/// Puts the contents back, or what is left to do of it. Says what came of it.
pub fn restore(files: &[Restored], place: Place<'_>) -> RewindFinished {
    let mut finished = RewindFinished::default();
    for file in files {
        match restore_one(file, place) {
            Ok(()) => finished.restored += 1,
            Err(why) => finished.left.push(LeftAlone { path: file.path.clone(), why }),
        }
    }
    finished
}

fn restore_one(file: &Restored, place: Place<'_>) -> Result<(), String> {
    let path = Path::new(&file.path);
    require_ours(path, place.workspace)?;
    let now = find(path)?;
    if is(now.as_ref(), file.sha256.as_deref(), file.mode) {
        return Ok(());
    }
    let Some(was) = &file.was else {
        return Err("an earlier xsh did not note what was there".to_owned());
    };
    let was = Some(was.as_str()).filter(|was| *was != save::ABSENT);
    if !is(now.as_ref(), was, file.mode_was) {
        return Err(CHANGED.to_owned());
    }
    if let Some((now, folder)) = now.as_ref().zip(place.blobs) {
        // What is taken away is not lost either.
        blobs::keep(folder, &now.sha256, &now.content).map_err(|error| format!("{error:#}"))?;
    }
    let said = |error: io::Error| error.to_string();
    if let Some(mode) = now.and_then(|now| only_mode(file, &now)) {
        return save::set_mode(path, mode).map_err(said);
    }
    let kept = file.sha256.as_ref().zip(place.blobs).map(|(hash, folder)| folder.join(hash));
    let content = kept.map(fs::read).transpose().map_err(said)?;
    // A damaged copy must not pass for the earlier content.
    if content.as_deref().map(hash::sha256) != file.sha256 {
        return Err("the content that was kept is damaged".to_owned());
    }
    save::put_back(place.session_id, path, content.as_deref(), file.mode).map_err(said)
}

/// The mode to put back, where nothing else is different.
fn only_mode(file: &Restored, now: &Found) -> Option<u32> {
    let same = Some(&now.sha256) == file.sha256.as_ref();
    file.mode.filter(|mode| same && *mode != LINK_MODE && now.mode != LINK_MODE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rules::PathRules;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

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
            let workspace =
                Workspace { root: folder.clone(), extra: Vec::new(), rules: PathRules::default() };
            let found = earlier(
                &path,
                &changes.iter().collect::<Vec<_>>(),
                place(&workspace, Some(&folder)),
            );
            let said = found.map(|restored| match restored {
                None => "as it is",
                Some(restored) if restored.sha256.is_some() => "A",
                Some(_) => "-",
            });
            assert_eq!(said, expected.map_err(str::to_owned), "{changes:?} {now}");
        }
    }

    fn place<'a>(workspace: &'a Workspace, blobs: Option<&'a Path>) -> Place<'a> {
        Place { session_id: "s", blobs, workspace }
    }

    #[test]
    fn what_going_back_takes_away_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let workspace =
            Workspace { root: folder.clone(), extra: Vec::new(), rules: PathRules::default() };
        let path = folder.join("file");
        fs::write(&path, "new").unwrap();
        let file = Restored {
            path: path.display().to_string(),
            sha256: None,
            mode: None,
            was: Some(hash::sha256(b"new")),
            mode_was: None,
        };
        let blobs = folder.join("blobs");
        let finished = restore(&[file], place(&workspace, Some(&blobs)));
        assert_eq!(finished, RewindFinished { restored: 1, left: Vec::new() });
        assert!(!path.exists());
        assert_eq!(fs::read(blobs.join(hash::sha256(b"new"))).unwrap(), b"new");
    }

    /// Each case: what the rewind puts in the place of what, what is there now, and what then.
    #[test]
    fn only_what_is_still_as_it_was_is_put_back_later() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let workspace =
            Workspace { root: folder.clone(), extra: Vec::new(), rules: PathRules::default() };
        fs::write(folder.join(hash::sha256(b"A")), "A").unwrap();
        let hash_of = |text: &str| (text != "-").then(|| hash::sha256(text.as_bytes()));
        for (to, was, now, expected) in [
            ("A", Some("B"), "B", Ok("A")),
            ("A", Some("B"), "A", Ok("A")),
            ("A", Some("B"), "C", Err("C")),
            ("A", Some("B"), "-", Err("-")),
            ("A", Some("-"), "-", Ok("A")),
            ("A", Some("-"), "C", Err("C")),
            ("-", Some("B"), "B", Ok("-")),
            ("-", Some("B"), "-", Ok("-")),
            ("-", Some("B"), "C", Err("C")),
            ("A", None, "A", Ok("A")),
            ("A", None, "B", Err("B")),
        ] {
            let path = folder.join("file");
            let _ = fs::remove_file(&path);
            if now != "-" {
                fs::write(&path, now).unwrap();
            }
            let file = Restored {
                path: path.display().to_string(),
                sha256: hash_of(to),
                mode: None,
                was: was.map(|was| hash_of(was).unwrap_or_default()),
                mode_was: None,
            };
            for _again in 0..2 {
                let finished =
                    restore(std::slice::from_ref(&file), place(&workspace, Some(&folder)));
                assert_eq!(finished.left.is_empty(), expected.is_ok(), "{to} {was:?} {now}");
                let there = fs::read_to_string(&path).unwrap_or_else(|_| "-".to_owned());
                assert_eq!(there, expected.unwrap_or_else(|left| left), "{to} {was:?} {now}");
            }
        }
    }

    #[test]
    fn nothing_outside_the_workspace_is_touched_whatever_a_log_says() {
        let workspace = Workspace {
            root: "/work/project".into(),
            extra: vec!["/more".into()],
            rules: PathRules::default(),
        };
        for (path, ours) in [
            ("/work/project/src/main.rs", true),
            ("/more/file", true),
            ("/work/project", true),
            ("/work/project2/file", false),
            ("/work/project/../other", false),
            ("/work/project/.git/hooks/post-checkout", false),
            ("/work/project/sub/.XSH/config.toml", false),
            ("/etc/passwd", false),
            ("relative", false),
        ] {
            assert_eq!(require_ours(Path::new(path), &workspace).is_ok(), ours, "{path}");
        }
    }
}
