//! What must hold after every kill.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::scenario::{self, NOTES, STORY, Scenario};
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::log::Log;

/// How long the children of a killed run may stay.
const ORPHANS_WITHIN: Duration = Duration::from_secs(5);

/// What has been seen of a session so far.
#[derive(Default)]
pub struct Checks {
    /// Requests that have been looked at.
    requests: usize,
    /// The messages of the last one that was not for a summary, and the summaries in it.
    last: Option<(String, String)>,
    /// Compactions in the log.
    pub compactions: usize,
    /// Files that commands and writes have left.
    pub effects: usize,
    /// Calls whose outcome is unknown because of a kill.
    pub lost_calls: usize,
}

impl Checks {
    /// After each run, killed or not.
    pub fn after_run(&mut self, env: &Env, scenario: &Scenario, log: Option<&Path>, context: &str) {
        no_orphans(env, context);
        let faults = scenario.provider().take_faults();
        assert!(faults.is_empty(), "{context}: refused: {faults:#?}");
        let events = log.map(|log| whole_lines(log, context)).unwrap_or_default();
        let requests = scenario.provider().requests();
        for request in requests.iter().skip(self.requests) {
            acknowledged(request, &events, context);
            self.goes_on(request, context);
        }
        self.requests = requests.len();
        files_are_whole(env, &events, context);
        self.effects = effects_are_single(env, &events, context);
    }

    /// A request begins with the messages of the one before, unless a compaction came between.
    fn goes_on(&mut self, request: &Request, context: &str) {
        if scenario::is_summary(request) {
            return;
        }
        let messages = request.message_bytes().to_owned();
        let summaries = messages.split(scenario::SUMMARY).nth(1).unwrap_or_default();
        let summaries: String = summaries.chars().take_while(char::is_ascii_digit).collect();
        if let Some((before, its_summaries)) = &self.last
            && *its_summaries == summaries
        {
            // The last request of a killed run may wait at the provider's door until the next run has
            // sent one: then it is a beginning of that one.
            if before.starts_with(&messages) {
                return;
            }
            assert!(
                messages.starts_with(before),
                "{context}: the history changed:\n{before}\n{messages}"
            );
        }
        self.last = Some((messages, summaries));
    }

    /// After the last run, which was left alone.
    pub fn at_the_end(&mut self, env: &Env, scenario: &Scenario, log: &Path) {
        let log = Log::load(log);
        let lost = |event: &&&Value| text(event, "content").contains("xsh was interrupted");
        self.lost_calls = log.of("tool_result").iter().filter(lost).count();
        self.compactions = log.of("compaction").len();
        every_call_has_one_result(&log);
        assert!(scenario.provider().take_faults().is_empty());
        let strays: Vec<_> = walkdir::WalkDir::new(env.workspace())
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str().map(str::to_owned))
            .filter(|name| [".tmp", ".part"].iter().any(|end| name.ends_with(end)))
            .collect();
        assert!(strays.is_empty(), "left behind: {strays:?}");
    }
}

fn text<'a>(event: &'a Value, key: &str) -> &'a str {
    event[key].as_str().unwrap_or_default()
}

/// The events of a log: every line is whole but the last, which a kill may have cut.
fn whole_lines(log: &Path, context: &str) -> Vec<Value> {
    let bytes = fs::read(log).expect("the session");
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let parse = |line: &[u8]| {
        serde_json::from_slice::<Value>(line).unwrap_or_else(|error| {
            panic!("{context}: corrupt: {error}: {}", String::from_utf8_lossy(line))
        })
    };
    let events: Vec<Value> = lines.map(parse).collect();
    let positions: Vec<u64> =
        events.iter().skip(1).filter_map(|event| event["seq"].as_u64()).collect();
    assert!(positions.is_sorted_by(|a, b| a < b), "{context}: {positions:?}");
    events
}

fn of<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

