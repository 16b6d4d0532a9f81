//! What to say about a path that is not there.

use std::fs;
use std::path::Path;

use crate::suggest;
use crate::tools::paths::Resolved;

/// Names looked at in a folder.
const MAX_NAMES: usize = 2_000;
/// Names suggested.
const SUGGESTIONS: usize = 3;

/// Says that a path does not exist, how far it does, and which names there come near.
pub(in crate::tools) fn missing(path: &Resolved) -> String {
    let known = path.real.ancestors().skip(1).find(|folder| folder.is_dir());
    let wanted = known.and_then(|folder| path.real.strip_prefix(folder).ok()?.iter().next());
    let near = match (known, wanted) {
        (Some(folder), Some(wanted)) => near(folder, &wanted.to_string_lossy()),
        _ => Vec::new(),
    };
    let near = match near.as_slice() {
        [] => String::new(),
        near => format!(" Similar names in its folder: {}.", near.join(", ")),
    };
    format!("`{}` does not exist.{near} Find it with glob, for example `**/NAME*`.", path.shown)
}

fn near(folder: &Path, wanted: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().take(MAX_NAMES).map(|entry| entry.file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = suggest::names(wanted, &names, SUGGESTIONS);
    near.into_iter().map(|name| format!("`{}`", name.escape_debug())).collect()
}
