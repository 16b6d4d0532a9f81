//! Compaction: when it happens, what it keeps, and that a bad one changes nothing.

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{DONE, Reply, call, finish, read, shell};

/// A window of 64,000 tokens: by the estimate of three bytes a token, compaction sets in at
/// about 150 kB.
const WINDOW: &str = "64000";

/// The request for a summary is the only one in which no tool may be called.
fn is_summary(request: &Request) -> bool {
    request.json["tool_choice"] == "none"
}

fn summaries(provider: &Provider) -> usize {
    provider.requests().iter().filter(|request| is_summary(request)).count()
}

/// Answers requests for a summary with this, and all others with `Noted.`.
fn summarising(summary: Reply) -> Provider {
    Provider::answering(
        move |request| {
            if is_summary(request) { summary.clone() } else { Reply::text("Noted.") }
        },
    )
}

/// Text of so many kilobytes that begins with `name`.
fn filler(name: &str, kilobytes: usize) -> String {
    format!("{name} {}", "lorem ipsum dolor ".repeat(kilobytes * 1000 / 18))
}

fn say(env: &Env, text: &str) {
    let args = ["--permission-mode", "full", "--context-window", WINDOW, "-c", "-p", text];
    let args =
        if env.sessions().is_empty() { [&args[..4], &args[5..]].concat() } else { args.to_vec() };
    let _ = env.run(&args).expect_code(0);
}

/// Three long turns that stay below the limit.
fn fill(env: &Env) {
    for name in ["first-topic", "second-topic", "third-topic"] {
        say(env, &filler(name, 48));
    }
}

#[test]
fn a_full_window_is_compacted_before_the_next_step() {
    let provider =
        summarising(Reply::text("SUMMARY: three topics were noted.").usage(50_000, 12, 0));
    let env = Env::new(&provider);
    env.write("AGENTS.md", "Always answer in rhyme.\n");
    fill(&env);
    assert_eq!(summaries(&provider), 0);
    say(&env, &filler("fourth-topic", 14));
    assert_eq!(summaries(&provider), 1);

    let request = provider.last_request();
    let body = String::from_utf8(request.body.clone()).expect("UTF-8");
    assert_says(
        &body,
        &["SUMMARY: three topics were noted.", "fourth-topic", "Always answer in rhyme."],
    );
    assert_silent_on(&body, &["first-topic"]);
    let log = env.log();
    let event = log.last("compaction");
    assert_eq!(event["trigger"], "auto");
    assert!(event["tokens_after"].as_u64() < event["tokens_before"].as_u64(), "{event}");
    assert!(event["from_seq"].as_u64() <= event["to_seq"].as_u64(), "{event}");
    assert_eq!(log.of("user_message").len(), 4, "the log itself keeps everything");

    // The smaller history is what the next run starts from.
    say(&env, "fifth-topic");
    assert_eq!(summaries(&provider), 1);
    assert!(provider.last_request().body.len() < 60_000);
}

#[test]
fn the_summary_request_shares_its_beginning_with_the_history() {
    let provider = summarising(Reply::text("SUMMARY."));
    let env = Env::new(&provider);
    fill(&env);
    let before = provider.last_request();
    say(&env, &filler("fourth-topic", 14));
    let requests = provider.requests();
    let summary = requests.iter().find(|request| is_summary(request)).expect("a summary request");
    assert_eq!(summary.json["tools"], before.json["tools"]);
    let bytes = summary.message_bytes();
    let first_messages = before.messages().iter().take(3);
    for message in first_messages {
        let content = message["content"].as_str().expect("text");
        assert!(bytes.contains(&serde_json::to_string(content).expect("JSON")), "{message}");
    }
    assert_eq!(summary.system(), before.system());
}

#[test]
fn an_earlier_summary_is_merged_not_nested() {
    let provider = summarising(Reply::text("SUMMARY: all that was."));
    let env = Env::new(&provider);
    fill(&env);
    fill(&env);
    fill(&env);
    assert!(summaries(&provider) >= 2, "{}", summaries(&provider));
    assert_eq!(provider.last_request().mentions("SUMMARY: all that was."), 1);
}

