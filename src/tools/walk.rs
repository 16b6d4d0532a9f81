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
mod rules;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio_util::sync::CancellationToken;

use super::paths::Resolved;
pub(super) use missing::missing;
use rules::Rules;

/// The most threads that one walk uses.
const MAX_THREADS: usize = 8;
/// Files handed to a thread at once.
const HANDFUL: usize = 16;
/// Entries of one folder read between two looks at the cancel token.
const CANCEL_EVERY: usize = 256;
/// Folders named in a count by folder.
const MAX_FOLDERS: usize = 30;

/// What to walk.
pub(super) struct Walk<'a> {
    /// The folder, links resolved.
    pub(super) start: &'a Path,
    /// The workspace: where ignore files begin to count when there is no repository.
    pub(super) workspace: &'a Path,
    /// The model named this folder, so it is looked into even if all that it holds is ignored.
    pub(super) named: bool,
    /// Ends the walk early.
    pub(super) cancel: &'a CancellationToken,
}

/// A file on the way.
pub(super) struct Found {
    /// Absolute.
    pub(super) path: PathBuf,
    /// It is a link to a file.
    pub(super) linked: bool,
}

/// What a walk passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Files and folders that git ignores; a folder counts once.
    pub(super) ignored: u64,
    /// Links that were not followed.
    pub(super) links: u64,
    /// Pipes, sockets and devices.
    pub(super) special: u64,
    /// Folders and files that could not be read.
    pub(super) unreadable: u64,
}

impl LeftOut {
    fn add(&mut self, other: Self) {
        self.ignored += other.ignored;
        self.links += other.links;
        self.special += other.special;
        self.unreadable += other.unreadable;
    }

    /// The line for the result, where there is something to say.
    pub(super) fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.ignored > 0 {
            parts.push("what git ignores (name it in `path` to look there)".to_owned());
        }
        for (count, what) in [
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
    let mut left_out = LeftOut::default();
    let states = done.into_iter().map(|(state, part)| {
        left_out.add(part);
        state
    });
    (states.collect(), left_out)
}

/// One thread's part.
fn work(walk: &Walk<'_>, queue: &Queue, mut visit: impl FnMut(Found)) -> LeftOut {
    let mut left_out = LeftOut::default();
    while let Some((job, _busy)) = queue.next() {
        match job {
            Job::Folder(folder) => queue.add(open(walk, folder, &mut left_out)),
            Job::Files(files) => {
                for file in files {
                    if walk.cancel.is_cancelled() {
                        return left_out;
                    }
                    visit(file);
                }
            }
        }
        if walk.cancel.is_cancelled() {
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

fn list(path: &Path, cancel: &CancellationToken) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for (index, entry) in fs::read_dir(path)?.enumerate() {
        if index % CANCEL_EVERY == 0 && cancel.is_cancelled() {
            break;
        }
        let entry = entry?;
        let name = entry.file_name();
        listing.is_repository |= name == ".git";
        listing.has_rules |= name == ".gitignore";
        if !rules::is_private(&name) {
            listing.entries.push((name, entry.file_type()?));
        }
    }
    Ok(listing)
}

/// Reads a folder and makes jobs of what it holds.
fn open(walk: &Walk<'_>, folder: Folder, left_out: &mut LeftOut) -> Vec<Job> {
    let Ok(listing) = list(&folder.path, walk.cancel) else {
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
        return jobs(&folder.path, &Rules::default(), all, left_out);
    }
    left_out.ignored += dropped.len() as u64;
    jobs(&folder.path, &rules, kept.into_iter(), left_out)
}

fn is_hidden(name: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn jobs(
    folder: &Path,
    rules: &Rules,
    entries: impl Iterator<Item = (OsString, FileType)>,
    left_out: &mut LeftOut,
) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut files = Vec::new();
    for (name, kind) in entries {
        let path = folder.join(name);
        if kind.is_dir() {
            jobs.push(Job::Folder(Folder { path, rules: rules.clone(), named: false }));
        } else if kind.is_file() {
            files.push(Found { path, linked: false });
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

/// What is still to do. A lock, because a thread without work must sleep until another finds some.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    jobs: Vec<Job>,
    /// Threads at work, which may add jobs.
    busy: usize,
}

impl Queue {
    fn new(first: Job) -> Self {
        let state = State { jobs: vec![first], busy: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, with a token to hold while it is done. Waits while others may still add one;
    /// nothing once all is done.
    fn next(&self) -> Option<(Job, Busy<'_>)> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some((job, Busy(self)));
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add(&self, jobs: Vec<Job>) {
        if !jobs.is_empty() {
            self.lock().jobs.extend(jobs);
            self.changed.notify_all();
        }
    }
}

/// A thread at work; dropped also when the work panics, or the others would wait for ever.
struct Busy<'a>(&'a Queue);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        if state.busy == 0 {
            self.0.changed.notify_all();
        }
    }
}

/// Opens a file that a walk found. If it has become a link or a pipe since, that neither leads
/// out nor blocks.
pub(super) fn open_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default());
    }
    options.open(path)
}

/// A path below the start as the model sees it. Control characters are escaped, or a file's name
/// could pass for several lines.
pub(super) fn shown(start: &Resolved, path: &Path) -> String {
    let below = path.strip_prefix(&start.real).unwrap_or(path);
    let joined = match start.shown.as_str() {
        folder if below.as_os_str().is_empty() => PathBuf::from(folder),
        "" | "." => below.to_path_buf(),
        folder => Path::new(folder).join(below),
    };
    let text = joined.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

/// Counts by folder just below the start, for results that are cut: a cut must not hide that
/// there is something elsewhere.
#[derive(Debug, Default)]
pub(super) struct ByFolder(BTreeMap<String, u64>);

impl ByFolder {
    /// Counts for a file's folder; `below` is the file's path relative to the start.
    pub(super) fn count(&mut self, below: &Path, count: u64) {
        let mut names = below.components();
        let first = names.next().map(|name| name.as_os_str().to_string_lossy());
        let folder = first.filter(|_| names.next().is_some()).unwrap_or_else(|| ".".into());
        if let Some(sum) = self.0.get_mut(folder.as_ref()) {
            *sum += count;
        } else {
            self.0.insert(folder.into_owned(), count);
        }
    }

    /// Takes in another thread's counts.
    pub(super) fn add(&mut self, other: Self) {
        for (folder, count) in other.0 {
            *self.0.entry(folder).or_default() += count;
        }
    }

    /// `src 120, docs 3`, largest first.
    pub(super) fn text(&self) -> String {
        let mut folders: Vec<_> = self.0.iter().collect();
        folders.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let rest = folders.len().saturating_sub(MAX_FOLDERS);
        let named = folders.iter().take(MAX_FOLDERS);
        let mut parts: Vec<_> =
            named.map(|(folder, count)| format!("{} {count}", folder.escape_debug())).collect();
        if rest > 0 {
            parts.push(format!("and {rest} more folders"));
        }
        parts.join(", ")
    }
}
