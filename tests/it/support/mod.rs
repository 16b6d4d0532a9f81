//! What the tests stand on.

pub mod assert;
pub mod demand;
pub mod env;
pub mod gzip;
pub mod http;
pub mod log;
pub mod persona;
pub mod personas;
pub mod provider;
pub mod pty;
pub mod reply;
pub mod strict;

use std::time::{Duration, Instant};

/// How long anything may take before a test calls it a hang. Generous: machines are shared.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Waits until `ready` gives something; fails the test with `what` when it takes too long.
pub fn wait_until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
