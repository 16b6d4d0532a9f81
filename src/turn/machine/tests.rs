use super::*;
use crate::message::ToolCall;
use crate::turn::repeat::USUAL_REPEATS;

const CALM: Fill = Fill { due: false, full: false, size: 10, window: 100 };
const DUE: Fill = Fill { due: true, full: false, size: 85, window: 100 };
const FULL: Fill = Fill { due: true, full: true, size: 99, window: 100 };

fn machine() -> Machine {
    Machine::new(None, USUAL_REPEATS)
}

fn text(content: &str) -> Input {
    Input::Replied(Reply { content: content.into(), ..Reply::default() })
}

fn calls(arguments: &str) -> Input {
    reply(FinishReason::ToolCalls, "", &[arguments])
}

fn reply(finish_reason: FinishReason, content: &str, arguments: &[&str]) -> Input {
    let tool_calls = arguments
        .iter()
        .map(|a| ToolCall { name: "shell".into(), arguments: (*a).into(), ..ToolCall::default() })
        .collect();
    Input::Replied(Reply { content: content.into(), tool_calls, finish_reason, ..Reply::default() })
}

fn overflow() -> Input {
    Input::Failed(ProviderError::new(ErrorKind::Overflow, "too long"))
}

/// Runs the inputs and gives the last step.
fn run(machine: &mut Machine, inputs: Vec<(Input, Fill)>) -> Step {
    let mut last = Step::CallModel;
    for (input, fill) in inputs {
        last = machine.next(input, fill);
    }
    last
}

#[track_caller]
fn ends(step: &Step, ending: Ending) {
    let Step::Done(finish) = step else { panic!("not an end: {step:?}") };
    assert_eq!(finish.ending, ending, "{finish:?}");
}

#[test]
fn an_answer_ends_the_turn() {
    let mut machine = machine();
    assert_eq!(machine.next(Input::Started, CALM), Step::CallModel);
    assert_eq!(machine.next(calls("{}"), CALM), Step::RunTools);
    assert_eq!(machine.next(Input::ToolsDone, CALM), Step::CallModel);
    ends(&machine.next(text("done"), CALM), Ending::Completed);
}

#[test]
fn calls_count_whatever_the_finish_reason_says() {
    assert_eq!(machine().next(reply(FinishReason::Stop, "x", &["{}"]), CALM), Step::RunTools);
}

#[test]
fn steps_are_limited() {
    let mut machine = Machine::new(Some(2), USUAL_REPEATS);
    let script = vec![
        (Input::Started, CALM),
        (calls("1"), CALM),
        (Input::ToolsDone, CALM),
        (calls("2"), CALM),
    ];
    assert_eq!(run(&mut machine, script), Step::RunTools);
    ends(&machine.next(Input::ToolsDone, CALM), Ending::StepLimit);
}

#[test]
fn an_empty_answer_is_asked_for_once_more() {
    let mut machine = machine();
    assert_eq!(machine.next(text(" \n"), CALM), Step::CallModel);
    ends(&machine.next(text(""), CALM), Ending::Empty);

    let mut machine = self::machine();
    let script =
        vec![(text(""), CALM), (calls("{}"), CALM), (Input::ToolsDone, CALM), (text(""), CALM)];
    assert_eq!(run(&mut machine, script), Step::CallModel, "not in a row");
}

#[test]
fn reasoning_alone_is_an_answer() {
    let reply = Reply { reasoning: "hm".into(), ..Reply::default() };
    let Step::Done(finish) = machine().next(Input::Replied(reply), CALM) else { panic!() };
    assert_eq!(finish.ending, Ending::Completed);
    assert!(finish.detail.contains("without an answer"));
}

#[test]
fn cut_text_is_continued_twice() {
    let mut machine = machine();
    for _ in 0..2 {
        let step = machine.next(reply(FinishReason::Length, "part", &[]), CALM);
        assert_eq!(step, Step::Tell(CONTINUE));
        assert_eq!(machine.next(Input::Told, CALM), Step::CallModel);
    }
    ends(&machine.next(reply(FinishReason::Length, "part", &[]), CALM), Ending::Error);
}

