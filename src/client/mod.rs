//! The client: everything between the session's bytes and the provider's answer.
//!
//! Pure parts: [`sse`] (framing), [`decode`] (a response body to a reply; it drives `chunk`,
//! [`assemble`], `calls` and `think`), [`classify`] (what an error means), [`profile`] (how
//! providers differ, as data). Effects: HTTP and discovery.

pub mod assemble;
mod calls;
mod chunk;
pub mod classify;
pub mod decode;
mod details;
pub mod discover;
mod lax;
mod objects;
pub mod profile;
pub mod sse;
mod surrogate;
pub mod think;
