//! The client: everything between the session's bytes and the provider's answer.
//!
//! Pure parts: [`sse`] (framing), [`assemble`] (chunks to a reply), [`classify`] (what an error
//! means), [`profile`] (how providers differ, as data). Effects: HTTP and discovery.

pub mod assemble;
pub mod classify;
pub mod discover;
pub mod profile;
pub mod sse;
