//! A clock that was wrong, or is set back: order is the position in the file, never a time.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::assert::{assert_no_crash, assert_says};
use crate::support::env::Env;
use crate::support::log::Log;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Reply, shell};

/// Every event's time becomes one of the future, each a year before the one above it. The first
/// line stays: it vouches for who wrote the file.
fn from_the_future(log: &Log) {
    let mut year = 2099;
    let text = String::from_utf8(log.bytes()).expect("UTF-8");
    let (header, _) = text.split_once('\n').expect("a header");
    let mut lines = vec![header.to_owned()];
    for line in log.lines.iter().skip(1) {
        let mut line = line.clone();
        line["at"] = Value::from(format!("{year}-06-01T00:00:00.000Z"));
        lines.push(line.to_string());
        year -= 1;
    }
    log.overwrite((lines.join("\n") + "\n").as_bytes());
    in_2040(&log.path);
}

fn in_2040(path: &Path) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_hours(70 * 8_766);
    let file = File::options().append(true).open(path).expect("the session");
    file.set_modified(then).expect("a file time");
}

fn provider() -> Provider {
    Provider::answering(|request| match request.last() {
        "old" | "new" => Reply::calls([shell("c1", "echo done")]),
        other => Reply::text(&format!("Noted <{other:.20}>.")).usage(100, 5, 0),
    })
}

#[test]
fn a_clock_that_was_set_back_changes_no_order_and_no_duration() {
    let provider = provider();
    let env = Env::new(&provider);
    let _ = env.turn_free("old").expect_code(0);
    let old = env.log();
    from_the_future(&old);
    let _ = env.turn_free("new").expect_code(0);
    // The session that was used last is the one of today.
    let output = env.run(&["-v", "-c", "-p", "which?"]).expect_code(0);
    assert_no_crash(&output.stderr);
    let request = provider.last_request();
    assert_eq!(request.roles(), "user assistant tool assistant user");
    assert_eq!(request.mentions("\"new\"") + request.mentions("new"), 1);
    // The old one goes on in the order of its file, though what is added looks older.
    let _ = env.run(&["-v", "--resume", old.id(), "-p", "third"]).expect_code(0);
    let request = provider.last_request();
    assert_eq!(request.roles(), "user assistant tool assistant user");
    assert_eq!(request.messages()[1]["content"], "old");
    let log = Log::load(&old.path);
    let positions: Vec<_> = log.lines.iter().skip(1).filter_map(|l| l["seq"].as_u64()).collect();
    assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
    for event in &log.lines {
        let durations = event.as_object().into_iter().flatten();
        for (name, value) in durations.filter(|(name, _)| name.ends_with("_ms")) {
            assert!(value.as_u64().is_some_and(|ms| ms < 600_000), "{name}: {value}");
        }
    }
    // Used last again, whatever its file says.
    in_2040(&old.path);
    let _ = env.go_on("fourth");
    assert_eq!(
        provider.last_request().roles(),
        "user assistant tool assistant user assistant user"
    );
    let listed = env.run(&["sessions"]).expect_code(0);
    assert_says(&listed.stdout, &["old", "new", old.id()]);
}

#[test]
fn resume_and_undo_at_the_prompt_go_by_position_too() {
    let provider = provider();
    let env = Env::new(&provider);
    let _ = env.turn_free("old").expect_code(0);
    let _ = env.go_on("old, second");
    from_the_future(&env.log());
    let _ = env.turn_free("new").expect_code(0);
    let pty = Pty::xsh(&env, &["-c"]);
    pty.settle();
    pty.line("/resume");
    pty.wait_for("resumed, 2 turns");
    pty.settle();
    pty.line("/rewind");
    let screen = pty.wait_for("old, second");
    let place = |text| screen.rfind(text);
    assert!(place("1  old") <= place("old, second"), "{screen}");
    pty.line("/sessions");
    pty.settle();
    pty.line("and on");
    pty.wait_for("Noted <and on>");
    assert_no_crash(&pty.raw_text());
}
