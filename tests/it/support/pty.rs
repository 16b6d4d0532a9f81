//! xsh in a pseudo-terminal, seen through a terminal emulator.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::env::Env;
use super::{PATIENCE, wait_until};

/// Keys that are more than a character.
pub mod key {
    pub const ENTER: &str = "\r";
    pub const CTRL_C: &str = "\x03";
    pub const CTRL_Z: &str = "\x1a";
    pub const CTRL_D: &str = "\x04";
    pub const UP: &str = "\x1b[A";
    pub const LEFT: &str = "\x1b[D";
    pub const TAB: &str = "\t";
    pub const BACKSPACE: &str = "\x7f";
    pub const PASTE_BEGIN: &str = "\x1b[200~";
    pub const PASTE_END: &str = "\x1b[201~";
}

/// A terminal with a program in it.
pub struct Pty {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Keys,
    seen: Arc<Mutex<Seen>>,
}

type Keys = Arc<Mutex<Box<dyn Write + Send>>>;

/// Modes that a program may switch on and must switch off again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Modes {
    pub bracketed_paste: bool,
    pub hidden_cursor: bool,
    pub alternate_screen: bool,
}

/// What came out.
struct Seen {
    emulator: vt100::Parser,
    raw: Vec<u8>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

impl Pty {
    /// `xsh` in a terminal of 40 rows and 100 columns.
    pub fn xsh(env: &Env, args: &[&str]) -> Self {
        Self::xsh_sized(env, args, (40, 100))
    }

    pub fn xsh_sized(env: &Env, args: &[&str], (rows, cols): (u16, u16)) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_xsh"));
        command.args(args);
        Self::start(env, command, (rows, cols))
    }

    /// `xsh` under a shell that afterwards prints `exit=CODE` and whether the terminal's modes are
    /// `kept` or `changed`.
    pub fn xsh_wrapped(env: &Env, args: &[&str]) -> Self {
        let mut command = CommandBuilder::new("sh");
        let script = r#"trap : INT TERM HUP
            before=$(stty -g); "$@"; code=$?; after=$(stty -g)
            [ "$before" = "$after" ] && modes=kept || modes="changed $before $after"
            echo "exit=$code modes=$modes""#;
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_xsh")]);
        command.args(args);
        Self::start(env, command, (40, 100))
    }

    /// A shell with job control that has started `xsh`; none where there is no bash, which is the one
    /// that sets modes of its own.
    pub fn xsh_in_shell(env: &Env) -> Option<Self> {
        if !Path::new("/bin/bash").exists() {
            return None;
        }
        let mut command = CommandBuilder::new("/bin/bash");
        command.args(["--norc", "--noprofile", "-i"]);
        let pty = Self::start(env, command, (40, 100));
        pty.wait_for("bash-");
        pty.line(env!("CARGO_BIN_EXE_xsh"));
        Some(pty)
    }

    fn start(env: &Env, mut command: CommandBuilder, (rows, cols): (u16, u16)) -> Self {
        command.env_clear();
        for (name, value) in env.vars() {
            command.env(name, value);
        }
        command.cwd(env.workspace());
        let pair = native_pty_system().openpty(size(rows, cols)).expect("a terminal");
        let child = pair.slave.spawn_command(command).expect("a program in the terminal");
        let reader = pair.master.try_clone_reader().expect("a reader");
        let keys: Keys = Arc::new(Mutex::new(pair.master.take_writer().expect("a writer")));
        let emulator = vt100::Parser::new(rows, cols, 1000);
        let seen = Arc::new(Mutex::new(Seen { emulator, raw: Vec::new() }));
        let (sink, answers) = (Arc::clone(&seen), Arc::clone(&keys));
        thread::spawn(move || watch(reader, &sink, &answers));
        Self { master: pair.master, child, keys, seen }
    }

    /// Types text or keys.
    pub fn send(&self, text: &str) {
        let mut keys = lock(&self.keys);
        keys.write_all(text.as_bytes()).and_then(|()| keys.flush()).expect("the terminal is open");
    }

    /// Types a line and presses Enter.
    pub fn line(&self, text: &str) {
        self.send(text);
        self.send(key::ENTER);
    }

    /// The screen's text.
    pub fn screen(&self) -> String {
        lock(&self.seen).emulator.screen().contents()
    }