#[test]
fn a_bad_summary_changes_nothing() {
    let bad = [
        Reply::text(""),
        Reply::text(" \n"),
        Reply::text("It began well").finish("length"),
        Reply::text(&filler("A summary longer than all it replaces", 180)),
        Reply::error(400, "no summaries here"),
        Reply::calls([shell("s1", "touch summary-tool")]),
    ];
    for reply in bad {
        let shown = format!("{:.200?}", reply.events);
        let provider = summarising(reply);
        let env = Env::new(&provider);
        fill(&env);
        let before = provider.last_request();
        let all = ["--context-window", WINDOW, "-c", "-p", &filler("fourth-topic", 14)];
        let output = env.run(&all);
        // Going on and stopping with the sizes are both fair; it is not full yet.
        assert!([0, 1].contains(&output.code), "{shown}");
        assert_says(&output.stderr, &["64000|64,000|64k|compact"]);
        let tries = summaries(&provider);
        assert!((1..=2).contains(&tries), "{tries} tries: {shown}");
        assert!(env.log().of("compaction").is_empty(), "{shown}");

        let _ = env.go_on("with a larger window");
        let after = provider.last_request();
        assert!(after.message_bytes().starts_with(before.message_bytes()), "{shown}");
        assert!(!env.exists("summary-tool"));
    }
}

#[test]
fn an_overflow_is_compacted_and_the_step_is_tried_again() {
    let refusals = [
        Reply::overflow(20_000),
        Reply::error(413, "Request too large: prompt is too long: 40000 tokens > 20000 maximum"),
        Reply::error(
            500,
            "the input (40000 tokens) is longer than the model's context length (20000 tokens)",
        ),
    ];
    for refusal in refusals {
        let provider = Provider::answering(move |request| match request.body.len() {
            70_000.. => refusal.clone(),
            _ if is_summary(request) => Reply::text("SUMMARY: short."),
            _ => Reply::text("Noted."),
        });
        let env = Env::new(&provider);
        for name in ["first-topic", "second-topic", "third-topic"] {
            let args = ["-c", "-p", &filler(name, 24)];
            let first = usize::from(env.sessions().is_empty());
            let _ = env.run(&args[first..]).expect_code(0);
        }
        let request = provider.last_request();
        assert!(request.mentions("third-topic") >= 1);
        assert_eq!(env.log().last("compaction")["trigger"], "overflow");
    }
}

#[test]
fn the_window_that_an_overflow_states_is_remembered() {
    let provider = Provider::answering(move |request| match request.body.len() {
        70_000.. if !is_summary(request) => Reply::overflow(30_000),
        _ if is_summary(request) => Reply::text("SUMMARY: short."),
        _ => Reply::text("Noted."),
    });
    let env = Env::new(&provider);
    let session = || {
        for (turn, name) in ["first-topic", "second-topic", "third-topic"].iter().enumerate() {
            let args = ["-c", "-p", &filler(name, 24)];
            let _ = env.run(&args[usize::from(turn == 0)..]).expect_code(0);
        }
        let last = env.sessions().pop().expect("a session");
        crate::support::log::Log::load(&last).last("compaction")["trigger"].clone()
    };
    assert_eq!(session(), "overflow");
    assert_eq!(session(), "auto", "the second session knows better");
}

/// Refuses in these ways what is larger than so many bytes, with a window of 20,000 tokens known.
#[test]
fn overflows_that_are_not_called_one_are_compacted_too() {
    let empty = Reply::events([finish("length"), DONE.to_owned()]).usage(19_900, 0, 0);
    for refusal in [Reply::plain(400, "text/plain", ""), Reply::plain(413, "text/plain", ""), empty]
    {
        let provider = Provider::answering(move |request| match request.body.len() {
            55_000.. if !is_summary(request) => refusal.clone(),
            _ if is_summary(request) => Reply::text("SUMMARY: short."),
            _ => Reply::text("Noted.").usage(100, 2, 0),
        });
        let env = Env::new(&provider);
        for name in ["first-topic", "second-topic", "third-topic"] {
            let args = ["--context-window", "20000", "-c", "-p", &filler(name, 18)];
            let first = usize::from(env.sessions().is_empty());
            let args = if first == 1 { [&args[..2], &args[3..]].concat() } else { args.to_vec() };
            let _ = env.run(&args).expect_code(0);
        }
        assert!(provider.last_request().mentions("third-topic") >= 1);
        assert_eq!(env.log().last("compaction")["trigger"], "overflow");
    }
}

#[test]
fn an_overflow_that_nothing_helps_is_told_and_does_not_loop() {
    let provider = Provider::answering(|_| Reply::overflow(100));
    let env = Env::new(&provider);
    let output = env.turn(&filler("topic", 20)).expect_code(1);
    assert_says(&output.stderr, &["error:", "maximum context length"]);
    assert_silent_on(&output.stderr, &["compacted"]);
    assert!(provider.requests().len() <= 6, "{}", provider.requests().len());
}

