//! Faults of the system: a full disk, and a log, a workspace or a clock that changes under way.
//! Nothing is lost in silence, nothing of somebody else's is touched, and the exit code tells.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::support::assert::{assert_says, count};
use crate::support::env::{Env, Running};
use crate::support::log::Log;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, read, shell};
use crate::support::wait_until;

/// The same command by way of a shell script that ends in `exec "$@"`.
fn by_way_of(shell: &[&str], command: &Command) -> Command {
    let mut wrapped = Command::new(shell[0]);
    wrapped.args(&shell[1..]).arg("sh").arg(command.get_program()).args(command.get_args());
    wrapped.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    wrapped.current_dir(command.get_current_dir().expect("a folder")).process_group(0);
    wrapped
}

/// No file of this process can grow beyond so many bytes from here on; none = as far as it likes.
/// To a program this is a full disk, with a signal on top.
fn limit_files(running: &Running, bytes: Option<u64>) {
    let pid = i32::try_from(running.pid()).ok().and_then(Pid::from_raw);
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(pid, Resource::Fsize, limit).expect("a limit");
}

/// A provider that answers by the number of the request, and waits before the first answer until it
/// is told to go on.
fn held(mut answer: impl FnMut(usize) -> Reply + Send + 'static) -> (Provider, Sender<()>) {
    let (go, wait) = channel();
    let mut number = 0;
    let provider = Provider::answering(move |_| {
        if number == 0 {
            let _ = wait.recv();
        }
        number += 1;
        answer(number)
    });
    (provider, go)
}

/// Waits for the message in the log, then fills the disk up to `more` bytes behind it.
fn fill_disk(env: &Env, running: &Running, more: u64) -> u64 {
    wait_until("the message in the log", || {
        let text = fs::read_to_string(env.sessions().first()?).ok()?;
        text.contains("user_message").then_some(())
    });
    let size = env.log().bytes().len() as u64;
    limit_files(running, Some(size + more));
    size
}

