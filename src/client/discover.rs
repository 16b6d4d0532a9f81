//! Finds model servers on this machine, when nothing else is configured.
//!
//! Only loopback is asked, all ports at once, with a short patience, and no key is ever sent. The
//! requests are plain HTTP/1.0 over a socket: no TLS, no proxy, no redirect, bounded in bytes.

pub mod listing;

use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Url;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::profile;
use listing::Listed;

/// How long one request may take.
pub const PATIENCE: Duration = Duration::from_millis(300);
/// The longest answer that is read, in bytes.
const MAX_ANSWER: u64 = 4 << 20;

/// A model server on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The preset that fits it.
    pub provider: &'static str,
    /// Its endpoint.
    pub base_url: String,
    /// What it offers, never empty.
    pub models: Vec<Listed>,
}

impl Server {
    /// The model to use where none is named: a loaded one, else the one with the largest window.
    pub fn usual_model(&self) -> Option<&Listed> {
        let chat = self.models.iter().filter(|model| model.is_chat());
        // `max_by_key` takes the last of equals; the server's first is meant.
        chat.rev().max_by_key(|model| (model.loaded, model.window)).or(self.models.first())
    }
}

/// Where a kind of server listens, and the question that only it answers.
struct Spot {
    provider: &'static str,
    port: u16,
    base: &'static str,
    /// Answered with 200 by this kind of server alone.
    sign: Option<&'static str>,
}

const fn spot(provider: &'static str, port: u16, sign: Option<&'static str>) -> Spot {
    Spot { provider, port, base: "/v1", sign }
}

/// In order of preference.
const SPOTS: &[Spot] = &[
    spot("ollama", 11434, Some("/api/version")),
    spot("lmstudio", 1234, Some("/api/v0/models")),
    spot("llama.cpp", 8080, Some("/props")),
    spot("vllm", 8000, Some("/version")),
    spot("sglang", 30000, Some("/get_model_info")),
    spot("litellm", 4000, Some("/health/liveliness")),
    spot("generic", 1337, None),
    spot("generic", 5001, None),
    Spot { base: "/engines/v1", ..spot("generic", 12434, None) },
];

/// Asks all usual ports, and the port of `ollama_host` (a base URL) where that is on loopback.
pub async fn find(ollama_host: Option<&str>) -> Vec<Server> {
    let moved = ollama_host.and_then(loopback_port);
    let spots = SPOTS.iter().map(|spot| match (spot.provider, moved) {
        ("ollama", Some(port)) => probe(spot, port),
        _ => probe(spot, spot.port),
    });
    join_all(spots).await.into_iter().flatten().collect()
}

/// The server to use: the first that has the wanted model, where one is wanted.
pub fn choose<'a>(servers: &'a [Server], model: Option<&str>) -> Option<&'a Server> {
    let has = |server: &&Server| {
        model.is_some_and(|id| server.models.iter().any(|listed| listed.id == id))
    };
    servers.iter().find(has).or_else(|| servers.iter().find(|s| s.usual_model().is_some()))
}

fn loopback_port(url: &str) -> Option<u16> {
    let url = Url::parse(url).ok()?;
    url.host_str().filter(|host| profile::is_loopback(host))?;
    url.port_or_known_default()
}

async fn probe(spot: &Spot, port: u16) -> Option<Server> {
    let list = get(port, &format!("{}/models", spot.base)).await?;
    let mut models = listing::parse(&list).ok().filter(|models| !models.is_empty())?;
    let is_sure = match spot.sign {
        Some(path) => get(port, path).await.is_some(),
        None => true,
    };
    let provider = if is_sure { spot.provider } else { "generic" };
    let details = profile::by_name(provider).map_or(&[][..], |profile| profile.details);
    for path in details {
        if let Some(answer) = get(port, path).await
            && let Ok(details) = serde_json::from_slice::<Value>(&answer)
        {
            listing::refine(&mut models, &details);
        }
    }
    Some(Server { provider, base_url: format!("http://127.0.0.1:{port}{}", spot.base), models })
}

/// The body of a 200 answer within [`PATIENCE`].
async fn get(port: u16, path: &str) -> Option<Vec<u8>> {
    tokio::time::timeout(PATIENCE, exchange(port, path)).await.ok()?.ok().and_then(|a| body(&a))
}

async fn exchange(port: u16, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let request = format!(
        "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut limited = stream.take(MAX_ANSWER);
    while !is_complete(&answer) && limited.read_buf(&mut answer).await? > 0 {}
    Ok(answer)
}

/// True once the announced length has arrived: not every server closes the connection.
fn is_complete(answer: &[u8]) -> bool {
    let Some((head, body)) = split(answer) else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    length.is_some_and(|length: usize| body.len() >= length)
}

fn body(answer: &[u8]) -> Option<Vec<u8>> {
    let (head, body) = split(answer)?;
    let status = head.split_ascii_whitespace().nth(1)?;
    (head.starts_with("HTTP/1.") && status == "200").then(|| body.to_vec())
}

fn split(answer: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memmem::find(answer, b"\r\n\r\n")?;
    let (head, rest) = answer.split_at_checked(end)?;
    Some((std::str::from_utf8(head).ok()?, rest.get(4..)?))
}

#[cfg(test)]
mod tests;
