//! Starting programs and ending them: the only file that does.
//!
//! [`run`] starts a command away from the user's terminal (a session of its own, empty stdin, both
//! outputs in one pipe), feeds its output to a sink, and tells the truth about how it ended. When it
//! returns nothing of the command is running any more: not after the time limit, not after a cancel,
//! not when the shell has exited but left something in the background.
//!
//! What the command's processes are is found in three ways, all without `unsafe`: its process group,
//! its session, and a mark in the environment that children inherit (read from `/proc`, see
//! [`kin`]). The limits of that: a process that leaves the session *and* clears its environment
//! *and* whose parent has exited is not found; where there is no `/proc`, only the group is ended.
//! Without a `setsid` program the command keeps the terminal as a background group, so that reading
//! from it stops the command until the time limit. If this program itself is killed, a watcher ends
//! its commands (see [`watch`]).
//!
//! It does not decide what may run and does not confine it: policy and sandbox come before.

mod confined;
mod kin;
mod watch;

use std::ffi::OsString;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use kin::Tree;
use watch::Watched;

use crate::sandbox::Confinement;

/// From the polite signal to the one that cannot be refused, after the time limit and for a job
/// that is no longer wanted.
const LIMIT_GRACE: Duration = Duration::from_secs(2);

/// The same after a cancel, which has to be over within a second.
const CANCEL_GRACE: Duration = Duration::from_millis(300);

/// The same for what a finished command left in the background.
const SWEEP_GRACE: Duration = Duration::from_millis(200);

/// How long silence lasts until the output of a finished command counts as complete, while
/// something still holds the pipe.
const DRAIN_IDLE: Duration = Duration::from_millis(100);

/// How long such output is read at most.
const DRAIN_TOTAL: Duration = Duration::from_millis(700);

/// How long the pipe is listened to once every process has ended.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// How long a killed process may take to be gone, before it is given up on.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Where programs are looked for. Fixed, so that the answer does not hang on the environment.
const FOLDERS: [&str; 5] =
    ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"];

/// Set for every command: nothing asks, pages, colours or opens an editor.
const QUIET_ENV: [(&str, &str); 14] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "true"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("PIP_NO_INPUT", "1"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("TERM", "dumb"),
    ("VISUAL", "true"),
];

/// Taken away from every command, for they would undo the above.
const LOUD_ENV: [&str; 2] = ["CLICOLOR_FORCE", "FORCE_COLOR"];

/// The variable that marks the processes of one command.
const MARK: &str = "XSH_COMMAND_MARK";

/// What to run.
#[derive(Clone, Debug)]
pub struct CommandSpec<'a> {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The folder it starts in.
    pub folder: &'a Path,
    /// What it finds on stdin; nothing if empty.
    pub input: &'a [u8],
    /// Variables of this process that it must not see (provider keys).
    pub hidden_env: &'a [String],
    /// When it is stopped; never if none.
    pub limit: Option<Duration>,
    /// The box it runs in; none if it is free.
    pub confinement: Option<&'a Confinement>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What its first process said at the end.
    pub exit: Exit,
    /// Why it was stopped; none if it ended by itself.
    pub stopped: Option<Stopped>,
    /// What a command that ended by itself had left running, and what was therefore stopped: one
    /// shortened command line each.
    pub left_over: Vec<String>,
    /// It wanted to reach the network, which the box does not have.
    pub missed_network: bool,
    /// Time until the first process had ended.
    pub took: Duration,
}

/// The last word of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// An exit code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It did not even end when killed (it hangs in the kernel).
    Unknown,
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It ran longer than this.
    Limit(Duration),
    /// The user interrupted.
    Cancelled,
    /// Whoever started it in the background has had enough of it.
    Asked,
}

/// Where the output of a command goes, piece by piece.
pub type Sink<'a> = &'a mut (dyn FnMut(&[u8]) + Send);

/// The shell that commands are written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// `bash` or `sh`.
    pub name: &'static str,
    path: PathBuf,
}

impl Shell {
    /// The shell of this machine, looked up once: `bash`, else `sh`.
    pub fn current() -> &'static Self {
        static CURRENT: LazyLock<Shell> = LazyLock::new(|| match find_program("bash") {
            Some(path) => Shell { name: "bash", path },
            None => Shell { name: "sh", path: "/bin/sh".into() },
        });
        &CURRENT
    }

    /// The arguments that run a command line in it.
    pub fn argv(&self, command: &str) -> Vec<OsString> {
        vec![self.path.clone().into(), "-c".into(), command.into()]
    }
}

