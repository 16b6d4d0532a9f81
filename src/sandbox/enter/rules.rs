//! Landlock: writes are confined by rules, instead of by what is mounted or besides.
//!
//! Rules can only give, so what lies protected in a writable folder stays writable, and the times,
//! modes and owners of files are no concern of Landlock's.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};

use super::{Fault, Order, failed};

/// The newest version whose every right is known here.
const NEWEST: ABI = ABI::V6;

/// The oldest that confines what matters: links and renames (2) and truncation (3).
const OLDEST: ABI = ABI::V3;

/// What may be written besides.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"];

/// What may be written to where nothing but Landlock confines.
pub(super) fn writable(order: &Order) -> Vec<PathBuf> {
    let devices = DEVICES.iter().map(PathBuf::from);
    order.roots.iter().cloned().chain([order.tmp.clone()]).chain(devices).collect()
}

/// Confines this process and all that come of it to these files and folders, as far as they are there.
///
/// `scopes` are for where no namespaces confine signals and names of sockets.
pub(super) fn confine(writable: &[PathBuf], scopes: BitFlags<Scope>) -> Result<(), Fault> {
    let everywhere = writable.iter().filter(|path| path.exists());
    let build = || -> Result<RulesetStatus, landlock::RulesetError> {
        let status = ruleset(scopes)?
            .create()?
            .add_rules(path_beneath_rules(everywhere, AccessFs::from_write(NEWEST)))?
            .restrict_self()?;
        Ok(status.ruleset)
    };
    match build().map_err(failed("set up Landlock"))? {
        RulesetStatus::NotEnforced => Err("Landlock does not work here".to_owned()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

fn ruleset(scopes: BitFlags<Scope>) -> Result<Ruleset, landlock::RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(OLDEST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(NEWEST))?;
    // To ask for none is an error.
    if scopes.is_empty() { Ok(ruleset) } else { ruleset.scope(scopes) }
}

/// All that Landlock knows.
pub(super) fn all_scopes() -> BitFlags<Scope> {
    Scope::from_all(NEWEST)
}

/// What would not hold; none where there is no Landlock that is new enough.
pub(super) fn missing() -> Option<Vec<String>> {
    ruleset(all_scopes()).and_then(Ruleset::create).ok()?;
    let scoped = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::from_all(NEWEST))
        .and_then(Ruleset::create)
        .is_ok();
    let mut missing = vec![
        "files that other programs run by themselves (.git/hooks, .vscode, …) can be changed"
            .to_owned(),
        "modes, owners and times of the user's files outside can be changed".to_owned(),
        "the key that marks the user's sessions can be read".to_owned(),
        "there is no loopback network".to_owned(),
    ];
    if !scoped {
        missing.push("processes outside can be signalled".to_owned());
    }
    Some(missing)
}
