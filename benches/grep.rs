//! The claim: searching 20,000 files takes no longer than `rg` takes for it.
//!
//! Builds a tree in a temporary folder, searches it through the tool as the model does, and where
//! `rg` is on the PATH lets it do the same. The files are warm in both cases; `rg`'s time holds the
//! start of its process.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tokio_util::sync::CancellationToken;
use xsh::event::FileChange;
use xsh::tools::grep::Grep;
use xsh::tools::paths::Workspace;
use xsh::tools::{Journal, Tool, ToolContext};

use super::support::{repeat, time, times};

const FOLDERS: usize = 400;
const FILES: usize = 50;
const LINES: usize = 100;
const ROUNDS: usize = 15;
const PATTERNS: [(&str, &str); 4] = [
    ("a rare word", "needle_in_the_hay"),
    ("a common word", "return"),
    ("a regular expression", r"fn \w+_7\(.*u32"),
    ("nothing at all", "no such text"),
];

struct NoJournal;

impl Journal for NoJournal {
    fn file_change(&self, _: FileChange, _: Option<&[u8]>) -> Result<(), String> {
        Ok(())
    }
}

pub(crate) fn run() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    build(&root);
    let workspace = Workspace {
        root: root.clone(),
        extra: Vec::new(),
        rules: xsh::policy::rules::PathRules::default(),
    };
    for (name, pattern) in PATTERNS {
        let own = repeat(ROUNDS, || time(|| search(&workspace, pattern)));
        times(&format!("grep: {} files for {name}", FOLDERS * FILES), "rg", own);
        if rg(&root, pattern) {
            times("  the same by rg", "", repeat(ROUNDS, || time(|| rg(&root, pattern))));
        }
    }
}

/// The tool's few words about what it found.
fn search(workspace: &Workspace, pattern: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let context = ToolContext {
        target: None,
        workspace,
        session_id: "",
        call_id: "bench",
        known: &BTreeMap::new(),
        cancel: &CancellationToken::new(),
        journal: &NoJournal,
        output_dir: &workspace.root,
        hidden_env: &[],
        masks: &xsh::mask::Masks::default(),
        sandbox: None,
        jobs: &xsh::jobs::Jobs::default(),
        runtime: runtime.handle(),
    };
    let args = serde_json::json!({ "pattern": pattern });
    let outcome = Grep::run(serde_json::from_value(args).unwrap(), &context);
    assert!(!outcome.is_error, "{}", outcome.content);
    outcome.summary
}

/// The same search by `rg`; false where there is none.
fn rg(root: &Path, pattern: &str) -> bool {
    let command = std::process::Command::new("rg")
        .args(["--hidden", "--line-number", "--no-mmap", "--regexp", pattern])
        .arg(root)
        .output();
    command.is_ok_and(|output| output.status.code().is_some_and(|code| code < 2))
}

/// Source-like files in nested folders, with ignore files and an ignored folder.
fn build(root: &Path) {
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".gitignore"), "/target\n*.log\nnode_modules/\n").unwrap();
    for folder in 0..FOLDERS {
        let path = root.join(format!("crate{}/src/part{folder}", folder % 20));
        fs::create_dir_all(&path).unwrap();
        for file in 0..FILES {
            let name = if file % 10 == 9 { "log" } else { "rs" };
            fs::write(path.join(format!("f{file}.{name}")), source(folder, file)).unwrap();
        }
    }
}

fn source(folder: usize, file: usize) -> String {
    let mut text = String::new();
    for line in 0..LINES {
        let _ = match (folder * FILES + file + line) % 997 {
            0 => writeln!(text, "    // needle_in_the_hay {folder}"),
            n if n % 9 == 0 => writeln!(text, "    return value_{n}.checked_add({line});"),
            n => writeln!(text, "pub fn item_{n}(first: &str, second: u32) -> Option<u32> {{"),
        };
    }
    text
}
