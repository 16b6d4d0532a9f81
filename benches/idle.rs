//! The claim: a session that waits at its prompt takes less than 12 MB, and no processor time.

use std::thread;
use std::time::Duration;

use super::support::{Place, Server, line, megabytes, status, text};

pub(crate) fn run() {
    let server = Server::start(|_| text("an answer"));
    let place = Place::new(&server.base_url);
    let mut terminal = place.terminal(&[]);
    terminal.wait_for("> ");
    show(terminal.pid(), "idle: memory at the first prompt", "12 MB");
    terminal.send("hi\r");
    terminal.wait_for("an answer");
    terminal.wait_for("> ");
    show(terminal.pid(), "idle: memory after one turn", "12 MB");
    let before = ticks(terminal.pid());
    thread::sleep(Duration::from_secs(3));
    let ticks = ticks(terminal.pid()) - before;
    line("idle: processor time in 3 s", "0 ms", &format!("{} ms", ticks * 10), "");
    terminal.close();
}

fn show(pid: u32, what: &str, target: &str) {
    thread::sleep(Duration::from_millis(300));
    line(what, target, &megabytes(status(pid, "VmRSS")), "");
    let part = |name| megabytes(status(pid, name));
    line("  of it its own, the rest is the program file", "", &part("RssAnon"), "");
}

/// Processor time so far, in hundredths of a second.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let fields: Vec<u64> =
        rest.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    fields.get(11).unwrap() + fields.get(12).unwrap()
}