#[test]
fn cut_calls_are_answered_and_end_the_turn_in_the_end() {
    let mut machine = machine();
    for _ in 0..2 {
        let step = machine.next(reply(FinishReason::Length, "", &["{\"a"]), CALM);
        assert_eq!(step, Step::RunTools);
        assert_eq!(machine.next(Input::ToolsDone, CALM), Step::CallModel);
    }
    assert_eq!(machine.next(reply(FinishReason::Length, "", &["{\"a"]), CALM), Step::RunTools);
    ends(&machine.next(Input::ToolsDone, CALM), Ending::Error);
}

#[test]
fn a_filtered_answer_is_refused() {
    ends(&machine().next(reply(FinishReason::ContentFilter, "", &[]), CALM), Ending::Refused);
    ends(&machine().next(reply(FinishReason::ContentFilter, "no", &[]), CALM), Ending::Refused);
}

#[test]
fn going_in_circles_is_told_once_and_then_stopped() {
    let mut machine = machine();
    let mut told = 0;
    for _ in 0..20 {
        assert_eq!(machine.next(calls("{}"), CALM), Step::RunTools);
        match machine.next(Input::ToolsDone, CALM) {
            Step::CallModel => {}
            Step::Tell(text) => {
                assert_eq!(text, REPEATING);
                told += 1;
                assert_eq!(machine.next(Input::Told, CALM), Step::CallModel);
            }
            step @ (Step::Done(_) | Step::RunTools | Step::Compact(..)) => {
                ends(&step, Ending::Repeating);
                assert_eq!(told, 1);
                return;
            }
        }
    }
    panic!("never stopped");
}

#[test]
fn a_due_compaction_comes_before_the_request() {
    let mut machine = machine();
    let summary = Step::Compact(Trigger::Auto, Means::Summary);
    assert_eq!(machine.next(Input::Started, DUE), summary);
    assert_eq!(machine.next(Input::Compacted, CALM), Step::CallModel);
    assert_eq!(machine.next(calls("{}"), CALM), Step::RunTools);
    assert_eq!(machine.next(Input::ToolsDone, DUE), summary, "later in the turn once more");
}

#[test]
fn two_tries_without_gain_are_the_last() {
    let mut machine = machine();
    assert_eq!(machine.next(Input::Started, DUE), Step::Compact(Trigger::Auto, Means::Summary));
    assert_eq!(machine.next(Input::NotCompacted, DUE), Step::Compact(Trigger::Auto, Means::Cut));
    assert_eq!(machine.next(Input::NotCompacted, DUE), Step::CallModel, "it still fits");
    assert_eq!(machine.next(calls("{}"), DUE), Step::RunTools);
    assert_eq!(machine.next(Input::ToolsDone, DUE), Step::CallModel, "not tried again");
}

#[test]
fn a_full_context_that_cannot_shrink_ends_the_turn_with_its_sizes() {
    let mut machine = machine();
    let mut step = machine.next(Input::Started, FULL);
    for means in [Means::Summary, Means::Cut, Means::CutAll, Means::Digest] {
        assert_eq!(step, Step::Compact(Trigger::Auto, means));
        step = machine.next(Input::NotCompacted, FULL);
    }
    let Step::Done(finish) = step else { panic!("{step:?}") };
    assert_eq!(finish.ending, Ending::Error);
    assert!(finish.detail.contains("99 of 100"), "{}", finish.detail);
}

#[test]
fn what_the_work_rests_on_is_cut_only_when_it_cannot_go_on() {
    for (fill, expected) in
        [(DUE, Step::CallModel), (FULL, Step::Compact(Trigger::Auto, Means::CutAll))]
    {
        let mut machine = machine();
        machine.next(Input::Started, fill);
        machine.next(Input::NotCompacted, fill);
        assert_eq!(machine.next(Input::NotCompacted, fill), expected);
    }
}

#[test]
fn what_did_not_help_in_time_does_not_keep_the_rest_from_being_tried() {
    let mut machine = machine();
    let script = vec![
        (Input::Started, DUE),
        (Input::NotCompacted, DUE),
        (Input::NotCompacted, DUE),
        (calls("{}"), DUE),
    ];
    assert_eq!(run(&mut machine, script), Step::RunTools);
    let cut_all = Step::Compact(Trigger::Auto, Means::CutAll);
    assert_eq!(machine.next(Input::ToolsDone, FULL), cut_all);
    assert_eq!(machine.next(Input::Compacted, CALM), Step::CallModel);
}

