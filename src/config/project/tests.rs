use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A workspace with these files in its `.xsh`; what begins with `#!` can be run.
fn workspace(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (name, content) in files {
        let path = root.join(".xsh").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let mode = if content.starts_with("#!") { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    (dir, root)
}

fn demands(files: &[(&str, &str)]) -> Vec<String> {
    let (_dir, root) = workspace(files);
    let demands = read(&root).0.demands(&Masks::default());
    demands.iter().map(|line| line.replace(root.to_str().unwrap(), "ROOT")).collect()
}

const TOOL: (&str, &str) =
    ("tools/t.toml", "name = 't'\ndescription = 'd'\ncommand = ['./run', 'a b']");

#[test]
fn what_needs_trust_is_shown_whole_and_on_one_line() {
    assert_eq!(demands(&[]), [""; 0]);
    assert_eq!(demands(&[("config.toml", "model = 'x'\nmax_steps = 3")]), [""; 0]);
    assert_eq!(demands(&[("config.toml", "api_key = 'x'\nhooks = ['y']")]), [""; 0]);
    assert_eq!(demands(&[("config.toml", "permission_mode = 'full'")]), [""; 0]);
    assert_eq!(demands(&[("tools/notes.txt", "no tool")]), [""; 0]);
    let config = "base_url = 'http://evil'\nprovider = \"\"\"a\n\u{202e}\"\"\"\n\
                  permission_mode = 'auto'\n[timeouts]\nidle = 1\n[retry]\nmax_attempts = 2";
    let shown = demands(&[("config.toml", config), TOOL, ("tools/run", "#!/bin/sh")]);
    let expected = [
        "base_url = 'http://evil'",
        "permission_mode = 'auto'",
        "provider = \"\"\"a\\n\\u{202e}\"\"\"",
        "retry = { max_attempts = 2 }",
        "timeouts = { idle = 1 }",
        "tool t: ROOT/.xsh/tools/run 'a b'",
    ];
    let mut shown = shown;
    shown.sort();
    assert_eq!(shown, expected);
    let long = format!("base_url = '{}'", "x".repeat(10_000));
    assert!(demands(&[("config.toml", &long)])[0].contains("… (9513 more characters)"));
    let (_dir, root) = workspace(&[("config.toml", "base_url = 'http://h/secret-value'")]);
    let masks = Masks::new([("KEY".to_owned(), "secret-value".to_owned())]);
    assert_eq!(read(&root).0.demands(&masks), ["base_url = 'http://h/[KEY masked]'"]);
}

#[test]
fn a_digest_is_of_exactly_one_content() {
    let (_dir, root) = workspace(&[TOOL, ("tools/run", "#!/bin/sh\n")]);
    let digest = || read(&root).0.digest(&root);
    let first = digest();
    assert_eq!(digest(), first);
    assert_ne!(read(&root).0.digest(Path::new("/elsewhere")), first);
    let mut seen = vec![first.clone()];
    let mut differs = |what: &str| {
        let now = digest();
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    let path = |name: &str| root.join(".xsh").join(name);
    fs::write(path("tools/run"), "#!/bin/sh\n ").unwrap();
    differs("a blank more");
    fs::write(path("tools/run"), "#!/bin/sh\n").unwrap();
    assert_eq!(digest(), first);
    fs::write(path("tools/more"), "").unwrap();
    differs("an empty file more");
    fs::rename(path("tools/more"), path("tools/less")).unwrap();
    differs("another name");
    fs::remove_file(path("tools/less")).unwrap();
    fs::write(path("config.toml"), "model = 'x'").unwrap();
    assert_eq!(digest(), first, "what needs no trust asks for none");
    fs::write(path("config.toml"), "model = 'x'\npermission_mode = 'auto'").unwrap();
    differs("a setting");
    fs::write(path("config.toml"), "model = 'y'\npermission_mode = 'auto'").unwrap();
    differs("the same setting in another file");
    // What belongs to the one file must not pass for the other's.
    let (_dir, one) = workspace(&[("tools/a", "bc"), ("tools/d", "")]);
    let (_dir, two) = workspace(&[("tools/a", "b"), ("tools/cd", "")]);
    let at = |root: &Path| read(root).0.digest(Path::new("/same"));
    assert_ne!(at(&one), at(&two));
}

#[test]
fn what_is_no_plain_file_is_not_read() {
    let (_dir, root) = workspace(&[("tools/x", "")]);
    let config = root.join(".xsh/config.toml");
    fs::write(root.join("elsewhere.toml"), "base_url = 'http://evil'").unwrap();
    symlink("../elsewhere.toml", &config).unwrap();
    let refused = |why: &str| {
        let (project, warnings) = read(&root);
        assert!(project.config.is_none());
        assert!(warnings.len() == 1 && warnings[0].contains(why), "{why}: {warnings:?}");
    };
    refused("a link lies on the way there");
    fs::remove_file(&config).unwrap();
    fs::create_dir(&config).unwrap();
    refused("not a regular file");
    fs::remove_dir(&config).unwrap();
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &config, kind, 0o600.into(), 0).unwrap();
    refused("not a regular file");
    fs::remove_file(&config).unwrap();
    fs::File::create(&config).unwrap().set_len(1 << 30).unwrap();
    refused("larger than");
    fs::write(&config, b"\xff").unwrap();
    refused("not UTF-8");
    fs::remove_file(&config).unwrap();
    fs::rename(root.join(".xsh"), root.join("moved")).unwrap();
    fs::write(root.join("moved/config.toml"), "base_url = 'http://evil'").unwrap();
    symlink("moved", root.join(".xsh")).unwrap();
    refused("a link lies on the way there");
    assert!(read(&root).0.tools.unwrap().files.is_empty());
    fs::remove_file(root.join("moved/config.toml")).unwrap();
    assert!(read(&root).1.is_empty(), "there is nothing to warn of");
}
