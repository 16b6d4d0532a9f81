use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A folder with these files, each with its content; a name that ends with `/` is a folder.
fn tree(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, content) in files {
        let path = root.join(name);
        fs::create_dir_all(if name.ends_with('/') { &path } else { path.parent().unwrap() })
            .unwrap();
        if !name.ends_with('/') {
            fs::write(path, content).unwrap();
        }
    }
    (folder, root)
}

fn names(paths: impl IntoIterator<Item = impl AsRef<Path>>, root: &Path) -> Vec<String> {
    let below = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    paths.into_iter().map(|path| below(path.as_ref())).collect()
}

#[test]
fn repositories_are_found_wherever_they_lie() {
    let (_folder, root) = tree(&[
        (".git/modules/m/HEAD", ""),
        (".git/x/.git/HEAD", ""),
        ("a/b/.git/HEAD", ""),
        ("a/b/c/.git", "gitdir: ../../../.git/modules/m\n"),
        ("bare.git/HEAD", ""),
        ("bare.git/objects/x/.git/HEAD", ""),
        ("bare.git/refs/", ""),
        ("target/x/.git/HEAD", ""),
        ("broken/.git", "gitdir: nowhere"),
    ]);
    symlink(root.join("a"), root.join("link")).unwrap();
    let found = look(std::slice::from_ref(&root), &[], None);
    let folders = found.repositories.iter().map(|repository| &repository.folder);
    assert_eq!(names(folders, &root), ["", "bare.git", "a/b", "bare.git/objects/x", "a/b/c"]);
    let git = names(&found.git_folders, &root);
    assert_eq!(git, [".git", ".git/modules/m", "a/b/.git", "bare.git", "bare.git/objects/x/.git"]);
    let protected = names(&found.protected, &root);
    for path in [
        ".git/modules/m/config",
        "a/b/.git",
        "a/b/.git/commondir",
        "a/b/c/.git",
        "bare.git/hooks",
        "broken/.git",
    ] {
        assert!(protected.iter().any(|other| other == path), "{path} in {protected:?}");
    }
    assert!(!found.cut);
}

#[test]
fn what_settings_name_is_protected() {
    let (_folder, root) = tree(&[
        (".git/HEAD", ""),
        (".git/config", "[core]\nhooksPath = .hooks/git\n[include]\npath = ../first\n"),
        (
            "first",
            "[include]\npath = second\n[core]\nhooksPath = /elsewhere\n[include]\npath=first",
        ),
        (
            "second",
            "[core]\nhooksPath = \"other hooks\"\n[core]\nhooksPath = .\n[core]hooksPath=~/x",
        ),
    ]);
    let found = look(std::slice::from_ref(&root), &[], None);
    let named: Vec<_> = names(&found.protected, &root);
    let named: Vec<_> = named.iter().filter(|path| !path.starts_with(".git")).collect();
    assert_eq!(named, [".hooks/git", "first", "other hooks", "second"]);
}

#[test]
fn many_folders_hide_nothing_that_was_found() {
    let many: Vec<_> = (0..FOLDERS).map(|number| format!("{number}/")).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), "")).collect();
    let (_folder, root) = tree(&[&many[..], &[("z/z/.git/HEAD", "")]].concat());
    let roots = [root.clone()];
    assert!(look(&roots, &[], None).cut);
    let before = [Repository { folder: root.join("z/z"), git: root.join("z/z/.git") }];
    let found = look(&roots, &before, None);
    assert_eq!((found.cut, found.repositories), (true, before.to_vec()));
}

#[test]
fn later_looks_find_what_is_new() {
    let (_folder, root) = tree(&[("a/.git/HEAD", "")]);
    let (roots, repositories) = ([root.clone()], Repositories::default());
    assert_eq!(repositories.found(&roots).repositories.len(), 1);
    fs::create_dir_all(root.join("b/.git")).unwrap();
    assert_eq!(repositories.found(&roots).repositories.len(), 1);
    repositories.forget();
    assert_eq!(repositories.found(&roots).repositories.len(), 2);
    assert!(repositories.protect(&root.join("b/.git/hooks/x"), &roots));
    assert!(!repositories.protect(&root.join("b/.git/index"), &roots));
}

#[test]
fn that_there_are_too_many_is_known() {
    let most: Vec<_> = (0..MOST).map(|number| format!("{number}/.git/HEAD")).collect();
    let most: Vec<_> = most.iter().map(|name| (name.as_str(), "")).collect();
    let (_folder, root) = tree(&most);
    let roots = [root.clone()];
    assert!(!look(&roots, &[], None).cut);
    fs::create_dir_all(root.join("more/.git")).unwrap();
    let found = look(&roots, &[], None);
    assert_eq!((found.cut, found.repositories.len()), (true, MOST));
}
