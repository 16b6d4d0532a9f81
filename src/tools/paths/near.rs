//! Which existing path was probably meant by one that does not exist.
//!
//! Cheap and bounded: other spellings of the whole path, then names of one folder. It never looks
//! outside the workspace, whose names are nobody's business.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{MAX_ENTRIES, Workspace};
use crate::suggest;

/// Suggestions at most.
const MAX_NAMES: usize = 3;

/// Existing paths that `given`, which leads to the missing `real`, may have meant, each quoted.
pub(super) fn names(workspace: &Workspace, given: &str, real: &Path) -> Vec<String> {
    let mut found: Vec<String> = other_spellings(workspace, given).collect();
    for path in siblings(workspace, real) {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found.truncate(MAX_NAMES);
    found.iter().map(|path| format!("`{path}`")).collect()
}

fn other_spellings(workspace: &Workspace, given: &str) -> impl Iterator<Item = String> {
    let slashes = given.contains('\\').then(|| given.replace('\\', "/"));
    let trimmed = Some(given.trim().trim_start_matches('@').to_owned());
    let respelled = [slashes, trimmed].into_iter().flatten().filter(move |path| path != given);
    let respelled = respelled.filter_map(|path| existing(workspace, &path));
    respelled.chain(without_first_parts(workspace, given))
}

/// The path less one or two leading components, where that exists: `/src/a` for `src/a`, `b/src/a`
/// out of a diff, the workspace's own name in front.
pub(super) fn without_first_parts(workspace: &Workspace, given: &str) -> Option<String> {
    let parts: Vec<Component<'_>> = Path::new(given).components().collect();
    (1..=2).filter(|skip| *skip < parts.len()).find_map(|skip| {
        let rest: PathBuf = parts.iter().skip(skip).collect();
        existing(workspace, rest.to_str()?)
    })
}

fn existing(workspace: &Workspace, given: &str) -> Option<String> {
    let path = workspace.existing(given)?;
    (path.shown != ".").then_some(path.shown)
}

/// Paths whose first missing name is like one that exists.
fn siblings(workspace: &Workspace, real: &Path) -> Vec<String> {
    let missing: Vec<&Path> = real.ancestors().take_while(|path| !path.exists()).collect();
    let Some(first) = missing.last() else { return Vec::new() };
    let (Some(folder), Some(name)) = (first.parent(), first.file_name()) else { return Vec::new() };
    let rest = real.strip_prefix(first).unwrap_or(Path::new(""));
    let whole = |name: &String| {
        let near = folder.join(name);
        let path = if rest.as_os_str().is_empty() { near.clone() } else { near.join(rest) };
        let path = if path.exists() { path } else { near };
        existing(workspace, path.to_str()?)
    };
    like(folder, &name.to_string_lossy()).iter().filter_map(whole).collect()
}

/// Names in a folder that are like this one, capitals aside, best first.
fn like(folder: &Path, name: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.take(MAX_ENTRIES).flatten().map(|e| e.file_name());
    let mut names: Vec<(String, String)> = names
        .filter_map(|name| name.into_string().ok())
        .map(|name| (name.to_lowercase(), name))
        .collect();
    names.sort();
    let lower: Vec<&str> = names.iter().map(|(lower, _)| lower.as_str()).collect();
    let close = suggest::names(&name.to_lowercase(), &lower, MAX_NAMES);
    let original = |lower: &&str| names.iter().find(|(l, _)| l == lower).map(|(_, n)| n.clone());
    close.iter().filter_map(original).collect()
}
