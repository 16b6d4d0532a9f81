//! The tree that the tests of `walk`, `glob` and `grep` build, and the tests of the walk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::event::FileChange;
use crate::tools::paths::Resolved;
use crate::tools::paths::Workspace;
use crate::tools::{Journal, Outcome, Tool, ToolContext};

/// A workspace in a temporary folder.
pub(in crate::tools) struct Tree {
    _folder: tempfile::TempDir,
    pub(in crate::tools) root: PathBuf,
    pub(in crate::tools) cancel: CancellationToken,
}

struct NoJournal;

impl Journal for NoJournal {
    fn file_change(&self, _: FileChange, _: Option<&[u8]>) -> Result<(), String> {
        Err("a search changes nothing".into())
    }
}

impl Tree {
    /// A tree of files with their contents. A path that ends in `/` is an empty folder.
    pub(in crate::tools) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        fs::create_dir(&root).unwrap();
        let root = root.canonicalize().unwrap();
        let tree = Self { _folder: folder, root, cancel: CancellationToken::new() };
        for (path, content) in files {
            tree.write(path, content.as_bytes());
        }
        tree
    }

    pub(in crate::tools) fn write(&self, path: &str, content: &[u8]) {
        let path_on_disk = self.root.join(path);
        if path.ends_with('/') {
            fs::create_dir_all(path_on_disk).unwrap();
            return;
        }
        fs::create_dir_all(path_on_disk.parent().unwrap()).unwrap();
        fs::write(path_on_disk, content).unwrap();
    }

    pub(in crate::tools) fn link(&self, target: &str, path: &str) {
        symlink(target, self.root.join(path)).unwrap();
    }

    pub(in crate::tools) fn fifo(&self, path: &str) {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(
            rustix::fs::CWD,
            self.root.join(path),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
    }

    /// Runs a tool with arguments as a model gives them.
    pub(in crate::tools) fn run<T: Tool>(&self, args: serde_json::Value) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let workspace = Workspace {
            root: self.root.clone(),
            extra: Vec::new(),
            rules: crate::policy::rules::PathRules::default(),
        };
        let context = ToolContext {
            target: None,
            workspace: &workspace,
            session_id: "",
            call_id: "c1",
            known: &BTreeMap::new(),
            cancel: &self.cancel,
            journal: &NoJournal,
            output_dir: &self.root,
            hidden_env: &[],
            masks: &crate::mask::Masks::default(),
            sandbox: None,
            jobs: &crate::jobs::Jobs::default(),
            runtime: runtime.handle(),
        };
        T::run(serde_json::from_value(args).unwrap(), &context)
    }

    /// The files that a walk visits below a folder, and what it left out.
    fn walk(&self, start: &str, named: bool) -> (BTreeSet<String>, LeftOut) {
        let start = self.root.join(start).canonicalize().unwrap();
        let walk = Walk {
            start: &start,
            workspace: &self.root,
            named,
            closed: None,
            every_link: false,
            until: Until::new(&self.cancel),
        };
        let (parts, left_out) = super::walk(&walk, Vec::new, |paths, file| paths.push(file.path));
        let below = |path: &PathBuf| {
            let below = path.strip_prefix(&self.root).unwrap_or(path);
            below.to_string_lossy().into_owned()
        };
        (parts.concat().iter().map(below).collect(), left_out)
    }

    fn visited(&self) -> Vec<String> {
        self.walk("", false).0.into_iter().collect()
    }

    #[expect(clippy::disallowed_methods, reason = "git is the judge of what git ignores")]
    fn git(&self, args: &[&str]) -> String {
        let output =
            std::process::Command::new("git").args(args).current_dir(&self.root).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The files that git does not ignore, by git itself.
    fn by_git(&self) -> Vec<String> {
        let listed = self.git(&["ls-files", "-z", "--others", "--exclude-standard"]);
        let files: BTreeSet<String> =
            listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
        files.into_iter().collect()
    }
}

/// Walks a tree as it is, as a repository, and compares both with git.
#[track_caller]
fn check_like_git(files: &[(&str, &str)], expected: &[&str]) {
    let tree = Tree::new(files);
    assert_eq!(tree.visited(), expected, "without a repository");
    tree.git(&["init", "-q"]);
    assert_eq!(tree.by_git(), expected, "git");
    assert_eq!(tree.visited(), expected, "in a repository");
}

