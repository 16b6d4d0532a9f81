use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::message::{FinishReason, ToolCall, Usage};

/// What a body decodes to, with everything that was told on the way.
#[derive(Debug, PartialEq)]
struct Decoded {
    reply: Reply,
    error: Option<ProviderError>,
    notes: Vec<String>,
}

fn options() -> Options {
    Options { think_tags: ThinkTags::Start, url: "https://api.example/v1".to_owned() }
}

/// Decodes the pieces and checks that the deltas add up to the reply.
fn decode_with<'a>(options: Options, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let (mut content, mut reasoning, mut names) = (String::new(), String::new(), Vec::new());
    let mut notes = Vec::new();
    let mut on_delta = |delta| match delta {
        Delta::Content(text) => content.push_str(&text),
        Delta::Reasoning(text) => reasoning.push_str(&text),
        Delta::ToolCall(name) => names.push(name),
        Delta::Note(text) => notes.push(text),
    };
    let mut decoder = Decoder::new("call_3_2_", options);
    for piece in pieces {
        if decoder.push(piece, &mut on_delta) == Flow::Done {
            break;
        }
    }
    let (reply, error) = match decoder.finish(&mut on_delta) {
        Ok(reply) => (reply, None),
        Err(failed) => (failed.partial, Some(failed.error)),
    };
    assert_eq!(content, reply.content, "told and kept text differ");
    assert_eq!(reasoning, reply.reasoning, "told and kept reasoning differ");
    for name in names {
        assert!(reply.tool_calls.iter().any(|call| call.name.starts_with(&name)), "{name}");
    }
    Decoded { reply, error, notes }
}

fn decode(body: &str) -> Decoded {
    decode_with(options(), [body.as_bytes()])
}

/// Cuts the bytes at the offsets.
fn cut<'a>(bytes: &'a [u8], at: &[usize]) -> Vec<&'a [u8]> {
    let mut offsets: Vec<usize> = at.iter().map(|at| at % (bytes.len() + 1)).collect();
    offsets.extend([0, bytes.len()]);
    offsets.sort_unstable();
    offsets.windows(2).map(|span| &bytes[span[0]..span[1]]).collect()
}

struct Fixture {
    name: String,
    body: Vec<u8>,
    expected: Value,
}

fn fixtures() -> Vec<Fixture> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/sse-fixtures");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let bodies = files.filter(|path| path.extension().is_some_and(|kind| kind == "sse"));
    let mut all: Vec<Fixture> = bodies
        .map(|path| Fixture {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            body: std::fs::read(&path).unwrap(),
            expected: serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap())
                .unwrap(),
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(all.len(), 36);
    all
}

/// A decoded body in the form of the fixtures' expectations.
fn in_fixture_form(decoded: &Decoded, expected: &Value) -> Value {
    let reply = &decoded.reply;
    let calls = reply.tool_calls.iter().zip(expected_calls(expected));
    let mut out = json!({
        "content": reply.content,
        "reasoning": reply.reasoning,
        "tool_calls": calls.map(|(call, like)| call_form(call, like)).collect::<Vec<_>>(),
        "finish_reason": reply.finish_reason,
        "usage": reply.usage.map(|usage| usage_form(&usage)),
    });
    if let Some(details) = &reply.reasoning_details {
        out["reasoning_details"] = details.clone();
    }
    if let Some(error) = &decoded.error {
        out["error"] = json!({
            "kind": error.kind.name(),
            "message": error.message,
            "code": error.code,
            "retryable": error.retryable(),
        });
    }
    out
}

fn expected_calls(expected: &Value) -> &[Value] {
    expected["tool_calls"].as_array().unwrap()
}

fn call_form(call: &ToolCall, like: &Value) -> Value {
    let mut out = json!({"name": call.name, "arguments": call.arguments});
    if like.get("id").is_some() {
        out["id"] = json!(call.id);
    }
    if call.incomplete {
        out["incomplete"] = json!(true);
    } else {
        out["arguments"] = serde_json::from_str(&call.arguments).unwrap();
    }
    if let Some(extra) = &call.extra_content {
        out["extra_content"] = extra.clone();
    }
    out
}

