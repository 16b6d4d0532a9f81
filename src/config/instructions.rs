//! Finds the instruction files: the user's own, then from the repository's root down to the
//! working directory, in each folder `AGENTS.md` or else `CLAUDE.md`.
//!
//! The root is the nearest ancestor with a `.git` file or folder; without one only the working
//! directory is looked at. No tree is scanned. What cannot be used is a warning, never a failure.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::prompt::Instruction;

/// The most that is taken from one file, in bytes.
pub const MAX_FILE: usize = 32 << 10;
/// The most that is taken from all files together, in bytes.
pub const MAX_TOTAL: usize = 64 << 10;

const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The files in the order in which they go into the prompt, the most specific last.
    pub files: Vec<Instruction>,
    /// What the user should know about files that were cut or left out.
    pub warnings: Vec<String>,
}

/// Looks for instruction files. `workspace` is absolute with links resolved.
pub fn find(workspace: &Path, user_dir: Option<&Path>) -> Found {
    let mut search = Search::default();
    if let Some(dir) = user_dir {
        search.add(&dir.join(NAMES[0]), None);
    }
    let root = repository_root(workspace);
    for folder in folders(root, workspace) {
        if let Some(path) = NAMES.iter().map(|name| folder.join(name)).find(|path| exists(path)) {
            search.add(&path, Some(root));
        }
    }
    search.found
}

fn repository_root(workspace: &Path) -> &Path {
    workspace.ancestors().find(|folder| exists(&folder.join(".git"))).unwrap_or(workspace)
}

/// From the root down to the working directory, both included.
fn folders<'a>(root: &Path, workspace: &'a Path) -> Vec<&'a Path> {
    let below = workspace.ancestors().take_while(|folder| folder.starts_with(root));
    let mut folders: Vec<_> = below.collect();
    folders.reverse();
    folders
}

/// True for anything of this name, a broken link included: it was meant to be read.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

#[derive(Default)]
struct Search {
    found: Found,
    seen: BTreeSet<PathBuf>,
    total: usize,
}

impl Search {
    /// Takes a file, which must lie below `inside` once its links are resolved.
    fn add(&mut self, path: &Path, inside: Option<&Path>) {
        let warning = match self.read(path, inside) {
            Ok(Some(note)) => note,
            Ok(None) => return,
            Err(e) if inside.is_none() && is_absent(&e) => return,
            Err(e) => format!("not read: {e}"),
        };
        self.found.warnings.push(format!("{}: {warning}", path.display()));
    }

    /// The note says what of it was cut.
    fn read(&mut self, path: &Path, inside: Option<&Path>) -> std::io::Result<Option<String>> {
        let real = fs::canonicalize(path)?;
        if inside.is_some_and(|root| !real.starts_with(root)) {
            return Err(std::io::Error::other("it is a link that leads out of the repository"));
        }
        let metadata = fs::metadata(&real)?;
        if !metadata.is_file() {
            return Err(std::io::Error::other("it is not a regular file"));
        }
        if !self.seen.insert(real.clone()) {
            return Ok(None);
        }
        let room = MAX_FILE.min(MAX_TOTAL - self.total);
        let mut bytes = Vec::new();
        fs::File::open(&real)?.take(room as u64 + 1).read_to_end(&mut bytes)?;
        let is_cut = bytes.len() > room;
        bytes.truncate(room);
        let (mut text, is_damaged) = decode(&bytes, is_cut)?;
        if text.trim().is_empty() && !is_cut {
            return Ok(None);
        }
        self.total += text.len();
        let note = is_cut.then(|| cut_note(text.len(), metadata.len()));
        if let Some(note) = &note {
            text.push_str(&["\n[", note, "]\n"].concat());
        }
        self.found.files.push(Instruction { path: path.display().to_string(), text });
        Ok(note.or(is_damaged.then(|| "it is not UTF-8; what is not was replaced".to_owned())))
    }
}

fn cut_note(kept: usize, whole: u64) -> String {
    format!("cut: the first {kept} of {whole} bytes are used")
}

/// The text without a byte order mark, and whether some of it was no UTF-8 and got replaced. A cut
/// one ends with its last whole character.
fn decode(bytes: &[u8], is_cut: bool) -> std::io::Result<(String, bool)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.contains(&0) {
        return Err(std::io::Error::other("it is binary"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((text.to_owned(), false)),
        Err(e) if is_cut && e.error_len().is_none() => {
            let (whole, _) = bytes.split_at(e.valid_up_to());
            Ok((String::from_utf8_lossy(whole).into_owned(), false))
        }
        Err(_) => Ok((String::from_utf8_lossy(bytes).into_owned(), true)),
    }
}

#[cfg(test)]
mod tests;
