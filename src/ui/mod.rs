//! What the user sees. The core sends [`Update`]s and goes on; one thread owns the screen and shows
//! them, so a slow terminal never holds up the work.
//!
//! Three screens: [`terminal`] for a person, [`plain`] for `-p`, [`json`] for programs. All they
//! write goes through [`sanitize`]. Nothing here decides what happens, reads keys or reads the
//! environment.

pub mod diff;
pub mod figures;
pub mod json;
pub mod out;
pub mod plain;
pub mod question;
pub mod sanitize;
mod status;
pub mod style;
pub mod terminal;

#[cfg(test)]
pub(crate) mod script;

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::update::{Ask, Update};

/// Shortest time between two writes: what arrives meanwhile is written together.
const FRAME: Duration = Duration::from_millis(16);
/// How often moving parts are drawn.
const TICK: Duration = Duration::from_millis(100);
/// Updates taken in at once.
const BATCH: usize = 4096;
/// How long a screen that was given up may take for its last words.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Something that shows updates. It collects text, and writes it when told to, so that a burst of
/// small updates costs one write.
pub trait Screen: Send {
    /// Takes one update in.
    fn show(&mut self, update: &Update);
    /// Takes in an error of the program around the core.
    fn error(&mut self, error: &Error);
    /// Shows what the user is asked to allow.
    fn ask(&mut self, _ask: &Ask) {}
    /// Draws the parts that move with time. True while there are any.
    fn tick(&mut self, _now: Instant) -> bool {
        false
    }
    /// Leaves the cursor at the start of an empty line, with nothing moving.
    fn rest(&mut self) {}
    /// Writes what was collected.
    fn flush(&mut self) -> io::Result<()>;
}

/// What the shell tells the screen's thread, apart from updates.
enum Control {
    Flush(oneshot::Sender<()>),
    Pause(oneshot::Sender<()>),
    Resume,
    Error(Error),
    Ask(Ask, oneshot::Sender<()>),
    Close,
}

/// The way to a screen on its thread.
#[derive(Debug)]
pub struct Handle {
    updates: mpsc::UnboundedSender<Update>,
    controls: mpsc::UnboundedSender<Control>,
    broken: CancellationToken,
    fault: Arc<OnceLock<io::Error>>,
    given_up: AtomicBool,
    thread: Option<thread::JoinHandle<()>>,
}

/// Starts the thread that owns the screen. Fails where the system gives no thread.
pub fn start(screen: impl Screen + 'static) -> Result<Handle, Error> {
    let (updates, updates_in) = mpsc::unbounded_channel();
    let (controls, controls_in) = mpsc::unbounded_channel();
    let broken = CancellationToken::new();
    let fault = Arc::new(OnceLock::new());
    let failed = |error: io::Error| Error::failed("cannot start the screen", error);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
    let worker = Worker {
        screen: Box::new(screen),
        updates: updates_in,
        broken: broken.clone(),
        fault: fault.clone(),
        paused: false,
        moving: false,
        next_write: Instant::now(),
    };
    let thread = thread::Builder::new()
        .name("screen".into())
        .spawn(move || runtime.block_on(worker.run(controls_in)))
        .map_err(failed)?;
    let given_up = AtomicBool::new(false);
    Ok(Handle { updates, controls, broken, fault, given_up, thread: Some(thread) })
}

impl Handle {
    /// Where the core sends what happens.
    pub fn updates(&self) -> mpsc::UnboundedSender<Update> {
        self.updates.clone()
    }

    /// Shows one update.
    pub fn show(&self, update: Update) {
        let _ = self.updates.send(update);
    }

    /// Shows an error, after everything sent so far.
    pub fn error(&self, error: Error) {
        let _ = self.controls.send(Control::Error(error));
    }

    /// Shows what the user is asked to allow, after everything sent so far, and waits until it is
    /// on screen: nobody may answer what cannot be seen yet.
    pub async fn ask(&self, ask: Ask) {
        self.wait_for(|done| Control::Ask(ask, done)).await;
    }

    /// Waits until everything sent so far is on screen.
    pub async fn flush(&self) {
        self.wait_for(Control::Flush).await;
    }