fn usage_form(usage: &Usage) -> Value {
    let mut out = json!({
        "prompt": usage.prompt, "completion": usage.completion, "cached": usage.cached,
    });
    if let Some(cost) = usage.cost {
        out["cost"] = json!(cost);
    }
    out
}

fn check_fixture(fixture: &Fixture, pieces: &[&[u8]]) {
    let decoded = decode_with(options(), pieces.iter().copied());
    let mut expected = fixture.expected.clone();
    for field in ["note", "split_at", "http"] {
        expected.as_object_mut().unwrap().remove(field);
    }
    for call in expected["tool_calls"].as_array_mut().unwrap() {
        if call.get("incomplete").is_none() {
            let text = call["arguments"].as_str().unwrap();
            call["arguments"] = serde_json::from_str(text).unwrap();
        }
    }
    assert_eq!(in_fixture_form(&decoded, &fixture.expected), expected, "{}", fixture.name);
    let calls = &decoded.reply.tool_calls;
    assert_eq!(calls.len(), expected_calls(&expected).len(), "{}", fixture.name);
    let ids: std::collections::BTreeSet<&String> = calls.iter().map(|call| &call.id).collect();
    assert!(ids.len() == calls.len() && !ids.iter().any(|id| id.is_empty()), "{}", fixture.name);
}

