//! The claims: thousands of sessions slow down neither the start nor the list of them, and a large
//! one is gone on with in well under a second.
//!
//! Makes 5,000 sessions in one workspace, ten of them with 50 MB, and one with a record of 12 MB.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use super::support::{Place, Server, repeat, text, time, times};

const SESSIONS: usize = 5_000;
const LARGE: usize = 10;
const ROUNDS: usize = 7;

pub(crate) fn run() {
    let server = Server::start(|_| text("Fine."));
    let (empty, full) = (Place::new(&server.base_url), Place::new(&server.base_url));
    build(&full.workspace());
    let measure = |what: &str, target: &str, place: &Place, args: &[&str]| {
        let samples = repeat(ROUNDS, || {
            time(|| assert!(place.xsh(args).status().unwrap().success(), "{args:?}"))
        });
        times(&format!("sessions: {what}"), target, samples);
    };
    measure("a turn in an empty workspace", "", &empty, &["--no-session", "-p", "hi"]);
    measure("a turn beside 5,000", "the same", &full, &["--no-session", "-p", "hi"]);
    measure("list of 5,000", "500 ms", &full, &["sessions", "list"]);
    let cases: [(&str, &str, &[&str]); 4] = [
        ("going on with the latest", "500 ms", &["-c"]),
        ("going on with one, named by a beginning", "500 ms", &["-r", "20260101T004007"]),
        ("going on with one of 50 MB", "1 s", &["-r", &name(0)]),
        ("going on with a record of 12 MB", "2 s", &["-r", "20260201T000001Z-wide"]),
    ];
    for (what, target, args) in cases {
        measure(what, target, &full, &[args, &["-p", "hi"]].concat());
    }
    measure("search for a word that is nowhere", "", &full, &["sessions", "search", "nowhere"]);
    measure("search for a word that is in all", "", &full, &["sessions", "search", "parser"]);
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
    session(&folder, workspace, "20260201T000001Z-wide", (1, 12_000_000));
}

/// A session of so many turns, each with a tool result of so many bytes.
fn session(folder: &Path, workspace: &Path, id: &str, (turns, size): (usize, usize)) {
    let path = folder.join(format!("{id}.jsonl"));
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
