//! The system call filter: what namespaces and Landlock do not cover.
//!
//! Sockets of other families than those that have a namespace reach outside by a path or a number
//! (UNIX, VSOCK), and `io_uring` makes sockets without the calls that are watched. Keys of the
//! user's key rings, and a few interfaces of the kernel that no build or test needs, are closed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::{Fault, failed};

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

/// The bit that marks the calls of x86-64's other numbering, which a filter sees under other numbers.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERING: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERING: Option<i64> = None;

/// Puts the filter on this process and all that come of it, for good. Programs for another
/// architecture are killed, since their calls could not be told apart.
pub(super) fn install(network: Network) -> Result<(), Fault> {
    rustix::thread::set_no_new_privs(true).map_err(failed("give up new privileges"))?;
    let program = program(network).map_err(failed("make a system call filter"))?;
    apply_filter(&program).map_err(failed("install a system call filter"))
}

fn program(network: Network) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CLOSED.into_iter().map(|call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(other_families(network)?)?]);
    if let Some(bit) = OTHER_NUMBERING {
        let others: Vec<_> =
            rules.iter().map(|(call, rules)| (call | bit, rules.clone())).collect();
        rules.extend(others);
    }
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?;
    Ok(filter.try_into()?)
}

/// True of every family but those that may be used.
fn other_families(network: Network) -> Result<Vec<SeccompCondition>, seccompiler::BackendError> {
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
            assert!(program(network).is_ok_and(|program| program.len() > CLOSED.len()));
        }
    }
}
