use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tools::walk::tests::Tree;

/// The result of a search that works.
#[track_caller]
fn grep(tree: &Tree, args: serde_json::Value) -> String {
    let outcome = tree.run::<Grep>(args);
    assert!(!outcome.is_error, "{}", outcome.content);
    outcome.content
}

/// The result of a search that is refused.
#[track_caller]
fn fault(tree: &Tree, args: serde_json::Value) -> String {
    let outcome = tree.run::<Grep>(args);
    assert!(outcome.is_error, "{}", outcome.content);
    outcome.content
}

fn tree() -> Tree {
    Tree::new(&[
        ("b.txt", "one\ntwo\nthree\nfour\nfive\ntwo again\n"),
        ("a/x.rs", "fn two() {}\n"),
        ("a/y.rs", "nothing\n"),
    ])
}

#[test]
fn matches_are_grouped_by_file_in_path_order() {
    let outcome = tree().run::<Grep>(json!({"pattern": "two"}));
    assert_eq!(
        outcome.content,
        "a/x.rs\n1: fn two() {}\n\nb.txt\n2: two\n6: two again\n[3 matching lines in 2 files.]"
    );
    assert_eq!(outcome.summary, "3 matches in 2 files");
}

#[test]
fn context_shows_gaps() {
    assert_eq!(
        grep(&tree(), json!({"pattern": "two", "context": 1, "path": "b.txt"})),
        "b.txt\n1- one\n2: two\n3- three\n--\n5- five\n6: two again"
    );
    let content = grep(&tree(), json!({"pattern": "three", "context": 99}));
    assert!(content.ends_with("[`context` is at most 10; 99 was asked for.]"), "{content}");
}

#[test]
fn modes_list_files_and_counts() {
    assert_eq!(grep(&tree(), json!({"pattern": "two", "mode": "files"})), "a/x.rs\nb.txt");
    assert_eq!(
        grep(&tree(), json!({"pattern": "two", "mode": "count", "context": 3})),
        "a/x.rs: 1\nb.txt: 2\n[3 matching lines in 2 files.]"
    );
}

#[test]
fn a_glob_narrows() {
    for (glob, expected) in [
        ("*.rs", "a/x.rs"),
        ("a/**", "a/x.rs"),
        ("!*.rs", "b.txt"),
        ("!a/**", "b.txt"),
        ("*.{txt,md}", "b.txt"),
    ] {
        let args = json!({"pattern": "two", "glob": glob, "mode": "files"});
        assert_eq!(grep(&tree(), args), expected, "{glob}");
    }
    let content = grep(&tree(), json!({"pattern": "two", "glob": "*.go"}));
    assert_eq!(content, "Nothing was searched: no file in `.` matches the glob `*.go`.");
    let content = grep(&tree(), json!({"pattern": "zwei", "glob": "*.rs"}));
    assert_eq!(content, "No matches for `zwei` in `.` (2 files matching `*.rs` searched).");
}

#[test]
fn a_pattern_with_a_dash_is_data() {
    let text = "-moz-user-select: none\n--pre=sh\n-e\n-1\n--\n";
    let tree = Tree::new(&[("-x/-f.css", text)]);
    for (line, pattern) in
        [(1, "-moz-user-select"), (2, "--pre=sh"), (3, "^-e$"), (4, "-1"), (5, "^--$")]
    {
        let content = grep(&tree, json!({"pattern": pattern, "path": "-x"}));
        let text = text.lines().nth(line - 1).unwrap();
        assert_eq!(content, format!("-x/-f.css\n{line}: {text}"), "{pattern}");
    }
}

#[test]
fn invalid_patterns_are_errors_with_their_place() {
    let tree = tree();
    for (pattern, expected) in [
        ("(", "at character 1"),
        ("ab[", "at character 3"),
        ("a)(b", "at character 2"),
        ("one\ntwo(", "at character 8"),
        ("*x", "at character 1"),
        ("日本(", "at character 3"),
        (r"a\p{Nope}", "at character 2"),
        ("x{1000}{1000}{1000}", "size limit"),
        ("(?=x)", "look-around"),
        ("", "empty"),
    ] {
        let content = fault(&tree, json!({"pattern": pattern}));
        assert!(content.contains(expected), "{pattern}: {content}");
        assert!(pattern.is_empty() || content.contains("literal"), "{content}");
    }
    let deep = "(".repeat(5_000) + &")".repeat(5_000);
    assert!(fault(&tree, json!({ "pattern": deep })).contains("nest"));
    assert!(grep(&tree, json!({"pattern": "(", "literal": true})).contains("x.rs"));
}

