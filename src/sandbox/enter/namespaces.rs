//! The namespaces: users, mounts, processes, network, IPC.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};
use rustix::process::{WaitOptions, getegid, geteuid, waitpid};
use rustix::thread::{UnshareFlags, move_into_link_name_space};

use super::{Fault, failed, sys};

/// Makes the namespaces that all commands share, users and network, and goes into them. The user
/// stays who they are. The superuser brings all users along, so that files of others in the workspace
/// can still be worked on.
pub(super) fn make() -> Result<Vec<OwnedFd>, Fault> {
    let what = UnshareFlags::NEWUSER | UnshareFlags::NEWNET;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if user == 0 {
        share_users(|| sys::unshare(what))?;
    } else {
        sys::unshare(what).map_err(failed("make namespaces"))?;
        let write = |file: &str, text: String| {
            fs::write(format!("/proc/self/{file}"), text).map_err(failed(&format!("write {file}")))
        };
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{user} {user} 1"))?;
        write("gid_map", format!("{group} {group} 1"))?;
    }
    // No further ones inside: they would give the command more of the kernel to attack. A
    // precaution, and a setting that old kernels lack.
    let _ = fs::write("/proc/sys/user/max_user_namespaces", "0");
    loopback_up().map_err(failed("start the loopback network"))?;
    let open = |kind| Ok(File::open(format!("/proc/self/ns/{kind}"))?.into());
    let open = ["user", "net"].into_iter().map(open).collect::<io::Result<_>>();
    open.map_err(failed("open namespaces"))
}

/// Goes into namespaces that were made before.
pub(super) fn join(shared: &[OwnedFd]) -> Result<(), Fault> {
    let join = |file: &OwnedFd| move_into_link_name_space(file.as_fd(), None);
    if shared.is_empty() {
        return Err("the namespaces are missing".to_owned());
    }
    shared.iter().try_for_each(join).map_err(failed("go into the namespaces"))
}

/// Leaves the mounts, IPC and processes of the parent; the next process that is started is the init
/// of the new ones.
pub(super) fn enter() -> Result<(), Fault> {
    let what = UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWPID;
    sys::unshare(what).map_err(failed("make namespaces"))
}

/// Only a process that stayed outside may bring in more than one user: a copy of this one.
fn share_users(unshare: impl FnOnce() -> io::Result<()>) -> Result<(), Fault> {
    let maps = ["uid_map", "gid_map"].map(|name| (name, identity(name)));
    let (mut ready, mut go) = io::pipe().map_err(failed("make a pipe"))?;
    let me = std::process::id();
    let Some(helper) = sys::fork().map_err(failed("start a process"))? else {
        drop(go);
        let mut byte = [0];
        let waited = ready.read_exact(&mut byte);
        let write = |(name, map)| fs::write(format!("/proc/{me}/{name}"), map);
        let done = waited.is_ok() && maps.into_iter().all(|map| write(map).is_ok());
        sys::exit(i32::from(!done));
    };
    unshare().map_err(failed("make namespaces"))?;
    go.write_all(b"x").map_err(failed("write a pipe"))?;
    let status = waitpid(Some(helper), WaitOptions::empty()).map_err(failed("wait"))?;
    let done = status.is_some_and(|(_, status)| status.exit_status() == Some(0));
    done.then_some(()).ok_or_else(|| "cannot bring the users along".to_owned())
}

/// The users that exist here, each as itself.
fn identity(name: &str) -> String {
    let known = fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    let lines = known.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (first, count) = (words.next()?, words.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    });
    lines.collect()
}

/// Sets the loopback device up by a route message (`RTM_NEWLINK`, see rtnetlink(7)). It is always
/// the first of a new network.
fn loopback_up() -> Result<(), Errno> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST: u16 = 1;
    const FIRST: i32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // Sequence number and sender are of no use; then family, padding and type of the device.
    message.extend([0; 12]);
    message.extend(FIRST.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let route = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&route, &message, SendFlags::empty()).map(|_| ())
}
