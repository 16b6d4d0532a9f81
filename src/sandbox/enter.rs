//! The way into the box on Linux: what this program does when it is started as [`super::ENTRANCE`].
//!
//! The arguments are those of [`super::Confinement::wrap`]. With [`Means::Namespaces`] three
//! processes stand between the program and the command's first system call:
//!
//! 1. the *doorman*, which the program started. It makes the namespaces, waits, and ends as the
//!    command ended, by the same code or signal;
//! 2. the *init* of the process namespace. It takes in orphans. When it ends the kernel ends every
//!    process that is left, whatever it has done to hide;
//! 3. the command itself.
//!
//! With [`Means::Landlock`] there is only the command. Nothing here runs beside another thread.

mod command;
mod filter;
mod init;
mod mounts;
mod namespaces;
mod rules;
mod sys;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::{FAULT, Means, PROBE, SHARED};

/// The exit code when the box could not be built. What counts is the report.
const NOT_BUILT: u8 = 125;

/// What went wrong, for the report.
type Fault = String;

/// What the arguments say.
struct Order {
    means: Means,
    /// The namespaces that are there already.
    shared: Vec<OwnedFd>,
    report: OwnedFd,
    tmp: PathBuf,
    folder: PathBuf,
    roots: Vec<PathBuf>,
    /// What is protected besides what always is.
    protected: Vec<PathBuf>,
    argv: Vec<OsString>,
}

/// Runs the command of these arguments (the program's name not among them) in the box. Comes back
/// only with an exit code.
pub(super) fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let mut arguments = arguments.peekable();
    if arguments.peek().is_some_and(|first| first == PROBE) {
        return probe();
    }
    let Some(order) = Order::read(arguments) else { return NOT_BUILT };
    match enter(&order) {
        Ok(code) => code,
        Err(fault) => {
            report(&order.report, &format!("{FAULT}{fault}"));
            NOT_BUILT
        }
    }
}

impl Order {
    fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let means = Means::of(arguments.next()?.to_str()?)?;
        let mut number = || arguments.next()?.to_str()?.parse::<i32>().ok();
        let given = number()?;
        let given = (0..given).map(|_| sys::adopt(number()?));
        let mut shared = given.collect::<Option<Vec<OwnedFd>>>()?;
        let report = shared.pop()?;
        let tmp = arguments.next()?.into();
        let folder = arguments.next()?.into();
        let mut paths = || -> Option<Vec<PathBuf>> {
            let count = arguments.next()?.to_str()?.parse().ok()?;
            Some(arguments.by_ref().take(count).map(PathBuf::from).collect())
        };
        let (roots, protected) = (paths()?, paths()?);
        let argv = arguments.collect();
        Some(Self { means, shared, report, tmp, folder, roots, protected, argv })
    }
}

/// Tells the program something that only this side knows. If that fails nobody listens any more.
fn report(to: &OwnedFd, line: &str) {
    let _ = rustix::io::write(to, format!("{line}\n").as_bytes());
}

fn enter(order: &Order) -> Result<u8, Fault> {
    sys::keep_files_to_myself();
    // It fails only for a leader of a group, which is away from the terminal's group already.
    let _ = rustix::process::setsid();
    make_private(&order.tmp).map_err(failed("make a private temporary folder"))?;
    match order.means {
        Means::Namespaces => {
            namespaces::join(&order.shared)?;
            namespaces::enter()?;
            mounts::confine(order)?;
            init::run(order)
        }
        Means::Landlock => {
            rules::confine(order)?;
            filter::install(filter::Network::None)?;
            Err(command::become_it(order, &order.tmp))
        }
        Means::Seatbelt => Err("this is not macOS".to_owned()),
    }
}

fn make_private(folder: &Path) -> io::Result<()> {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    if is_link(folder) || folder.parent().is_some_and(is_link) {
        return Err(io::Error::other("a link lies where it belongs"));
    }
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Sends what works here, in the form of [`super::Sandbox::told`].
fn probe() -> u8 {
    let sent = match (try_namespaces(), rules::missing()) {
        (Ok(()), _) => Ok(()),
        (Err(why), Some(missing)) => {
            let why = format!("namespaces are not allowed here ({why})");
            let lines = [Means::Landlock.name().to_owned(), why].into_iter().chain(missing);
            answer(&lines.collect::<Vec<_>>(), &[])
        }
        (Err(why), None) => answer(&[format!("{why}, and there is no Landlock")], &[]),
    };
    u8::from(sent.is_err())
}

/// In a process of its own, for it cannot be taken back. If it works that process answers.
fn try_namespaces() -> Result<(), Fault> {
    let (reader, mut writer) = io::pipe().map_err(failed("make a pipe"))?;
    let child = sys::fork().map_err(failed("start a process"))?;
    let Some(child) = child else {
        if let Err(fault) = make_and_answer() {
            let _ = writer.write_all(fault.as_bytes());
        }
        sys::exit(0);
    };
    drop(writer);
    let fault = io::read_to_string(reader).unwrap_or_default();
    let _ = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
    if fault.is_empty() { Ok(()) } else { Err(fault) }
}

fn make_and_answer() -> Result<(), Fault> {
    let shared = namespaces::make()?;
    namespaces::enter()?;
    mounts::try_out()?;
    let missing = init::try_out()?;
    let lines = std::iter::once(Means::Namespaces.name().to_owned()).chain(missing);
    answer(&lines.collect::<Vec<_>>(), &shared)
}

/// To the program that asks, through the socket that it has made the standard output.
fn answer(lines: &[String], files: &[OwnedFd]) -> Result<(), Fault> {
    let text = lines.join("\n");
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SHARED))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&files));
    }
    let text = [IoSlice::new(text.as_bytes())];
    let sent = sendmsg(rustix::stdio::stdout(), &text, &mut control, SendFlags::empty());
    sent.map(|_| ()).map_err(failed("answer"))
}

/// For `map_err`: what could not be done, and why.
fn failed<E: Display>(what: &str) -> impl FnOnce(E) -> Fault {
    move |error| format!("cannot {what}: {error}")
}
