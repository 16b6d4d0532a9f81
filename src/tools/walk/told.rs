//! How files and folders are told to the model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::tools::paths::Resolved;

/// Folders named in a count by folder.
const MAX_FOLDERS: usize = 30;

/// A path below the start as the model sees it. Control characters are escaped, or a file's name
/// could pass for several lines.
pub(in crate::tools) fn shown(start: &Resolved, path: &Path) -> String {
    let below = path.strip_prefix(&start.real).unwrap_or(path);
    let joined = match start.shown.as_str() {
        folder if below.as_os_str().is_empty() => PathBuf::from(folder),
        "" | "." => below.to_path_buf(),
        folder => Path::new(folder).join(below),
    };
    let text = joined.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

/// Counts by folder just below the start, for results that are cut: a cut must not hide that
/// there is something elsewhere.
#[derive(Debug, Default)]
pub(in crate::tools) struct ByFolder(BTreeMap<String, u64>);

impl ByFolder {
    /// Counts for a file's folder; `below` is the file's path relative to the start.
    pub(in crate::tools) fn count(&mut self, below: &Path, count: u64) {
        let mut names = below.components();
        let first = names.next().map(|name| name.as_os_str().to_string_lossy());
        let folder = first.filter(|_| names.next().is_some()).unwrap_or_else(|| ".".into());
        if let Some(sum) = self.0.get_mut(folder.as_ref()) {
            *sum += count;
        } else {
            self.0.insert(folder.into_owned(), count);
        }
    }

    /// Takes in another thread's counts.
    pub(in crate::tools) fn add(&mut self, other: Self) {
        for (folder, count) in other.0 {
            *self.0.entry(folder).or_default() += count;
        }
    }

    /// `src 120, docs 3`, largest first.
    pub(in crate::tools) fn text(&self) -> String {
        let mut folders: Vec<_> = self.0.iter().collect();
        folders.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let rest = folders.len().saturating_sub(MAX_FOLDERS);
        let named = folders.iter().take(MAX_FOLDERS);
        let mut parts: Vec<_> =
            named.map(|(folder, count)| format!("{} {count}", folder.escape_debug())).collect();
        if rest > 0 {
            parts.push(format!("and {rest} more folders"));
        }
        parts.join(", ")
    }
}
