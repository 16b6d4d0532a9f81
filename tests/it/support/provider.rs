//! A scripted chat-completions server on loopback, as strict as the strictest real one.
//!
//! Every request is checked by [`super::strict`]; a fault is answered with a 400, noted, and fails
//! the test when the provider is dropped. One connection carries one request.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::http::{self, Request};
use super::reply::{End, Reply};
use super::{strict, wait_until};

/// What is answered: a list, one by one, or a function of the request.
type Script = Box<dyn FnMut(&Request) -> Option<Reply> + Send>;

/// The server. Dropping it stops it and fails the test if it was sent anything unsound.
pub struct Provider {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    other_paths: Mutex<Vec<String>>,
    told: Mutex<BTreeMap<String, Value>>,
    faults: Mutex<Vec<String>>,
    /// Connections that the client closed while the server was silent.
    hangups: AtomicUsize,
    stopped: AtomicBool,
}

impl Provider {
    /// Answers with these, in order.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        Self::serve(Box::new(move |_| replies.pop_front()))
    }

    /// Answers with what the function makes of each request.
    pub fn answering(mut answer: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::serve(Box::new(move |request| Some(answer(request))))
    }

    fn serve(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            requests: Mutex::default(),
            other_paths: Mutex::default(),
            told: Mutex::default(),
            faults: Mutex::default(),
            hangups: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let server = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &server));
        Self { shared, address }
    }

    /// The address with `/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All chat requests so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// The chat request number `index`, from 0.
    #[track_caller]
    pub fn request(&self, index: usize) -> Request {
        let requests = self.requests();
        let count = requests.len();
        requests.into_iter().nth(index).unwrap_or_else(|| panic!("only {count} requests came"))
    }

    /// The last chat request.
    #[track_caller]
    pub fn last_request(&self) -> Request {
        self.requests().pop().expect("a request")
    }

    /// Paths of what else was asked for.
    pub fn other_paths(&self) -> Vec<String> {
        lock(&self.shared.other_paths).clone()
    }

    /// Answers this path with this from here on.
    #[must_use]
    pub fn telling(self, path: &str, answer: Value) -> Self {
        lock(&self.shared.told).insert(path.to_owned(), answer);
        self
    }

    /// Waits until so many chat requests have come, and gives the last of them.
    pub fn wait_for_requests(&self, count: usize) -> Request {
        wait_until(&format!("request {count}"), || self.requests().get(count - 1).cloned())
    }

    /// Waits until the client has closed a connection on which the server was silent.
    pub fn wait_for_hangup(&self) {
        wait_until("the client to hang up", || {
            (self.shared.hangups.load(Ordering::SeqCst) > 0).then_some(())
        });
    }

    /// The faults so far; they no longer fail the test.
    pub fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared.faults))
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let faults = self.take_faults();
        if !thread::panicking() {
            assert!(faults.is_empty(), "the provider was sent unsound requests: {faults:#?}");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        thread::spawn(move || answer(stream, &shared));
    }
}

/// Serves one connection. A client that goes away in the middle is no fault.
fn answer(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let Ok(request) = http::read_request(&mut stream) else { return };
    let told = lock(&shared.told).get(&request.path).cloned();
    if let Some(answer) = told {
        let _ = tell(&mut stream, &answer.to_string());
        return;
    }
    let reply = choose(request, shared);
    let _ = send(&mut stream, &reply, shared);
}

fn choose(request: Request, shared: &Shared) -> Reply {
    if !request.path.ends_with("/chat/completions") {
        return other(&request, shared);
    }
    let faults = strict::faults(&request.json);
    let reply = if faults.is_empty() {
        lock(&shared.script)(&request)
    } else {
        lock(&shared.faults).extend(faults.iter().cloned());
        Some(Reply::error(400, &faults.join("; ")))
    };
    lock(&shared.requests).push(request);
    reply.unwrap_or_else(|| {
        lock(&shared.faults).push("a request after the script was exhausted".into());
        Reply::error(500, "script exhausted")
    })
}

/// An answer with its length, for clients that know no chunks.
fn tell(stream: &mut TcpStream, body: &str) -> io::Result<()> {
    let length = ("Content-Length".to_owned(), body.len().to_string());
    http::write_head(stream, 200, &[length])?;
    stream.write_all(body.as_bytes())
}

fn other(request: &Request, shared: &Shared) -> Reply {
    lock(&shared.other_paths).push(request.path.clone());
    if request.method == "GET" && request.path == "/v1/models" {
        let model = |id: &str| json!({"id": id, "object": "model", "created": 1, "owned_by": "t"});
        return Reply::json(200, json!({"object": "list", "data": [model("test-model")]}));
    }
    Reply::error(404, "no such path")
}

fn send(stream: &mut TcpStream, reply: &Reply, shared: &Shared) -> io::Result<()> {
    thread::sleep(reply.delay);
    if !reply.silent {
        let mut headers = reply.headers.clone();
        headers.push(("Transfer-Encoding".into(), "chunked".into()));
        http::write_head(stream, reply.status, &headers)?;
        for piece in reply.wire() {
            http::write_chunk(stream, &piece)?;
            thread::sleep(reply.pause);
        }
    }
    match reply.end {
        End::Polite => {
            http::finish(stream);
            http::write_chunk(stream, b"")?;
        }
        End::Dropped => http::finish(stream),
        // What was sent must arrive before the reset overtakes it.
        End::Reset => thread::sleep(Duration::from_millis(50)),
        End::Stall => stall(stream, shared),
    }
    Ok(())
}

/// Keeps the connection open until the client closes it or the test ends.
fn stall(stream: &mut TcpStream, shared: &Shared) {
    http::finish(stream);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
    while !shared.stopped.load(Ordering::SeqCst) {
        match stream.read(&mut [0]) {
            Ok(0) => break,
            Err(error) if !is_timeout(&error) => break,
            Ok(_) | Err(_) => {}
        }
    }
    shared.hangups.fetch_add(1, Ordering::SeqCst);
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
