//! The system calls that no safe library offers: all of the program's `unsafe`, each with its reason.
#![expect(unsafe_code, reason = "the one place for it")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// The first descriptor that is not one of the three standard ones.
const FIRST_OTHER: RawFd = 3;

/// A flag of a mount, from `linux/mount.h`.
#[derive(Clone, Copy)]
pub(super) enum Attribute {
    ReadOnly = 1,
    NoSetuid = 2,
    NoDevices = 4,
}

/// The `struct mount_attr` of the system call `mount_setattr`.
#[repr(C)]
#[derive(Default)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    users: u64,
}

/// Makes a copy of this process; none in the copy.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the entrance has one thread, so the copy finds no lock that another one holds.
    let id = unsafe { libc::fork() };
    if id < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(id)) }
}

/// Ends a copy of this process, which must not do what the original does at its end.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: always sound; buffers that are not flushed are the original's.
    unsafe { libc::_exit(code) }
}

/// Leaves the namespaces of the parent.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: unsafe only where threads share descriptors or memory; there is one thread.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}

/// Takes a descriptor that the program has left open for the entrance.
pub(super) fn adopt(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: only asks whether the number is open.
    let open = unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0;
    // SAFETY: it is open, given to the entrance by number, and nothing else here owns it.
    (open && number >= FIRST_OTHER).then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// Lets no descriptor but the three standard ones reach the command, whoever left it open.
pub(super) fn keep_files_to_myself() {
    // SAFETY: the call takes numbers alone. Where it is unknown (before Linux 5.11) descriptors of
    // Rust programs are closed on exec anyway.
    unsafe {
        libc::syscall(libc::SYS_close_range, FIRST_OTHER, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
}

/// Sets attributes on a mount and all below it: of the folder itself, or of `path` in it.
pub(super) fn set_mount(
    at: BorrowedFd<'_>,
    path: &CStr,
    attributes: &[Attribute],
) -> io::Result<()> {
    let set = attributes.iter().fold(0, |all, one| all | *one as u64);
    let wanted = MountAttributes { set, ..MountAttributes::default() };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path ends with NUL, the structure has the size that is given, and both outlive
    // the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const wanted,
            size_of::<MountAttributes>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What a process does with the signals that would end it.
#[derive(Clone, Copy)]
pub(super) enum Signals {
    Ignore,
    Default,
}

/// Sets that for every signal that can be caught.
pub(super) fn set_signals(what: Signals) {
    let action = match what {
        Signals::Ignore => libc::SIG_IGN,
        Signals::Default => libc::SIG_DFL,
    };
    for signal in 1..=libc::SIGRTMAX() {
        if !matches!(signal, libc::SIGKILL | libc::SIGSTOP | libc::SIGCHLD) {
            // SAFETY: both actions are the kernel's; no code of ours runs in a handler.
            unsafe { libc::signal(signal, action) };
        }
    }
}
