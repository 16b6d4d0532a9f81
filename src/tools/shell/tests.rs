use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::{TempDir, tempdir};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::{Args, Shell, changes_folder, time_limit};
use crate::event::FileChange;
use crate::jobs::Jobs;
use crate::tools::output::RESULT_BYTES;
use crate::tools::paths::Workspace;
use crate::tools::registry::Registry;
use crate::tools::{Effect, Journal, Outcome, Tool, ToolContext};

/// A workspace to run tools in.
pub(crate) struct Bench {
    folder: TempDir,
    runtime: Runtime,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) cancel: CancellationToken,
    pub(crate) hidden_env: Vec<String>,
}

struct NoJournal;

impl Journal for NoJournal {
    fn file_change(&self, _: FileChange, _: Option<&[u8]>) -> Result<(), String> {
        Err("there is no log".to_owned())
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempdir().unwrap(),
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            jobs: Arc::default(),
            cancel: CancellationToken::new(),
            hidden_env: Vec::new(),
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Runs a tool as the driver does: on a blocking thread, with the runtime turning elsewhere.
    pub(crate) fn run<F>(&self, body: F) -> Outcome
    where
        F: FnOnce(&ToolContext<'_>) -> Outcome + Send + 'static,
    {
        let handle = self.runtime.handle().clone();
        let jobs = Arc::clone(&self.jobs);
        let (root, cancel) = (self.root(), self.cancel.clone());
        let hidden_env = self.hidden_env.clone();
        let task = self.runtime.spawn_blocking(move || {
            let output_dir = root.join("outputs");
            body(&ToolContext {
                target: None,
                workspace: &Workspace {
                    root,
                    extra: Vec::new(),
                    rules: crate::policy::rules::PathRules::default(),
                },
                session_id: "",
                call_id: "call_1",
                known: &BTreeMap::new(),
                cancel: &cancel,
                journal: &NoJournal,
                output_dir: &output_dir,
                hidden_env: &hidden_env,
                masks: &crate::mask::Masks::default(),
                sandbox: None,
                jobs: &jobs,
                runtime: &handle,
            })
        });
        self.runtime.block_on(task).unwrap()
    }

    fn shell(&self, command: &str, timeout_seconds: Option<i64>) -> Outcome {
        let args = Args {
            command: command.to_owned(),
            timeout_seconds,
            background: None,
            outside_sandbox: None,
        };
        self.call(args)
    }

    pub(crate) fn call(&self, args: Args) -> Outcome {
        self.run(move |context| Shell::run(args, context))
    }

    /// Does what runs beside the tools until then.
    pub(crate) fn turn<T>(&self, until: impl Future<Output = T>) -> T {
        self.runtime.block_on(until)
    }
}

/// Runs a command, checks its success, and returns its result without the time it took.
fn check(command: &str, is_error: bool) -> String {
    let outcome = Bench::new().shell(command, Some(20));
    assert_eq!(outcome.is_error, is_error, "{command}: {}", outcome.content);
    timeless(&outcome.content)
}

/// With `0.1 s` and the like as `T`.
pub(crate) fn timeless(text: &str) -> String {
    regex::Regex::new(r"\d+(\.\d)? s\b").unwrap().replace_all(text, "T").into_owned()
}

#[test]
fn the_result_is_the_output_and_its_end() {
    assert_eq!(check("echo hi; echo there >&2", false), "hi\nthere\n[exit code 0 · T]");
    assert_eq!(check("true", false), "(no output)\n[exit code 0 · T]");
    assert_eq!(check("echo no; exit 3", true), "no\n[exit code 3 · T]");
    assert_eq!(check("kill -9 $$", true), "(no output)\n[killed by signal 9 (SIGKILL) · T]");
    assert_eq!(
        check("printf '\\033[31mred\\033[0m\\n1%%\\r2%%\\n'", false),
        "red\n1%\n2%\n[exit code 0 · T]"
    );
}

#[test]
fn the_summary_is_a_few_words() {
    let bench = Bench::new();
    for (command, summary) in [
        ("echo a; echo b", "exit 0 · 2 lines"),
        ("echo a", "exit 0 · 1 line"),
        ("exit 2", "exit 2 · 0 lines"),
        ("kill -9 $$", "signal 9 (SIGKILL) · 0 lines"),
    ] {
        assert_eq!(bench.shell(command, None).summary, summary);
    }
    assert_eq!(bench.shell("echo a; sleep 30", Some(1)).summary, "time limit of 1 s · 1 line");
}

#[test]
fn what_cannot_be_a_command_is_refused() {
    assert!(check("", true).starts_with("The command is empty; nothing was run."));
    assert!(check(" \n\t", true).starts_with("The command is empty"));
    assert!(check("echo a\0b", true).starts_with("The command holds a NUL character"));
    let long = format!("echo {}", "x".repeat(3_000_000));
    assert!(check(&long, true).contains("too long for a command; put them into a file"));
}

#[test]
fn the_time_limit_is_said_and_the_output_kept() {
    let outcome = Bench::new().shell("echo start; sleep 30; echo end", Some(1));
    assert!(outcome.is_error);
    let expected =
        "start\n[killed after 1 s by the time limit · signal 15 (SIGTERM)]\n[if it needs longer";
    assert!(outcome.content.starts_with(expected), "{}", outcome.content);
    let outcome = Bench::new().shell("trap 'exit 7' TERM; sleep 30", Some(1));
    let expected = "[killed after 1 s by the time limit · exit code 7]";
    assert!(outcome.content.contains(expected), "{}", outcome.content);
}

#[test]
fn a_limit_out_of_range_is_clamped_and_said() {
    for (asked, seconds) in [(0, 1), (-5, 1), (601, 600), (i64::MAX, 600), (i64::MIN, 1)] {
        let (limit, note) = time_limit(Some(asked));
        assert_eq!(limit, seconds);
        let note = note.unwrap();
        assert!(note.contains(&format!("1 to 600: {asked} was taken as {seconds}")), "{note}");
    }
    for (asked, seconds) in [(None, 120), (Some(1), 1), (Some(600), 600)] {
        assert_eq!(time_limit(asked), (seconds, None));
    }
    let outcome = Bench::new().shell("echo x", Some(120_000));
    assert!(outcome.content.contains("120000 was taken as 600"), "{}", outcome.content);
}

#[test]
fn an_interrupt_is_said_and_the_output_kept() {
    let bench = Bench::new();
    let cancel = bench.cancel.clone();
    let interrupt = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(400));
        cancel.cancel();
    });
    let outcome = bench.shell("echo begun; sleep 30", None);
    interrupt.join().unwrap();
    assert!(outcome.is_error);
    let text = timeless(&outcome.content);
    assert_eq!(text, "begun\n[stopped after T because the user interrupted · signal 15 (SIGTERM)]");
    assert_eq!(outcome.summary, "interrupted · 1 line");
}

