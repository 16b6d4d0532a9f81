//! Commands in the sandbox: how they are started, what they report, and whether there is a sandbox.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::process::Command;

use crate::sandbox::{self, Confinement, Sandbox};

/// Bytes of a report that are read.
const REPORT_BYTES: usize = 4 << 10;

/// How long the trying out may take.
const PROBE_WITHIN: Duration = Duration::from_secs(5);

/// This program, whatever has become of its file.
const MYSELF: &str = "/proc/self/exe";

/// What the entrance of a box is given: the reading end of its report stays here, and the files go to
/// what is started next. Should that be something else too, the box there closes them.
pub(super) fn hand_over(confinement: &Confinement) -> io::Result<(OwnedFd, Vec<OwnedFd>)> {
    let (reader, writer) = io::pipe()?;
    rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    let mut given = Vec::new();
    for file in confinement.shared.iter() {
        given.push(rustix::io::dup(file)?);
    }
    given.push(rustix::io::dup(&writer)?);
    Ok((reader.into(), given))
}

/// What the box has to say of a command.
#[derive(Default)]
pub(super) struct Report {
    /// Why the box could not be built.
    pub(super) fault: Option<String>,
    /// The command wanted to reach the network.
    pub(super) missed_network: bool,
    /// When the command ended none of its processes was left.
    pub(super) alone: bool,
}

/// What is there of a report. All that has to come has come when the command has ended.
pub(super) fn read_report(report: &OwnedFd) -> Report {
    let mut text = vec![0; REPORT_BYTES];
    let read = rustix::io::read(report, &mut text).unwrap_or(0);
    text.truncate(read);
    let text = String::from_utf8_lossy(&text);
    let has = |word| text.lines().any(|line| line == word);
    Report {
        fault: text.lines().find_map(|line| line.strip_prefix(sandbox::FAULT)).map(str::to_owned),
        missed_network: has(sandbox::MISSED_NETWORK),
        alone: has(sandbox::ALONE),
    }
}

/// This program under the name that leads into the box, or the system's own.
#[expect(clippy::disallowed_methods, reason = "this is the file that starts processes")]
pub(super) fn command(argv: &[OsString]) -> Command {
    let (name, arguments) =
        argv.split_first().map_or((OsStr::new(""), argv), |(n, a)| (n.as_os_str(), a));
    let mut command = if name == sandbox::ENTRANCE {
        let mut command = Command::new(MYSELF);
        command.arg0(name);
        command
    } else {
        let mut command = Command::new(name);
        command.process_group(0);
        command
    };
    command.args(arguments);
    command
}

/// Tries out what confines commands on this machine. Takes a few milliseconds; blocks.
pub fn probe() -> Sandbox {
    if cfg!(target_os = "macos") {
        return sandbox::seatbelt::probe();
    }
    ask_entrance().unwrap_or_else(|error| Sandbox::none(error.to_string()))
}

#[expect(clippy::disallowed_methods, reason = "this is the file that starts processes")]
fn ask_entrance() -> io::Result<Sandbox> {
    let (mine, other) = UnixStream::pair()?;
    mine.set_read_timeout(Some(PROBE_WITHIN))?;
    let mut command = std::process::Command::new(MYSELF);
    command.arg0(sandbox::ENTRANCE).arg(sandbox::PROBE).env_clear();
    command.stdin(Stdio::null()).stdout(OwnedFd::from(other)).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // It holds the other end of the socket, whose closing means that nothing more comes.
    drop(command);
    let mut text = vec![0; REPORT_BYTES];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(sandbox::SHARED))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let message =
        recvmsg(&mine, &mut [IoSliceMut::new(&mut text)], &mut control, RecvFlags::CMSG_CLOEXEC);
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    // Its namespaces take a while to go; nobody has to wait for that.
    std::thread::spawn(move || child.wait());
    text.truncate(message?.bytes);
    Ok(Sandbox::told(&String::from_utf8_lossy(&text), files))
}