#[test]
fn case_and_unicode() {
    let tree = Tree::new(&[("f", "GRÜSSE\ngrüße\nстрока\n日本語 text\n")]);
    for (args, expected) in [
        (json!({"pattern": "grü", "ignore_case": true}), "f\n1: GRÜSSE\n2: grüße"),
        (json!({"pattern": r"^\w+$"}), "f\n1: GRÜSSE\n2: grüße\n3: строка"),
        (json!({"pattern": "本.", "path": "f"}), "f\n4: 日本語 text"),
        (json!({"pattern": "СТРОКА", "ignore_case": true, "literal": true}), "f\n3: строка"),
    ] {
        assert_eq!(grep(&tree, args), expected);
    }
}

#[test]
fn line_ends_are_no_part_of_a_line() {
    let tree = Tree::new(&[("crlf", "one\r\ntwo\r\nthree"), ("lf", "two\n\ntwo")]);
    let content = grep(&tree, json!({"pattern": "^two$"}));
    assert_eq!(content, "crlf\n2: two\n\nlf\n1: two\n3: two\n[3 matching lines in 2 files.]");
    assert_eq!(grep(&tree, json!({"pattern": "three$"})), "crlf\n3: three");
}

#[test]
fn a_pattern_may_go_over_line_ends() {
    let tree = Tree::new(&[("f", "a(\n  b,\n)\nc\n"), ("g", "a(\r\n  b,\r\n)")]);
    for args in [
        json!({"pattern": "a\\(\\n +b", "glob": "f"}),
        json!({"pattern": r"a\([\s\S]*?b", "glob": "f"}),
        json!({"pattern": "(?s)a.*?b", "glob": "f"}),
        json!({"pattern": "a(\n  b", "literal": true, "glob": "f"}),
    ] {
        assert_eq!(grep(&tree, args.clone()), "f\n1: a(\n2:   b,", "{args}");
    }
    let content = grep(&tree, json!({"pattern": "a(\n  b", "literal": true, "mode": "files"}));
    assert_eq!(content, "f\ng");
    assert!(grep(&tree, json!({"pattern": r"a\(\s+b"})).starts_with("No matches"));
}

#[test]
fn binary_files_are_named() {
    let tree = Tree::new(&[("text", "needle\n")]);
    tree.write("early.bin", b"\0\x01\nneedle\n\x02");
    let mut late = b"needle\n".repeat(20_000);
    late.push(0);
    tree.write("late.bin", &late);
    tree.write("none.bin", b"\0\x01");
    let content = grep(&tree, json!({"pattern": "needle"}));
    assert!(content.starts_with("binary file matches: early.bin\n"), "{content}");
    assert!(content.contains("binary file matches: late.bin\n"), "{content}");
    assert!(content.contains("text\n1: needle"), "{content}");
    assert!(!content.contains("none.bin"), "{content}");
    let content = grep(&tree, json!({"pattern": "needle", "path": "early.bin"}));
    assert_eq!(content, "binary file matches: early.bin");
}

#[test]
fn other_encodings_are_read() {
    let tree = Tree::new(&[("utf8-bom", "\u{feff}needle\n")]);
    let utf16: Vec<u8> =
        "\u{feff}x\nneedle ü\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.write("utf16", &utf16);
    tree.write("latin1", b"needle \xfc\n");
    assert_eq!(
        grep(&tree, json!({"pattern": "^needle"})),
        "latin1\n1: needle \u{fffd}\n\nutf16\n2: needle ü\n\nutf8-bom\n1: needle\n\
         [3 matching lines in 3 files.]"
    );
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let line = format!("{}needle{}", "ä".repeat(5_000), "ö".repeat(5_000));
    let tree = Tree::new(&[("f", &line)]);
    let content = grep(&tree, json!({"pattern": "needle"}));
    assert!(content.starts_with("f\n1: …ä"), "{content}");
    assert!(content.contains("äneedleö"), "{content}");
    assert!(content.ends_with("ö… [cut: the line has 20006 bytes]"), "{content}");
    assert!(!content.contains('\u{fffd}'), "{content}");
    assert!(content.len() < 600, "{}", content.len());
}

