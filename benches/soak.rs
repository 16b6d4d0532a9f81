//! The claims: 2,000 turns with compactions take no more memory than 100 do, and waiting at the
//! prompt takes no processor time.
//!
//! Drives the real program against a server that answers at once: each turn reads a file and
//! answers; the small window makes it summarise every few turns. Linux only, as it reads `/proc`.

#![expect(clippy::unwrap_used, reason = "a bench may stop at the first fault")]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use support::{Server, call, resident, text, ticks};

const TURNS: [usize; 4] = [100, 500, 1000, 2000];
const IDLE: Duration = Duration::from_secs(10);

static ENDED: AtomicUsize = AtomicUsize::new(0);
static SUMMARIES: AtomicUsize = AtomicUsize::new(0);

fn main() {
    // The harness of `cargo test --benches` only asks whether this builds and starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("work");
    fs::create_dir(&workspace).unwrap();
    fs::write(workspace.join("a.txt"), "a line of about forty bytes, no more\n".repeat(100))
        .unwrap();
    let server = Server::start(answer);
    soak(&server, &workspace);
    idle(&server, &workspace);
}

/// A read, then an answer; a summary when asked for one.
fn answer(body: &str) -> String {
    if body.contains(r#""tool_choice":"none""#) {
        SUMMARIES.fetch_add(1, Ordering::SeqCst);
        return text("SUMMARY: the file was read again and again.");
    }
    let role = body.rfind(r#""role":""#).and_then(|at| body.get(at + 8..at + 12));
    if role == Some("tool") {
        ENDED.fetch_add(1, Ordering::SeqCst);
        return text(&"The file says the same as before. ".repeat(20));
    }
    call("read", r#"{"file_path":"a.txt"}"#)
}

fn soak(server: &Server, workspace: &Path) {
    let mut command = server.xsh(workspace);
    command.args(["--permission-mode", "full", "--context-window", "12000"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let began = Instant::now();
    let mut turns = 0;
    for milestone in TURNS {
        while turns < milestone {
            turns += 1;
            turn(&mut keys, turns);
        }
        println!(
            "turn {turns:>5}: {:>6.1} MB, {} requests, {} summaries, {:.1?}",
            resident(child.id()),
            server.answered(),
            SUMMARIES.load(Ordering::SeqCst),
            began.elapsed()
        );
    }
    drop(keys);
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
}

fn turn(keys: &mut ChildStdin, number: usize) {
    writeln!(keys, "look at the file, time {number}").unwrap();
    let patience = Instant::now() + Duration::from_mins(1);
    while ENDED.load(Ordering::SeqCst) < number {
        assert!(Instant::now() < patience, "turn {number} did not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn idle(server: &Server, workspace: &Path) {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_xsh"));
    command.env_clear();
    server.environment(workspace).into_iter().for_each(|(name, value)| command.env(name, value));
    command.cwd(workspace);
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut screen = pair.master.try_clone_reader().unwrap();
    std::thread::spawn(move || while matches!(screen.read(&mut [0; 4096]), Ok(1..)) {});
    std::thread::sleep(Duration::from_secs(2));
    let pid = child.process_id().unwrap();
    let before = ticks(pid);
    std::thread::sleep(IDLE);
    println!("idle at the prompt for {IDLE:?}: {} ticks of processor time", ticks(pid) - before);
    child.kill().unwrap();
    child.wait().unwrap();
}
