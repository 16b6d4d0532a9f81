//! The claim: the sandbox adds less than 5 ms to a command.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::support::{Exchange, Place, Server, call, line, text, times};

/// Commands in a row; the first ones are not counted.
const COMMANDS: usize = 80;
const WARM_UP: usize = 10;

pub(crate) fn run() {
    let free = times_of("full");
    let confined = times_of("auto");
    times("sandbox: a command outside, reply to next request", "", free.clone());
    times("sandbox: a command inside, reply to next request", "", confined.clone());
    let added = |pick: fn(Vec<Duration>) -> Duration| {
        format!("{:.2?}", pick(confined.clone()).saturating_sub(pick(free.clone())))
    };
    line("sandbox: added to a command", "5 ms", &added(median), &added(best));
}

fn times_of(mode: &str) -> Vec<Duration> {
    let server = Server::start(|step| match step {
        COMMANDS => text("done"),
        step => call(step, "shell", &serde_json::json!({ "command": format!("true {step}") })),
    });
    let place = Place::new(&server.base_url);
    make_repositories(&place.workspace());
    let ended = place.xsh(&["--permission-mode", mode, "-p", "go"]).status().unwrap();
    assert!(ended.success());
    let exchanges = server.exchanges();
    assert_eq!(exchanges.len(), COMMANDS + 1);
    let gap = |pair: &[Exchange]| {
        let (before, after) = (pair.first().unwrap(), pair.last().unwrap());
        after.asked.duration_since(before.answered)
    };
    exchanges.windows(2).skip(WARM_UP).map(gap).collect()
}

/// What there is to protect in a usual workspace: its repository, one in a subfolder, an editor's folder.
fn make_repositories(workspace: &Path) {
    for git in [".git", "vendor/lib/.git"] {
        for folder in ["hooks", "objects", "refs"] {
            fs::create_dir_all(workspace.join(git).join(folder)).unwrap();
        }
        fs::write(workspace.join(git).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(workspace.join(git).join("config"), "[core]\n\tbare = false\n").unwrap();
    }
    fs::create_dir(workspace.join(".vscode")).unwrap();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    *times.get(times.len() / 2).unwrap()
}

fn best(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap()
}
