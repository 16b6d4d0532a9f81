//! A clean place to run xsh in: its own home, workspace and environment, and nothing else.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

use super::PATIENCE;
use super::log::Log;
use super::provider::Provider;

/// The key that every test uses; no output may ever hold it.
pub const KEY: &str = "sk-test-0123456789abcdef";
/// The model that every test uses.
pub const MODEL: &str = "test-model";

/// A home, a workspace and an environment.
pub struct Env {
    root: TempDir,
    workspace: PathBuf,
    vars: Vec<(String, String)>,
}

impl Env {
    /// No provider is configured.
    pub fn bare() -> Self {
        Self::bare_in(&std::env::temp_dir())
    }

    /// Likewise, in a certain folder.
    pub fn bare_in(folder: &Path) -> Self {
        let root = TempDir::with_prefix_in("xsh-it-", folder).expect("a temporary folder");
        let base = root.path().canonicalize().expect("a real path");
        let place = |name: &str| {
            let path = base.join(name);
            fs::create_dir_all(&path).expect("a folder");
            path.to_str().expect("UTF-8").to_owned()
        };
        let mut vars: Vec<(String, String)> = [
            ("HOME", place("home")),
            ("XDG_CONFIG_HOME", place("home/config")),
            ("XDG_STATE_HOME", place("home/state")),
            ("XDG_DATA_HOME", place("home/data")),
            ("XDG_CACHE_HOME", place("home/cache")),
            ("TMPDIR", place("tmp")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let path = std::env::var("PATH").expect("a PATH");
        vars.extend(
            [("PATH", path.as_str()), ("LANG", "C.UTF-8"), ("TERM", "xterm-256color")].map(own),
        );
        Self { workspace: place("work").into(), root, vars }
    }

    /// The provider is configured by environment variables.
    pub fn new(provider: &Provider) -> Self {
        Self::bare().with(provider)
    }

    /// The provider is configured by environment variables.
    pub fn with(self, provider: &Provider) -> Self {
        let mut env = self;
        env.set("XSH_BASE_URL", &provider.base_url());
        env.set("XSH_API_KEY", KEY);
        env.set("XSH_MODEL", MODEL);
        env
    }

    /// Sets a variable for the runs to come.
    pub fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.vars.push(own((name, value)));
    }

    pub fn unset(&mut self, name: &str) {
        self.vars.retain(|(key, _)| key != name);
    }

    /// Writes the user's configuration file.
    pub fn config(&self, toml: &str) {
        let folder = self.home().join("config/xsh");
        fs::create_dir_all(&folder).expect("the configuration folder");
        fs::write(folder.join("config.toml"), toml).expect("the configuration");
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The folder that holds everything.
    pub fn root(&self) -> PathBuf {
        self.root.path().canonicalize().expect("a real path")
    }

    /// Leaves everything where it is when the test is over, to be looked at.
    pub fn keep(&mut self) {
        self.root.disable_cleanup(true);
    }

    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Runs happen in this folder (made if needed, relative to the root) from here on.
    pub fn enter(&mut self, folder: &str) {
        self.workspace = self.root().join(folder);
        fs::create_dir_all(&self.workspace).expect("a workspace");
    }

    /// The absolute path of a file in the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.workspace.join(name)
    }

    /// Writes a file in the workspace, with its folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    /// The bytes of a file in the workspace.
    #[track_caller]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The text of a file in the workspace.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("UTF-8")
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The session files of the workspace, oldest first.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(".xsh/sessions")).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut logs: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
        // Two of the same second differ by chance in their names: the header tells the order.
        logs.sort_by_key(|path| created_at(path));
        logs
    }

    /// The only session of the workspace.
    #[track_caller]
    pub fn log(&self) -> Log {
        let sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "expected one session: {sessions:?}");
        Log::load(&sessions[0])
    }

    /// `xsh` with arguments, in this environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xsh"));
        command.args(args).current_dir(&self.workspace).env_clear().process_group(0);
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs to the end where no model server of this machine can be found: without any network, as far
    /// as the system lets one shut it out.
    pub fn run_alone(&self, args: &[&str]) -> Output {
        let alone = ["--user", "--map-root-user", "--net", "--"];
        let can = Command::new("unshare").args(alone).arg("true").stderr(Stdio::null()).status();
        if !can.is_ok_and(|status| status.success()) {
            return self.run(args);
        }
        let mut command = Command::new("unshare");
        command.args(alone).arg(env!("CARGO_BIN_EXE_xsh")).args(args);
        command.current_dir(&self.workspace).env_clear().process_group(0);
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        Running::start(command, None).wait()
    }

    /// The environment, for a process that is not started by [`Env::command`].
    pub fn vars(&self) -> &[(String, String)] {
        &self.vars
    }

    /// Runs to the end with an empty stdin.
    pub fn run(&self, args: &[&str]) -> Output {
        self.spawn(args).wait()
    }

    /// Runs to the end with this on stdin.
    pub fn run_with(&self, args: &[&str], stdin: &str) -> Output {
        Running::start(self.command(args), Some(stdin)).wait()
    }

    /// One headless turn in which everything is permitted.
    pub fn turn(&self, prompt: &str) -> Output {
        self.run(&["--permission-mode", "auto", "-p", prompt])
    }

    /// Likewise, and commands run outside of the sandbox.
    pub fn turn_free(&self, prompt: &str) -> Output {
        self.run(&["--permission-mode", "full", "-p", prompt])
    }

    /// One such turn, which must end well.
    #[track_caller]
    pub fn ask(&self, prompt: &str) -> Output {
        self.turn(prompt).expect_code(0)
    }

    /// Goes on with the latest session: one such turn, which must end well.
    #[track_caller]
    pub fn go_on(&self, prompt: &str) -> Output {
        self.run(&["--permission-mode", "full", "-c", "-p", prompt]).expect_code(0)
    }

    /// Begins one headless turn in which everything is permitted.
    pub fn begin(&self, prompt: &str) -> Running {
        self.spawn(&["--permission-mode", "full", "-p", prompt])
    }

    /// Starts with an empty stdin and does not wait.
    pub fn spawn(&self, args: &[&str]) -> Running {
        Running::start(self.command(args), None)
    }

    /// Replaces what differs from run to run by names, for snapshots.
    pub fn normalise(&self, text: &str) -> String {
        let root = regex::escape(self.root().to_str().expect("UTF-8"));
        let filters = [
            (root.as_str(), "[ROOT]"),
            (r"\d{8}T\d{6}Z-[0-9a-z]+", "[ID]"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
            (r"\b\d+(\.\d+)? ?(ms|s)\b", "[DURATION]"),
            (r#""duration_ms":\d+"#, r#""duration_ms":[MS]"#),
            (r"127\.0\.0\.1:\d+", "[HOST]"),
        ];
        filters.iter().fold(text.to_owned(), |text, (pattern, name)| {
            regex::Regex::new(pattern).expect("a filter").replace_all(&text, *name).into_owned()
        })
    }
}

/// The time in a session's header; empty for what is no session.
fn created_at(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let header: serde_json::Value = serde_json::from_slice(first).unwrap_or_default();
    header["created_at"].as_str().unwrap_or_default().to_owned()
}

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// What a finished run left. Must be looked at.
#[must_use]
#[derive(Debug)]
pub struct Output {
    /// The exit code, or 128 + the signal.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Fails unless the exit code is this; gives the output back.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n-- stdout\n{}\n-- stderr\n{}", self.stdout, self.stderr);
        super::assert::assert_no_crash(&self.stderr);
        self
    }

    /// The lines of a JSON stream on stdout.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// A run that has not ended.
#[must_use]
pub struct Running {
    child: Child,
    stdout: Collector,
    stderr: Collector,
}

/// Reads a pipe to its end on a thread.
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Collector {
    fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&bytes);
        let thread = thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                sink.extend(buffer.iter().take(count));
            }
        });
        Self { bytes, thread }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits a little for the pipe's end; a stray child may keep it open.
    fn end(self) -> String {
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.thread.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.text()
    }
}

