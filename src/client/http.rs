//! The way to a provider: one streamed POST per request, read into the decoder.
//!
//! The only file that talks HTTP to a provider. Every wait in it has a limit, and a cancelled
//! request drops its connection. It decides nothing about retries.

use std::error::Error as StdError;
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::classify::{self, ErrorKind, ProviderError, Response};
use super::decode::{Decoder, Options};
use super::sse::Flow;
use super::think::ThinkTags;
use super::{Failure, Model, Pending, Request};
use crate::mask::{Masks, Stream};
use crate::message::{Delta, Reply};
use crate::session::clock;

/// Bytes of an error body that are read.
const MAX_ERROR_BODY: usize = 256 << 10;
/// How long an error body may take.
const ERROR_BODY_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of a listing of models that are read.
const MAX_LISTING: usize = 16 << 20;

/// How long the client waits for what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// From the request to the first byte of the answer's body.
    pub first_byte: Duration,
    /// Between two pieces of the answer; a keep-alive comment counts as one.
    pub idle: Duration,
}

/// Where requests go and what identifies the user there.
#[derive(Clone)]
pub struct Endpoint {
    /// The base URL, without `/chat/completions` and without a final slash.
    pub base_url: String,
    /// Further headers, the key's among them; marked sensitive where they are secret.
    pub headers: Vec<(String, String)>,
    /// Limits.
    pub timeouts: Timeouts,
    /// Where reasoning may stand inside the content.
    pub think_tags: ThinkTags,
    /// It is on this machine: no proxy is asked.
    pub loopback: bool,
}

/// A file that every request and answer is written to, secrets masked.
pub struct WireLog {
    file: std::fs::File,
    masks: Stream,
}

impl WireLog {
    /// A log in an open file.
    pub fn new(file: std::fs::File, masks: Masks) -> Self {
        Self { file, masks: Stream::new(masks) }
    }

    fn write(&mut self, what: &str, bytes: &[u8]) {
        // What may be the beginning of a secret stands in the next line.
        let bytes = self.masks.push(bytes);
        let text = String::from_utf8_lossy(&bytes);
        // A debug log that cannot be written must not stop the work it describes.
        let _ = writeln!(self.file, "{what} {text}");
    }
}

/// The way to one endpoint, shared by all that is asked there.
#[derive(Clone)]
pub struct Link {
    endpoint: Arc<Endpoint>,
    /// Built when first needed: reading the system's certificates takes milliseconds.
    client: Arc<OnceLock<reqwest::Client>>,
}

impl Link {
    /// No connection is made yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint: Arc::new(endpoint), client: Arc::default() }
    }

    /// Where it leads.
    pub fn base_url(&self) -> &str {
        &self.endpoint.base_url
    }

    fn client(&self) -> Result<&reqwest::Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = build_client(&self.endpoint)?;
        Ok(self.client.get_or_init(|| client))
    }

    /// `GET`, for what a provider tells about its models. The URL is one of this endpoint's host:
    /// the key goes with it.
    pub async fn get(&self, url: &str) -> Result<Vec<u8>, ProviderError> {
        let limit = self.endpoint.timeouts.connect;
        let sending = timeout(limit, self.client()?.get(url).send()).await;
        let response = match sending {
            Err(_) => return Err(silent(limit, url)),
            Ok(Err(error)) => return Err(broken(&error, url)),
            Ok(Ok(response)) => response,
        };
        if response.status() != reqwest::StatusCode::OK {
            return Err(refusal(response, url, &mut None).await);
        }
        Ok(bounded(response, MAX_LISTING).await)
    }
}

/// A provider over HTTP.
pub struct HttpModel {
    link: Link,
    log: Option<WireLog>,
}

impl HttpModel {
    /// A model behind an endpoint; no connection is made yet.
    pub fn new(link: Link, log: Option<WireLog>) -> Self {
        Self { link, log }
    }

    async fn exchange(
        &mut self,
        request: Request,
        on_delta: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, Box<Failure>> {
        let endpoint = &self.link.endpoint;
        let url = format!("{}{}", endpoint.base_url, request.path);
        let no_reply = |error| Box::new(Failure::Provider(error, Reply::default()));
        let client = self.link.client().map_err(no_reply)?;
        write_log(&mut self.log, &format!("> POST {url}"), &request.body);
        let sending = client.post(&url).body(request.body.clone()).send();
        let limits = endpoint.timeouts;
        let response = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Box::new(Failure::Cancelled(Reply::default()))),
            response = timeout(limits.first_byte, sending) => response,
        };
        let response = match response {
            Err(_) => return Err(no_reply(silent(limits.first_byte, &url))),
            Ok(Err(error)) => return Err(no_reply(broken(&error, &url))),
            Ok(Ok(response)) => response,
        };
        write_log(&mut self.log, &format!("< {}", response.status()), b"");
        if response.status() != reqwest::StatusCode::OK {
            return tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Box::new(Failure::Cancelled(Reply::default()))),
                error = refusal(response, &url, &mut self.log) => Err(no_reply(error)),
            };
        }
        let options = Options { think_tags: endpoint.think_tags, url };
        let decoder = Decoder::new(&request.id_prefix, options);
        Body { response, decoder, limits, log: &mut self.log }.read(on_delta, cancel).await
    }
}

