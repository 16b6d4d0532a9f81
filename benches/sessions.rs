//! The claims: thousands of sessions slow down neither the start nor the list of them, and a large
//! one is gone on with in well under a second.
//!
//! Makes 5,000 sessions in one workspace, ten of them with 50 MB, one with 100 MB and one with a
//! record of 12 MB, and runs the real program on them, files warm. Prints the best and the median.

#![expect(clippy::unwrap_used, reason = "a bench may stop at the first fault")]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod support;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use support::{Server, text};

const SESSIONS: usize = 5_000;
const LARGE: usize = 10;
const ROUNDS: usize = 7;

fn main() {
    // The harness of `cargo test --benches` only asks whether this builds and starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (empty, full) = (root.join("empty"), root.join("full"));
    fs::create_dir(&empty).unwrap();
    build(&full);
    let server = Server::start(|_| text("Fine."));
    let run = |name: &str, workspace: &Path, args: &[&str]| {
        let mut times: Vec<Duration> =
            (0..ROUNDS).map(|_| time(&server, workspace, args)).collect();
        times.sort();
        println!("{name:48} {:>8.1?} {:>8.1?}", times[0], times[ROUNDS / 2]);
    };
    println!("{SESSIONS} sessions, {LARGE} of 50 MB; best and median of {ROUNDS}");
    run("a turn in an empty workspace", &empty, &["--no-session", "-p", "hi"]);
    run("a turn among them", &full, &["--no-session", "-p", "hi"]);
    run("sessions list", &full, &["sessions", "list"]);
    run("a turn in the latest (-c)", &full, &["-c", "-p", "hi"]);
    run("a turn in one by the beginning of its id", &full, &["-r", "20260101T000007Z", "-p", "hi"]);
    run("a turn in one of 50 MB", &full, &["-r", &name(0), "-p", "hi"]);
    run("a turn in one of 100 MB", &full, &["-r", "20260201T000000Z-huge", "-p", "hi"]);
    run(
        "a turn in one with a record of 12 MB",
        &full,
        &["-r", "20260201T000001Z-wide", "-p", "hi"],
    );
    run("sessions search, a word that is nowhere", &full, &["sessions", "search", "nowhere"]);
    run("sessions search, a word that is in all", &full, &["sessions", "search", "parser"]);
}

fn time(server: &Server, workspace: &Path, args: &[&str]) -> Duration {
    let mut command = server.xsh(workspace);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let began = Instant::now();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    began.elapsed()
}

fn name(number: usize) -> String {
    format!("20260101T{number:06}Z-{number:06x}")
}

fn build(workspace: &Path) {
    let folder = workspace.join(".xsh/sessions");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..SESSIONS {
        let turns = if number < LARGE { 1_000 } else { 1 };
        let size = if number < LARGE { 50_000 } else { 2_000 };
        session(&folder, workspace, &name(number), (turns, size));
    }
    session(&folder, workspace, "20260201T000000Z-huge", (20_000, 5_000));
    session(&folder, workspace, "20260201T000001Z-wide", (1, 12_000_000));
}

/// A session of so many turns, each with a tool result of so many bytes.
fn session(folder: &Path, workspace: &Path, id: &str, (turns, size): (usize, usize)) {
    let path: PathBuf = folder.join(format!("{id}.jsonl"));
    let mut out = BufWriter::new(File::create(path).unwrap());
    let at = "2026-01-01T00:00:00.000Z";
    let cwd = workspace.display();
    writeln!(out, r#"{{"type":"session","version":1,"id":"{id}","created_at":"{at}","cwd":"{cwd}","xsh":"0.1.0"}}"#).unwrap();
    let output = "some output of a command, fifty bytes in a line\\n".repeat(size / 50);
    for turn in 1..=turns {
        let seq = (turn - 1) * 5;
        let lines = [
            format!(
                r#""user_message","seq":{},"at":"{at}","turn":{turn},"content":"fix the parser""#,
                seq + 1
            ),
            format!(
                r#""assistant_message","seq":{},"at":"{at}","turn":{turn},"step":1,"provider":"p","model":"bench","content":"","tool_calls":[{{"id":"c","name":"shell","arguments":"{{\"command\":\"make\"}}"}}],"finish_reason":"tool_calls""#,
                seq + 2
            ),
            format!(
                r#""tool_result","seq":{},"at":"{at}","call_id":"c","content":"{output}","is_error":false,"duration_ms":1"#,
                seq + 3
            ),
            format!(
                r#""assistant_message","seq":{},"at":"{at}","turn":{turn},"step":2,"provider":"p","model":"bench","content":"Fixed.","finish_reason":"stop""#,
                seq + 4
            ),
            format!(
                r#""turn_finished","seq":{},"at":"{at}","turn":{turn},"ending":"completed","steps":2,"usage":{{"prompt":1,"completion":1}}"#,
                seq + 5
            ),
        ];
        for line in lines {
            writeln!(out, r#"{{"type":{line}}}"#).unwrap();
        }
    }
    out.flush().unwrap();
}
