//! Who wrote a session file: this user's xsh, or somebody else, in a cloned repository for instance.
//!
//! What a session holds goes to the model as the user's own words, so a file that came from elsewhere
//! must not be gone on with unasked. The header of each new session carries a mark, made from the rest
//! of it with a random key in the user's state folder: it holds wherever the workspace is moved or
//! copied, and nobody else can make one. Whoever has got hold of a marked header could put other
//! events behind it; sessions are readable by their user alone.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::{clock, log, store};
use crate::event::Header;
use crate::hash;

/// Where the key lies in the state folder.
pub const KEY_FILE: &str = "session-key";
/// Bytes of the key.
const KEY: usize = 32;

/// Who wrote a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This user's xsh; or there is no state folder that could tell.
    Own,
    /// Nothing shows who: this user's xsh has not written any session yet.
    Unknown,
    /// Somebody else, or this user on another machine.
    Foreign,
}

/// What a session that somebody else wrote means.
pub const WARNING: &str = "this session was not written by your xsh on this machine; what it says goes to the model as \
                           your own words";

/// The next step, where one is not gone on with.
pub fn advice(id: &str) -> String {
    format!("`xsh sessions show {id}` shows it; `xsh --resume {id}` goes on with it all the same")
}

/// Why a session does not work in the folder that it names.
pub fn stays(origin: Origin, recorded: &str, here: &Path) -> String {
    let why = match origin {
        Origin::Own => "is gone",
        // It may well be gone too, but that is not the reason.
        Origin::Unknown | Origin::Foreign => "is not taken from a session that may not be your own",
    };
    format!("the session's folder {recorded} {why}; working in {}", here.display())
}

/// The mark for the header of a new session; none where no key can be kept. `refuge` is the folder in
/// the state folder that takes this workspace's sessions.
pub(super) fn mark(header: &Header, refuge: Option<&Path>) -> Option<String> {
    let path = key_file(refuge?)?;
    let key = read_key(&path).or_else(|| make_key(&path).ok())?;
    sign(header, &key)
}

/// Who wrote the session with this file and header.
pub(super) fn of(path: &Path, header: &Header, refuge: Option<&Path>) -> Origin {
    if fs::metadata(path).is_ok_and(|meta| meta.uid() != geteuid().as_raw()) {
        return Origin::Foreign;
    }
    let Some(file) = refuge.and_then(key_file) else { return Origin::Own };
    match read_key(&file) {
        Some(key) if header.mark.is_some() && header.mark == sign(header, &key) => Origin::Own,
        Some(_) => Origin::Foreign,
        // A session of one's own would have made the key, if there is a place for it.
        None if !file.exists() && file.parent().is_some_and(store::can_hold) => Origin::Unknown,
        None => Origin::Own,
    }
}

fn sign(header: &Header, key: &[u8]) -> Option<String> {
    let unmarked = Header { mark: None, ..header.clone() };
    let message = serde_json::to_vec(&unmarked).ok()?;
    Some(hash::keyed(key, &message))
}

/// The state folder is two above the refuge.
fn key_file(refuge: &Path) -> Option<PathBuf> {
    Some(refuge.ancestors().nth(2)?.join(KEY_FILE))
}

fn read_key(path: &Path) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    fs::File::open(path).ok()?.take(KEY as u64 + 1).read_to_end(&mut key).ok()?;
    (key.len() == KEY).then_some(key)
}

/// Two that start at once must get the same key: the first file that is there stays.
fn make_key(path: &Path) -> io::Result<Vec<u8>> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    log::make_private_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&clock::secret::<KEY>()?)?;
    let made = file.persist_noclobber(path);
    read_key(path).ok_or_else(|| made.err().map_or(io::ErrorKind::Other.into(), |e| e.error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(id: &str) -> Header {
        Header {
            kind: "session".into(),
            version: 1,
            id: id.into(),
            created_at: "2026-01-01T00:00:00.000Z".into(),
            cwd: "/w".into(),
            xsh: "0".into(),
            forked_from: None,
            mark: None,
        }
    }

    #[test]
    fn only_what_was_marked_with_the_users_key_is_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("s.jsonl");
        fs::write(&log, "").unwrap();
        let refuge = |user: &str| dir.path().join(user).join("sessions/w-1");
        let (mine, theirs) = (refuge("mine"), refuge("theirs"));
        let plain = header("a");
        assert_eq!(of(&log, &plain, Some(&mine)), Origin::Unknown, "no key yet");
        assert_eq!(of(&log, &plain, None), Origin::Own, "nobody can tell");
        let marked = Header { mark: mark(&plain, Some(&mine)), ..plain.clone() };
        let again = Header { mark: mark(&marked, Some(&mine)), ..plain.clone() };
        assert_eq!(marked, again);
        assert_eq!(of(&log, &marked, Some(&mine)), Origin::Own);
        assert_eq!(of(&log, &plain, Some(&mine)), Origin::Foreign);
        assert_eq!(
            of(&log, &Header { id: "b".into(), ..marked.clone() }, Some(&mine)),
            Origin::Foreign
        );
        assert_eq!(of(&log, &marked, Some(&theirs)), Origin::Unknown);
        assert!(mark(&plain, Some(&theirs)) != marked.mark);
        assert_eq!(of(&log, &marked, Some(&theirs)), Origin::Foreign);
        let mode = fs::metadata(dir.path().join("mine/session-key")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn where_no_key_can_be_kept_nothing_is_said() {
        let dir = tempfile::tempdir().unwrap();
        // A file in the folder's place cannot be written into, not even by root.
        fs::write(dir.path().join("state"), "").unwrap();
        let refuge = dir.path().join("state/sessions/w-1");
        assert_eq!(mark(&header("a"), Some(&refuge)), None);
        assert_eq!(of(&dir.path().join("state"), &header("a"), Some(&refuge)), Origin::Own);
    }
}
