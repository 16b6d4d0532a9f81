use proptest::prelude::*;

use super::*;

/// Writes an index as git does.
fn written(version: u32, hash: usize, entries: &[(u32, String)], extensions: &[u8]) -> Vec<u8> {
    let mut bytes = b"DIRC".to_vec();
    bytes.extend(version.to_be_bytes());
    bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
    let mut last = String::new();
    for (mode, name) in entries {
        let start = bytes.len();
        bytes.extend([7; 24]);
        bytes.extend(mode.to_be_bytes());
        bytes.resize(start + STAT + hash, 7);
        let extended = version > 2;
        let length = u16::try_from(name.len().min(0xfff)).unwrap();
        bytes.extend((length | if extended { 0x4000 } else { 0 }).to_be_bytes());
        bytes.extend(if extended { &[0, 0][..] } else { &[] });
        if version == 4 {
            let pairs = last.bytes().zip(name.bytes());
            let same = pairs.take_while(|(a, b)| a == b).count();
            bytes.extend(varint(last.len() - same));
            bytes.extend(&name.as_bytes()[same..]);
            bytes.push(0);
        } else {
            bytes.extend(name.as_bytes());
            bytes.resize(bytes.len() + 8 - (bytes.len() - start) % 8, 0);
        }
        last.clone_from(name);
    }
    bytes.extend(extensions);
    bytes.resize(bytes.len() + hash, 9);
    bytes
}

