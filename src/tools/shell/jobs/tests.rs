use std::time::Duration;

use super::super::tests::{Bench, timeless};
use super::super::{Args, Shell};
use super::{Request, news};
use crate::jobs::MAX_RUNNING;
use crate::tools::output::RESULT_BYTES;
use crate::tools::{Effect, Outcome, Tool};

fn args(command: &str, background: bool) -> Args {
    let background = background.then_some(true);
    Args { command: command.to_owned(), timeout_seconds: None, background, outside_sandbox: None }
}

fn start(bench: &Bench, command: &str) -> Outcome {
    bench.call(args(command, true))
}

/// Runs a command about jobs.
fn say(bench: &Bench, command: &str) -> Outcome {
    bench.call(args(command, false))
}

#[test]
fn only_whole_commands_are_about_jobs() {
    for (command, expected) in [
        ("jobs", Request::List),
        (" jobs -l\n", Request::List),
        ("jobs 1", Request::Look(1)),
        ("jobs %12", Request::Look(12)),
        ("wait %2", Request::Wait(2)),
        ("wait 2", Request::Wait(2)),
        ("kill %3", Request::Stop(3)),
        ("kill -9 %3", Request::Stop(3)),
        ("kill 3", Request::Run),
        ("kill -9 3", Request::Run),
        ("kill %x", Request::Run),
        ("kill %1 %2", Request::Run),
        ("wait", Request::Run),
        ("jobs 1; ls", Request::Run),
        ("jobs\nls", Request::Run),
        ("jobs | cat", Request::Run),
        ("jobs x", Request::Run),
        ("jobs 99999999999", Request::Run),
        ("ls", Request::Run),
    ] {
        assert_eq!(Request::of(&args(command, false)), expected, "{command}");
        let started = if expected == Request::Run { Request::Start } else { expected };
        assert_eq!(Request::of(&args(command, true)), started, "{command}");
    }
}

#[test]
fn what_is_about_jobs_runs_nothing() {
    for (command, background, effect) in [
        ("jobs", false, Effect::Read),
        ("jobs 1", true, Effect::Read),
        ("wait %1", false, Effect::Read),
        ("kill %1", false, Effect::Stop),
        ("jobs 1;ls", false, Effect::Exec { command: "jobs 1;ls".into(), leave: None }),
        ("make run", true, Effect::Exec { command: "make run".into(), leave: None }),
    ] {
        assert_eq!(Shell::effect(&args(command, background)), effect, "{command}");
    }
}

#[test]
fn a_job_is_started_looked_at_and_stopped() {
    let bench = Bench::new();
    let first =
        start(&bench, "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; sleep 300");
    let text = timeless(&first.content);
    assert!(!first.is_error, "{text}");
    assert!(text.starts_with("one\n[job 1 (echo one; while"), "{text}");
    assert!(text.contains(") is running, for T]\n[`jobs 1` shows what is new"), "{text}");
    let file = bench.root().join("outputs/job-1.txt");
    assert!(text.ends_with(&format!("[the whole output goes to {}]", file.display())), "{text}");
    assert_eq!(first.summary, "running · 1 new line");

    let nothing = say(&bench, "jobs 1");
    assert!(nothing.content.starts_with("(no output)\n[job 1 "), "{}", nothing.content);
    std::fs::write(bench.root().join("go"), "").unwrap();
    let seen = bench.until(|| say(&bench, "jobs 1").content, |text| text.starts_with("two"));
    assert!(seen.starts_with("two\n[job 1 "), "{seen}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");

    let stopped = say(&bench, "kill %1");
    let text = timeless(&stopped.content);
    assert!(!stopped.is_error && stopped.summary == "stopped · 0 new lines", "{stopped:?}");
    assert!(text.contains(") has ended: stopped after T · signal 15 (SIGTERM)]"), "{text}");
    assert!(bench.jobs.running().is_empty());
    assert_eq!(news(&bench.jobs), "", "it has been told");
}

#[test]
fn who_does_not_hear_is_killed() {
    let bench = Bench::new();
    start(&bench, "trap '' TERM; while :; do sleep 91.25; done");
    let text = say(&bench, "kill %1").content;
    assert!(text.contains("signal 9 (SIGKILL)"), "{text}");
}

#[test]
fn one_that_ends_at_once_says_how() {
    let bench = Bench::new();
    let failed = start(&bench, "echo no; exit 3");
    let text = timeless(&failed.content);
    assert!(failed.is_error && failed.summary == "exit 3 · 1 new line", "{failed:?}");
    assert!(
        text.starts_with("no\n[job 1 (echo no; exit 3) has ended: exit code 3 · T]\n"),
        "{text}"
    );
    assert!(!text.contains("`jobs 1`"), "{text}");
    let lost = start(&bench, "sleep 92.25 &").content;
    assert!(
        lost.contains(
            "was stopped: sleep 92.25]\n[what is to go on needs `background`, and no `&`]"
        )
    );
    assert!(!say(&bench, "wait %1").content.contains("no\n"), "it has been seen");
}

