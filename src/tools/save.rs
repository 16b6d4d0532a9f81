//! How a file is changed: read it whole, check that the model knows it, announce the change, put
//! the new version in its place.
//!
//! The new content goes to a temporary file in the same folder and is renamed, so that no reader
//! ever sees half of it. The change is announced before that file is made, so that the log says
//! where one may lie if this program is killed at this moment (see [`leftovers`]). What exists is replaced only if it is still what was read; what did not
//! exist is only created, never overwritten. Kept: permission bits, owner and group (where the
//! system allows), access lists and user attributes, the link that led here. Lost, and said: further
//! hard links.

use crate::hash;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::ToolContext;
use super::paths::{self, Resolved};
use super::text::{self, EDIT_LIMIT};
use crate::event::{FileChange, FileSeen};
use crate::session::leftovers;

/// In [`FileSeen`], the hash of a file that was found missing: it may be created again.
pub const ABSENT: &str = "";
/// Bytes of extended attributes (their names, and each value) that are copied.
const ATTRIBUTE_BYTES: usize = 64 * 1024;

/// A file's content as it was found.
#[derive(Debug)]
pub struct OnDisk {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Its SHA-256, lower-case hex.
    pub sha256: String,
    meta: Metadata,
}

/// What came of a change.
#[derive(Debug)]
pub struct Saved {
    /// The new version.
    pub seen: FileSeen,
    /// What could not be kept, as sentences.
    pub notes: Vec<String>,
}