#[test]
fn ignores_what_git_ignores() {
    check_like_git(
        &[
            (".gitignore", "/target\n*.log\n!keep.log\n"),
            ("target/a", ""),
            ("sub/target/b", ""),
            ("x.log", ""),
            ("keep.log", ""),
            (".github/ci.yml", ""),
        ],
        &[".github/ci.yml", ".gitignore", "keep.log", "sub/target/b"],
    );
    check_like_git(
        &[
            (".gitignore", "*.tmp\n"),
            ("sub/.gitignore", "/only\n!a.tmp\n"),
            ("sub/only", ""),
            ("sub/deep/only", ""),
            ("sub/a.tmp", ""),
            ("a.tmp", ""),
        ],
        &[".gitignore", "sub/.gitignore", "sub/a.tmp", "sub/deep/only"],
    );
    check_like_git(
        &[
            (".gitignore", "build/*\n!build/.gitkeep\nfolder/\n\\#x\n{a,b}\nc \n d\\ \n"),
            ("build/.gitkeep", ""),
            ("build/out", ""),
            ("folder/x", ""),
            ("sub/folder", ""),
            ("#x", ""),
            ("a", ""),
            ("{a,b}", ""),
            ("c", ""),
            (" d ", ""),
        ],
        &[".gitignore", "a", "build/.gitkeep", "sub/folder"],
    );
    check_like_git(
        &[
            (".gitignore", "\u{feff}one\r\na/**/z\n**/q/r\n[ab]x\nw?\n[!k]y\n\n!\n/\n"),
            ("one", ""),
            ("a/z", ""),
            ("a/b/c/z", ""),
            ("p/q/r", ""),
            ("ax", ""),
            ("cx", ""),
            ("w1", ""),
            ("ky", ""),
            ("ly", ""),
        ],
        &[".gitignore", "cx", "ky"],
    );
}

#[test]
fn a_linked_ignore_file_is_read_through_its_link() {
    let tree = Tree::new(&[("rules", "*.log\n"), ("a.log", ""), ("a.txt", "")]);
    tree.link("rules", ".gitignore");
    assert_eq!(tree.visited(), [".gitignore", "a.txt", "rules"]);
}

#[test]
fn an_ignore_file_that_is_a_pipe_or_a_folder_does_not_block() {
    let tree = Tree::new(&[("a", ""), ("sub/.gitignore/x", "")]);
    tree.fifo(".gitignore");
    assert_eq!(tree.visited(), ["a", "sub/.gitignore/x"]);
}

#[test]
fn the_repositorys_own_excludes_count() {
    let tree = Tree::new(&[("a.log", ""), ("a.txt", "")]);
    tree.git(&["init", "-q"]);
    tree.write(".git/info/exclude", b"*.log\n");
    assert_eq!(tree.visited(), ["a.txt"]);
    assert_eq!(tree.by_git(), ["a.txt"]);
}

#[test]
fn excludes_are_found_where_git_is_a_file() {
    let tree = Tree::new(&[
        ("worktree/.git", "gitdir: ../main/.git/worktrees/w\n"),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("main/.git/info/exclude", "*.log\n"),
        ("worktree/a.log", ""),
        ("worktree/a.txt", ""),
        ("module/.git", "gitdir: ../main/.git/modules/m\n"),
        ("main/.git/modules/m/info/exclude", "*.txt\n"),
        ("module/a.log", ""),
        ("module/a.txt", ""),
    ]);
    assert_eq!(tree.visited(), ["module/a.log", "worktree/a.txt"]);
}

#[test]
fn rules_from_above_the_workspace_end_at_the_repository() {
    let tree = Tree::new(&[
        (".gitignore", "*.far\n"),
        ("repo/.gitignore", "*.log\n/work/a.near\n"),
        ("repo/work/a.log", ""),
        ("repo/work/a.far", ""),
        ("repo/work/a.near", ""),
        ("repo/work/b.near", ""),
    ]);
    let inner = Tree { root: tree.root.join("repo/work"), ..tree };
    assert_eq!(inner.visited(), ["a.far", "a.log", "a.near", "b.near"], "no repository");
    fs::create_dir(inner.root.join("../.git")).unwrap();
    assert_eq!(inner.visited(), ["a.far", "b.near"]);
}