/// Everything that the provider was told is in the log.
fn acknowledged(request: &Request, events: &[Value], context: &str) {
    let results: BTreeSet<(&str, &str)> =
        of(events, "tool_result").map(|e| (text(e, "call_id"), text(e, "content"))).collect();
    let calls: BTreeSet<&str> = of(events, "assistant_message")
        .flat_map(|event| event["tool_calls"].as_array().into_iter().flatten())
        .map(|call| text(call, "id"))
        .collect();
    for message in request.messages() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            assert!(calls.contains(text(call, "id")), "{context}: lost: {call}");
        }
        if message["role"] == "tool" {
            let told = (text(message, "tool_call_id"), text(message, "content"));
            assert!(results.contains(&told), "{context}: lost: {message}");
        }
    }
    let said = of(events, "user_message").filter(|event| text(event, "content") == "continue");
    let sent = request.messages().iter().filter(|message| message["content"] == "continue").count();
    assert!(said.count() >= sent, "{context}: a lost user message");
}

/// The user's files are one of their versions, and the log knows which.
fn files_are_whole(env: &Env, events: &[Value], context: &str) {
    let (story, notes) = (env.text(STORY), env.text(NOTES));
    let version = scenario::told(&story).unwrap_or_else(|| panic!("{context}: half: {story}"));
    let count = scenario::noted(&notes).unwrap_or_else(|| panic!("{context}: half: {notes}"));
    let mut changed = vec![];
    if version > 0 {
        changed.push(story);
    }
    if count > 0 {
        changed.push(notes);
    }
    for entry in fs::read_dir(env.path("made")).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().expect("a name");
        // What a killed run has not finished has another name.
        if name.starts_with(".xsh-") {
            continue;
        }
        let made = fs::read_to_string(entry.path()).expect("text");
        assert!(scenario::told(&made).is_some(), "{context}: half: {name}: {made}");
        changed.push(made);
    }
    let known: BTreeSet<&str> =
        of(events, "file_change").map(|event| text(event, "after")).collect();
    for content in changed {
        let hash = sha256(&content);
        assert!(known.contains(&*hash), "{context}: a change that is not in the log: {content}");
    }
}

fn sha256(content: &str) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(content) {
        write!(hex, "{byte:02x}").expect("a string takes everything");
    }
    hex
}

/// Each command has run once at most, and only after the log said so.
fn effects_are_single(env: &Env, events: &[Value], context: &str) -> usize {
    let started: BTreeSet<&str> =
        of(events, "tool_started").map(|event| text(event, "call_id")).collect();
    let mut effects = 0;
    for entry in fs::read_dir(env.workspace()).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().expect("a name");
        let Some(id) = name.strip_prefix("count-") else { continue };
        let runs = fs::read_to_string(entry.path()).expect("text");
        assert!(runs.len() <= 2, "{context}: {id} ran more than once: {runs}");
        assert!(started.contains(id), "{context}: {id} ran before it was recorded");
        effects += 1;
    }
    effects
}

fn every_call_has_one_result(log: &Log) {
    let results = log.of("tool_result");
    for message in log.of("assistant_message") {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let count = results.iter().filter(|result| result["call_id"] == call["id"]).count();
            assert_eq!(count, 1, "results of {call}");
        }
    }
    let started = log.of("tool_started");
    let ids: BTreeSet<_> = started.iter().map(|event| text(event, "call_id")).collect();
    assert_eq!(ids.len(), started.len(), "a call was started twice");
}

/// Nothing of the environment runs any more.
fn no_orphans(env: &Env, context: &str) {
    let home = format!("HOME={}", env.home().display());
    let begin = Instant::now();
    loop {
        let alive = processes_with(home.as_bytes());
        if alive.is_empty() {
            return;
        }
        assert!(begin.elapsed() < ORPHANS_WITHIN, "{context}: still running: {alive:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn processes_with(variable: &[u8]) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path()).filter(|path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.parse::<u32>().is_ok())
    });
    let has = |path: &std::path::PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable)
    };
    let name = |path: std::path::PathBuf| {
        String::from_utf8_lossy(&fs::read(path.join("cmdline")).unwrap_or_default())
            .replace('\0', " ")
    };
    folders.filter(has).map(name).collect()
}
