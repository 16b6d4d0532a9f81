//! Repositories in the workspace besides its own: a command makes none of them run something, and works
//! in them like anywhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::{elsewhere, in_turn};
use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, shell};

/// Git as the user runs it, outside of every sandbox.
pub(super) fn git(env: &Env, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(env.workspace()).env_clear();
    command.envs(env.vars().iter().map(|(name, value)| (name, value)));
    let done = command.output().expect("git");
    String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
}

/// A workspace with a repository, with others in these folders, and with a program that leaves a trace
/// when it is run.
pub(super) fn place(folders: &[&str]) -> Env {
    let mut env = elsewhere();
    for who in ["AUTHOR", "COMMITTER"] {
        env.set(&format!("GIT_{who}_NAME"), "a");
        env.set(&format!("GIT_{who}_EMAIL"), "a@b");
    }
    for folder in folders.iter().chain(&["."]) {
        git(&env, &["init", "-q", folder]);
        git(&env, &["-C", folder, "commit", "-q", "--allow-empty", "-m", "one"]);
    }
    env.write("evil", format!("#!/bin/sh\necho ran >> {}\n", env.root().join("ran").display()));
    fs::set_permissions(env.path("evil"), fs::Permissions::from_mode(0o755)).expect("a mode");
    env
}

/// Runs the commands, then git at the top as a user does; the program must not have run.
#[track_caller]
fn nothing_runs(env: Env, commands: &[&str]) -> (Env, Request) {
    let (env, request) = in_turn(env, commands, &[]);
    for arguments in
        [&["status"][..], &["diff"], &["submodule", "status"], &["add", "-A"], &["status"]]
    {
        git(&env, arguments);
        let ran = env.root().join("ran").exists();
        assert!(!ran, "git {arguments:?} runs it after {commands:?}: {:?}", request.result("c1"));
        if !commands.iter().any(|command| command.contains("git add")) {
            break;
        }
    }
    (env, request)
}

/// Makes a repository in `sub` that has the program run, and makes it a part of the one at the top.
pub(super) const MADE: &str = "git init -q sub && git -C sub commit -q --allow-empty -m x && \
                    git -C sub config core.fsmonitor $PWD/evil";

/// What can be done between the two to hide it.
const HOW: [&str; 11] = [
    "",
    "git update-index --index-version 4; ",
    "git update-index --split-index; ",
    "cp evil sub/.git/hooks/post-index-change; ",
    "git -C sub config extensions.worktreeConfig true; git -C sub config --worktree core.fsmonitor $PWD/evil; ",
    "git -C sub config include.path $PWD/more; git config -f more core.fsmonitor $PWD/evil; ",
    "mv sub/.git other; echo 'gitdir: ../other' > sub/.git; ",
    "mv sub/.git other; ln -s ../other sub/.git; ",
    "mv sub/.git 'other '; cp -r 'other ' other; git config -f other/config --unset core.fsmonitor; \
     echo 'gitdir: ../other ' > sub/.git; ",
    "mv sub/.git .git/modules; echo 'gitdir: ../.git/modules' > sub/.git; ",
    "mkdir p; mv sub p/sub; git -C p init -q; git -C p add sub; mv p sub; git -C sub commit -qm y; ",
];

#[test]
fn the_trick_would_work_without_the_sandbox() {
    for how in HOW {
        let env = place(&[]);
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("{MADE} && {how}git add sub")]).current_dir(env.workspace());
        bash.env_clear().envs(env.vars().iter().map(|(name, value)| (name, value)));
        assert!(bash.output().expect("bash").status.success(), "{how}");
        assert!(git(&env, &["ls-files", "-s"]).contains("160000"), "{how}");
        git(&env, &["status"]);
        assert!(env.root().join("ran").exists(), "or these tests show nothing: {how}");
    }
}

#[test]
fn a_part_that_a_command_makes_has_nothing_run() {
    let add = |how: &str| format!("{MADE} && {how}git add sub");
    let (env, request) = nothing_runs(place(&[]), &[&add("")]);
    assert_says(request.result("c1"), &["sub/.git/config belongs to a repository", "moved to"]);
    assert!(env.exists("sub/.git/HEAD") && !env.exists("sub/.git/config"));
    for how in HOW {
        nothing_runs(place(&[]), &[&add(how)]);
    }
    nothing_runs(place(&[]), &[MADE, "true", "git add sub; git update-index --split-index"]);
    let later = "git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub";
    nothing_runs(place(&[]), &[later, "git -C sub config core.fsmonitor $PWD/evil; : git add"]);
    // A submodule that was not there yet.
    let env = place(&["sub"]);
    git(&env, &["add", "sub"]);
    fs::remove_dir_all(env.path("sub")).expect("it was there");
    nothing_runs(env, &[MADE]);
}

#[test]
fn a_part_that_a_job_makes_has_nothing_run_either() {
    let provider = Provider::start([
        Reply::calls([crate::support::reply::call(
            "c1",
            "shell",
            serde_json::json!({"command": format!("{MADE} && git add sub; echo made; sleep 60"), "background": true}),
        )]),
        Reply::calls([shell("c2", "until ls sub && ! ls sub/.git/config; do sleep 0.1; done")]),
        Reply::text("Done."),
    ]);
    let env = place(&[]).with(&provider);
    let _ = env.run(&["-p", "go", "--permission-mode", "auto"]);
    assert_says(provider.last_request().result("c2"), &["exit code 0"]);
    git(&env, &["status"]);
    assert!(!env.root().join("ran").exists());
}

