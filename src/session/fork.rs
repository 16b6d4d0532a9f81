//! A new session that begins as a copy of another one's log up to a point.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{clock, log, store};
use crate::error::Error;
use crate::event::{Header, Record};

/// Copies a log, lines before `end` only, under a new id; gives the copy's path and the old id.
/// Contents kept for undo are shared by hard links, or copied.
pub fn copy(path: &Path, end: Option<u64>) -> Result<(PathBuf, String), Error> {
    let old = log::read_header(path).map_err(|error| super::resume::cannot_resume(&error))?;
    let id = clock::session_id();
    let copy = path.with_file_name(format!("{id}.jsonl"));
    let header = Header {
        id: id.clone(),
        created_at: clock::now(),
        forked_from: Some(old.id.clone()),
        ..old.clone()
    };
    let failed = |error: std::io::Error| Error::failed("cannot fork the session", error);
    copy_log(path, &copy, &header, end).map_err(|error| {
        // Half a copy would pass for a session.
        let _ = fs::remove_file(&copy);
        failed(error)
    })?;
    let _ = share_blobs(&path.with_extension("files"), &copy.with_extension("files"));
    store::note_latest(&copy, &id);
    Ok((copy, old.id))
}

fn copy_log(from: &Path, to: &Path, header: &Header, end: Option<u64>) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let mut out = BufWriter::new(file);
    serde_json::to_writer(&mut out, header)?;
    out.write_all(b"\n")?;
    for line in BufReader::new(File::open(from)?).split(b'\n').skip(1) {
        let mut line = line?;
        let seq = Record::from_line(&line).map(|record| record.seq);
        if end.zip(seq.ok()).is_some_and(|(end, seq)| seq >= end) {
            break;
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    out.flush()
}

pub(super) fn share_blobs(from: &Path, to: &Path) -> std::io::Result<()> {
    let (from, to) = (from.join("blobs"), to.join("blobs"));
    log::make_private_folder(&to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
