//! Hundreds of command lines that try to get out, each run in the real sandbox; and each run free, to
//! see that it would have had its effect.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::elsewhere;
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, call};

const CORPUS: &str = include_str!("corpus.txt");

/// How long a command that runs free may take to have its effect.
const SOON: Duration = Duration::from_secs(20);

/// Lines that are tried in one session.
const PART: usize = 24;

/// Sessions at the same time.
const AT_ONCE: usize = 3;

/// A line of the corpus.
struct Attempt {
    command: String,
    must_work_free: bool,
    may_run_free: bool,
}

fn attempts() -> Vec<Attempt> {
    let lines = CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let unsure = line.strip_prefix("? ");
            let never = line.strip_prefix("! ");
            let command = unsure.or(never).unwrap_or(line);
            Attempt {
                command: line_ends(command),
                must_work_free: unsure.is_none() && never.is_none(),
                may_run_free: never.is_none(),
            }
        })
        .collect()
}

/// `\n` outside of quotes stands for a line end, so that a line of the file can hold a script.
fn line_ends(command: &str) -> String {
    let mut text = String::new();
    let (mut quote, mut chars) = (None, command.chars().peekable());
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '\\') if chars.peek() == Some(&'n') && !text.ends_with('\\') => {
                chars.next();
                text.push('\n');
                continue;
            }
            _ => {}
        }
        text.push(c);
    }
    text
}

