//! `xsh --demo`: the whole loop without a key, a network or a configuration.

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::pty::{Pty, key};

#[test]
fn it_reads_searches_edits_tests_and_answers_offline() {
    let mut env = Env::bare();
    // Whoever tried to use a network would fail.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        env.set(name, "http://127.0.0.1:9");
    }
    let pty = Pty::xsh(&env, &["--demo"]);
    pty.settle();
    for _ in 0..3 {
        if pty.raw_text().contains("edit") {
            break;
        }
        pty.send(key::ENTER);
        pty.settle();
    }
    pty.wait_for_screen("the end of the turn", |screen| {
        screen.contains("edit") && screen.contains("shell")
    });
    pty.settle();
    let raw = pty.raw_text();
    assert_says(&raw, &["scripted", "grep", "read", "edit", "shell"]);
    assert_silent_on(&raw, &["error:", "panicked"]);
    assert!(!env.exists(".xsh"), "the demo leaves the workspace alone");
}

#[test]
fn it_runs_without_a_terminal_too() {
    let env = Env::bare();
    let output = env.run(&["--demo"]).expect_code(0);
    assert_says(&(output.stdout + &output.stderr), &["scripted", "grep", "edit", "shell"]);
}

#[test]
fn it_needs_no_home() {
    let mut env = Env::bare();
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        env.unset(name);
    }
    let output = env.run(&["--demo"]).expect_code(0);
    assert_says(&(output.stdout + &output.stderr), &["scripted", "edit"]);
}
