//! What the benches that drive the real program share: a model server on loopback that answers at
//! once, a clean environment, and what the kernel says of a process.

#![expect(clippy::unwrap_used, reason = "a bench may stop at the first fault")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Answers each request body with the deltas of one reply.
type Answer = fn(&str) -> String;

/// The server; it lives as long as the process.
pub struct Server {
    address: SocketAddr,
    answered: Arc<AtomicUsize>,
}

impl Server {
    pub fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answered = Arc::new(AtomicUsize::new(0));
        let count = answered.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away is no fault.
                let _ = serve(stream, answer, &count);
            }
        });
        Self { address, answered }
    }

    /// Requests answered so far.
    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }

    /// `xsh` in this workspace, talking to this server, with nothing else in its environment.
    #[expect(clippy::disallowed_methods, reason = "it is what is measured")]
    pub fn xsh(&self, workspace: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xsh"));
        command.current_dir(workspace).env_clear().envs(self.environment(workspace));
        command
    }

    /// The variables of such a run.
    pub fn environment(&self, workspace: &Path) -> Vec<(&'static str, String)> {
        let home = workspace.with_extension("home").display().to_string();
        vec![
            ("HOME", home),
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("TERM", "xterm".to_owned()),
            ("XSH_BASE_URL", format!("http://{}/v1", self.address)),
            ("XSH_MODEL", "bench".to_owned()),
        ]
    }
}

fn serve(stream: TcpStream, answer: Answer, count: &AtomicUsize) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let deltas = answer(&String::from_utf8_lossy(&body));
    count.fetch_add(1, Ordering::SeqCst);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    reader.get_mut().write_all(format!("{head}{deltas}data: [DONE]\n\n").as_bytes())
}

/// A reply of text.
pub fn text(text: &str) -> String {
    let content = serde_json::json!(text);
    event(&format!(r#"{{"content":{content}}}"#), "stop")
}

/// A reply that calls one tool.
pub fn call(name: &str, arguments: &str) -> String {
    let arguments = serde_json::json!(arguments);
    let call = format!(
        r#"{{"tool_calls":[{{"index":0,"id":"c","type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}]}}"#
    );
    event(&call, "tool_calls")
}

fn event(delta: &str, finish: &str) -> String {
    format!(r#"data: {{"choices":[{{"index":0,"delta":{delta},"finish_reason":"{finish}"}}]}}"#)
        + "\n\n"
}

/// Resident memory in MB.
pub fn resident(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
    kilobytes / 1024.0
}

/// Processor time used so far, in ticks of usually 10 ms.
pub fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}
