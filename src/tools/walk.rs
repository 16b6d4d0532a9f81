//! The way through a folder tree that `glob` and `grep` share.
//!
//! Several threads take folders and handfuls of files from one queue, so that a deep tree and one
//! huge folder both keep them all busy. Hidden files are visited; `.git`, `.xsh` and what git
//! ignores (see [`rules`]) are not. Links are never followed, so there are no loops and no way
//! out; pipes, sockets and devices are never touched. What was passed over is counted, because a
//! result that does not say so reads as "there is none".
//!
//! The crate `ignore` has a walker too, but it cannot say that it ignored something, and it looks
//! at the ignore files of every folder up to the root of the file system.

mod missing;
mod queue;
mod rules;
#[cfg(test)]
pub(super) mod tests;
mod told;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use tokio_util::sync::CancellationToken;

use super::beneath;
use crate::policy::rules::PathRules;

pub(super) use missing::missing;
use queue::Queue;
use rules::Rules;
pub(super) use told::{ByFolder, shown};

/// The most threads that one walk uses.
const MAX_THREADS: usize = 8;
/// Files handed to a thread at once.
const HANDFUL: usize = 16;
/// Entries of one folder read between two looks at the end of the search.
const LOOK_EVERY: usize = 256;
/// How long one search may take. What it has by then is told as such.
const MAX_TIME: Duration = Duration::from_mins(1);

/// What to walk.
pub(super) struct Walk<'a> {
    /// The folder, links resolved.
    pub(super) start: &'a Path,
    /// The workspace: where ignore files begin to count when there is no repository.
    pub(super) workspace: &'a Path,
    /// The model named this folder, so it is looked into even if all that it holds is ignored.
    pub(super) named: bool,
    /// What the user's rules leave out; none where nothing is told to the model.
    pub(super) closed: Option<Closed<'a>>,
    /// Links that lead to folders or nowhere are handed out like those to files.
    pub(super) every_link: bool,
    /// Ends the walk early.
    pub(super) until: Until<'a>,
}

/// What the user's rules leave out of a search.
#[derive(Clone, Copy)]
pub(super) struct Closed<'a> {
    /// The rules.
    pub(super) rules: &'a PathRules,
    /// The user was asked about the folder and agreed: only what is denied is left out.
    pub(super) agreed: bool,
}

impl<'a> Closed<'a> {
    /// For a search in the folder (or file) that the model named, if it named one.
    pub(super) fn below(rules: &'a PathRules, named: Option<&Path>) -> Self {
        Self { rules, agreed: named.is_some_and(|path| rules.asking(path).is_some()) }
    }

    fn leaves_out(&self, path: &Path) -> bool {
        self.rules.denying(path).is_some() || (!self.agreed && self.rules.asking(path).is_some())
    }
}

/// When a search ends, done or not.
#[derive(Clone, Copy)]
pub(super) struct Until<'a> {
    cancel: &'a CancellationToken,
    deadline: Instant,
}

impl<'a> Until<'a> {
    /// From now until the time is up or the user interrupts.
    pub(super) fn new(cancel: &'a CancellationToken) -> Self {
        Self::within(MAX_TIME, cancel)
    }

    /// From now until this time is up or the work is called off.
    pub(super) fn within(time: Duration, cancel: &'a CancellationToken) -> Self {
        Self { cancel, deadline: Instant::now() + time }
    }

    /// Whether it is time to end.
    pub(super) fn over(&self) -> bool {
        self.cancel.is_cancelled() || self.is_late()
    }

    /// Whether the time is up.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

/// A file on the way.
pub(super) struct Found {
    /// Absolute.
    pub(super) path: PathBuf,
    /// It is a link; to a file, unless the walk takes every link.
    pub(super) linked: bool,
}

/// What a walk passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Files and folders that git ignores; a folder counts once.
    pub(super) ignored: u64,
    /// Files and folders that a rule of the user keeps closed; a folder counts once.
    pub(super) closed: u64,
    /// Links that were not followed.
    pub(super) links: u64,
    /// Pipes, sockets and devices.
    pub(super) special: u64,
    /// Folders and files that could not be read.
    pub(super) unreadable: u64,
    /// The time was up before all was seen.
    pub(super) late: bool,
}

impl LeftOut {
    fn add(&mut self, other: Self) {
        self.ignored += other.ignored;
        self.closed += other.closed;
        self.links += other.links;
        self.special += other.special;
        self.unreadable += other.unreadable;
    }

    /// The line for the result, where there is something to say.
    pub(super) fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.late {
            parts.push(format!("all after the first {} seconds", MAX_TIME.as_secs()));
        }
        if self.ignored > 0 {
            parts.push("what git ignores (name it in `path` to look there)".to_owned());
        }
        for (count, what) in [
            (self.closed, "closed by the user's rules"),
            (self.links, "not followed: links"),
            (self.special, "pipes, sockets or devices"),
            (self.unreadable, "unreadable"),
        ] {
            if count > 0 {
                parts.push(format!("{what} ({count})"));
            }
        }
        (!parts.is_empty()).then(|| format!("[Left out: {}.]", parts.join("; ")))
    }
}

