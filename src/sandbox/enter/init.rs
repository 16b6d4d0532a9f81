//! The processes of the box: the doorman, the init, the command.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::PathBuf;

use landlock::BitFlags;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, kill_process, setrlimit, wait,
    waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::sys::{Signals, set_signals};
use super::{Fault, Order, command, failed, filter, mounts, report, rules, sys};
use crate::sandbox::{ALONE, FAULT, MISSED_NETWORK, TMP};

/// Where commands may write in their own view, beside the roots.
const OWN: [&str; 3] = [TMP, "/var/tmp", "/dev"];

/// What is missing where the old `/proc` has to stay.
const OLD_PROC: &str = "processes outside can be seen in /proc";

/// What the init tells the doorman when the command has ended.
struct Last {
    /// By which signal it ended, else 0.
    signal: i32,
    code: i32,
}

/// Starts the init, and in it the command. Only the doorman comes back, with the command's exit
/// code; a signal that ended the command ends it too.
pub(super) fn run(order: &Order) -> Result<u8, Fault> {
    let (reader, writer) = io::pipe().map_err(failed("make a pipe"))?;
    // What the group is sent is meant for the command.
    set_signals(Signals::Ignore);
    if sys::fork().map_err(failed("start a process"))?.is_none() {
        drop(reader);
        if let Err(fault) = serve(order, writer) {
            report(&order.report, &format!("{FAULT}{fault}"));
        }
        sys::exit(0);
    }
    drop(writer);
    let_go();
    Ok(stand_by(reader))
}

/// Waits for the command as if it were it. The init is not waited for: taking its namespaces apart costs
/// more than a short command.
fn stand_by(mut reader: PipeReader) -> u8 {
    let mut bytes = [0; 8];
    let last = reader.read_exact(&mut bytes).ok().map(|()| Last::from_bytes(bytes));
    match last {
        Some(last) => match Signal::from_named_raw(last.signal) {
            Some(signal) => die_of(signal),
            None => u8::try_from(last.code).unwrap_or(u8::MAX),
        },
        // The init was killed, and all with it.
        None => die_of(Signal::KILL),
    }
}

fn die_of(signal: Signal) -> u8 {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
    set_signals(Signals::Default);
    let _ = kill_process(getpid(), signal);
    128_u8.saturating_add(u8::try_from(signal.as_raw()).unwrap_or_default())
}

/// The init: starts the command, takes in orphans, tells how the command ended, and stays until the
/// last process has.
fn serve(order: &Order, mut writer: PipeWriter) -> Result<(), Fault> {
    // Without it the old one stays.
    let _ = mounts::put_proc();
    // The network is shared with the commands before.
    let unsent_before = unsent();
    let Some(command) = sys::fork().map_err(failed("start a process"))? else {
        // Only what went wrong comes back.
        let fault = start(order);
        report(&order.report, &format!("{FAULT}{fault}"));
        sys::exit(127);
    };
    let_go();
    let last = wait_for(command)?;
    if unsent() > unsent_before {
        report(&order.report, MISSED_NETWORK);
    }
    if is_alone() {
        report(&order.report, ALONE);
    }
    writer.write_all(&last.to_bytes()).map_err(failed("write a pipe"))?;
    drop(writer);
    while !matches!(wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
    Ok(())
}

fn start(order: &Order) -> Fault {
    set_signals(Signals::Default);
    // What a mount does not keep from: pipes outside can be written to where files cannot. Kernels
    // without Landlock, and no others, leave that open.
    let _ =
        rules::confine(&[&order.roots[..], &OWN.map(PathBuf::from)].concat(), BitFlags::empty());
    match filter::install(filter::Network::Own) {
        Ok(()) => command::become_it(order, TMP.as_ref()),
        Err(fault) => fault,
    }
}

/// Collects what ends until the command has.
fn wait_for(command: Pid) -> Result<Last, Fault> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return Ok(Last::of(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("wait for the command")(error)),
        }
    }
}

/// Whether no other process of the box is left: all come from this one, and those whose parent has
/// ended come back to it.
fn is_alone() -> bool {
    let collected = std::iter::repeat_with(|| wait(WaitOptions::NOHANG));
    let mut left = collected.skip_while(|ended| matches!(ended, Ok(Some(_)) | Err(Errno::INTR)));
    matches!(left.next(), Some(Err(Errno::CHILD)))
}

/// The outputs belong to the command: who reads them waits for their end.
fn let_go() {
    if let Ok(null) = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
        let _ = dup2_stderr(&null);
    }
}

/// How often something was to be sent that no route led to: the only thing a network without devices
/// counts.
fn unsent() -> u64 {
    let old = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let new = fs::read_to_string("/proc/net/snmp6").unwrap_or_default();
    let mut lines = old.lines().filter(|line| line.starts_with("Ip:"));
    let names = lines.next().unwrap_or_default().split_whitespace();
    let values = lines.next().unwrap_or_default().split_whitespace();
    let old = names.zip(values).find(|(name, _)| *name == "OutNoRoutes");
    let new = new.lines().find_map(|line| line.strip_prefix("Ip6OutNoRoutes"));
    let number = |text: &str| text.trim().parse::<u64>().unwrap_or(0);
    old.map_or(0, |(_, value)| number(value)) + new.map_or(0, number)
}

/// Whether an init can be started, and what it lacks.
pub(super) fn try_out() -> Result<Vec<String>, Fault> {
    let Some(init) = sys::fork().map_err(failed("start a process"))? else {
        sys::exit(i32::from(mounts::put_proc().is_err()));
    };
    let status = waitpid(Some(init), WaitOptions::empty()).map_err(failed("wait"))?;
    let proc = status.is_some_and(|(_, status)| status.exit_status() == Some(0));
    Ok(if proc { Vec::new() } else { vec![OLD_PROC.to_owned()] })
}

impl Last {
    fn of(status: WaitStatus) -> Self {
        let signal = status.terminating_signal().unwrap_or(0);
        Self { signal, code: status.exit_status().unwrap_or(0) }
    }

    fn to_bytes(&self) -> Vec<u8> {
        [self.signal, self.code].map(i32::to_ne_bytes).concat()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        let mut numbers = bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes));
        let mut next = || numbers.next().unwrap_or(0);
        Self { signal: next(), code: next() }
    }
}
