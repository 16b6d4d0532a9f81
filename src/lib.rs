//! xsh, an interactive terminal coding agent.
//!
//! The code map, from the bottom up (a module may use only what stands above it in this list; a
//! test checks it):
//!
//! - **words**: [`message`] (what was said), [`event`] (what is logged), [`update`] (what is shown), [`hash`], [`brief`],
//!   [`error`] (what fails)
//! - **pure**: [`session::state`] (the fold of a log), [`turn::machine`] (what comes next),
//!   [`policy`], [`mask`], [`compact::plan`], [`prompt`], and the wire formats in [`client`]
//! - **effects**: [`client`] (HTTP), [`tools`], [`process`], [`sandbox`], [`jobs`], [`session::log`], [`session::store`]
//! - **drivers**: [`turn`], [`compact`], [`agent`]: ask the pure part, do the effect, record the fact
//! - **shell**: [`cli`], [`config`], [`repl`], [`ui`]: the only code that reads keys or prints

pub mod agent;
pub mod brief;
pub mod cli;
pub mod client;
pub mod commands;
pub mod compact;
pub mod config;
pub mod demo;
pub mod desk;
pub mod error;
pub mod event;
pub mod hash;
pub mod headless;
pub mod jobs;
pub mod mask;
pub mod message;
pub mod policy;
pub mod process;
pub mod prompt;
pub mod repl;
pub mod run;
pub mod sandbox;
pub mod session;
pub mod start;
pub mod suggest;
pub mod tools;
pub mod turn;
pub mod ui;
pub mod update;