#[test]
fn a_repository_inside_has_rules_of_its_own() {
    let tree = Tree::new(&[
        (".gitignore", "*.log\n"),
        ("inner/.git/HEAD", ""),
        ("inner/a.log", ""),
        ("plain/a.log", ""),
    ]);
    assert_eq!(tree.visited(), [".gitignore", "inner/a.log"]);
}

#[test]
fn an_ignored_folder_that_is_named_is_walked() {
    let tree = Tree::new(&[
        (".gitignore", "/target\nbuild/*\nnode_modules/**\n"),
        ("target/doc/a", ""),
        ("target/doc/.gitignore", "b\n"),
        ("target/doc/b", ""),
        ("build/.gitkeep", ""),
        ("build/out", ""),
        ("node_modules/x/y.js", ""),
        (".venv/.gitignore", "*\n"),
        (".venv/lib/z.py", ""),
    ]);
    let visited = |start| tree.walk(start, true).0.into_iter().collect::<Vec<_>>();
    assert_eq!(visited("target"), ["target/doc/.gitignore", "target/doc/a"]);
    assert_eq!(visited("target/doc"), ["target/doc/.gitignore", "target/doc/a"]);
    assert_eq!(visited("build"), ["build/.gitkeep", "build/out"]);
    assert_eq!(visited("node_modules"), ["node_modules/x/y.js"]);
    assert_eq!(visited("node_modules/x"), ["node_modules/x/y.js"]);
    assert_eq!(visited(".venv"), [".venv/.gitignore", ".venv/lib/z.py"]);
    assert_eq!(visited(".venv/lib"), [".venv/lib/z.py"]);
    assert_eq!(visited(""), [".gitignore"]);
}

#[test]
fn git_data_and_sessions_are_never_visited() {
    let tree = Tree::new(&[
        (".git/config", ""),
        ("sub/.git", "gitdir: nowhere\n"),
        ("sub/a", ""),
        (".xsh/sessions/s.jsonl", ""),
        ("sub/.xsh/config.toml", ""),
    ]);
    let (files, left_out) = tree.walk("", false);
    assert_eq!(Vec::from_iter(files), ["sub/a"]);
    assert_eq!(left_out, LeftOut::default());
}

#[test]
fn links_are_counted_and_not_followed() {
    let tree = Tree::new(&[("store/a", ""), ("dir/b", "")]);
    for index in 0..300 {
        tree.link("../store", &format!("dir/link{index}"));
    }
    tree.link(".", "loop");
    tree.link("..", "up");
    tree.link("nowhere", "dangling");
    tree.link("store/a", "file");
    let (files, left_out) = tree.walk("", false);
    assert_eq!(Vec::from_iter(files), ["dir/b", "file", "store/a"]);
    assert_eq!(left_out, LeftOut { links: 302, ..LeftOut::default() });
    let (files, _) = tree.walk("loop", true);
    assert_eq!(files.len(), 3);
    assert_eq!(Vec::from_iter(tree.walk("dir/link7", true).0), ["store/a"]);
}

#[test]
fn what_cannot_be_read_is_counted() {
    let tree = Tree::new(&[("a", "")]);
    tree.fifo("pipe");
    let _socket = std::os::unix::net::UnixListener::bind(tree.root.join("socket")).unwrap();
    let (files, left_out) = tree.walk("", false);
    assert_eq!(Vec::from_iter(files), ["a"]);
    assert_eq!(left_out, LeftOut { special: 2, ..LeftOut::default() });
    assert_eq!(left_out.note().unwrap(), "[Left out: pipes, sockets or devices (2).]");
    let gone = tree.root.join("gone");
    let walk = Walk {
        start: &gone,
        workspace: &tree.root,
        named: true,
        closed: None,
        every_link: false,
        until: Until::new(&tree.cancel),
    };
    let (_, left_out) = super::walk(&walk, || (), |(), _| ());
    assert_eq!(left_out, LeftOut { unreadable: 1, ..LeftOut::default() });
}

