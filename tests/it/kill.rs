//! SIGKILL at every moment, and what is left then.
//!
//! One session after the other is driven through a long scenario by run after run, and nearly every
//! run is killed: right after a line of the log, a little later, or at any time. The next run goes on
//! with the session and is the next victim. After each kill the log, the files and the processes are
//! looked at; the provider looks at every request. Two hundred kills by default, as many as
//! `XSH_KILL_POINTS` says on demand.

mod checks;
mod rewinds;
mod scenario;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::PATIENCE;
use crate::support::env::Env;
use checks::Checks;
use scenario::Scenario;

/// Runs in one session before the next one begins.
const RUNS_PER_SESSION: usize = 20;
/// Lines that a run adds at least, when it is left alone: boundaries to kill at.
const LINES_PER_RUN: usize = 40;
/// How long a run takes about.
const RUN: Duration = Duration::from_millis(900);
/// How often the log is looked at.
const POLL: Duration = Duration::from_micros(50);

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So long after so many new lines are in the log.
    Line(usize, Duration),
    /// So long after its start.
    Time(Duration),
}

/// Numbers that look random and come again with the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn micros(&mut self, limit: Duration) -> Duration {
        Duration::from_micros(self.below(limit.as_micros().try_into().expect("short")))
    }
}

/// The moment of kill number `number`: every boundary has its turn, as it is and with a delay.
fn moment(number: usize, dice: &mut Dice) -> Moment {
    let line = 1 + (number / 3) % LINES_PER_RUN;
    match number % 3 {
        0 => Moment::Line(line, Duration::ZERO),
        1 => Moment::Line(line, dice.micros(Duration::from_millis(6))),
        _ => Moment::Time(dice.micros(RUN)),
    }
}

/// A session that is killed again and again.
struct Victim {
    env: Env,
    scenario: Scenario,
    checks: Checks,
}

impl Drop for Victim {
    fn drop(&mut self) {
        if thread::panicking() {
            self.env.keep();
        }
    }
}

/// How a run came to its end.
enum Fate {
    Killed,
    /// It was faster.
    Ended(ExitStatus),
}

impl Victim {
    fn new() -> Self {
        let scenario = Scenario::start();
        let env = Env::new(scenario.provider());
        scenario.prepare(&env);
        Self { checks: Checks::default(), env, scenario }
    }

    /// The session's file, once it has a whole first line.
    fn log(&self) -> Option<PathBuf> {
        let whole = |path: &PathBuf| std::fs::read(path).is_ok_and(|bytes| bytes.contains(&b'\n'));
        self.env.sessions().into_iter().find(whole)
    }

