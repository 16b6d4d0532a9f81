//! The plain subcommands: those that run no turn. Each makes its text from data that it is given;
//! fetching and printing are the caller's.

pub mod conversation;
pub mod doctor;
pub mod export;
pub mod generate;
pub mod models;
pub mod sessions;
pub mod tools;
