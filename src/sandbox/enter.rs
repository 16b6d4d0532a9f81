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
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::{Means, PROBE};

/// The exit code when the box could not be built. What counts is the report.
const NOT_BUILT: u8 = 125;

/// What went wrong, for the report.
type Fault = String;

/// What the arguments say.
struct Order {
    means: Means,
    report: OwnedFd,
    tmp: PathBuf,
    folder: PathBuf,
    roots: Vec<PathBuf>,
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
            report(&order.report, &format!("error: {fault}"));
            NOT_BUILT
        }
    }
}

impl Order {
    fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let means = Means::of(arguments.next()?.to_str()?)?;
        let report = sys::adopt(arguments.next()?.to_str()?.parse().ok()?)?;
        let tmp = arguments.next()?.into();
        let folder = arguments.next()?.into();
        let count = arguments.next()?.to_str()?.parse().ok()?;
        let roots = arguments.by_ref().take(count).map(PathBuf::from).collect();
        Some(Self { means, report, tmp, folder, roots, argv: arguments.collect() })
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
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Prints what works here, in the form of [`super::Sandbox::told`].
fn probe() -> u8 {
    let answer = match try_namespaces() {
        Ok(missing) => std::iter::once(Means::Namespaces.name().to_owned()).chain(missing),
        Err(why) => match rules::missing() {
            Some(missing) => {
                let why = format!("namespaces are not allowed here ({why})");
                let mut all = vec![Means::Landlock.name().to_owned(), why];
                all.extend(missing);
                return print(&all);
            }
            None => return print(&[format!("{why}, and there is no Landlock")]),
        },
    };
    print(&answer.collect::<Vec<_>>())
}

/// In a process of its own, for it cannot be taken back.
fn try_namespaces() -> Result<Vec<String>, Fault> {
    let (reader, mut writer) = io::pipe().map_err(failed("make a pipe"))?;
    let child = sys::fork().map_err(failed("start a process"))?;
    let Some(child) = child else {
        let tried =
            namespaces::enter().and_then(|()| mounts::try_out()).and_then(|()| init::try_out());
        let text = match tried {
            Ok(missing) => format!("ok\n{}", missing.join("\n")),
            Err(fault) => fault,
        };
        let _ = writer.write_all(text.as_bytes());
        sys::exit(0);
    };
    drop(writer);
    let text = io::read_to_string(reader).unwrap_or_default();
    let _ = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
    match text.strip_prefix("ok\n") {
        Some(missing) => Ok(missing.lines().map(str::to_owned).collect()),
        None => Err(text),
    }
}

fn print(lines: &[String]) -> u8 {
    let text = lines.join("\n") + "\n";
    // To the program that asks, through a pipe.
    u8::from(rustix::io::write(rustix::stdio::stdout(), text.as_bytes()).is_err())
}

/// For `map_err`: what could not be done, and why.
fn failed<E: Display>(what: &str) -> impl FnOnce(E) -> Fault {
    move |error| format!("cannot {what}: {error}")
}
