//! The terminal's modes: how they were, how they are while a turn runs, and back again.

use std::io::{self, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Typed-ahead bytes that are kept at most.
const TYPED_MAX: usize = 64 * 1024;

/// The terminal as it was found; nothing where stdin is not one.
#[derive(Debug)]
pub struct Tty {
    original: Option<Termios>,
}

impl Tty {
    /// Notes how the terminal is now.
    pub fn new() -> Self {
        Self { original: tcgetattr(io::stdin()).ok() }
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
    pub fn quiet(&self) -> Quiet {
        if let Some(original) = &self.original {
            let mut quiet = original.clone();
            quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            quiet.local_modes.insert(LocalModes::NOFLSH);
            quiet.input_modes.remove(InputModes::ICRNL);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
        }
        Quiet { original: self.original.clone() }
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

/// See [`Tty::quiet`].
#[must_use]
#[derive(Debug)]
pub struct Quiet {
    original: Option<Termios>,
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(original) = &self.original {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, original);
        }
    }
}
