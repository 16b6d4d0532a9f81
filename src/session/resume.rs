//! Going on with a session: replay, then close what the last run left open.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::log::{self, Log, LogError};
use super::state::{State, lost};
use super::{Session, leftovers, store};
use crate::client::profile::Profile;
use crate::error::Error;
use crate::event::{Event, Header, ToolResult};
use crate::tools::Tool;
use crate::tools::shell::Shell;

/// A session that was read back.
pub struct Resumed {
    /// Ready to go on.
    pub session: Session,
    /// What the user should know about the file.
    pub warnings: Vec<String>,
}

/// Opens a log, replays it and answers every call that has no result. No tool is run again. What is
/// made from the session later, a fork for instance, belongs to `workspace`, whatever the file says;
/// should that vanish, the session goes on in `refuge`. The state has yet to be told who reads it
/// ([`State::set_reader`]). `stop` ends the reading of a long log with an error.
pub fn open(
    path: &Path,
    profile: &Profile,
    workspace: &Path,
    refuge: Option<&Path>,
    stop: &CancellationToken,
) -> Result<Resumed, Error> {
    let mut state = State::replaying(profile);
    let read = log::resume(path, stop, |record| state.apply(record));
    let (header, damage, file) = read.map_err(|error| {
        if stop.is_cancelled() { Error::interrupted() } else { cannot_resume(&error) }
    })?;
    leftovers::remove(path, &header.id);
    let header = Header { cwd: workspace.display().to_string(), ..header };
    let mut session = Session::new(header, state, Log::Open(file)).with_refuge(refuge);
    close_open_calls(&mut session).map_err(|error| cannot_resume(&error))?;
    store::note_latest(path, &session.header.id);
    Ok(Resumed { session, warnings: damage.warning().into_iter().collect() })
}

fn close_open_calls(session: &mut Session) -> Result<(), LogError> {
    let open = session.state.unanswered();
    let open: Vec<_> = open.iter().map(|open| (open.call.clone(), open.started)).collect();
    for (call, started) in open {
        let result = ToolResult {
            call_id: call.id,
            content: lost(started).to_owned(),
            is_error: true,
            unwatched: started && call.name == Shell::NAME,
            ..ToolResult::default()
        };
        session.record(Event::ToolResult(result))?;
    }
    Ok(())
}

/// The error for the user, with the next step.
pub fn cannot_resume(error: &LogError) -> Error {
    let help = match error {
        LogError::Locked(_) => "close the other xsh, or begin a new session",
        LogError::Version { .. } => "update xsh, or begin a new session",
        LogError::NotASession { .. } => "`xsh sessions list` shows the sessions there are",
        LogError::Io { .. } | LogError::Changed { .. } | LogError::Encode(_) => {
            "check that the file can be read and written, or begin a new session"
        }
    };
    Error::failed("cannot resume", error).help(help)
}
