use super::*;

struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    /// A tree with these files and, for names that end with a slash, folders.
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { dir: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let full = tree.path(path);
            if path.ends_with('/') {
                fs::create_dir_all(full).unwrap();
                continue;
            }
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn find(&self, workspace: &str) -> Found {
        find(&self.path(workspace), Some(&self.path("user")))
    }

    /// The files that were loaded, relative to the tree.
    fn loaded(&self, workspace: &str) -> Vec<String> {
        let root = self.path("");
        let relative = |file: &Instruction| {
            let path = Path::new(&file.path).strip_prefix(&root).unwrap();
            path.to_str().unwrap().to_owned()
        };
        self.find(workspace).files.iter().map(relative).collect()
    }
}

#[test]
fn from_the_root_down_to_the_working_directory() {
    let tree = Tree::new(&[
        ("AGENTS.md", "above the root"),
        ("user/AGENTS.md", "mine"),
        ("user/CLAUDE.md", "not this one"),
        ("repo/.git/", ""),
        ("repo/AGENTS.md", "root"),
        ("repo/CLAUDE.md", "not beside AGENTS.md"),
        ("repo/a/CLAUDE.md", "fallback"),
        ("repo/a/b/AGENTS.md", "deep"),
        ("repo/a/b/c/AGENTS.md", "below"),
        ("repo/other/AGENTS.md", "beside"),
    ]);
    let cases: &[(&str, &[&str])] = &[
        ("repo", &["user/AGENTS.md", "repo/AGENTS.md"]),
        ("repo/a", &["user/AGENTS.md", "repo/AGENTS.md", "repo/a/CLAUDE.md"]),
        (
            "repo/a/b",
            &["user/AGENTS.md", "repo/AGENTS.md", "repo/a/CLAUDE.md", "repo/a/b/AGENTS.md"],
        ),
    ];
    for (workspace, expected) in cases {
        assert_eq!(tree.loaded(workspace), *expected, "{workspace}");
        assert!(tree.find(workspace).warnings.is_empty());
    }
}

#[test]
fn without_git_only_the_working_directory() {
    let tree = Tree::new(&[("up/AGENTS.md", "up"), ("up/here/AGENTS.md", "here")]);
    assert_eq!(tree.loaded("up/here"), ["up/here/AGENTS.md"]);
    assert_eq!(find(&tree.path("up/here"), None).files.len(), 1);
}

#[test]
fn a_worktree_or_submodule_is_its_own_root() {
    let tree = Tree::new(&[
        ("super/.git/", ""),
        ("super/AGENTS.md", "super"),
        ("super/sub/.git", "gitdir: ../.git/modules/sub"),
        ("super/sub/AGENTS.md", "sub"),
        ("super/sub/src/", ""),
    ]);
    assert_eq!(tree.loaded("super/sub/src"), ["super/sub/AGENTS.md"]);
}

#[test]
fn long_files_are_cut_with_a_note() {
    let long = "ä".repeat(150_000);
    let tree = Tree::new(&[
        ("repo/.git/", ""),
        ("repo/AGENTS.md", &long),
        ("repo/a/AGENTS.md", &format!("x{long}")),
        ("repo/a/b/AGENTS.md", "too late"),
    ]);
    let found = tree.find("repo/a/b");
    let total: usize = found.files.iter().map(|file| file.text.len()).sum();
    assert!(total <= MAX_TOTAL + 3 * 100, "{total}");
    let first = &found.files[0].text;
    assert!(first.contains("[cut: the first 32768 of 300000 bytes are used]"));
    assert!(found.files[1].text.contains("[cut: the first 32767 of 300001 bytes are used]"));
    assert_eq!(found.warnings.len(), 3, "{:?}", found.warnings);
    assert!(
        found.warnings[0].ends_with("AGENTS.md: cut: the first 32768 of 300000 bytes are used")
    );
}

#[test]
fn what_cannot_be_used_is_a_warning() {
    let binary = Tree::new(&[("r/.git/", ""), ("r/AGENTS.md", "a\0b"), ("r/CLAUDE.md", "no")]);
    let folder = Tree::new(&[("r/.git/", ""), ("r/AGENTS.md/", "")]);
    for (tree, part) in [
        (&binary, "AGENTS.md: not read: it is binary"),
        (&folder, "AGENTS.md: not read: it is not a regular file"),
    ] {
        let found = tree.find("r");
        assert!(found.files.is_empty(), "{part}");
        assert!(found.warnings.len() == 1 && found.warnings[0].ends_with(part), "{found:?}");
    }
    let empty =
        Tree::new(&[("r/.git/", ""), ("r/AGENTS.md", " \n"), ("user/AGENTS.md", "\u{feff}hi")]);
    let found = empty.find("r");
    assert_eq!((found.files.len(), found.files[0].text.as_str()), (1, "hi"));
    assert!(found.warnings.is_empty());
}

#[cfg(unix)]
#[test]
fn links_may_lead_anywhere_inside_the_repository_and_nowhere_else() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new(&[
        ("secret", "outside"),
        ("shared/mine.md", "my own"),
        ("user/", ""),
        ("repo/.git/", ""),
        ("repo/docs/agents.md", "inside"),
        ("repo/a/b/c/", ""),
    ]);
    symlink(tree.path("repo/docs/agents.md"), tree.path("repo/AGENTS.md")).unwrap();
    symlink("../AGENTS.md", tree.path("repo/a/CLAUDE.md")).unwrap();
    symlink(tree.path("secret"), tree.path("repo/a/b/AGENTS.md")).unwrap();
    symlink("gone", tree.path("repo/a/b/c/AGENTS.md")).unwrap();
    symlink(tree.path("shared/mine.md"), tree.path("user/AGENTS.md")).unwrap();
    let found = tree.find("repo/a/b/c");
    assert_eq!(tree.loaded("repo/a/b/c"), ["user/AGENTS.md", "repo/AGENTS.md"], "each once");
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    assert!(found.warnings[0].contains("a link that leads out of the repository"));
    assert!(found.warnings[1].contains("No such file"));
}
