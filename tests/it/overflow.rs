//! A window that is exceeded: whose it was, and when it is over.

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Reply, shell};

fn is_summary(request: &Request) -> bool {
    request.json["tool_choice"] == "none"
}

fn summaries(provider: &Provider) -> usize {
    provider.requests().iter().filter(|request| is_summary(request)).count()
}

/// Text of so many kilobytes that begins with `name`.
fn filler(name: &str, kilobytes: usize) -> String {
    format!("{name} {}", "lorem ipsum dolor ".repeat(kilobytes * 1000 / 18))
}

#[test]
fn the_overflow_of_a_model_is_forgotten_with_the_model() {
    // The first takes next to nothing, and nothing can be made smaller: a single message.
    let first = Provider::answering(|request| match request.body.len() {
        20_000.. => Reply::overflow(9_000),
        _ => Reply::text("Noted."),
    });
    let second = Provider::answering(|_| Reply::text("Room enough."));
    let mut env = Env::new(&first);
    env.set("SECOND_KEY", "sk-second-9876543210");
    env.config(&format!(
        "[providers.second]\nbase_url = \"{}\"\napi_key_env = \"SECOND_KEY\"\nmodel = \"large\"\n\
         [models.\"second/large\"]\ncontext_window = 200000\n",
        second.base_url()
    ));
    let long = filler("the-topic", 20);
    let output = env.run(&["-p", &long]).expect_code(1);
    assert_says(&output.stderr, &["9000|9,000|context"]);
    let asked = first.requests().len();
    let pty = Pty::xsh(&env, &["-c"]);
    pty.settle();
    pty.line("/model second/large");
    pty.wait_for("200000");
    pty.line("and now?");
    pty.wait_for("Room enough.");
    let request = second.last_request();
    assert_eq!((request.roles().as_str(), request.last()), ("user user", "and now?"));
    assert_eq!(request.mentions("the-topic"), 1);
    assert!(request.body.len() > 20_000, "nothing was cut: {}", request.body.len());
    assert_eq!((first.requests().len(), second.requests().len()), (asked, 1));
    assert!(env.log().of("compaction").is_empty());
    // Its window is still known of the first alone.
    pty.settle();
    pty.line("/context");
    pty.wait_for("200k");
}

/// Reports a nearly full window once, and nothing ever after.
fn reporting_once() -> Provider {
    let mut reported = false;
    Provider::answering(move |request| {
        if is_summary(request) {
            return Reply::text("SUMMARY: short.");
        }
        let steps = request.result_ids().len();
        match request.last() {
            text if text.starts_with("small") => Reply::text("Noted."),
            _ if steps < 4 && reported => {
                Reply::calls([shell(&format!("c{steps}"), &format!("echo {steps}"))])
            }
            _ if reported => Reply::text("Done."),
            _ => {
                reported = true;
                Reply::calls([shell("c0", "echo 0")]).usage(60_000, 10, 0)
            }
        }
    })
}

#[test]
fn a_report_from_before_a_compaction_does_not_set_off_another() {
    let provider = reporting_once();
    let env = Env::new(&provider);
    let base = ["--permission-mode", "full", "--context-window", "64000"];
    for (turn, kilobytes) in [40, 40, 0].into_iter().enumerate() {
        let text = if turn == 2 { "work".to_owned() } else { filler("small", kilobytes) };
        let more: &[&str] = if turn == 0 { &["-p", &text] } else { &["-c", "-p", &text] };
        let _ = env.run(&[&base, more].concat()).expect_code(0);
    }
    assert_eq!(summaries(&provider), 1, "{}", env.log().kinds());
    // Nor in the next run, which has the old report in its log.
    let _ = env.run(&[&base[..], &["-c", "-p", "small"]].concat()).expect_code(0);
    assert_eq!(summaries(&provider), 1, "{}", env.log().kinds());
    let log = env.log();
    assert_eq!(log.of("compaction").len(), 1);
    let pty = Pty::xsh(&env, &["-c", "--context-window", "64000"]);
    pty.settle();
    pty.line("/context");
    pty.settle();
    assert_silent_on(&pty.screen(), &["60k", "60 010"]);
}
