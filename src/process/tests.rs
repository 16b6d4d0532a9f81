use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tempfile::tempdir;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{CommandSpec, Ended, Exit, Shell, Stopped, run};

/// Generous: far above what is expected, far below what hanging would take.
const SOON: Duration = Duration::from_secs(20);

struct Case<'a> {
    folder: &'a Path,
    limit: Option<Duration>,
    cancel: CancellationToken,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Self { folder: Path::new("/"), limit: Some(SOON * 2), cancel: CancellationToken::new() }
    }
}

impl Case<'_> {
    async fn run(&self, command: &str) -> (Ended, String) {
        let spec = CommandSpec {
            argv: Shell::current().argv(command),
            folder: self.folder,
            input: &[],
            hidden_env: &[],
            limit: self.limit,
            confinement: None,
        };
        let mut output = Vec::new();
        let mut sink = |bytes: &[u8]| output.extend_from_slice(bytes);
        let begin = Instant::now();
        let ended = run(&spec, &self.cancel, &mut sink).await.unwrap();
        assert!(begin.elapsed() < SOON, "{command} did not return: {ended:?}");
        (ended, String::from_utf8_lossy(&output).into_owned())
    }
}

async fn plain(command: &str) -> (Ended, String) {
    Case::default().run(command).await
}

fn by_itself(ended: &Ended) -> Exit {
    assert_eq!((ended.stopped, &ended.left_over), (None, &Vec::new()));
    ended.exit
}

/// Running processes whose command line holds this text.
fn alive(text: &str) -> usize {
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        found += usize::from(line.contains(text));
    }
    found
}

#[tokio::test]
async fn the_end_is_told_as_it_was() {
    for (command, exit) in [
        ("true", Exit::Code(0)),
        ("exit 3", Exit::Code(3)),
        ("no-such-program-here", Exit::Code(127)),
        ("kill -9 $$", Exit::Signal(9)),
        ("kill -TERM $$", Exit::Signal(15)),
    ] {
        assert_eq!(by_itself(&plain(command).await.0), exit, "{command}");
    }
}

#[tokio::test]
async fn both_outputs_come_in_order() {
    let (_, output) = plain("for i in 1 2 3; do echo o$i; echo e$i >&2; done").await;
    assert_eq!(output, "o1\ne1\no2\ne2\no3\ne3\n");
}

