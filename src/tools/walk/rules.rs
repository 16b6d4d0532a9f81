//! What git ignores, folder by folder.
//!
//! A folder's rules are a chain: its own `.gitignore`, those above it up to the repository, the
//! repository's `info/exclude`, the user's global excludes; the nearest file that has an opinion
//! decides. A repository inside another starts a chain of its own. Without a repository the chain
//! begins at the workspace.
//!
//! Two things differ from git on purpose: a linked `.gitignore` is read through its link (users of
//! dotfile managers expect that), and the index is not read, so that a file which was added to git
//! against its own rules counts as ignored.

use crate::tools::paths::is_own;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

/// How much of one ignore file is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The rules that hold for the entries of one folder. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Rules(Option<Arc<Level>>);

/// One ignore file and those that it overrules.
struct Level {
    own: Gitignore,
    above: Rules,
}

impl Rules {
    /// What the folders above `start` say about its entries. A start that is itself ignored, or
    /// lies in an ignored folder, was asked for by name: there only the rules from inside that
    /// folder count.
    pub(super) fn above(start: &Path, workspace: &Path) -> Self {
        let repository = start.ancestors().find(|folder| is_repository(folder));
        let floor = if start.starts_with(workspace) { workspace } else { start };
        let top = repository.unwrap_or(floor);
        let mut rules = repository.map_or_else(global, Self::repository);
        let mut folder = top.to_path_buf();
        for name in start.strip_prefix(top).unwrap_or(Path::new("")) {
            rules = rules.enter(&folder);
            folder.push(name);
            if rules.ignore(&folder, true) {
                rules = Self::default();
            }
        }
        rules
    }

    /// What holds at the top of a repository before its own `.gitignore` is read.
    pub(super) fn repository(top: &Path) -> Self {
        let excludes = git_folder(top).join("info/exclude");
        global_at(top).under(read(&excludes, top))
    }

    /// These rules with a folder's own `.gitignore` before them.
    pub(super) fn enter(self, folder: &Path) -> Self {
        self.under(read(&folder.join(".gitignore"), folder))
    }

    fn under(self, own: Option<Gitignore>) -> Self {
        match own {
            Some(own) => Self(Some(Arc::new(Level { own, above: self }))),
            None => self,
        }
    }

    /// Whether git ignores this entry of the folder.
    pub(super) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let mut next = &self.0;
        while let Some(level) = next {
            match level.own.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = &level.above.0,
            }
        }
        false
    }
}

/// Whether a folder is the top of a repository; in a worktree and a submodule `.git` is a file.
fn is_repository(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(".git")).is_ok()
}

/// The folder with a repository's shared files: what `.git` is, or names when it is a file.
fn git_folder(top: &Path) -> PathBuf {
    let git = top.join(".git");
    let Some(pointer) = text(&git) else { return git };
    let own = top.join(pointer.strip_prefix("gitdir:").unwrap_or(&pointer).trim());
    match text(&own.join("commondir")) {
        Some(common) => own.join(common.trim()),
        None => own,
    }
}

/// The user's global excludes outside a repository: only patterns for names can match.
fn global() -> Rules {
    global_at(Path::new("/"))
}

/// The user's global excludes, anchored at the top of a repository.
fn global_at(top: &Path) -> Rules {
    let own = gitconfig_excludes_path().and_then(|path| read(&path, top));
    Rules::default().under(own)
}

/// Reads an ignore file whose patterns are anchored at `root`. What is no file, or holds no
/// pattern, has no say; a line that is no valid pattern is skipped, as git does.
fn read(path: &Path, root: &Path) -> Option<Gitignore> {
    let text = text(path)?;
    let mut builder = GitignoreBuilder::new(root);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, &plain_braces(line));
    }
    builder.build().ok().filter(|own| !own.is_empty())
}

/// The beginning of a regular file, if it is one. Links are followed; pipes are never opened.
fn text(path: &Path) -> Option<String> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    let read = File::open(path).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    if read as u64 == MAX_FILE {
        // Half a pattern could ignore far more than the whole one.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line with its braces escaped: git knows no alternatives, the matcher does.
fn plain_braces(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut escaped = false;
    for c in line.chars() {
        if !escaped && matches!(c, '{' | '}') {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

/// Whether an entry is never searched, whatever the rules say: git's own data and the sessions.
pub(super) fn is_private(name: &OsStr) -> bool {
    name == ".git" || is_own(name)
}