impl Running {
    /// Starts a command with this on stdin, or nothing.
    pub fn start(mut command: Command, stdin: Option<&str>) -> Self {
        command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut running = Self::start_with(command);
        if let (Some(mut pipe), Some(text)) = (running.child.stdin.take(), stdin) {
            // A program that does not read its input may have closed it.
            let _ = pipe.write_all(text.as_bytes());
        }
        running
    }

    fn start_with(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdout = Collector::start(child.stdout.take().expect("piped"));
        let stderr = Collector::start(child.stderr.take().expect("piped"));
        Self { child, stdout, stderr }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts a command whose stdin stays open and silent for as long as the pipe is kept.
    pub fn start_with_open_stdin(mut command: Command) -> (Self, ChildStdin) {
        command.stdin(Stdio::piped());
        let mut running = Self::start_with(command);
        let pipe = running.child.stdin.take().expect("piped");
        (running, pipe)
    }

    /// Sends a signal to xsh alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.rustix_pid(), signal).expect("xsh is alive");
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// `kill -9`, and waits for the death.
    pub fn kill(mut self) {
        self.child.kill().expect("xsh is alive");
        self.child.wait().expect("xsh is waited for");
    }

    /// What has come out so far.
    pub fn stdout_so_far(&self) -> String {
        self.stdout.text()
    }

    /// What has come out so far.
    pub fn stderr_so_far(&self) -> String {
        self.stderr.text()
    }

    /// Waits for the end; a run that takes too long is killed and fails the test.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        let status = self.wait_status();
        if status.is_none() {
            let _ = kill_process_group(self.rustix_pid(), Signal::KILL);
            let _ = self.child.wait();
        }
        let (stdout, stderr) = (self.stdout.end(), self.stderr.end());
        let status =
            status.unwrap_or_else(|| panic!("xsh hung\n-- stdout\n{stdout}\n-- stderr\n{stderr}"));
        Output { code: exit_code(status), stdout, stderr }
    }

    fn wait_status(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("xsh can be waited for") {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    }

    fn rustix_pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).expect("ended")
}

#[cfg(test)]
#[path = "env_tests.rs"]
mod tests;