#[cfg(target_os = "linux")]
#[test]
fn stopped_background_processes_are_named() {
    let text = check("sleep 81.25 & echo ready", false);
    let end = "[1 background process was still running and was stopped: sleep 81.25]\n[what is to go on \
               needs `background`, and no `&`]";
    assert_eq!(text, format!("ready\n[exit code 0 · T]\n{end}"));
    let text = check("for i in 1 2 3 4 5 6; do sleep 82.25 & done", false);
    assert!(text.contains("[6 background processes were still running"), "{text}");
    assert!(text.contains("sleep 82.25 and 2 more]\n"), "{text}");
}

#[test]
fn commands_that_want_input_end_with_a_hint() {
    let input = "[it may have asked for input";
    assert_eq!(check("read x; echo got", false), "got\n[exit code 0 · T]");
    let git = "git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty";
    assert!(check(git, true).contains(input));
    assert!(check("read -r x < /dev/tty", true).contains(input));
    assert!(
        check("echo 'sudo: a terminal is required to read the password'; exit 1", true)
            .contains(input)
    );
    assert!(!check("echo fine; exit 1", true).contains(input));
    assert!(!check("echo /dev/tty", false).contains(input));
}

#[test]
fn every_command_starts_in_the_workspace_again() {
    let bench = Bench::new();
    let root = bench.root();
    let first = timeless(&bench.shell("mkdir sub; cd sub && pwd", None).content);
    let (root, again) =
        (root.display(), format!("[the next command starts in {} again]", root.display()));
    assert_eq!(first, format!("{root}/sub\n[exit code 0 · T]\n{again}"));
    assert_eq!(timeless(&bench.shell("pwd", None).content), format!("{root}\n[exit code 0 · T]"));
    for (command, changes) in [
        ("cd x", true),
        ("a&&cd x", true),
        ("(cd x; ls)", true),
        ("ls\ncd x", true),
        ("pushd x", true),
        ("echo abcd", false),
        ("cdrecord", false),
        ("ls | grep x", false),
    ] {
        assert_eq!(changes_folder(command), changes, "{command}");
    }
}

