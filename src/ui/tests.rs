use std::io;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::{Screen, start};
use crate::error::Error;
use crate::update::Ask;
use crate::update::Update;

/// Notes each write and what it held.
#[derive(Clone, Default)]
struct Recorder {
    writes: Arc<Mutex<Vec<String>>>,
    buffer: String,
    broken: bool,
}

impl Screen for Recorder {
    fn show(&mut self, update: &Update) {
        if let Update::Text(text) = update {
            self.buffer.push_str(text);
        }
    }

    fn error(&mut self, error: &Error) {
        self.buffer.push_str(&error.what);
    }

    fn ask(&mut self, ask: &Ask) {
        self.buffer.push_str(&ask.subject);
    }

    fn tick(&mut self, _now: Instant) -> bool {
        false
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.buffer);
        if !text.is_empty() {
            self.writes.lock().unwrap().push(text);
        }
        if self.broken { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn flush_waits_for_all_and_bursts_cost_few_writes() {
    let recorder = Recorder::default();
    let writes = recorder.writes.clone();
    block_on(async {
        let handle = start(recorder).unwrap();
        for _ in 0..20_000 {
            handle.show(Update::Text("0123456789".into()));
        }
        handle.flush().await;
        let writes = writes.lock().unwrap();
        assert_eq!(writes.iter().map(String::len).sum::<usize>(), 200_000);
        assert!(writes.len() < 200, "{} writes", writes.len());
    });
}

#[test]
fn a_pause_holds_updates_back_but_not_the_question() {
    let recorder = Recorder::default();
    let writes = recorder.writes.clone();
    block_on(async {
        let handle = start(recorder).unwrap();
        handle.show(Update::Text("before".into()));
        handle.pause().await;
        handle.show(Update::Text("after".into()));
        handle.error(Error::failed("question", ""));
        handle.flush().await;
        assert_eq!(*writes.lock().unwrap(), ["before", "question"]);
        handle.resume();
        handle.flush().await;
        assert_eq!(*writes.lock().unwrap(), ["before", "question", "after"]);
    });
}

#[test]
fn the_end_shows_what_is_left() {
    let recorder = Recorder::default();
    let writes = recorder.writes.clone();
    let handle = start(recorder).unwrap();
    handle.show(Update::Text("last".into()));
    drop(handle);
    assert_eq!(*writes.lock().unwrap(), ["last"]);
}

#[test]
fn a_broken_output_is_told_and_survived() {
    block_on(async {
        let handle = start(Recorder { broken: true, ..Recorder::default() }).unwrap();
        assert!(!handle.broken().is_cancelled());
        handle.show(Update::Text("x".into()));
        handle.broken().cancelled().await;
        handle.show(Update::Text("y".into()));
        handle.flush().await;
    });
}

#[test]
fn a_question_is_on_screen_before_an_answer_can_be_given() {
    let recorder = Recorder::default();
    let writes = recorder.writes.clone();
    block_on(async {
        let handle = start(recorder).unwrap();
        handle.show(Update::Text("said before; ".into()));
        handle.pause().await;
        handle.ask(Ask { subject: "rm -rf build".into(), ..Ask::default() }).await;
        assert_eq!(writes.lock().unwrap().concat(), "said before; rm -rf build");
    });
}