/// Visits every file below the start, in no order. Each thread has a state of its own, made by
/// `new`; they are returned together with what was left out. After a cancel the walk is
/// incomplete: the caller asks the token.
pub(super) fn walk<S: Send>(
    walk: &Walk<'_>,
    new: impl Fn() -> S + Sync,
    visit: impl Fn(&mut S, Found) + Sync,
) -> (Vec<S>, LeftOut) {
    let rules = Rules::above(walk.start, walk.workspace);
    let start = Folder { path: walk.start.to_path_buf(), rules, named: walk.named };
    let queue = Queue::new(Job::Folder(start));
    let work = || {
        let mut state = new();
        let left_out = work(walk, &queue, |found| visit(&mut state, found));
        (state, left_out)
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let done = thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut done = vec![work()];
        for helper in helpers {
            done.push(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    let mut left_out = LeftOut { late: walk.until.is_late(), ..LeftOut::default() };
    let states = done.into_iter().map(|(state, part)| {
        left_out.add(part);
        state
    });
    (states.collect(), left_out)
}

/// One thread's part.
fn work(walk: &Walk<'_>, queue: &Queue<Job>, mut visit: impl FnMut(Found)) -> LeftOut {
    let mut left_out = LeftOut::default();
    while let Some((job, _busy)) = queue.next() {
        match job {
            Job::Folder(folder) => queue.add(open(walk, folder, &mut left_out)),
            Job::Files(files) => {
                for file in files {
                    if walk.until.over() {
                        return left_out;
                    }
                    visit(file);
                }
            }
        }
        if walk.until.over() {
            break;
        }
    }
    left_out
}

struct Folder {
    path: PathBuf,
    rules: Rules,
    named: bool,
}

enum Job {
    Folder(Folder),
    Files(Vec<Found>),
}

/// The names in a folder, and what they say about its rules.
#[derive(Default)]
struct Listing {
    entries: Vec<(OsString, FileType)>,
    is_repository: bool,
    has_rules: bool,
}

fn list(path: &Path, until: Until<'_>) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for (index, entry) in beneath::list(path)?.enumerate() {
        if index % LOOK_EVERY == 0 && until.over() {
            break;
        }
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        listing.is_repository |= name == ".git";
        listing.has_rules |= name == ".gitignore";
        if name != "." && name != ".." && !rules::is_private(name) {
            let told = entry.file_type();
            let kind = if told == FileType::Unknown { kind(&path.join(name))? } else { told };
            listing.entries.push((name.to_owned(), kind));
        }
    }
    Ok(listing)
}

/// The kind of an entry on a file system that does not say it in the listing.
fn kind(path: &Path) -> io::Result<FileType> {
    let kind = fs::symlink_metadata(path)?.file_type();
    let kinds = [
        (kind.is_file(), FileType::RegularFile),
        (kind.is_dir(), FileType::Directory),
        (kind.is_symlink(), FileType::Symlink),
    ];
    Ok(kinds.iter().find(|(is, _)| *is).map_or(FileType::Fifo, |(_, kind)| *kind))
}

/// Reads a folder and makes jobs of what it holds.
fn open(walk: &Walk<'_>, folder: Folder, left_out: &mut LeftOut) -> Vec<Job> {
    let Ok(listing) = list(&folder.path, walk.until) else {
        left_out.unreadable += 1;
        return Vec::new();
    };
    let mut rules = folder.rules;
    if listing.is_repository {
        rules = Rules::repository(&folder.path);
    }
    if listing.has_rules {
        rules = rules.enter(&folder.path);
    }
    let ignored =
        |(name, kind): &(OsString, FileType)| rules.ignore(&folder.path.join(name), kind.is_dir());
    let (dropped, kept): (Vec<_>, Vec<_>) = listing.entries.into_iter().partition(ignored);
    if folder.named && !dropped.is_empty() && kept.iter().all(|(name, _)| is_hidden(name)) {
        // All that the folder is for is ignored, as in `build/*` with a `.gitkeep`.
        let all = kept.into_iter().chain(dropped);
        return jobs(walk, &folder.path, &Rules::default(), all, left_out);
    }
    left_out.ignored += dropped.len() as u64;
    jobs(walk, &folder.path, &rules, kept.into_iter(), left_out)
}

fn is_hidden(name: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn jobs(
    walk: &Walk<'_>,
    folder: &Path,
    rules: &Rules,
    entries: impl Iterator<Item = (OsString, FileType)>,
    left_out: &mut LeftOut,
) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut files = Vec::new();
    for (name, kind) in entries {
        let path = folder.join(name);
        if walk.closed.is_some_and(|closed| closed.leaves_out(&path)) {
            left_out.closed += 1;
        } else if kind.is_dir() {
            jobs.push(Job::Folder(Folder { path, rules: rules.clone(), named: false }));
        } else if kind.is_file() {
            files.push(Found { path, linked: false });
        } else if kind.is_symlink() && walk.every_link {
            files.push(Found { path, linked: true });
        } else if kind.is_symlink() {
            match fs::metadata(&path) {
                Ok(target) if target.is_file() => files.push(Found { path, linked: true }),
                Ok(target) if target.is_dir() => left_out.links += 1,
                _ => {}
            }
        } else {
            left_out.special += 1;
        }
        if files.len() == HANDFUL {
            jobs.push(Job::Files(std::mem::take(&mut files)));
        }
    }
    if !files.is_empty() {
        jobs.push(Job::Files(files));
    }
    jobs
}
