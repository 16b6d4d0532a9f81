use std::path::PathBuf;

use super::*;
use crate::client::profile::GENERIC;
use crate::event::{Author, UserMessage};

/// A store in a folder of its own, and how to make sessions in it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn workspace(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn store(&self, workspace: &Path) -> Store {
        let (store, warning) =
            Store::open(workspace, Some(&self.folder.path().join("state")), true);
        assert_eq!(warning, None);
        store
    }

    /// A session that says `text`, and its id.
    fn session(&self, workspace: &Path, text: &str) -> String {
        let mut session = self.store(workspace).create(workspace, &GENERIC);
        let content = text.to_owned();
        let message = UserMessage { turn: 1, content, author: Author::User };
        session.record(Event::UserMessage(message)).unwrap();
        session.header.id.clone()
    }
}

fn id_of(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

/// A file time in 2040, as a broken clock leaves it.
fn far_future() -> SystemTime {
    SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(70 * 365 * 24)
}

#[test]
fn nothing_is_written_before_the_first_event() {
    let place = Place::new();
    let workspace = place.workspace("app");
    drop(place.store(&workspace).create(&workspace, &GENERIC));
    assert!(!workspace.join(".xsh").exists());
}

#[test]
fn files_and_folders_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let workspace = place.workspace("app");
    let id = place.session(&workspace, "hi");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(workspace.join(".xsh")), 0o700);
    assert_eq!(mode(workspace.join(".xsh/sessions")), 0o700);
    assert_eq!(mode(workspace.join(format!(".xsh/sessions/{id}.jsonl"))), 0o600);
    assert_eq!(fs::read_to_string(workspace.join(".xsh/.gitignore")).unwrap(), "*\n");
}

#[test]
fn the_latest_is_the_one_used_last_whatever_the_clock_says() {
    let place = Place::new();
    let workspace = place.workspace("app");
    let first = place.session(&workspace, "first");
    let second = place.session(&workspace, "second");
    let store = place.store(&workspace);
    let file = |id: &str| workspace.join(format!(".xsh/sessions/{id}.jsonl"));
    fs::File::options()
        .append(true)
        .open(file(&first))
        .unwrap()
        .set_modified(far_future())
        .unwrap();
    assert_eq!(store.find(None, None).unwrap(), file(&second));
    assert_eq!(store.find(None, Some(&second)).unwrap(), file(&first));
    fs::remove_file(workspace.join(".xsh/sessions/latest")).unwrap();
    assert_eq!(store.find(None, None).unwrap(), file(&first), "file times stand in");
    for torn in ["", "{\"type\":\"sess"] {
        fs::write(file("torn"), torn).unwrap();
        fs::File::options()
            .append(true)
            .open(file("torn"))
            .unwrap()
            .set_modified(far_future())
            .unwrap();
        assert_eq!(store.find(None, None).unwrap(), file(&first), "killed before it began");
    }
}

#[test]
fn a_session_is_found_by_id_beginning_path_and_from_elsewhere() {
    let place = Place::new();
    let (here, there) = (place.workspace("here"), place.workspace("there"));
    let id = place.session(&here, "hi");
    let file = here.join(format!(".xsh/sessions/{id}.jsonl"));
    let beginning = id.get(..id.len() - 2).unwrap();
    assert_eq!(place.store(&here).find(Some(&id), None).unwrap(), file);
    assert_eq!(place.store(&here).find(Some(beginning), None).unwrap(), file);
    assert_eq!(place.store(&here).find(file.to_str(), None).unwrap(), file);
    assert_eq!(place.store(&there).find(Some(&id), None).unwrap(), file);
    assert!(place.store(&there).find(None, None).is_err(), "only sessions of this folder");
}

#[test]
fn what_is_not_found_or_not_unique_is_said() {
    let place = Place::new();
    let workspace = place.workspace("app");
    place.session(&workspace, "one");
    place.session(&workspace, "two");
    let store = place.store(&workspace);
    let why = |id: &str| store.find(Some(id), None).unwrap_err().to_string();
    assert!(why("nope").contains("no such session: nope"), "{}", why("nope"));
    assert!(why("2").contains("fits 2 sessions"), "{}", why("2"));
}

#[test]
fn lists_are_newest_first_with_titles() {
    let place = Place::new();
    let workspace = place.workspace("app");
    place.session(&workspace, "first\nline two");
    let second = place.session(&workspace, "second");
    let file = workspace.join(format!(".xsh/sessions/{second}.jsonl"));
    fs::File::options().append(true).open(file).unwrap().set_modified(far_future()).unwrap();
    fs::write(workspace.join(".xsh/sessions/broken.jsonl"), "nonsense").unwrap();
    let listing = place.store(&workspace).list(false, 10, &CancellationToken::new());
    let titles: Vec<&str> = listing.sessions.iter().map(|listed| listed.title.as_str()).collect();
    assert_eq!((titles, listing.unreadable, listing.older), (vec!["second", "first"], 1, 0));
    let listing = place.store(&workspace).list(false, 1, &CancellationToken::new());
    assert_eq!((listing.sessions.len(), listing.older), (1, 2));
    let other = place.workspace("other");
    assert_eq!(place.store(&other).list(false, 10, &CancellationToken::new()), Listing::default());
    assert_eq!(place.store(&other).list(true, 10, &CancellationToken::new()).sessions.len(), 2);
}

#[test]
fn a_read_only_workspace_uses_the_state_folder_and_no_folder_at_all_is_a_warning() {
    let place = Place::new();
    // A file in the folder's place cannot be written into, not even by root.
    let workspace = place.folder.path().join("file");
    fs::write(&workspace, "").unwrap();
    let state = place.folder.path().join("state");
    let (store, warning) = Store::open(&workspace, Some(&state), true);
    assert_eq!(warning, None);
    assert!(store.folder().unwrap().starts_with(&state));
    let (store, warning) = Store::open(&workspace, None, true);
    assert!(store.folder().is_none());
    assert!(warning.unwrap().contains("nothing can be saved"));
    let id = id_of(Path::new("a/b.jsonl"));
    assert_eq!(id, "b");
}

#[test]
fn a_session_that_was_killed_while_it_was_made_counts_as_none() {
    let place = Place::new();
    let workspace = place.workspace("app");
    let id = place.session(&workspace, "hi");
    let folder = workspace.join(".xsh/sessions");
    for (half, content) in
        [("20990101T000000Z-aaaaaa", ""), ("20990101T000001Z-bbbbbb", "{\"type\":\"se")]
    {
        let path = folder.join(format!("{half}.jsonl"));
        fs::write(&path, content).unwrap();
        // Also where it is named as the one used last.
        fs::write(folder.join("latest"), half).unwrap();
        let store = place.store(&workspace);
        assert_eq!(id_of(&store.find(None, None).unwrap()), id);
        let listing = store.list(false, 10, &CancellationToken::new());
        assert_eq!((listing.sessions.len(), listing.unreadable), (1, 0));
        let error = log::read_header(&path).unwrap_err().to_string();
        assert!(error.contains("it holds nothing"), "{error}");
    }
}

#[test]
fn a_search_that_is_to_stop_ends() {
    let place = Place::new();
    let workspace = place.workspace("app");
    place.session(&workspace, "needle");
    let (store, query) = (place.store(&workspace), Query::new("needle").unwrap());
    let stop = CancellationToken::new();
    assert_eq!(store.search(&query, false, 9, &stop).len(), 1);
    stop.cancel();
    assert_eq!(store.search(&query, false, 9, &stop).len(), 0);
    assert_eq!(store.list(false, 9, &stop).sessions.len(), 0);
}