/// As git writes a number of variable length.
fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(value & 0x7f).unwrap()];
    value >>= 7;
    while value != 0 {
        value -= 1;
        bytes.insert(0, u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes
}

fn entry(mode: u32, name: &str) -> (u32, String) {
    (mode, name.to_owned())
}

const FILE: u32 = 0o100_644;

proptest! {
    #[test]
    fn what_is_written_is_found(
        names in proptest::collection::btree_set("[a-c]{1,3}(/[a-c]{1,200}){0,2}", 0..20),
        links in proptest::collection::vec(any::<bool>(), 20),
        bits in proptest::sample::select(&[0, 1, 0o755]),
        version in 2_u32..=4,
        hash in proptest::sample::select(&HASHES),
    ) {
        // Git looks at the kind alone.
        let modes = links.iter().map(|link| if *link { LINK | bits } else { FILE });
        let entries: Vec<_> = modes.zip(names).collect();
        let bytes = written(version, hash, &entries, b"TREE\0\0\0\x02ab");
        let expected: Vec<_> =
            entries.iter().filter(|entry| entry.0 & KIND == LINK).map(|entry| PathBuf::from(&entry.1)).collect();
        prop_assert_eq!(index(&bytes, hash), Some(Index { links: expected, base: None }));
        let bytes = written(version, hash, &entries, b"");
        for cut in 0..bytes.len() {
            prop_assert_eq!(index(&bytes[..cut], hash), None);
        }
    }

    #[test]
    fn nothing_that_is_spoiled_leads_to_a_panic(
        version in 2_u32..=4,
        at in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let entries = [entry(FILE, "a"), entry(LINK, "a/b"), entry(LINK, "a/bc"), entry(FILE, "z")];
        let mut bytes = written(version, 20, &entries, b"IEOT\0\0\0\x04\0\0\0\x01");
        for (at, byte) in at {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = HASHES.map(|hash| index(&bytes, hash));
    }

    #[test]
    fn no_bytes_lead_to_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (HASHES.map(|hash| index(&bytes, hash)), settings(&bytes), pointer(&bytes));
        let head = [&b"DIRC\0\0\0\x04\0\0\0\x09"[..], &bytes].concat();
        let _ = index(&head, 20);
    }
}

#[test]
fn what_could_mislead_is_not_understood() {
    let cases: [(&str, Vec<u8>); 10] = [
        ("a folder instead of its entries", written(2, 20, &[entry(FOLDER, "a/")], b"")),
        ("a way out", written(2, 20, &[entry(LINK, "../a")], b"")),
        ("an absolute path", written(4, 20, &[entry(LINK, "/a")], b"")),
        ("no name", written(2, 20, &[entry(LINK, "")], b"")),
        ("a name with an end in it", written(2, 20, &[entry(LINK, "sub\0x")], b"")),
        ("another version", written(5, 20, &[], b"")),
        ("a wrong end", written(2, 20, &[], b"EOIE\0\0\0\x04\0\0\0\x0d")),
        (
            "a wrong start",
            written(2, 20, &[entry(FILE, "a")], b"IEOT\0\0\0\x0c\0\0\0\x01\0\0\0\x0d\0\0\0\x01"),
        ),
        ("an extension beyond the end", written(2, 20, &[], b"TREE\0\0\xff\xff")),
        ("something at the end", written(2, 20, &[], b"abc")),
    ];
    for (what, bytes) in cases {
        assert_eq!(index(&bytes, 20), None, "{what}");
    }
    let right = b"EOIE\0\0\0\x04\0\0\0\x0cIEOT\0\0\0\x0c\0\0\0\x01\0\0\0\x0c\0\0\0\x00";
    assert_eq!(index(&written(2, 20, &[], &right[..12]), 20), Some(Index::default()));
    let base = [&b"link\0\0\0\x14"[..], &[0xab; 20]].concat();
    let found = index(&written(2, 20, &[entry(FILE, "")], &base), 20).unwrap();
    assert_eq!(found.base, Some("ab".repeat(20)));
}

#[test]
fn settings_are_read_as_git_reads_them() {
    let text = b"\xef\xbb\xbf# x\n[core]\n\tHooksPath = \"a b\" ; c\n[Include] Path=x\\\\y\r\n[a \"b.c\"][core]e\n f = #\n";
    let found: Vec<_> = settings(text)
        .into_iter()
        .map(|setting| format!("{}.{}={}", setting.section, setting.key, setting.value))
        .collect();
    assert_eq!(found, ["core.hookspath=a b", "include.path=x\\y", "core.e=", "core.f="]);
}

#[test]
fn plain_settings_are_those_that_have_nothing_run() {
    for (text, expected) in [
        ("", true),
        ("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = ../x\n\tfetch = +a:b\n", true),
        ("[branch \"x\"]\nremote = o\nmerge = m\n[user]\nname = [core]\n", true),
        ("[core]\nfsmonitor = x", false),
        ("[core] fsmonitor = x", false),
        ("[user][core]fsmonitor=x", false),
        ("[user]\nname = x\\\nfsmonitor = y", false),
        ("[core \"x\"]fsmonitor", false),
        ("[remote \"a]\"]\nfsmonitor=x", false),
        ("[include]\npath = x", false),
        ("[includeIf \"gitdir:x\"]\npath = x", false),
        ("[filter \"x\"]\nclean = x", false),
        ("[remote \"o\"]\nuploadpack = x", false),
        ("[extensions]\nworktreeConfig = true", false),
        ("name = x", false),
        ("[core]\nworktree = ../own", true),
        ("[core]\nworktree = ../other", false),
        ("[core]\nworktree = ../own\\\n/../other", false),
    ] {
        assert_eq!(is_plain(text.as_bytes(), |tree| tree == "../own"), expected, "{text}");
    }
}

#[test]
fn a_pointer_leads_where_git_goes() {
    for (text, expected) in [
        (&b"gitdir: ../a b\n"[..], Some("../a b")),
        (b"gitdir: a\r\n\n", Some("a")),
        (b"gitdir: a\0b", Some("a")),
        (b"gitdir: a \n", Some("a ")),
        (b"gitdir: a\t\r\n", Some("a\t")),
        (b"gitdir:a", None),
        (b"gitdir: \n", None),
        (b"", None),
    ] {
        assert_eq!(pointer(text), expected.map(PathBuf::from));
    }
}
