//! A workspace in a temporary folder, and what a tool needs around it, for tests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::paths::Workspace;
use super::{Journal, Outcome, Tool, ToolContext};
use crate::event::FileChange;

/// Remembers announced changes; can refuse them or interfere before the rename.
#[derive(Default)]
pub(super) struct TestJournal {
    pub(super) changes: Mutex<Vec<(FileChange, Option<Vec<u8>>)>>,
    pub(super) broken: bool,
    /// Called with the path when a change is announced: somebody else acting in between.
    pub(super) meanwhile: Option<fn(&Path)>,
}

impl Journal for TestJournal {
    fn file_change(&self, change: FileChange, before: Option<&[u8]>) -> Result<(), String> {
        if self.broken {
            return Err("no space left on device".into());
        }
        if let Some(meanwhile) = self.meanwhile {
            meanwhile(Path::new(&change.path));
        }
        self.changes.lock().unwrap().push((change, before.map(<[u8]>::to_vec)));
        Ok(())
    }
}

/// The workspace lies in `dir/work`; beside it is room for what lies outside.
pub(super) struct Fixture {
    pub(super) dir: TempDir,
    pub(super) workspace: Workspace,
    pub(super) known: RefCell<BTreeMap<PathBuf, String>>,
    pub(super) cancel: CancellationToken,
    pub(super) journal: TestJournal,
    pub(super) outputs: PathBuf,
    runtime: tokio::runtime::Runtime,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().join("work");
        fs::create_dir(&root).unwrap();
        let workspace = Workspace::new(&root, &[]).unwrap();
        Self {
            outputs: workspace.root.join(".xsh/outputs"),
            workspace,
            known: RefCell::default(),
            cancel: CancellationToken::new(),
            journal: TestJournal::default(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            dir,
        }
    }

    /// A path in the workspace.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.workspace.root.join(name)
    }

    /// Puts a file there without the tools.
    pub(super) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Names in a folder of the workspace, sorted: what was left behind shows here.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What the driver gives a tool.
    pub(super) fn with_context<T>(&self, run: impl FnOnce(&ToolContext<'_>) -> T) -> T {
        let known = self.known.borrow().clone();
        run(&ToolContext {
            target: None,
            workspace: &self.workspace,
            session_id: "20260101T000000Z-abcdef",
            call_id: "call_1",
            known: &known,
            cancel: &self.cancel,
            journal: &self.journal,
            output_dir: &self.outputs,
            hidden_env: &[],
            masks: &crate::mask::Masks::default(),
            sandbox: None,
            jobs: &crate::jobs::Jobs::default(),
            runtime: self.runtime.handle(),
        })
    }

    /// The same for a tool that starts programs: what they wait for is looked after meanwhile.
    pub(super) fn with_driver<T>(&self, run: impl FnOnce(&ToolContext<'_>) -> T) -> T {
        let (done, runtime) = (CancellationToken::new(), &self.runtime);
        std::thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(done.cancelled()));
            let _over = done.clone().drop_guard();
            self.with_context(run)
        })
    }

    /// Runs a tool as the driver does: the versions it reports are known afterwards.
    pub(super) fn run<T: Tool>(&self, args: serde_json::Value) -> Outcome {
        let args = serde_json::from_value(args).unwrap();
        let outcome = self.with_context(|context| T::run(args, context));
        for file in &outcome.files {
            self.known.borrow_mut().insert(file.path.clone().into(), file.sha256.clone());
        }
        assert!(!outcome.content.is_empty());
        outcome
    }
}

/// `<prefix>1\n<prefix>2\n…` up to `count`.
pub(super) fn numbered(prefix: &str, count: usize) -> String {
    (1..=count).flat_map(|n| [prefix.to_owned(), n.to_string(), "\n".to_owned()]).collect()
}
