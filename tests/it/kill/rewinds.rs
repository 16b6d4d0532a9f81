//! SIGKILL while `/undo` puts files back, and while the next run finishes it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Dice, POLL, points};
use crate::support::PATIENCE;
use crate::support::env::Env;
use crate::support::log::Log;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, shell};

/// Files that the command of each turn changes, one way or another.
const FILES: usize = 60;
/// How long putting them back takes about; kills are spread over it.
const TAKES: Duration = Duration::from_millis(60);

/// A file or link: its path, its mode and its content.
type Thing = (String, u32, Vec<u8>);

/// A model that lets one command change everything, in every turn another way.
fn changer() -> Provider {
    let mut turns = 0;
    Provider::answering(move |request| {
        if request.messages().last().is_some_and(|last| last["content"] == "change it") {
            turns += 1;
            Reply::calls([shell(&format!("c{turns}"), &script(turns))])
        } else {
            Reply::text("Done.")
        }
    })
}

/// Appends, removes, makes and changes modes: a quarter of the files each.
fn script(turn: usize) -> String {
    let lines = (0..FILES).map(|index| match (index + turn) % 4 {
        0 => format!("printf 'turn {turn}\\377' >> f{index}"),
        1 => format!("rm -f f{index}"),
        2 => format!("echo {turn} > f{index}; ln -sf f{index} link{index}"),
        _ => format!(
            "touch f{index}; chmod {} f{index}",
            if turn.is_multiple_of(2) { 755 } else { 640 }
        ),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn things(folder: &Path) -> Vec<Thing> {
    let walk = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    let own = |entry: &walkdir::DirEntry| entry.file_name() != ".xsh";
    let files = walk.filter_entry(own).flatten().filter(|entry| !entry.file_type().is_dir());
    files
        .map(|entry| {
            let path = entry.path().strip_prefix(folder).expect("inside").display().to_string();
            let mode = entry.metadata().expect("metadata").permissions().mode();
            let content = match fs::read_link(entry.path()) {
                Ok(target) => target.into_os_string().into_encoded_bytes(),
                Err(_) => fs::read(entry.path()).expect("a file"),
            };
            (path, mode, content)
        })
        .collect()
}

/// How many events of a kind the log holds; a line that is being written does not count.
fn count(log: &Path, kind: &str) -> usize {
    let bytes = fs::read(log).unwrap_or_default();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let event = |line: &[u8]| serde_json::from_slice::<Value>(line).unwrap_or_default();
    lines.filter(|line| event(line)["type"] == kind).count()
}

fn start(env: &Env, args: &[&str], stdin: Option<&str>) -> Child {
    let mut command = env.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let mut pipe = child.stdin.take().expect("piped");
    pipe.write_all(stdin.unwrap_or_default().as_bytes()).expect("stdin");
    child
}

/// Kills a run so long after the log holds so many of these events, unless it has ended by then.
fn kill_after(mut child: Child, log: &Path, kind: &str, events: usize, delay: Duration) {
    let begin = Instant::now();
    while count(log, kind) < events && child.try_wait().expect("a child").is_none() {
        assert!(begin.elapsed() < PATIENCE, "nothing was put back");
        thread::sleep(POLL);
    }
    thread::sleep(delay);
    let _ = child.kill();
    child.wait().expect("a child");
}

/// Changes a file that has not been put back yet, as a person would.
fn meddle(env: &Env, before: &[Thing], text: &str) -> Option<String> {
    let now = things(env.workspace());
    let left = now.iter().find(|(path, mode, content)| {
        let same = before.iter().find(|(other, ..)| other == path);
        let is_file = mode & 0o170_000 == 0o100_000;
        is_file && same.is_some_and(|(_, _, earlier)| earlier != content)
    })?;
    env.write(&left.0, text);
    Some(left.0.clone())
}

/// What one killed `/undo` was like.
struct Seen {
    half: bool,
    meddled: bool,
}

fn one(env: &Env, dice: &mut Dice, number: usize) -> Seen {
    let before = things(env.workspace());
    let _ = if number == 0 { env.ask("change it") } else { env.go_on("change it") };
    let log = env.sessions().pop().expect("a session");
    assert_ne!(things(env.workspace()), before);
    let rewinds = count(&log, "rewind") + 1;
    let child = start(env, &["-c"], Some("/undo\n"));
    kill_after(child, &log, "rewind", rewinds, dice.micros(TAKES));
    assert_eq!(count(&log, "rewind"), rewinds);
    let half = count(&log, "rewind_finished") < rewinds;
    let text = format!("theirs {number}");
    let theirs = if half && number.is_multiple_of(3) { meddle(env, &before, &text) } else { None };
    if half && number.is_multiple_of(2) {
        let child = start(env, &["-c", "-p", "hello"], None);
        thread::sleep(dice.micros(TAKES));
        kill_after(child, &log, "rewind", rewinds, Duration::ZERO);
    }
    let open = count(&log, "rewind_finished") < rewinds;
    let output = env.run(&["-c", "-p", "hello"]).expect_code(0);
    assert_eq!(output.stderr.contains("a rewind was interrupted"), open, "{}", output.stderr);
    let mut expected = before;
    if let Some(theirs) = &theirs {
        let left = format!("{theirs}: somebody else has changed it since");
        assert!(!open || output.stderr.contains(&left), "{}", output.stderr);
        let place = expected.iter_mut().find(|(path, ..)| path == theirs).expect("it was there");
        let mode = fs::metadata(env.path(theirs)).expect("a file").permissions().mode();
        *place = (theirs.clone(), mode, text.into_bytes());
    }
    assert_eq!(count(&log, "rewind_finished"), rewinds);
    assert_eq!(shown(&things(env.workspace())), shown(&expected), "in {}", env.root().display());
    Seen { half, meddled: theirs.is_some() }
}

fn shown(things: &[Thing]) -> Vec<String> {
    let show = |(path, mode, content): &Thing| {
        format!("{path} {mode:o} {}", String::from_utf8_lossy(content))
    };
    things.iter().map(show).collect()
}

#[test]
fn an_undo_that_is_killed_is_finished_by_the_next_run() {
    let provider = changer();
    let env = Env::new(&provider);
    for index in 0..FILES {
        env.write(&format!("f{index}"), format!("file {index}\r\n"));
    }
    let mut dice = Dice(4);
    let seen: Vec<Seen> =
        (0..points().div_ceil(10)).map(|number| one(&env, &mut dice, number)).collect();
    let half = seen.iter().filter(|seen| seen.half).count();
    let meddled = seen.iter().filter(|seen| seen.meddled).count();
    let line = format!(
        "kill harness: {} rewinds, {half} killed half way, {meddled} meddled with\n",
        seen.len()
    );
    std::io::stderr().write_all(line.as_bytes()).expect("stderr");
    assert!(half > 0, "{line}");
    let log = Log::load(&env.sessions()[0]);
    assert_eq!(log.of("rewind").len(), log.of("rewind_finished").len());
    assert!(provider.take_faults().is_empty());
}
