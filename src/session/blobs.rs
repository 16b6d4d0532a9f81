//! File contents kept beside a session, under their hash: what a change replaced, for undo.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;

use super::log::make_private_folder;

/// The extension of a blob that is being written.
pub(super) const PART: &str = "part";

/// Keeps a content under its hash, once. On an error the change must not happen, because it could
/// not be undone.
pub fn keep(folder: &Path, sha256: &str, content: &[u8]) -> anyhow::Result<()> {
    let path = folder.join(sha256);
    if path.exists() {
        return Ok(());
    }
    store(folder, &path, content).with_context(|| {
        format!("the content before the change cannot be kept in {}", path.display())
    })
}

fn store(folder: &Path, path: &Path, content: &[u8]) -> std::io::Result<()> {
    make_private_folder(folder)?;
    // Written under another name first: a half-written blob must never pass for a whole one. Only
    // the session's one writer gets here: what is there under that name is from one that was killed.
    let temporary = path.with_extension(PART);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}