#[test]
fn what_git_obeys_in_a_repository_below_does_not_change() {
    let attempts = [
        "git -C vendor/lib config core.fsmonitor $PWD/evil",
        "cp evil vendor/lib/.git/hooks/post-index-change",
        "echo ../../../other > vendor/lib/.git/commondir",
        "echo x > vendor/lib/.git/config.worktree",
        "rm -rf vendor/lib/.git; echo 'gitdir: ../../other' > vendor/lib/.git",
        "mv vendor/lib/.git vendor/lib/g2; cp -r vendor/lib/g2 vendor/lib/.git",
        "mv vendor/lib l2; cp -r l2 vendor/lib; git -C vendor/lib config core.fsmonitor $PWD/evil",
        "mv vendor v2; cp -r v2 vendor; git -C vendor/lib config core.fsmonitor $PWD/evil",
        "cp evil vendor/lib/hooks/post-index-change; mv vendor/lib/hooks h2; mkdir vendor/lib/hooks",
        "echo x >> bare.git/config; cp evil bare.git/hooks/update",
        "echo x >> worktree/.git; echo 'gitdir: ../sub' > worktree/.git",
    ];
    for attempt in attempts {
        let env = place(&["vendor/lib"]);
        git(&env, &["-C", "vendor/lib", "config", "core.hooksPath", "hooks"]);
        env.write("vendor/lib/hooks/pre-commit", "");
        git(&env, &["init", "-q", "--bare", "bare.git"]);
        git(&env, &["worktree", "add", "-q", "worktree"]);
        let there = [
            "vendor/lib/.git/config",
            "vendor/lib/hooks/pre-commit",
            "bare.git/config",
            "worktree/.git",
        ];
        let before = there.map(|file| env.text(file));
        let (env, _) = in_turn(env, &[attempt], &[]);
        assert_eq!(there.map(|file| env.text(file)), before, "{attempt}");
        for absent in [
            "vendor/lib/.git/hooks/post-index-change",
            "vendor/lib/.git/commondir",
            "vendor/lib/.git/config.worktree",
            "vendor/lib/hooks/post-index-change",
            "bare.git/hooks/update",
        ] {
            assert!(!env.exists(absent), "{absent} after {attempt}");
        }
        git(&env, &["-C", "vendor/lib", "status"]);
        assert!(!env.root().join("ran").exists(), "{attempt}");
    }
}

#[test]
fn a_folder_of_hooks_is_protected_from_every_tool() {
    let env = place(&[]);
    git(&env, &["config", "core.hooksPath", "scripts/hooks"]);
    let provider = Provider::start([
        Reply::calls([shell(
            "c1",
            "mkdir -p scripts/hooks; cp evil scripts/hooks/pre-commit; true",
        )]),
        Reply::calls([crate::support::reply::call(
            "c2",
            "write",
            serde_json::json!({"path": "scripts/hooks/pre-push", "content": "x"}),
        )]),
        Reply::text("Done."),
    ]);
    let env = env.with(&provider);
    let _ = env.run(&["-p", "go", "--permission-mode", "auto"]);
    let request = provider.last_request();
    assert_says(request.result("c1"), &["scripts/hooks came into being"]);
    assert_says(request.result("c2"), &["Denied"]);
    assert!(!env.exists("scripts/hooks"));
}

#[test]
fn ordinary_work_in_repositories_below_succeeds() {
    let env = place(&["sub", "target/dep"]);
    git(&env, &["-C", "sub", "remote", "add", "origin", "../target/dep"]);
    git(&env, &["add", "sub"]);
    let commands = [
        "echo x > sub/f && git -C sub add f && git -C sub commit -qm two && git -C sub status",
        "git -C sub fetch -q ../target/dep && git -C sub fetch -q origin && git -C sub checkout -qb new",
        "git add sub && git commit -qm two && git status --short && git diff HEAD~0",
        "git clone -q sub sub2 && git -C sub2 config core.editor true && git -C sub2 log",
        "git clone -q sub sub3 && git add sub3 && git status --short",
        "git clone -q sub target/d2 && git -C target/d2 config a.b c && rm -rf target",
        "mkdir -p node_modules && git clone -q sub node_modules/m && rm -rf node_modules",
        "mv sub/f f && mv f sub/g && git -C sub worktree add -q ../w && git -C w commit -q --allow-empty -m three",
        "rm -rf sub2 && git rm -qf --cached sub3 && rm -rf sub3",
    ];
    let (env, request) = in_turn(env, &commands, &[]);
    for number in 1..=commands.len() {
        let result = request.result(&format!("c{number}"));
        assert_says(result, &["exit code 0"]);
        assert_silent_on(result, &["moved to", "was not understood", "are not protected"]);
    }
    assert!(env.exists("w/.git") && !env.exists("target"));
}
