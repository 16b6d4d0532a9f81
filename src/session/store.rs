//! Where sessions live, and how one is found again.
//!
//! A workspace keeps its sessions in `.xsh/sessions`; where that cannot be written they go to the
//! user's state folder, under a name made from the workspace's path. A file `latest` names the
//! session that was used last: file times are not trusted where it can be helped, and starting must
//! not scan. A list of workspaces in the state folder lets a session be found from elsewhere.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Access, access};
use tokio_util::sync::CancellationToken;
use walkdir::WalkDir;

use super::log::{self, Log};
use super::origin::{self, Origin};
use super::search::{Found, Query};
use super::state::State;
use super::{Session, clock, leftovers};
use crate::client::profile::Profile;
use crate::error::Error;
use crate::event::{Event, FORMAT_VERSION, Header, Record};
use crate::hash;

/// How much of a file is read to find its title.
const TITLE_WINDOW: u64 = 128 << 10;
/// How the first line of a session begins.
const HEADER_BEGINS: &str = "{\"type\":\"session\"";

/// The sessions of one workspace.
#[derive(Clone, Debug)]
pub struct Store {
    /// Where they are; none when nothing is saved.
    folder: Option<PathBuf>,
    /// Further folders that may hold sessions of this workspace.
    also: Vec<PathBuf>,
    /// The user's state folder.
    state_home: Option<PathBuf>,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The id.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// Bytes.
    pub size: u64,
    /// RFC 3339.
    pub created_at: String,
    /// The workspace.
    pub cwd: String,
    /// The first message, in one line.
    pub title: String,
    /// Who wrote it.
    pub origin: Origin,
}

/// The newest sessions, and how many files are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Newest first.
    pub sessions: Vec<Listed>,
    /// Files that are no session that this version can read.
    pub unreadable: usize,
    /// Files beyond the limit, not looked at.
    pub older: usize,
}

impl Store {
    /// The store of a workspace, and a warning when nothing can be saved. Touches nothing.
    pub fn open(workspace: &Path, state_home: Option<&Path>, save: bool) -> (Self, Option<String>) {
        let own = workspace.join(".xsh").join("sessions");
        let fallback = state_home.map(|home| home.join("sessions").join(folder_name(workspace)));
        let mut store = Self {
            folder: None,
            also: fallback.clone().into_iter().collect(),
            state_home: state_home.map(Path::to_owned),
        };
        if !save {
            store.also.push(own);
            return (store, None);
        }
        let inside = Some(own.clone()).filter(|own| !is_linked(workspace, own));
        let candidates = [inside, fallback];
        store.folder = candidates.into_iter().flatten().find(|folder| can_hold(folder));
        if store.folder.as_ref() != Some(&own) {
            store.also.push(own);
        }
        let warning = store.folder.is_none().then(|| {
            "nothing can be saved: neither the workspace nor the state folder is writable; this \
             session cannot be resumed"
                .to_owned()
        });
        (store, warning)
    }

    /// Where new sessions go; none when nothing is saved.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// A new session; its file is made with its first event.
    pub fn create(&self, workspace: &Path, profile: &Profile) -> Session {
        let header = Header {
            kind: "session".to_owned(),
            version: FORMAT_VERSION,
            id: clock::session_id(),
            created_at: clock::now(),
            cwd: workspace.display().to_string(),
            xsh: env!("CARGO_PKG_VERSION").to_owned(),
            forked_from: None,
            mark: None,
        };
        let log = match &self.folder {
            None => Log::Unsaved,
            Some(folder) => Log::Planned {
                path: folder.join(format!("{}.jsonl", header.id)),
                header: header.clone(),
                refuge: self.refuge().map(Path::to_owned),
            },
        };
        Session::new(header, State::new(profile), log).with_refuge(self.refuge())
    }

    /// The folder of the user's that takes this workspace's sessions where it is gone itself.
    pub fn refuge(&self) -> Option<&Path> {
        self.state_home.as_ref().and_then(|_| self.also.first()).map(PathBuf::as_path)
    }

    /// The folder that a session works in: the recorded one. Where that is gone and the session
    /// lies in this workspace, the folder was moved or renamed, and it is this one; and it is this
    /// one for a session that is not surely the user's own, whose file must not choose where
    /// commands write.
    pub fn home(&self, session: &Path, header: &Header, workspace: &Path) -> PathBuf {
        let recorded = PathBuf::from(&header.cwd);
        let moved = !recorded.is_dir() && self.holds(session);
        let own = self.origin(session, header) == Origin::Own;
        if moved || !own { workspace.to_owned() } else { recorded }
    }

    fn holds(&self, session: &Path) -> bool {
        let folder = session.parent().and_then(|folder| fs::canonicalize(folder).ok());
        folder.is_some_and(|folder| {
            self.folders().any(|own| fs::canonicalize(own).is_ok_and(|own| own == folder))
        })
    }

    /// Who wrote a session.
    pub fn origin(&self, path: &Path, header: &Header) -> Origin {
        origin::of(path, header, self.refuge())
    }

