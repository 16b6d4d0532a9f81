use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::client::profile::{GENERIC, by_name};
use crate::event::{
    ChangedBy, Compaction, CompactionKind, FileSeen, Restored, Rewind, SystemPrompt, ToolStarted,
    Trigger, TurnFinished, UserMessage,
};

/// What a strict provider says about a history; the rules are its own, not the state's.
fn refusal(messages: &[Value]) -> Option<String> {
    let mut awaited: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(at) = awaited.iter().position(|awaited| awaited == id) else {
                return Some(format!("message {index} answers {id}, which is not open"));
            };
            awaited.remove(at);
            continue;
        }
        if !awaited.is_empty() {
            return Some(format!("message {index} comes before the results of {awaited:?}"));
        }
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        if role == "assistant" && calls.is_empty() && message["content"] == "" {
            return Some(format!("message {index} is empty"));
        }
        for call in calls {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|v| v.is_object()) {
                return Some(format!("message {index} has arguments {arguments}"));
            }
            awaited.push(call["id"].as_str().unwrap_or_default().to_owned());
        }
    }
    (!awaited.is_empty()).then(|| format!("no result for {awaited:?}"))
}

fn messages(state: &State) -> Vec<Value> {
    serde_json::from_str(&format!("[{}]", String::from_utf8_lossy(state.encoded().all()))).unwrap()
}

fn user(turn: u32, text: &str) -> Event {
    Event::UserMessage(UserMessage { turn, content: text.to_owned(), author: Author::User })
}

fn assistant(content: &str, calls: &[&str]) -> Event {
    let tool_calls = calls
        .iter()
        .map(|id| ToolCall {
            id: (*id).to_owned(),
            name: "read".to_owned(),
            arguments: r#"{"file_path":"a"}"#.to_owned(),
            ..ToolCall::default()
        })
        .collect();
    Event::AssistantMessage(AssistantMessage {
        turn: 1,
        step: 1,
        provider: "p".to_owned(),
        model: "m".to_owned(),
        reply: Reply { content: content.to_owned(), tool_calls, ..Reply::default() },
        partial: false,
    })
}

fn result(id: &str, content: &str) -> Event {
    Event::ToolResult(ToolResult {
        call_id: id.to_owned(),
        content: content.to_owned(),
        files: vec![FileSeen { path: "/a".into(), sha256: content.into() }],
        ..ToolResult::default()
    })
}

fn started(id: &str) -> Event {
    Event::ToolStarted(ToolStarted { call_id: id.to_owned(), name: "read".to_owned() })
}

fn compaction(from_seq: u64, to_seq: u64, kind: CompactionKind) -> Event {
    Event::Compaction(Compaction {
        from_seq,
        to_seq,
        summary: "so far".to_owned(),
        tokens_before: 10,
        tokens_after: 5,
        trigger: Trigger::Auto,
        kind,
        usage: None,
    })
}

fn finished() -> Event {
    let usage = Usage { prompt: 7, ..Usage::default() };
    let ending = crate::event::Ending::Completed;
    Event::TurnFinished(TurnFinished { turn: 1, ending, steps: 1, usage, detail: String::new() })
}

fn fold(events: &[Event]) -> State {
    fold_into(State::new(&GENERIC), events)
}

fn fold_into(mut state: State, events: &[Event]) -> State {
    for (index, event) in events.iter().enumerate() {
        state.apply(Record { seq: index as u64 + 1, at: String::new(), event: event.clone() });
    }
    state
}

fn roles(state: &State) -> String {
    let roles: Vec<String> =
        messages(state).iter().map(|m| m["role"].as_str().unwrap_or("?").to_owned()).collect();
    roles.join(" ")
}

#[test]
fn a_reply_with_calls_enters_the_history_with_all_its_results() {
    let mut events = vec![user(1, "go"), assistant("", &["a", "b"]), started("a")];
    assert_eq!(roles(&fold(&events)), "user");
    events.push(result("a", "1"));
    assert_eq!(roles(&fold(&events)), "user");
    assert_eq!(fold(&events).unanswered().len(), 1);
    events.push(result("b", "2"));
    assert_eq!(roles(&fold(&events)), "user assistant tool tool");
    assert_eq!(fold(&events).unanswered(), []);
}

