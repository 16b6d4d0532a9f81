//! The limits that end a loop: each ends the turn with one clear line, its ending in the log and its
//! exit code, after a number of requests that is known.

use serde_json::json;

use crate::support::assert::{assert_says, count};
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::reply::{DONE, Reply, call, delta, finish, raw_call, shell, write};

/// A model that gets nowhere, and how that ends.
struct Case {
    name: &'static str,
    config: &'static str,
    flags: &'static [&'static str],
    /// What it replies to the request of this number, from 1.
    reply: fn(usize, &Request) -> Reply,
    requests: usize,
    ending: &'static str,
    code: i32,
    says: &'static [&'static str],
}

const USUAL: Case = Case {
    name: "",
    config: "",
    flags: &["--permission-mode", "full"],
    reply: |_, _| Reply::text("Done."),
    requests: 0,
    ending: "error",
    code: 1,
    says: &[],
};

fn id(number: usize) -> String {
    format!("c{number}")
}

fn cut_call() -> Reply {
    let open = json!({"index": 0, "id": "c", "type": "function", "function": {
        "name": "write", "arguments": "{\"file_path\":\"cut.txt\",\"content\":\"half"}});
    let events = [delta(json!({"tool_calls": [open]})), finish("length"), DONE.to_owned()];
    Reply::events(events)
}

const CASES: &[Case] = &[
    Case {
        name: "the same call",
        reply: |number, _| Reply::calls([shell(&id(number), "true")]),
        requests: 8,
        ending: "repeating",
        code: 3,
        says: &["gets nowhere: the model made the same calls 8 times in a row"],
        ..USUAL
    },
    Case {
        name: "the same call, with the limit of the user",
        config: "max_repeats = 3\n",
        reply: |number, _| Reply::calls([shell(&id(number), "true")]),
        requests: 3,
        ending: "repeating",
        code: 3,
        says: &["the same calls 3 times"],
        ..USUAL
    },
    Case {
        name: "a short cycle",
        config: "max_repeats = 3\n",
        reply: |number, _| Reply::calls([shell(&id(number), &format!("echo {}", number % 3))]),
        requests: 9,
        ending: "repeating",
        code: 3,
        says: &["the same calls 3 times"],
        ..USUAL
    },
    Case {
        name: "a denied call again and again",
        flags: &["--permission-mode", "ask"],
        reply: |number, _| Reply::calls([write(&id(number), "a.txt", "x")]),
        requests: 8,
        ending: "repeating",
        code: 3,
        says: &["the same calls 8 times"],
        ..USUAL
    },
    Case {
        name: "tools that fail, another way each time",
        reply: |number, _| match number % 3 {
            0 => Reply::calls([shell(&id(number), &format!("exit {number}"))]),
            1 => Reply::calls([raw_call(&id(number), "read", &format!("{{\"x\":{number}}}"))]),
            _ => Reply::calls([call(&id(number), &format!("tool_{number}"), json!({}))]),
        },
        requests: 20,
        ending: "repeating",
        code: 3,
        says: &["gets nowhere: every call of the last 20 replies failed"],
        ..USUAL
    },
    Case {
        name: "steps",
        flags: &["--permission-mode", "full", "--max-steps", "3"],
        reply: |number, _| Reply::calls([shell(&id(number), &format!("echo {number}"))]),
        requests: 3,
        ending: "step_limit",
        code: 3,
        says: &["step limit", "3 steps", "help:"],
        ..USUAL
    },
    Case {
        name: "empty answers",
        reply: |_, _| Reply::text(""),
        requests: 2,
        ending: "empty",
        says: &["two empty answers in a row"],
        ..USUAL
    },
    Case {
        name: "answers that are cut",
        reply: |_, _| Reply::text("more and").finish("length"),
        requests: 3,
        says: &["output limit again and again"],
        ..USUAL
    },
    Case {
        name: "calls that are cut",
        reply: |_, _| cut_call(),
        requests: 3,
        says: &["output limit again and again"],
        ..USUAL
    },
    Case {
        name: "an answer that is withheld",
        reply: |_, _| Reply::events([finish("content_filter"), DONE.to_owned()]),
        requests: 1,
        ending: "refused",
        says: &["filter"],
        ..USUAL
    },
    Case {
        name: "retries",
        config: "[retry]\nmax_attempts = 3\nmax_wait = 0.02\n",
        reply: |_, _| Reply::error(503, "overloaded"),
        requests: 3,
        says: &["overloaded"],
        ..USUAL
    },
    Case {
        name: "a wait that is too long",
        config: "[retry]\nmax_wait = 5\n",
        reply: |_, _| Reply::error(429, "slow down").header("Retry-After", "3600"),
        requests: 1,
        says: &["slow down", "60 min"],
        ..USUAL
    },
    Case {
        name: "a request that is too long whatever is done",
        reply: |_, _| Reply::overflow(2_000),
        requests: 1,
        says: &["maximum context length"],
        ..USUAL
    },
    Case {
        name: "compaction without gain",
        flags: &["--permission-mode", "full", "--context-window", "1500"],
        reply: |_, _| Reply::text("Noted."),
        requests: 0,
        says: &["context is full", "1500 tokens", "help:"],
        ..USUAL
    },
];

#[test]
fn each_limit_ends_the_turn_with_one_line_and_its_code() {
    for case in CASES {
        let (reply, mut number) = (case.reply, 0);
        let provider = Provider::answering(move |request| {
            number += 1;
            reply(number, request)
        });
        let env = Env::new(&provider);
        env.config(case.config);
        let output = env.run(&[case.flags, &["-p", "go"]].concat());
        let shown = format!("{}: {output:?}", case.name);
        assert_eq!((output.code, env.log().ending()), (case.code, case.ending), "{shown}");
        assert_eq!(provider.requests().len(), case.requests, "{shown}");
        assert_eq!(count(&output.stderr, "error: "), 1, "{shown}");
        assert_says(&output.stderr, case.says);
        assert!(!env.exists("cut.txt") && !env.exists("a.txt"), "{shown}");
    }
}