    /// The file of a session by id, unique beginning of an id, or path; none = the one used last,
    /// other than `except`.
    pub fn find(&self, id: Option<&str>, except: Option<&str>) -> Result<PathBuf, Error> {
        match id {
            None => self.latest(except),
            Some(id) if id.contains('/') || is_session_file(Path::new(id)) => Ok(PathBuf::from(id)),
            Some(id) => self.by_id(id),
        }
    }

    fn latest(&self, except: Option<&str>) -> Result<PathBuf, Error> {
        let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
        for folder in self.folders() {
            let named = fs::read_to_string(folder.join("latest")).unwrap_or_default();
            let path = folder.join(format!("{}.jsonl", named.trim()));
            let is_other = Some(named.trim()) != except && is_plain_id(named.trim());
            if is_other && path.is_file() && has_first_line(&path) {
                return Ok(path);
            }
            found.extend(files_in(folder).into_iter().map(|path| (modified(&path), path)));
        }
        found.sort();
        let stem_is = |path: &Path| path.file_stem().and_then(|s| s.to_str()) == except;
        let usable = |path: &PathBuf| !stem_is(path) && has_first_line(path);
        found.into_iter().rev().map(|(_, path)| path).find(usable).ok_or_else(|| {
            Error::usage("nothing to resume", "there is no saved session of this workspace").help(
                "start one with `xsh`; `xsh sessions list --all` shows those of other folders",
            )
        })
    }

    fn by_id(&self, id: &str) -> Result<PathBuf, Error> {
        let mut found = matching(self.folders().map(Path::to_owned), id);
        if found.is_empty() {
            found = matching(self.other_folders().into_iter(), id);
        }
        found.dedup();
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(Error::usage(format!("no such session: {id}"), "")
                .help("`xsh sessions list --all` shows the sessions there are")),
            several => {
                let ids: Vec<_> =
                    several.iter().take(5).filter_map(|path| path.file_stem()?.to_str()).collect();
                Err(Error::usage(format!("{id} fits {} sessions", several.len()), ids.join(", "))
                    .help("give more of the id"))
            }
        }
    }

    /// The folders with sessions of this workspace.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folder.iter().chain(&self.also).map(PathBuf::as_path)
    }

    /// The folders with sessions of this user's other workspaces.
    fn other_folders(&self) -> Vec<PathBuf> {
        let Some(home) = &self.state_home else { return Vec::new() };
        let indexed = entries(&home.join("workspaces"))
            .filter_map(|entry| fs::read_to_string(entry).ok())
            .map(|workspace| Path::new(workspace.trim_end()).join(".xsh").join("sessions"));
        indexed.chain(entries(&home.join("sessions"))).collect()
    }

    /// Sessions, the newest first, at most `limit`; of all workspaces of this user if `all`. Reads
    /// file times of all, and the beginning of those it returns.
    pub fn list(&self, all: bool, limit: usize, stop: &CancellationToken) -> Listing {
        self.folders().for_each(leftovers::sweep);
        let mut listing = Listing::default();
        for (modified, path) in self.files(all).into_iter().take_while(|_| !stop.is_cancelled()) {
            if listing.sessions.len() == limit {
                listing.older += 1;
            } else if is_half_made(&path) {
                // It holds nothing.
            } else if let Some(session) = self.listed(path, modified) {
                listing.sessions.push(session);
            } else {
                listing.unreadable += 1;
            }
        }
        listing
    }

    /// Sessions that hold the words, the newest first, at most `limit`, with where they do; those
    /// found so far when `stop` comes.
    pub fn search(
        &self,
        query: &Query,
        all: bool,
        limit: usize,
        stop: &CancellationToken,
    ) -> Vec<(Listed, Found)> {
        let files = self.files(all).into_iter().take_while(|_| !stop.is_cancelled());
        let found = files.filter_map(|(modified, path)| {
            let found = query.search(&path, stop)?;
            Some((self.listed(path, modified)?, found))
        });
        found.take(limit).collect()
    }

    fn listed(&self, path: PathBuf, modified: SystemTime) -> Option<Listed> {
        let header = log::read_header(&path).ok()?;
        Some(Listed {
            origin: self.origin(&path, &header),
            id: header.id,
            size: fs::metadata(&path).map_or(0, |meta| meta.len()),
            created_at: header.created_at,
            cwd: header.cwd,
            title: title(&path).unwrap_or_default(),
            modified,
            path,
        })
    }

    /// The session files with their times, the newest first.
    fn files(&self, all: bool) -> Vec<(SystemTime, PathBuf)> {
        let mut folders: Vec<PathBuf> = self.folders().map(Path::to_owned).collect();
        if all {
            folders.extend(self.other_folders());
        }
        folders.sort();
        folders.dedup();
        let mut files: Vec<(SystemTime, PathBuf)> = folders
            .iter()
            .flat_map(|folder| files_in(folder))
            .map(|path| (modified(&path), path))
            .collect();
        files.sort_by(|a, b| b.cmp(a));
        files
    }
}

