//! As much HTTP/1.1 as the test server needs: reading one request, writing one response.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// When it was complete.
    pub at: Instant,
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The body, or null where it is no JSON.
    pub json: Value,
}

#[derive(Deserialize)]
struct RawBody<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn model(&self) -> &str {
        self.json["model"].as_str().unwrap_or_default()
    }

    pub fn messages(&self) -> &[Value] {
        self.json["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The text of the system message.
    pub fn system(&self) -> &str {
        self.messages().first().and_then(|first| first["content"].as_str()).unwrap_or_default()
    }

    /// The roles after the system message, joined with blanks.
    pub fn roles(&self) -> String {
        let roles = self.messages().iter().skip(1).filter_map(|message| message["role"].as_str());
        roles.collect::<Vec<_>>().join(" ")
    }

    /// The content of the last message.
    pub fn last(&self) -> &str {
        self.messages().last().and_then(|last| last["content"].as_str()).unwrap_or_default()
    }

    /// What the model is told about this call.
    #[track_caller]
    pub fn result(&self, call_id: &str) -> &str {
        let found = self.messages().iter().find(|message| message["tool_call_id"] == call_id);
        let content = found.and_then(|message| message["content"].as_str());
        content.unwrap_or_else(|| panic!("no result for {call_id} in {:#}", self.json["messages"]))
    }

    /// Call ids of the tool messages, in order.
    pub fn result_ids(&self) -> Vec<&str> {
        self.messages().iter().filter_map(|message| message["tool_call_id"].as_str()).collect()
    }

    /// The names of the offered tools.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.json["tools"].as_array().into_iter().flatten();
        tools.filter_map(|tool| tool["function"]["name"].as_str()).collect()
    }

    /// Content of all messages that hold `part`.
    pub fn mentions(&self, part: &str) -> usize {
        let holds =
            |message: &&Value| message["content"].as_str().is_some_and(|t| t.contains(part));
        self.messages().iter().filter(holds).count()
    }

    /// The bytes of the messages as sent, without the closing bracket: what a longer history must
    /// begin with.
    pub fn message_bytes(&self) -> &str {
        let raw: RawBody<'_> = serde_json::from_slice(&self.body).expect("a chat request");
        raw.messages.get().strip_suffix(']').expect("an array")
    }
}

/// Reads one request. The last byte of the body stays in the socket: closing a socket with unread
/// bytes makes the kernel send a reset, which is how [`reset`] works; [`finish`] takes it out.
pub fn read_request(stream: &mut TcpStream) -> io::Result<Request> {
    let head = read_head(stream)?;
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<_> = lines.filter_map(header).collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let body = read_body(stream, length)?;
    let json = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Request { at: Instant::now(), method, path, headers, body, json })
}

fn header(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    Some((name.to_lowercase(), value.trim().to_owned()))
}

fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn read_body(stream: &mut TcpStream, length: usize) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    if let Some((last, rest)) = body.split_last_mut() {
        stream.read_exact(rest)?;
        stream.peek(std::slice::from_mut(last))?;
    }
    Ok(body)
}

/// Takes the byte out that [`read_request`] left, so that closing is polite.
pub fn finish(stream: &mut TcpStream) {
    let _ = stream.set_nonblocking(true);
    let _ = stream.read(&mut [0]);
    let _ = stream.set_nonblocking(false);
}

/// Writes the status line and the headers.
pub fn write_head(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())
}

/// Writes one chunk of a chunked body.
pub fn write_chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend(bytes);
    chunk.extend(b"\r\n");
    stream.write_all(&chunk)
}
