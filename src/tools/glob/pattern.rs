//! What a glob pattern means: where to look, and which files it names.
//!
//! Leading folders without wildcards become part of the start, so that `target/doc/**` is quick
//! and reaches an ignored folder that was named. A pattern without a slash is about file names in
//! any folder; with one it is about paths from the start.

use std::path::{Path, PathBuf};

use globset::{Error, ErrorKind, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::tools::paths::{Resolved, Workspace};
use crate::tools::walk::missing;

/// Where to look and for what.
pub(in crate::tools) struct Scope {
    /// The folder to walk.
    pub(in crate::tools) start: Resolved,
    /// It was named by the model, in the path or the pattern.
    pub(in crate::tools) named: bool,
    /// The folder that the model gave as such, apart from the pattern.
    pub(in crate::tools) given: Option<PathBuf>,
    /// Which files are meant.
    pub(in crate::tools) pattern: Pattern,
}

/// A set of files, by their path below the start.
pub(in crate::tools) struct Pattern {
    set: GlobSet,
    /// Looks at the file's name alone.
    by_name: bool,
    /// Means all files but these.
    except: bool,
}

impl Pattern {
    /// Whether a path, relative to the start, is meant.
    pub(in crate::tools) fn matches(&self, below: &Path) -> bool {
        let path = match below.file_name() {
            Some(name) if self.by_name => Path::new(name),
            _ => below,
        };
        self.set.is_match(path) != self.except
    }
}

/// Reads a pattern (none: all files) against the folder that the model gave (none: the
/// workspace). The error is for the model.
pub(in crate::tools) fn scope(
    workspace: &Workspace,
    path: Option<&str>,
    pattern: Option<&str>,
) -> Result<Scope, String> {
    let base = folder(workspace, path.unwrap_or("."))?;
    let given = pattern.unwrap_or("**");
    if given.is_empty() {
        return Err("The glob pattern is empty. Give one such as `**/*.rs`.".into());
    }
    let (except, text) = match given.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, given),
    };
    let text = separators(text);
    let mut parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.is_empty() || text.ends_with('/') {
        parts.push("**");
    }
    let literal = parts.iter().take_while(|part| !part.contains(WILD)).count();
    let literal = if except { 0 } else { literal.min(parts.len() - 1) };
    let (folders, rest) = parts.split_at(literal);
    let prefix = prefix(&text, folders);
    let folder = path.is_some().then(|| base.real.clone());
    let start = match prefix {
        Some(prefix) => below(workspace, &base, path.is_some(), &prefix)?,
        None => base,
    };
    let set = compile(&rest.join("/")).map_err(|error| explain(given, &error))?;
    let pattern = Pattern { set, by_name: !text.contains('/'), except };
    Ok(Scope { start, named: path.is_some() || literal > 0, given: folder, pattern })
}

/// The characters that make a part of a pattern more than a name.
const WILD: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A backslash before a character that needs no escape is a folder separator.
fn separators(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
        } else if let Some(escaped) = chars.next_if(|next| WILD.contains(next) || *next == '!') {
            out.extend([c, escaped]);
        } else {
            out.push('/');
        }
    }
    out
}

/// The folders that a pattern names before its first wildcard.
fn prefix(pattern: &str, folders: &[&str]) -> Option<String> {
    let root = if pattern.starts_with('/') { "/" } else { "" };
    let prefix = format!("{root}{}", folders.join("/"));
    (!prefix.is_empty()).then_some(prefix)
}

/// The folder that `prefix` names, from the base or from the workspace: models give both.
fn below(
    workspace: &Workspace,
    base: &Resolved,
    named: bool,
    prefix: &str,
) -> Result<Resolved, String> {
    let joined = base.real.join(prefix);
    let first = folder(workspace, &joined.to_string_lossy());
    if first.is_err() && named {
        let other = folder(workspace, prefix);
        if let Ok(other) = other
            && other.real.starts_with(&base.real)
        {
            return Ok(other);
        }
    }
    first
}

/// A folder that the model gave.
pub(in crate::tools) fn folder(workspace: &Workspace, given: &str) -> Result<Resolved, String> {
    let resolved = workspace.resolve(given)?;
    if resolved.real.is_dir() {
        Ok(resolved)
    } else if resolved.real.exists() {
        Err(format!("`{}` is not a folder. Give a folder, or leave `path` out.", resolved.shown))
    } else {
        Err(missing(&resolved))
    }
}

fn compile(pattern: &str) -> Result<GlobSet, Error> {
    let glob = |text: &str| {
        let mut builder = GlobBuilder::new(text);
        builder.literal_separator(true).backslash_escape(true).empty_alternates(true).build()
    };
    let mut set = GlobSetBuilder::new();
    set.add(glob(pattern)?);
    // Folders such as `[id]` are common in web projects: brackets also mean themselves.
    if pattern.contains('[')
        && let Ok(literal) = glob(&pattern.replace('[', "\\["))
    {
        set.add(literal);
    }
    set.build()
}

/// The error with its place, counted in characters from 1.
fn explain(given: &str, error: &Error) -> String {
    let sign = if let ErrorKind::InvalidRange(from, to) = error.kind() {
        format!("{from}-{to}")
    } else if *error.kind() == ErrorKind::UnopenedAlternates {
        "}".to_owned()
    } else if *error.kind() == ErrorKind::UnclosedAlternates {
        "{".to_owned()
    } else {
        "[".to_owned()
    };
    let before = given.rfind(&sign).and_then(|at| given.get(..at)).unwrap_or_default();
    format!(
        "The glob pattern `{given}` is invalid at character {}: {}. \
         A backslash before a wildcard takes it literally.",
        before.chars().count() + 1,
        error.kind()
    )
}
