//! `grep`: finds lines by what they say. ripgrep's engine as a library: parallel, line by line,
//! with nothing that a pattern could be mistaken for.

mod format;
mod query;
mod search;
#[cfg(test)]
mod tests;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::glob::{Scope, scope, subject};
use super::paths::{Resolved, Workspace};
use super::walk::{self, Closed, LeftOut, Until, Walk, missing};
use super::{Effect, Outcome, Tool, ToolContext};
use search::{Hits, Job, Seeker};

/// Matching lines in one result.
const MAX_LINES: usize = 250;
/// Files in one result of the modes `files` and `count`.
const MAX_FILES: usize = 500;
/// A whole result, in bytes.
const MAX_BYTES: usize = 30_000;
/// Lines of context on each side.
const MAX_CONTEXT: u32 = 10;

/// Finds lines by a regular expression.
pub struct Grep;

/// The arguments of `grep`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Args {
    /// A regular expression (Rust syntax); line by line unless it has `\n` or `(?s)`.
    pub pattern: String,
    /// The pattern is plain text.
    pub literal: Option<bool>,
    /// Ignore case.
    pub ignore_case: Option<bool>,
    /// A file or folder; default: the workspace.
    pub path: Option<String>,
    /// Only files that match, as in `glob`; after a `!` all others.
    pub glob: Option<String>,
    /// Lines around each match, 0 to 10.
    pub context: Option<u32>,
    /// `content` (default), `files` (paths) or `count` (per file).
    pub mode: Option<Mode>,
}

// No comments on the variants: each would become a branch of its own in the schema.
#[expect(missing_docs, reason = "the field that holds it explains them")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Searches file contents, instead of shell `grep` or `rg`. Returns per file its path and \
        `N: text` lines (`N- text` is context), at most 250 matches, with totals. Leaves out \
        what `glob` does.";
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
        grep(&args, context).unwrap_or_else(Outcome::error)
    }
}

/// What is searched, and how it is told.
struct Search<'a> {
    pattern: &'a str,
    glob: Option<&'a str>,
    start: &'a Resolved,
    job: Job<'a>,
    notes: Vec<String>,
}

/// Where to search.
enum Place {
    File(Resolved),
    Below(Scope),
}

fn grep(args: &Args, context: &ToolContext<'_>) -> Result<Outcome, String> {
    let flag = |flag: Option<bool>| flag.unwrap_or_default();
    let query = query::compile(&args.pattern, flag(args.literal), flag(args.ignore_case))?;
    let glob = args.glob.as_deref().filter(|glob| !glob.is_empty());
    let place = place(args, glob, context)?;
    let mode = args.mode.unwrap_or_default();
    let lines = args.context.unwrap_or_default();
    let mut notes = Vec::new();
    if lines > MAX_CONTEXT {
        notes.push(format!("[`context` is at most {MAX_CONTEXT}; {lines} was asked for.]"));
    }
    if glob.is_some() && matches!(place, Place::File(_)) {
        notes.push("[`glob` has no effect on a single file.]".to_owned());
    }
    let lines = if mode == Mode::Content { lines.min(MAX_CONTEXT) } else { 0 };
    let job = Job {
        query: &query,
        mode,
        context: lines as usize,
        cap: if mode == Mode::Content { MAX_LINES } else { MAX_FILES },
        until: Until::new(context.cancel),
    };
    let (hits, left_out) = match &place {
        Place::File(file) => search_file(file, &job),
        Place::Below(scope) => search_below(scope, &job, context.workspace),
    };
    if context.cancelled() {
        return Err("Interrupted before all files were searched.".into());
    }
    let start = match &place {
        Place::File(file) => file,
        Place::Below(scope) => &scope.start,
    };
    let search = Search { pattern: &args.pattern, glob, start, job, notes };
    let summary = format::summary(&search, &hits);
    Ok(Outcome::ok(format::render(&search, &hits, left_out), summary))
}

fn place(args: &Args, glob: Option<&str>, context: &ToolContext<'_>) -> Result<Place, String> {
    let path = args.path.as_deref().filter(|path| !path.is_empty());
    if let Some(path) = path {
        let resolved = context.workspace.resolve(path)?;
        let Ok(kind) = std::fs::metadata(&resolved.real) else { return Err(missing(&resolved)) };
        if kind.is_file() {
            return Ok(Place::File(resolved));
        }
        if !kind.is_dir() {
            let shown = &resolved.shown;
            return Err(format!("`{shown}` is a pipe, socket or device; it cannot be searched."));
        }
    }
    Ok(Place::Below(scope(context.workspace, path, glob)?))
}

fn search_file(file: &Resolved, job: &Job<'_>) -> (Hits, LeftOut) {
    let mut seeker = Seeker::new(job);
    seeker.search(file.real.clone(), Path::new(&file.shown));
    (seeker.hits, LeftOut { late: job.until.is_late(), ..LeftOut::default() })
}

fn search_below(scope: &Scope, job: &Job<'_>, workspace: &Workspace) -> (Hits, LeftOut) {
    let start = &scope.start.real;
    let walk = Walk {
        start,
        workspace: &workspace.root,
        named: scope.named,
        closed: Some(Closed::below(&workspace.rules, scope.given.as_deref())),
        every_link: false,
        until: job.until,
    };
    let (seekers, left_out) = walk::walk(
        &walk,
        || Seeker::new(job),
        |seeker, file| {
            let below = file.path.strip_prefix(start).unwrap_or(&file.path).to_path_buf();
            if scope.pattern.matches(&below) {
                if file.linked {
                    seeker.hits.links += 1;
                } else {
                    seeker.search(file.path, &below);
                }
            }
        },
    );
    let mut all = Hits::default();
    for seeker in seekers {
        all.merge(seeker.hits, job.cap);
    }
    (all, left_out)
}
