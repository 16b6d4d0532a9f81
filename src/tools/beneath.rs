//! Files by descriptor: what was judged is what is opened.
//!
//! A path that passed the guard (see [`super::paths`]) has no link in it. Here it is opened so that
//! the kernel follows none either, in no component: somebody who swaps a folder for a link between
//! the judgement and the opening gets an error. What is done in a folder (looking, reading, making,
//! renaming, removing) is done through its descriptor, so that a swap in the midst of it moves nothing.
//!
//! Paths are opened from the top of the file system and not from a descriptor of the workspace that
//! is held open: without links both end in the same place, and a workspace that the user replaces (a
//! new clone under the old name) goes on working.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{
    self, Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat,
};
use rustix::io::Errno;

use crate::session::{clock, leftovers};

/// How many names are tried for a temporary file.
const MAX_NAMES: u32 = 100;

/// A folder that is held open.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// What lies under a name: what the system says of it.
#[derive(Clone, Copy, Debug)]
pub struct Entry(Stat);

/// Something in a folder under a passing name, which goes again unless it gets its place.
#[derive(Debug)]
pub struct Temporary<'a> {
    folder: &'a Folder,
    name: String,
    placed: bool,
}

/// Folders made on the way to a file, the deepest last; those that are still empty go again unless
/// they are kept.
#[derive(Debug, Default)]
pub struct Made(Vec<(Folder, OsString)>);

/// Opens a file for reading. A pipe does not block; a link anywhere is an error ([`is_link`]).
pub fn open_file(path: &Path) -> io::Result<File> {
    Ok(File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?))
}

/// Opens a folder to read its names.
pub fn list(path: &Path) -> io::Result<Dir> {
    Ok(Dir::new(open(path, OFlags::RDONLY | OFlags::DIRECTORY)?)?)
}

/// Whether there is nothing of this name, links on the way followed.
pub fn is_absent(path: &Path) -> bool {
    let missing = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    std::fs::symlink_metadata(path).is_err_and(|error| missing.contains(&error.kind()))
}

/// Whether an opening failed because a link lies on the way.
pub fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// The error in words: the system's word for a link that was not followed is misleading.
pub fn told(error: &io::Error) -> String {
    if is_link(error) { "a link lies on the way there".to_owned() } else { error.to_string() }
}

impl Folder {
    /// Opens a folder; its path must be absolute and hold no links.
    pub fn open(path: &Path) -> io::Result<Self> {
        open(path, step()).map(Self)
    }

    /// The folder of a path, and the name in it.
    pub fn of(path: &Path) -> io::Result<(Self, &OsStr)> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        Ok((Self::open(folder)?, name))
    }

    /// Opens a folder and makes it, and what is missing above it, where it does not exist.
    pub fn make(path: &Path) -> io::Result<(Self, Made)> {
        match (Self::open(path), path.parent().zip(path.file_name())) {
            (Err(error), Some((above, name))) if error.kind() == io::ErrorKind::NotFound => {
                let (above, mut made) = Self::make(above)?;
                match fs::mkdirat(&above.0, name, Mode::from_raw_mode(0o777)) {
                    Err(Errno::EXIST) => {}
                    done => done?,
                }
                let folder = above.folder(name)?;
                made.0.push((above, name.to_owned()));
                Ok((folder, made))
            }
            (opened, _) => Ok((opened?, Made::default())),
        }
    }

    /// Opens a folder in it.
    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(fs::openat(&self.0, name, step(), Mode::empty())?))
    }

    /// Lets its owner do everything in it.
    pub fn open_up(&self) -> io::Result<()> {
        let mode = Mode::from_raw_mode(fs::fstat(&self.0)?.st_mode) | Mode::RWXU;
        // A folder that was opened without the right to read it can be changed only by way of its name.
        let path = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        Ok(fs::fchmod(&self.0, mode).or_else(|_| fs::chmod(path, mode))?)
    }

    /// What lies under a name, a link being a link; none where there is nothing.
    pub fn entry(&self, name: &OsStr) -> io::Result<Option<Entry>> {
        match fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Entry(stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a file for reading, as [`open_file`] does.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Where a link says it leads.
    pub fn link_target(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Whether the system lets us write to what lies there.
    pub fn may_write(&self, name: &OsStr) -> bool {
        fs::accessat(&self.0, name, Access::WRITE_OK, AtFlags::empty()).is_ok()
    }

    /// Moves what lies under a name into another folder, where nothing may have the new name.
    pub fn move_to(&self, name: &OsStr, folder: &Self, new: &OsStr) -> io::Result<()> {
        if folder.entry(new)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(fs::renameat(&self.0, name, &folder.0, new)?)
    }

    /// Makes a link.
    pub fn link(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        Ok(fs::symlinkat(target, &self.0, name)?)
    }

    /// Removes a file or link.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// A new empty file under a name by which it is known if it is left behind.
    pub fn temporary_file(&self, session_id: &str, mode: u32) -> io::Result<(Temporary<'_>, File)> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        self.temporary(session_id, |name| {
            fs::openat(&self.0, name, flags | OFlags::CLOEXEC, Mode::from_raw_mode(mode))
                .map(File::from)
        })
    }

    /// The same with a link.
    pub fn temporary_link(&self, session_id: &str, target: &OsStr) -> io::Result<Temporary<'_>> {
        let made = self.temporary(session_id, |name| fs::symlinkat(target, &self.0, name));
        made.map(|(link, ())| link)
    }

    fn temporary<T>(
        &self,
        session_id: &str,
        make: impl Fn(&str) -> rustix::io::Result<T>,
    ) -> io::Result<(Temporary<'_>, T)> {
        let (prefix, suffix) =
            (leftovers::temporary_prefix(session_id), leftovers::TEMPORARY_SUFFIX);
        for _ in 0..MAX_NAMES {
            let name = format!("{prefix}{:08x}{suffix}", clock::random() & 0xffff_ffff);
            match make(&name) {
                Err(Errno::EXIST) => {}
                made => return Ok((Temporary { folder: self, name, placed: false }, made?)),
            }
        }
        Err(Errno::EXIST.into())
    }
}

