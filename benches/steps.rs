//! The claim: from the end of a reply that calls a cheap tool to the next request less than 2 ms
//! pass, at the 500th step as at the first.

use std::fs;
use std::time::Duration;

use super::support::{Exchange, Place, Server, call, text, times};

const STEPS: usize = 520;
const FILES: usize = 10;
/// Steps that make up one figure.
const WINDOW: usize = 20;

pub(crate) fn run() {
    let server = Server::start(|step| match step {
        STEPS => text("done"),
        // Always another file and place: the same call again and again would end the turn.
        step => call(
            step,
            "read",
            &serde_json::json!({ "file_path": format!("f{}.txt", step % FILES), "offset": step / FILES + 1, "limit": 20 }),
        ),
    });
    let place = Place::new(&server.base_url);
    for file in 0..FILES {
        let lines: Vec<String> = (0..200).map(|line| format!("{line}: of file {file}")).collect();
        fs::write(place.workspace().join(format!("f{file}.txt")), lines.join("\n")).unwrap();
    }
    let ended = place.xsh(&["--max-steps", "1000", "-p", "read"]).status().unwrap();
    assert!(ended.success());
    let exchanges = server.exchanges();
    assert_eq!(exchanges.len(), STEPS + 1);
    let gaps: Vec<Duration> = exchanges.windows(2).map(gap).collect();
    let around = |step: usize| gaps.iter().copied().skip(step).take(WINDOW).collect();
    times("steps: reply to next request, steps 1 to 20", "2 ms", around(0));
    times("steps: reply to next request, steps 500 to 520", "2 ms", around(STEPS - WINDOW));
}

fn gap(pair: &[Exchange]) -> Duration {
    let (before, after) = (pair.first().unwrap(), pair.last().unwrap());
    after.asked.duration_since(before.answered)
}