impl Model for HttpModel {
    fn complete<'a>(
        &'a mut self,
        request: Request,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
        cancel: &'a CancellationToken,
    ) -> Pending<'a> {
        Box::pin(self.exchange(request, on_delta, cancel))
    }

    fn warm_up(&mut self) {
        // An error shows up again, and is told, with the first request.
        let _ = self.link.client();
    }
}

/// An answer with status 200 that is being read.
struct Body<'a> {
    response: reqwest::Response,
    decoder: Decoder,
    limits: Timeouts,
    log: &'a mut Option<WireLog>,
}

impl Body<'_> {
    async fn read(
        self,
        on_delta: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, Box<Failure>> {
        let Self { response, mut decoder, limits, log } = self;
        let url = response.url().to_string();
        let mut on_delta = |delta| on_delta(delta);
        let mut stream = response.bytes_stream();
        let mut limit = limits.first_byte;
        loop {
            let piece = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    let failed = decoder.fail(silent(limit, &url), &mut |_| {});
                    return Err(Box::new(Failure::Cancelled(failed.partial)));
                }
                piece = timeout(limit, stream.next()) => piece,
            };
            limit = limits.idle;
            let error = match piece {
                Ok(Some(Ok(bytes))) => {
                    write_log(log, "<", &bytes);
                    match decoder.push(&bytes, &mut on_delta) {
                        Flow::More => continue,
                        Flow::Done => break,
                    }
                }
                Ok(None) => break,
                // Nothing is missing once the provider has said that the answer is over.
                _ if decoder.is_finished() => break,
                Ok(Some(Err(error))) => broken(&error, &url),
                Err(_) => silent(limit, &url),
            };
            let failed = decoder.fail(error, &mut on_delta);
            return Err(Box::new(Failure::Provider(failed.error, failed.partial)));
        }
        decoder
            .finish(&mut on_delta)
            .map_err(|failed| Box::new(Failure::Provider(failed.error, failed.partial)))
    }
}

fn build_client(endpoint: &Endpoint) -> Result<reqwest::Client, ProviderError> {
    // An error means that a provider is installed already, which is what is wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    // A compressed stream arrives in lumps.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for (name, value) in &endpoint.headers {
        let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value))
        else {
            let why = format!("the header {name} has characters that HTTP does not allow");
            return Err(ProviderError::new(ErrorKind::InvalidRequest, why));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let builder = reqwest::Client::builder();
    let builder = if endpoint.loopback { builder.no_proxy() } else { builder };
    // Reading the system's certificates is most of what a short run costs; without TLS nobody asks.
    let plain = endpoint.loopback && endpoint.base_url.starts_with("http://");
    let builder = if plain { builder.tls_certs_only([]) } else { builder };
    builder
        .default_headers(headers)
        .user_agent(concat!("xsh/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(endpoint.timeouts.connect)
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .build()
        .map_err(|error| ProviderError::new(ErrorKind::Network, innermost(&error)))
}

/// What an answer with another status than 200 means.
async fn refusal(
    response: reqwest::Response,
    url: &str,
    log: &mut Option<WireLog>,
) -> ProviderError {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = timeout(ERROR_BODY_WITHIN, bounded(response, MAX_ERROR_BODY)).await;
    let body = body.unwrap_or_default();
    write_log(log, "<", &body);
    let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
    let now = clock::timestamp();
    classify::classify_response(&Response { status, url, body: &body, header: &header, now })
}

async fn bounded(response: reqwest::Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(Ok(bytes)) = stream.next().await {
        let room = most - body.len();
        body.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        if body.len() >= most {
            break;
        }
    }
    body
}

fn silent(limit: Duration, url: &str) -> ProviderError {
    let why = format!("nothing came from {url} for {} s", limit.as_secs_f64());
    ProviderError::new(ErrorKind::Timeout, why)
}

/// A fault of the connection, in the words of its innermost cause.
fn broken(error: &reqwest::Error, url: &str) -> ProviderError {
    let cause = innermost(error);
    let lower = cause.to_lowercase();
    let kind = if lower.contains("certificate") || lower.contains("tls") {
        ErrorKind::Tls
    } else if error.is_timeout() {
        ErrorKind::Timeout
    } else if error.is_decode() && is_compression(&lower) {
        ErrorKind::NotAnApi
    } else {
        ErrorKind::Network
    };
    let doing = if error.is_connect() { "cannot connect to" } else { "the connection broke:" };
    ProviderError::new(kind, format!("{doing} {url}: {cause}"))
}

/// True for a body that claims to be compressed and is not. A connection that breaks is reported as
/// a decoding fault too, but may well hold next time.
fn is_compression(cause: &str) -> bool {
    cause.contains("gzip") || cause.contains("deflate")
}

fn innermost(error: &dyn StdError) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn write_log(log: &mut Option<WireLog>, what: &str, bytes: &[u8]) {
    if let Some(log) = log {
        log.write(what, bytes);
    }
}
