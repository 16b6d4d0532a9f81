//! The end of every command when this program is killed and cannot see to it itself.
//!
//! With the first command a watcher is started: a small shell script in a session of its own that
//! reads a pipe of which only this program holds the writing end. It is told the group of each
//! command that begins and ends. When the pipe closes this program is gone, and what still runs of
//! its commands is killed: their groups, and, where there is a `/proc`, whatever carries one of
//! their marks. For the commands themselves the watcher costs two short writes.
//!
//! The pipe closes only once a command that was just being started has become itself, mark and all,
//! so none is missed. Best effort: without a `/bin/sh` nobody watches.

use std::io::{self, PipeWriter, Write};
use std::process::Stdio;
use std::sync::LazyLock;

use rustix::fs::OFlags;

/// Its first argument is the mark that the commands' marks begin with.
const SCRIPT: &str = r#"
groups=
while read -r sign group; do
    case $sign in
    +) groups="$groups $group" ;;
    -)  rest=
        for other in $groups; do [ "$other" = "$group" ] || rest="$rest $other"; done
        groups=$rest ;;
    esac
done
for group in $groups; do kill -KILL "-$group"; done
[ -d /proc/self ] || exit
round=0
# Whoever is just becoming another program has no environment for that moment: where a command was
# running, none must be seen ten times in a row.
quiet=9
[ -z "$groups" ] || quiet=0
# Until no new one appears; one that hangs in the kernel is given up.
while [ $round -lt 100 ]; do
    found=$(grep -lsF "$1" /proc/[0-9]*/environ)
    quiet=$((quiet + 1))
    [ -z "$found" ] || quiet=0
    [ $quiet -lt 10 ] || exit
    for file in $found; do
        file=${file#/proc/}
        kill -KILL "${file%/environ}"
    done
    round=$((round + 1))
    sleep 0.02
done
"#;

static WATCHER: LazyLock<Option<PipeWriter>> = LazyLock::new(|| start().ok());

/// Makes sure that the watcher is there; called before a command is started.
pub(super) fn ready() {
    LazyLock::force(&WATCHER);
}

/// A command's group that is watched for as long as this lives.
pub(super) struct Watched {
    group: Option<u32>,
}

impl Watched {
    pub(super) fn new(group: Option<u32>) -> Self {
        tell('+', group);
        Self { group }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        tell('-', self.group);
    }
}

fn tell(sign: char, group: Option<u32>) {
    if let (Some(mut pipe), Some(group)) = (WATCHER.as_ref(), group) {
        // One write, so that lines of several commands do not mix. Who does not read is gone.
        let _ = pipe.write_all(format!("{sign} {group}\n").as_bytes());
    }
}

fn start() -> io::Result<PipeWriter> {
    let (reader, writer) = io::pipe()?;
    // A watcher that somebody has stopped must not stop this program too.
    rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK)?;
    let mark = format!("{}={}", super::MARK, super::mark_prefix());
    let argv = ["/bin/sh", "-c", SCRIPT, "xsh-watcher", &mark].map(Into::into);
    super::detached(&argv)
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::from(reader))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .as_std_mut()
        .spawn()?;
    Ok(writer)
}