#[test]
fn fixtures_decode_whole_and_byte_by_byte_and_at_their_cuts() {
    for fixture in fixtures() {
        check_fixture(&fixture, &[&fixture.body]);
        check_fixture(&fixture, &fixture.body.chunks(1).collect::<Vec<_>>());
        let at = fixture.expected["split_at"].as_array().cloned().unwrap_or_default();
        let at: Vec<usize> =
            at.iter().map(|at| usize::try_from(at.as_u64().unwrap()).unwrap()).collect();
        check_fixture(&fixture, &cut(&fixture.body, &at));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn fixtures_decode_at_any_cuts(at in prop::collection::vec(any::<usize>(), 0..12)) {
        for fixture in fixtures() {
            check_fixture(&fixture, &cut(&fixture.body, &at));
        }
    }

    /// Line ends are no part of the meaning.
    #[test]
    fn fixtures_decode_with_any_line_end(end in prop::sample::select(vec!["\r\n", "\r", "\n"]),
        at in prop::collection::vec(any::<usize>(), 0..12)) {
        for mut fixture in fixtures() {
            let text = String::from_utf8(fixture.body).unwrap();
            fixture.body = text.replace("\r\n", "\n").replace('\n', end).into_bytes();
            check_fixture(&fixture, &cut(&fixture.body, &at));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode_with(options(), [bytes.as_slice()]);
    }

    /// Changed bytes never panic, and the result still does not depend on the cuts.
    #[test]
    fn damaged_fixtures_decode_alike_however_they_are_cut(
        which in 0..36usize,
        damage in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        at in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let mut body = fixtures().swap_remove(which).body;
        for (place, byte) in damage {
            let place = place % body.len();
            body[place] = byte;
        }
        let whole = decode_with(options(), [body.as_slice()]);
        prop_assert_eq!(decode_with(options(), cut(&body, &at)), whole);
    }

    /// A body that ends anywhere never brings a call that was cut.
    #[test]
    fn cut_bodies_bring_no_cut_calls(which in 0..36usize, end in any::<usize>()) {
        let body = fixtures().swap_remove(which).body;
        let decoded = decode_with(options(), [&body[..end % (body.len() + 1)]]);
        for call in decoded.reply.tool_calls.iter().filter(|call| !call.incomplete) {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            prop_assert!(arguments.is_object());
        }
    }
}

/// An event with one delta.
fn delta(delta: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n")
}

fn finish(reason: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n")
}

const DONE: &str = "data: [DONE]\n\n";

/// A body of these deltas with the end of an ordinary answer.
fn answer(deltas: &[&str]) -> String {
    deltas.iter().map(|piece| delta(piece)).chain([finish("stop"), DONE.to_owned()]).collect()
}

fn tool(call: &str) -> String {
    format!("{{\"tool_calls\":[{call}]}}")
}

/// The names and arguments of the calls in these pieces, cut ones marked.
fn calls(pieces: &[&str]) -> Vec<String> {
    let deltas: Vec<String> = pieces.iter().map(|piece| tool(piece)).collect();
    let body = answer(&deltas.iter().map(String::as_str).collect::<Vec<_>>());
    shown(&decode(&body).reply.tool_calls)
}

fn shown(calls: &[ToolCall]) -> Vec<String> {
    let mark = |call: &ToolCall| if call.incomplete { " CUT" } else { "" };
    calls.iter().map(|call| format!("{} {}{}", call.name, call.arguments, mark(call))).collect()
}

/// What it is about, the pieces as they come, and the calls they are.
const DIALECTS: &[(&str, &[&str], &[&str])] = &[
    (
        "glued objects become sibling calls",
        &[
            r#"{"index":0,"id":"g","function":{"name":"read","arguments":"{\"p\":\"a\"}"}}"#,
            r#"{"index":0,"function":{"arguments":"{\"p\":\"b\"}"}}"#,
        ],
        &[r#"read {"p":"a"}"#, r#"read {"p":"b"}"#],
    ),
    (
        "glued objects, the last one cut",
        &[r#"{"index":0,"id":"g","function":{"name":"read","arguments":"{\"p\":1} {\"p\":"}}"#],
        &[r#"read {"p":1}"#, r#"read  {"p": CUT"#],
    ),
    (
        "late id",
        &[
            r#"{"index":0,"function":{"name":"read"}}"#,
            r#"{"index":0,"id":"late","function":{"arguments":"{}"}}"#,
        ],
        &["read {}"],
    ),
    (
        "one constant id for all, told apart by index",
        &[
            r#"{"index":0,"id":"call","function":{"name":"a","arguments":"{}"}}"#,
            r#"{"index":1,"id":"call","function":{"name":"b","arguments":"{}"}}"#,
        ],
        &["a {}", "b {}"],
    ),
    (
        "one constant id, and the same call twice on purpose",
        &[
            r#"{"index":0,"id":"call","function":{"name":"a","arguments":"{\"x\":1}"}}"#,
            r#"{"index":1,"id":"call","function":{"name":"a","arguments":"{\"x\":1}"}}"#,
        ],
        &[r#"a {"x":1}"#, r#"a {"x":1}"#],
    ),
    (
        "one constant id without index, told apart by name",
        &[
            r#"{"id":"call","function":{"name":"a","arguments":"{\"x\":1}"}}"#,
            r#"{"id":"call","function":{"name":"b","arguments":"{}"}}"#,
        ],
        &[r#"a {"x":1}"#, "b {}"],
    ),
    (
        "opened without index, continued with one",
        &[
            r#"{"id":"a","function":{"name":"read","arguments":"{\"p\""}}"#,
            r#"{"index":0,"function":{"arguments":":1}"}}"#,
        ],
        &[r#"read {"p":1}"#],
    ),
    (
        "numbers as text, ids as numbers",
        &[
            r#"{"index":"0","id":7,"function":{"name":"a","arguments":"{"}}"#,
            r#"{"index":0,"id":"7","function":{"arguments":"}"}}"#,
        ],
        &["a {}"],
    ),
    (
        "name repeated with each piece of arguments",
        &[
            r#"{"index":0,"function":{"name":"w","arguments":"{\"a\":"}}"#,
            r#"{"index":0,"function":{"name":"w","arguments":"1}"}}"#,
        ],
        &[r#"w {"a":1}"#],
    ),
    (
        "empty pieces open nothing",
        &["{}", r#"{"index":0,"id":"","function":{"name":""}}"#, "null"],
        &[],
    ),
    (
        "slips are not cuts",
        &[r#"{"index":0,"id":"s","function":{"name":"w","arguments":"{'a':1,}"}}"#],
        &["w {'a':1,}"],
    ),
    (
        "text behind an object is left to the tool",
        &[r#"{"index":0,"id":"s","function":{"name":"w","arguments":"{\"a\":1}}{"}}"#],
        &[r#"w {"a":1}}{ CUT"#],
    ),
    (
        "an unterminated string is a cut, even when the model says it is done",
        &[r#"{"index":0,"id":"s","function":{"name":"shell","arguments":"{\"c\":\"ls\\\"}"}}"#],
        &[r#"shell {"c":"ls\"} CUT"#],
    ),
    (
        "a lone half in the text is replaced, a whole pair kept",
        &[
            r#"{"index":0,"id":"s","function":{"name":"w","arguments":"{\"a\":\"\\ud83d\",\"b\":\"\\ud83d\\ude00\"}"}}"#,
        ],
        &["w {\"a\":\"\u{FFFD}\",\"b\":\"\\ud83d\\ude00\"}"],
    ),
    (
        "a pair cut between two pieces",
        &[
            r#"{"index":0,"id":"s","function":{"name":"w","arguments":"{\"a\":\"\ud83d"}}"#,
            r#"{"index":0,"function":{"arguments":"\ude00\"}"}}"#,
        ],
        &["w {\"a\":\"😀\"}"],
    ),
];

#[test]
fn calls_are_told_apart_in_every_dialect() {
    for (why, pieces, expected) in DIALECTS {
        assert_eq!(calls(pieces), *expected, "{why}");
    }
}

#[test]
fn the_oldest_dialect_has_one_call() {
    let body = answer(&[
        r#"{"function_call":{"name":"read","arguments":"{\"p\":"}}"#,
        r#"{"function_call":{"arguments":"1}"}}"#,
    ]);
    assert_eq!(shown(&decode(&body).reply.tool_calls), [r#"read {"p":1}"#]);
}

#[test]
fn made_up_ids_are_unique_and_safe() {
    let body = answer(&[
        &tool(r#"{"index":0,"id":"call_3_2_1","function":{"name":"a","arguments":"{}"}}"#),
        &tool(r#"{"index":1,"function":{"name":"b","arguments":"{\"x\":1}{\"x\":2}"}}"#),
        &tool(r#"{"index":2,"id":"call_3_2_1","function":{"name":"c","arguments":"{}"}}"#),
    ]);
    let ids: Vec<String> = decode(&body).reply.tool_calls.into_iter().map(|call| call.id).collect();
    assert_eq!(ids, ["call_3_2_1", "call_3_2_2", "call_3_2_3", "call_3_2_4"]);
}

/// Content and reasoning of an answer with these deltas.
fn texts(deltas: &[&str]) -> (String, String) {
    let decoded = decode(&answer(deltas));
    assert_eq!(decoded.error, None);
    (decoded.reply.content, decoded.reply.reasoning)
}

#[test]
fn text_and_reasoning_come_in_every_dialect() {
    let cases: &[(&[&str], &str, &str)] = &[
        (&[r#"{"reasoning_content":"b","content":"c"}"#], "c", "b"),
        (&[r#"{"content":"c"}"#, r#"{"reasoning":"b"}"#, r#"{"content":"d"}"#], "cd", "b"),
        (&[r#"{"reasoning_content":"x","reasoning":"x"}"#], "", "x"),
        (&[r#"{"reasoning_text":"t"}"#], "", "t"),
        (&[r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"s"}]}"#], "", "s"),
        (&[r#"{"content":[{"type":"text","text":"a"},"b",null,{"type":"image_url"}]}"#], "ab", ""),
        (
            &[r#"{"content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}]}"#],
            "a",
            "t",
        ),
        (&[r#"{"content":{"type":"text","text":"a"}}"#], "a", ""),
        (&[r#"{"refusal":"I can't."}"#], "I can't.", ""),
        (&[r#"{"content":5,"content":"twice"}"#], "twice", ""),
        (&[r#"{"content":true,"reasoning":{"x":[1]},"tool_calls":"none"}"#], "", ""),
        (&[r#"{"content":"a\ud83d"}"#, r#"{"content":"\ude00b"}"#], "a😀b", ""),
        (&[r#"{"content":"a\ud83d"}"#, r#"{"content":""}"#, r#"{"content":"\ude00"}"#], "a😀", ""),
        (&[r#"{"content":"a\ud83d"}"#, r#"{"content":"b"}"#], "a\u{FFFD}b", ""),
        (&[r#"{"content":"a\ud83d"}"#], "a\u{FFFD}", ""),
        (&[r#"{"content":"\ude00\ud83d\ud83d\ude00"}"#], "\u{FFFD}\u{FFFD}😀", ""),
        (
            &[r#"{"reasoning":"\ud83e"}"#, r#"{"reasoning":"\udd80","content":"x\udc00y"}"#],
            "x\u{FFFD}y",
            "🦀",
        ),
        (&["{\"content\":\"\u{10FFFD}\"}"], "\u{10FFFD}", ""),
    ];
    for (deltas, content, reasoning) in cases {
        assert_eq!(texts(deltas), (content.to_string(), reasoning.to_string()), "{deltas:?}");
    }
}

#[test]
fn the_field_of_the_reasoning_is_kept() {
    let cases = [
        (r#"{"reasoning_content":"","reasoning":"r"}"#, "reasoning"),
        (r#"{"reasoning_content":"r"}"#, "reasoning_content"),
        (r#"{"content":"<think>r</think>"}"#, "think"),
        (r#"{"content":[{"type":"thinking","thinking":"r"}]}"#, "content"),
        (r#"{"reasoning_details":[{"type":"reasoning.text","text":"r"}]}"#, "reasoning_details"),
    ];
    for (piece, field) in cases {
        let reply = decode(&answer(&[piece])).reply;
        assert_eq!(reply.reasoning_field.as_deref(), Some(field), "{piece}");
        assert_eq!(reply.reasoning, "r", "{piece}");
    }
}

#[test]
fn surrogates_in_details_are_joined() {
    let entry = |text: &str| {
        format!(
            r#"{{"reasoning_details":[{{"type":"reasoning.text","text":"{text}","index":0}}]}}"#
        )
    };
    let reply = decode(&answer(&[&entry(r"a\ud83d"), &entry(r"\ude00")])).reply;
    assert_eq!(reply.reasoning, "a😀");
    assert_eq!(reply.reasoning_details.unwrap()[0]["text"], "a😀");
}

/// Checks how a body ends: its finish reason, and the kind of its error if there is one.
fn check_end(body: &str, reason: FinishReason, kind: Option<ErrorKind>) {
    let decoded = decode(body);
    assert_eq!(decoded.error.as_ref().map(|error| error.kind), kind, "{body}");
    assert_eq!(decoded.reply.finish_reason, reason, "{body}");
}

#[test]
fn an_answer_is_whole_only_with_an_end() {
    use ErrorKind::Incomplete;
    use FinishReason::{Error, Length, Stop, ToolCalls};
    let text = delta(r#"{"content":"The ans"}"#);
    let whole = delta(&tool(r#"{"index":0,"id":"a","function":{"name":"r","arguments":"{}"}}"#));
    let bare = delta(&tool(r#"{"index":0,"id":"a","function":{"name":"r","arguments":""}}"#));
    let half =
        delta(&tool(r#"{"index":0,"id":"b","function":{"name":"w","arguments":"{\"p\":"}}"#));
    let usage = "data: {\"choices\":null,\"usage\":{\"prompt_tokens\":3}}\n\n";
    let cases = [
        (String::new(), Error, Some(Incomplete)),
        (": PROCESSING\n\n: PROCESSING\n\n".to_owned(), Error, Some(Incomplete)),
        ("data: {\"choices\":[]}\n\n".to_owned(), Error, Some(Incomplete)),
        (text.clone(), Error, Some(Incomplete)),
        (format!("{text}{usage}"), Error, Some(Incomplete)),
        (format!("{text}data: {{\"choices\":[{{\"del"), Error, Some(Incomplete)),
        (format!("{text}{DONE}"), Stop, None),
        (format!("{text}{}", finish("stop")), Stop, None),
        (format!("{text}{}data: {{\"usa", finish("stop")), Stop, None),
        (DONE.to_owned(), Stop, None),
        (whole.clone(), ToolCalls, None),
        (format!("{text}{whole}"), ToolCalls, None),
        (bare.clone(), Error, Some(Incomplete)),
        (format!("{bare}{DONE}"), ToolCalls, None),
        (half.clone(), Error, Some(Incomplete)),
        (format!("{whole}{half}"), Error, Some(Incomplete)),
        (format!("{half}{}", finish("length")), Length, None),
        (format!("{text}{}{}", finish("length"), finish("stop")), Length, None),
        (format!("{half}{}", finish("tool_calls")), ToolCalls, None),
        (format!("{text}{}", finish("tool_calls")), Stop, None),
    ];
    for (body, reason, kind) in cases {
        check_end(&body, reason, kind);
    }
}

#[test]
fn a_call_without_arguments_at_the_output_limit_was_cut() {
    let bare = delta(&tool(r#"{"index":0,"id":"a","function":{"name":"r","arguments":""}}"#));
    let marks = |reason: &str| {
        decode(&format!("{bare}{}{DONE}", finish(reason))).reply.tool_calls[0].incomplete
    };
    assert!(marks("length") && marks("content_filter"));
    assert!(!marks("tool_calls") && !marks("stop"));
}

#[test]
fn finish_words_of_all_vendors() {
    use FinishReason::{ContentFilter, ContextOverflow, Error, Length, Stop};
    let cases = [
        ("stop", Stop, None),
        ("eos_token", Stop, None),
        ("something_new", Stop, None),
        ("length", Length, None),
        ("MAX_TOKENS", Length, None),
        ("model_length", Length, None),
        ("sensitive", ContentFilter, None),
        ("SAFETY", ContentFilter, None),
        ("model_context_window_exceeded", ContextOverflow, Some(ErrorKind::Overflow)),
        ("insufficient_system_resource", Error, Some(ErrorKind::Overloaded)),
        ("network_error", Error, Some(ErrorKind::Server)),
        ("abort", Error, Some(ErrorKind::Server)),
        ("error", Error, Some(ErrorKind::Server)),
    ];
    for (word, reason, kind) in cases {
        let body = format!("{}{}{DONE}", delta(r#"{"content":"x"}"#), finish(word));
        check_end(&body, reason, kind);
        let noted = !decode(&body).notes.is_empty();
        assert_eq!(noted, word == "something_new", "{word}");
    }
    let failed = decode(&finish("abort")).error.unwrap();
    assert_eq!(failed.code.as_deref(), Some("abort"));
}

#[test]
fn nothing_is_read_behind_the_end_marker() {
    for done in ["data:[DONE]\n\n", "data: [DONE]\n\n", "data: [DONE] \r\n\r\n"] {
        let body = format!("{}{done}{}", delta(r#"{"content":"a"}"#), delta(r#"{"content":"b"}"#));
        assert_eq!(decode(&body).reply.content, "a", "{done:?}");
        assert_eq!(decode_with(options(), body.as_bytes().chunks(1)).reply.content, "a");
    }
}

#[test]
fn errors_inside_a_success_keep_the_text_before_them() {
    let cases = [
        (r#"data: {"error":{"message":"credit used up","code":null}}"#, ErrorKind::Billing),
        (r#"data: {"choices":[],"error":{"message":"credit used up"}}"#, ErrorKind::Billing),
        (
            r#"data: {"error":"Model is overloaded","error_type":"overloaded"}"#,
            ErrorKind::Overloaded,
        ),
        (
            r#"data: {"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            ErrorKind::InvalidRequest,
        ),
        (
            r#"data: [{"error":{"code":503,"message":"try later","status":"UNAVAILABLE"}}]"#,
            ErrorKind::Overloaded,
        ),
        (r#"data: {"base_resp":{"status_code":1002,"status_msg":"rate"}}"#, ErrorKind::RateLimit),
        (r#"data: {"detail":"Internal fault"}"#, ErrorKind::Server),
        (
            r#"data: {"choices":[{"delta":{},"error":{"code":429,"message":"slow down"}}]}"#,
            ErrorKind::RateLimit,
        ),
        ("event: error\ndata: {\"message\":\"gone\"}", ErrorKind::Server),
        ("event: error\ndata: Invalid channel", ErrorKind::ToolGeneration),
        ("event: error\ndata: {broken", ErrorKind::Server),
        (r#"{"error":{"message":"bare line","code":500}}"#, ErrorKind::Server),
        (r#"data: {"error":{"message":"lone \ud83d half","code":500}}"#, ErrorKind::Server),
        ("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}]}", ErrorKind::Server),
    ];
    for (event, kind) in cases {
        for before in [String::new(), delta(r#"{"content":"Let me"}"#)] {
            let decoded = decode(&format!("{before}{event}\n\n{DONE}"));
            // Alone, the line is the whole body, which is read as such.
            let error = decoded.error.unwrap();
            assert_eq!(error.kind, kind, "{event}: {error}");
            assert!(!error.message.is_empty(), "{event}");
            let text = if before.is_empty() { "" } else { "Let me" };
            assert_eq!(decoded.reply.content, text, "{event}");
        }
    }
}

#[test]
fn what_is_no_error_is_none() {
    for piece in [
        r#"{"error":null,"choices":[]}"#,
        r#"{"error":"","choices":[]}"#,
        r#"{"error":{},"choices":[]}"#,
        r#"{"base_resp":{"status_code":0,"status_msg":"success"},"choices":[]}"#,
        r#"{"type":"ping"}"#,
        "{}",
        "[]",
        "heartbeat",
    ] {
        let body = format!("data: {piece}\n\n{}", answer(&[r#"{"content":"ok"}"#]));
        let decoded = decode(&body);
        assert_eq!((decoded.error, decoded.reply.content), (None, "ok".to_owned()), "{piece}");
    }
}

#[test]
fn a_stream_of_words_says_them() {
    let error = decode("data: upstream is down\n\n").error.unwrap();
    assert_eq!(error.kind, ErrorKind::Incomplete);
    assert!(error.message.contains("upstream is down"), "{error}");
}

#[test]
fn one_json_answer_is_read_like_a_stream() {
    let body = r#"
        {"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",
        "content":"Hi","reasoning_content":"r","tool_calls":[{"id":"a","type":"function",
        "function":{"name":"read","arguments":{"p":1}}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":5,"completion_tokens":2}}"#;
    for body in [
        body.to_owned(),
        format!("\u{FEFF}{body}"),
        format!("data: {}\n\n", body.replace('\n', "")),
    ] {
        let decoded = decode_with(options(), body.as_bytes().chunks(3));
        assert_eq!(decoded.error, None, "{body}");
        assert_eq!(decoded.reply.content, "Hi");
        assert_eq!(decoded.reply.reasoning, "r");
        assert_eq!(shown(&decoded.reply.tool_calls), [r#"read {"p":1}"#]);
        assert_eq!(decoded.reply.usage.map(|usage| usage.prompt), Some(5));
    }
}

#[test]
fn a_repeated_whole_message_counts_once() {
    let last = "data: {\"choices\":[{\"delta\":{},\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    let body = format!("{}{last}", delta(r#"{"content":"Hi"}"#));
    assert_eq!(decode(&body).reply.content, "Hi");
}

#[test]
fn bodies_that_are_no_answer_say_what_they_are() {
    let cases: &[(&[u8], ErrorKind, &str)] = &[
        (
            b"<!DOCTYPE html><title>Login</title>",
            ErrorKind::NotAnApi,
            "https://api.example/v1: Login",
        ),
        (
            b"{\"error\":{\"message\":\"no key\",\"code\":\"invalid_api_key\"}}",
            ErrorKind::Auth,
            "no key",
        ),
        (b"{\"hello\":1}", ErrorKind::NotAnApi, "no chat completion from https://api.example/v1"),
        (b"{\"choices\":[{\"mess", ErrorKind::Incomplete, "in the middle"),
        (b"\x1F\x8B\x08\0\0", ErrorKind::NotAnApi, "compressed"),
        (b"{\"choices\":[]}", ErrorKind::NotAnApi, "no chat completion"),
    ];
    for (body, kind, text) in cases {
        let error = decode_with(options(), [*body]).error.unwrap();
        assert_eq!(error.kind, *kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn usage_is_found_wherever_it_is() {
    let cases = [
        (r#"{"usage":{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":4}}"#, (9, 1, 4)),
        (
            r#"{"usage":{"prompt_tokens":"9","completion_tokens":1.0,"total_tokens":20}}"#,
            (9, 11, 0),
        ),
        (r#"{"choices":null,"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":8}}"#, (9, 0, 8)),
        (r#"{"usage":{"prompt_tokens":9,"num_cached_tokens":7}}"#, (9, 0, 7)),
        (r#"{"usage":{"prompt_tokens":9,"prompt_token_details":{"cached_tokens":6}}}"#, (9, 0, 6)),
        (r#"{"usage":{"prompt_tokens":9},"timings":{"cache_n":5}}"#, (9, 0, 5)),
        (r#"{"usage":{"prompt_tokens":9,"cached_tokens":-3}}"#, (9, 0, 0)),
        (r#"{"usage":{"prompt_tokens":9,"cached_tokens":30}}"#, (9, 0, 9)),
        (r#"{"choices":[{"usage":{"prompt_tokens":2}}]}"#, (2, 0, 0)),
        (r#"{"x_groq":{"usage":{"prompt_tokens":3}}}"#, (3, 0, 0)),
    ];
    for (event, expected) in cases {
        let first = "data: {\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":5}}\n\n";
        let body = format!("{first}data: {event}\n\ndata: {{\"usage\":null}}\n\n{}", answer(&[]));
        let usage = decode(&body).reply.usage.unwrap();
        assert_eq!((usage.prompt, usage.completion, usage.cached), expected, "{event}");
    }
}

#[test]
fn a_broken_connection_keeps_what_had_come() {
    let mut decoder = Decoder::new("c", options());
    let body = format!(
        "{}{}",
        delta(r#"{"content":"half"}"#),
        delta(&tool(r#"{"index":0,"id":"a","function":{"name":"w","arguments":"{\"p\":"}}"#))
    );
    assert_eq!(decoder.push(body.as_bytes(), &mut |_| {}), Flow::More);
    assert!(!decoder.is_finished());
    let error = ProviderError::new(ErrorKind::Network, "connection reset");
    let failed = decoder.fail(error.clone(), &mut |_| {});
    assert_eq!(failed.error, error);
    assert_eq!(failed.partial.content, "half");
    assert!(failed.partial.tool_calls[0].incomplete);
}

#[test]
fn runaway_answers_are_stopped() {
    let many: String = (0..600)
        .map(|n| delta(&tool(&format!(r#"{{"index":{n},"function":{{"name":"x"}}}}"#))))
        .collect();
    assert_eq!(decode(&many).error.unwrap().kind, ErrorKind::ToolGeneration);

    let endless = vec![b'x'; 1 << 20];
    let mut decoder = Decoder::new("c", options());
    assert_eq!(decoder.push(b"data: ", &mut |_| {}), Flow::More);
    let flows = (0..40).map(|_| decoder.push(&endless, &mut |_| {}));
    assert_eq!(flows.filter(|flow| *flow == Flow::More).count(), 31);
    assert!(decoder.finish(&mut |_| {}).unwrap_err().error.message.contains("32 MiB"));
}