#[test]
fn what_is_left_open_is_closed_as_lost() {
    let events = [user(1, "go"), assistant("", &["a", "b"]), started("a"), user(2, "and now?")];
    let state = fold(&events);
    assert_eq!(roles(&state), "user assistant tool tool user");
    let sent = messages(&state);
    assert_eq!(sent[2]["content"], lost(true));
    assert_eq!(sent[3]["content"], lost(false));
}

#[test]
fn a_result_without_its_call_changes_nothing() {
    let events =
        [user(1, "go"), result("x", "stray"), assistant("done", &[]), result("x", "again")];
    assert_eq!(roles(&fold(&events)), "user assistant");
}

#[test]
fn one_id_twice_in_a_reply_is_answered_twice() {
    let events = [user(1, "go"), assistant("", &["a", "a"]), result("a", "1"), result("a", "2")];
    let sent = messages(&fold(&events));
    assert_eq!((&sent[2]["content"], &sent[3]["content"]), (&json!("1"), &json!("2")));
}

#[test]
fn a_reply_of_reasoning_alone_is_kept_out_of_requests() {
    let mut event = assistant("", &[]);
    if let Event::AssistantMessage(message) = &mut event {
        message.reply.reasoning = "hm".to_owned();
    }
    assert_eq!(roles(&fold(&[user(1, "go"), event, user(2, "well?")])), "user user");
}

#[test]
fn a_summary_replaces_whole_groups_and_carries_the_request() {
    let events = [
        user(1, "do A"),
        assistant("", &["a", "b"]),
        result("a", "1"),
        result("b", "2"),
        assistant("A is done", &[]),
        user(2, "do B, never touch x.txt"),
        assistant("", &["c"]),
        result("c", "3"),
        // Ends between the two results of the first reply: the group stays whole.
        compaction(1, 3, CompactionKind::Summary),
    ];
    let state = fold(&events);
    assert_eq!(roles(&state), "user assistant user assistant tool");
    let first = messages(&state)[0]["content"].as_str().unwrap().to_owned();
    assert!(first.contains("so far") && first.contains("do A"), "{first}");
    assert!(!first.contains("do B"), "still in the history: {first}");

    let mut all = events.to_vec();
    all.push(compaction(3, 8, CompactionKind::Summary));
    let state = fold(&all);
    assert_eq!(roles(&state), "user");
    let first = messages(&state)[0]["content"].as_str().unwrap().to_owned();
    assert!(first.contains("do B, never touch x.txt") && first.contains("do A"), "{first}");
}

#[test]
fn a_cut_shortens_old_outputs_and_can_be_repeated() {
    let long = "x".repeat(5_000);
    let mut events = vec![
        user(1, "go"),
        assistant("", &["a"]),
        result("a", &long),
        compaction(1, 3, CompactionKind::Cut),
    ];
    let once = fold(&events);
    assert!(once.encoded().all().len() < 1_000);
    events.push(compaction(1, 3, CompactionKind::Cut));
    assert_eq!(fold(&events).encoded().all(), once.encoded().all());
}

#[test]
fn size_is_the_last_report_plus_an_estimate_of_what_came_since() {
    let mut event = assistant("hello", &[]);
    if let Event::AssistantMessage(message) = &mut event {
        message.reply.usage =
            Some(Usage { prompt: 3_000, completion: 10, cached: 2_900, ..Usage::default() });
    }
    let mut events = vec![user(1, "go"), event.clone()];
    assert_eq!(fold(&events).size(600), 3_010);
    events.push(user(2, "abc"));
    let added = r#",{"role":"user","content":"abc"}"#.len();
    assert_eq!(fold(&events).size(600), 3_010 + estimate(added));
    // Ten requests cost ten times as much, but the context is no larger for it.
    for _ in 0..9 {
        events.push(event.clone());
    }
    let state = fold(&events);
    assert_eq!(state.size(600), 3_010);
    assert_eq!(state.usage.prompt, 30_000);
    // After a compaction an old report must not set off the next one.
    events.push(compaction(1, 5, CompactionKind::Summary));
    let state = fold(&events);
    assert_eq!(state.size(600), estimate(state.encoded().all().len() + 600));
}

