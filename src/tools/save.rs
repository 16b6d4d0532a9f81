//! How a file is changed: read it whole, check that the model knows it, announce the change, put
//! the new version in its place.
//!
//! The new content goes to a temporary file in the same folder and is renamed, so that no reader
//! ever sees half of it. The change is announced before that file is made, so that the log says
//! where one may lie if this program is killed at this moment (see `session::leftovers`). All of it
//! goes through the folder's descriptor (see [`super::beneath`]). What exists is replaced only if it
//! is still what was read; what did not exist is only created, never overwritten. Kept: permission
//! bits, owner and group (where the system allows), access lists and user attributes, the link that
//! led here. Lost, and said: further hard links.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::Path;

use super::ToolContext;
use super::beneath::{Entry, Folder, Temporary, is_link, told};
use super::paths::{self, Resolved};
use super::text::{self, EDIT_LIMIT};
use crate::event::{FileChange, FileSeen, LINK_MODE};
use crate::hash;

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
    file: File,
    entry: Entry,
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
    let Some((file, entry)) = paths::open_regular(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    (&file)
        .take(EDIT_LIMIT as u64 + 1)
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
    Ok(Some(OnDisk { bytes, sha256, file, entry }))
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
    let (above, name) = split(&path.real).map_err(|error| failed(format!("{error}.")))?;
    let no_folder = |error| failed(folder_error(above, &error));
    let (folder, made) = Folder::make(above).map_err(no_folder)?;
    if let Some(before) = before {
        require_writable(path, before, folder.may_write(name))?;
    }
    if context.cancelled() {
        return Err(failed("the user interrupted.".to_owned()));
    }
    let change = FileChange {
        call_id: context.call_id.to_owned(),
        path: path.key(),
        before: before.map(|before| before.sha256.clone()),
        after: hash::sha256(after),
        mode: before.map(|before| before.entry.mode()),
        ..FileChange::default()
    };
    let seen = FileSeen { path: change.path.clone(), sha256: change.after.clone() };
    let journal = context.journal.file_change(change, before.map(|before| &*before.bytes));
    journal.map_err(|why| failed(format!("the session log could not be written: {why}")))?;
    let (file, notes) =
        write_temporary(context.session_id, &folder, before, after).map_err(no_folder)?;
    swap_in(file, &folder, name, before).map_err(failed)?;
    made.keep();
    Ok(Saved { seen, notes })
}

/// What lies at a path, and the folder that it is in.
pub struct Spot<'a> {
    /// The folder, held open.
    pub folder: Folder,
    /// The name in it.
    pub name: &'a OsStr,
    /// What the system says of it.
    pub entry: Entry,
}

impl Spot<'_> {
    /// The mode as [`FileChange`] has it.
    pub fn mode(&self) -> u32 {
        if self.entry.kind().is_symlink() { LINK_MODE } else { self.entry.mode() }
    }
}

/// What lies at exactly this path, no link on the way followed; none where there is nothing.
pub fn lies_at(path: &Path) -> io::Result<Option<Spot<'_>>> {
    let (above, name) = split(path)?;
    let found = Folder::open(above).and_then(|folder| {
        let entry = folder.entry(name)?;
        Ok(entry.map(|entry| Spot { folder, name, entry }))
    });
    found.or_else(|error| if is_absence(&error) { Ok(None) } else { Err(error) })
}

fn is_absence(error: &io::Error) -> bool {
    let absent = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    absent || is_link(error)
}

/// A path's folder, and the name in it.
fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    path.parent().zip(path.file_name()).ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// Puts an earlier content and mode in the place of what is there now, or removes the file. On an
/// error the file is as it was.
pub fn put_back(
    session_id: &str,
    path: &Path,
    content: Option<&[u8]>,
    mode: Option<u32>,
) -> io::Result<()> {
    let (above, name) = split(path)?;
    let Some(content) = content else { return Folder::open(above)?.remove(name) };
    let (folder, made) = Folder::make(above)?;
    made.keep();
    if mode == Some(LINK_MODE) {
        return folder.temporary_link(session_id, OsStr::from_bytes(content))?.replace(name);
    }
    let (place, mut file) = folder.temporary_file(session_id, 0o600)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode.unwrap_or(0o644)))?;
    file.sync_all()?;
    place.replace(name)
}

