//! The claim: an answer of 200 KB in 20,000 chunks is decoded and shown within 150 ms of processor
//! time.

use std::io;
use std::time::Duration;

use xsh::client::decode::{Decoder, Options};
use xsh::message::Delta;
use xsh::ui::Screen;
use xsh::ui::terminal::{Terminal, TerminalOptions};
use xsh::update::Update;

use super::support::{Place, Server, repeat, time, times};

const CHUNKS: usize = 20_000;
/// Bytes that come from the network at once.
const PIECE: usize = 16 * 1024;
const ROUNDS: usize = 15;

pub(crate) fn run() {
    let body = answer(0);
    let inside = repeat(ROUNDS, || time(|| decode_and_show(body.as_bytes())));
    times("answer: 20,000 chunks decoded and shown, in the library", "150 ms", inside);
    let server = Server::start(answer);
    let place = Place::new(&server.base_url);
    let whole = repeat(ROUNDS, || in_a_terminal(&place));
    times("answer: the same turn in a terminal, processor time", "150 ms", whole);
}

/// 200 KB as Markdown: prose, lists and code.
fn answer(_: usize) -> String {
    let words = [
        "a few ",
        "**words** ",
        "of `code`,",
        " then\\n",
        "- one item",
        " and\\n\\n",
        "日本 text",
        " goes on. ",
    ];
    let mut body = String::new();
    for n in 0..CHUNKS {
        let word = words.get(n % words.len()).unwrap();
        body.push_str(&format!(
            "data: {{\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":\"chat.completion.chunk\",\
             \"created\":1790000000,\"model\":\"deepseek-flash\",\"choices\":[{{\"index\":0,\"delta\":\
             {{\"content\":\"{word}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null}}\n\n"
        ));
    }
    body.push_str("data: {\"choices\":[{\"delta\":{\"content\":\" The end.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    body
}

fn decode_and_show(body: &[u8]) {
    let options =
        TerminalOptions { color: true, interactive: true, verbose: false, width: Box::new(|| 100) };
    let mut screen = Terminal::new(io::sink(), options);
    let mut decoder = Decoder::new("call_1_1_", Options::default());
    for piece in body.chunks(PIECE) {
        decoder.push(piece, &mut |delta| {
            if let Delta::Content(text) = delta {
                screen.show(&Update::Text(text));
            }
        });
        screen.flush().unwrap();
    }
    assert!(decoder.finish(&mut |_| {}).is_ok());
}

/// Processor time from the message typed to the next prompt.
fn in_a_terminal(place: &Place) -> Duration {
    let mut terminal = place.terminal(&[]);
    terminal.wait_for("> \x1b[0m");
    let before = processor_time(terminal.pid());
    terminal.send("hi\r");
    terminal.wait_for("The end.");
    terminal.wait_for("> \x1b[0m");
    let spent = processor_time(terminal.pid()).saturating_sub(before);
    terminal.close();
    spent
}

/// Of all threads that are there now.
fn processor_time(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let nanoseconds = tasks.map(|task| {
        let schedstat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        schedstat.split(' ').next().and_then(|time| time.parse::<u64>().ok()).unwrap_or(0)
    });
    Duration::from_nanos(nanoseconds.sum())
}
