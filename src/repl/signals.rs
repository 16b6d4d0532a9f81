//! The signals that end a turn or the program.
//!
//! They must be listened to before the line editor reads for the first time: it changes handlers
//! while it reads, and puts back what it found.

use rustix::process::Signal as Kind;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::error::Error;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C: stop what is running.
    Interrupt,
    /// SIGTERM: stop, then end the program.
    Terminate,
    /// SIGHUP: the same. It comes more than once when a terminal closes, from the kernel and from
    /// the shell, so a second one asks for nothing more.
    HangUp,
}

/// The listeners.
#[derive(Debug)]
pub struct Signals {
    interrupt: Stream,
    terminate: Stream,
    hangup: Stream,
    /// Never awaited: a write beyond a file size limit is an error like a full disk, not the end.
    _too_large: Option<Stream>,
}

impl Signals {
    /// Begins to listen. Needs a running runtime with I/O.
    pub fn listen() -> Result<Self, Error> {
        let on = |kind| signal(kind).map_err(|e| Error::failed("cannot listen to signals", e));
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
            _too_large: signal(SignalKind::from_raw(Kind::XFSZ.as_raw())).ok(),
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hangup.recv() => Signal::HangUp,
        }
    }
}