/// Every line is whole and the positions have no gap.
#[track_caller]
fn assert_whole(log: &Log) {
    assert!(log.bytes().ends_with(b"\n"));
    let numbers: Vec<_> = log.lines.iter().skip(1).filter_map(|l| l["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..log.lines.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_disk_that_is_full_from_the_start_means_that_nothing_happens() {
    let provider = Provider::start([Reply::text("Fine.")]);
    let env = Env::new(&provider);
    let script = ["sh", "-c", "ulimit -S -f 0; exec \"$@\""];
    let full = by_way_of(&script, &env.command(&["-p", "hi"]));
    let output = Running::start(full, None).wait().expect_code(1);
    assert_says(&output.stderr, &["error: the session log cannot be written", "help: free some"]);
    assert!(provider.requests().is_empty() && env.sessions().is_empty());
    assert_eq!(env.ask("hi").stdout, "Fine.\n");
}

#[test]
fn an_answer_that_cannot_be_saved_is_an_error_and_leaves_whole_lines() {
    let (provider, go) = held(|_| Reply::text(&"word ".repeat(1000)));
    let env = Env::new(&provider);
    let running = env.begin("go");
    let size = fill_disk(&env, &running, 700);
    go.send(()).expect("a provider");
    let output = running.wait().expect_code(1);
    assert_says(&output.stderr, &["error:", "session log cannot be written", "help: free some"]);
    assert_eq!(count(&output.stderr, "cannot be written"), 1, "{}", output.stderr);
    assert_eq!(env.log().bytes().len() as u64, size, "no half line");
    let _ = env.go_on("again");
    assert_eq!(provider.last_request().roles(), "user user");
}

#[test]
fn no_tool_runs_that_is_not_in_the_log_and_no_outcome_is_invented() {
    let flood = shell("c1", "echo ran >> first; head -c 9000 /dev/zero | tr '\\0' a");
    let (provider, go) = held(move |number| match number {
        1 => Reply::calls([flood.clone(), shell("c2", "touch second")]),
        _ => Reply::text("I looked."),
    });
    let env = Env::new(&provider);
    let running = env.begin("go");
    fill_disk(&env, &running, 1500);
    go.send(()).expect("a provider");
    let output = running.wait().expect_code(1);
    assert_says(&output.stderr, &["error:", "session log cannot be written"]);
    assert_eq!(provider.requests().len(), 1);
    let _ = env.go_on("continue");
    let request = provider.last_request();
    assert_says(request.result("c1"), &["outcome unknown"]);
    assert_says(request.result("c2"), &["not started"]);
    assert_eq!((env.text("first").as_str(), env.exists("second")), ("ran\n", false));
}

/// A REPL that reads its lines from a pipe.
fn repl(env: &Env) -> (Running, ChildStdin) {
    Running::start_with_open_stdin(env.command(&["--permission-mode", "full"]))
}

#[test]
fn what_could_not_be_saved_is_written_once_there_is_room() {
    let flood = shell("c1", "echo ran >> first; head -c 9000 /dev/zero | tr '\\0' a");
    let (provider, go) = held(move |number| match number {
        1 => Reply::calls([flood.clone(), shell("c2", "touch second")]),
        _ => Reply::text("I looked."),
    });
    let env = Env::new(&provider);
    let (running, mut keys) = repl(&env);
    keys.write_all(b"go\n").expect("a pipe");
    fill_disk(&env, &running, 1500);
    go.send(()).expect("a provider");
    wait_until("the error", || running.stdout_so_far().contains("help: free some").then_some(()));
    limit_files(&running, None);
    keys.write_all(b"continue\n").expect("a pipe");
    let request = provider.wait_for_requests(2);
    // The outcome was kept, not the guess that a crash would have left.
    assert_says(request.result("c1"), &["aaaa"]);
    assert_says(request.result("c2"), &["not started"]);
    assert_eq!(request.last(), "continue");
    drop(keys);
    let _ = running.wait().expect_code(0);
    assert_whole(&env.log());
    assert!(!env.exists("second"));
}

#[test]
fn leaving_with_unsaved_events_says_so_and_fails() {
    let (provider, go) = held(|_| Reply::text(&"word ".repeat(1000)));
    let env = Env::new(&provider);
    let (running, mut keys) = repl(&env);
    keys.write_all(b"go\n").expect("a pipe");
    fill_disk(&env, &running, 700);
    go.send(()).expect("a provider");
    wait_until("the error", || running.stdout_so_far().contains("help: free some").then_some(()));
    drop(keys);
    let output = running.wait().expect_code(1);
    assert_says(&output.stdout, &["2 events could not be saved"]);
}

#[test]
fn a_small_disk_that_fills_up_is_survived() {
    let provider = Provider::answering(|request| match request.last() {
        "one" => Reply::text(&"word ".repeat(20_000)),
        _ => Reply::text("Fine."),
    });
    let env = Env::new(&provider);
    // A file system of its own, seen by this shell alone and gone with it.
    let script = r#"mount -t tmpfs -o size=64k tmpfs "$PWD" 2>/dev/null || exit 99
        cd "$PWD"; "$@" one; echo "code $?"
        "$@" two; echo "code $?"; tail -c 1 .xsh/sessions/*.jsonl | od -c"#;
    let shell = ["unshare", "-m", "sh", "-c", script];
    let command = by_way_of(&shell, &env.command(&["-p"]));
    let output = Running::start(command, None).wait();
    if output.code == 99 || output.stderr.contains("unshare") {
        println!("skipped: this user cannot mount a file system");
        return;
    }
    assert_eq!(count(&output.stdout, "code 1"), 1, "{output:?}");
    assert_says(&output.stderr, &["No space left on device", "help: free some"]);
    assert_says(&output.stdout, &["\\n"]);
}

/// What happens to the session's file while a tool runs, and what is said of it.
const TAKEN_AWAY: [(&str, &str); 6] = [
    ("rm -rf .xsh", "was removed"),
    ("rm .xsh/sessions/*.jsonl", "was removed"),
    ("for f in .xsh/sessions/*.jsonl; do mv $f moved; echo theirs > $f; done", "was replaced"),
    ("for f in .xsh/sessions/*.jsonl; do : > $f; done", "was changed"),
    ("for f in .xsh/sessions/*.jsonl; do head -c 900 $f > x; cat x > $f; done", "was changed"),
    ("for f in .xsh/sessions/*.jsonl; do echo theirs >> $f; done", "was changed"),
];

#[test]
fn a_session_whose_file_is_taken_away_goes_on_whole() {
    for (command, expected) in TAKEN_AWAY {
        let provider = Provider::start([
            Reply::text("Noted."),
            Reply::calls([read("c1", "a.txt"), shell("c2", command), read("c3", "a.txt")]),
            Reply::text("Done."),
            Reply::text("Next."),
        ]);
        let env = Env::new(&provider);
        env.write("a.txt", "alpha\n");
        let _ = env.ask("remember the alamo");
        let output = env.go_on("go");
        assert_eq!(count(&output.stderr, "warning:"), 1, "{command}: {}", output.stderr);
        assert_says(&output.stderr, &[expected, "goes on as|written again"]);
        let _ = env.go_on("next");
        let request = provider.last_request();
        assert_eq!(
            request.roles(),
            "user assistant user assistant tool tool tool assistant user",
            "{command}"
        );
        assert_eq!(request.mentions("alamo"), 1);
        assert_eq!(request.message_bytes().find(provider.request(2).message_bytes()), Some(0));
        let theirs = env.sessions().into_iter().find(|path| count_lines(path, "theirs") > 0);
        let kept = theirs.map(|path| fs::read_to_string(path).expect("text"));
        assert!(kept.is_none_or(|text| text.ends_with("theirs\n")), "{command}");
    }
}

fn count_lines(path: &Path, line: &str) -> usize {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|found| *found == line).count()
}

/// The session files in the user's state folder.
fn in_state_folder(env: &Env) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(env.home().join("state")).into_iter().flatten();
    let paths = entries.map(walkdir::DirEntry::into_path);
    paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}

#[test]
fn a_session_outlives_its_workspace() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "rm -rf \"$PWD\""), shell("c2", "true"), read("c3", "a.txt")]),
        Reply::text("It is gone."),
    ]);
    let env = Env::new(&provider);
    let output = env.turn_free("go").expect_code(0);
    assert_says(&output.stderr, &["warning:", "was removed"]);
    let request = provider.last_request();
    assert_says(request.result("c2"), &["is not there any more"]);
    assert!(!env.workspace().exists(), "nothing is made again that the user has removed");
    let kept = in_state_folder(&env);
    assert_eq!(kept.len(), 1);
    assert_eq!(Log::load(&kept[0]).ending(), "completed");
}

#[test]
fn a_workspace_that_goes_before_the_first_message_is_not_made_again() {
    let provider = Provider::start([Reply::text("Fine.")]);
    let env = Env::new(&provider);
    let (running, mut keys) = repl(&env);
    wait_until("the beginning", || (!running.stdout_so_far().is_empty()).then_some(()));
    fs::remove_dir_all(env.workspace()).expect("removed");
    keys.write_all(b"hi\n").expect("a pipe");
    provider.wait_for_requests(1);
    drop(keys);
    let output = running.wait().expect_code(0);
    assert_says(&output.stdout, &["workspace is gone"]);
    assert_eq!((env.workspace().exists(), in_state_folder(&env).len()), (false, 1));
}

#[test]
fn a_start_in_a_folder_that_is_gone_is_told() {
    let provider = Provider::start([]);
    let env = Env::new(&provider);
    let script = ["sh", "-c", "mkdir gone; cd gone; rmdir ../gone; exec \"$@\""];
    let command = by_way_of(&script, &env.command(&["-p", "hi"]));
    let output = Running::start(command, None).wait();
    assert_ne!(output.code, 0);
    assert_says(&output.stderr, &["error:", "folder|directory"]);
}

#[test]
fn a_debug_log_on_a_full_disk_stops_nothing() {
    let provider = Provider::start([Reply::text("Fine.")]);
    let env = Env::new(&provider);
    let output = env.run(&["--debug-log", "/dev/full", "-p", "hi"]).expect_code(0);
    assert_eq!(output.stdout, "Fine.\n");
}

#[test]
fn a_clock_that_was_wrong_hides_no_session() {
    let provider = Provider::answering(|request| Reply::text(&format!("On {}.", request.last())));
    let env = Env::new(&provider);
    for (prompt, seconds) in [("alpha", 2_208_988_800), ("beta", 1)] {
        let _ = env.ask(prompt);
        let latest = env.sessions().into_iter().find(|path| count_of(path, prompt) > 0);
        let file = fs::File::options().append(true).open(latest.expect("a session"));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.and_then(|file| file.set_modified(time)).expect("a time");
    }
    // The one used last is noted, whatever the times say.
    let _ = env.go_on("gamma");
    assert_eq!(provider.last_request().mentions("beta"), 2);
    let listed = env.run(&["sessions", "list"]).expect_code(0).stdout;
    assert_says(&listed, &["alpha", "beta"]);
}

fn count_of(path: &Path, word: &str) -> usize {
    count(&fs::read_to_string(path).unwrap_or_default(), word)
}
