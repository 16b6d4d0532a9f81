use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn answers_are_kept_for_exactly_one_content_each() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state/xsh");
    let workspace = Path::new("/a b\nyes other");
    assert_eq!(recall(&state, "one"), None);
    remember(&state, "one", true, workspace).unwrap();
    remember(&state, "two", false, workspace).unwrap();
    assert_eq!(recall(&state, "one"), Some(true));
    assert_eq!(recall(&state, "two"), Some(false));
    for other in ["other", "on", "", "yes", "/a"] {
        assert_eq!(recall(&state, other), None, "{other}");
    }
    remember(&state, "one", false, workspace).unwrap();
    assert_eq!(recall(&state, "one"), Some(false));
    let text = fs::read_to_string(state.join(NAME)).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&state.join(NAME)), mode(&state)), (0o600, 0o700));
}

#[test]
fn the_file_is_bounded_and_what_cannot_be_read_trusts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for index in 0..MAX_LINES + 3 {
        remember(dir.path(), &format!("digest-{index}"), true, Path::new("/w")).unwrap();
    }
    let path = dir.path().join(NAME);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), MAX_LINES);
    assert_eq!(recall(dir.path(), "digest-2"), None);
    assert_eq!(recall(dir.path(), "digest-3"), Some(true));
    for garbage in [b"yes\n\nyes  \n \xff digest-3".as_slice(), b"maybe digest-3 /w", b""] {
        fs::write(&path, garbage).unwrap();
        assert_eq!(recall(dir.path(), "digest-3"), None);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(recall(dir.path(), "digest-3"), None);
    assert!(remember(dir.path(), "digest-3", true, Path::new("/w")).is_err());
}
