//! What a command changed: two looks at the workspace, compared.
//!
//! Pure. A file counts as created only if it really came to be meanwhile: one that merely came to
//! light, because an ignore rule went, was there before, and undoing the command must not remove it.

use std::collections::{BTreeMap, BTreeSet};

/// The files of a workspace by absolute path.
pub(super) type Index = BTreeMap<String, Seen>;

/// A file as it was when last looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// While this is the same, so is the content.
    pub(super) stamp: Stamp,
    /// The content was read long enough after the last change that the stamp can be trusted.
    pub(super) settled: bool,
    /// None for a file beyond the limits: too large, or not readable.
    pub(super) version: Option<Version>,
}

/// What the file system says about a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Device and inode.
    pub(super) inode: (u64, u64),
    pub(super) size: u64,
    /// Last change of the content, in nanoseconds; anyone can set it.
    pub(super) modified: i128,
    /// Last change of content, name or mode, in nanoseconds; only the system sets it.
    pub(super) changed: i128,
}

/// A content with its mode, and where it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) sha256: String,
    /// As in [`crate::event::FileChange`].
    pub(super) mode: u32,
    pub(super) place: Place,
}

/// Where in the pack a content lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) len: usize,
}

/// What happened between two looks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes<'a> {
    /// Path, version before, version after, in the order of the paths.
    pub(super) known: Vec<Change<'a>>,
    /// Files beyond the limits that changed, or that became so.
    pub(super) beyond: Vec<&'a str>,
}

/// A path with the version before and the one after; none where there was no file.
pub(super) type Change<'a> = (&'a str, Option<&'a Version>, Option<&'a Version>);

/// Compares; `began` is the file system's time of the first look.
pub(super) fn diff<'a>(before: &'a Index, after: &'a Index, began: i128) -> Changes<'a> {
    let gone = before.iter().filter(|(path, _)| !after.contains_key(*path));
    let moved: BTreeSet<_> = gone.clone().map(|(_, seen)| seen.stamp.inode).collect();
    let mut changes = Changes::default();
    for (path, old) in gone {
        changes.add(path, Some(old), None);
    }
    for (path, new) in after {
        let old = before.get(path);
        let came_to_be = new.stamp.changed >= began || moved.contains(&new.stamp.inode);
        if old.is_some() || came_to_be {
            changes.add(path, old, Some(new));
        }
    }
    changes.known.sort_by_key(|(path, ..)| *path);
    changes
}

impl<'a> Changes<'a> {
    fn add(&mut self, path: &'a str, old: Option<&'a Seen>, new: Option<&'a Seen>) {
        if old.zip(new).is_some_and(|(old, new)| same(old, new)) {
            return;
        }
        let beyond = |seen: Option<&Seen>| seen.is_some_and(|seen| seen.version.is_none());
        if beyond(old) || beyond(new) {
            return self.beyond.push(path);
        }
        let version = |seen: Option<&'a Seen>| seen.and_then(|seen| seen.version.as_ref());
        self.known.push((path, version(old), version(new)));
    }
}

/// Whether nothing happened that undoing would have to undo.
fn same(old: &Seen, new: &Seen) -> bool {
    match (&old.version, &new.version) {
        (Some(old), Some(new)) => (&old.sha256, old.mode) == (&new.sha256, new.mode),
        (None, None) => old.stamp == new.stamp,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `path@inode:change time:content:mode`; the content `*` is beyond the limits.
    fn index(files: &str) -> Index {
        let entry = |file: &str| {
            let (path, rest) = file.split_once('@').unwrap();
            let parts: Vec<&str> = rest.split(':').collect();
            let [inode, changed, content, mode] = parts[..] else { panic!("{file}") };
            let stamp = Stamp {
                inode: (1, inode.parse().unwrap()),
                changed: changed.parse().unwrap(),
                ..Stamp::default()
            };
            let mode = u32::from_str_radix(mode, 8).unwrap();
            let version = Version { sha256: content.to_owned(), mode, place: Place::default() };
            let version = (content != "*").then_some(version);
            (path.to_owned(), Seen { stamp, settled: true, version })
        };
        files.split_whitespace().map(entry).collect()
    }

    fn shown(changes: &Changes<'_>) -> String {
        let version = |version: Option<&Version>| match version {
            Some(version) => format!("{}:{:o}", version.sha256, version.mode),
            None => "-".to_owned(),
        };
        let known = changes.known.iter();
        let known =
            known.map(|(path, old, new)| format!("{path} {}>{}", version(*old), version(*new)));
        let beyond = changes.beyond.iter().map(|path| format!("{path} ?"));
        known.chain(beyond).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn two_looks_are_compared() {
        for (what, before, after, expected) in [
            ("nothing", "a@1:5:x:644", "a@1:5:x:644", ""),
            ("touched", "a@1:5:x:644", "a@1:20:x:644", ""),
            ("rewritten with the same", "a@1:5:x:644", "a@2:20:x:644", ""),
            ("changed", "a@1:5:x:644", "a@1:20:y:644", "a x:644>y:644"),
            ("changed, change time forged", "a@1:5:x:644", "a@1:5:y:644", "a x:644>y:644"),
            ("made executable", "a@1:5:x:644", "a@1:20:x:755", "a x:644>x:755"),
            ("created", "", "a@1:20:x:644", "a ->x:644"),
            ("created at the very moment", "", "a@1:10:x:644", "a ->x:644"),
            ("deleted", "a@1:5:x:644", "", "a x:644>-"),
            ("renamed", "a@1:5:x:644", "b@1:20:x:644", "a x:644>-, b ->x:644"),
            ("its folder renamed", "a/f@1:5:x:644", "b/f@1:5:x:644", "a/f x:644>-, b/f ->x:644"),
            ("no longer ignored", "", "a@1:5:x:644", ""),
            ("became a link", "a@1:5:x:644", "a@2:20:b:120000", "a x:644>b:120000"),
            ("too large, the same", "a@1:5:*:0", "a@1:5:*:0", ""),
            ("too large, changed", "a@1:5:*:0", "a@1:20:*:0", "a ?"),
            ("became too large", "a@1:5:x:644", "a@1:20:*:0", "a ?"),
            ("no longer too large", "a@1:5:*:0", "a@1:20:x:644", "a ?"),
            ("too large, deleted", "a@1:5:*:0", "", "a ?"),
            ("too large, created", "", "a@1:20:*:0", "a ?"),
            (
                "sorted",
                "b@1:5:x:644",
                "c@2:20:x:644 a@3:20:x:644",
                "a ->x:644, b x:644>-, c ->x:644",
            ),
        ] {
            assert_eq!(shown(&diff(&index(before), &index(after), 10)), expected, "{what}");
        }
    }
}