#[test]
fn a_rate_limit_about_tokens_is_no_overflow() {
    let provider = Provider::start([
        Reply::error(429, "Rate limit reached: too many tokens per minute (context length 9000)"),
        Reply::text("Fine."),
    ]);
    let env = Env::new(&provider);
    env.config("[retry]\nmax_wait = 0.1\n");
    assert_eq!(env.ask("go").stdout, "Fine.\n");
    assert!(env.log().of("compaction").is_empty());
}

#[test]
fn the_last_request_of_the_user_survives_word_for_word() {
    let provider = Provider::answering(|request| {
        if is_summary(request) {
            return Reply::text("SUMMARY: the user wanted A, and A is done.");
        }
        let step = request.result_ids().len();
        match request.mentions("do B") {
            0 => Reply::text("A is done."),
            _ if request.mentions("SUMMARY") > 0 => Reply::text("B goes on."),
            _ => {
                // Another place each time: repeating oneself would end the turn.
                Reply::calls([0, 1, 2].map(|n| {
                    let place = json!({"file_path": format!("f{n}.txt"), "offset": step + 1});
                    call(&format!("c{step}-{n}"), "read", place)
                }))
            }
        }
    });
    let env = Env::new(&provider);
    for n in 0..3 {
        env.write(
            &format!("f{n}.txt"),
            filler(&format!("file {n}"), 12).replace("dolor ", "dolor\n"),
        );
    }
    say(&env, &filler("do A", 40));
    let wish = "do B, and never touch x.txt";
    let args = ["--permission-mode", "full", "--context-window", WINDOW, "-c", "-p", wish];
    assert_eq!(env.run(&args).expect_code(0).stdout, "B goes on.\n");
    assert_eq!(summaries(&provider), 1);
    assert!(provider.last_request().mentions(wish) >= 1);
}

#[test]
fn a_fixed_part_that_fills_the_window_does_not_loop() {
    let provider = Provider::answering(|request| {
        if is_summary(request) { Reply::text(&filler("much", 6)) } else { Reply::text("Noted.") }
    });
    let env = Env::new(&provider);
    env.write("AGENTS.md", filler("Instructions:", 18));
    let mut output = None;
    for round in 0..3 {
        let text = filler(&format!("round {round}"), 2);
        let all = ["--context-window", "9000", "-c", "-p", &text];
        let args = if round == 0 { [&all[..2], &all[3..]].concat() } else { all.to_vec() };
        output = Some(env.run(&args));
    }
    assert!(summaries(&provider) <= 6, "{} summaries in 3 turns", summaries(&provider));
    let output = output.expect("three rounds");
    assert_says(&output.stderr, &["window|context"]);
}

#[test]
fn cached_tokens_are_part_of_the_prompt_and_not_summed_over_calls() {
    let provider = Provider::answering(|request| {
        let count = request.result_ids().len();
        let reply = match count {
            10 => Reply::text("Done."),
            _ => Reply::calls([shell(&format!("c{count}"), &format!("echo {count}"))]),
        };
        reply.usage(7000, 50, 6900)
    });
    let env = Env::new(&provider);
    let args = ["--permission-mode", "full", "--context-window", "16000", "-p", "go"];
    let _ = env.run(&args).expect_code(0);
    assert_eq!(provider.requests().len(), 11);
    assert!(env.log().of("compaction").is_empty());
}

#[test]
fn an_old_report_does_not_set_off_a_second_compaction() {
    let provider = Provider::answering(|request| {
        if is_summary(request) {
            return Reply::text("SUMMARY: short.").usage(52_000, 5, 0);
        }
        let size = u64::try_from(request.body.len() / 3).unwrap_or(0);
        Reply::text("Noted.").usage(size, 2, 0)
    });
    let env = Env::new(&provider);
    fill(&env);
    say(&env, &filler("fourth-topic", 14));
    say(&env, "fifth-topic");
    say(&env, "sixth-topic");
    assert_eq!(summaries(&provider), 1);
}

#[test]
fn without_a_known_window_nothing_is_compacted_by_itself() {
    let provider = summarising(Reply::text("SUMMARY."));
    let env = Env::new(&provider);
    for round in 0..3 {
        let text = filler("topic", 60);
        let args: &[&str] = if round == 0 { &["-p", &text] } else { &["-c", "-p", &text] };
        let _ = env.run(args).expect_code(0);
    }
    assert_eq!((summaries(&provider), provider.requests().len()), (0, 3));
}