#[test]
fn keys_are_not_in_the_environment() {
    // The only way to a variable that this process has: those that cargo sets for its tests.
    let mut bench = Bench::new();
    let command = "env | grep -c ^CARGO_PKG_NAME=; echo [$CARGO_PKG_NAME] [$CARGO_PKG_VERSION]";
    assert!(bench.shell(command, None).content.starts_with("1\n[xsh] [0"));
    bench.hidden_env = vec!["CARGO_PKG_NAME".to_owned()];
    assert!(bench.shell(command, None).content.starts_with("0\n[] [0"));
}

#[test]
fn a_flood_is_cut_and_kept_in_a_file() {
    let bench = Bench::new();
    let outcome = bench.shell("seq 1 100000", None);
    let text = &outcome.content;
    assert!(text.len() <= RESULT_BYTES && text.starts_with("1\n2\n3\n"), "{text}");
    assert!(timeless(text).ends_with("\n99999\n100000\n[exit code 0 · T]"), "{text}");
    let path = bench.root().join("outputs/call_1.txt");
    assert!(text.contains(&format!("the whole output is in {} …]", path.display())), "{text}");
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 100_000);
    assert_eq!(outcome.summary, "exit 0 · 100,000 lines");
    let line = bench.shell("head -c 1000000 /dev/zero | tr '\\0' a; echo; echo end", None).content;
    assert!(line.len() <= RESULT_BYTES && line.contains("aaa\nend\n[exit code 0"), "{line}");
    let bars = bench.shell("for i in $(seq 1 20000); do printf \"$i%%\\r\"; done", None).content;
    assert_eq!(
        timeless(&bars),
        "1%\n20000%\n[19,998 states of redrawn lines are left out]\n[exit code 0 · T]"
    );
}

#[test]
fn the_offer_is_small_stable_and_names_the_dialect() {
    let registry = Registry::default().with::<Shell>();
    let wire = registry.wire();
    assert_eq!(wire, Registry::default().with::<Shell>().wire());
    assert!(wire.len() < 1_000, "{}", wire.len());
    assert!(wire.contains("command in bash:") || wire.contains("command in sh:"), "{wire}");
    assert!(!wire.contains('{'.to_string().repeat(3).as_str()) && !wire.contains("{shell}"));
}

#[test]
fn policy_sees_the_very_command_and_the_screen_one_line() {
    let command = "  ls\n  pwd \n".to_owned();
    let mut args = Args { command, timeout_seconds: None, background: None, outside_sandbox: None };
    assert_eq!(Shell::effect(&args), Effect::Exec { command: args.command.clone(), leave: None });
    assert_eq!(Shell::subject(&args), "ls ↵ pwd");
    args.background = Some(true);
    assert_eq!(Shell::effect(&args), Effect::Exec { command: args.command.clone(), leave: None });
    assert_eq!(Shell::subject(&args), "(background) ls ↵ pwd");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_limit_is_in_range(asked in any::<Option<i64>>()) {
        let (seconds, note) = time_limit(asked);
        prop_assert!((1..=600).contains(&seconds));
        prop_assert_eq!(note.is_none(), asked.is_none_or(|asked| (1..=600).contains(&asked)));
    }
}
