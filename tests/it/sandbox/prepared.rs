//! What one run prepares so that a later one, or the user, is deceived: nothing of it makes git or an
//! editor run what a command has written.

use std::fs;

use super::in_turn;
use super::repositories::{MADE, git, place};
use crate::support::assert::assert_says;
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, shell};

/// What a command would do to the user's own repository in `vendor/lib`.
const TAKE_OVER: &str = "git -C vendor/lib config core.fsmonitor $PWD/evil; \
                         cp evil vendor/lib/.git/hooks/post-index-change; true";

/// Runs these commands in one run of xsh, then those in another.
fn in_two_runs(env: Env, first: &[&str], second: &[&str]) -> Env {
    let (env, _) = in_turn(env, first, &[]);
    in_turn(env, second, &[]).0
}

#[track_caller]
fn nothing_ran(env: &Env, folder: &str, what: &str) {
    git(env, &["-C", folder, "status"]);
    assert!(!env.root().join("ran").exists(), "{what}");
}

#[test]
fn the_take_over_would_work_without_the_sandbox() {
    let env = place(&["vendor/lib"]);
    let (env, _) = in_turn(env, &[TAKE_OVER], &["--permission-mode", "full"]);
    git(&env, &["-C", "vendor/lib", "status"]);
    assert!(env.root().join("ran").exists(), "or these tests show nothing");
}

#[test]
fn what_looks_like_a_bare_repository_hides_none() {
    let decoys = "mkdir vendor/objects vendor/refs objects refs; touch vendor/HEAD";
    let env = in_two_runs(place(&["vendor/lib"]), &[decoys], &[TAKE_OVER]);
    nothing_ran(&env, "vendor/lib", decoys);
}

#[test]
fn a_folder_that_cannot_be_read_hides_none() {
    // The superuser reads everything.
    let close = "chmod 311 vendor";
    let env = in_two_runs(place(&["vendor/lib"]), &[close], &[TAKE_OVER, "chmod 755 vendor; true"]);
    nothing_ran(&env, "vendor/lib", close);
}

#[test]
fn a_crowd_hides_no_work_tree() {
    let env = place(&["other"]);
    git(&env, &["worktree", "add", "-q", "../tree"]);
    let crowd = "cd .git/worktrees; seq -f a%g 21000 | xargs mkdir";
    let fake = "git -C other config core.fsmonitor $PWD/evil; echo ../../../other/.git > .git/worktrees/tree/commondir";
    let env = in_two_runs(env, &[crowd], &[fake]);
    nothing_ran(&env, "../tree", "a crowd of work trees");
}

#[test]
fn everything_that_turns_up_is_moved_however_much_it_is() {
    let folders: Vec<String> = (0..40).map(|number| format!("sub{number}")).collect();
    let env = place(&folders.iter().map(String::as_str).collect::<Vec<_>>());
    for folder in &folders {
        fs::remove_dir_all(env.path(&format!("{folder}/.git/hooks"))).expect("hooks");
    }
    let make = "for d in sub*; do mkdir $d/.git/hooks; cp evil $d/.git/hooks/post-index-change; \
                echo x > $d/.git/config.worktree; echo ../../x > $d/.git/commondir; done";
    let (env, request) = in_turn(env, &[make], &[]);
    for name in ["hooks", "config.worktree", "commondir"] {
        let left = folders.iter().filter(|folder| env.exists(&format!("{folder}/.git/{name}")));
        assert_eq!(left.count(), 0, "{name}");
    }
    assert_says(request.result("c1"), &["there are 20 more of such things"]);
}

#[test]
fn rights_that_are_taken_away_keep_nothing_in_its_place() {
    for make in [
        "mkdir .vscode; echo x > .vscode/tasks.json; chmod 555 .vscode",
        "echo x > .envrc; chmod 555 .",
        "mkdir .husky; chmod 0 .husky; chmod 555 .",
    ] {
        let (env, request) = in_turn(place(&[]), &[make], &[]);
        assert_says(request.result("c1"), &["It was moved to"]);
        let left = [".vscode", ".envrc", ".husky"].iter().filter(|name| env.exists(name));
        assert_eq!(left.count(), 0, "{make}");
    }
}

#[test]
fn names_that_are_taken_keep_nothing_in_its_place() {
    let make = "for n in $(seq 30); do mkdir .vscode && echo x > .vscode/tasks.json; \
                while [ -e .vscode ]; do sleep 0.05; done; done";
    let (env, request) = in_turn(place(&[]), &[make, "mkdir .vscode; true"], &[]);
    assert_says(request.result("c2"), &["It was moved to"]);
    assert!(!env.exists(".vscode"));
}

