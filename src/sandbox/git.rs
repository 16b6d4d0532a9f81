//! What git's own files say, as far as the sandbox has to know: which folders an index takes for
//! repositories of their own, what a file of settings sets, where a `.git` that is a file leads.
//!
//! Pure, and meant for files that somebody may have written to deceive: what is not understood to the
//! end is `None`, never a guess.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The part of an entry's mode that says what it stands for.
const KIND: u32 = 0o170_000;

/// That of an entry that stands for a repository.
const LINK: u32 = 0o160_000;

/// That of an entry that stands for a whole folder whose entries are left out.
const FOLDER: u32 = 0o040_000;

/// Repositories in one index at most.
const MOST: usize = 50_000;

/// Bytes of an entry before the name of its content: times, place, mode, owner, size.
const STAT: usize = 40;

/// Bytes of the name of a content: SHA-1, SHA-256.
pub const HASHES: [usize; 2] = [20, 32];

/// What is wanted of an index.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Folders that are repositories of their own, as paths below the work tree.
    pub links: Vec<PathBuf>,
    /// The other index on which this one is built, by its name's end.
    pub base: Option<String>,
}

/// Bytes that are read from the front.
struct Rest<'a> {
    bytes: &'a [u8],
    total: usize,
}

impl<'a> Rest<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, total: bytes.len() }
    }

    fn at(&self) -> usize {
        self.total - self.bytes.len()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(head)
    }

    fn number(&mut self) -> Option<usize> {
        let bytes = self.take(4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// What stands before the next NUL, which is left.
    fn word(&mut self) -> Option<&'a [u8]> {
        self.take(memchr::memchr(0, self.bytes)?)
    }

    /// A number of as many bytes as it needs.
    fn offset(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let byte = *self.take(1)?.first()?;
            value = value.checked_shl(7)? + usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1).filter(|value| *value < 1 << 32)?;
        }
    }
}

/// Reads an index of version 2, 3 or 4 whose names of contents have this many bytes.
pub fn index(bytes: &[u8], hash: usize) -> Option<Index> {
    let mut rest = Rest::new(bytes);
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let version = rest.number().filter(|version| (2..=4).contains(version))?;
    let count = rest.number()?;
    let mut found = Index::default();
    let mut name = Vec::new();
    // Where entries begin that need none before them.
    let mut starts = Vec::new();
    for _ in 0..count {
        let start = rest.at();
        let entry = Entry::read(&mut rest, version, hash, &mut name)?;
        if entry.alone {
            starts.push(start);
        }
        match entry.mode & KIND {
            LINK if found.links.len() < MOST => found.links.push(below(&name)?),
            LINK | FOLDER => return None,
            _ => {}
        }
    }
    extensions(&mut rest, hash, &starts, &mut found.base)?;
    Some(found)
}

struct Entry {
    mode: u32,
    alone: bool,
}

impl Entry {
    /// Reads one; `name` is that of the entry before and becomes that of this one.
    fn read(rest: &mut Rest<'_>, version: usize, hash: usize, name: &mut Vec<u8>) -> Option<Self> {
        let start = rest.at();
        let stat = rest.take(STAT + hash)?;
        let mode = u32::from_be_bytes(stat.get(24..28)?.try_into().ok()?);
        let flags = rest.short()?;
        if flags & 0x4000 != 0 {
            rest.short().filter(|_| version > 2)?;
        }
        let length = usize::from(flags & 0xfff);
        let kept = if version == 4 { name.len().checked_sub(rest.offset()?)? } else { 0 };
        name.truncate(kept);
        name.extend(rest.word()?);
        // Git believes the length, where there is room for it.
        if length != 0xfff && length != name.len() {
            return None;
        }
        let padding = if version == 4 { 1 } else { 8 - (rest.at() - start) % 8 };
        rest.take(padding)?;
        Some(Self { mode, alone: kept == 0 })
    }
}

/// A path that leads nowhere else.
fn below(name: &[u8]) -> Option<PathBuf> {
    let path = Path::new(OsStr::from_bytes(name));
    let plain =
        !name.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| path.to_owned())
}

/// Reads what follows the entries, and of it which other index is named. Large indexes say where to
/// begin reading them in several places at once, which has to fit what was read.
fn extensions(
    rest: &mut Rest<'_>,
    hash: usize,
    starts: &[usize],
    base: &mut Option<String>,
) -> Option<()> {
    let entries_end = rest.at();
    while rest.bytes.len() > hash {
        let kind = rest.take(4)?;
        let size = rest.number()?;
        let mut content = Rest::new(rest.take(size)?);
        match kind {
            b"EOIE" if content.number()? != entries_end => return None,
            b"IEOT" => {
                content.number()?;
                while !content.bytes.is_empty() {
                    starts.binary_search(&content.number()?).ok()?;
                    content.number()?;
                }
            }
            b"link" => {
                let name = content.take(hash)?;
                let hex = name.iter().flat_map(|byte| [byte >> 4, byte & 15]);
                let hex = hex.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
                *base = name.iter().any(|byte| *byte != 0).then_some(hex);
            }
            _ => {}
        }
    }
    (rest.bytes.len() == hash).then_some(())
}

/// A line of a file of settings.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// In small letters, up to the first dot or space.
    pub section: String,
    /// In small letters.
    pub key: String,
    /// Without quotes.
    pub value: String,
}

/// What a file of settings sets. Reads every line for itself, and so finds more than git does where
/// one goes on in the next.
pub fn settings(text: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(text);
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.trim_start_matches('\u{feff}').lines() {
        let mut line = line.trim();
        while let Some((header, rest)) =
            line.strip_prefix('[').and_then(|line| line.split_once(']'))
        {
            let name = header.split(|c: char| c == '.' || c.is_whitespace()).next();
            section = name.unwrap_or_default().to_ascii_lowercase();
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_ascii_lowercase();
        found.push(Setting { section: section.clone(), key, value: bare(value) });
    }
    found
}

/// A value without comment, quotes and escapes.
fn bare(value: &str) -> String {
    let (mut text, mut quoted) = (String::new(), false);
    let mut chars = value.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => text.extend(chars.next()),
            '#' | ';' if !quoted => break,
            _ => text.push(c),
        }
    }
    text.trim().to_owned()
}

/// Settings that have nothing run.
const PLAIN: [(&str, &[&str]); 6] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "worktree",
        ],
    ),
    ("extensions", &["objectformat"]),
    ("remote", &["url", "fetch"]),
    ("branch", &["remote", "merge"]),
    ("submodule", &["active", "url"]),
    ("user", &["name", "email"]),
];

/// Whether all that a file sets is of the kind that git itself writes and that has nothing run. Where a
/// work tree is set, `is_own` says whether it is the one that the repository lies in.
pub fn is_plain(text: &[u8], is_own: impl Fn(&str) -> bool) -> bool {
    settings(text).iter().all(|setting| {
        let keys = PLAIN.iter().find(|(section, _)| *section == setting.section);
        keys.is_some_and(|(_, keys)| keys.contains(&setting.key.as_str()))
            && (setting.key != "worktree" || is_own(&setting.value))
    })
}

/// Where a `.git` that is a file says that the repository is.
pub fn pointer(text: &[u8]) -> Option<PathBuf> {
    let path = text.strip_prefix(b"gitdir: ")?;
    // Git takes off line ends, and nothing else; then whoever reads it in C stops at a NUL.
    let ends = path.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let path = path.get(..path.len() - ends)?.split(|byte| *byte == 0).next()?;
    (!path.is_empty()).then(|| OsStr::from_bytes(path).into())
}

#[cfg(test)]
mod tests;
