//! The box of macOS: a profile for `sandbox-exec`. Written after its public descriptions and not
//! tested on a machine; that is said wherever the strength is shown.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Confinement, Means, Sandbox};
use crate::policy::Strength;
use crate::policy::protected::PROTECTED;

/// The program, always of the system.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What is missing.
const UNTESTED: &str = "the macOS sandbox is untested";

/// Whether the program is there.
pub fn probe() -> Sandbox {
    if !Path::new(PROGRAM).is_file() {
        return Sandbox::none("there is no sandbox-exec");
    }
    let strength = Strength::Partial(vec![UNTESTED.to_owned()]);
    Sandbox { means: Some(Means::Seatbelt), strength, shared: Arc::default(), state: None }
}

/// The arguments that run a command line in the box.
pub(super) fn wrap(confinement: &Confinement, argv: &[OsString]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![PROGRAM.into(), "-p".into(), profile(confinement).into()];
    words.extend(argv.iter().cloned());
    words
}

/// Later rules win over earlier ones.
fn profile(confinement: &Confinement) -> String {
    let mut text = String::from(
        "(version 1)\n(allow default)\n(deny network*)\n(deny file-write*)\n(deny signal (target others))\n\
         (allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\"))\n",
    );
    for root in confinement.roots.iter().chain([&confinement.tmp]) {
        let _ = writeln!(text, "(allow file-write* (subpath {}))", quoted(root));
    }
    let paths = |root: &Path| {
        PROTECTED
            .iter()
            .filter(|path| **path != ".git")
            .map(|path| root.join(path))
            .collect::<Vec<_>>()
    };
    for path in confinement.roots.iter().flat_map(|root: &PathBuf| paths(root)) {
        let _ = writeln!(text, "(deny file-write* (subpath {}))", quoted(&path));
    }
    // A folder that holds protected files must not be moved away with them.
    for root in &confinement.roots {
        let _ = writeln!(text, "(deny file-write-unlink (literal {}))", quoted(&root.join(".git")));
    }
    let _ = writeln!(text, "(allow file-write* (subpath {}))", quoted(&confinement.tmp));
    text
}

/// A string of the profile's language.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_denies_after_it_allows() {
        let confinement = Confinement {
            means: Means::Seatbelt,
            roots: vec!["/work/a \"b\"".into()],
            tmp: "/private/tmp/x".into(),
            state: None,
            shared: Arc::default(),
            repositories: Arc::default(),
            updates: tokio::sync::mpsc::unbounded_channel().0,
        };
        let text = profile(&confinement);
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
        let allowed = at(r#"(allow file-write* (subpath "/work/a \"b\""))"#);
        assert!(at("(deny network*)") < allowed);
        assert!(allowed < at(r#"(deny file-write* (subpath "/work/a \"b\"/.git/hooks"))"#));
        assert!(!text.contains(r#"(deny file-write* (subpath "/work/a \"b\"/.git"))"#));
    }
}