#[test]
fn what_settings_name_is_protected_however_they_say_it() {
    for (settings, prepare, attempt, trace) in [
        (
            &["core.hooksPath", "~/hooks"][..],
            "mkdir -p hooks",
            "cp evil hooks/post-index-change; true",
            "hooks/post-index-change",
        ),
        (
            &["core.hooksPath", "hooks"],
            "mkdir -p scripts; ln -s scripts hooks",
            "rm hooks; mkdir hooks; cp evil hooks/post-index-change; true",
            "hooks/post-index-change",
        ),
        (
            &["include.path", "../local.cfg"],
            "touch real.cfg; ln -s real.cfg local.cfg",
            "rm local.cfg; git config -f local.cfg core.fsmonitor $PWD/evil; true",
            "local.cfg",
        ),
        (
            &["include.path", "../a/b/c.cfg"],
            "true",
            "mkdir -p a/b; git config -f a/b/c.cfg core.fsmonitor $PWD/evil; true",
            "a/b/c.cfg",
        ),
        (
            &["user.name", "a"],
            "mkdir -p scripts; touch scripts/h; ln -s ../../scripts/h .git/hooks/post-index-change",
            "cp evil scripts/h; true",
            "",
        ),
    ] {
        let mut env = place(&[]);
        let home = env.workspace().to_str().expect("UTF-8").to_owned();
        if settings.contains(&"~/hooks") {
            env.set("HOME", &home);
        }
        let mut shell = std::process::Command::new("sh");
        assert!(shell.args(["-c", prepare]).current_dir(&home).status().expect("sh").success());
        git(&env, &[&["config"], settings].concat());
        let (env, _) = in_turn(env, &[attempt], &[]);
        nothing_ran(&env, ".", attempt);
        let target = fs::symlink_metadata(env.path(trace));
        assert!(trace.is_empty() || !target.is_ok_and(|meta| meta.is_file()), "{attempt}");
    }
}

/// The workspace may be a part of a repository whose top is outside.
#[test]
fn the_repository_around_the_workspace_runs_nothing_either() {
    let mut env = place(&["inside/sub"]);
    git(&env, &["add", "inside/sub"]);
    git(&env, &["commit", "-qm", "two"]);
    fs::remove_dir_all(env.path("inside/sub")).expect("it was there");
    fs::rename(env.path("evil"), env.path("inside/evil")).expect("moved");
    env.enter("inside");
    fs::create_dir(env.path("sub")).expect("a folder");
    let (env, request) = in_turn(env, &[MADE], &[]);
    nothing_ran(&env, "..", request.result("c1"));
}

#[test]
fn a_part_behind_many_others_is_found() {
    let many = format!(
        "{MADE}; mv sub in; git init -q sub; mv in sub/in; git -C sub add in; git -C sub commit -qm x; \
         h=$(git -C sub rev-parse HEAD); seq 2000 | sed \"s/.*/160000 $h\\tz&/\" \
         | git update-index --index-info; seq -f z%g 2000 | xargs mkdir; git add sub; \
         git ls-files -s | grep -c ^160000"
    );
    let (env, request) = in_turn(place(&[]), &[&many], &[]);
    assert_says(request.result("c1"), &["2001"]);
    nothing_ran(&env, ".", request.result("c1"));
}

#[test]
fn a_shared_index_that_changes_under_the_index_is_read_again() {
    let first =
        format!("{MADE}; git update-index --split-index; cp .git/sharedindex.* /tmp/shared");
    let second = "f=$(ls .git/sharedindex.*); cp .git/index /tmp/index; git update-index --no-split-index; \
                  git add sub; git update-index --split-index; n=$(ls -t .git/sharedindex.* | head -1); \
                  { head -c -20 $n; tail -c 20 /tmp/shared; } > /tmp/new; cp /tmp/new $f; \
                  cp /tmp/index .git/index";
    let (env, request) = in_turn(place(&[]), &[&first, second], &[]);
    nothing_ran(&env, ".", request.result("c2"));
}

/// What is mounted on a file does not cover the one that takes its place outside.
#[test]
fn a_protected_file_that_the_user_replaces_meanwhile_is_told_of() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "touch begun; until [ -e go ]; do sleep 0.05; done; echo seen")]),
        Reply::text("Done."),
    ]);
    let env = place(&[]).with(&provider);
    env.write(".envrc", "mine");
    let running = env.spawn(&["-p", "go", "--permission-mode", "auto"]);
    while !env.exists("begun") {
        std::thread::yield_now();
    }
    env.write("new", "also mine");
    fs::rename(env.path("new"), env.path(".envrc")).expect("renamed");
    env.write("go", "");
    assert_says(&running.wait().stderr, &["warning:", ".envrc was replaced by somebody else"]);
    assert_says(
        provider.last_request().result("c1"),
        &["seen", ".envrc was replaced by somebody else while the command ran"],
    );
}
