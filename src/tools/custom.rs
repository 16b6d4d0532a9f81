//! Tools that users define: a file each that says what the model may know and which program runs.
//!
//! The program is started like a command of `shell`, by the same code and behind the same gate: it
//! finds the arguments as one line of JSON on stdin, and what it writes is the result. A folder is
//! read once; of a project's folder exactly what was read is what the user is asked to trust, and a
//! program that is not what it was then does not run.

pub mod examples;
pub mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::beneath;
use super::registry::Built;
use super::shell;
use super::{Effect, Outcome, ToolContext};
use crate::hash;
use crate::process::CommandSpec;
pub use file::Definition;
use file::Fault;

/// Files of a folder that are read.
pub const MAX_FILES: usize = 64;
/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 1_000;
/// The largest file that is read, in bytes.
pub const MAX_FILE: u64 = 64 << 10;
/// Tools in all; some providers take no more than twice as many.
const MAX_TOOLS: usize = 64;

/// Whose folder it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user's own; links are followed.
    User,
    /// The project's: no links, and a program beside its tool file must be what was read.
    Project,
}

/// A folder of tool files, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Where it lies.
    pub path: PathBuf,
    /// Whose it is.
    pub owner: Owner,
    /// What it holds, by name.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What was left out.
    pub warnings: Vec<String>,
}

/// Reads a folder; none where there is none.
pub fn read_folder(path: &Path, owner: Owner) -> Option<Folder> {
    let mut folder =
        Folder { path: path.to_owned(), owner, files: BTreeMap::new(), warnings: Vec::new() };
    match names(path, owner) {
        Err(_) if beneath::is_absent(path) => return None,
        Err(error) => {
            let why = beneath::told(&error);
            folder.warnings.push(format!("the tools in {} are not used: {why}", path.display()));
        }
        Ok(names) => {
            if names.len() > MAX_FILES {
                let path = path.display();
                let note =
                    format!("{path} holds more than {MAX_FILES} files; the rest is left out");
                folder.warnings.push(note);
            }
            for name in names.into_iter().take(MAX_FILES) {
                match read_file(&path.join(&name), owner) {
                    Ok(bytes) => drop(folder.files.insert(name, bytes)),
                    Err(error) => {
                        let (path, why) = (path.join(name), beneath::told(&error));
                        folder.warnings.push(format!("{} is not used: {why}", path.display()));
                    }
                }
            }
        }
    }
    Some(folder)
}

/// The names of what is no folder and not hidden, in order.
fn names(path: &Path, owner: Owner) -> io::Result<BTreeSet<String>> {
    let path = if owner == Owner::User { fs::canonicalize(path)? } else { path.to_owned() };
    let mut names = BTreeSet::new();
    for entry in beneath::list(&path)?.take(MAX_ENTRIES) {
        let entry = entry?;
        let name = String::from_utf8_lossy(entry.file_name().to_bytes()).into_owned();
        if !name.starts_with('.') && !entry.file_type().is_dir() {
            names.insert(name);
        }
    }
    Ok(names)
}

fn read_file(path: &Path, owner: Owner) -> io::Result<Vec<u8>> {
    let path = if owner == Owner::User { fs::canonicalize(path)? } else { path.to_owned() };
    read_small(beneath::open_file(&path)?, MAX_FILE)
}

/// All of a regular file of reasonable size.
pub fn read_small(file: File, limit: u64) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {} KiB", limit >> 10)));
    }
    Ok(bytes)
}

/// The tools that folders define, the first folder's first, each by name; and a warning for each that
/// is left out. `taken` are the names that cannot be used.
pub fn load(folders: &[Folder], taken: &[&str]) -> (Vec<Definition>, Vec<String>) {
    let mut tools: Vec<Definition> = Vec::new();
    let mut warnings = Vec::new();
    for folder in folders {
        warnings.extend(folder.warnings.iter().cloned());
        let mut found = Vec::new();
        for name in folder.files.keys().filter(|name| is_tool_file(name)) {
            match define(folder, name) {
                Ok(tool) => found.push(tool),
                Err(fault) => warnings.push(fault.told(&folder.path.join(name))),
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        for tool in found {
            let double = tools.iter().find(|other| other.name == tool.name);
            let why = if taken.contains(&tool.name.as_str()) {
                format!("`{}` is a tool of xsh itself", tool.name)
            } else if let Some(other) = double {
                format!("there is a tool `{}` in {} already", tool.name, other.file.display())
            } else if tools.len() == MAX_TOOLS {
                format!("there are {MAX_TOOLS} tools already")
            } else {
                tools.push(tool);
                continue;
            };
            warnings.push(Fault { line: tool.name_line, why }.told(&tool.file));
        }
    }
    (tools, warnings)
}

fn is_tool_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "toml")
}

/// A tool whose program can be run.
fn define(folder: &Folder, name: &str) -> Result<Definition, Fault> {
    let bytes = folder.files.get(name).map_or(&[][..], Vec::as_slice);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(Fault { line: 1, why: "it is not UTF-8 text".to_owned() });
    };
    let mut tool = file::parse(&folder.path.join(name), text, &folder.files)?;
    let fault = |why: String| Fault { line: tool.command_line, why };
    let program = Path::new(tool.command.first().map_or("", String::as_str));
    if program.is_absolute() {
        let meta = fs::metadata(program)
            .map_err(|error| fault(format!("the program {}: {error}", program.display())))?;
        if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
            return Err(fault(format!("{} is not an executable file", program.display())));
        }
    }
    if folder.owner == Owner::Project
        && let Ok(beside) = program.strip_prefix(&folder.path)
    {
        let Some(content) = folder.files.get(beside.to_string_lossy().as_ref()) else {
            return Err(fault(format!("{} could not be read", program.display())));
        };
        tool.sha256 = Some(hash::sha256(content));
    }
    Ok(tool)
}

/// What a call with these arguments would do.
pub(super) fn build(tool: &Arc<Definition>, arguments: &Value) -> Built {
    let tool = Arc::clone(tool);
    let input = arguments.to_string();
    // All that happens hangs on both, so a question shows both.
    let command = format!("{} < {input}", tool.shown());
    Built {
        subject: command.clone(),
        effect: Effect::Exec { command, leave: None },
        path: None,
        preview: None,
        run: Box::new(move |context| run(&tool, &input, context)),
    }
}

fn run(tool: &Definition, input: &str, context: &ToolContext<'_>) -> Outcome {
    if let Err(why) = unchanged(tool) {
        return Outcome::error(why);
    }
    let input = format!("{input}\n");
    let spec = CommandSpec {
        argv: tool.command.iter().map(Into::into).collect(),
        folder: &context.workspace.root,
        input: input.as_bytes(),
        hidden_env: context.hidden_env,
        limit: Some(Duration::from_secs(tool.timeout)),
        confinement: context.sandbox,
    };
    shell::execute(&spec, None, None, context)
}

/// Whether a program that the user has trusted is still the same.
fn unchanged(tool: &Definition) -> Result<(), String> {
    let (Some(sha256), Some(program)) = (&tool.sha256, tool.command.first()) else { return Ok(()) };
    let now = beneath::open_file(Path::new(program)).and_then(|file| read_small(file, MAX_FILE));
    if now.is_ok_and(|now| hash::sha256(&now) == *sha256) {
        return Ok(());
    }
    Err(format!(
        "`{program}` is not what the user has trusted any more; nothing was run. Do without this \
         tool, and tell the user: xsh asks again at the next start."
    ))
}

#[cfg(test)]
mod tests;