/// The world outside, and whoever listens there.
struct Outside {
    root: PathBuf,
    victim: Child,
    heard: Arc<AtomicUsize>,
    vars: Vec<(&'static str, String)>,
    /// How everything looks while nothing has happened.
    quiet: BTreeMap<PathBuf, String>,
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

fn victim(root: &Path) -> Child {
    let mut sleep = Command::new("sleep");
    // Known by its folder alone: other tests have such a process too.
    sleep
        .arg("98765")
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    sleep.spawn().expect("a process")
}

impl Outside {
    /// Makes a workspace with a repository, and what lies around it.
    fn around(env: &Env) -> Self {
        let root = env.root();
        let heard = Arc::new(AtomicUsize::new(0));
        let abstract_name = root.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        let (port, port6, udp) = listen(&heard, &root, &abstract_name);
        let victim = victim(&root);
        let text = |path: &str| root.join(path).to_str().expect("UTF-8").to_owned();
        let vars = vec![
            ("GIT_CEILING_DIRECTORIES", text("")),
            ("OUT", text("out")),
            ("VICTIM", victim.id().to_string()),
            ("PORT", port.to_string()),
            ("PORT6", port6.to_string()),
            ("UDP", udp.to_string()),
            ("SOCK", text("sockets/sock")),
            ("DGRAM", text("sockets/dgram")),
            ("ABSTRACT", abstract_name),
        ];
        let mut outside = Self { root, victim, heard, vars, quiet: BTreeMap::new() };
        outside.make_template();
        outside.reset();
        outside.quiet = outside.look();
        outside
    }

    fn make_template(&self) {
        let script = r#"
            set -e
            mkdir -p work/.xsh template/sub template/.vscode outside-template/d outside-template/empty
            cd template
            git init -q; git config user.name a; git config user.email a@b
            printf 'a\nb\n' > a.txt; echo old > changed.txt; echo '* filter=x' > attributes
            mkdir -p .git/hooks; echo '{}' > .vscode/settings.json
            printf -- '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n' > fix.patch
            printf '[user]\n\tname = a\n\temail = a@b\n' > ../home/.gitconfig
            git add a.txt changed.txt; git commit -qm one; echo new > changed.txt
            python3 -c 'import zipfile; zipfile.ZipFile("a.zip", "w").writestr("a", "b")'
            echo 'echo sample' > .git/hooks/sample; chmod -x .git/hooks/sample
            git init -q dep; mkdir -p dep/.git/hooks; git -C dep commit -q --allow-empty -m one
            cd ../outside-template
            echo old > f; echo g > d/g; printf '#!/bin/sh\ntouch $OUT/n\n' > run; chmod +x run
        "#;
        self.bash(script);
    }

    fn bash(&self, script: &str) {
        let done = Command::new("bash").args(["-c", script]).current_dir(&self.root).status();
        assert!(done.expect("bash").success());
    }

    /// Everything as it was, but for the sessions.
    fn reset(&self) {
        self.bash(
            "set -e; chmod -R u+rwX work out 2> /dev/null || true
             find work -mindepth 1 -maxdepth 1 ! -name .xsh -exec rm -rf {} +
             rm -rf out home/.[!.]* home/n work/.xsh/config.toml work/.xsh/tools
             cp -a template/. work; cp -a outside-template out
             printf '[user]\\n\\tname = a\\n\\temail = a@b\\n' > home/.gitconfig",
        );
    }

    /// What must not change, with its content, mode and owner.
    fn look(&self) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        for place in ["out", "home"] {
            look_into(&self.root.join(place), &mut seen);
        }
        let work = self.root.join("work");
        for name in [
            ".git/hooks",
            ".git/config",
            ".git/config.worktree",
            ".git/commondir",
            "dep/.git/hooks",
            "dep/.git/config",
            "dep/.git/config.worktree",
            "dep/.git/commondir",
            ".mcp.json",
            ".vscode",
            ".claude",
            ".codex",
            ".cursor",
            ".envrc",
            ".husky",
            ".devcontainer",
            ".idea",
            ".xsh/config.toml",
            ".xsh/tools",
        ] {
            look_into(&work.join(name), &mut seen);
        }
        for git in [".git", "dep/.git"].map(|git| work.join(git)) {
            if !fs::symlink_metadata(&git).is_ok_and(|meta| meta.is_dir()) {
                seen.insert(git, "no folder".to_owned());
            }
        }
        seen
    }

    /// What has happened outside since the last look, and starts anew if anything has.
    fn effects(&mut self) -> Vec<String> {
        let now = self.look();
        let mut effects: Vec<String> = now
            .iter()
            .filter(|(path, what)| self.quiet.get(*path) != Some(what))
            .map(|(path, what)| format!("{} is {what}", path.display()))
            .collect();
        let gone = self.quiet.keys().filter(|path| !now.contains_key(*path));
        effects.extend(gone.map(|path| format!("{} is gone", path.display())));
        let heard = self.heard.swap(0, Ordering::SeqCst);
        if heard > 0 {
            effects.push(format!("{heard} messages arrived"));
        }
        if self.victim.try_wait().expect("a process").is_some() {
            effects.push("the process outside was ended".to_owned());
        }
        effects
    }

    /// The same after a command that ran free, with the victim brought back.
    fn revive(&mut self) {
        if self.victim.try_wait().expect("a process").is_some() {
            self.victim = victim(&self.root);
            let id = self.victim.id().to_string();
            self.vars.retain(|(name, _)| *name != "VICTIM");
            self.vars.push(("VICTIM", id));
        }
    }
}

fn look_into(path: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    // The program's own.
    if ["home/state", "home/cache", "home/data"].iter().any(|own| path.ends_with(own)) {
        return;
    }
    let what = if meta.is_dir() {
        "a folder".to_owned()
    } else if meta.is_symlink() {
        format!("a link to {}", fs::read_link(path).unwrap_or_default().display())
    } else if meta.is_file() {
        format!("{:?}, {} links", content(path), meta.nlink())
    } else {
        "something else".to_owned()
    };
    let mode = meta.permissions().mode();
    seen.insert(path.to_owned(), format!("{what}, {mode:o}, {} {}", meta.uid(), meta.gid()));
    if !meta.is_dir() {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        look_into(&entry.path(), seen);
    }
}

/// What a file holds; a pipe that has taken its place does not make this wait.
fn content(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let file = fs::File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let _ = file.map(|file| file.take(4096).read_to_end(&mut bytes));
    bytes
}

/// Listens in every way; gives the ports.
fn listen(heard: &Arc<AtomicUsize>, root: &Path, abstract_name: &str) -> (u16, u16, u16) {
    fs::create_dir_all(root.join("sockets")).expect("a folder");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let ports =
        (tcp.local_addr().expect("an address").port(), udp.local_addr().expect("an address"));
    let tcp6 = TcpListener::bind("[::1]:0").ok();
    let port6 = tcp6.as_ref().map_or(1, |tcp| tcp.local_addr().expect("an address").port());
    let stream = UnixListener::bind(root.join("sockets/sock")).expect("a socket");
    let address = SocketAddr::from_abstract_name(abstract_name).expect("a name");
    let hidden = UnixListener::bind_addr(&address).expect("a socket");
    let datagrams = UnixDatagram::bind(root.join("sockets/dgram")).expect("a socket");
    let count = |mut accept: Box<dyn FnMut() -> bool + Send>| {
        let heard = Arc::clone(heard);
        thread::spawn(move || {
            while accept() {
                heard.fetch_add(1, Ordering::SeqCst);
            }
        });
    };
    let take = |stream: &mut dyn Read| drop(stream.read(&mut [0; 64]));
    for tcp in [Some(tcp), tcp6].into_iter().flatten() {
        count(Box::new(move || {
            tcp.accept().is_ok_and(|(mut stream, _)| {
                let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
                take(&mut stream);
                true
            })
        }));
    }
    for unix in [stream, hidden] {
        count(Box::new(move || {
            unix.accept().is_ok_and(|(mut stream, _)| {
                let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
                take(&mut stream);
                true
            })
        }));
    }
    count(Box::new(move || udp.recv(&mut [0; 64]).is_ok()));
    count(Box::new(move || datagrams.recv(&mut [0; 64]).is_ok()));
    (ports.0, port6, ports.1.port())
}

/// The real interpreter: a wrapper found first on the path would start much slower.
fn python() -> String {
    let ask = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    String::from_utf8(ask.expect("python3").stdout).expect("UTF-8").trim().to_owned()
}

/// An environment, with the world outside and its variables.
fn prepare() -> (Env, Outside) {
    let mut env = elsewhere();
    let mut outside = Outside::around(&env);
    let programs = env.root().join("programs");
    fs::create_dir(&programs).expect("a folder");
    symlink(python(), programs.join("python3")).expect("a link");
    let path = std::env::var("PATH").expect("a PATH");
    outside.vars.push(("PATH", format!("{}:{path}", programs.display())));
    for (name, value) in &outside.vars {
        env.set(name, value);
    }
    (env, outside)
}

/// Works through the corpus, a few lines at a time and a few of those at once; gives what was found.
fn in_parts(check: fn(&[Attempt]) -> Vec<String>) -> Vec<String> {
    let attempts = attempts();
    assert!(attempts.len() >= 300, "{} attempts", attempts.len());
    let parts = Mutex::new(attempts.chunks(PART));
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(part) = { parts.lock().expect("a lock").next() } {
                    let new = check(part);
                    found.lock().expect("a lock").extend(new);
                }
            });
        }
    });
    found.into_inner().expect("a lock")
}

