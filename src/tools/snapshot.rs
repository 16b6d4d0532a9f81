//! What commands change in the workspace, so that it can be undone.
//!
//! Before a command runs, every file that git does not ignore is known by its content ([`look`]); after
//! it they are compared ([`changes`]), and each difference becomes a [`FileChange`] with the content
//! before kept beside the session. The user's git repository has no part in it. Nothing is done
//! before the first command, and later looks read only what has changed since. Beyond the limits
//! below there is no undo for commands, which is said once and noted with each command's result.

mod changes;
mod look;
mod pack;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::ToolContext;
use super::save::ABSENT;
use super::text::size;
use crate::event::{ChangedBy, FileChange};
use changes::{Change, Changes, Index};
use look::{Blind, Look};
use pack::Pack;

/// A file larger than this is not covered, in bytes.
pub const MAX_FILE: u64 = 4 << 20;
/// What is in use; tests have smaller ones.
const LIMITS: Limits = Limits {
    files: 5_000,
    file: MAX_FILE,
    bytes: 64 << 20,
    kept: 256 << 20,
    changes: 20_000,
    time: Duration::from_secs(1),
    late: 3,
};

/// What is covered.
#[derive(Clone, Copy)]
struct Limits {
    /// More files than this in the workspace: none is covered.
    files: usize,
    /// A larger file is not covered, in bytes.
    file: u64,
    /// More bytes than this in the covered files: none is.
    bytes: u64,
    /// Contents kept for undo in one session, in bytes.
    kept: u64,
    /// Changes noted in one session.
    changes: usize,
    /// How long one look may take.
    time: Duration,
    /// Looks that may take longer before no further one is tried.
    late: u32,
}

/// Where a command runs, for [`around`].
pub struct Place {
    /// The folder beside the session, which may not exist yet; none when nothing is saved, and then
    /// nothing is watched.
    pub folder: Option<PathBuf>,
    /// Changes that the session holds.
    pub changes: usize,
}

/// What watching a command came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// What the command changed cannot be undone.
    pub blind: bool,
    /// What the user should know. Each is said once in a session.
    pub notes: Vec<String>,
}

/// What is known of the workspace between two commands.
pub struct Watch {
    limits: Limits,
    folder: PathBuf,
    sight: Sight,
    late: u32,
    kept: u64,
    told: BTreeSet<String>,
}

#[derive(Default)]
enum Sight {
    /// Nothing is known yet.
    #[default]
    Closed,
    Open(Snapshot),
    /// The workspace is beyond the limits.
    Off,
}

struct Snapshot {
    pack: Pack,
    index: Index,
    /// The file system's time when the index was begun.
    began: i128,
}

/// Runs a command and records what it changed through the context's journal. The command runs in
/// any case.
pub fn around<T>(
    watch: &Mutex<Watch>,
    place: &Place,
    context: &ToolContext<'_>,
    run: impl FnOnce() -> T,
) -> (T, Watched) {
    // Not held while the command runs: one that hangs must not block the next.
    let lock = || watch.lock().unwrap_or_else(PoisonError::into_inner);
    let mut watched = lock().before(place, context);
    let done = run();
    if !watched.blind {
        watched = lock().after(place, context);
    }
    (done, watched)
}

impl Default for Watch {
    fn default() -> Self {
        Self::within(LIMITS)
    }
}

impl Watch {
    fn within(limits: Limits) -> Self {
        Self {
            limits,
            folder: PathBuf::new(),
            sight: Sight::Closed,
            late: 0,
            kept: 0,
            told: BTreeSet::new(),
        }
    }

    fn before(&mut self, place: &Place, context: &ToolContext<'_>) -> Watched {
        let mut watched = Watched { blind: true, notes: Vec::new() };
        let Some(folder) = &place.folder else { return watched };
        if *folder != self.folder {
            *self = Self {
                folder: folder.clone(),
                kept: bytes_in(&blobs(folder)),
                ..Self::within(self.limits)
            };
        }
        if let Some(mut snapshot) = self.open(&mut watched.notes) {
            let seen = snapshot.look(self, context, context.cancel);
            watched.blind = seen.is_err();
            self.settle(snapshot, seen.err(), &mut watched.notes);
        }
        watched
    }

    fn after(&mut self, place: &Place, context: &ToolContext<'_>) -> Watched {
        let mut watched = Watched { blind: true, notes: Vec::new() };
        let Sight::Open(mut snapshot) = std::mem::take(&mut self.sight) else { return watched };
        let began = snapshot.began;
        // An interrupted command has had its effects too.
        let seen = snapshot.look(self, context, &CancellationToken::new());
        if let Ok(old) = &seen {
            let found = changes::diff(old, &snapshot.index, began);
            watched.blind =
                !self.record((&snapshot.pack, &found), place, context, &mut watched.notes);
        }
        self.settle(snapshot, seen.err(), &mut watched.notes);
        watched
    }

