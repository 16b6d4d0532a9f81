use std::collections::BTreeMap;

use tokio::net::TcpListener;

use super::*;

/// A server that answers these paths, and the port it listens on. `close` ends each connection
/// after the answer; without it the client has to go by the length.
async fn server(answers: &[(&'static str, &str)], close: bool) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers: BTreeMap<_, _> =
        answers.iter().map(|(path, body)| (*path, (*body).to_owned())).collect();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            assert!(!request.to_ascii_lowercase().contains("authorization"), "{request}");
            let path = request.split(' ').nth(1).unwrap_or_default();
            let answer = match answers.get(path) {
                Some(body) => {
                    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
                }
                None => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
            };
            stream.write_all(answer.as_bytes()).await.unwrap();
            if !close {
                open.push(stream);
            }
        }
    });
    port
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn ollama() -> &'static Spot {
    &SPOTS[0]
}

const MODELS: &str = r#"{"data":[{"id":"tiny"},{"id":"big"}]}"#;

#[test]
fn a_server_shows_its_kind_its_models_and_what_is_loaded() {
    for close in [true, false] {
        let found = run(async {
            let ps = r#"{"models":[{"name":"big","context_length":4096}]}"#;
            let answers = [("/v1/models", MODELS), ("/api/version", "{}"), ("/api/ps", ps)];
            let port = server(&answers, close).await;
            probe(ollama(), port).await.unwrap()
        });
        assert_eq!(found.provider, "ollama");
        assert!(found.base_url.starts_with("http://127.0.0.1:") && found.base_url.ends_with("/v1"));
        let usual = found.usual_model().unwrap();
        assert_eq!((usual.id.as_str(), usual.window, usual.loaded), ("big", Some(4096), true));
    }
}

#[test]
fn something_else_on_the_port_is_not_mistaken() {
    let probed = |answers: &'static [(&'static str, &'static str)]| {
        run(async { probe(ollama(), server(answers, true).await).await })
    };
    assert_eq!(probed(&[]), None);
    assert_eq!(probed(&[("/v1/models", "<html>hello</html>")]), None);
    assert_eq!(probed(&[("/v1/models", r#"{"data":[]}"#)]), None);
    assert_eq!(probed(&[("/api/version", "{}")]), None);
    let other = probed(&[("/v1/models", MODELS)]).unwrap();
    assert_eq!((other.provider, other.models.len()), ("generic", 2));
}

#[test]
fn silence_and_closed_ports_are_no_servers() {
    let found = run(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let silent = probe(ollama(), port).await;
        drop(listener);
        (silent, probe(ollama(), port).await)
    });
    assert_eq!(found, (None, None));
}

#[test]
fn ollama_is_looked_for_where_its_variable_says_but_only_here() {
    let found = run(async {
        let port = server(&[("/v1/models", MODELS), ("/api/version", "{}")], true).await;
        find(Some(&format!("http://127.0.0.1:{port}/v1"))).await
    });
    assert_eq!(found.first().map(|server| server.provider), Some("ollama"));
    assert_eq!(loopback_port("http://box:11434/v1"), None);
}

#[test]
fn which_server_and_which_model() {
    let listed = |id: &str, window, loaded| Listed {
        id: id.to_owned(),
        window,
        loaded,
        ..Listed::default()
    };
    let server =
        |base: &str, models| Server { provider: "generic", base_url: base.to_owned(), models };
    let cases = [
        (vec![listed("a", None, false), listed("b", None, false)], "a"),
        (vec![listed("a", Some(9), false), listed("b", Some(10), false)], "b"),
        (vec![listed("a", Some(9), false), listed("b", Some(1), true)], "b"),
        (vec![listed("nomic-embed-text", Some(9), true), listed("b", None, false)], "b"),
    ];
    for (models, expected) in cases {
        assert_eq!(server("x", models).usual_model().unwrap().id, expected);
    }
    let servers = [
        server("one", vec![listed("a", None, false)]),
        server("two", vec![listed("b", None, false)]),
    ];
    let chosen = |model| choose(&servers, model).map(|server| server.base_url.as_str());
    assert_eq!(chosen(None), Some("one"));
    assert_eq!(chosen(Some("b")), Some("two"));
    assert_eq!(chosen(Some("z")), Some("one"));
    assert_eq!(choose(&[], None), None);
}