    /// All bytes that came out so far.
    pub fn raw(&self) -> Vec<u8> {
        lock(&self.seen).raw.clone()
    }

    /// All text that came out so far, escape codes included.
    pub fn raw_text(&self) -> String {
        String::from_utf8_lossy(&self.raw()).into_owned()
    }

    /// Row and column of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        lock(&self.seen).emulator.screen().cursor_position()
    }

    pub fn modes(&self) -> Modes {
        let seen = lock(&self.seen);
        let screen = seen.emulator.screen();
        Modes {
            bracketed_paste: screen.bracketed_paste(),
            hidden_cursor: screen.hide_cursor(),
            alternate_screen: screen.alternate_screen(),
        }
    }

    /// Waits until the screen shows this; gives the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_for_screen(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted; gives the screen.
    #[track_caller]
    pub fn wait_for_screen(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "waited in vain for {what:?} on screen:\n{screen}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until nothing has come out for a moment: the program waits for keys.
    pub fn settle(&self) {
        let mut last = self.raw().len();
        wait_until("the screen to settle", || {
            thread::sleep(Duration::from_millis(250));
            let now = self.raw().len();
            let quiet = now == last && now > 0;
            last = now;
            quiet.then_some(())
        });
    }

    pub fn resize(&self, rows: u16, cols: u16) {
        self.master.resize(size(rows, cols)).expect("the terminal is open");
        lock(&self.seen).emulator.screen_mut().set_size(rows, cols);
    }

    /// The process that the shell of [`Pty::xsh_wrapped`] runs.
    pub fn child_of_shell(&self) -> i32 {
        let parent = format!("PPid:\t{}\n", self.child.process_id().expect("running"));
        let is_child = |pid: &i32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            status.is_ok_and(|status| status.contains(&parent))
        };
        let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.find(is_child).expect("the shell runs xsh")
    }

    /// Waits for the end of the program; gives its exit code.
    #[track_caller]
    pub fn wait(&mut self) -> u32 {
        let status = wait_until("the program in the terminal to end", || {
            self.child.try_wait().expect("it can be waited for")
        });
        // The last bytes may still be on their way to the emulator.
        thread::sleep(Duration::from_millis(50));
        status.exit_code()
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Feeds the emulator, and answers what programs ask a terminal: where the cursor is.
fn watch(
    mut reader: Box<dyn Read + Send>,
    seen: &Mutex<Seen>,
    keys: &Mutex<Box<dyn Write + Send>>,
) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        let bytes = buffer.get(..count).unwrap_or_default();
        let cursor = {
            let mut seen = lock(seen);
            seen.raw.extend(bytes);
            seen.emulator.process(bytes);
            seen.emulator.screen().cursor_position()
        };
        if bytes.windows(4).any(|window| window == b"\x1b[6n") {
            let _ = write!(lock(keys), "\x1b[{};{}R", cursor.0 + 1, cursor.1 + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell in a small terminal, and the folders it lives in.
    fn sh(script: &str) -> (Pty, Env) {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", script]);
        let env = Env::bare();
        (Pty::start(&env, command, (10, 30)), env)
    }

    #[test]
    fn keys_go_in_and_the_screen_comes_out() {
        let (mut pty, _env) = sh("read line; printf '\\033[31m<%s>' \"$line\"; stty size; exit 7");
        pty.resize(12, 50);
        pty.line("hello");
        assert!(pty.wait_for("12 50").contains("<hello>"));
        assert_eq!(pty.wait(), 7);
        assert!(pty.raw_text().contains("\x1b[31m<hello>"));
    }

    #[test]
    fn modes_and_cursor_are_seen() {
        let (pty, _env) = sh("printf '\\033[?2004h\\033[?25lab'; sleep 60");
        pty.wait_for("ab");
        let expected = Modes { bracketed_paste: true, hidden_cursor: true, ..Modes::default() };
        assert_eq!(pty.modes(), expected);
        assert_eq!(pty.cursor(), (0, 2));
        pty.settle();
    }

    #[test]
    fn a_question_about_the_cursor_is_answered() {
        let (pty, _env) =
            sh("stty raw -echo; printf 'x\\033[6n'; dd bs=1 count=6 2>/dev/null | od -c");
        pty.wait_for("1   ;   2   R");
    }
}
