use std::fs;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::client::profile::GENERIC;
use crate::event::{
    AssistantMessage, Author, Ending, Event, FileChange, ModelChanged, ToolResult, ToolStarted,
    TurnFinished, UserMessage,
};
use crate::message::{Reply, ToolCall, Usage};
use crate::session::store::Store;
use crate::session::{Session, log};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.workspace()).unwrap();
        place
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn session(&self) -> Session {
        let state_home = self.folder.path().join("state");
        let (store, _) = Store::open(&self.workspace(), Some(&state_home), true);
        store.create(&self.workspace(), &GENERIC)
    }
}

fn user(turn: u32, text: &str) -> Event {
    Event::UserMessage(UserMessage { turn, content: text.into(), author: Author::User })
}

fn reply(step: u32, content: &str, ids: &[&str]) -> Event {
    let call =
        |id: &&str| ToolCall { id: (*id).into(), name: "read".into(), ..ToolCall::default() };
    let tool_calls = ids.iter().map(call).collect();
    let reply = Reply { content: content.into(), tool_calls, ..Reply::default() };
    let (provider, model) = ("p".into(), "m".into());
    Event::AssistantMessage(AssistantMessage {
        turn: 1,
        step,
        provider,
        model,
        reply,
        partial: false,
    })
}

fn result(call_id: &str, content: &str) -> Event {
    let (call_id, content) = (call_id.into(), content.into());
    Event::ToolResult(ToolResult { call_id, content, ..ToolResult::default() })
}

fn change() -> Event {
    Event::FileChange(FileChange {
        call_id: "b".into(),
        path: "/w/x".into(),
        after: "cd".into(),
        ..FileChange::default()
    })
}

/// In the middle of a turn, with a call that runs.
fn events() -> Vec<Event> {
    vec![
        user(1, "first"),
        reply(1, "", &["a"]),
        result("a", "one"),
        reply(2, "done", &[]),
        user(2, "second"),
        reply(1, "I look.", &["b", "c"]),
        Event::ToolStarted(ToolStarted { call_id: "b".into(), name: "read".into() }),
        change(),
    ]
}

fn switch(model: &str, effort: Option<&str>) -> Event {
    Event::ModelChanged(ModelChanged {
        provider: "p".into(),
        model: model.into(),
        effort: effort.map(str::to_owned),
    })
}

fn finished() -> Event {
    Event::TurnFinished(TurnFinished {
        turn: 3,
        ending: Ending::Completed,
        steps: 1,
        usage: Usage::default(),
        detail: String::new(),
    })
}

/// What a session's file says: its state's messages, open calls and changes.
fn told(path: &Path) -> (String, Vec<String>, usize) {
    let mut state = State::new(&GENERIC);
    log::read(path, &CancellationToken::new(), |record| state.apply(record)).unwrap();
    told_by(&state)
}

fn told_by(state: &State) -> (String, Vec<String>, usize) {
    let open = state.unanswered();
    let open = open.iter().map(|open| format!("{} {}", open.call.id, open.started)).collect();
    let history = String::from_utf8(state.encoded().all().to_vec()).unwrap();
    (history, open, state.changes.len())
}

type Tamper = fn(&Path);

const CASES: [(&str, Tamper); 7] = [
    ("removed", |path| fs::remove_file(path).unwrap()),
    ("removed", |path| fs::remove_dir_all(path.ancestors().nth(2).unwrap()).unwrap()),
    ("removed", |path| fs::remove_dir_all(path.ancestors().nth(3).unwrap()).unwrap()),
    ("replaced", |path| {
        fs::rename(path, path.with_extension("old")).unwrap();
        fs::write(path, "somebody else's\n").unwrap();
    }),
    ("changed", |path| fs::write(path, "").unwrap()),
    ("changed", |path| {
        fs::write(path, [fs::read(path).unwrap(), b"more".to_vec()].concat()).unwrap();
    }),
    ("overwritten", |path| {
        let length = fs::read(path).unwrap().len();
        fs::write(path, "#".repeat(length)).unwrap();
        // A clock that ticks slowly may not have ticked since.
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }),
];

#[test]
fn a_session_whose_file_is_taken_away_goes_on_whole() {
    for (expected, tamper) in CASES {
        let place = Place::new();
        let mut session = place.session();
        for event in events() {
            session.record(event).unwrap();
        }
        let old = session.path().unwrap();
        let before = told(&old);
        tamper(&old);
        let theirs = fs::read(&old).ok();
        session.record(result("b", "late")).unwrap();
        session.record(result("c", "later")).unwrap();

        let new = session.path().unwrap();
        let written_again = expected == "removed" && place.workspace().exists();
        assert_eq!(new == old, written_again);
        if !written_again {
            assert_eq!(fs::read(&old).ok(), theirs, "{expected}: not this program's file any more");
        }
        assert_eq!(told(&new), told_by(&session.state), "{expected}");
        let (history, open, changes) = told(&new);
        assert!(history.starts_with(&before.0), "{expected}: {history}\n{}", before.0);
        assert!(history.contains("late") && history.contains("later"), "{history}");
        assert_eq!((open, changes), (Vec::new(), 1));
        let notices = session.take_notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].contains(expected) && notices[0].contains("the session"));
        assert_eq!(new.file_stem().unwrap().to_str(), Some(&*session.header.id));
        assert!(place.workspace().exists() || new.starts_with(place.folder.path().join("state")));
    }
}

#[test]
fn a_state_told_again_is_the_same_history() {
    let mut events = events();
    events.insert(2, switch("m", Some("high")));
    events.extend([user(3, "which leaves calls open"), reply(1, "yes", &[]), finished()]);
    events.push(switch("other", None));
    let mut last = State::new(&GENERIC);
    for cut in 0..events.len() {
        let mut state = State::new(&GENERIC);
        for (index, event) in events.iter().take(cut + 1).enumerate() {
            let record = Record { seq: index as u64 + 1, at: String::new(), event: event.clone() };
            state.apply(record);
        }
        let records = state.retell("now");
        assert!(records.last().is_none_or(|last| last.seq <= state.last_seq()), "{records:?}");
        last = state.renewed(records);
        assert_eq!(told_by(&last), told_by(&state), "after {} events", cut + 1);
        assert_eq!((last.turn, last.step), (state.turn, state.step));
        assert_eq!((&last.requests, &last.model), (&state.requests, &state.model));
        assert_eq!(last.turn_open, state.turn_open);
    }
    assert!(told_by(&last).0.contains("outcome unknown"), "{:?}", told_by(&last));
}

#[test]
fn a_log_that_was_only_touched_is_still_ours() {
    let place = Place::new();
    let mut session = place.session();
    session.record(user(1, "first")).unwrap();
    let path = session.path().unwrap();
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    session.record(user(1, "second")).unwrap();
    assert_eq!((session.path(), session.take_notices()), (Some(path), Vec::new()));
}
