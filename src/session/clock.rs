//! The wall clock and the random part of ids: the only place that reads either.
//!
//! Durations are measured elsewhere, with the monotonic clock; wall time only labels events. Order
//! is the position in the log, never a time.

use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read};

use jiff::Timestamp;

/// Now, for reckoning with dates that others send.
pub fn timestamp() -> Timestamp {
    Timestamp::now()
}

/// Now, RFC 3339 in UTC with milliseconds.
pub fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// A new session id: `<UTC time>-<six hex digits>`.
pub fn session_id() -> String {
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    format!("{time}-{:06x}", random() & 0x00ff_ffff)
}

/// Random bytes for secrets, from the operating system.
pub fn secret<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A random number; not for secrets.
pub fn random() -> u64 {
    // The standard library seeds every `RandomState` from the operating system.
    std::hash::RandomState::new().build_hasher().finish()
}