/// Gives a file these permission bits.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let (folder, name) = Folder::of(path)?;
    folder.read(name)?.set_permissions(Permissions::from_mode(mode))
}

/// A read-only file is somebody's wish; a rename would walk over it.
fn require_writable(path: &Resolved, before: &OnDisk, allowed: bool) -> Result<(), String> {
    let mode = before.entry.mode();
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
    format!("cannot write in the folder `{}`: {}.", folder.display(), told(error))
}

/// Writes the new version beside the old one, with the old one's owner and mode.
fn write_temporary<'a>(
    session_id: &str,
    folder: &'a Folder,
    before: Option<&OnDisk>,
    after: &[u8],
) -> io::Result<(Temporary<'a>, Vec<String>)> {
    // A new file gets what the umask leaves; a replacement stays private until it has its mode.
    let first_mode = if before.is_some() { 0o600 } else { 0o666 };
    let (place, mut file) = folder.temporary_file(session_id, first_mode)?;
    file.write_all(after)?;
    let notes = match before {
        Some(before) => keep_attributes(&file, before)?,
        None => Vec::new(),
    };
    file.sync_all()?;
    Ok((place, notes))
}

fn keep_attributes(file: &File, before: &OnDisk) -> io::Result<Vec<String>> {
    let mut notes = Vec::new();
    let old = &before.entry;
    let mut mode = old.mode();
    let (user, group) = old.owner();
    let other_owner = Entry::of(file)?.owner() != (user, group);
    if other_owner && fchown(file, Some(user), Some(group)).is_err() {
        mode &= 0o777; // set-user-ID must not pass to another owner
        notes.push(format!("Its owner was {user}:{group}, which could not be kept."));
    }
    file.set_permissions(Permissions::from_mode(mode))?;
    if !copy_extended(&before.file, file) {
        notes.push("Some of its extended attributes or access lists could not be kept.".into());
    }
    if old.links() > 1 {
        let links = old.links();
        notes.push(format!("It had {links} hard links; the other names keep the old content."));
    }
    Ok(notes)
}

/// Copies access lists and user attributes; false if one of them could not be. Those of the security
/// modules are not ours to set, and file capabilities must not survive a change of content.
fn copy_extended(from: &File, to: &File) -> bool {
    let mut names = vec![0; ATTRIBUTE_BYTES];
    let length = match rustix::fs::flistxattr(from, names.as_mut_slice()) {
        Ok(length) => length,
        Err(error) => return error == rustix::io::Errno::NOTSUP,
    };
    names.truncate(length);
    let ours = |name: &&[u8]| name.starts_with(b"user.") || *name == b"system.posix_acl_access";
    let mut value = vec![0; ATTRIBUTE_BYTES];
    let mut copy = |name: &[u8]| {
        let length = rustix::fs::fgetxattr(from, name, value.as_mut_slice())?;
        let value = value.get(..length).unwrap_or_default();
        rustix::fs::fsetxattr(to, name, value, rustix::fs::XattrFlags::empty())
    };
    let failed = names.split(|&byte| byte == 0).filter(ours).filter(|name| copy(name).is_err());
    failed.count() == 0
}

/// The rename, guarded against whatever happened to the target meanwhile.
fn swap_in(
    file: Temporary<'_>,
    folder: &Folder,
    name: &OsStr,
    before: Option<&OnDisk>,
) -> Result<(), String> {
    let stale = "it was changed by somebody else at this very moment. Read it again.";
    let placed = match before {
        Some(before) => {
            let now = folder.entry(name).ok().flatten();
            if now.is_none_or(|now| now.stamp() != before.entry.stamp()) {
                return Err(stale.to_owned());
            }
            file.replace(name)
        }
        None => file.create(name),
    };
    placed.map_err(|error| {
        let taken = error.kind() == io::ErrorKind::AlreadyExists;
        if taken { stale.to_owned() } else { format!("{error}.") }
    })
}
