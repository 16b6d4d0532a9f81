//! The environment itself, tried with plain shell commands.

use std::process::Command;

use rustix::process::Signal;

use super::{Env, Running};

fn sh(script: &str, stdin: Option<&str>) -> super::Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Running::start(command, stdin).wait()
}

#[test]
fn output_streams_and_code_are_told_apart() {
    let output = sh("cat; echo no >&2; exit 3", Some("in")).expect_code(3);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("in", "no\n"));
    assert_eq!(sh("kill -TERM $$", None).code, 143);
}

#[test]
fn a_run_ends_by_itself_or_by_a_signal() {
    let running = Running::start(Command::new("cat"), Some(""));
    assert_eq!(running.wait().code, 0);
    let mut command = Command::new("sleep");
    command.arg("60");
    let running = Running::start(command, None);
    // Not an interrupt: whoever runs the tests in the background may have that one ignored.
    running.signal(Signal::TERM);
    assert_eq!(running.wait().code, 143);
}

#[test]
fn the_environment_is_only_what_is_set() {
    let mut env = Env::bare();
    env.set("XSH_MODEL", "a");
    env.set("XSH_MODEL", "b");
    let mut names: Vec<_> = env.vars().iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let expected = [
        "HOME",
        "LANG",
        "PATH",
        "TERM",
        "TMPDIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XSH_MODEL",
    ];
    assert_eq!(names, expected);
}

#[test]
fn what_changes_from_run_to_run_is_named() {
    let env = Env::bare();
    let text = format!(
        "{}/a 20261130T091500Z-7f3a9c 2026-11-30T09:15:00.123Z 1.2s 15 ms",
        env.root().display()
    );
    assert_eq!(env.normalise(&text), "[ROOT]/a [ID] [TIME] [DURATION] [DURATION]");
}
