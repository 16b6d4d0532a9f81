//! The client: everything between the session's bytes and the provider's answer.
//!
//! Pure parts: [`request`] (messages to bytes), [`sse`] (framing), [`textcalls`] (calls in the
//! wrong place), [`decode`] (a response body to a
//! reply; it drives `chunk`, [`assemble`], `calls` and [`think`]), [`classify`] (what an error
//! means), [`retry`] (when to ask again), [`profile`] (how providers differ, as data), [`negotiate`]
//! (what to change about a refused request), [`schemas`] (tools as a provider takes them). Effects:
//! [`http`], [`discover`], [`learned`], [`windows`].

pub mod assemble;
mod calls;
mod chunk;
pub mod classify;
pub mod decode;
mod details;
pub mod discover;
pub mod http;
mod lax;
pub mod learned;
pub mod negotiate;
mod objects;
pub mod profile;
pub mod request;
pub mod retry;
pub mod schemas;
pub mod sse;
mod surrogate;
pub mod textcalls;
pub mod think;
pub mod windows;

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::message::{Delta, Reply};
use classify::ProviderError;

/// One request to a model.
#[derive(Clone, Debug)]
pub struct Request {
    /// The body; a retry sends the very same bytes.
    pub body: Bytes,
    /// Where ids for calls that came without one begin; unique within the session.
    pub id_prefix: String,
    /// The path below the base URL.
    pub path: &'static str,
}

/// Why there is no reply.
#[derive(Debug)]
pub enum Failure {
    /// The user interrupted; what had arrived.
    Cancelled(Reply),
    /// The provider or the way to it failed; what had arrived.
    Provider(ProviderError, Reply),
}

/// A reply that is on its way.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<Reply, Box<Failure>>> + Send + 'a>>;

/// Something that answers requests: a provider over HTTP, or a script.
pub trait Model: Send {
    /// Sends one request and streams the reply. Dropping the future drops the connection.
    fn complete<'a>(
        &'a mut self,
        request: Request,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
        cancel: &'a CancellationToken,
    ) -> Pending<'a>;

    /// Prepares what the first request needs and costs time, while the user is still typing.
    fn warm_up(&mut self) {}
}
