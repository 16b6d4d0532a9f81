//! The claim: `xsh -p` takes at most 15 ms longer than the HTTP exchange that it is about.

use super::support::{Place, Server, repeat, text, time, times};

pub(crate) fn run() {
    let server = Server::start(|_| text("an answer"));
    let place = Place::new(&server.base_url);
    let mut bare = Vec::new();
    let samples = repeat(30, || {
        let exchange = time(|| server.ask());
        bare.push(exchange);
        time(|| assert!(place.xsh(&["-p", "hi"]).status().unwrap().success()))
            .saturating_sub(exchange)
    });
    times("headless: the bare exchange", "", bare);
    times("headless: what `xsh -p` adds to it", "15 ms", samples);
}
