//! Background jobs: commands that the model starts on purpose and that go on while the conversation
//! does, such as a server, a watcher or a long test run.
//!
//! A job is started and ended by [`crate::process`] like any other command, only without a time
//! limit. It belongs to the open session and ends with it at the latest: when the session is left
//! ([`Jobs::cancel`]), when the program ends ([`Jobs::end`]), and when the runtime is dropped, which
//! kills what is left. Jobs are no part of a session's state: what the model learns of one stands in
//! results of calls, and after a resume there are none.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use crate::mask::Masks;
use crate::process::{self, CommandSpec, Ended};
use crate::sandbox::{Confinement, keep};
use crate::tools::collect::{Collected, HeadTail};

/// Jobs that may run at the same time.
pub const MAX_RUNNING: usize = 8;

/// Jobs that are remembered; of more, the oldest that have ended are forgotten.
const MAX_KEPT: usize = 32;

/// How long the end of the program waits for jobs that were told to stop.
const END_WITHIN: Duration = Duration::from_secs(1);

/// What became of a job; the error says why it could not be started.
pub type End = Result<Ended, String>;

/// The jobs of a session.
#[derive(Debug, Default)]
pub struct Jobs {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    last: u32,
    jobs: Vec<Arc<Job>>,
}

/// A job, running or not.
#[derive(Debug)]
pub struct Job {
    /// From 1, in the order of their starts.
    pub number: u32,
    /// The command, as it was given.
    pub command: String,
    /// The box it runs in; none if it is free.
    pub confinement: Option<Confinement>,
    started: Instant,
    output: Mutex<HeadTail>,
    end: watch::Sender<Option<End>>,
    stop: CancellationToken,
    cancel: CancellationToken,
    stopped_by_user: AtomicBool,
    /// The model has been told that it has ended.
    told: AtomicBool,
}

/// What a job is started with.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The command, for the shell.
    pub command: &'a str,
    /// The folder it starts in.
    pub folder: &'a Path,
    /// Variables that it must not see.
    pub hidden_env: &'a [String],
    /// What must not be kept of its output.
    pub masks: &'a Masks,
    /// The box it runs in; none if it is free.
    pub confinement: Option<&'a Confinement>,
    /// Where its whole output is kept.
    pub output_dir: &'a Path,
    /// Bytes of output that are kept for the next look.
    pub output_bytes: usize,
}

/// Where and how a job runs.
struct Place {
    folder: PathBuf,
    hidden_env: Vec<String>,
}

impl Jobs {
    /// Starts a job on the runtime; none if as many as may are running.
    pub fn start(&self, launch: &Launch<'_>, runtime: &Handle) -> Option<Arc<Job>> {
        let mut table = lock(&self.table);
        if table.jobs.iter().filter(|job| job.is_running()).count() >= MAX_RUNNING {
            return None;
        }
        table.last += 1;
        let job = Arc::new(Job::new(table.last, launch));
        if table.jobs.len() >= MAX_KEPT
            && let Some(oldest) = table.jobs.iter().position(|job| !job.is_running())
        {
            table.jobs.remove(oldest);
        }
        table.jobs.push(Arc::clone(&job));
        // Here it may take its time: this is no thread of the runtime.
        launch.confinement.map(|inside| inside.repositories.found(&inside.roots));
        let place =
            Place { folder: launch.folder.to_owned(), hidden_env: launch.hidden_env.to_vec() };
        let running = Arc::clone(&job);
        runtime.spawn(async move { running.run(&place).await });
        Some(job)
    }

    /// All that are remembered, oldest first.
    pub fn all(&self) -> Vec<Arc<Job>> {
        lock(&self.table).jobs.clone()
    }

    /// Those that have not ended, oldest first.
    pub fn running(&self) -> Vec<Arc<Job>> {
        self.all().into_iter().filter(|job| job.is_running()).collect()
    }

    /// The job with a number.
    pub fn find(&self, number: u32) -> Option<Arc<Job>> {
        self.all().into_iter().find(|job| job.number == number)
    }

    /// Those that have ended without the model knowing; from now on it does.
    pub fn news(&self) -> Vec<Arc<Job>> {
        let ended = self.all().into_iter().filter(|job| !job.is_running());
        ended.filter(|job| !job.told.swap(true, Ordering::Relaxed)).collect()
    }

    /// Tells every job to end soon and does not wait for it. Says how many were running.
    pub fn cancel(&self) -> usize {
        let running = self.running();
        for job in &running {
            job.cancel.cancel();
        }
        running.len()
    }

    /// Ends every job and waits for it, at most a second. Says how many were running.
    pub async fn end(&self) -> usize {
        let running = self.running();
        self.cancel();
        let deadline = tokio::time::Instant::now() + END_WITHIN;
        for job in &running {
            // What does not end in time is killed when the runtime is dropped.
            let _ = timeout_at(deadline, job.ended()).await;
        }
        running.len()
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Job {
    fn new(number: u32, launch: &Launch<'_>) -> Self {
        let stem = format!("job-{number}");
        let output = HeadTail::growing(launch.output_bytes, launch.output_dir, &stem);
        Self {
            number,
            command: launch.command.to_owned(),
            confinement: launch.confinement.cloned(),
            started: Instant::now(),
            output: Mutex::new(output.masked(launch.masks)),
            end: watch::Sender::new(None),
            stop: CancellationToken::new(),
            cancel: CancellationToken::new(),
            stopped_by_user: AtomicBool::new(false),
            told: AtomicBool::new(false),
        }
    }

    async fn run(&self, place: &Place) {
        let spec = CommandSpec {
            argv: process::Shell::current().argv(&self.command),
            folder: &place.folder,
            input: &[],
            hidden_env: &place.hidden_env,
            limit: None,
            confinement: self.confinement.as_ref(),
        };
        let mut sink = |bytes: &[u8]| lock(&self.output).push(bytes);
        let running = process::run_until(&spec, &self.stop, &self.cancel, &mut sink);
        let (end, moved) = keep::watch(self.confinement.as_ref(), running).await;
        for line in moved {
            lock(&self.output).push(format!("\n[{line}]\n").as_bytes());
        }
        self.end.send_replace(Some(end));
    }

    /// True until it has ended.
    pub fn is_running(&self) -> bool {
        self.end.borrow().is_none()
    }

    /// How it ended; none while it runs.
    pub fn end(&self) -> Option<End> {
        self.end.borrow().clone()
    }

    /// Time since its start.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits for its end.
    pub async fn ended(&self) {
        // The sender cannot be gone: it is here.
        let _ = self.end.subscribe().wait_for(Option::is_some).await;
    }

    /// The output since the last look, for the model, which also learns the end if there is one.
    pub fn look(&self) -> (Collected, Option<End>) {
        // The end first: what comes after it is nothing.
        let end = self.end();
        if end.is_some() {
            self.told.store(true, Ordering::Relaxed);
        }
        (lock(&self.output).take(end.is_some()), end)
    }

    /// The file with its whole output, if there is one.
    pub fn file(&self) -> Option<PathBuf> {
        lock(&self.output).file()
    }

    /// Asks it to end, and kills it after a while if it does not.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Likewise, because the user wants it.
    pub fn stop_for_user(&self) {
        self.stopped_by_user.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// It was the user who stopped it.
    pub fn was_stopped_by_user(&self) -> bool {
        self.stopped_by_user.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
