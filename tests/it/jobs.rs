//! Background jobs: started on purpose, looked at, stopped, and gone with the session.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::{Pty, key};
use crate::support::reply::{Call, Reply, call, read, shell};
use crate::support::wait_until;

/// Says that it is up, and again for each line of the file `ask`.
const SERVER: &str = "echo $$ > pid; echo ready; touch ask; tail -f ask";

fn start(id: &str, command: &str) -> Call {
    call(id, "shell", json!({"command": command, "background": true}))
}

fn is_alive(pid: &str) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

/// The first process of [`SERVER`], once it is up.
fn pid(env: &Env) -> String {
    wait_until("the job", || {
        fs::read_to_string(env.path("pid")).ok().filter(|pid| pid.ends_with('\n'))
    })
}

fn wait_for_end(pid: &str) {
    wait_until("the end of the job", || (!is_alive(pid)).then_some(()));
}

#[test]
fn a_job_is_started_read_twice_and_stopped() {
    let provider = Provider::start([
        Reply::calls([start("c1", SERVER)]),
        Reply::calls([shell("c2", "echo hello >> ask; sleep 1.5"), shell("c3", "jobs 1")]),
        Reply::calls([shell("c4", "jobs 1"), shell("c5", "kill %1"), shell("c6", "jobs")]),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    let output = env.turn_free("go");
    let request = provider.last_request();
    let result = |id| request.result(id);
    assert_says(result("c1"), &["ready\n[job 1", "is running", "`kill %1` stops it"]);
    assert_says(result("c3"), &["hello\n[job 1"]);
    assert_silent_on(result("c3"), &["ready\n"]);
    assert_says(result("c4"), &["(no output)\n[job 1", "is running"]);
    assert_says(result("c5"), &["has ended: stopped after", "SIGTERM"]);
    assert_says(result("c6"), &["has ended"]);
    assert!(!is_alive(&env.text("pid")));
    assert_silent_on(&output.stderr, &["ended with the session"]);
    let log = env.log();
    assert_eq!(log.of("tool_started").len(), log.of("tool_result").len());
}

#[test]
fn the_end_of_the_run_ends_it_and_says_so() {
    let provider = Provider::start([Reply::calls([start("c1", SERVER)]), Reply::text("It is up.")]);
    let env = Env::new(&provider);
    let output = env.turn_free("go");
    assert_eq!(output.stdout, "It is up.\n");
    assert_says(&output.stderr, &["warning: 1 background job ended with the session"]);
    wait_for_end(&env.text("pid"));
}

#[test]
fn after_a_resume_it_is_gone_and_the_history_stands() {
    let provider = Provider::start([
        Reply::calls([start("c1", SERVER)]),
        Reply::text("It is up."),
        Reply::calls([shell("c2", "jobs 1")]),
        Reply::text("It is gone."),
    ]);
    let env = Env::new(&provider);
    let _ = env.ask("go");
    let _ = env.go_on("is it still up?");
    let request = provider.last_request();
    assert_says(request.result("c1"), &["is running"]);
    assert_says(request.result("c2"), &["There is no job 1", "have ended"]);
}

#[test]
fn an_end_is_told_once_with_the_next_result() {
    let provider = Provider::start([
        Reply::calls([start(
            "c1",
            "echo $$ > pid; until [ -e go ]; do sleep 0.05; done; echo bye; exit 3",
        )]),
        Reply::calls([shell(
            "c2",
            "touch go; while [ -e /proc/$(cat pid) ]; do sleep 0.05; done; sleep 1",
        )]),
        Reply::calls([read("c3", "go"), shell("c4", "jobs 1")]),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    let _ = env.turn_free("go");
    let request = provider.last_request();
    assert_says(
        request.result("c2"),
        &["has ended: exit code 3", "`jobs 1` shows its last output"],
    );
    assert_silent_on(request.result("c3"), &["job 1"]);
    assert_says(request.result("c4"), &["bye\n[job 1", "has ended: exit code 3"]);
}

#[test]
fn signals_that_end_the_program_end_its_jobs() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let provider = Provider::start([
            Reply::calls([start("c1", &format!("trap '' TERM HUP INT; {SERVER}"))]),
            Reply::silence(),
        ]);
        let env = Env::new(&provider);
        let running = env.begin("go");
        let pid = pid(&env);
        provider.wait_for_requests(2);
        running.signal(signal);
        let _ = running.wait().expect_code(130);
        wait_for_end(&pid);
    }
}

#[test]
fn modes_decide_about_a_job_as_about_any_command() {
    for (mode, expected) in [("plan", "plan mode"), ("ask", "consent")] {
        let provider = Provider::start([
            Reply::calls([start("c1", "touch made"), shell("c2", "jobs")]),
            Reply::text("As you wish."),
        ]);
        let env = Env::new(&provider);
        let _ = env.run(&["--permission-mode", mode, "-p", "go"]).expect_code(4);
        let request = provider.last_request();
        assert_says(request.result("c1"), &["Denied", expected]);
        assert_says(request.result("c2"), &["No background job"]);
        assert!(!env.exists("made"));
    }
}

#[test]
fn a_flood_is_bounded() {
    let provider = Provider::start([
        Reply::calls([start("c1", "yes | head -c 20000000; sleep 60")]),
        Reply::calls([shell("c2", "sleep 1"), shell("c3", "jobs 1")]),
        Reply::text("Done."),
    ]);
    let env = Env::new(&provider);
    let _ = env.ask("go");
    let request = provider.last_request();
    assert_says(request.result("c1"), &["left out", "outputs/job-1.txt"]);
    assert!(fs::metadata(&env.log().path).expect("the log").len() < 200_000);
}

/// A REPL whose first turn has started [`SERVER`].
fn repl_with_job(replies: impl IntoIterator<Item = Reply>) -> (Provider, Env, Pty, String) {
    let first = [Reply::calls([start("c1", SERVER)]), Reply::text("It is up.")];
    let provider = Provider::start(first.into_iter().chain(replies));
    let env = Env::new(&provider);
    let pty = Pty::xsh(&env, &["--permission-mode", "full"]);
    pty.settle();
    pty.line("go");
    pty.wait_for("It is up.");
    pty.settle();
    let pid = pid(&env);
    assert!(is_alive(&pid));
    (provider, env, pty, pid)
}

#[test]
fn the_user_sees_and_stops_jobs() {
    let (provider, _env, pty, pid) =
        repl_with_job([Reply::calls([shell("c2", "true")]), Reply::text("I see.")]);
    assert_says(&pty.screen(), &["shell (background) echo", "· 1 job"]);
    pty.line("/jobs");
    pty.wait_for("is running, for");
    for (line, answer) in [
        ("/jobs stop 7", "no job 7 is running"),
        ("/jobs start", "cannot do this with jobs: start"),
        ("/jobs stop 1", "stopping job 1"),
    ] {
        pty.line(line);
        pty.wait_for(answer);
        pty.settle();
    }
    wait_for_end(&pid);
    pty.line("go on");
    pty.wait_for("I see.");
    assert_says(provider.last_request().result("c2"), &["was stopped by the user"]);
}

#[test]
fn ctrl_c_stops_the_turn_and_leaves_jobs_running() {
    let (provider, env, pty, pid) = repl_with_job([
        Reply::calls([shell("c2", "touch waiting; sleep 300")]),
        Reply::calls([shell("c3", "jobs 1")]),
        Reply::text("Still up."),
    ]);
    pty.line("wait");
    wait_until("the command", || env.exists("waiting").then_some(()));
    pty.send(key::CTRL_C);
    pty.wait_for_screen("a note", |screen| screen.to_lowercase().contains("interrupt"));
    pty.settle();
    pty.line("is it up?");
    pty.wait_for("Still up.");
    assert_says(provider.last_request().result("c3"), &["is running"]);
    assert!(is_alive(&pid));
}

#[test]
fn whoever_leaves_the_session_ends_its_jobs() {
    for command in ["/new", "/fork", "/quit"] {
        let (_provider, _env, pty, pid) = repl_with_job([]);
        pty.line(command);
        pty.wait_for("1 background job ended with the session");
        wait_for_end(&pid);
    }
}

#[test]
fn a_killed_program_takes_its_jobs_along() {
    let provider = Provider::start([Reply::calls([start("c1", SERVER)]), Reply::silence()]);
    let env = Env::new(&provider);
    let running = env.begin("go");
    let pid = pid(&env);
    provider.wait_for_requests(2);
    running.kill();
    wait_for_end(&pid);
}
