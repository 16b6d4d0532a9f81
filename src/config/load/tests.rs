use std::ffi::OsStr;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::cli::{Parsed, parse};

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["project/.xsh", "home/.config/xsh", "other"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        Self { dir }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(path), text).unwrap();
    }

    /// Loads in `project` with these variables.
    fn load(&self, line: &[&str], env: &[(&str, &str)]) -> Result<Config, String> {
        let mut environment = Environment::from_pairs(env.iter().copied());
        environment.current_dir = Some(self.path("project"));
        match parse(std::iter::once("xsh").chain(line.iter().copied())) {
            Ok(Parsed::Run(args)) => load_with(&args, environment).map_err(|e| e.to_string()),
            other => panic!("{line:?}: {other:?}"),
        }
    }

    fn at_home(&self, line: &[&str]) -> Result<Config, String> {
        self.load(line, &[("HOME", self.path("home").to_str().unwrap())])
    }
}

#[test]
fn files_are_read_where_they_belong() {
    let place = Place::new();
    place.write("project/.xsh/config.toml", "max_steps = 4");
    place.write("home/.config/xsh/config.toml", "model = 'a'\nmax_steps = 5");
    let config = place.at_home(&[]).unwrap();
    assert_eq!(config.model.unwrap().value, "a");
    assert_eq!(config.max_steps.unwrap().value, 4);
    assert_eq!(config.user_dir, Some(place.path("home/.config/xsh")));
    assert_eq!(config.state_dir, Some(place.path("home/.local/state/xsh")));

    fs::create_dir_all(place.path("other/xsh")).unwrap();
    place.write("other/xsh/config.toml", "model = 'b'");
    let other = place.path("other");
    let config = place.load(&[], &[("XDG_CONFIG_HOME", other.to_str().unwrap())]).unwrap();
    assert_eq!(config.model.unwrap().value, "b");
}

#[test]
fn a_missing_or_useless_home_is_no_obstacle() {
    let place = Place::new();
    place.write("other/file", "");
    let not_a_folder = place.path("other/file");
    let homes: [&[(&str, &str)]; 5] = [
        &[],
        &[("HOME", "")],
        &[("HOME", "/nonexistent")],
        &[("HOME", "relative"), ("XDG_CONFIG_HOME", "also/relative")],
        &[("HOME", not_a_folder.to_str().unwrap())],
    ];
    for env in homes {
        let config = place.load(&[], env).unwrap();
        assert!(config.warnings.is_empty(), "{env:?}: {:?}", config.warnings);
    }
    assert_eq!(place.load(&[], homes[3]).unwrap().user_dir, None);
}

#[test]
fn a_file_of_the_user_that_cannot_be_read_stops_the_start() {
    let place = Place::new();
    let path = place.path("home/.config/xsh/config.toml");
    let long = vec![b'#'; (1 << 20) + 1];
    let refused = |part: &str| {
        let error = place.at_home(&[]).unwrap_err();
        let start = format!("error: configuration {}: ", path.display());
        assert!(error.starts_with(&start) && error.contains(part), "{error}");
        assert!(error.contains("\nhelp: "), "{error}");
        if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) }.unwrap();
        assert!(place.at_home(&[]).unwrap().warnings.is_empty());
    };
    let cases: [(&str, &[u8]); 2] =
        [("it is not UTF-8 text", b"model = '\xff'"), ("larger than 1 MiB", &long)];
    for (part, text) in cases {
        fs::write(&path, text).unwrap();
        refused(part);
    }
    fs::create_dir(&path).unwrap();
    refused("it is not a regular file");
    pipe(&path);
    refused("it is not a regular file");
    symlink("config.toml", &path).unwrap();
    refused("symbolic links");
    symlink("nothing", &path).unwrap();
    refused("config.toml is a link that leads nowhere");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read everything.
    if fs::File::open(&path).is_err() {
        refused("denied");
    }
}

#[test]
fn a_folder_of_the_user_that_is_a_dangling_link_stops_the_start() {
    let place = Place::new();
    fs::remove_dir(place.path("home/.config/xsh")).unwrap();
    assert!(place.at_home(&[]).is_ok());
    symlink("nothing", place.path("home/.config/xsh")).unwrap();
    let error = place.at_home(&[]).unwrap_err();
    assert!(error.contains(".config/xsh is a link that leads nowhere"), "{error}");
}

#[test]
fn a_file_of_the_project_that_cannot_be_read_is_a_warning() {
    let place = Place::new();
    let path = "project/.xsh/config.toml";
    place.write(path, b"model = '\xff'");
    let warnings = place.at_home(&[]).unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("it is not UTF-8 text"), "{warnings:?}");
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_block() {
    let place = Place::new();
    let path = place.path("project/.xsh/config.toml");
    pipe(&path);
    let warnings = place.at_home(&[]).unwrap().warnings;
    assert!(warnings[0].contains("not a regular file"), "{warnings:?}");
}

#[test]
fn a_file_with_a_mistake_stops_the_start() {
    let place = Place::new();
    place.write("project/.xsh/config.toml", "\nmax_stepps = 4");
    let error = place.at_home(&[]).unwrap_err();
    assert!(error.contains("config.toml, line 2: unknown key `max_stepps`"), "{error}");
}

#[test]
fn folders_and_files_of_the_command_line() {
    let place = Place::new();
    place.write("project/rules.md", "Be nice.");
    place.write("project/bad.md", b"\xff");
    let root = place.dir.path().canonicalize().unwrap();
    let config = place
        .at_home(&["-C", "../other", "--add-dir", ".", "--system-prompt-file", "rules.md"])
        .unwrap();
    assert_eq!(config.workspace, root.join("other"));
    assert_eq!(config.add_dirs, [root.join("project")]);
    assert_eq!(config.system_prompt.as_deref(), Some("Be nice."));

    let cases: [(&[&str], &str); 5] = [
        (&["-C", "nowhere"], "nowhere (-C): No such file"),
        (&["-C", "rules.md"], "rules.md (-C): it is not a folder"),
        (&["--add-dir", "nowhere"], "nowhere (--add-dir): No such file"),
        (&["--system-prompt-file", "nowhere"], "nowhere: No such file"),
        (&["--system-prompt-file", "bad.md"], "bad.md: it is not UTF-8 text"),
    ];
    for (line, part) in cases {
        let error = place.at_home(line).unwrap_err();
        assert!(error.starts_with("error: cannot ") && error.contains(part), "{line:?}: {error}");
    }
}

#[test]
fn without_a_current_folder_one_must_be_named() {
    let Ok(Parsed::Run(args)) = parse(["xsh"]) else { panic!() };
    let error = load_with(&args, Environment::default()).unwrap_err().to_string();
    assert!(error.contains("no current folder") && error.contains("-C"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    let line = [OsStr::new("xsh"), OsStr::new("-C"), dir.path().as_os_str()];
    let Ok(Parsed::Run(args)) = parse(line) else { panic!() };
    assert!(load_with(&args, Environment::default()).is_ok());
}
