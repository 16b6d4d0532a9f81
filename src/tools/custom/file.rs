//! What stands in a tool file. Pure: from its text to a [`Definition`], or to one fault with its line.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::de::DeTable;

use crate::tools::schema::{Schema, declared};
use crate::tools::shell::{DEFAULT_LIMIT, MAX_LIMIT};

/// The longest name, in characters.
const MAX_NAME: usize = 41;
/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 2_000;
/// Words of a command.
const MAX_WORDS: usize = 64;

/// A tool that a file defines.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// When to use it and what comes back, for the model.
    pub description: String,
    /// The program and its arguments; a program beside the file by its whole path.
    pub command: Vec<String>,
    /// The time limit, in seconds.
    pub timeout: u64,
    /// What the arguments look like.
    pub schema: Schema,
    /// The file.
    pub file: PathBuf,
    /// Where the name stands in it, from 1.
    pub name_line: usize,
    /// Where the command stands in it, from 1.
    pub command_line: usize,
    /// What the program must be to run; not checked if none.
    pub sha256: Option<String>,
}

/// What is wrong with a tool file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, from 1.
    pub line: usize,
    /// What, and what to write.
    pub why: String,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    description: String,
    command: Vec<String>,
    timeout_seconds: Option<i64>,
    parameters: Option<Map<String, Value>>,
    parameters_file: Option<String>,
}

impl Definition {
    /// The command line as it is shown: words that a shell would take apart are quoted.
    pub fn shown(&self) -> String {
        let words: Vec<_> = self.command.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

impl Fault {
    /// For the user.
    pub fn told(&self, file: &Path) -> String {
        format!("{}, line {}: {}; this tool is left out", file.display(), self.line, self.why)
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Reads a tool file; `files` are those beside it.
pub fn parse(
    path: &Path,
    text: &str,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<Definition, Fault> {
    let written: Written = toml::from_str(text).map_err(|error| Fault {
        line: error.span().map_or(1, |span| line_at(text, span.start)),
        why: error.message().to_owned(),
    })?;
    let fault = |keys: &[&str], why: String| Fault { line: line_of(text, keys), why };
    check_name(&written.name).map_err(|why| fault(&["name"], why))?;
    let description = written.description.trim();
    if description.is_empty() || description.chars().count() > MAX_DESCRIPTION {
        let why = format!("`description` has 1 to {MAX_DESCRIPTION} characters");
        return Err(fault(&["description"], why));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let command = command(written.command, folder).map_err(|why| fault(&["command"], why))?;
    let timeout = written.timeout_seconds.map_or(Ok(DEFAULT_LIMIT), u64::try_from);
    let timeout = timeout.ok().filter(|seconds| (1..=MAX_LIMIT).contains(seconds));
    let timeout = timeout.ok_or_else(|| {
        fault(&["timeout_seconds"], format!("`timeout_seconds` is 1 to {MAX_LIMIT}"))
    })?;
    let schema = match (written.parameters, written.parameters_file) {
        (Some(_), Some(_)) => {
            let why = "`parameters` and `parameters_file` are two ways to say the same";
            return Err(fault(&["parameters_file"], why.to_owned()));
        }
        (None, Some(name)) => in_file(&name, files).map_err(|why| fault(&["parameters_file"], why)),
        (parameters, None) => {
            let schema =
                parameters.map_or_else(|| serde_json::json!({"type": "object"}), Value::Object);
            declared::read(&schema).map_err(|declared::Fault { path, why }| {
                let keys: Vec<_> =
                    std::iter::once("parameters").chain(path.iter().map(String::as_str)).collect();
                fault(&keys, format!("{}: {why}", keys.join(".")))
            })
        }
    }?;
    Ok(Definition {
        name: written.name,
        description: description.to_owned(),
        command,
        timeout,
        schema,
        file: path.to_owned(),
        name_line: line_of(text, &["name"]),
        command_line: line_of(text, &["command"]),
        sha256: None,
    })
}

fn check_name(name: &str) -> Result<(), String> {
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    let fits = name.len() <= MAX_NAME
        && name.starts_with(first)
        && name.chars().all(|c| first(c) || c.is_ascii_digit());
    fits.then_some(()).ok_or_else(|| {
        format!("`name` has up to {MAX_NAME} lower-case letters, digits and `_`, no digit first")
    })
}

/// The command with its program: by its whole path if it lies beside the file.
fn command(mut words: Vec<String>, folder: &Path) -> Result<Vec<String>, String> {
    if words.len() > MAX_WORDS || words.iter().any(|word| word.contains('\0')) {
        return Err(format!("`command` has at most {MAX_WORDS} words, without NUL"));
    }
    let Some(program) = words.first_mut().filter(|program| !program.trim().is_empty()) else {
        return Err("`command` is a list: the program, then its arguments".to_owned());
    };
    if program.contains('/') && !program.starts_with('/') {
        let parts = Path::new(program.as_str()).components();
        let parts: Vec<_> = parts.filter(|part| *part != Component::CurDir).collect();
        let [Component::Normal(name)] = parts[..] else {
            return Err(format!(
                "a program with a relative path lies beside this file: \
                 `./NAME`, not `{program}`"
            ));
        };
        *program = folder.join(name).to_string_lossy().into_owned();
    }
    Ok(words)
}

fn in_file(name: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<Schema, String> {
    let bytes = files.get(name.strip_prefix("./").unwrap_or(name));
    let bytes =
        bytes.ok_or_else(|| format!("there is no readable file `{name}` beside this one"))?;
    let schema: Value = serde_json::from_slice(bytes).map_err(|why| format!("{name}: {why}"))?;
    declared::read(&schema).map_err(|declared::Fault { path, why }| {
        format!("{name}: {}: {why}", [&["#".to_owned()], path.as_slice()].concat().join("/"))
    })
}

/// The line, from 1, of the innermost of these keys that is there.
fn line_of(text: &str, keys: &[&str]) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 1 };
    let mut table = table.get_ref();
    let mut at = 0;
    for wanted in keys {
        let found = table.iter().find(|(key, _)| key.get_ref() == *wanted);
        let Some((key, value)) = found else { break };
        at = key.span().start;
        let Some(next) = value.get_ref().as_table() else { break };
        table = next;
    }
    line_at(text, at)
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests;