#[test]
fn a_cancelled_walk_stops() {
    let names: Vec<String> = (0..2_000).map(|index| format!("d{}/f{index}", index % 40)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let tree = Tree::new(&files);
    let walk = Walk {
        start: &tree.root,
        workspace: &tree.root,
        named: false,
        closed: None,
        every_link: false,
        until: Until::new(&tree.cancel),
    };
    let (counts, _) = super::walk(
        &walk,
        || 0_usize,
        |count, _| {
            *count += 1;
            tree.cancel.cancel();
        },
    );
    assert!(counts.iter().sum::<usize>() <= MAX_THREADS, "{counts:?}");
}

#[test]
fn a_late_walk_stops_and_says_so() {
    let tree = Tree::new(&[("a", ""), ("b/c", "")]);
    let until = Until { cancel: &tree.cancel, deadline: Instant::now() };
    let walk = Walk {
        start: &tree.root,
        workspace: &tree.root,
        named: false,
        closed: None,
        every_link: false,
        until,
    };
    let (counts, left_out) = super::walk(&walk, || 0, |count, _| *count += 1);
    assert_eq!(counts.iter().sum::<i32>(), 0);
    assert_eq!(left_out.note().unwrap(), "[Left out: all after the first 60 seconds.]");
}

#[test]
fn a_panic_ends_the_walk_and_reaches_the_caller() {
    let tree = Tree::new(&[("a/b", ""), ("c/d", ""), ("e/f", "")]);
    let walk = Walk {
        start: &tree.root,
        workspace: &tree.root,
        named: false,
        closed: None,
        every_link: false,
        until: Until::new(&tree.cancel),
    };
    let panicked =
        std::panic::catch_unwind(|| super::walk(&walk, || (), |(), _| panic!("at work")));
    assert!(panicked.is_err());
}

#[test]
fn names_cannot_pass_for_lines() {
    let start = Resolved { real: PathBuf::from("/w/src"), shown: "src".into() };
    assert_eq!(shown(&start, Path::new("/w/src/a\nb\u{1b}.rs")), "src/a\\nb\\u{1b}.rs");
    let start = Resolved { real: PathBuf::from("/w"), shown: ".".into() };
    assert_eq!(shown(&start, Path::new("/w/ü.rs")), "ü.rs");
}

#[test]
fn counts_by_folder_are_bounded() {
    let mut counts = ByFolder::default();
    counts.count(Path::new("top"), 1);
    for index in 0..100 {
        counts.count(&Path::new(&format!("d{index:02}")).join("f"), 100 - index);
    }
    let text = counts.text();
    assert!(text.starts_with("d00 100, d01 99, "), "{text}");
    assert!(text.ends_with("d29 71, and 71 more folders"), "{text}");
}

/// Ignore files as people write them, with the odd signs that matchers disagree about.
fn pattern() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[abc]{1,2}",
        2 => Just("*".to_owned()),
        2 => Just("**".to_owned()),
        1 => "[abc]\\*|\\*\\.[ab]|\\?|\\[ab\\]|\\[!a\\]|\\{a,b\\}|\\\\[ab]",
    ];
    let parts = proptest::collection::vec(part, 1..4);
    ("!?", "/?", parts, "/?")
        .prop_map(|(not, start, parts, end)| format!("{not}{start}{}{end}", parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_rules_mean_what_git_means(
        top in proptest::collection::vec(pattern(), 0..4),
        inner in proptest::collection::vec(pattern(), 0..3),
        files in proptest::collection::btree_set("[abc]{1,2}(/[abc]{1,2}){0,2}(\\.[ab])?", 1..12),
    ) {
        let tree = Tree::new(&[(".gitignore", &top.join("\n"))]);
        tree.git(&["init", "-q"]);
        for file in &files {
            let path = tree.root.join(file);
            // A name may already be a folder, or a folder's name a file.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                fs::write(path, "").unwrap();
            }
        }
        if tree.root.join("a").is_dir() {
            tree.write("a/.gitignore", inner.join("\n").as_bytes());
        }
        prop_assert_eq!(tree.visited(), tree.by_git(), "top {:?} inner {:?}", top, inner);
    }
}
