//! The last step: give up every power, then become the command.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set,
};

use super::{Fault, Order};

/// What the superuser keeps: to work on files of other users, and to become one of them. No
/// power over mounts, the network, devices or other processes.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Becomes the command, with `tmp` as the folder for temporary files; comes back only if that fails.
#[expect(clippy::disallowed_methods, reason = "it starts nothing: it becomes what was started")]
pub(super) fn become_it(order: &Order, tmp: &Path) -> Fault {
    give_up_powers();
    let Some((program, arguments)) = order.argv.split_first() else {
        return "there is no command".to_owned();
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&order.folder).env("TMPDIR", tmp);
    let error = command.exec();
    format!("cannot run {}: {error}", program.display())
}

/// From here on no program that is run has more than the bounding set, whoever's it is.
fn give_up_powers() {
    let kept = if geteuid().is_root() { KEPT } else { CapabilitySet::empty() };
    for power in CapabilitySet::all().iter() {
        if !kept.contains(power) && capability_is_in_bounding_set(power).unwrap_or(false) {
            // Without it, it cannot be dropped: then there is nothing to give up either.
            let _ = remove_capability_from_bounding_set(power);
        }
    }
    let _ = clear_ambient_capability_set();
}
