use super::*;

#[test]
fn folders_made_in_vain_go_again() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b/c");
    drop(Folders::create(&deep).unwrap());
    assert!(!dir.path().join("a").exists());
    let made = Folders::create(&deep).unwrap();
    fs::write(dir.path().join("a/theirs"), "").unwrap();
    drop(made);
    assert!(dir.path().join("a/theirs").exists() && !dir.path().join("a/b").exists());
    Folders::create(&deep).unwrap().keep();
    assert!(deep.is_dir());
}

#[test]
fn any_change_of_a_file_shows_in_its_stamp() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    fs::write(&path, "one").unwrap();
    let before = stamp(&fs::metadata(&path).unwrap());
    assert_eq!(stamp(&fs::metadata(&path).unwrap()), before);
    fs::remove_file(&path).unwrap();
    fs::write(dir.path().join("g"), "two").unwrap();
    fs::rename(dir.path().join("g"), &path).unwrap();
    assert_ne!(stamp(&fs::metadata(&path).unwrap()), before);
}