/// Reads the whole of a file that is to be changed; `None` when there is none.
pub fn load(path: &Resolved) -> Result<Option<OnDisk>, String> {
    let Some((file, meta)) = paths::open_regular(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(EDIT_LIMIT as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("`{}` cannot be read: {error}.", path.shown))?;
    if bytes.len() > EDIT_LIMIT {
        return Err(format!(
            "`{}` is larger than {} and cannot be changed here. Use `shell` (sed, a script).",
            path.shown,
            text::size(EDIT_LIMIT as u64)
        ));
    }
    let sha256 = hash::sha256(&bytes);
    Ok(Some(OnDisk { bytes, sha256, meta }))
}

/// Refuses a change to a file that the model has not seen as it is now.
pub fn require_known(
    context: &ToolContext<'_>,
    path: &Resolved,
    now: Option<&OnDisk>,
) -> Result<(), String> {
    let known = context.known.get(Path::new(&path.key())).map(String::as_str);
    let shown = &path.shown;
    match (known, now) {
        (None | Some(ABSENT), None) => Ok(()),
        (Some(known), Some(now)) if known == now.sha256 => Ok(()),
        (None, Some(_)) => Err(format!(
            "`{shown}` exists and was not read in this session. Nothing was changed. Read it first."
        )),
        (Some(ABSENT), Some(_)) => Err(format!(
            "`{shown}` did not exist when last looked at, but does now. Nothing was changed. Read it \
             first."
        )),
        (Some(_), Some(_)) => Err(format!(
            "`{shown}` has changed since it was last read. Nothing was changed. Read it again, then \
             repeat the change on what is there now."
        )),
        (Some(_), None) => Err(format!(
            "`{shown}` was deleted or moved since it was last read. Nothing was changed. Read it \
             again to make sure; after that it can be created anew."
        )),
    }
}

/// Puts `after` in the place of `before`. On an error the file is as it was, and nothing is left
/// behind.
pub fn commit(
    context: &ToolContext<'_>,
    path: &Resolved,
    before: Option<&OnDisk>,
    after: &[u8],
) -> Result<Saved, String> {
    let failed = |why: String| format!("`{}` was not changed: {why}", path.shown);
    if let Some(before) = before {
        require_writable(path, before)?;
    }
    let folder = path.real.parent().unwrap_or(Path::new("/"));
    let made = Folders::create(folder).map_err(|error| failed(folder_error(folder, &error)))?;
    if context.cancelled() {
        return Err(failed("the user interrupted.".to_owned()));
    }
    let change = FileChange {
        call_id: context.call_id.to_owned(),
        path: path.key(),
        before: before.map(|before| before.sha256.clone()),
        after: hash::sha256(after),
        mode: before.map(|before| before.meta.mode() & 0o7777),
    };
    let seen = FileSeen { path: change.path.clone(), sha256: change.after.clone() };
    let journal = context.journal.file_change(change, before.map(|before| &*before.bytes));
    journal.map_err(|why| failed(format!("the session log could not be written: {why}")))?;
    let written = write_temporary(context.session_id, &path.real, before, after);
    let (file, notes) = written.map_err(|error| failed(folder_error(folder, &error)))?;
    swap_in(file, &path.real, before).map_err(failed)?;
    made.keep();
    Ok(Saved { seen, notes })
}

/// Puts an earlier content and mode in the place of what is there now, or removes the file. On an
/// error the file is as it was.
pub fn put_back(
    session_id: &str,
    path: &Path,
    content: Option<&[u8]>,
    mode: Option<u32>,
) -> io::Result<()> {
    let Some(content) = content else { return fs::remove_file(path) };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    let mut file = temporary(session_id, path, 0o600)?;
    file.write_all(content)?;
    file.as_file().set_permissions(Permissions::from_mode(mode.unwrap_or(0o644)))?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// A read-only file is somebody's wish; a rename would walk over it.
fn require_writable(path: &Resolved, before: &OnDisk) -> Result<(), String> {
    let mode = before.meta.mode() & 0o7777;
    let allowed = rustix::fs::access(&path.real, rustix::fs::Access::WRITE_OK).is_ok();
    if mode & 0o222 != 0 && allowed {
        return Ok(());
    }
    Err(format!(
        "`{}` is read-only (mode {mode:04o}). Nothing was changed. If it really should change, make \
         it writable first (`chmod u+w`), or ask the user.",
        path.shown
    ))
}

fn folder_error(folder: &Path, error: &io::Error) -> String {
    format!("cannot write in the folder `{}`: {error}.", folder.display())
}

/// Writes the new version beside the old one, with the old one's owner and mode.
fn write_temporary(
    session_id: &str,
    target: &Path,
    before: Option<&OnDisk>,
    after: &[u8],
) -> io::Result<(NamedTempFile, Vec<String>)> {
    // A new file gets what the umask leaves; a replacement stays private until it has its mode.
    let first_mode = if before.is_some() { 0o600 } else { 0o666 };
    let mut file = temporary(session_id, target, first_mode)?;
    file.write_all(after)?;
    let notes = match before {
        Some(before) => keep_attributes(target, file.as_file(), &before.meta)?,
        None => Vec::new(),
    };
    file.as_file().sync_all()?;
    Ok((file, notes))
}

/// An empty file beside another, under a name by which it is known if it is left behind.
fn temporary(session_id: &str, target: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let prefix = leftovers::temporary_prefix(session_id);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(leftovers::TEMPORARY_SUFFIX);
    let folder = target.parent().unwrap_or(Path::new("/"));
    builder.permissions(Permissions::from_mode(mode)).tempfile_in(folder)
}

fn keep_attributes(target: &Path, file: &File, old: &Metadata) -> io::Result<Vec<String>> {
    let mut notes = Vec::new();
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o7777;
    let other_owner = (new.uid(), new.gid()) != (old.uid(), old.gid());
    if other_owner && fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        mode &= 0o777; // set-user-ID must not pass to another owner
        notes.push(format!("Its owner was {}:{}, which could not be kept.", old.uid(), old.gid()));
    }
    file.set_permissions(Permissions::from_mode(mode))?;
    if !copy_extended(target, file) {
        notes.push("Some of its extended attributes or access lists could not be kept.".into());
    }
    if old.nlink() > 1 {
        notes.push(format!(
            "It had {} hard links; the other names keep the old content.",
            old.nlink()
        ));
    }
    Ok(notes)
}

/// Copies access lists and user attributes; false if one of them could not be. Those of the security
/// modules are not ours to set, and file capabilities must not survive a change of content.
fn copy_extended(from: &Path, to: &File) -> bool {
    let mut names = vec![0; ATTRIBUTE_BYTES];
    let length = match rustix::fs::listxattr(from, names.as_mut_slice()) {
        Ok(length) => length,
        Err(error) => return error == rustix::io::Errno::NOTSUP,
    };
    names.truncate(length);
    let ours = |name: &&[u8]| name.starts_with(b"user.") || *name == b"system.posix_acl_access";
    let mut value = vec![0; ATTRIBUTE_BYTES];
    let mut copy = |name: &[u8]| {
        let length = rustix::fs::getxattr(from, name, value.as_mut_slice())?;
        let value = value.get(..length).unwrap_or_default();
        rustix::fs::fsetxattr(to, name, value, rustix::fs::XattrFlags::empty())
    };
    let failed = names.split(|&byte| byte == 0).filter(ours).filter(|name| copy(name).is_err());
    failed.count() == 0
}

/// The rename, guarded against whatever happened to the target meanwhile.
fn swap_in(file: NamedTempFile, target: &Path, before: Option<&OnDisk>) -> Result<(), String> {
    let stale = "it was changed by somebody else at this very moment. Read it again.";
    let persisted = match before {
        Some(before) => {
            let now = fs::symlink_metadata(target).ok();
            if now.is_none_or(|now| stamp(&now) != stamp(&before.meta)) {
                return Err(stale.to_owned());
            }
            file.persist(target)
        }
        None => file.persist_noclobber(target),
    };
    match persisted {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Err(stale.to_owned()),
        Err(failed) => Err(format!("{}.", failed.error)),
    }
}

/// What changes when a file's content does.
fn stamp(meta: &Metadata) -> [i128; 7] {
    [
        meta.dev().into(),
        meta.ino().into(),
        meta.size().into(),
        meta.mtime().into(),
        meta.mtime_nsec().into(),
        meta.ctime().into(),
        meta.ctime_nsec().into(),
    ]
}

/// Folders made for a new file; those that are still empty go again unless the file came to be.
struct Folders(Vec<PathBuf>);

impl Folders {
    fn create(folder: &Path) -> io::Result<Self> {
        let missing = folder.ancestors().take_while(|path| !path.exists());
        let made = Self(missing.map(Path::to_owned).collect());
        fs::create_dir_all(folder)?;
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // Not empty or already gone: then it is somebody else's by now.
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests;
