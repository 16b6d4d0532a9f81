//! The way to a provider through proxies and with certificates of one's own.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::assert::assert_says;
use crate::support::env::{Env, KEY, Output};
use crate::support::reply::Reply;

/// A host that no resolver knows: only a proxy can lead to it.
const HOST: &str = "model.invalid";

/// A provider behind TLS, and the certificate of the authority that vouches for it.
struct Secure {
    address: SocketAddr,
    authority: String,
}

impl Secure {
    fn start() -> Self {
        let ca_key = KeyPair::generate().expect("a key");
        let mut ca = CertificateParams::new(Vec::new()).expect("parameters");
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = ca.self_signed(&ca_key).expect("a certificate").pem();
        let key = KeyPair::generate().expect("a key");
        let names = vec![HOST.to_owned(), "localhost".to_owned()];
        let issuer = Issuer::new(ca, ca_key);
        let own = CertificateParams::new(names).expect("parameters");
        let own = own.signed_by(&key, &issuer).expect("a certificate");
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("protocols")
                .with_no_client_auth()
                .with_single_cert(vec![own.der().clone()], secret)
                .expect("a server");
        let address = serve(move |stream| answer(stream, Arc::new(config.clone())));
        Self { address, authority }
    }

    fn trust(&self, env: &mut Env) {
        let file = env.root().join("authority.pem");
        std::fs::write(&file, &self.authority).expect("a file");
        env.set("SSL_CERT_FILE", path(&file));
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Handles each connection in a thread of its own; a client that goes away is no fault.
fn serve(handle: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let handle = Arc::new(handle);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = Arc::clone(&handle);
            thread::spawn(move || handle(stream));
        }
    });
    address
}

fn answer(stream: TcpStream, config: Arc<ServerConfig>) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let head = read_head(&mut stream)?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|text| text.parse().ok()).unwrap_or(0)];
    stream.read_exact(&mut body)?;
    let answer = Reply::text("Safely here.").wire().concat();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&answer)?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).to_lowercase())
}

/// A proxy that leads everything to one address and notes what it was asked for.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn to(target: SocketAddr) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&asked);
        let address = serve(move |mut client| {
            let head = read_head(&mut client)?;
            let first = head.lines().next().unwrap_or_default().to_owned();
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(first);
            let server = TcpStream::connect(target)?;
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
            let up = thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            let _ = io::copy(&mut &server, &mut &client);
            let _ = client.shutdown(Shutdown::Both);
            drop(up);
            Ok(())
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn env(base_url: &str) -> Env {
    let mut env = Env::bare();
    env.config("[retry]\nmax_attempts = 1\n[timeouts]\nconnect = 20\n");
    env.set("XSH_BASE_URL", base_url);
    env.set("XSH_API_KEY", KEY);
    env.set("XSH_MODEL", "m");
    env
}

fn hidden() -> Env {
    env(&format!("https://{HOST}/v1"))
}

fn failed(env: &Env) -> Output {
    env.turn("hi").expect_code(1)
}

#[test]
fn a_proxy_leads_to_the_provider_and_its_own_authority_is_trusted() {
    let secure = Secure::start();
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let proxy = Proxy::to(secure.address);
        let mut env = hidden();
        secure.trust(&mut env);
        env.set(variable, &proxy.url());
        assert_eq!(env.ask("hi").stdout, "Safely here.\n", "{variable}");
        let asked = proxy.asked();
        assert!(
            asked.iter().all(|line| line.starts_with("connect model.invalid:443")),
            "{asked:?}"
        );
        assert!(!asked.is_empty());
    }
}

#[test]
fn an_authority_that_nobody_knows_is_named_as_the_cause() {
    let secure = Secure::start();
    let proxy = Proxy::to(secure.address);
    let mut env = hidden();
    env.set("HTTPS_PROXY", &proxy.url());
    let output = failed(&env);
    assert_says(&output.stderr, &["error:", HOST, "certificate", "help:", "SSL_CERT_FILE"]);
}

#[test]
fn hosts_that_need_no_proxy_are_asked_directly() {
    let secure = Secure::start();
    for variable in ["NO_PROXY", "no_proxy"] {
        let proxy = Proxy::to(secure.address);
        let mut env = hidden();
        secure.trust(&mut env);
        env.set("HTTPS_PROXY", &proxy.url());
        env.set(variable, "other.invalid,model.invalid");
        let output = failed(&env);
        assert_says(&output.stderr, &["error:", "cannot connect", HOST]);
        assert_eq!(proxy.asked(), Vec::<String>::new(), "{variable}");
    }
}

#[test]
fn this_machine_is_asked_directly_whatever_the_proxy() {
    let secure = Secure::start();
    let proxy = Proxy::to(secure.address);
    let mut env = env(&format!("https://localhost:{}/v1", secure.address.port()));
    secure.trust(&mut env);
    env.set("HTTPS_PROXY", &proxy.url());
    assert_eq!(env.ask("hi").stdout, "Safely here.\n");
    assert_eq!(proxy.asked(), Vec::<String>::new());
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let mut env = hidden();
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    env.set("HTTPS_PROXY", &format!("http://{address}"));
    assert_says(&failed(&env).stderr, &["error:", "cannot connect", "help:", "proxy"]);
}
