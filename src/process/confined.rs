//! Commands in the sandbox: how they are started and what they report.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::OFlags;
use tokio::process::Command;

use crate::sandbox::{self, Confinement};

/// Bytes of a report that are read.
const REPORT_BYTES: usize = 4 << 10;

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
