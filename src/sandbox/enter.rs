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

pub(super) mod attempt;
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
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::{FAULT, Means};

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
    /// This program's own state folder; may be empty.
    state: PathBuf,
    folder: PathBuf,
    roots: Vec<PathBuf>,
    /// What is protected besides what always is.
    protected: Vec<PathBuf>,
    argv: Vec<OsString>,
}

/// Runs the command of these arguments (the program's name not among them) in the box. Comes back
/// only with an exit code.
pub(super) fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
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
        let state = arguments.next()?.into();
        let folder = arguments.next()?.into();
        let mut paths = || -> Option<Vec<PathBuf>> {
            let count = arguments.next()?.to_str()?.parse().ok()?;
            Some(arguments.by_ref().take(count).map(PathBuf::from).collect())
        };
        let (roots, protected) = (paths()?, paths()?);
        let argv = arguments.collect();
        Some(Self { means, shared, report, tmp, state, folder, roots, protected, argv })
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
            rules::confine(&rules::writable(order), rules::all_scopes())?;
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

/// For `map_err`: what could not be done, and why.
fn failed<E: Display>(what: &str) -> impl FnOnce(E) -> Fault {
    move |error| format!("cannot {what}: {error}")
}