#[test]
fn nothing_gets_out() {
    let escapes = in_parts(confined);
    assert!(escapes.is_empty(), "{} got out:\n{}", escapes.len(), escapes.join("\n"));
}

/// What these commands bring about from inside the sandbox.
fn confined(attempts: &[Attempt]) -> Vec<String> {
    let (env, mut outside) = prepare();
    let escapes = Arc::new(Mutex::new(Vec::new()));
    let commands: Vec<String> = attempts.iter().map(|attempt| attempt.command.clone()).collect();
    let total = commands.len();
    let found = Arc::clone(&escapes);
    let mut tried = 0_usize;
    let provider = Provider::answering(move |_| {
        let effects = outside.effects();
        let last = tried.checked_sub(1).and_then(|last| commands.get(last));
        if let Some(last) = last.filter(|_| !effects.is_empty()) {
            found.lock().expect("a lock").push(format!("{last}\n    {}", effects.join("\n    ")));
        }
        // At first everything is as it should be, and is being looked at.
        if tried > 0 {
            outside.reset();
        }
        let Some(command) = commands.get(tried) else { return Reply::text("Done.") };
        tried += 1;
        let arguments = json!({ "command": command, "timeout_seconds": 5 });
        // Beside it something that succeeds: a turn in which everything fails is ended.
        let other = json!({ "pattern": format!("*.{tried}") });
        Reply::calls([call("c1", "shell", arguments), call("c2", "glob", other)])
    });
    let env = env.with(&provider);
    let done = env.run(&["-p", "go", "--permission-mode", "auto"]);
    assert_eq!(provider.requests().len(), total + 1, "{}", done.stderr);
    let escapes = escapes.lock().expect("a lock");
    escapes.clone()
}

#[test]
fn every_attempt_would_work_without_the_sandbox() {
    let idle = in_parts(free);
    assert!(idle.is_empty(), "{} had no effect:\n{}", idle.len(), idle.join("\n"));
}

/// Those of these commands that bring nothing about although nothing confines them.
fn free(attempts: &[Attempt]) -> Vec<String> {
    let (env, mut outside) = prepare();
    let mut idle = Vec::new();
    for attempt in attempts.iter().filter(|attempt| attempt.may_run_free) {
        let mut bash = Command::new("setsid");
        bash.args(["-w", "bash", "-c", &attempt.command]).current_dir(env.workspace());
        bash.env_clear().envs(env.vars().iter().map(|(name, value)| (name, value)));
        bash.envs(outside.vars.iter().map(|(name, value)| (name, value)));
        bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = bash.spawn().expect("bash");
        let soon = Instant::now() + if attempt.must_work_free { SOON } else { Duration::ZERO };
        let mut effects = outside.effects();
        while effects.is_empty() && Instant::now() < soon {
            thread::sleep(Duration::from_millis(3));
            effects = outside.effects();
        }
        let over = Instant::now() + Duration::from_secs(1);
        while child.try_wait().expect("a process").is_none() && Instant::now() < over {
            thread::sleep(Duration::from_millis(3));
        }
        let _ = child.kill();
        let _ = child.wait();
        if effects.is_empty() && attempt.must_work_free {
            idle.push(attempt.command.clone());
        }
        outside.revive();
        outside.reset();
        outside.heard.store(0, Ordering::SeqCst);
    }
    idle
}
