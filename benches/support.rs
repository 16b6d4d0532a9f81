//! What the benches share: a clean place to run xsh in, a server that answers at once, a terminal,
//! and the table of figures.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;

/// The binary, built as for `cargo build --release`.
pub(crate) const XSH: &str = env!("CARGO_BIN_EXE_xsh");

/// Prints the head of the table.
pub(crate) fn title() {
    println!("{:<58} {:>10} {:>10} {:>10}", "", "target", "median", "best");
}

/// Prints one line of it, from several measurements.
pub(crate) fn times(what: &str, target: &str, mut samples: Vec<Duration>) {
    samples.sort();
    let median = samples.get(samples.len() / 2).unwrap();
    line(what, target, &format!("{median:.2?}"), &format!("{:.2?}", samples.first().unwrap()));
}

/// Prints one line of it.
pub(crate) fn line(what: &str, target: &str, median: &str, best: &str) {
    println!("{what:<58} {target:>10} {median:>10} {best:>10}");
}

/// Bytes for people.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{}.{:02} MB", bytes / 1_000_000, bytes % 1_000_000 / 10_000)
}

/// Measures this many times.
pub(crate) fn repeat(rounds: usize, mut work: impl FnMut() -> Duration) -> Vec<Duration> {
    (0..rounds).map(|_| work()).collect()
}

/// How long this takes.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

/// A home and a workspace of their own, and a provider.
pub(crate) struct Place {
    root: TempDir,
    base_url: String,
}

impl Place {
    /// An empty workspace; `base_url` is the provider's.
    pub(crate) fn new(base_url: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "work"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root, base_url: base_url.to_owned() }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("work").canonicalize().unwrap()
    }

    fn vars(&self) -> [(&'static str, String); 6] {
        let home = self.root.path().join("home").display().to_string();
        [
            ("HOME", home),
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            ("XSH_BASE_URL", self.base_url.clone()),
            ("XSH_API_KEY", "sk-bench-0123456789".to_owned()),
            ("XSH_MODEL", "bench".to_owned()),
        ]
    }

    /// xsh without a terminal, its output dropped.
    pub(crate) fn xsh(&self, args: &[&str]) -> Command {
        let mut command = Command::new(XSH);
        command.args(args).current_dir(self.workspace()).env_clear().envs(self.vars());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// xsh in a terminal.
    pub(crate) fn terminal(&self, args: &[&str]) -> Terminal {
        let mut command = CommandBuilder::new(XSH);
        command.args(args);
        command.cwd(self.workspace());
        command.env_clear();
        for (name, value) in self.vars() {
            command.env(name, value);
        }
        Terminal::start(command)
    }
}

/// A program in a pseudo-terminal.
pub(crate) struct Terminal {
    pub(crate) started: Instant,
    child: Box<dyn Child + Send + Sync>,
    reader: Box<dyn Read + Send>,
    /// What came out after the text that was last waited for.
    seen: Vec<u8>,
    writer: Box<dyn Write + Send>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    fn start(command: CommandBuilder) -> Self {
        let size = PtySize { rows: 40, cols: 100, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).unwrap();
        Self { started, child, reader, seen: Vec::new(), writer, _master: pair.master }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Reads until this text has come out, and past it.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let mut piece = [0; 4096];
        loop {
            if let Some(at) = memchr::memmem::find(&self.seen, text.as_bytes()) {
                self.seen.drain(..at + text.len());
                return;
            }
            let read = self.reader.read(&mut piece).unwrap();
            assert!(read > 0, "the program ended before it wrote {text:?}");
            let kept = self.seen.len().saturating_sub(text.len());
            self.seen.drain(..kept);
            self.seen.extend_from_slice(piece.get(..read).unwrap());
        }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush()).unwrap();
    }

    /// Ends the program by Ctrl-D.
    pub(crate) fn close(mut self) {
        self.send("\x04");
        // Its output has to be taken, or it waits for room.
        let mut rest = Vec::new();
        let _ = self.reader.read_to_end(&mut rest);
        self.child.wait().unwrap();
    }
}

/// When a request's head was there, when the whole request, and when its answer had gone out.
#[derive(Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) began: Instant,
    pub(crate) asked: Instant,
    pub(crate) answered: Instant,
}

/// A provider on this machine that answers at once; request n gets answer n.
pub(crate) struct Server {
    pub(crate) base_url: String,
    log: Arc<Mutex<Vec<Exchange>>>,
}

impl Server {
    /// Starts it. `answer` makes the events of the n-th answer, from 0.
    pub(crate) fn start(answer: impl Fn(usize) -> String + Send + 'static) -> Self {
        Self::reading(move |n, _| answer(n))
    }

    /// The same, with an `answer` that looks at the request's body too.
    pub(crate) fn reading(answer: impl Fn(usize, &str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&log);
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), &answer, &sink);
            }
        });
        Self { base_url, log }
    }

    /// What has been served since the last call.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    /// The bare exchange, without xsh: a connection, a request, its whole answer.
    pub(crate) fn ask(&self) {
        let address = self.base_url.trim_start_matches("http://").trim_end_matches("/v1");
        let mut stream = TcpStream::connect(address).unwrap();
        let body = r#"{"model":"bench","stream":true,"messages":[]}"#;
        write!(
            stream,
            "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
}

fn serve(stream: TcpStream, answer: &impl Fn(usize, &str) -> String, log: &Mutex<Vec<Exchange>>) {
    stream.set_nodelay(true).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(length) = head(&mut reader) {
        let began = Instant::now();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let asked = Instant::now();
        let events = answer(log.lock().unwrap().len(), &String::from_utf8_lossy(&body));
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
        writer.write_all(format!("{head} {}\r\n\r\n{events}", events.len()).as_bytes()).unwrap();
        log.lock().unwrap().push(Exchange { began, asked, answered: Instant::now() });
    }
}

/// Reads a request's head; its body's length, or none at the end of the connection.
fn head(reader: &mut impl BufRead) -> Option<usize> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
        if line.is_empty() {
            return length;
        }
    }
}

/// The events of an answer with this text.
pub(crate) fn text(content: &str) -> String {
    let delta = serde_json::json!({ "content": content });
    events(&delta, "stop")
}

/// The events of an answer that calls a tool.
pub(crate) fn call(id: usize, name: &str, arguments: &serde_json::Value) -> String {
    let function = serde_json::json!({ "name": name, "arguments": arguments.to_string() });
    let call = serde_json::json!({ "index": 0, "id": format!("call_{id}"), "type": "function", "function": function });
    events(&serde_json::json!({ "tool_calls": [call] }), "tool_calls")
}

fn events(delta: &serde_json::Value, reason: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n\
         data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}],\
         \"usage\":{{\"prompt_tokens\":1000,\"completion_tokens\":20}}}}\n\ndata: [DONE]\n\n"
    )
}

/// A field of `/proc/PID/status`, in bytes.
pub(crate) fn status(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
