//! A new session that begins as a copy of another one's log up to a point.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{clock, log, origin, store};
use crate::error::Error;
use crate::event::{Header, Record};

/// Copies the log of a session, lines before `end` only, under a new id; gives the copy's path.
/// Contents kept for undo are shared by hard links, or copied.
pub fn copy(
    path: &Path,
    old: &Header,
    end: Option<u64>,
    refuge: Option<&Path>,
) -> Result<PathBuf, Error> {
    let id = clock::session_id();
    let copy = path.with_file_name(format!("{id}.jsonl"));
    let header = Header {
        id: id.clone(),
        created_at: clock::now(),
        forked_from: Some(old.id.clone()),
        ..old.clone()
    };
    let header = Header { mark: origin::mark(&header, refuge), ..header };
    let failed = |error: std::io::Error| Error::failed("cannot fork the session", error);
    copy_log(path, &copy, &header, end).map_err(|error| {
        // Half a copy would pass for a session.
        let _ = fs::remove_file(&copy);
        failed(error)
    })?;
    let _ = share_blobs(&path.with_extension("files"), &copy.with_extension("files"));
    store::note_latest(&copy, &id);
    Ok(copy)
}

fn copy_log(from: &Path, to: &Path, header: &Header, end: Option<u64>) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let mut out = BufWriter::new(file);
    serde_json::to_writer(&mut out, header)?;
    out.write_all(b"\n")?;
    let mut reader = BufReader::new(File::open(from)?);
    reader.skip_until(b'\n')?;
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let seq = Record::from_line(&line).ok().map(|record| record.seq);
        if !line.ends_with(b"\n") {
            // The same as when it is resumed: a torn last line is no event.
            if seq.is_none() {
                break;
            }
            line.push(b'\n');
        }
        if end.zip(seq).is_some_and(|(end, seq)| seq >= end) {
            break;
        }
        out.write_all(&line)?;
        line.clear();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("20260101T000000Z-abcdef.jsonl");
        let header = "{\"type\":\"session\",\"version\":1,\"id\":\"20260101T000000Z-abcdef\",\
                      \"created_at\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\",\"xsh\":\"0.1.0\"}\n";
        let event = |seq: u64| {
            format!(
                "{{\"type\":\"user_message\",\"seq\":{seq},\"at\":\"\",\"turn\":1,\"content\":\"{seq}\"}}"
            )
        };
        let torn = || event(3).chars().take(20).collect::<String>();
        fs::write(&log, header).unwrap();
        let old = log::read_header(&log).unwrap();
        let damaged = "{\"type\":\"user_mess\u{fffd}\n";
        for (end, tail, expected) in [
            (None, String::new(), vec![1, 2]),
            (None, torn(), vec![1, 2]),
            (None, event(3), vec![1, 2, 3]),
            (Some(3), event(3), vec![1, 2]),
            (Some(2), torn(), vec![1]),
        ] {
            fs::write(&log, format!("{header}{}\n{damaged}{}\n{tail}", event(1), event(2)))
                .unwrap();
            let copied = copy(&log, &old, end, None).unwrap();
            let header = log::read_header(&copied).unwrap();
            assert_eq!(header.forked_from.as_ref(), Some(&old.id));
            let mut found = Vec::new();
            let (_, damage, _) =
                log::read(&copied, &tokio_util::sync::CancellationToken::new(), |record| {
                    found.push(record.seq);
                })
                .unwrap();
            assert_eq!(found, expected, "{end:?} {tail}");
            assert_eq!((damage.torn_bytes, damage.no_final_newline), (0, false), "{end:?} {tail}");
        }
    }
}