    /// The folder that holds the session.
    fn beside(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// What was known, or an empty start; none once the workspace is beyond the limits.
    fn open(&mut self, notes: &mut Vec<String>) -> Option<Snapshot> {
        match std::mem::take(&mut self.sight) {
            Sight::Off => {
                self.sight = Sight::Off;
                return None;
            }
            Sight::Open(snapshot) if snapshot.pack.size() <= 3 * self.limits.bytes => {
                return Some(snapshot);
            }
            Sight::Open(_) | Sight::Closed => {}
        }
        // Beside the log, so that a session without changes leaves no folder.
        match Pack::new(self.beside()) {
            Ok(pack) => Some(Snapshot { pack, index: Index::new(), began: 0 }),
            Err(error) => {
                self.turn_off(&look::cannot_keep(&error), notes);
                None
            }
        }
    }

    fn settle(&mut self, snapshot: Snapshot, blind: Option<Blind>, notes: &mut Vec<String>) {
        match blind {
            None | Some(Blind::Cancelled) => self.sight = Sight::Open(snapshot),
            Some(Blind::Unable(why)) => self.turn_off(&why, notes),
            Some(Blind::Late) => {
                self.late += 1;
                let late = format!("looking at its files takes more than {:?}", self.limits.time);
                if self.late >= self.limits.late {
                    self.turn_off(&late, notes);
                } else {
                    self.sight = Sight::Open(snapshot);
                    let note = format!("what this command changes cannot be undone: {late}");
                    self.tell(note, notes);
                }
            }
        }
    }

    fn turn_off(&mut self, why: &str, notes: &mut Vec<String>) {
        self.sight = Sight::Off;
        let note = format!("what commands change in this workspace cannot be undone: {why}");
        self.tell(note, notes);
    }

    fn tell(&mut self, note: String, notes: &mut Vec<String>) {
        if self.told.insert(note.clone()) {
            notes.push(note);
        }
    }

    /// Notes each change in the log. False if not all of them are there.
    fn record(
        &mut self,
        (pack, found): (&Pack, &Changes<'_>),
        place: &Place,
        context: &ToolContext<'_>,
        notes: &mut Vec<String>,
    ) -> bool {
        if !found.beyond.is_empty() {
            let limit = size(self.limits.file);
            let note = format!(
                "what commands do to files over {limit}, or unreadable ones, cannot be undone"
            );
            self.tell(note, notes);
        }
        let room = self.limits.changes.saturating_sub(place.changes);
        let failed = found.known.iter().take(room).find_map(|change| {
            let content = self.content_before(pack, change, notes);
            context.journal.file_change(event(change, context), content.as_deref()).err()
        });
        if let Some(why) = &failed {
            self.tell(format!("what this command changed cannot be undone: {why}"), notes);
        } else if found.known.len() > room {
            let note = format!(
                "commands have made more than {} changes in this session; further ones \
                 cannot be undone",
                self.limits.changes
            );
            self.tell(note, notes);
        }
        failed.is_none() && found.known.len() <= room
    }

    /// What is to be kept for undo, within the session's room.
    fn content_before(
        &mut self,
        pack: &Pack,
        (_, old, _): &Change<'_>,
        notes: &mut Vec<String>,
    ) -> Option<Vec<u8>> {
        let old = (*old)?;
        if blobs(&self.folder).join(&old.sha256).exists() {
            return None;
        }
        let kept = self.kept + old.place.len as u64;
        if kept > self.limits.kept {
            let limit = size(self.limits.kept);
            let note = format!(
                "commands have changed more than {limit} of files in this session; further ones are \
                 not kept for undo"
            );
            self.tell(note, notes);
            return None;
        }
        self.kept = kept;
        pack.get(old.place).ok()
    }
}

impl Snapshot {
    /// Brings the index up to date and gives the old one. After an error it holds what was seen until
    /// then.
    fn look(
        &mut self,
        watch: &Watch,
        context: &ToolContext<'_>,
        cancel: &CancellationToken,
    ) -> Result<Index, Blind> {
        let skip = watch.beside();
        let root = &context.workspace.root;
        let (old, pack) = (&self.index, &self.pack);
        let (seen, result) =
            look::look(&Look { limits: &watch.limits, root, skip, old, pack, cancel });
        match result {
            Ok(began) => {
                self.began = began;
                Ok(std::mem::replace(&mut self.index, seen))
            }
            Err(blind) => {
                self.index.extend(seen);
                Err(blind)
            }
        }
    }
}

fn event(&(path, old, new): &Change<'_>, context: &ToolContext<'_>) -> FileChange {
    FileChange {
        call_id: context.call_id.to_owned(),
        path: path.to_owned(),
        before: old.map(|old| old.sha256.clone()),
        after: new.map_or(ABSENT, |new| &new.sha256).to_owned(),
        mode: old.map(|old| old.mode),
        mode_after: new.map(|new| new.mode),
        by: ChangedBy::Command,
    }
}

fn blobs(folder: &Path) -> PathBuf {
    folder.join("blobs")
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}