    fn spawn(&self) -> Child {
        let mut args = vec!["--permission-mode", "auto", "--context-window", "48000"];
        if self.log().is_some() {
            args.push("-c");
        }
        args.extend(["-p", "continue"]);
        let errors = File::create(self.env.root().join("stderr")).expect("a file");
        let mut command = self.env.command(&args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        command.spawn().expect("the program starts")
    }

    /// One run that is killed at this moment, and a look at what is left.
    fn kill_at(&mut self, moment: Moment) -> Fate {
        let fate = self.run_until(moment);
        if let Fate::Ended(status) = &fate {
            assert!(status.success(), "{moment:?}: {status}: {}", self.said());
        }
        let context = format!("{moment:?} in {}", self.env.root().display());
        self.checks.after_run(&self.env, &self.scenario, self.log().as_deref(), &context);
        fate
    }

    fn run_until(&self, moment: Moment) -> Fate {
        let mut growth = Growth::new(self.log());
        let mut child = self.spawn();
        let begin = Instant::now();
        let mut due = None;
        while due.is_none_or(|due| Instant::now() < due) {
            if let Some(status) = child.try_wait().expect("a child") {
                return Fate::Ended(status);
            }
            assert!(begin.elapsed() < PATIENCE, "a run hangs: {}", self.said());
            if growth.path.is_none() {
                growth.path = self.log();
            }
            match moment {
                Moment::Time(delay) => due = Some(begin + delay),
                Moment::Line(lines, delay) if due.is_none() && growth.lines() >= lines => {
                    due = Some(Instant::now() + delay);
                    continue;
                }
                Moment::Line(..) => {}
            }
            thread::sleep(POLL);
        }
        child.kill().expect("a child");
        child.wait().expect("a child");
        Fate::Killed
    }

    /// The last run, which nobody kills.
    fn finish(&mut self) {
        let status = self.spawn().wait().expect("a child");
        assert!(status.success(), "{status}: {}", self.said());
        let log = self.log().expect("a session");
        self.checks.after_run(&self.env, &self.scenario, Some(&log), "the last run");
        self.checks.at_the_end(&self.env, &self.scenario, &log);
    }

    /// The last lines that the last run said.
    fn said(&self) -> String {
        let text = std::fs::read_to_string(self.env.root().join("stderr")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n")
    }
}

/// Counts the lines that a file gets.
struct Growth {
    path: Option<PathBuf>,
    at: u64,
    lines: usize,
}

impl Growth {
    fn new(path: Option<PathBuf>) -> Self {
        let at = path.as_ref().map_or(0, |path| path.metadata().map_or(0, |meta| meta.len()));
        Self { path, at, lines: 0 }
    }

    fn lines(&mut self) -> usize {
        let Some(path) = &self.path else { return 0 };
        let length = path.metadata().map_or(0, |meta| meta.len());
        // A torn line is cut off before the first append.
        self.at = self.at.min(length);
        if length > self.at {
            let mut file = File::open(path).expect("the session");
            let mut new = Vec::new();
            file.seek(SeekFrom::Start(self.at)).expect("the session");
            file.read_to_end(&mut new).expect("the session");
            self.at += new.len() as u64;
            self.lines += new.split(|byte| *byte == b'\n').count() - 1;
        }
        self.lines
    }
}

/// What all workers have done together.
#[derive(Default)]
struct Figures {
    kills: AtomicUsize,
    ended: AtomicUsize,
    sessions: AtomicUsize,
    compactions: AtomicUsize,
    requests: AtomicUsize,
    effects: AtomicUsize,
    resumed_calls: AtomicUsize,
}

fn work(worker: u64, points: usize, next: &AtomicUsize, figures: &Figures) {
    let mut dice = Dice(worker);
    while figures.kills.load(Ordering::Relaxed) < points {
        let mut victim = Victim::new();
        for _ in 0..RUNS_PER_SESSION {
            let number = next.fetch_add(1, Ordering::Relaxed);
            match victim.kill_at(moment(number, &mut dice)) {
                Fate::Killed => figures.kills.fetch_add(1, Ordering::Relaxed),
                Fate::Ended(_) => figures.ended.fetch_add(1, Ordering::Relaxed),
            };
        }
        victim.finish();
        figures.sessions.fetch_add(1, Ordering::Relaxed);
        figures.requests.fetch_add(victim.scenario.provider().requests().len(), Ordering::Relaxed);
        figures.compactions.fetch_add(victim.checks.compactions, Ordering::Relaxed);
        figures.effects.fetch_add(victim.checks.effects, Ordering::Relaxed);
        figures.resumed_calls.fetch_add(victim.checks.lost_calls, Ordering::Relaxed);
    }
}

/// How many kills are asked for.
fn points() -> usize {
    let asked = std::env::var("XSH_KILL_POINTS").ok().and_then(|count| count.parse().ok());
    asked.unwrap_or(200)
}

#[test]
fn whenever_it_is_killed_nothing_is_lost_repeated_or_left() {
    let points = points();
    let (next, figures) = (AtomicUsize::new(0), Figures::default());
    let workers = thread::available_parallelism().map_or(2, usize::from).min(8) as u64;
    thread::scope(|scope| {
        for worker in 0..workers {
            let (next, figures) = (&next, &figures);
            scope.spawn(move || work(worker, points, next, figures));
        }
    });
    let count = |figure: &AtomicUsize| figure.load(Ordering::Relaxed);
    let line = format!(
        "kill harness: {} kills, {} runs that ended first, {} sessions, {} requests, {} compactions, \
         {} effects, {} calls that a kill cut short\n",
        count(&figures.kills),
        count(&figures.ended),
        count(&figures.sessions),
        count(&figures.requests),
        count(&figures.compactions),
        count(&figures.effects),
        count(&figures.resumed_calls),
    );
    std::io::stderr().write_all(line.as_bytes()).expect("stderr");
    assert!(count(&figures.kills) > 2 * count(&figures.ended), "the scenario is too short: {line}");
    assert!(count(&figures.compactions) > 0, "{line}");
}
