use proptest::prelude::*;

use super::*;
use crate::client::profile::GENERIC;
use crate::client::request::Message;
use crate::event::{
    AssistantMessage, Author, Compaction, CompactionKind, Event, Record, ToolResult, Trigger,
    UserMessage,
};
use crate::message::{Reply, ToolCall};

/// For the very model that writes the summary.
fn plan(state: &State, budget: Budget, prompt_bytes: usize) -> Option<Plan> {
    super::plan(state, budget, budget.window, prompt_bytes)
}

/// A history in short: `u12` a user message of 12 bytes, `a12` an answer, `c3x40` a reply with three
/// calls and results of 40 bytes each.
fn state(history: &[(char, usize, usize)]) -> State {
    let mut state = State::new(&GENERIC);
    let mut seq = 0;
    let mut apply = |event| {
        seq += 1;
        state.apply(Record { seq, at: String::new(), event });
    };
    for (index, &(kind, bytes, calls)) in history.iter().enumerate() {
        let text = "x".repeat(bytes);
        match kind {
            'u' => apply(Event::UserMessage(UserMessage {
                turn: 1,
                content: text,
                author: Author::User,
            })),
            'a' => apply(assistant(&text, Vec::new())),
            _ => {
                let ids: Vec<String> = (0..calls).map(|call| format!("c{index}_{call}")).collect();
                apply(assistant("", ids.clone()));
                for call_id in ids {
                    let content = text.clone();
                    apply(Event::ToolResult(ToolResult { call_id, content, ..Default::default() }));
                }
            }
        }
    }
    state
}

fn assistant(content: &str, ids: Vec<String>) -> Event {
    let call =
        |id| ToolCall { id, name: "read".into(), arguments: "{}".into(), ..Default::default() };
    let tool_calls = ids.into_iter().map(call).collect();
    Event::AssistantMessage(AssistantMessage {
        turn: 1,
        step: 1,
        provider: String::new(),
        model: String::new(),
        reply: Reply { content: content.to_owned(), tool_calls, ..Reply::default() },
        partial: false,
    })
}

const fn budget(window: u64) -> Budget {
    Budget { window, tools_bytes: 300 }
}

#[test]
fn triggers() {
    for (window, reserve, trigger) in
        [(8_000, 1_600, 6_400), (128_000, 16_000, 102_400), (1_000_000, 16_000, 800_000), (0, 0, 0)]
    {
        assert_eq!((budget(window).reserve(), budget(window).trigger()), (reserve, trigger));
    }
}

#[test]
fn the_newest_sixteen_percent_stay() {
    // 20 exchanges of about 100 tokens; the window of 2,400 keeps 384 tokens: three of them.
    let history: Vec<_> = (0..20).flat_map(|_| [('u', 100, 0), ('a', 100, 0)]).collect();
    let plan = plan(&state(&history), budget(2_400), 300).unwrap();
    let kept = 40 - plan.messages;
    assert!((5..=8).contains(&kept), "{kept} kept");
    assert_eq!((plan.from_seq, plan.to_seq), (1, plan.messages as u64));
}

#[test]
fn the_last_exchange_stays_though_it_is_large() {
    let history = [('u', 300, 0), ('a', 3_000, 0), ('c', 900, 2)];
    let plan = plan(&state(&history), budget(2_000), 300).unwrap();
    assert_eq!(plan.messages, 2, "the reply with its two results is kept");
}

#[test]
fn the_summary_request_must_fit() {
    // Everything together is far over the window: an earlier boundary is taken.
    let history: Vec<_> = (0..30).flat_map(|_| [('u', 300, 0), ('a', 300, 0)]).collect();
    let state = state(&history);
    let budget = budget(3_000);
    let plan = plan(&state, budget, 300).unwrap();
    let request = estimate(state.encoded().first(plan.messages).len() + budget.tools_bytes + 300);
    assert!(request + budget.reserve() <= budget.window, "{request}");
    assert!(plan.messages > 4, "as late a boundary as fits: {}", plan.messages);
}

#[test]
fn nothing_to_replace() {
    assert_eq!(plan(&state(&[]), budget(1_000), 300), None);
    assert_eq!(plan(&state(&[('u', 30, 0)]), budget(100), 300), None, "does not even fit");
    let mut summarised = state(&[('u', 900, 0), ('a', 900, 0)]);
    let event = Event::Compaction(Compaction {
        from_seq: 1,
        to_seq: 2,
        summary: "s".into(),
        tokens_before: 0,
        tokens_after: 0,
        trigger: Trigger::Auto,
        kind: CompactionKind::Summary,
        usage: None,
    });
    summarised.apply(Record { seq: 3, at: String::new(), event });
    assert_eq!(plan(&summarised, budget(2_000), 300), None, "a summary alone");
    assert!(matches!(summarised.history[0].message, Message::Summary(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A cut never parts a call from its result.
    #[test]
    fn cuts_fall_between_groups(
        history in prop::collection::vec(
            (prop::sample::select(vec!['u', 'a', 'c']), 1..400_usize, 1..4_usize), 0..30),
        window in 100..6_000_u64,
    ) {
        let state = state(&history);
        if let Some(plan) = plan(&state, budget(window), 300) {
            prop_assert!(state.is_boundary(plan.messages));
            prop_assert!(plan.messages <= state.history.len());
            let mut after = state.clone();
            let compaction = Compaction {
                from_seq: plan.from_seq,
                to_seq: plan.to_seq,
                summary: "s".into(),
                tokens_before: 0,
                tokens_after: 0,
                trigger: Trigger::Auto,
                kind: CompactionKind::Summary,
                usage: None,
            };
            let event = Event::Compaction(compaction);
            after.apply(Record { seq: state.last_seq() + 1, at: String::new(), event });
            prop_assert_eq!(after.history.len(), state.history.len() - plan.messages + 1);
            let parted = matches!(&after.history.get(1), Some(e) if matches!(e.message, Message::Tool { .. }));
            prop_assert!(!parted, "a result without its call");
        }
    }
}

#[test]
fn less_is_kept_for_a_smaller_window() {
    let history: Vec<_> = (0..40).flat_map(|_| [('u', 300, 0), ('a', 300, 0)]).collect();
    let state = state(&history);
    let kept = |into| {
        let plan = super::plan(&state, budget(100_000), into, 300).unwrap();
        state.history.len() - plan.messages
    };
    let sizes = [4_000, 10_000, 20_000].map(kept);
    assert!(sizes.is_sorted() && sizes[0] < sizes[2], "{sizes:?}");
    assert!(sizes[0] > 0, "the newest stay");
}