#[test]
fn waiting_ends_with_the_job_or_the_time() {
    let bench = Bench::new();
    start(&bench, &format!("{GATE}; echo done"));
    bench.open_gate();
    let waited = say(&bench, "wait %1");
    let text = timeless(&waited.content);
    assert!(
        text.starts_with("done\n[job 1 (") && text.contains(") has ended: exit code 0 · T]"),
        "{text}"
    );
    start(&bench, "sleep 300");
    let waited = bench.call(Args { timeout_seconds: Some(1), ..args("wait %2", false) });
    assert!(waited.content.contains("is running, for"), "{}", waited.content);
    assert!(waited.content.contains("[waited for 1 s;"), "{}", waited.content);
    bench.cancel.cancel();
    let waited = say(&bench, "wait %2");
    assert!(waited.content.contains("[the user interrupted the wait, not the job]"));
    assert_eq!(bench.jobs.running().len(), 1);
}

#[test]
fn what_is_not_there_is_said() {
    let bench = Bench::new();
    for command in ["jobs 1", "wait %1", "kill %1"] {
        let outcome = say(&bench, command);
        assert!(
            outcome.is_error && outcome.content.starts_with("There is no job 1; nothing was done.")
        );
        assert!(outcome.content.contains("No background job was started since"), "{outcome:?}");
    }
    let list = say(&bench, "jobs");
    assert!(!list.is_error && list.summary == "0 jobs running", "{list:?}");
    start(&bench, "sleep 300");
    assert!(say(&bench, "kill %2").content.contains("job 1 (sleep 300) is running, for"));
    let lost = say(&bench, "kill %1; sleep 0");
    assert!(!lost.is_error, "the shell has its own say: {lost:?}");
    let lost = say(&bench, "sleep 0; kill %1").content;
    assert!(lost.contains("as the whole command]"), "{lost}");
}

#[test]
fn no_more_than_the_limit_run_at_once() {
    let bench = Bench::new();
    for _ in 0..MAX_RUNNING {
        // Without the look that each start takes, to be quick.
        let (root, env) = (bench.root(), Vec::new());
        let jobs = std::sync::Arc::clone(&bench.jobs);
        bench.run(move |context| {
            let launch = crate::jobs::Launch {
                command: "sleep 300",
                folder: &root,
                hidden_env: &env,
                masks: &crate::mask::Masks::default(),
                confinement: None,
                output_dir: context.output_dir,
                output_bytes: 1_000,
            };
            assert!(jobs.start(&launch, context.runtime).is_some());
            Outcome::ok("", "")
        });
    }
    let refused = start(&bench, "touch ninth");
    assert!(refused.is_error && refused.content.starts_with("8 jobs are running"), "{refused:?}");
    assert!(refused.content.contains("\njob 8 (sleep 300) is running"), "{refused:?}");
    say(&bench, "kill %4");
    assert!(!start(&bench, "touch ninth").is_error);
    assert!(bench.root().join("ninth").exists());
}

#[test]
fn a_flood_is_bounded_and_kept() {
    let bench = Bench::new();
    let first = start(&bench, "seq 1 200000; sleep 300");
    assert!(first.content.len() <= RESULT_BYTES, "{}", first.content.len());
    assert!(first.content.contains("left out; the whole output is in "), "{}", first.content);
    let all = bench.until(
        || std::fs::read_to_string(bench.root().join("outputs/job-1.txt")).unwrap(),
        |text| text.ends_with("\n200000\n"),
    );
    assert_eq!(all.lines().count(), 200_000);
}

#[test]
fn the_end_is_news_once() {
    let bench = Bench::new();
    start(&bench, &format!("{GATE}; exit 5"));
    bench.open_gate();
    assert_eq!(news(&bench.jobs), "");
    bench.turn(async { bench.jobs.find(1).unwrap().ended().await });
    let told = timeless(&news(&bench.jobs));
    let name = format!("\n[job 1 ({GATE}; exit 5)");
    let expected = format!("{name} has ended: exit code 5 · T; `jobs 1` shows its last output]");
    assert_eq!(told, expected);
    assert_eq!(news(&bench.jobs), "");
    start(&bench, "sleep 300");
    bench.jobs.find(2).unwrap().stop_for_user();
    bench.turn(async { bench.jobs.find(2).unwrap().ended().await });
    assert!(news(&bench.jobs).contains("job 2 (sleep 300) was stopped by the user: stopped after"));
}

#[test]
fn keys_are_hidden_and_a_time_limit_is_ignored() {
    let mut bench = Bench::new();
    bench.hidden_env = vec!["CARGO_PKG_NAME".to_owned()];
    let command = "echo [$CARGO_PKG_NAME] [$GIT_EDITOR]; read x || echo empty";
    let command = format!("{command}; {GATE}");
    let outcome = bench.call(Args { timeout_seconds: Some(1), ..args(&command, true) });
    bench.open_gate();
    assert!(outcome.content.starts_with("[] [true]\nempty\n"), "{}", outcome.content);
    assert!(outcome.content.ends_with("[timeout_seconds was ignored: a job has no time limit]"));
    assert!(!say(&bench, "wait %1").is_error);
}

/// What a job does that waits for [`Bench::open_gate`].
const GATE: &str = "until [ -e go ]; do sleep .1; done";

impl Bench {
    fn open_gate(&self) {
        std::fs::write(self.root().join("go"), "").unwrap();
    }

    /// Repeats an action, with time for jobs, until its result is good.
    fn until<T>(&self, act: impl Fn() -> T, good: impl Fn(&T) -> bool) -> T {
        for _ in 0..2_000 {
            let result = act();
            if good(&result) {
                return result;
            }
            self.turn(async { tokio::time::sleep(Duration::from_millis(10)).await });
        }
        panic!("it does not come to be");
    }
}