/// What must be there before a session file is made: the folder, and in a workspace the file that
/// keeps git away from it.
pub(super) fn prepare_folder(folder: &Path) -> std::io::Result<()> {
    log::make_private_folder(folder)?;
    let parent =
        folder.parent().filter(|parent| parent.file_name().is_some_and(|name| name == ".xsh"));
    let Some(ignore) = parent.map(|parent| parent.join(".gitignore")) else { return Ok(()) };
    if ignore.exists() { Ok(()) } else { write_private(&ignore, "*\n") }
}

/// Removes what the session that was used last left half made, if it was killed. The new session is
/// in the same folder.
pub(super) fn tidy_latest(new_session: &Path) {
    let Some(folder) = new_session.parent() else { return };
    let id = fs::read_to_string(folder.join("latest")).unwrap_or_default();
    let id = id.trim();
    if is_plain_id(id) {
        leftovers::remove_if_abandoned(&folder.join(format!("{id}.jsonl")), id);
    }
}

/// Remembers the session as the one used last. Best effort: file times stand in for it. A session
/// that lies somewhere else leaves no mark there.
pub fn note_latest(session: &Path, id: &str) {
    let among_sessions =
        |folder: &&Path| folder.ancestors().take(2).any(|place| place.ends_with("sessions"));
    if let Some(folder) = session.parent().filter(among_sessions) {
        let _ = replace(&folder.join("latest"), id);
    }
}

/// Remembers the workspace, so that its sessions are found from elsewhere. Best effort.
pub(super) fn note_workspace(refuge: &Path, cwd: &str) {
    let home = refuge.ancestors().nth(2);
    let Some((home, name)) = home.zip(refuge.file_name()) else { return };
    let index = home.join("workspaces").join(name);
    if !index.exists() {
        let _ = index.parent().map(log::make_private_folder);
        let _ = replace(&index, cwd);
    }
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // Always the same name: what a killed process leaves is used up by the next one.
    let temporary = path.with_extension("part");
    write_private(&temporary, text).and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// A folder name for a workspace: readable, and unique by a hash of the whole path.
fn folder_name(workspace: &Path) -> String {
    let name = workspace.file_name().map(|name| name.to_string_lossy().into_owned());
    let name: String = name
        .unwrap_or_else(|| "root".to_owned())
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(40)
        .collect();
    let hash = hash::sha256(workspace.as_os_str().as_encoded_bytes());
    format!("{name}-{}", hash.get(..12).unwrap_or_default())
}

/// True when a link lies on the way from the workspace to the folder. A repository can bring one
/// along, and it may lead anywhere.
fn is_linked(workspace: &Path, folder: &Path) -> bool {
    let below = folder.ancestors().take_while(|folder| *folder != workspace);
    below.into_iter().any(Path::is_symlink)
}

/// True when the folder, or the nearest one that exists above it, lets this user make files.
pub(super) fn can_hold(folder: &Path) -> bool {
    // A dangling link is in the way too.
    let existing = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok());
    existing.is_some_and(|folder| {
        folder.is_dir() && access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    })
}

fn is_session_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

fn is_plain_id(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// What lies directly in a folder; nothing where it cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let walk = WalkDir::new(folder).min_depth(1).max_depth(1);
    walk.into_iter().flatten().map(walkdir::DirEntry::into_path)
}

/// The session files of a folder. What is no regular file may never answer, so it does not count.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| match entry.file_type() {
        Ok(kind) if kind.is_symlink() => entry.path().is_file(),
        kind => kind.is_ok_and(|kind| kind.is_file()),
    });
    files.map(|entry| entry.path()).filter(|path| is_session_file(path)).collect()
}

/// False for what cannot be gone on with: there is no whole first line.
fn has_first_line(path: &Path) -> bool {
    first_line(path).is_ok_and(|line| line.ends_with(b"\n"))
}

/// True for what a session leaves that was killed while its file was made: at most a part of its
/// first line, and nothing of anybody else's.
pub(super) fn is_half_made(path: &Path) -> bool {
    let begins_alike =
        |line: &[u8]| line.iter().zip(HEADER_BEGINS.as_bytes()).all(|(found, ours)| found == ours);
    first_line(path).is_ok_and(|line| !line.ends_with(b"\n") && begins_alike(&line))
}

fn first_line(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let file = BufReader::with_capacity(4096, fs::File::open(path)?);
    file.take(TITLE_WINDOW).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn matching(folders: impl Iterator<Item = PathBuf>, id: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in folders.flat_map(|folder| files_in(&folder)) {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if stem == id {
            return vec![path];
        }
        if stem.starts_with(id) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn modified(path: &Path) -> SystemTime {
    let times = fs::metadata(path).and_then(|meta| meta.modified());
    times.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The first user message, looked for in the beginning of the file only.
fn title(path: &Path) -> Option<String> {
    let beginning = fs::File::open(path).ok()?.take(TITLE_WINDOW);
    let lines = BufReader::new(beginning).split(b'\n').skip(1).map_while(Result::ok);
    lines.filter_map(|line| Record::from_line(&line).ok()).find_map(|record| {
        let Event::UserMessage(message) = record.event else { return None };
        Some(message.content.lines().next()?.to_owned())
    })
}

#[cfg(test)]
mod tests;
