//! The claim: 2,000 turns with compactions take no more memory than the first 100.
//!
//! Each turn reads a file and answers; the small window makes it summarise every few turns.

use std::io::Write;
use std::process::{ChildStdin, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::support::{Place, Server, call, line, megabytes, status, text};

const TURNS: [usize; 4] = [100, 500, 1000, 2000];

static ENDED: AtomicUsize = AtomicUsize::new(0);
static SUMMARIES: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn run() {
    let server = Server::reading(answer);
    let place = Place::new(&server.base_url);
    let content = "a line of about forty bytes, no more\n".repeat(100);
    std::fs::write(place.workspace().join("a.txt"), content).unwrap();
    let mut command = place.xsh(&["--permission-mode", "full", "--context-window", "12000"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut turns = 0;
    for milestone in TURNS {
        while turns < milestone {
            turns += 1;
            turn(&mut keys, turns);
        }
        let what =
            format!("soak: memory at turn {turns}, {} summaries", SUMMARIES.load(Ordering::SeqCst));
        line(&what, "flat", &megabytes(status(child.id(), "VmRSS")), "");
        line("  of it its own", "", &megabytes(status(child.id(), "RssAnon")), "");
    }
    drop(keys);
    assert!(child.wait().unwrap().success());
}

/// A read, then an answer; a summary when asked for one. The usage is what the request weighs, as a
/// real provider would say it: compaction goes by that.
fn answer(n: usize, body: &str) -> String {
    let role = body.rfind(r#""role":""#).and_then(|at| body.get(at + 8..at + 12));
    let reply = if body.contains(r#""tool_choice":"none""#) {
        SUMMARIES.fetch_add(1, Ordering::SeqCst);
        text("SUMMARY: the file was read again and again.")
    } else if role == Some("tool") {
        ENDED.fetch_add(1, Ordering::SeqCst);
        text(&"The file says the same as before. ".repeat(20))
    } else {
        call(n, "read", &json!({"file_path": "a.txt"}))
    };
    reply.replace("\"prompt_tokens\":1000", &format!("\"prompt_tokens\":{}", body.len() / 3))
}

fn turn(keys: &mut ChildStdin, number: usize) {
    writeln!(keys, "look at the file, time {number}").unwrap();
    let patience = Instant::now() + Duration::from_mins(1);
    while ENDED.load(Ordering::SeqCst) < number {
        assert!(Instant::now() < patience, "turn {number} did not end");
        thread::sleep(Duration::from_millis(1));
    }
}
