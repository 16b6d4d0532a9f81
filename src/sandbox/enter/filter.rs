//! The system call filter: what namespaces and Landlock do not cover.
//!
//! Sockets of other families than those that have a namespace reach outside by a path or a number
//! (UNIX, VSOCK; two UNIX sockets that are connected with each other do not), and `io_uring` makes sockets without the calls that are watched. A program that runs as
//! its owner whoever starts it (setuid) would be a way out for later. Keys of the user's key rings,
//! and a few interfaces of the kernel that no build or test needs, are closed.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};

use super::{Fault, failed};

/// By system call; without rules it is meant whatever its arguments.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Which network there is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// One of its own, without a way out.
    Own,
    /// The machine's, so none may be used.
    None,
}

/// System calls that are refused whatever their arguments.
const CLOSED: [i64; 12] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
];

/// Calls that give a file its mode, with the places of the flags (where it may be made) and of the mode.
#[cfg(target_arch = "x86_64")]
const MODES: [(i64, Option<u8>, u8); 9] = [
    (libc::SYS_chmod, None, 1),
    (libc::SYS_fchmod, None, 1),
    (libc::SYS_fchmodat, None, 2),
    (SYS_FCHMODAT2, None, 2),
    (libc::SYS_mknod, None, 1),
    (libc::SYS_mknodat, None, 2),
    (libc::SYS_creat, None, 1),
    (libc::SYS_open, Some(1), 2),
    (libc::SYS_openat, Some(2), 3),
];
#[cfg(not(target_arch = "x86_64"))]
const MODES: [(i64, Option<u8>, u8); 5] = [
    (libc::SYS_fchmod, None, 1),
    (libc::SYS_fchmodat, None, 2),
    (SYS_FCHMODAT2, None, 2),
    (libc::SYS_mknodat, None, 2),
    (libc::SYS_openat, Some(2), 3),
];

/// The same number everywhere; newer than some C libraries.
const SYS_FCHMODAT2: i64 = 452;

/// The bit that marks the calls of x86-64's other numbering, which a filter sees under other numbers.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERING: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERING: Option<i64> = None;

/// Puts the filter on this process and all that come of it, for good. Programs for another
/// architecture are killed, since their calls could not be told apart.
pub(super) fn install(network: Network) -> Result<(), Fault> {
    rustix::thread::set_no_new_privs(true).map_err(failed("give up new privileges"))?;
    let build = || -> Result<[BpfProgram; 2], Box<dyn std::error::Error>> {
        Ok([program(unknown(), libc::ENOSYS)?, program(refused(network)?, libc::EPERM)?])
    };
    let programs = build().map_err(failed("make a system call filter"))?;
    let mut programs = programs.iter();
    programs.try_for_each(|one| apply_filter(one)).map_err(failed("install a system call filter"))
}

/// What is to be taken for a call that this kernel does not have: one whose mode a filter cannot see.
/// Programs then use the older one.
fn unknown() -> Rules {
    Rules::from([(libc::SYS_openat2, Vec::new())])
}

fn refused(network: Network) -> Result<Rules, BackendError> {
    let mut rules: Rules = CLOSED.into_iter().map(|call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(other_families(network)?)?]);
    rules.insert(libc::SYS_socketpair, unbound_pairs()?);
    for (call, flags, mode) in MODES {
        rules.insert(call, setuid(flags, mode)?);
    }
    Ok(rules)
}

/// True of pairs of sockets that are not bound to each other: each can send to, and connect with, any
/// socket that has a path. Pairs of the other kinds are pipes.
fn unbound_pairs() -> Result<Vec<SeccompRule>, BackendError> {
    const KIND: u64 = 0xf;
    let condition = |argument, op, value: i32| {
        let value = u64::from(value.cast_unsigned());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
    };
    [
        condition(0, SeccompCmpOp::Ne, libc::AF_UNIX)?,
        condition(1, SeccompCmpOp::MaskedEq(KIND), libc::SOCK_DGRAM)?,
        condition(1, SeccompCmpOp::MaskedEq(KIND), libc::SOCK_RAW)?,
    ]
    .into_iter()
    .map(|condition| SeccompRule::new(vec![condition]))
    .collect()
}

/// True where a file would get the bit by which a program runs as its owner.
fn setuid(flags: Option<u8>, mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let setuid = bits(mode, libc::S_ISUID)?;
    let Some(flags) = flags else { return Ok(vec![SeccompRule::new(vec![setuid])?]) };
    // Without one of these the mode is not looked at and may be anything.
    let made = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
    let rule =
        |flag: i32| SeccompRule::new(vec![bits(flags, flag.cast_unsigned())?, setuid.clone()]);
    made.into_iter().map(rule).collect()
}

/// True where this argument has all of these bits.
fn bits(argument: u8, bits: u32) -> Result<SeccompCondition, BackendError> {
    let bits = u64::from(bits);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits)
}

fn program(mut rules: Rules, error: i32) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    if let Some(bit) = OTHER_NUMBERING {
        let others: Vec<_> =
            rules.iter().map(|(call, rules)| (call | bit, rules.clone())).collect();
        rules.extend(others);
    }
    let action = SeccompAction::Errno(error.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?;
    Ok(filter.try_into()?)
}

/// True of every family but those that may be used.
fn other_families(network: Network) -> Result<Vec<SeccompCondition>, BackendError> {
    let allowed: &[i32] = match network {
        Network::Own => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        Network::None => &[libc::AF_NETLINK],
    };
    let not = |family: &i32| {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    allowed.iter().map(not).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_can_be_made() {
        for network in [Network::Own, Network::None] {
            let program = refused(network).map(|rules| program(rules, libc::EPERM));
            assert!(program.unwrap().is_ok_and(|program| program.len() > CLOSED.len()));
        }
    }
}