#[test]
fn summaries_that_fail_are_not_asked_for_again_and_again() {
    let mut machine = machine();
    let mut step = machine.next(Input::Started, DUE);
    for _ in 0..2 {
        assert_eq!(step, Step::Compact(Trigger::Auto, Means::Summary));
        machine.next(Input::NotCompacted, DUE);
        assert_eq!(machine.next(Input::Compacted, CALM), Step::CallModel);
        machine.next(calls("{}"), CALM);
        step = machine.next(Input::ToolsDone, DUE);
    }
    assert_eq!(step, Step::Compact(Trigger::Auto, Means::Cut));
}

#[test]
fn a_compaction_that_is_not_enough_is_followed_by_a_cut() {
    let mut machine = machine();
    machine.next(Input::Started, DUE);
    assert_eq!(machine.next(Input::Compacted, DUE), Step::Compact(Trigger::Auto, Means::Cut));
    assert_eq!(machine.next(Input::Compacted, DUE), Step::CallModel);
}

#[test]
fn overflow_compacts_and_asks_again() {
    let mut machine = machine();
    machine.next(Input::Started, CALM);
    assert_eq!(machine.next(overflow(), CALM), Step::Compact(Trigger::Overflow, Means::Summary));
    assert_eq!(machine.next(Input::Compacted, CALM), Step::CallModel);
    assert_eq!(machine.next(overflow(), CALM), Step::Compact(Trigger::Overflow, Means::Digest));
    assert_eq!(machine.next(Input::Compacted, CALM), Step::CallModel);
    ends(&machine.next(overflow(), CALM), Ending::Error);
}

#[test]
fn overflow_without_any_gain_is_the_original_error() {
    let mut machine = machine();
    machine.next(Input::Started, CALM);
    assert_eq!(machine.next(overflow(), CALM), Step::Compact(Trigger::Overflow, Means::Summary));
    let cut = Step::Compact(Trigger::Overflow, Means::CutAll);
    assert_eq!(machine.next(Input::NotCompacted, CALM), cut);
    let digest = Step::Compact(Trigger::Overflow, Means::Digest);
    assert_eq!(machine.next(Input::NotCompacted, CALM), digest);
    let Step::Done(finish) = machine.next(Input::NotCompacted, CALM) else { panic!() };
    assert!(finish.detail.contains("too long"), "{}", finish.detail);
}

#[test]
fn a_good_reply_forgets_the_overflow() {
    let mut machine = machine();
    machine.next(overflow(), CALM);
    machine.next(Input::Compacted, CALM);
    machine.next(calls("{}"), CALM);
    machine.next(Input::ToolsDone, CALM);
    assert_eq!(machine.next(overflow(), CALM), Step::Compact(Trigger::Overflow, Means::Summary));
}

#[test]
fn failures_and_interrupts_end_the_turn() {
    let auth = ProviderError::new(ErrorKind::Auth, "bad key");
    ends(&machine().next(Input::Failed(auth), CALM), Ending::Error);
    ends(&machine().next(Input::Interrupted, CALM), Ending::Cancelled);
    ends(&machine().next(Input::LogFailed("disk full".into()), CALM), Ending::Error);
}

#[test]
fn a_call_written_as_text_is_asked_for_twice_in_a_row() {
    let mut machine = machine();
    let told = Step::Tell(MISWRITTEN);
    for _ in 0..2 {
        assert_eq!(machine.next(Input::Miswritten, CALM), told);
        assert_eq!(machine.next(Input::Told, CALM), Step::CallModel);
    }
    assert_eq!(machine.next(calls("{}"), CALM), Step::RunTools, "a real call counts anew");
    let script = vec![
        (Input::ToolsDone, CALM),
        (Input::Miswritten, CALM),
        (Input::Told, CALM),
        (Input::Miswritten, CALM),
    ];
    assert_eq!(run(&mut machine, script), told);
    assert_eq!(machine.next(Input::Told, CALM), Step::CallModel);
    ends(&machine.next(Input::Miswritten, CALM), Ending::Error);
}
