//! What the user has said about projects: a line for each content, in their state folder.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// The file in the state folder.
const NAME: &str = "trusted";
/// Answers that are kept; the oldest go.
const MAX_LINES: usize = 500;
/// The most that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The last answer about the content of this digest.
pub fn recall(state: &Path, digest: &str) -> Option<bool> {
    let text = read(&state.join(NAME));
    let line = text.lines().rev().find_map(|line| {
        let mut words = line.splitn(3, ' ');
        let (answer, about) = (words.next()?, words.next()?);
        (about == digest).then_some(answer)
    });
    match line? {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Keeps an answer. `workspace` is for whoever reads the file.
pub fn remember(state: &Path, digest: &str, yes: bool, workspace: &Path) -> io::Result<()> {
    let path = state.join(NAME);
    let old = read(&path);
    let about = |line: &&str| line.split(' ').nth(1) == Some(digest);
    let mut lines: Vec<&str> = old.lines().filter(|line| !about(line)).collect();
    let answer = if yes { "yes" } else { "no" };
    let new = format!("{answer} {digest} {}", workspace.display().to_string().escape_debug());
    lines.push(&new);
    let rest = lines.len().saturating_sub(MAX_LINES);
    let text = lines.into_iter().skip(rest).flat_map(|line| [line, "\n"]).collect::<String>();
    fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    // It is made for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(state)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

/// What is there; nothing where it cannot be read: then nothing is trusted.
fn read(path: &Path) -> String {
    let mut text = String::new();
    let regular = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    let file = File::open(path).ok().filter(|_| regular);
    if file.is_some_and(|file| file.take(MAX_BYTES).read_to_string(&mut text).is_err()) {
        text.clear();
    }
    text
}

#[cfg(test)]
mod tests;
