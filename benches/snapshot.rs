//! The claim: watching what a command changes costs a few milliseconds in a project of 1,000 files.
//!
//! Builds projects in temporary folders and runs nothing as if it were a command, so that all of the
//! time is that of the two looks: the first one with reading everything, the later ones without.

#![expect(clippy::unwrap_used, reason = "a bench may stop at the first fault")]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use xsh::event::FileChange;
use xsh::tools::paths::Workspace;
use xsh::tools::snapshot::{Place, Watch, around};
use xsh::tools::{Journal, ToolContext};

const SIZES: [usize; 3] = [100, 1_000, 5_000];
const BYTES: usize = 8_000;
const ROUNDS: usize = 15;

struct NoJournal;

impl Journal for NoJournal {
    fn file_change(&self, _: FileChange, _: Option<&[u8]>) -> Result<(), String> {
        Ok(())
    }
}

fn main() {
    // The harness of `cargo test --benches` only asks whether this builds and starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    println!("files of {BYTES} bytes; both looks around a command, best and median of {ROUNDS}");
    for files in SIZES {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        build(&root, files);
        let watch = Mutex::new(Watch::default());
        let first = command(&watch, &root, || {});
        // Until stamps can be trusted.
        std::thread::sleep(Duration::from_millis(50));
        command(&watch, &root, || {});
        let mut idle: Vec<_> = (0..ROUNDS).map(|_| command(&watch, &root, || {})).collect();
        idle.sort_unstable();
        let touch = || fs::write(root.join("d0/f0"), "changed").unwrap();
        let mut change: Vec<_> = (0..ROUNDS).map(|_| command(&watch, &root, touch)).collect();
        change.sort_unstable();
        println!(
            "{files:>5} files: first {first:>8.1?}, nothing changed {:>8.1?} {:>8.1?}, one changed \
             {:>8.1?} {:>8.1?}",
            idle[0],
            idle[ROUNDS / 2],
            change[0],
            change[ROUNDS / 2]
        );
    }
}

fn build(root: &Path, files: usize) {
    for index in 0..files {
        let path = root.join(format!("d{}/f{index}", index / 25));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{index:08}").repeat(BYTES / 8)).unwrap();
    }
}

/// Watches nothing being done; gives the time that this took.
fn command(watch: &Mutex<Watch>, root: &Path, run: impl FnOnce()) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let context = ToolContext {
        target: None,
        workspace: &Workspace {
            root: root.to_path_buf(),
            extra: Vec::new(),
            rules: xsh::policy::rules::PathRules::default(),
        },
        session_id: "s",
        call_id: "bench",
        known: &BTreeMap::new(),
        cancel: &CancellationToken::new(),
        journal: &NoJournal,
        output_dir: root,
        hidden_env: &[],
        masks: &xsh::mask::Masks::default(),
        sandbox: None,
        jobs: &xsh::jobs::Jobs::default(),
        runtime: runtime.handle(),
    };
    let place = Place { folder: Some(root.join(".xsh/sessions/s.files")), changes: 0 };
    let began = Instant::now();
    let ((), watched) = around(watch, &place, &context, run);
    assert!(!watched.blind, "{watched:?}");
    began.elapsed()
}