    /// Like [`Handle::flush`]; then nothing more is drawn until [`Handle::resume`], because
    /// someone else (the line editor) uses the terminal.
    pub async fn pause(&self) {
        self.wait_for(Control::Pause).await;
    }

    /// Goes on after a pause.
    pub fn resume(&self) {
        let _ = self.controls.send(Control::Resume);
    }

    /// Cancelled once the output cannot be written any more.
    pub fn broken(&self) -> &CancellationToken {
        &self.broken
    }

    /// Why the output cannot be written, where that is a fault: a reader that has gone is none.
    pub fn fault(&self) -> Option<&io::Error> {
        self.fault.get().filter(|error| !is_reader_gone(error))
    }

    /// The end of the program does not wait for an output that takes nothing.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    async fn wait_for(&self, control: impl FnOnce(oneshot::Sender<()>) -> Control) {
        let (done, wait) = oneshot::channel();
        if self.controls.send(control(done)).is_ok() {
            let _ = wait.await;
        }
    }
}

impl Drop for Handle {
    /// Shows what is left and ends the thread.
    fn drop(&mut self) {
        let _ = self.controls.send(Control::Close);
        let Some(thread) = self.thread.take() else { return };
        let until = Instant::now() + LAST_WORDS;
        while self.given_up.load(Ordering::Relaxed) && !thread.is_finished() {
            if Instant::now() >= until {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = thread.join();
    }
}

/// True for a write error that only says that nobody reads any more: `| head -1` ends quietly.
pub(crate) fn is_reader_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// The thread's side.
struct Worker {
    screen: Box<dyn Screen>,
    updates: mpsc::UnboundedReceiver<Update>,
    broken: CancellationToken,
    fault: Arc<OnceLock<io::Error>>,
    paused: bool,
    moving: bool,
    next_write: Instant,
}

impl Worker {
    async fn run(mut self, mut controls: mpsc::UnboundedReceiver<Control>) {
        let mut batch = Vec::new();
        loop {
            let (paused, moving, next_write) = (self.paused, self.moving, self.next_write);
            let more = async {
                sleep_until(next_write).await;
                self.updates.recv_many(&mut batch, BATCH).await
            };
            tokio::select! {
                biased;
                control = controls.recv() => match control {
                    None | Some(Control::Close) => break,
                    Some(control) => {
                        batch.drain(..).for_each(|update| self.screen.show(&update));
                        self.control(control);
                    }
                },
                _ = more, if !paused => {
                    batch.drain(..).for_each(|update| self.screen.show(&update));
                    self.write();
                }
                () = sleep(TICK), if moving && !paused => self.write(),
            }
        }
        self.drain();
        self.screen.rest();
        self.flush();
    }

    fn control(&mut self, control: Control) {
        if !self.paused {
            self.drain();
        }
        match control {
            Control::Flush(done) => {
                self.write();
                let _ = done.send(());
            }
            Control::Pause(done) => {
                self.screen.rest();
                self.flush();
                self.paused = true;
                let _ = done.send(());
            }
            Control::Resume => {
                self.paused = false;
                self.drain();
                self.write();
            }
            Control::Error(error) => {
                self.screen.error(&error);
                self.flush();
            }
            Control::Ask(ask, done) => {
                self.screen.ask(&ask);
                self.flush();
                let _ = done.send(());
            }
            Control::Close => {}
        }
    }

    /// Shows what is in the channel now.
    fn drain(&mut self) {
        while let Ok(update) = self.updates.try_recv() {
            self.screen.show(&update);
        }
    }

    fn write(&mut self) {
        let now = Instant::now();
        self.next_write = now + FRAME;
        if !self.paused {
            self.moving = self.screen.tick(now);
        }
        self.flush();
    }

    fn flush(&mut self) {
        if let Err(error) = self.screen.flush() {
            // The first one tells why; those after it are its consequences.
            let _ = self.fault.set(error);
            self.broken.cancel();
        }
    }
}

/// Writes and empties the buffer. Patient with an output that another program has set to
/// non-blocking; every other failure is the caller's to tell.
pub(crate) fn write_out(out: &mut impl Write, buffer: &mut String) -> io::Result<()> {
    let text = std::mem::take(buffer);
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match out.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error),
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests;
