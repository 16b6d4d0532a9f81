//! A session file as a test sees it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A session file and its lines.
#[derive(Clone, Debug)]
pub struct Log {
    pub path: PathBuf,
    /// The header and the events, parsed.
    pub lines: Vec<Value>,
}

impl Log {
    /// Reads a file; each of its lines must be one JSON object that ends in a line feed.
    #[track_caller]
    pub fn load(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a session file in UTF-8");
        assert!(text.ends_with('\n'), "the last line has no line feed: {text}");
        let parse = |line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in line {line}"))
        };
        let lines = text.strip_suffix('\n').unwrap_or_default().split('\n').map(parse).collect();
        Self { path: path.to_owned(), lines }
    }

    pub fn id(&self) -> &str {
        self.lines[0]["id"].as_str().expect("an id")
    }

    /// The kinds of the events, joined with blanks.
    pub fn kinds(&self) -> String {
        let kinds = self.lines.iter().skip(1).filter_map(|line| line["type"].as_str());
        kinds.collect::<Vec<_>>().join(" ")
    }

    /// The events of a kind.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }

    /// The last event of a kind.
    #[track_caller]
    pub fn last(&self, kind: &str) -> &Value {
        self.of(kind).pop().unwrap_or_else(|| panic!("no {kind} in {}", self.kinds()))
    }

    /// How the last turn ended.
    #[track_caller]
    pub fn ending(&self) -> &str {
        self.last("turn_finished")["ending"].as_str().expect("an ending")
    }

    /// What this call led to.
    #[track_caller]
    pub fn result(&self, call_id: &str) -> &Value {
        let results = self.of("tool_result");
        let found: Vec<_> = results.iter().filter(|line| line["call_id"] == call_id).collect();
        assert_eq!(found.len(), 1, "results of {call_id} in {results:#?}");
        found[0]
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).expect("the session file")
    }

    /// Replaces the file.
    pub fn overwrite(&self, bytes: &[u8]) {
        fs::write(&self.path, bytes).expect("the session file");
    }
}