impl Entry {
    /// What an open file is.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self(fs::fstat(file)?))
    }

    /// Regular file, folder, link …
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.0.st_mode)
    }

    /// Its size in bytes.
    pub fn len(&self) -> u64 {
        u64::try_from(self.0.st_size).unwrap_or_default()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The permission bits.
    pub fn mode(&self) -> u32 {
        u32::try_from(i64::from(self.0.st_mode) & 0o7777).unwrap_or_default()
    }

    /// User and group.
    pub fn owner(&self) -> (u32, u32) {
        (self.0.st_uid, self.0.st_gid)
    }

    /// How many names it has.
    pub fn links(&self) -> u64 {
        self.0.st_nlink
    }

    /// What changes when its content does.
    pub fn stamp(&self) -> [i128; 7] {
        let stat = &self.0;
        [
            stat.st_dev.into(),
            stat.st_ino.into(),
            stat.st_size.into(),
            stat.st_mtime.into(),
            stat.st_mtime_nsec.into(),
            stat.st_ctime.into(),
            stat.st_ctime_nsec.into(),
        ]
    }
}

impl Temporary<'_> {
    /// Gives it its name, in place of what may lie there.
    pub fn replace(mut self, name: &OsStr) -> io::Result<()> {
        fs::renameat(&self.folder.0, &self.name, &self.folder.0, name)?;
        self.placed = true;
        Ok(())
    }

    /// Gives it its name if nothing lies there.
    pub fn create(mut self, name: &OsStr) -> io::Result<()> {
        let folder = &self.folder.0;
        match fs::renameat_with(folder, &self.name, folder, name, RenameFlags::NOREPLACE) {
            // Not every file system can; a second name is as good, and the first goes with `self`.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                Ok(fs::linkat(folder, &self.name, folder, name, AtFlags::empty())?)
            }
            done => {
                done?;
                self.placed = true;
                Ok(())
            }
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // If it cannot be removed now, the next run does (see `session::leftovers`).
            let _ = self.folder.remove(OsStr::new(&self.name));
        }
    }
}

impl Made {
    /// They stay.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for (above, name) in self.0.iter().rev() {
            // Not empty or already gone: then it is somebody else's by now.
            let _ = fs::unlinkat(&above.0, name, AtFlags::REMOVEDIR);
        }
    }
}

/// How a folder is opened to go on from it. On Linux that needs no permission to read it.
fn step() -> OFlags {
    #[cfg(target_os = "linux")]
    let look = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let look = OFlags::RDONLY;
    look | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Opens what lies at exactly this absolute path, following no link.
fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Err(Errno::INVAL.into());
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
            // An old kernel, or a container that forbids the call; or no folder, which may be a link.
            Err(Errno::NOSYS | Errno::PERM | Errno::NOTDIR) => {}
            done => return Ok(done?),
        }
    }
    open_on_foot(path, flags)
}

/// The same, one component after the other.
fn open_on_foot(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut at = fs::openat(CWD, "/", step(), Mode::empty())?;
    let mut parts = path.components().skip(1).peekable();
    if parts.peek().is_none() {
        return Ok(fs::openat(&at, ".", flags, Mode::empty())?);
    }
    while let Some(part) = parts.next() {
        let name = part.as_os_str();
        let last = parts.peek().is_none();
        let how = if last { flags } else { step() };
        at = match fs::openat(&at, name, how, Mode::empty()) {
            // What a link is called where a folder is asked for.
            Err(Errno::NOTDIR) if is_link_at(&at, name) => return Err(Errno::LOOP.into()),
            opened => opened?,
        };
    }
    Ok(at)
}

fn is_link_at(folder: &OwnedFd, name: &OsStr) -> bool {
    let stat = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink())
}

#[cfg(test)]
mod tests;
