//! Runs the calls of a reply: checks each, asks where the mode wants it, records it as started, runs
//! it on a blocking thread, and records its one outcome, in the model's order.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::machine::Input;
use super::schedule;
use super::{Tally, consent};
use crate::agent::Agent;
use crate::event::{Event, FileChange, ToolResult, ToolStarted};
use crate::message::ToolCall;
use crate::session::blobs;
use crate::session::log::LogError;
use crate::tools::registry::Prepared;
use crate::tools::shell::jobs;
use crate::tools::snapshot::{self, Place, Watch, Watched};
use crate::tools::{Effect, Journal, Outcome, ToolContext};
use crate::update::{ToolShown, Update};

/// How long a tool that was told to stop may take before its outcome is called unknown.
const STOP_WITHIN: Duration = Duration::from_secs(4);

/// A call on its way to an outcome.
struct Job {
    call_id: String,
    shown: ToolShown,
    plan: Plan,
}

enum Plan {
    Run(Prepared),
    /// Nothing to run: the call was wrong.
    Answer(Outcome),
}

/// Runs every call of the open reply that has no result yet.
pub(crate) async fn run(
    agent: &mut Agent,
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<Input, LogError> {
    let calls: Vec<ToolCall> =
        agent.session.state.unanswered().iter().map(|open| open.call.clone()).collect();
    let jobs: Vec<Job> = calls.iter().map(|call| prepare(agent, call)).collect();
    let reads: Vec<bool> = jobs.iter().map(|job| job.plan.only_reads()).collect();
    let mut jobs = VecDeque::from(jobs);
    let mut worked = false;
    for batch in schedule::batches(&reads) {
        let batch: Vec<Job> = jobs.drain(..batch.len()).collect();
        worked |= run_batch(agent, batch, tally, cancel).await?;
    }
    Ok(match worked {
        _ if cancel.is_cancelled() => Input::Interrupted,
        true => Input::ToolsDone,
        false => Input::ToolsFailed,
    })
}

/// Answers the calls that are still open when a turn ends: the user interrupted, or a filter struck,
/// before they could run. What waits for a disk to be written has its answer already.
pub(super) fn answer_rest(agent: &mut Agent) -> Result<(), LogError> {
    if agent.session.has_backlog() {
        return Ok(());
    }
    let calls: Vec<ToolCall> =
        agent.session.state.unanswered().iter().map(|open| open.call.clone()).collect();
    for call in calls {
        let shown = prepare(agent, &call).shown;
        let outcome =
            Outcome::error("[not started: the turn ended before this call ran. It had no effect.]");
        let watched = Watched::default();
        let done = Finished { index: 0, outcome, duration: Duration::ZERO, watched };
        record_outcome(agent, shown, done)?;
    }
    Ok(())
}

impl Plan {
    fn only_reads(&self) -> bool {
        match self {
            Self::Run(prepared) => prepared.effect == Effect::Read,
            Self::Answer(_) => true,
        }
    }
}

fn prepare(agent: &Agent, call: &ToolCall) -> Job {
    let plan = if call.incomplete {
        Plan::Answer(Outcome::error(
            "This call was cut off by the output limit: nothing ran. Send it again in smaller \
             pieces.",
        ))
    } else {
        match agent.registry.prepare(&call.name, &call.arguments) {
            Ok(prepared) => Plan::Run(prepared),
            Err(outcome) => Plan::Answer(outcome),
        }
    };
    let subject = match &plan {
        Plan::Run(prepared) => prepared.subject.clone(),
        Plan::Answer(_) => String::new(),
    };
    let shown = ToolShown { call_id: call.id.clone(), name: call.name.clone(), subject };
    Job { call_id: call.id.clone(), shown, plan }
}

/// Runs the jobs of one batch at the same time and records their outcomes in order. Tells whether
/// any of them did what was asked.
async fn run_batch(
    agent: &mut Agent,
    batch: Vec<Job>,
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<bool, LogError> {
    let mut running = Running::new(cancel);
    let mut shown = Vec::new();
    for mut job in batch {
        let index = shown.len();
        if let Plan::Run(prepared) = &mut job.plan {
            judge_target(agent, prepared, &mut job.shown);
        }
        shown.push(job.shown.clone());
        let prepared = match job.plan {
            _ if cancel.is_cancelled() => Err(not_started()),
            _ if running.failed.is_some() => Err(not_logged()),
            Plan::Answer(outcome) => Err(outcome),
            Plan::Run(prepared) => {
                match may_start(agent, &job.shown, &prepared, tally, cancel).await {
                    Ok(()) => Ok(prepared),
                    Err(why) => Err(running.refused(why)),
                }
            }
        };
        match prepared {
            Ok(prepared) => {
                agent.show(Update::ToolStarted(job.shown));
                running.start(agent, (index, job.call_id), prepared);
            }
            Err(outcome) => running.answer(index, outcome),
        }
    }
    running.record_all(agent, shown).await
}

/// Where a change would go is settled before anybody decides on it: that is what a question shows and
/// what the tool opens, also if a link on the way is changed in between.
fn judge_target(agent: &Agent, prepared: &mut Prepared, shown: &mut ToolShown) {
    let Effect::Write(given) = &prepared.effect else { return };
    // A path that leads nowhere is refused by the tool, in its own words.
    let Ok(target) = agent.workspace.resolve(given) else { return };
    let plain = Path::new(given).components().eq(Path::new(&target.shown).components());
    if !plain && agent.workspace.root.join(given) != target.real {
        shown.subject = format!("{} (leads to {})", shown.subject, target.shown);
    }
    prepared.target = Some(target.real);
}

pub(super) fn not_started() -> Outcome {
    Outcome::error("[not started: the user interrupted before this call ran. It had no effect.]")
}

fn not_logged() -> Outcome {
    Outcome::error("[not started: the session log could not be written. It had no effect.]")
}

/// Why a call is not started.
enum Hindrance {
    Refused(Outcome),
    Log(LogError),
}

/// Asks where that is needed, and records that the call starts. Its tool may run only then.
async fn may_start(
    agent: &mut Agent,
    shown: &ToolShown,
    prepared: &Prepared,
    tally: &mut Tally,
    cancel: &CancellationToken,
) -> Result<(), Hindrance> {
    let refused =
        consent::allow(agent, shown, prepared, tally, cancel).await.map_err(Hindrance::Log)?;
    if let Some(outcome) = refused {
        return Err(Hindrance::Refused(outcome));
    }
    let (call_id, name) = (shown.call_id.clone(), shown.name.clone());
    let started = Event::ToolStarted(ToolStarted { call_id, name });
    agent.session.propose(started).map(|_| ()).map_err(Hindrance::Log)
}

/// The tools of a batch that are running, and the outcomes there are.
struct Running {
    tasks: JoinSet<Finished>,
    outcomes: Vec<Finished>,
    journal: mpsc::UnboundedReceiver<Announcement>,
    announce: mpsc::UnboundedSender<Announcement>,
    cancel: CancellationToken,
    /// The log cannot be written: what runs is stopped, and its outcomes are kept for later.
    failed: Option<LogError>,
}

impl Drop for Running {
    /// Stops what still runs when the outcomes can no longer be recorded.
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

struct Finished {
    index: usize,
    outcome: Outcome,
    duration: Duration,
    watched: Watched,
}

impl Running {
    fn new(cancel: &CancellationToken) -> Self {
        let (announce, journal) = mpsc::unbounded_channel();
        Self {
            tasks: JoinSet::new(),
            outcomes: Vec::new(),
            journal,
            announce,
            cancel: cancel.child_token(),
            failed: None,
        }
    }

    /// The outcome of a call that does not start.
    fn refused(&mut self, why: Hindrance) -> Outcome {
        match why {
            Hindrance::Refused(outcome) => outcome,
            Hindrance::Log(error) => {
                self.fail(error);
                not_logged()
            }
        }
    }

    fn fail(&mut self, error: LogError) {
        self.cancel.cancel();
        self.failed.get_or_insert(error);
    }

    fn answer(&mut self, index: usize, outcome: Outcome) {
        let watched = Watched::default();
        self.outcomes.push(Finished { index, outcome, duration: Duration::ZERO, watched });
    }

    /// Answers for a tool that may have done anything.
    fn lose(&mut self, index: usize, why: &str) {
        let watched = Watched { blind: true, notes: Vec::new() };
        let outcome = Outcome::error(why);
        self.outcomes.push(Finished { index, outcome, duration: Duration::ZERO, watched });
    }

    /// Starts a tool on a blocking thread.
    fn start(&mut self, agent: &Agent, call: (usize, String), prepared: Prepared) {
        let (index, call_id) = call;
        let journal = ChannelJournal { tx: self.announce.clone(), blobs: agent.blob_folder() };
        let workspace = Arc::clone(&agent.workspace);
        let known = Arc::clone(&agent.session.state.files);
        let session_id = agent.session.header.id.clone();
        let output_dir = agent.output_folder();
        let hidden_env = Arc::clone(&agent.options.hidden_env);
        let masks = agent.options.masks.clone();
        let sandbox = agent.sandbox_for(&prepared.effect);
        let jobs = Arc::clone(&agent.jobs);
        let cancel = self.cancel.clone();
        let target = prepared.target.clone();
        let runtime = tokio::runtime::Handle::current();
        let watch = Arc::clone(&agent.watch);
        let place =
            Place { folder: agent.saved_folder(), changes: agent.session.state.changes.len() };
        self.tasks.spawn_blocking(move || {
            let context = ToolContext {
                workspace: &workspace,
                target: target.as_deref(),
                session_id: &session_id,
                call_id: &call_id,
                known: &known,
                cancel: &cancel,
                journal: &journal,
                output_dir: &output_dir,
                hidden_env: &hidden_env,
                masks: &masks,
                sandbox: sandbox.as_ref(),
                jobs: &jobs,
                runtime: &runtime,
            };
            let ((outcome, duration), watched) = run_watched(&watch, &place, prepared, &context);
            Finished { index, outcome, duration, watched }
        });
    }

    /// Waits for every tool and records each outcome as soon as all before it are recorded. The
    /// error is the first of the log; no outcome is lost by it.
    async fn record_all(
        mut self,
        agent: &mut Agent,
        shown: Vec<ToolShown>,
    ) -> Result<bool, LogError> {
        let mut waiting: VecDeque<ToolShown> = shown.into();
        let total = waiting.len();
        let mut worked = false;
        while !waiting.is_empty() {
            let next = total - waiting.len();
            if let Some(at) = self.outcomes.iter().position(|done| done.index == next) {
                let done = self.outcomes.swap_remove(at);
                worked |= !done.outcome.is_error;
                if let Some(tool) = waiting.pop_front() {
                    record_outcome(agent, tool, done).unwrap_or_else(|error| self.fail(error));
                }
                continue;
            }
            self.wait(agent, next).await;
        }
        self.failed.take().map_or(Ok(worked), Err)
    }

    /// Waits for a tool to end or announce a change, and no longer than allowed once cancelled.
    async fn wait(&mut self, agent: &mut Agent, next: usize) {
        let cancel = self.cancel.clone();
        let too_slow = async {
            cancel.cancelled().await;
            tokio::time::sleep(STOP_WITHIN).await;
        };
        tokio::select! {
            biased;
            Some(announcement) = self.journal.recv() => announcement.record(agent),
            Some(done) = self.tasks.join_next() => match done {
                Ok(done) => self.outcomes.push(done),
                Err(_) => self.lose(next, "The tool ended without an outcome."),
            },
            () = too_slow => self.lose(
                next,
                "[outcome unknown: the user interrupted and the tool did not stop in time. Check \
                 its effects before you repeat it.]",
            ),
        }
    }
}

/// Runs a tool; if it is a command, with an eye on what it changes.
fn run_watched(
    watch: &Mutex<Watch>,
    place: &Place,
    prepared: Prepared,
    context: &ToolContext<'_>,
) -> ((Outcome, Duration), Watched) {
    if !matches!(prepared.effect, Effect::Exec { .. }) {
        return (prepared.run_guarded(context), Watched::default());
    }
    let jobs = context.jobs.all().len();
    let (done, mut watched) =
        snapshot::around(watch, place, context, || prepared.run_guarded(context));
    // A job goes on after the last look.
    watched.blind |= context.jobs.all().len() > jobs;
    (done, watched)
}

fn record_outcome(agent: &mut Agent, tool: ToolShown, done: Finished) -> Result<(), LogError> {
    let Finished { mut outcome, duration, watched, .. } = done;
    outcome.content.push_str(&jobs::news(&agent.jobs));
    let masks = &agent.options.masks;
    masks.apply_to(&mut outcome.content);
    masks.apply_to(&mut outcome.summary);
    if let Some(diff) = &mut outcome.diff {
        masks.apply_to(diff);
    }
    let result = ToolResult {
        call_id: tool.call_id.clone(),
        content: outcome.content,
        is_error: outcome.is_error,
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        files: outcome.files,
        unwatched: watched.blind,
    };
    agent.session.record(Event::ToolResult(result.clone()))?;
    for note in watched.notes {
        agent.show(Update::Note(note));
    }
    let (summary, diff) = (outcome.summary, outcome.diff);
    agent.show(Update::ToolFinished { tool, result, summary, diff });
    Ok(())
}

/// A file change that a tool on another thread is about to make.
struct Announcement {
    change: FileChange,
    recorded: std::sync::mpsc::SyncSender<Result<(), String>>,
}

impl Announcement {
    fn record(self, agent: &mut Agent) {
        let result = agent.session.propose(Event::FileChange(self.change));
        let result = result.map(|_| ()).map_err(|error| super::log_failed(&error));
        // A tool that has gone does not make the change.
        let _ = self.recorded.send(result);
    }
}

/// The journal as a tool sees it: keeps the content before, then waits for the log.
struct ChannelJournal {
    tx: mpsc::UnboundedSender<Announcement>,
    blobs: Option<PathBuf>,
}

impl Journal for ChannelJournal {
    fn file_change(&self, change: FileChange, before: Option<&[u8]>) -> Result<(), String> {
        if let (Some(folder), Some(hash), Some(content)) = (&self.blobs, &change.before, before) {
            blobs::keep(folder, hash, content).map_err(|error| format!("{error:#}"))?;
        }
        let (recorded, wait) = std::sync::mpsc::sync_channel(1);
        let gone = "xsh is shutting down";
        self.tx.send(Announcement { change, recorded }).map_err(|_| gone)?;
        wait.recv().map_err(|_| gone)?
    }
}
