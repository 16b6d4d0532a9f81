//! The terminal's modes: how they were, how they are while a turn runs, and back again.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr,
    tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

/// Typed-ahead bytes that are kept at most.
const TYPED_MAX: usize = 64 * 1024;

/// How long a stop may take to reach every thread. One that nobody could continue does not come.
const STOP_WITHIN: Duration = Duration::from_millis(50);

/// What the terminal is used for.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// A [`Quiet`] is held.
    quiet: bool,
    /// The line editor reads.
    reading: bool,
}

/// The terminal as it was found; nothing where stdin is not one.
#[derive(Debug)]
pub struct Tty {
    original: Option<Termios>,
    used: Mutex<Use>,
}

impl Tty {
    /// Notes how the terminal is now.
    pub fn new() -> Self {
        Self { original: tcgetattr(io::stdin()).ok(), used: Mutex::default() }
    }

    /// Puts the terminal's own modes back as they were found.
    pub fn restore_modes(&self) {
        let Some(original) = &self.original else { return };
        let modes = |tty: &Termios| (tty.local_modes, tty.input_modes, tty.output_modes);
        if tcgetattr(io::stdin()).is_ok_and(|now| modes(&now) != modes(original)) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, original);
        }
    }

    /// Puts the terminal back as it was found, in the middle of a read; a rich one has set modes of
    /// the screen too.
    pub fn restore(&self, rich: bool) {
        if self.original.is_none() {
            return;
        }
        self.restore_modes();
        if rich {
            let mut out = io::stdout();
            let _ = out.write_all(b"\x1b[?2004l\r\n").and_then(|()| out.flush());
        }
    }

    /// Typed keys are not shown until the guard goes, but wait for the next prompt as they are.
    /// Ctrl-C and Ctrl-Z keep their meaning, but what was typed before them is not dropped.
    pub fn quiet(self: &Arc<Self>) -> Quiet {
        self.change(|used| used.quiet = true);
        Quiet { tty: Arc::clone(self) }
    }

    /// Runs a read of the line editor, which sets modes of its own.
    pub(super) fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        self.used().reading = true;
        let done = read();
        self.change(|used| used.reading = false);
        done
    }

    /// Stops the program like Ctrl-Z in any other, with the terminal as it was found. Comes back when
    /// the shell continues it, or soon where there is no shell that could.
    pub(super) fn stop(&self) {
        if let Some(original) = &self.original {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, original);
        }
        let _ = kill_current_process_group(Signal::TSTP);
        thread::sleep(STOP_WITHIN);
        self.change(|_| ());
    }

    /// Sets the modes again whenever the program was stopped and goes on: a shell has set its own.
    pub(super) async fn keep_modes(self: Arc<Self>) {
        let Ok(mut continued) = signal(SignalKind::from_raw(Signal::CONT.as_raw())) else { return };
        while continued.recv().await.is_some() {
            self.change(|_| ());
        }
    }

    /// Changes what the terminal is used for, and sets the modes for it.
    fn change(&self, change: impl FnOnce(&mut Use)) {
        let mut used = self.used();
        change(&mut used);
        let Some(original) = &self.original else { return };
        let mut modes = original.clone();
        match *used {
            Use { reading: true, .. } => raw(&mut modes),
            Use { quiet: true, .. } => {
                modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
                modes.local_modes.insert(LocalModes::NOFLSH);
                modes.input_modes.remove(InputModes::ICRNL);
            }
            Use { .. } => {}
        }
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }

    fn used(&self) -> MutexGuard<'_, Use> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was typed and not yet read.
    pub(super) fn has_typed(&self) -> bool {
        self.original.is_some() && readable()
    }

    /// Takes out what was typed and not yet read. Empty where stdin is not a terminal.
    pub(super) fn typed(&self) -> String {
        let mut bytes = Vec::new();
        let mut chunk = [0; 1024];
        while self.original.is_some() && bytes.len() < TYPED_MAX && readable() {
            match rustix::io::read(io::stdin(), &mut chunk) {
                Ok(count) if count > 0 => bytes.extend(chunk.iter().take(count)),
                _ => break,
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Default for Tty {
    fn default() -> Self {
        Self::new()
    }
}

fn readable() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let at_once = Timespec::try_from(Duration::ZERO).ok();
    matches!(poll(&mut fds, at_once.as_ref()), Ok(count) if count > 0)
}

/// The modes that the line editor sets.
fn raw(modes: &mut Termios) {
    modes.input_modes.remove(
        InputModes::BRKINT
            | InputModes::ICRNL
            | InputModes::INPCK
            | InputModes::ISTRIP
            | InputModes::IXON,
    );
    modes.control_modes.insert(ControlModes::CS8);
    modes
        .local_modes
        .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
}

/// See [`Tty::quiet`].
#[must_use]
#[derive(Debug)]
pub struct Quiet {
    tty: Arc<Tty>,
}

impl Drop for Quiet {
    fn drop(&mut self) {
        self.tty.change(|used| used.quiet = false);
    }
}
