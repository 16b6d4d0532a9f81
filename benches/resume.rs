//! The claim: a session of 100 MB and 200,000 events goes on within 300 ms.
//!
//! Two such sessions: one that was compacted again and again, as a window of 128,000 tokens makes
//! it, and one that never was, whose whole history therefore goes into the next request.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use xsh::client::profile::GENERIC;
use xsh::event::{
    AssistantMessage, Author, Compaction, CompactionKind, Ending, Event, FileSeen, Header, Record,
    ToolResult, ToolStarted, Trigger, TurnFinished, UserMessage,
};
use xsh::message::{FinishReason, Reply, ToolCall, Usage};
use xsh::session::resume;
use xsh::session::speaker::Speaker;

use super::support::{Place, Server, line, megabytes, repeat, text, time, times};

const EVENTS: u64 = 200_000;
const STEPS_IN_A_TURN: u32 = 10;
/// Turns between two compactions: about 100,000 tokens.
const TURNS_IN_A_WINDOW: u32 = 18;
const ROUNDS: usize = 7;

pub(crate) fn run() {
    let server = Server::start(|_| text("welcome back"));
    let place = Place::new(&server.base_url);
    for (name, compacted) in [("compacted", true), ("never compacted", false)] {
        let (path, size) = write_session(&place, compacted);
        line(&format!("resume: a session, {name}, of {EVENTS} events"), "", &megabytes(size), "");
        let library = repeat(ROUNDS, || time(|| open(&path)));
        times("  read and folded", "300 ms", library);
        let binary = repeat(ROUNDS, || to_first_request(&place, &server, &path));
        times("  exec of `xsh --resume ID -p hi` to its request", "300 ms", binary);
        fs::remove_file(&path).unwrap();
    }
}

/// Reads the session as far as its next request.
fn open(path: &Path) -> usize {
    let opened = resume::open(path, &GENERIC, Path::new("/"), None, &CancellationToken::new());
    let mut state = opened.unwrap_or_else(|_| panic!("unreadable")).session.state;
    state.set_reader(&GENERIC, Speaker { provider: "deepseek".to_owned(), model: "m".to_owned() });
    state.encoded().all().len()
}

/// Runs a turn, puts the file back as it was, and says when its request began to arrive.
fn to_first_request(place: &Place, server: &Server, path: &Path) -> Duration {
    let size = fs::metadata(path).unwrap().len();
    let id = path.file_stem().unwrap().to_str().unwrap();
    let started = Instant::now();
    let status = place.xsh(&["--resume", id, "-p", "hi"]).status().unwrap();
    assert!(status.success());
    File::options().write(true).open(path).unwrap().set_len(size).unwrap();
    server.exchanges().first().unwrap().began.duration_since(started)
}

fn write_session(place: &Place, compacted: bool) -> (PathBuf, u64) {
    let id = format!("20261130T091500Z-{:06x}", u32::from(compacted));
    let folder = place.workspace().join(".xsh/sessions");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{id}.jsonl"));
    let mut writer = Writer { out: BufWriter::new(File::create(&path).unwrap()), seq: 0 };
    writer.header(&id, &place.workspace().display().to_string());
    let mut turn = 0;
    let mut window_start = 1;
    while writer.seq < EVENTS {
        turn += 1;
        let turn_start = writer.seq + 1;
        writer.turn(turn);
        if compacted && turn % TURNS_IN_A_WINDOW == 0 {
            writer.compaction(window_start, turn_start - 1);
            window_start = 1;
        }
    }
    writer.out.flush().unwrap();
    let size = fs::metadata(&path).unwrap().len();
    (path, size)
}

struct Writer {
    out: BufWriter<File>,
    seq: u64,
}

impl Writer {
    fn header(&mut self, id: &str, cwd: &str) {
        let header = Header {
            kind: "session".to_owned(),
            version: 1,
            id: id.to_owned(),
            created_at: "2026-11-30T09:15:00.123Z".to_owned(),
            cwd: cwd.to_owned(),
            xsh: "0.1.0".to_owned(),
            forked_from: None,
            mark: None,
        };
        serde_json::to_writer(&mut self.out, &header).unwrap();
        self.out.write_all(b"\n").unwrap();
    }

    fn event(&mut self, event: Event) {
        self.seq += 1;
        let at = "2026-11-30T09:15:09.001Z".to_owned();
        self.out.write_all(&Record { seq: self.seq, at, event }.to_line().unwrap()).unwrap();
    }

    fn turn(&mut self, turn: u32) {
        let content = format!("Please look into problem {turn} and repair it.");
        self.event(Event::UserMessage(UserMessage { turn, content, author: Author::User }));
        for step in 1..=STEPS_IN_A_TURN {
            self.step(turn, step);
        }
        self.reply(turn, STEPS_IN_A_TURN + 1, "The cause was found and repaired.", Vec::new());
        self.event(Event::TurnFinished(TurnFinished {
            turn,
            ending: Ending::Completed,
            steps: STEPS_IN_A_TURN + 1,
            usage: Usage { prompt: 10_000, completion: 500, ..Usage::default() },
            detail: String::new(),
        }));
    }

    fn step(&mut self, turn: u32, step: u32) {
        let call_id = format!("call_{turn}_{step}");
        let arguments = format!("{{\"file_path\":\"src/part{step}.rs\",\"offset\":{turn}}}");
        let name = "read".to_owned();
        let call =
            ToolCall { id: call_id.clone(), name: name.clone(), arguments, ..ToolCall::default() };
        self.reply(turn, step, "", vec![call]);
        self.event(Event::ToolStarted(ToolStarted { call_id: call_id.clone(), name }));
        let path = format!("/home/ada/app/src/part{step}.rs");
        let sha256 = format!("{:064x}", u64::from(turn) * 31);
        self.event(Event::ToolResult(ToolResult {
            call_id,
            content: source(turn, step),
            duration_ms: 3,
            files: vec![FileSeen { path, sha256 }],
            ..ToolResult::default()
        }));
    }

    fn reply(&mut self, turn: u32, step: u32, content: &str, tool_calls: Vec<ToolCall>) {
        let calls = !tool_calls.is_empty();
        self.event(Event::AssistantMessage(AssistantMessage {
            turn,
            step,
            provider: "deepseek".to_owned(),
            model: "deepseek-flash".to_owned(),
            reply: Reply {
                content: content.to_owned(),
                reasoning: "The file named in the error comes first; its caller after that."
                    .to_owned(),
                reasoning_field: Some("reasoning_content".to_owned()),
                tool_calls,
                finish_reason: if calls { FinishReason::ToolCalls } else { FinishReason::Stop },
                usage: Some(Usage { prompt: 1_000, completion: 50, ..Usage::default() }),
                ..Reply::default()
            },
            partial: false,
        }));
    }

    fn compaction(&mut self, from_seq: u64, to_seq: u64) {
        self.event(Event::Compaction(Compaction {
            from_seq,
            to_seq,
            summary: "Goal: repair the problems one after the other.\n".repeat(40),
            tokens_before: 100_000,
            tokens_after: 20_000,
            trigger: Trigger::Auto,
            kind: CompactionKind::Summary,
            usage: None,
        }));
    }
}

/// What `read` shows of a source file: short lines with quotes and tabs.
fn source(turn: u32, step: u32) -> String {
    let lines = (1..=13).map(|line| {
        format!("{line}: \tlet value_{turn} = table.get(\"entry {step}\").unwrap_or(&fallback);\n")
    });
    lines.collect()
}