#[test]
fn broken_arguments_never_reach_a_provider() {
    let mut event = assistant("", &["a"]);
    if let Event::AssistantMessage(message) = &mut event {
        message.reply.tool_calls[0].arguments = r#"{"command":"ls\"}"#.to_owned();
        message.reply.tool_calls[0].name = String::new();
    }
    let state = fold(&[user(1, "go"), event, result("a", "broken")]);
    assert_eq!(refusal(&messages(&state)), None);
    assert_ne!(messages(&state)[1]["tool_calls"][0]["function"]["name"], "");
}

fn rewind(to_seq: u64, conversation: bool) -> Event {
    let file = Restored {
        path: "/a".into(),
        sha256: Some("old".into()),
        mode: None,
        was: Some("new".into()),
        mode_was: None,
    };
    Event::Rewind(Rewind { to_seq, conversation, files: vec![file] })
}

fn change(before: &str, after: &str) -> Event {
    change_by(ChangedBy::Tool, before, after)
}

fn change_by(by: ChangedBy, before: &str, after: &str) -> Event {
    Event::FileChange(FileChange {
        by,
        call_id: "a".into(),
        path: "/a".into(),
        before: Some(before.into()),
        after: after.into(),
        ..FileChange::default()
    })
}

/// A command made a link of a file, or removed it.
fn gone() -> Event {
    Event::FileChange(FileChange {
        path: "/a".into(),
        before: Some("old".into()),
        mode: Some(0o755),
        mode_after: Some(0o120_000),
        by: ChangedBy::Command,
        ..FileChange::default()
    })
}

#[test]
fn a_rewind_drops_what_came_after_and_nothing_else() {
    let mut events = vec![user(1, "one"), assistant("first", &[]), user(2, "two")];
    let before = fold(&events[..2]);
    events.extend([assistant("", &["a"]), started("a"), change("old", "new")]);
    assert_eq!(fold(&events).changes.len(), 1);
    events.push(rewind(3, true));
    let after = fold(&events);
    assert_eq!(after.encoded().all(), before.encoded().all());
    assert_eq!((after.requests.len(), after.changes.len()), (1, 0));
    assert_eq!(after.files[&PathBuf::from("/a")], "old");
    assert_eq!(after.unanswered(), []);
}

#[test]
fn a_rewind_undoes_the_compactions_behind_it() {
    let events = vec![
        user(1, "one"),
        assistant("", &["a"]),
        result("a", &"x".repeat(2_000)),
        assistant("first", &[]),
        user(2, "two"),
    ];
    let plain = fold(&events[..4]);
    for kind in [CompactionKind::Summary, CompactionKind::Cut, CompactionKind::Digest] {
        let mut events = events.clone();
        events.extend([compaction(1, 4, kind), assistant("second", &[])]);
        events.extend([compaction(1, 7, CompactionKind::Summary), user(3, "three")]);
        assert!(fold(&events).can_rewind(5));
        events.push(rewind(5, true));
        assert_eq!(fold(&events).encoded().all(), plain.encoded().all(), "{kind:?}");
    }
}

#[test]
fn a_rewind_of_files_alone_keeps_the_conversation() {
    let events = [user(1, "one"), change("old", "new"), assistant("first", &[])];
    let mut rewound = events.to_vec();
    rewound.push(rewind(1, false));
    let state = fold(&rewound);
    assert_eq!(state.encoded().all(), fold(&events).encoded().all());
    assert_eq!((state.changes.len(), &*state.files[&PathBuf::from("/a")]), (0, "old"));
}

#[test]
fn what_a_command_changed_is_not_known_to_the_model() {
    let known = |events: &[Event]| fold(events).files.get(&PathBuf::from("/a")).cloned();
    let mut events = vec![user(1, "one"), change_by(ChangedBy::Command, "old", "new")];
    assert_eq!(known(&events), None);
    events.push(change("new", "newer"));
    assert_eq!(known(&events).as_deref(), Some("newer"));
    events.push(change_by(ChangedBy::Command, "newer", "newest"));
    assert_eq!(known(&events).as_deref(), Some("newer"));
    // The content before the command was never shown.
    events.push(rewind(1, true));
    assert_eq!(known(&events).as_deref(), Some("newer"));
    assert_eq!(fold(&events).changes, []);
}

