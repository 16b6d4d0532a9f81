//! Waiting costs nothing.

use std::time::Duration;

use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::Pty;

/// Processor time of a process so far, in ticks of usually 10 ms.
fn ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields = stat.rsplit_once(')').expect("fields").1.split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[test]
fn an_idle_prompt_takes_no_processor_time() {
    let provider = Provider::start([]);
    let env = Env::new(&provider);
    let pty = Pty::xsh_wrapped(&env, &[]);
    pty.settle();
    let xsh = pty.child_of_shell();
    let before = ticks(xsh);
    std::thread::sleep(Duration::from_secs(2));
    let used = ticks(xsh) - before;
    assert!(used <= 3, "{used} ticks in two seconds");
}
