//! A session: the log on disk and the state folded from it, always in step.
//!
//! [`Session::record`] is the only way anything happens in a session: the event is appended to the
//! log first and applied to the state second. Resuming applies the same events by the same function.

pub mod blobs;
pub mod clock;
pub mod encoded;
pub mod fork;
pub mod leftovers;
pub mod lock;
pub mod log;
pub mod origin;
pub mod replaced;
mod rescue;
pub mod resume;
pub mod rewind;
pub mod search;
pub mod speaker;
pub mod state;
pub mod store;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::event::{Event, Header, Record};
use log::{Log, LogError};
use state::State;

/// See the module.
pub struct Session {
    /// The first line of the log.
    pub header: Header,
    /// What the events add up to.
    pub state: State,
    log: Log,
    /// Events that happened but could not be written; written before anything else.
    backlog: VecDeque<Record>,
    next_seq: u64,
    /// The folder to go to when the workspace is gone.
    refuge: Option<PathBuf>,
    notices: Vec<String>,
}

impl Session {
    /// A session over a log; `state` is the fold of what the log already holds.
    pub fn new(header: Header, state: State, log: Log) -> Self {
        let next_seq = state.last_seq() + 1;
        let (backlog, notices) = (VecDeque::new(), Vec::new());
        Self { header, state, log, backlog, next_seq, refuge: None, notices }
    }

    /// The same session with a folder to go to when its workspace is gone.
    #[must_use]
    pub fn with_refuge(mut self, refuge: Option<&Path>) -> Self {
        self.refuge = refuge.map(Path::to_owned);
        self
    }

    /// What happened to the log that the user should know, once each.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Makes an event a fact: on disk, then in memory. On an error neither the event nor anything
    /// that depends on it may take effect; the event is kept and written first when writing works
    /// again, because what it tells has happened.
    pub fn record(&mut self, event: Event) -> Result<u64, LogError> {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.backlog.push_back(Record { seq, at: clock::now(), event });
        self.flush()?;
        Ok(seq)
    }

    /// Like [`Session::record`] for what has not happened yet: where it cannot be written, it is
    /// forgotten, and may be tried again.
    pub fn propose(&mut self, event: Event) -> Result<u64, LogError> {
        self.record(event).inspect_err(|_| {
            // The events before it are written first, so it is still there, and the last.
            self.backlog.pop_back();
            self.next_seq -= 1;
        })
    }

    /// Writes and applies what is waiting, oldest first. A log that somebody else has taken away is
    /// gone on with in another file.
    pub fn flush(&mut self) -> Result<(), LogError> {
        while let Some(record) = self.backlog.front() {
            match self.log.append(record) {
                Err(error @ LogError::Changed { .. }) => {
                    self.move_log(error)?;
                    continue;
                }
                done => done?,
            }
            if let Some(record) = self.backlog.pop_front() {
                self.state.apply(record);
            }
        }
        Ok(())
    }

    /// Goes on in another file; `why` is the error where there is no place for one.
    fn move_log(&mut self, why: LogError) -> Result<(), LogError> {
        let refuge = self.refuge.as_deref();
        let said = match &mut self.log {
            Log::Unsaved => return Err(why),
            Log::Planned { path, header, .. } => {
                let moved = rescue::place(path, header, refuge, &header.id);
                *path = moved.filter(|moved| moved != path).ok_or(why)?;
                format!("the workspace is gone; this session is kept in {}", path.display())
            }
            Log::Open(old) if why.is_removal() && !rescue::is_homeless(&old.path, &self.header) => {
                old.revive()?;
                format!("the session log {why}; it is written again")
            }
            Log::Open(old) => {
                let rescued = rescue::rescue(old, &self.header, &self.state, refuge, &why)?;
                let Some(rescued) = rescued else { return Err(why) };
                let said = rescued.notice(&why);
                if let Some(records) = rescued.retold {
                    self.state = self.state.renewed(records);
                }
                self.header = rescued.header;
                *old = rescued.file;
                said
            }
        };
        self.notices.push(said);
        Ok(())
    }

    /// Forces what was written onto the disk; called at the end of every turn.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.log.sync()
    }

    /// The log's file, where there is one.
    pub fn path(&self) -> Option<PathBuf> {
        self.log.path()
    }

    /// True when events are waiting for a disk that could not be written.
    pub fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// How many events are waiting.
    pub fn waiting(&self) -> usize {
        self.backlog.len()
    }
}