#[test]
fn commands_that_were_not_watched_are_noted() {
    let blind = ToolResult { call_id: "a".into(), unwatched: true, ..ToolResult::default() };
    let state = fold(&[user(1, "one"), result("b", "x"), Event::ToolResult(blind)]);
    assert_eq!(state.unwatched, [3]);
}

fn event() -> impl Strategy<Value = Event> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    let ids = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..4);
    let kind = prop::sample::select(vec![
        CompactionKind::Summary,
        CompactionKind::Cut,
        CompactionKind::Digest,
    ]);
    prop_oneof![
        2 => (1..5_u32, ".{0,12}").prop_map(|(turn, text)| user(turn, &text)),
        4 => ("[a-z ]{0,6}", ids).prop_map(|(text, ids)| assistant(&text, &ids)),
        4 => (id.clone(), "\\PC{0,900}").prop_map(|(id, text)| result(id, &text)),
        2 => id.prop_map(started),
        1 => (0..30_u64, 0..30_u64, kind).prop_map(|(a, b, kind)| compaction(a, b, kind)),
        1 => (0..30_u64, any::<bool>()).prop_map(|(to, conversation)| rewind(to, conversation)),
        1 => Just(change("old", "new")),
        1 => Just(gone()),
        1 => Just(finished()),
        1 => "[a-z]{1,5}".prop_map(|content| Event::SystemPrompt(SystemPrompt { content })),
        1 => Just(Event::Unknown("later".to_owned())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a log holds and wherever it ends, a strict provider takes its history.
    #[test]
    fn every_prefix_is_valid(events in prop::collection::vec(event(), 0..30)) {
        for end in 0..=events.len() {
            let state = fold(&events[..end]);
            prop_assert_eq!(refusal(&messages(&state)), None);
        }
    }

    /// Reading back what was written gives the live state.
    #[test]
    fn replay_equals_live(events in prop::collection::vec(event(), 0..30)) {
        let mut replayed = State::new(&GENERIC);
        for (index, event) in events.iter().enumerate() {
            let record = Record { seq: index as u64 + 1, at: "now".into(), event: event.clone() };
            let read = Record::from_line(&record.to_line().unwrap()).unwrap();
            prop_assert_eq!(&read, &record);
            replayed.apply(read);
        }
        prop_assert_eq!(replayed, fold(&events));
    }

    /// Whoever reads the history, and whenever that changes: it is as if it had always been so.
    #[test]
    fn another_reader_gets_what_a_replay_gives_it(
        events in prop::collection::vec(event(), 0..30),
        at in 0..30_usize,
        name in prop::sample::select(vec!["mistral", "deepseek", "gemini", "openrouter", "anthropic"]),
    ) {
        let profile = by_name(name).unwrap();
        let reader = || Speaker { provider: name.to_owned(), model: "m".to_owned() };
        let at = at.min(events.len());
        let mut live = fold(&events[..at]);
        live.set_reader(profile, reader());
        for (index, event) in events.iter().enumerate().skip(at) {
            live.apply(Record { seq: index as u64 + 1, at: String::new(), event: event.clone() });
        }
        let mut replayed = State::new(profile);
        replayed.set_reader(profile, reader());
        prop_assert_eq!(live, fold_into(replayed, &events));
    }

    /// A replay that encodes at its end is no other fold.
    #[test]
    fn encoding_at_the_end_changes_nothing(events in prop::collection::vec(event(), 0..30)) {
        let reader = Speaker { provider: "deepseek".into(), model: "m".into() };
        let mut live = fold(&events);
        live.set_reader(&GENERIC, reader.clone());
        let mut replayed = State::replaying(&GENERIC);
        for (index, event) in events.into_iter().enumerate() {
            replayed.apply(Record { seq: index as u64 + 1, at: "now".into(), event });
        }
        replayed.set_reader(&GENERIC, reader);
        prop_assert_eq!(replayed, live);
    }

    /// A request begins with the bytes of the one before, unless something was replaced.
    #[test]
    fn requests_grow_at_their_end(events in prop::collection::vec(event(), 1..30)) {
        let mut before = Vec::new();
        for end in 1..=events.len() {
            let state = fold(&events[..end]);
            let replaced = matches!(
                events[end - 1],
                Event::Compaction(_) | Event::SystemPrompt(_) | Event::Rewind(_)
            );
            prop_assert!(replaced || state.encoded().all().starts_with(&before));
            before = state.encoded().all().to_vec();
        }
    }

    /// The pieces that compaction plans with are those of the whole.
    #[test]
    fn first_messages_are_a_prefix(events in prop::collection::vec(event(), 0..30)) {
        let state = fold(&events);
        let mut sum = state.encoded().first(0).len();
        for index in 0..state.history.len() {
            prop_assert!(state.encoded().all().starts_with(state.encoded().first(index)));
            sum += state.encoded().bytes_of(index);
        }
        prop_assert_eq!(sum, state.encoded().all().len());
    }
}

/// A reply of a model that thinks and signs its call.
fn thoughtful(model: &str) -> Event {
    let call = ToolCall {
        id: "c".to_owned(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        extra_content: Some(json!({"signature": "s"})),
        ..ToolCall::default()
    };
    Event::AssistantMessage(AssistantMessage {
        turn: 1,
        step: 1,
        provider: "p".to_owned(),
        model: model.to_owned(),
        reply: Reply {
            reasoning: "hm".to_owned(),
            reasoning_field: Some("reasoning".to_owned()),
            tool_calls: vec![call],
            usage: Some(Usage { prompt: 100, completion: 10, ..Usage::default() }),
            ..Reply::default()
        },
        partial: false,
    })
}

#[test]
fn reasoning_and_signatures_are_for_the_model_that_wrote_them() {
    let reader = |model: &str| Speaker { provider: "p".to_owned(), model: model.to_owned() };
    let events = [user(1, "go"), thoughtful("one"), result("c", "1")];
    let mut state = fold(&events);
    state.set_reader(&GENERIC, reader("one"));
    let own = state.encoded().all().to_vec();
    assert_eq!(messages(&state)[1]["reasoning"], "hm");
    assert_eq!(messages(&state)[1]["tool_calls"][0]["extra_content"]["signature"], "s");
    state.set_reader(&GENERIC, reader("two"));
    let foreign = messages(&state);
    assert_eq!(foreign[1].get("reasoning"), None);
    assert_eq!(foreign[1]["tool_calls"][0].get("extra_content"), None);
    assert_eq!(foreign[1]["tool_calls"][0]["id"], "c");
    state.set_reader(&GENERIC, reader("one"));
    assert_eq!(state.encoded().all(), own, "going back gives the old bytes");
}

#[test]
fn replay_for_a_reader_equals_what_was_live() {
    let reader = || Speaker { provider: "p".to_owned(), model: "two".to_owned() };
    let events = [user(1, "go"), thoughtful("one"), result("c", "1")];
    let mut live = fold(&events);
    live.set_reader(&GENERIC, reader());
    let mut replayed = State::new(&GENERIC);
    replayed.set_reader(&GENERIC, reader());
    for (index, event) in events.into_iter().enumerate() {
        replayed.apply(Record { seq: index as u64 + 1, at: String::new(), event });
    }
    assert_eq!(replayed, live);
    assert!(live.is_measured(), "another model's report is still the best there is");
}

#[test]
fn the_effort_outlives_replies_but_not_its_end() {
    let changed = |effort: Option<&str>| {
        Event::ModelChanged(ModelChanged {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            effort: effort.map(str::to_owned),
        })
    };
    let effort = |events: &[Event]| fold(events).model.and_then(|model| model.effort);
    let mut events = vec![changed(Some("high")), user(1, "go"), assistant("done", &[])];
    assert_eq!(effort(&events).as_deref(), Some("high"));
    events.push(changed(None));
    assert_eq!(effort(&events), None);
}
