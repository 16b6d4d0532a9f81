//! `xsh tools`: the tools that are not built in, and the examples.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::config::project::Trust;
use crate::config::resolve::World;
use crate::error::Error;
use crate::start::tool_folders;
use crate::tools::custom::examples::{EXAMPLES, Example};
use crate::tools::custom::{self, Definition};
use crate::tools::registry::Registry;
use crate::ui::sanitize::visible;

/// The user's tools and the project's, with what runs and what was left out.
pub fn list(world: &World) -> String {
    let builtin = Registry::builtin();
    let (tools, mut notes) = custom::load(&tool_folders(world), &builtin.names());
    if matches!(world.trust, Trust::Refused | Trust::Unasked) {
        notes.push(world.offered.ignored(&world.workspace));
    }
    let mut lines: Vec<String> = tools.iter().map(row).collect();
    if lines.is_empty() {
        lines.push("no tools but the built-in ones; `xsh tools add --all` adds examples".into());
    }
    lines.extend(notes.iter().map(|note| format!("warning: {}", visible(note))));
    lines.join("\n") + "\n"
}

fn row(tool: &Definition) -> String {
    let parts = [tool.name.clone(), tool.shown(), tool.file.display().to_string()];
    parts.map(|part| visible(&part).replace('\n', "\\n")).join("  ")
}

/// Puts examples into the user's folder. One that is there already, and different, stays.
pub fn add(user_dir: Option<&Path>, names: &[String], all: bool) -> Result<String, Error> {
    let folder = user_dir.map(|dir| dir.join("tools")).ok_or_else(|| {
        Error::usage("cannot add tools", "there is no configuration folder; HOME is not set")
    })?;
    let wanted = EXAMPLES.iter().filter(|one| all || names.iter().any(|name| name == one.name));
    let mut told = Vec::new();
    for example in wanted {
        let Example { name, definition, program } = example;
        let files =
            [(format!("{name}.toml"), definition, 0o644), (name.to_string(), program, 0o755)];
        for (file, content, mode) in files {
            put(&folder, &file, content, mode)?;
        }
        told.push(format!("added {name} in {}\n", folder.display()));
    }
    Ok(told.concat() + "new sessions have it\n")
}

fn put(folder: &Path, name: &str, content: &str, mode: u32) -> Result<(), Error> {
    let path = folder.join(name);
    let what = format!("cannot write {}", path.display());
    let failed = |error: io::Error| Error::failed(&what, error);
    if fs::read(&path).is_ok_and(|there| there == content.as_bytes()) {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
    match made {
        Ok(mut file) => file.write_all(content.as_bytes()).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::usage(what, "there is another file of this name")
                .help("remove it first if you want the example"))
        }
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_added_once_and_replace_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let user = Some(dir.path());
        let clock = ["clock".to_owned()];
        assert!(add(user, &clock, false).unwrap().contains("added clock"));
        assert!(add(user, &clock, false).is_ok());
        assert_eq!(fs::read_dir(dir.path().join("tools")).unwrap().count(), 2);
        let program = dir.path().join("tools/clock");
        fs::write(&program, "mine").unwrap();
        let error = add(user, &[], true).unwrap_err();
        assert!(error.to_string().contains("another file of this name"), "{error}");
        assert_eq!(fs::read(&program).unwrap(), b"mine");
        assert!(add(None, &clock, false).is_err());
    }
}
