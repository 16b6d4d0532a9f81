//! Decoding a provider's stream: fast enough to be invisible, and linear in its length.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use xsh::client::decode::{Decoder, Options};
use xsh::message::Delta;

fn main() {
    divan::main();
}

/// How big the pieces from the network are.
const PIECE: usize = 16 * 1024;

/// One event whose delta is `delta`, dressed as providers dress it.
fn event(delta: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":\"chat.completion.chunk\",\
         \"created\":1790000000,\"model\":\"deepseek-flash\",\"service_tier\":\"default\",\
         \"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
         \"logprobs\":null,\"finish_reason\":null}}],\"usage\":null}}\n\n"
    )
}

fn close(mut body: String) -> Vec<u8> {
    body.push_str(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    body.into_bytes()
}

/// Reasoning, then text, then a call, token by token: about 4 MB.
fn ordinary() -> Vec<u8> {
    let words = [" the", " quick", "\\n", " brown fox", " \\\"x\\\"", " 日本", "{", " return"];
    let mut body = String::new();
    for n in 0..12_000 {
        let word = words[n % words.len()];
        body.push_str(&match n {
            0..4_000 => event(&format!("{{\"content\":null,\"reasoning_content\":\"{word}\"}}")),
            4_000..8_000 => event(&format!("{{\"content\":\"{word}\"}}")),
            8_000 => event(
                "{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\
                 \"function\":{\"name\":\"write\",\"arguments\":\"{\\\"text\\\":\\\"\"}}]}",
            ),
            _ => event(&format!(
                "{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{}\"}}}}]}}",
                "word "
            )),
        });
    }
    close(body)
}

/// An answer of 200 KB in 20,000 chunks.
fn long_answer() -> Vec<u8> {
    close((0..20_000).map(|_| event("{\"content\":\"ten bytes \"}")).collect())
}

/// One call whose argument text has this many bytes, in 20-byte fragments.
fn long_argument(size: usize) -> Vec<u8> {
    let piece = |text: &str| {
        event(&format!(
            "{{\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"function\":{{\"name\":\"write\",\"arguments\":\"{text}\"}}}}]}}"
        ))
    };
    let mut body = piece("{\\\"text\\\":\\\"");
    for _ in 0..size / 20 {
        body.push_str(&piece("twenty bytes of text"));
    }
    body.push_str(&piece("\\\"}"));
    close(body)
}

/// One event of this many bytes.
fn long_event(size: usize) -> Vec<u8> {
    close(event(&format!("{{\"content\":\"{}\"}}", "x".repeat(size))))
}

fn decode(body: &[u8], piece: usize) -> usize {
    let mut told = 0;
    let mut on_delta = |delta: Delta| {
        told += 1;
        black_box(delta);
    };
    let mut decoder = Decoder::new("call_1_1_", Options::default());
    for bytes in body.chunks(piece) {
        decoder.push(bytes, &mut on_delta);
    }
    assert!(decoder.finish(&mut on_delta).is_ok());
    told
}

fn run(bencher: Bencher<'_, '_>, body: &[u8], piece: usize) {
    bencher.counter(BytesCount::of_slice(body)).bench(|| decode(black_box(body), piece));
}

#[divan::bench]
fn ordinary_stream(bencher: Bencher<'_, '_>) {
    run(bencher, &ordinary(), PIECE);
}

#[divan::bench]
fn answer_in_20000_chunks(bencher: Bencher<'_, '_>) {
    run(bencher, &long_answer(), PIECE);
}

/// Four times the size has to take four times as long.
#[divan::bench(args = [250_000, 1_000_000])]
fn argument_in_20_byte_fragments(bencher: Bencher<'_, '_>, size: usize) {
    run(bencher, &long_argument(size), PIECE);
}

/// A single line that comes in pieces of 20 bytes.
#[divan::bench(args = [250_000, 1_000_000])]
fn line_in_20_byte_pieces(bencher: Bencher<'_, '_>, size: usize) {
    run(bencher, &long_event(size), 20);
}
