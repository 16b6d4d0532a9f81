//! The contents of the last look: one file without a name, which goes with the process however it
//! ends. What a change replaced is copied from here to its place beside the session.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW};

use super::changes::Place;

/// See the module. Several threads add to it at once.
pub(super) struct Pack {
    file: File,
    end: AtomicU64,
}

impl Pack {
    /// An empty one in this folder, which is made if it does not exist.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { file: tempfile::tempfile_in(folder)?, end: AtomicU64::new(0) })
    }

    /// Bytes in it.
    pub(super) fn size(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, content: &[u8]) -> io::Result<Place> {
        let at = self.end.fetch_add(content.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(content, at)?;
        Ok(Place { at, len: content.len() })
    }

    pub(super) fn get(&self, place: Place) -> io::Result<Vec<u8>> {
        let mut content = vec![0; place.len];
        self.file.read_exact_at(&mut content, place.at)?;
        Ok(content)
    }

    /// The file system's own time, in nanoseconds: what a file that changed now would carry.
    pub(super) fn now(&self) -> io::Result<i128> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let both = Timestamps { last_access: now, last_modification: now };
        rustix::fs::futimens(&self.file, &both)?;
        let meta = self.file.metadata()?;
        Ok(nanoseconds(meta.ctime(), meta.ctime_nsec()))
    }
}

pub(super) fn nanoseconds(seconds: i64, rest: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}
