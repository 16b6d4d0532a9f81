use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

/// An index of the simplest kind with these repositories in it.
fn index(links: &[&str]) -> Vec<u8> {
    let mut bytes =
        [&b"DIRC\0\0\0\x02"[..], &u32::try_from(links.len()).unwrap().to_be_bytes()].concat();
    for link in links {
        let mut entry = vec![0; 62];
        entry[24..28].copy_from_slice(&0o160_000_u32.to_be_bytes());
        entry[60..62].copy_from_slice(&u16::try_from(link.len()).unwrap().to_be_bytes());
        entry.extend(link.as_bytes());
        entry.resize((entry.len() + 8) & !7, 0);
        bytes.extend(entry);
    }
    bytes.resize(bytes.len() + 20, 0);
    bytes
}

struct Place {
    _folder: TempDir,
    root: PathBuf,
    links: Links,
}

impl Place {
    fn new(files: &[(&str, &str)], linked: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mut place = Self { _folder: folder, root, links: Links::default() };
        place.write(".git/HEAD", "");
        place.write(".git/index", index(linked));
        for (name, content) in files {
            place.write(name, content);
        }
        let found = place.look();
        place.links.take_as_given(&found);
        place.links.began();
        place
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn look(&self) -> Found {
        inner::look(std::slice::from_ref(&self.root), &[], None)
    }

    /// What is to be moved, and the lines that are said, as if only the top was known.
    fn dangers(&mut self) -> (Vec<String>, Vec<String>) {
        let top = Repository { folder: self.root.clone(), git: self.root.join(".git") };
        let found = Found { repositories: vec![top], ..Found::default() };
        let dangers = self.links.dangers(&found, std::slice::from_ref(&self.root));
        let below = |path: PathBuf| path.strip_prefix(&self.root).unwrap().display().to_string();
        (dangers.files.into_iter().map(below).collect(), dangers.said)
    }
}

const EVIL: &str = "[core]\nfsmonitor = ./x\n";

#[test]
fn what_becomes_part_is_judged_by_what_it_says() {
    let mut place = Place::new(&[], &[]);
    place.write("sub/.git/HEAD", "");
    place.write("sub/.git/config", EVIL);
    place.write("sub/.git/hooks/post-index-change", "");
    assert_eq!(place.dangers().0, [""; 0], "it is no part");
    place.write(".git/index", index(&["sub"]));
    assert_eq!(place.dangers().0, ["sub/.git/hooks", "sub/.git/config"]);
    place.write("sub/.git/config", "[core]\nbare = false\n");
    place.write("sub/.git/config.worktree", "");
    place.write("sub/.git/commondir", "../../other");
    fs::rename(
        place.root.join("sub/.git/hooks/post-index-change"),
        place.root.join("sub/.git/hooks/x.sample"),
    )
    .unwrap();
    assert_eq!(place.dangers().0, ["sub/.git/config.worktree", "sub/.git/commondir"]);
}

#[test]
fn a_part_of_a_part_and_one_that_lies_elsewhere() {
    let mut place = Place::new(&[], &["sub", "gone", "file"]);
    place.write("sub/.git/HEAD", "");
    place.write("sub/.git/index", index(&["deep"]));
    place.write("sub/deep/.git", "gitdir: ../../git-folder\n");
    place.write("git-folder/config", EVIL);
    place.write("file", "");
    assert_eq!(place.dangers().0, ["sub/deep/.git"]);
    std::os::unix::fs::symlink("sub", place.root.join("gone")).unwrap();
    assert_eq!(place.dangers().0, ["sub/deep/.git"], "git follows no link to a part");
}

#[test]
fn what_was_a_part_before_is_the_users() {
    let evil = [("sub/.git/HEAD", ""), ("sub/.git/config", EVIL), ("sub2/.git/config", EVIL)];
    let mut place = Place::new(&evil, &["sub"]);
    assert_eq!(place.dangers(), (vec![], vec![]));
    // One that was there but no part is not taken away, but told of.
    place.write(".git/index", index(&["sub", "sub2"]));
    let (files, said) = place.dangers();
    assert!(
        files.is_empty() && said.len() == 1 && said[0].contains("sub2/.git/config"),
        "{said:?}"
    );
    assert_eq!(place.dangers().1, [""; 0], "once");
    // What the user makes while no command runs is the user's too.
    let mut place = Place::new(&[], &[]);
    place.write("sub/.git/config", EVIL);
    place.write(".git/index", index(&["sub"]));
    let found = place.look();
    place.links.take_as_given(&found);
    assert_eq!(place.dangers().0, ["sub/.git/config"], "a command runs");
    place.links.ended();
    place.links.take_as_given(&found);
    assert_eq!(place.dangers(), (vec![], vec![]));
}

#[test]
fn an_index_that_is_not_understood_makes_everything_a_part() {
    let mut place = Place::new(&[], &[]);
    place.write("sub/.git/config", EVIL);
    place.write(".git/index", "DIRC and so on");
    let (files, said) = place.dangers();
    assert_eq!(files, ["sub/.git/config"]);
    assert!(said[0].contains("was not understood"), "{said:?}");
    // One that is built on another.
    let mut base = index(&[]);
    base.splice(base.len() - 20.., [&b"link\0\0\0\x14"[..], &[0xab; 20], &[0; 20]].concat());
    place.write(".git/index", base);
    place.write(&format!(".git/sharedindex.{}", "ab".repeat(20)), index(&["sub"]));
    assert_eq!(place.dangers().0, ["sub/.git/config"]);
}