#[test]
fn compact_on_request() {
    let provider = summarising(Reply::text("SUMMARY: it was about parsers."));
    let env = Env::new(&provider);
    let _ = env.ask(&filler("first-topic", 10));
    let _ = env.go_on(&filler("second-topic", 10));
    let pty = Pty::xsh(&env, &["-c"]);
    pty.settle();
    pty.line("/compact the parser");
    pty.wait_for_screen("what came of it", |screen| screen.to_lowercase().contains("token"));
    let request = provider.last_request();
    assert!(is_summary(&request));
    assert_says(request.last(), &["the parser"]);
    assert_eq!(env.log().last("compaction")["trigger"], "manual");
}

#[test]
fn there_is_nothing_to_compact_in_a_new_session() {
    let provider = Provider::start([]);
    let env = Env::new(&provider);
    let pty = Pty::xsh(&env, &[]);
    pty.settle();
    pty.line("/compact");
    pty.wait_for_screen("a word about it", |screen| {
        screen.to_lowercase().contains("nothing was compacted")
    });
    assert!(provider.requests().is_empty());
}

/// A provider whose token counts are true to the rule of thumb, so that sizes are sizes.
fn counting(answer: impl Fn(&Request) -> Reply + Send + 'static) -> Provider {
    Provider::answering(move |request| {
        let tokens = u64::try_from(request.body.len()).unwrap_or(u64::MAX) / 4;
        answer(request).usage(tokens, 20, 0)
    })
}

/// Calls for all files until their results are there, then `Noted.`.
fn reading(request: &Request, files: usize) -> Reply {
    if request.roles().ends_with("tool") {
        return Reply::text("Noted.");
    }
    Reply::calls((0..files).map(|n| read(&format!("c{n}"), &format!("f{n}.txt"))))
}

#[test]
fn outputs_that_fill_the_window_by_themselves_are_cut_and_the_turn_goes_on() {
    let provider = counting(|request| reading(request, 6));
    let env = Env::new(&provider);
    for n in 0..6 {
        env.write(&format!("f{n}.txt"), "a line of text\n".repeat(1_000));
    }
    let output = env.run(&["--context-window", "12000", "-p", "read them"]).expect_code(0);
    assert_eq!(output.stdout, "Noted.\n");
    assert_says(provider.last_request().result("c5"), &["left out to save space"]);
    assert_eq!(env.log().last("compaction")["kind"], "cut");
}

#[test]
fn a_message_that_does_not_fit_does_not_block_what_comes_after_it() {
    let provider = counting(|_| Reply::text("Noted."));
    let env = Env::new(&provider);
    let large = filler("too much", 60);
    let output = env.run_with(&["--context-window", "8000", "-p", "-"], &large).expect_code(1);
    assert_says(&output.stderr, &["the context is full", "of 8000 tokens"]);
    assert_eq!((provider.requests().len(), env.log().of("compaction").len()), (0, 0));
    let _ = env.run(&["--context-window", "8000", "-c", "-p", "and now?"]).expect_code(0);
    assert_says(provider.last_request().last(), &["and now?"]);
}

#[test]
fn a_refusal_counts_more_than_the_window_that_was_set() {
    let provider = Provider::answering(|request| match request.body.len() {
        ..=60_000 if is_summary(request) => Reply::text("SUMMARY: two topics."),
        ..=60_000 => Reply::text("Noted."),
        _ => Reply::error(413, "Request too large: the prompt is too long"),
    });
    let env = Env::new(&provider);
    let args = ["--context-window", "1000000", "-c", "-p"];
    let _ = env.run(&["-p", &filler("first-topic", 24)]).expect_code(0);
    let _ = env.run(&[&args[..], &[&filler("second-topic", 20)]].concat()).expect_code(0);
    let _ = env.run(&[&args[..], &[&filler("third-topic", 20)]].concat()).expect_code(0);
    assert_eq!(env.log().last("compaction")["kind"], json!(null), "a summary");
    assert_eq!(provider.last_request().mentions("SUMMARY: two topics."), 1);
}

#[test]
fn whoever_asks_for_a_compaction_gets_one_however_large_the_window() {
    let provider = summarising(Reply::text("SUMMARY: it was about parsers."));
    let env = Env::new(&provider);
    let _ = env.ask(&filler("first-topic", 30));
    let _ = env.go_on(&filler("second-topic", 10));
    let pty = Pty::xsh(&env, &["-c", "--context-window", "1000000"]);
    pty.settle();
    pty.line("/compact");
    pty.wait_for_screen("what came of it", |screen| screen.contains("compacted:"));
    assert_eq!(env.log().last("compaction")["trigger"], "manual");
}