#[test]
fn a_huge_line_is_searched() {
    let tree = Tree::new(&[]);
    let mut line = vec![b'x'; 50 << 20];
    line.extend_from_slice(b"needle");
    tree.write("f", &line);
    let content = grep(&tree, json!({"pattern": "needle"}));
    assert!(content.ends_with("needle [cut: the line has 52428806 bytes]"), "{content}");
    assert!(content.len() < 600, "{}", content.len());
}

#[test]
fn what_is_too_long_to_search_is_said() {
    let tree = Tree::new(&[("small", "a\nb\n")]);
    tree.write("large", &vec![b'x'; 65 << 20]);
    let content = grep(&tree, json!({"pattern": "a\\nb"}));
    assert_eq!(
        content,
        "small\n1: a\n2: b\n[Not searched to the end: 1 file, where the pattern goes over line \
         ends and the file is over 64 MiB.]"
    );
}

#[test]
fn a_cut_result_has_the_totals_and_every_folder() {
    let many = "hit\n".repeat(200);
    let tree = Tree::new(&[("a/1", &many), ("a/2", &many), ("b/3", &many), ("z", "hit\n")]);
    let outcome = tree.run::<Grep>(json!({"pattern": "hit"}));
    let hits = outcome.content.lines().filter(|line| line.ends_with(": hit")).count();
    assert_eq!(hits, MAX_LINES);
    assert_eq!(outcome.summary, "601 matches in 4 files");
    let last = outcome.content.lines().last().unwrap();
    assert!(last.starts_with("[601 matching lines in 4 files; the first 250 are shown."), "{last}");
    assert!(last.contains("By folder: a 400, b 200, . 1."), "{last}");
    assert_eq!(tree.run::<Grep>(json!({"pattern": "hit"})), outcome, "the same on every run");
}

#[test]
fn a_result_is_bounded_in_bytes() {
    let wide = format!("hit {}\n", "w".repeat(390)).repeat(300);
    let tree = Tree::new(&[("a", &wide), ("b", &wide)]);
    let content = grep(&tree, json!({"pattern": "hit", "context": 10}));
    assert!(content.len() <= MAX_BYTES, "{}", content.len());
    let shown = content.lines().filter(|line| line.contains(": hit")).count();
    let note = format!("[600 matching lines in 2 files; the first {shown} are shown.");
    assert!(content.contains(&note), "{note}");
}

