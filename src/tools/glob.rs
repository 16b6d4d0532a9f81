//! `glob`: finds files by name.

mod pattern;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Deserialize;

use super::walk::{self, ByFolder, Closed, Found, LeftOut, Until, Walk};
use super::{Effect, Outcome, Tool, ToolContext};
pub(super) use pattern::{Scope, scope};

/// Files listed in one result.
const MAX_FILES: usize = 200;

/// Finds files by a pattern over their names, newest first.
pub struct Glob;

/// The arguments of `glob`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Args {
    /// Without a slash a name in any folder: `*.rs`. With one a path from `path`:
    /// `src/**/*_test.go`. `{a,b}` and `[ab]` work too.
    pub pattern: String,
    /// The folder; default: the workspace.
    pub path: Option<String>,
}

impl Tool for Glob {
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Finds files by name, instead of `find` or `ls`. Returns paths, the newest 200 first, \
        with totals per folder when there are more. Leaves out `.git` and what git ignores, \
        unless `path` names it.";
    type Args = Args;

    fn effect(_: &Args) -> Effect {
        Effect::Read
    }

    fn path(args: &Args) -> Option<String> {
        args.path.clone().filter(|path| !path.is_empty())
    }

    fn subject(args: &Args) -> String {
        subject(&args.pattern, args.path.as_deref())
    }

    fn run(args: Args, context: &ToolContext<'_>) -> Outcome {
        let path = args.path.as_deref().filter(|path| !path.is_empty());
        match scope(context.workspace, path, Some(&args.pattern)) {
            Ok(scope) => find(&args.pattern, &scope, context),
            Err(fault) => Outcome::error(fault),
        }
    }
}

/// The pattern, and where.
pub(super) fn subject(pattern: &str, path: Option<&str>) -> String {
    match path {
        Some(path) if !path.is_empty() => format!("{pattern} in {path}"),
        _ => pattern.to_owned(),
    }
}

/// What one thread found, and in the end all of them.
#[derive(Default)]
struct Hits {
    /// The newest, at most [`MAX_FILES`]; of one age by path.
    newest: BTreeSet<(Reverse<SystemTime>, PathBuf)>,
    total: u64,
    looked_at: u64,
    folders: ByFolder,
}

impl Hits {
    fn keep(&mut self, entry: (Reverse<SystemTime>, PathBuf)) {
        self.newest.insert(entry);
        if self.newest.len() > MAX_FILES {
            self.newest.pop_last();
        }
    }

    fn merge(mut self, other: Self) -> Self {
        other.newest.into_iter().for_each(|entry| self.keep(entry));
        self.total += other.total;
        self.looked_at += other.looked_at;
        self.folders.add(other.folders);
        self
    }
}

fn find(pattern: &str, scope: &Scope, context: &ToolContext<'_>) -> Outcome {
    let walk = Walk {
        start: &scope.start.real,
        workspace: &context.workspace.root,
        named: scope.named,
        closed: Some(Closed::below(&context.workspace.rules, scope.given.as_deref())),
        every_link: false,
        until: Until::new(context.cancel),
    };
    let (parts, left_out) =
        walk::walk(&walk, Hits::default, |hits, file| visit(hits, file, scope, context));
    if context.cancelled() {
        return Outcome::error("Interrupted before all files were looked at.");
    }
    let hits = parts.into_iter().reduce(Hits::merge).unwrap_or_default();
    if hits.total == 0 {
        return Outcome::ok(nothing(pattern, scope, &hits, left_out), "no files");
    }
    let summary = match hits.total {
        1 => "1 file".to_owned(),
        total if total > MAX_FILES as u64 => format!("{MAX_FILES} of {total} files"),
        total => format!("{total} files"),
    };
    Outcome::ok(list(scope, &hits, left_out), summary)
}

fn visit(hits: &mut Hits, file: Found, scope: &Scope, context: &ToolContext<'_>) {
    hits.looked_at += 1;
    let below = file.path.strip_prefix(&scope.start.real).unwrap_or(&file.path);
    if !scope.pattern.matches(below) {
        return;
    }
    if file.linked && context.workspace.resolve(&file.path.to_string_lossy()).is_err() {
        return;
    }
    hits.total += 1;
    hits.folders.count(below, 1);
    hits.keep((Reverse(modified(&file.path)), file.path));
}

/// When a file was last changed; the epoch where that is not known.
fn modified(path: &Path) -> SystemTime {
    let modified = fs::symlink_metadata(path).and_then(|file| file.modified());
    modified.unwrap_or(SystemTime::UNIX_EPOCH)
}

fn list(scope: &Scope, hits: &Hits, left_out: LeftOut) -> String {
    let paths = hits.newest.iter().map(|(_, path)| walk::shown(&scope.start, path));
    let mut lines: Vec<String> = paths.collect();
    if hits.total > MAX_FILES as u64 {
        lines.push(format!(
            "[The {MAX_FILES} newest of {} files. All, by folder: {}. Narrow with `pattern` or \
             `path` to see the others.]",
            hits.total,
            hits.folders.text()
        ));
    }
    lines.extend(left_out.note());
    lines.join("\n")
}

fn nothing(pattern: &str, scope: &Scope, hits: &Hits, left_out: LeftOut) -> String {
    let text = format!(
        "No file matches `{pattern}` in `{}` ({} files looked at).",
        scope.start.shown, hits.looked_at
    );
    let last = Path::new(pattern).file_name().unwrap_or_default();
    let hint = if scope.start.real.join(last).is_dir() {
        format!("`{pattern}` is a folder: use `{pattern}/**`.")
    } else if pattern.contains('/') && !pattern.contains("**") {
        "A single `*` stays within one folder; `**/` spans folders.".to_owned()
    } else {
        String::new()
    };
    let lines = [text, hint, left_out.note().unwrap_or_default()];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
