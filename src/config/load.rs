//! Reads what [`resolve`](super::resolve::resolve) weighs: environment, folders and files.
//!
//! A missing or unusable home never keeps xsh from starting; a file of the user's that exists and
//! cannot be read or understood does.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::Config;
use super::environment::Environment;
use super::file::{self, File, Scope};
use super::project::{self, Trust};
use super::resolve::{World, resolve};
use super::trusted;
use crate::cli::Args;
use crate::error::Error;
use crate::mask::Masks;
use crate::policy::Strength;

/// The largest configuration or prompt file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The configuration of this run. The error is one of usage or configuration (exit 2).
pub fn load(args: &Args) -> Result<Config, Error> {
    load_with(args, Environment::read())
}

/// The same for a given environment.
pub fn load_with(args: &Args, environment: Environment) -> Result<Config, Error> {
    resolve(args, &world(args, environment)?)
}

/// What surrounds this run, in this environment.
pub fn world(args: &Args, environment: Environment) -> Result<World, Error> {
    let workspace = workspace(args, &environment)?;
    let mut warnings = Vec::new();
    let (offered, unusable) = project::read(&workspace);
    warnings.extend(unusable);
    let user = environment.user_dir().map(|dir| dir.join("config.toml"));
    let user = match user {
        Some(path) => config_file(&path)?,
        None => None,
    };
    let add_dirs = args.work.add_dir.iter().map(|dir| folder(&at(&environment, dir), "--add-dir"));
    let prompt = args.work.system_prompt_file.as_deref().map(|path| at(&environment, path));
    let mut world = World {
        add_dirs: add_dirs.collect::<Result<_, _>>()?,
        system_prompt: prompt.map(|path| prompt_file(&path)).transpose()?,
        environment,
        workspace,
        user,
        strength: Strength::default(),
        warnings,
        offered,
        ..World::default()
    };
    world.set_trust(said(&world));
    Ok(world)
}

/// What the user has said before about what the project brings along.
fn said(world: &World) -> Trust {
    if world.offered.demands(&Masks::default()).is_empty() {
        return Trust::NotNeeded;
    }
    let digest = world.offered.digest(&world.workspace);
    let state = world.environment.state_dir();
    match state.and_then(|state| trusted::recall(&state, &digest)) {
        Some(true) => Trust::Granted,
        Some(false) => Trust::Refused,
        None => Trust::Unasked,
    }
}

impl World {
    /// Takes the user's word about what the project brings along.
    pub fn set_trust(&mut self, trust: Trust) {
        let scope = if trust == Trust::Granted { Scope::Trusted } else { Scope::Project };
        let config = self.offered.config.as_ref();
        let parsed = config.map(|(path, text)| file::parse(path, text, scope)).transpose();
        (self.project, self.fault) = match parsed {
            Ok(file) => (file, None),
            Err(fault) => (None, Some(fault)),
        };
        self.trust = trust;
    }

    /// Goes on without the project's file where that is faulty, for what needs nothing of it. Gives the
    /// fault.
    pub fn set_fault_aside(&mut self) -> Option<Error> {
        let fault = self.fault.take()?;
        self.offered.config = None;
        Some(fault)
    }

    /// Takes an answer of the user's, and keeps it for later. The result is a warning.
    pub fn answer_trust(&mut self, yes: bool) -> Option<String> {
        self.set_trust(if yes { Trust::Granted } else { Trust::Refused });
        let digest = self.offered.digest(&self.workspace);
        let kept = match self.environment.state_dir() {
            Some(state) => trusted::remember(&state, &digest, yes, &self.workspace),
            None => Err(std::io::Error::other("there is no state folder")),
        };
        kept.err().map(|why| format!("this answer holds for this run only: {why}"))
    }
}

/// Paths on the command line are relative to where the user stands, also with `-C`.
fn at(environment: &Environment, path: &Path) -> PathBuf {
    environment.current_dir.as_deref().map_or_else(|| path.to_owned(), |dir| dir.join(path))
}

fn workspace(args: &Args, environment: &Environment) -> Result<PathBuf, Error> {
    match (&args.work.directory, &environment.current_dir) {
        (Some(directory), _) => folder(&at(environment, directory), "-C"),
        (None, Some(current)) => folder(current, "the current folder"),
        (None, None) => Err(Error::usage("no current folder", "it was deleted or cannot be read")
            .help("go to another folder, or name one with -C")),
    }
}

fn folder(path: &Path, what: &str) -> Result<PathBuf, Error> {
    let shown = format!("cannot use {} ({what})", path.display());
    let real = fs::canonicalize(path).map_err(|e| Error::usage(&shown, e))?;
    if !real.is_dir() {
        return Err(Error::usage(shown, "it is not a folder"));
    }
    Ok(real)
}

/// The user's configuration file, if there is one. What is there and cannot be read is an error: it may
/// hold rules that forbid something.
fn config_file(path: &Path) -> Result<Option<File>, Error> {
    let unread = |why: &dyn std::fmt::Display| {
        Error::usage(format!("configuration {}", path.display()), why)
            .help("make it a readable text file, or move it away to go on without your settings")
    };
    match read_text(path) {
        Ok(text) => file::parse(path, &text, Scope::User).map(Some),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let dangling = |path: &&Path| path.is_symlink() && !path.exists();
            match path.ancestors().find(dangling) {
                Some(link) => {
                    Err(unread(&format!("{} is a link that leads nowhere", link.display())))
                }
                None => Ok(None),
            }
        }
        Err(e) => Err(unread(&e)),
    }
}

fn prompt_file(path: &Path) -> Result<String, Error> {
    read_text(path).map_err(|e| Error::usage(format!("cannot read {}", path.display()), e))
}

/// The text of a regular file of reasonable size; anything else could block or flood.
fn read_text(path: &Path) -> std::io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not UTF-8 text"))
}

#[cfg(test)]
mod tests;