/// Keeps other processes of this user from reading this process's memory and environment, where
/// provider keys are. Best effort: only Linux can, and not against the superuser.
pub fn shield() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Without it things are as they are for any other program.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Runs a command to its end. Every byte of its output goes to `sink` as it comes; nothing is kept
/// here, and a slow sink slows the command. The error says why it could not be started.
pub async fn run(
    spec: &CommandSpec<'_>,
    cancel: &CancellationToken,
    sink: Sink<'_>,
) -> Result<Ended, String> {
    run_until(spec, &CancellationToken::new(), cancel, sink).await
}

/// Likewise, for a command in the background: `stop` ends it with the patience of a time limit,
/// `cancel` without.
pub async fn run_until(
    spec: &CommandSpec<'_>,
    stop: &CancellationToken,
    cancel: &CancellationToken,
    sink: Sink<'_>,
) -> Result<Ended, String> {
    watch::ready();
    let Started { child, reader, mark, report } =
        start(spec).map_err(|error| not_started(spec, &error))?;
    let _watched = Watched::new(child.id());
    let tree = Tree::new(child.id().and_then(as_pid), mark);
    let output = Output { reader, open: true, buffer: vec![0; CHUNK] };
    let mut running = Running { child, tree, output, started: Instant::now() };
    let (exit, stopped) = running.watch(spec.limit, stop, cancel, sink).await;
    let took = running.started.elapsed();
    let report = report.as_ref().map(confined::read_report).unwrap_or_default();
    let left_over = running.clear(stopped, report.alone, sink).await;
    if let Some(fault) = report.fault {
        return Err(format!("the sandbox could not be set up: {fault}"));
    }
    Ok(Ended { exit, stopped, left_over, missed_network: report.missed_network, took })
}

/// A command between its start and its end.
struct Running {
    child: Child,
    tree: Tree,
    output: Output,
    started: Instant,
}

/// How far the ending of a command has got.
#[derive(Clone, Copy)]
enum Phase {
    Free,
    Asked,
    Killed,
}

impl Running {
    /// Reads output until the first process has ended, by itself or by force.
    async fn watch(
        &mut self,
        limit: Option<Duration>,
        stop: &CancellationToken,
        cancel: &CancellationToken,
        sink: Sink<'_>,
    ) -> (Exit, Option<Stopped>) {
        let mut phase = Phase::Free;
        let mut stopped = None;
        let mut hurried = false;
        let mut deadline = limit.map(|limit| self.started + limit);
        loop {
            let why = tokio::select! {
                status = self.child.wait() => {
                    return (status.map_or(Exit::Unknown, exit_of), stopped);
                }
                () = self.output.read(sink), if self.output.open => continue,
                () = cancel.cancelled(), if !hurried => Stopped::Cancelled,
                () = stop.cancelled(), if stopped.is_none() => Stopped::Asked,
                () = at(deadline) => Stopped::Limit(limit.unwrap_or_default()),
            };
            hurried |= why == Stopped::Cancelled;
            let grace = if hurried { CANCEL_GRACE } else { LIMIT_GRACE };
            (phase, deadline) = match (phase, why) {
                (Phase::Free, _) => {
                    stopped = Some(why);
                    self.tree.signal(Signal::TERM);
                    (Phase::Asked, Some(Instant::now() + grace))
                }
                (Phase::Asked, Stopped::Cancelled) => (Phase::Asked, Some(Instant::now() + grace)),
                (Phase::Asked, Stopped::Limit(_) | Stopped::Asked) => {
                    self.tree.signal(Signal::KILL);
                    (Phase::Killed, Some(Instant::now() + KILL_PATIENCE))
                }
                (Phase::Killed, Stopped::Cancelled) => (Phase::Killed, deadline),
                (Phase::Killed, Stopped::Limit(_) | Stopped::Asked) => {
                    return (Exit::Unknown, stopped);
                }
            };
        }
    }