#[test]
fn lists_of_files_are_bounded() {
    let names: Vec<String> = (0..600).map(|index| format!("d/{index:03}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "hit")).collect();
    let tree = Tree::new(&files);
    for mode in ["files", "count"] {
        let content = grep(&tree, json!({"pattern": "hit", "mode": mode}));
        assert_eq!(content.lines().count(), MAX_FILES + 1, "{mode}");
        assert!(content.starts_with("d/000"), "{mode}");
        assert!(content.contains("[600 files match; the first 500 are shown."), "{mode}");
    }
}

#[test]
fn what_was_left_out_is_said() {
    let tree = Tree::new(&[
        (".gitignore", "/target\n"),
        ("target/x", "needle\n"),
        (".git/config", "needle\n"),
        (".xsh/sessions/s.jsonl", "needle\n"),
        ("a", "hay\n"),
    ]);
    tree.fifo("pipe");
    tree.link("a", "link");
    assert_eq!(
        grep(&tree, json!({"pattern": "needle"})),
        "No matches for `needle` in `.` (2 files searched).\n[Left out: what git ignores (name it \
         in `path` to look there); not followed: links (1); pipes, sockets or devices (1).]"
    );
    for path in ["target", "target/x"] {
        let content = grep(&tree, json!({"pattern": "needle", "path": path}));
        assert_eq!(content, "target/x\n1: needle");
    }
    assert_eq!(grep(&tree, json!({"pattern": "hay", "path": "link"})), "a\n1: hay");
    let content = fault(&tree, json!({"pattern": "x", "path": "pipe"}));
    assert!(content.contains("pipe, socket or device"), "{content}");
}

#[test]
fn a_file_that_cannot_be_read_is_counted() {
    let tree = Tree::new(&[("a", "x\n"), ("b", "x\n")]);
    fs::set_permissions(tree.root.join("a"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(tree.root.join("a")).is_ok() {
        return; // The superuser reads everything.
    }
    let content = grep(&tree, json!({"pattern": "x"}));
    assert_eq!(content, "b\n1: x\n[Left out: unreadable (1).]");
}

#[test]
fn a_missing_path_names_near_ones() {
    let content = fault(&tree(), json!({"pattern": "x", "path": "a/z.rs"}));
    assert!(content.contains("`a/z.rs` does not exist"), "{content}");
    assert!(content.contains("`x.rs`") && content.contains("`y.rs`"), "{content}");
    let content = fault(&tree(), json!({"pattern": "x", "path": "../.."}));
    assert!(content.contains("outside"), "{content}");
}

#[test]
fn an_interrupt_is_said() {
    let tree = tree();
    tree.cancel.cancel();
    assert!(fault(&tree, json!({"pattern": "two"})).contains("Interrupted"));
    assert!(fault(&tree, json!({"pattern": "two", "path": "b.txt"})).contains("Interrupted"));
}

#[test]
fn reading_ends_at_an_interrupt() {
    let tree = Tree::new(&[("f", "x\n")]);
    let file = fs::File::open(tree.root.join("f")).unwrap();
    let (until, hollow) = (walk::Until::new(&tree.cancel), Cell::new(false));
    let mut watched = search::Watched { file, until, hollow: &hollow };
    tree.cancel.cancel();
    let error = std::io::Read::read(&mut watched, &mut [0; 8]).unwrap_err();
    assert_ne!(error.kind(), std::io::ErrorKind::Interrupted, "that kind is tried again");
}

/// The file is far larger than what could be read in the time that a search has.
#[test]
fn a_sparse_file_is_left_at_its_first_hole() {
    let tree = Tree::new(&[("a.txt", "needle\n"), ("disk.img", "needle\n"), ("hole.img", "hay\n")]);
    for name in ["disk.img", "hole.img"] {
        let file = fs::File::options().append(true).open(tree.root.join(name)).unwrap();
        file.set_len(1 << 42).unwrap();
    }
    let content = grep(&tree, json!({"pattern": "needle"}));
    assert!(content.contains("a.txt") && content.contains("disk.img"), "{content}");
    assert!(content.contains("1 binary file, from a page of zero bytes on"), "{content}");
}

#[test]
fn what_the_model_reads_is_short() {
    for (description, schema) in [
        (Grep::DESCRIPTION, schemars::schema_for!(Args)),
        (crate::tools::glob::Glob::DESCRIPTION, schemars::schema_for!(crate::tools::glob::Args)),
    ] {
        let fields = schema.get("properties").and_then(|value| value.as_object()).unwrap();
        let texts = fields.values().filter_map(|field| field.get("description")?.as_str());
        let bytes = description.len() + texts.map(str::len).sum::<usize>();
        assert!(bytes <= 750, "{bytes}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_literal_search_finds_exactly_the_lines_with_the_text(
        lines in proptest::collection::vec("[ab.*( ü-]{0,6}", 0..12),
        needle in "[ab.*( ü-]{1,2}",
        crlf in any::<bool>(),
    ) {
        let tree = Tree::new(&[("f", &lines.join(if crlf { "\r\n" } else { "\n" }))]);
        let expected: Vec<String> = (1..)
            .zip(&lines)
            .filter(|(_, line)| line.contains(&needle))
            .map(|(number, line)| format!("{number}: {line}"))
            .collect();
        let content = grep(&tree, json!({"pattern": needle, "literal": true}));
        let found: Vec<&str> = content.lines().skip(1).collect();
        prop_assert_eq!(found, expected);
    }
}
