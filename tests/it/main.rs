//! The integration tests: one binary, one file per feature.
//!
//! They drive the real `xsh` from outside: a scripted provider that is as strict as the strictest
//! real one ([`support::provider`]), a clean environment ([`support::env`]) and, where the screen
//! matters, a pseudo-terminal ([`support::pty`]). What they assert is what a user, a script or a
//! provider can see.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, start processes and look at the clock"
)]
#![expect(unreachable_pub, reason = "nothing leaves a test binary")]

mod cancel;
mod clock;
mod compaction;
mod config;
mod crash;
mod custom_tools;
mod demo;
mod faults;
mod foreign;
mod headless;
mod history;
mod idle;
mod jobs;
mod kill;
mod layers;
mod limits;
mod negotiation;
mod network;
mod overflow;
mod permissions;
mod personas;
mod prompt;
mod readme;
mod repl;
mod resume;
mod retry;
mod rewind;
mod sandbox;
mod secrets;
mod session;
mod sessions_command;
mod steps;
mod stream;
mod support;
mod switch;
mod text_calls;
mod tools_files;
mod tools_shell;
mod trust;
mod typed_ahead;
