use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::tempdir;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::sleep;

use super::{Job, Jobs, Launch, MAX_KEPT};
use crate::process::{Exit, Stopped};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn start(jobs: &Jobs, command: &str, folder: &Path) -> Arc<Job> {
    let launch = Launch {
        command,
        folder,
        hidden_env: &[],
        masks: &crate::mask::Masks::default(),
        confinement: None,
        output_dir: folder,
        output_bytes: 1_000,
    };
    jobs.start(&launch, &Handle::current()).unwrap()
}

/// Running processes whose command line holds this text.
fn alive(text: &str) -> usize {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines =
        entries.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(text)).count()
}

#[test]
fn the_end_of_the_program_ends_all() {
    let folder = tempdir().unwrap();
    runtime().block_on(async {
        let jobs = Jobs::default();
        let polite = start(&jobs, "sleep 93.25 & sleep 93.25", folder.path());
        let deaf = start(&jobs, "trap '' TERM; while :; do sleep 93.25; done", folder.path());
        sleep(Duration::from_millis(300)).await;
        assert_eq!(jobs.end().await, 2);
        for (job, exit) in [(polite, Exit::Signal(15)), (deaf, Exit::Signal(9))] {
            let end = job.end().unwrap().unwrap();
            assert_eq!((end.stopped, end.exit), (Some(Stopped::Cancelled), exit));
        }
        assert_eq!(jobs.end().await, 0);
        assert_eq!(alive("sleep 93.25"), 0);
    });
}

#[test]
fn jobs_that_nobody_has_any_more_end() {
    let folder = tempdir().unwrap();
    runtime().block_on(async {
        let jobs = Jobs::default();
        let job = start(&jobs, "sleep 300", folder.path());
        drop(jobs);
        job.ended().await;
        assert_eq!(job.end().unwrap().unwrap().stopped, Some(Stopped::Cancelled));
    });
}

#[test]
fn a_dropped_runtime_kills_what_is_left() {
    let folder = tempdir().unwrap();
    let jobs = Jobs::default();
    let runtime = runtime();
    runtime.block_on(async {
        start(&jobs, "trap '' TERM; sleep 94.25; sleep 94.25", folder.path());
        sleep(Duration::from_millis(300)).await;
    });
    assert!(alive("sleep 94.25") > 0);
    drop(runtime);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(alive("sleep 94.25"), 0);
}

#[test]
fn what_cannot_start_says_why() {
    let folder = tempdir().unwrap();
    runtime().block_on(async {
        let jobs = Jobs::default();
        let gone = folder.path().join("gone");
        let launch = Launch {
            command: "true",
            folder: &gone,
            hidden_env: &[],
            masks: &crate::mask::Masks::default(),
            confinement: None,
            output_dir: folder.path(),
            output_bytes: 1_000,
        };
        let job = jobs.start(&launch, &Handle::current()).unwrap();
        job.ended().await;
        let error = job.end().unwrap().unwrap_err();
        assert!(error.contains("is not there any more"), "{error}");
    });
}

#[test]
fn the_oldest_that_have_ended_are_forgotten() {
    let folder = tempdir().unwrap();
    runtime().block_on(async {
        let jobs = Jobs::default();
        start(&jobs, "sleep 300", folder.path());
        for _ in 0..MAX_KEPT {
            start(&jobs, "true", folder.path()).ended().await;
        }
        let numbers: Vec<u32> = jobs.all().iter().map(|job| job.number).collect();
        assert_eq!(numbers.len(), MAX_KEPT);
        assert_eq!(numbers.get(..2), Some([1, 3].as_slice()));
    });
}

#[test]
fn output_is_shown_once_and_kept_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    runtime().block_on(async {
        let jobs = Jobs::default();
        let job = start(&jobs, "printf 'half \\303'; sleep 0.3; printf '\\251\\n'", folder.path());
        let mut seen = String::new();
        while job.is_running() {
            seen.push_str(&job.look().0.text);
            sleep(Duration::from_millis(20)).await;
        }
        seen.push_str(&job.look().0.text);
        assert_eq!(seen, "half é\n");
        assert_eq!(job.look().0.text, "");
        let file = job.file().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "half é\n");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    });
}