    /// Ends what is left of the command, unless it is known to be `alone`, and reads what it still
    /// said.
    async fn clear(
        &mut self,
        stopped: Option<Stopped>,
        alone: bool,
        sink: Sink<'_>,
    ) -> Vec<String> {
        let grace = match stopped {
            Some(Stopped::Limit(_) | Stopped::Asked) => LIMIT_GRACE,
            Some(Stopped::Cancelled) | None => SWEEP_GRACE,
        };
        if stopped.is_none() {
            self.output.drain(DRAIN_IDLE, DRAIN_TOTAL, sink).await;
        }
        let left_over = if alone { self.tree.gone() } else { self.tree.sweep(grace).await };
        self.output.drain(LAST_WORDS, DRAIN_IDLE, sink).await;
        // That a stopped command had more than one process is nothing to tell.
        if stopped.is_none() { left_over } else { Vec::new() }
    }
}

/// The reading end of both outputs.
struct Output {
    reader: pipe::Receiver,
    open: bool,
    buffer: Vec<u8>,
}

impl Output {
    /// Passes on the next bytes, or notes that there are no more. Cancel safe.
    async fn read(&mut self, sink: Sink<'_>) {
        let read = self.reader.read(&mut self.buffer).await.unwrap_or(0);
        self.open = read > 0;
        sink(self.buffer.get(..read).unwrap_or_default());
        // A flood must not keep what runs beside it from its turn.
        yield_now().await;
    }

    /// Reads to the end, to the first silence or for the given time.
    async fn drain(&mut self, idle: Duration, total: Duration, sink: Sink<'_>) {
        let end = Instant::now() + total;
        while self.open {
            let pause = end.min(Instant::now() + idle);
            if timeout_at(pause, self.read(sink)).await.is_err() {
                return;
            }
        }
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// A command that has just been started.
struct Started {
    child: Child,
    reader: pipe::Receiver,
    mark: String,
    /// What the box has to say, if there is one.
    report: Option<OwnedFd>,
}

fn start(spec: &CommandSpec<'_>) -> io::Result<Started> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (reader, writer) = io::pipe()?;
    let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mark = format!("{}{}", mark_prefix(), COUNT.fetch_add(1, Ordering::Relaxed));
    let (mut command, report) = match spec.confinement {
        Some(confinement) => {
            let (report, given) = confined::hand_over(confinement)?;
            (
                confined::command(&confinement.wrap(spec.folder, &given, &spec.argv)),
                Some((report, given)),
            )
        }
        None => (detached(&spec.argv), None),
    };
    command
        .current_dir(spec.folder)
        .stdin(stdin(spec.input)?)
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .envs(QUIET_ENV)
        .env(MARK, &mark)
        .kill_on_drop(true);
    for name in LOUD_ENV.into_iter().chain(spec.hidden_env.iter().map(String::as_str)) {
        command.env_remove(name);
    }
    // The command object holds a writing end, and goes out of scope here; so do the files for the box.
    let child = command.spawn()?;
    Ok(Started { child, reader, mark, report: report.map(|(report, _)| report) })
}

/// Where a command reads its input: in a file without a name, so that nobody has to feed it.
fn stdin(input: &[u8]) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

/// What the marks of all commands of this program begin with.
fn mark_prefix() -> String {
    format!("{}-", std::process::id())
}

/// A command in a session of its own, without a terminal. Making a session in the child itself
/// would need `unsafe`, so the `setsid` program does it and becomes the command. It forks if it
/// already leads a group; therefore it gets none.
#[expect(clippy::disallowed_methods, reason = "this is the file that starts processes")]
fn detached(argv: &[OsString]) -> Command {
    static SETSID: LazyLock<Option<PathBuf>> = LazyLock::new(|| find_program("setsid"));
    let (program, arguments) = argv.split_first().map_or((None, argv), |(p, a)| (Some(p), a));
    let program = program.cloned().unwrap_or_default();
    let mut command = Command::new(SETSID.as_deref().unwrap_or(Path::new(&program)));
    if SETSID.is_some() {
        command.arg(&program);
    } else {
        command.process_group(0);
    }
    command.args(arguments);
    command
}

fn not_started(spec: &CommandSpec<'_>, error: &io::Error) -> String {
    if !spec.folder.is_dir() {
        return format!("the folder {} is not there any more", spec.folder.display());
    }
    if error.kind() == io::ErrorKind::ArgumentListTooLong {
        let bytes: usize = spec.argv.iter().map(|argument| argument.len()).sum();
        return format!("{bytes} bytes are too long for a command; put them into a file");
    }
    let program = spec.argv.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    format!("{program}: {error}")
}

fn find_program(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

fn as_pid(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

#[cfg(test)]
mod tests;
