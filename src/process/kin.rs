//! Which processes belong to a command, by what the kernel says of them, and the end of them all.
//!
//! A process belongs to it if it is in the command's session or group, if its environment holds the
//! command's mark (it survives `setsid` and `nohup`), or if its parent belongs to it. Read from
//! `/proc`; where that is missing, nothing is found.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::time::{Instant, sleep};

use crate::brief::brief;
use crate::sandbox::ENTRANCE;

/// How much of a command line is kept as a name, in characters.
const NAME_CHARS: usize = 60;

/// How often it is looked whether signalled processes are gone.
const POLL: Duration = Duration::from_millis(20);

/// How long new processes of a command that are still appearing are killed.
const KILL_ROUNDS: Duration = Duration::from_millis(200);

/// Fields of `/proc/…/stat` between the session and the time of the start.
const STARTED_AFTER_SESSION: usize = 15;

/// Everything that belongs to one command. Dropped before its sweep is through, it is killed: then
/// whoever wanted its end is gone, so it has to go too.
pub(super) struct Tree {
    /// The first process, also the number of its group and session.
    leader: Option<Pid>,
    mark: String,
    /// When the first process started; no process of the command is older.
    since: u64,
    /// The first process is gone, and its number may become another's.
    reaped: bool,
    swept: bool,
}

impl Tree {
    pub(super) fn new(leader: Option<Pid>, mark: String) -> Self {
        let first = leader.and_then(|leader| stat(leader.as_raw_nonzero().get()));
        let since = first.map_or(0, |first| first.started);
        Self { leader, mark, since, reaped: false, swept: false }
    }

    /// Sends a signal to every process of the command. Errors mean that it is gone already.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(leader) = self.leader else { return };
        if kill_process_group(leader, signal).is_err() && !self.reaped {
            // It has not got as far as making its own group.
            let _ = kill_process(leader, signal);
        }
        for process in self.find() {
            let _ = kill_process(process.pid, signal);
            // A stopped process would not hear the polite signal.
            let _ = kill_process(process.pid, Signal::CONT);
        }
    }

    /// For a command of which no process is left.
    pub(super) fn gone(&mut self) -> Vec<String> {
        self.reaped = true;
        self.swept = true;
        Vec::new()
    }

    /// Ends every process that is left, now that the first one has ended; names them.
    pub(super) async fn sweep(&mut self, grace: Duration) -> Vec<String> {
        self.reaped = true;
        let mut left = self.find_named();
        if !left.is_empty() {
            // Whoever has just closed the pipe may still be on its way out by itself.
            sleep(POLL).await;
            left = self.find_named();
        }
        if left.is_empty() {
            self.swept = true;
            return self.end_unlisted();
        }
        self.signal(Signal::TERM);
        let end = Instant::now() + grace;
        while Instant::now() < end && !self.find().is_empty() {
            sleep(POLL).await;
        }
        let end = Instant::now() + KILL_ROUNDS;
        while Instant::now() < end && !self.find().is_empty() {
            self.signal(Signal::KILL);
            sleep(POLL).await;
        }
        self.swept = true;
        left.into_iter().filter_map(|process| process.name).collect()
    }

    /// Without what holds the box together: alone it ends by itself, and nobody waits for it.
    fn find_named(&self) -> Vec<Process> {
        let mut found = self.find();
        found.retain(|process| process.name.is_some());
        found
    }

    fn find(&self) -> Vec<Process> {
        self.leader.map(|leader| find(leader, &self.mark, self.since)).unwrap_or_default()
    }

    /// Where processes cannot be listed, the group is all that can be reached.
    fn end_unlisted(&self) -> Vec<String> {
        let Some(leader) = self.leader.filter(|_| !cfg!(target_os = "linux")) else {
            return Vec::new();
        };
        let found = kill_process_group(leader, Signal::KILL).is_ok();
        found.then(|| format!("group {leader}")).into_iter().collect()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.swept {
            self.signal(Signal::KILL);
        }
    }
}

/// A process of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: Pid,
    /// Its command line, shortened; none for what holds the box together.
    name: Option<String>,
}

/// What `/proc/…/stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// When it started, in clock ticks since the machine did.
    started: u64,
    /// It has ended and only waits to be noticed.
    ended: bool,
}

/// The living processes of the command whose first process was `leader`, which started at `since`.
fn find(leader: Pid, mark: &str, since: u64) -> Vec<Process> {
    let leader = leader.as_raw_nonzero().get();
    let mut others = all();
    // So that only few environments have to be read.
    others.retain(|stat| stat.started >= since);
    let mut known = BTreeSet::from([leader]);
    let mut found = Vec::new();
    let own =
        |stat: &Stat| stat.session == leader || stat.group == leader || marked(stat.pid, mark);
    let mut belongs: Vec<Stat> = others.extract_if(.., |stat| own(stat)).collect();
    while !belongs.is_empty() {
        known.extend(belongs.iter().map(|stat| stat.pid));
        found.append(&mut belongs);
        belongs = others.extract_if(.., |stat| known.contains(&stat.parent)).collect();
    }
    let living = found.into_iter().filter(|stat| !stat.ended);
    living
        .filter_map(|stat| Some(Process { pid: Pid::from_raw(stat.pid)?, name: name(stat.pid) }))
        .collect()
}

fn all() -> Vec<Stat> {
    let me = i32::try_from(std::process::id()).unwrap_or_default();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != me).filter_map(stat).collect()
}

fn stat(pid: i32) -> Option<Stat> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent group session … started …`; see
/// `proc_pid_stat(5)`. The name may hold anything, brackets too.
fn parse(pid: i32, line: &str) -> Option<Stat> {
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X" | "x");
    let mut number = || fields.next()?.parse().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    let started = fields.nth(STARTED_AFTER_SESSION)?.parse().ok()?;
    Some(Stat { pid, parent, group, session, started, ended })
}

fn marked(pid: i32, mark: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let wanted = format!("{}={mark}", super::MARK);
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}

fn name(pid: i32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if line.split(|byte| *byte == 0).next() == Some(ENTRANCE.as_bytes()) {
        return None;
    }
    let line = String::from_utf8_lossy(&line).replace(|c: char| c.is_control(), " ");
    let line = line.trim();
    Some(if line.is_empty() { format!("process {pid}") } else { brief(line, NAME_CHARS).into() })
}

#[cfg(test)]
mod tests {
    use super::{Stat, parse};

    #[test]
    fn a_name_cannot_fake_the_fields() {
        let rest = "3 4 5 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 900 4096";
        let expected = Stat { pid: 7, parent: 3, group: 4, session: 5, started: 900, ended: false };
        assert_eq!(parse(7, &format!("7 (a) Z 1 1 1 (b)) S {rest}")), Some(expected));
        assert_eq!(parse(7, &format!("7 (a) Z {rest}")), Some(Stat { ended: true, ..expected }));
        assert_eq!(parse(7, "7 (a) S 3"), None);
        assert_eq!(parse(7, ""), None);
    }
}