#[tokio::test]
async fn a_command_starts_in_its_folder_with_empty_input() {
    let folder = tempdir().unwrap();
    let case = Case { folder: folder.path(), ..Case::default() };
    let (ended, output) = case.run("pwd; read x; echo \"got $? [$x]\"; cat").await;
    assert_eq!(by_itself(&ended), Exit::Code(0));
    let real = folder.path().canonicalize().unwrap();
    assert_eq!(output, format!("{}\ngot 1 []\n", real.display()));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_has_its_own_session_and_no_terminal() {
    let (_, output) = plain(
        "read -r pid name state parent group session tty rest < /proc/self/stat; \
        echo $((group == $$)) $((session == $$)) $tty; (: < /dev/tty) 2>/dev/null || echo none",
    )
    .await;
    assert_eq!(output, "1 1 0\nnone\n");
}

#[tokio::test]
async fn nothing_asks_pages_or_edits() {
    let (_, output) =
        plain("echo $GIT_TERMINAL_PROMPT $GIT_EDITOR $EDITOR $PAGER $GIT_PAGER $NO_COLOR $TERM")
            .await;
    assert_eq!(output, "0 true true cat cat 1 dumb\n");
}

#[tokio::test]
async fn hidden_variables_are_gone_and_others_stay() {
    let spec = CommandSpec {
        argv: Shell::current().argv("echo [$HOME_OF_TEST] [$CARGO_MANIFEST_DIR] [$PATH]"),
        folder: Path::new("/"),
        input: &[],
        hidden_env: &["CARGO_MANIFEST_DIR".to_owned(), "not set at all".to_owned()],
        limit: Some(SOON),
        confinement: None,
    };
    let mut output = Vec::new();
    let mut sink = |bytes: &[u8]| output.extend_from_slice(bytes);
    run(&spec, &CancellationToken::new(), &mut sink).await.unwrap();
    let output = String::from_utf8(output).unwrap();
    assert!(output.starts_with("[] [] [/"), "{output}");
}

#[tokio::test]
async fn the_time_limit_ends_all_of_it_and_keeps_the_output() {
    let limit = Duration::from_millis(300);
    let case = Case { limit: Some(limit), ..Case::default() };
    let (ended, output) = case.run("echo start; sleep 71.25 | cat; echo end").await;
    assert_eq!((ended.stopped, output.as_str()), (Some(Stopped::Limit(limit)), "start\n"));
    assert_eq!(ended.exit, Exit::Signal(15));
    assert_eq!(alive("sleep 71.25"), 0);
}

#[tokio::test]
async fn a_trap_at_the_time_limit_is_heard() {
    let case = Case { limit: Some(Duration::from_millis(300)), ..Case::default() };
    let (ended, output) = case.run("trap 'echo bye; exit 7' TERM; sleep 72.25").await;
    assert!(matches!(ended.stopped, Some(Stopped::Limit(_))));
    assert_eq!(ended.exit, Exit::Code(7));
    assert!(output.ends_with("bye\n"), "{output}");
}

#[tokio::test]
async fn who_ignores_the_polite_signal_is_killed() {
    let case = Case { limit: Some(Duration::from_millis(200)), ..Case::default() };
    let (ended, _) = case.run("trap '' TERM; while :; do sleep 73.25; done").await;
    assert_eq!(ended.exit, Exit::Signal(9));
    assert_eq!(alive("sleep 73.25"), 0);
}

#[tokio::test]
async fn a_cancel_ends_all_of_it() {
    let folder = tempdir().unwrap();
    for command in [
        "echo begun; bash -c 'sleep 2; touch late' | cat",
        "trap '' TERM; echo begun; setsid sh -c 'trap \"\" TERM; sleep 2; touch late' & wait; sleep 74.25",
    ] {
        let cancel = CancellationToken::new();
        let case = Case { folder: folder.path(), cancel: cancel.clone(), ..Case::default() };
        let later = async {
            sleep(Duration::from_millis(300)).await;
            cancel.cancel();
        };
        let ((ended, output), ()) = tokio::join!(case.run(command), later);
        assert_eq!((ended.stopped, output.as_str()), (Some(Stopped::Cancelled), "begun\n"));
        assert!(ended.took < Duration::from_secs(2), "{ended:?}");
    }
    sleep(Duration::from_millis(2_200)).await;
    assert!(!folder.path().join("late").exists());
    assert_eq!(alive("sleep 74.25"), 0);
}

#[tokio::test]
async fn cancelled_before_it_began_it_is_stopped_at_once() {
    let case = Case::default();
    case.cancel.cancel();
    let (ended, _) = case.run("sleep 75.25").await;
    assert_eq!(ended.stopped, Some(Stopped::Cancelled));
    assert_eq!(alive("sleep 75.25"), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_is_left_in_the_background_is_ended_and_named() {
    for (command, said, left) in [
        ("sleep 76.25 & echo ready", "ready\n", "sleep 76.25"),
        ("sleep 76.26 >/dev/null 2>&1 & echo up", "up\n", "sleep 76.26"),
        ("setsid sleep 76.27 & echo own", "own\n", "sleep 76.27"),
        ("nohup setsid sleep 76.28 >/dev/null 2>&1 & echo hup", "hup\n", "sleep 76.28"),
        ("set -m; sleep 76.29 & echo job", "job\n", "sleep 76.29"),
        ("env -i sleep 76.30 & echo bare", "bare\n", "sleep 76.30"),
        ("(trap '' TERM; exec sleep 76.31) & echo deaf", "deaf\n", "sleep 76.31"),
        ("sleep 76.32 & kill -STOP $!; echo still", "still\n", "sleep 76.32"),
    ] {
        let (ended, output) = plain(command).await;
        assert_eq!((ended.exit, ended.stopped), (Exit::Code(0), None), "{command}");
        assert_eq!(output, said, "{command}");
        assert!(ended.left_over.iter().any(|name| name.contains(left)), "{command}: {ended:?}");
        assert_eq!(alive(left), 0, "{command}");
    }
}

#[tokio::test]
async fn a_talking_child_does_not_hold_the_shell() {
    let (ended, output) = plain("(while :; do echo x; sleep 0.3; done) & echo go").await;
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(output.contains("go\n") && !ended.left_over.is_empty(), "{ended:?} {output}");
    let (ended, _) = plain("yes & true").await;
    assert_eq!((ended.exit, ended.left_over.len()), (Exit::Code(0), 1));
}

#[tokio::test]
async fn late_words_of_a_finished_child_are_heard() {
    let (ended, output) = plain("{ sleep 0.01; echo late; } & echo first").await;
    assert_eq!((by_itself(&ended), output.as_str()), (Exit::Code(0), "first\nlate\n"));
}

#[tokio::test]
async fn an_abandoned_run_leaves_nothing() {
    let run = tokio::time::timeout(Duration::from_millis(300), plain("sleep 77.25 | cat"));
    assert!(run.await.is_err());
    sleep(Duration::from_millis(300)).await;
    assert_eq!(alive("sleep 77.25"), 0);
}

#[tokio::test]
async fn a_flood_passes_through_bounded_memory() {
    let spec = CommandSpec {
        argv: Shell::current().argv("yes | head -c 50000000"),
        folder: Path::new("/"),
        input: &[],
        hidden_env: &[],
        limit: Some(SOON * 2),
        confinement: None,
    };
    let (mut total, mut largest) = (0, 0);
    let mut sink = |bytes: &[u8]| {
        total += bytes.len();
        largest = largest.max(bytes.len());
    };
    let ended = run(&spec, &CancellationToken::new(), &mut sink).await.unwrap();
    assert_eq!((by_itself(&ended), total), (Exit::Code(0), 50_000_000));
    assert!(largest <= super::CHUNK);
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    async fn check(argv: Vec<OsString>, folder: &str, expected: &str) {
        let spec = CommandSpec {
            argv,
            folder: Path::new(folder),
            input: &[],
            hidden_env: &[],
            limit: None,
            confinement: None,
        };
        let error = run(&spec, &CancellationToken::new(), &mut |_| ()).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let shell = Shell::current();
    check(shell.argv("true"), "/no/such/folder", "/no/such/folder is not there any more").await;
    check(shell.argv(&"x".repeat(3_000_000)), "/", "too long for a command").await;
    check(shell.argv("a\0b"), "/", "nul byte").await;
}

#[cfg(target_os = "linux")]
#[test]
fn a_shielded_process_cannot_be_looked_into() {
    use rustix::process::{DumpableBehavior, dumpable_behavior};
    super::shield();
    assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
}
