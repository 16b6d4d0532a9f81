use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::*;
use crate::tools::walk::tests::Tree;

fn tree() -> Tree {
    Tree::new(&[
        ("Cargo.toml", ""),
        ("src/main.rs", ""),
        ("src/lib.rs", ""),
        ("src/a/mod.rs", ""),
        ("src/a/mod_test.rs", ""),
        ("app/[id]/page.tsx", ""),
        (".github/ci.yml", ""),
        ("-dash/-x.css", ""),
        ("naïve/日本.rs", ""),
        (".gitignore", "/target\n"),
        ("target/debug/x.d", ""),
    ])
}

/// The paths found, sorted; an error's text is one line that begins with `error`.
fn found(tree: &Tree, args: serde_json::Value) -> Vec<String> {
    let outcome = tree.run::<Glob>(args);
    if outcome.is_error {
        return vec![format!("error: {}", outcome.content)];
    }
    let lines = outcome.content.lines().filter(|line| !line.starts_with(['[', 'N', 'A', '`']));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn patterns_mean_what_users_expect() {
    let tree = tree();
    let all_rust: &[&str] =
        &["naïve/日本.rs", "src/a/mod.rs", "src/a/mod_test.rs", "src/lib.rs", "src/main.rs"];
    let in_src: &[&str] = &["src/a/mod.rs", "src/a/mod_test.rs", "src/lib.rs", "src/main.rs"];
    let cases: &[(&str, &[&str])] = &[
        ("*.rs", all_rust),
        ("**/*.rs", all_rust),
        ("./**/*.rs", all_rust),
        ("src/**", in_src),
        ("src/", in_src),
        ("src/**/*.rs", in_src),
        (r"src\a\mod.rs", &["src/a/mod.rs"]),
        ("src/*.rs", &["src/lib.rs", "src/main.rs"]),
        ("./*.toml", &["Cargo.toml"]),
        ("./*.rs", &[]),
        ("*/*.rs", &["naïve/日本.rs", "src/lib.rs", "src/main.rs"]),
        ("*.{toml,yml}", &[".github/ci.yml", "Cargo.toml"]),
        ("{src,app}/**/*.{ts,tsx}", &["app/[id]/page.tsx"]),
        ("{src/a,app}/*.rs", &["src/a/mod.rs", "src/a/mod_test.rs"]),
        ("main.rs", &["src/main.rs"]),
        ("src/main.rs", &["src/main.rs"]),
        ("mod?test.rs", &["src/a/mod_test.rs"]),
        ("[lm]*.rs", &["src/a/mod.rs", "src/a/mod_test.rs", "src/lib.rs", "src/main.rs"]),
        ("app/[id]/*.tsx", &["app/[id]/page.tsx"]),
        (r"app/\[id\]/page.tsx", &["app/[id]/page.tsx"]),
        ("-x.css", &["-dash/-x.css"]),
        ("-dash/*", &["-dash/-x.css"]),
        ("日*", &["naïve/日本.rs"]),
        ("*.d", &[]),
        ("target/**/*.d", &["target/debug/x.d"]),
        ("src", &[]),
    ];
    for (pattern, expected) in cases {
        assert_eq!(found(&tree, json!({ "pattern": pattern })), *expected, "{pattern}");
    }
}

#[test]
fn a_path_is_where_the_pattern_starts() {
    let tree = tree();
    tree.link("src/a", "link");
    let inner: &[&str] = &["src/a/mod.rs", "src/a/mod_test.rs"];
    let absolute = tree.root.join("src/a/*.rs").to_string_lossy().into_owned();
    let cases: &[(&str, &str, &[&str])] = &[
        ("a/*.rs", "src", inner),
        ("src/a/*.rs", "src", inner),
        ("*.rs", "src/a", inner),
        ("*.rs", "link", inner),
        ("link/*.rs", "", inner),
        ("*.d", "target", &["target/debug/x.d"]),
        ("*", "-dash", &["-dash/-x.css"]),
        ("../src/a/*.rs", "app", inner),
        (&absolute, ".", inner),
    ];
    for (pattern, path, expected) in cases {
        let args = json!({ "pattern": pattern, "path": path });
        assert_eq!(found(&tree, args), *expected, "{pattern} in {path}");
    }
}

#[track_caller]
fn check_fault(args: serde_json::Value, expected: &str) {
    let outcome = tree().run::<Glob>(args);
    assert!(outcome.is_error, "{}", outcome.content);
    assert!(outcome.content.contains(expected), "{}", outcome.content);
}

#[test]
fn faults_say_what_to_do() {
    check_fault(json!({"pattern": ""}), "empty");
    check_fault(json!({"pattern": "日[a"}), "invalid at character 2: unclosed character class");
    check_fault(json!({"pattern": "a{b"}), "invalid at character 2: unclosed alternate");
    check_fault(json!({"pattern": "ab}"}), "invalid at character 3: unopened alternate");
    check_fault(json!({"pattern": "x[z-a]"}), "invalid at character 3: invalid range");
    check_fault(json!({"pattern": "*", "path": "scr"}), "Similar names in its folder: `src`");
    check_fault(json!({"pattern": "src/b/*.rs"}), "`src/b` does not exist");
    check_fault(json!({"pattern": "*", "path": "src/lib.rs"}), "not a folder");
    check_fault(json!({"pattern": "/etc/*"}), "outside");
    check_fault(json!({"pattern": "../**"}), "outside");
}

#[test]
fn nothing_found_says_where_it_looked() {
    let outcome = tree().run::<Glob>(json!({"pattern": "*.d"}));
    assert_eq!(outcome.summary, "no files");
    assert_eq!(
        outcome.content,
        "No file matches `*.d` in `.` (10 files looked at).\n\
         [Left out: what git ignores (name it in `path` to look there).]"
    );
    let outcome = tree().run::<Glob>(json!({"pattern": "src/a"}));
    assert!(outcome.content.contains("`src/a` is a folder: use `src/a/**`"), "{}", outcome.content);
}

#[test]
fn the_newest_come_first() {
    let tree = Tree::new(&[("old", ""), ("new/b", ""), ("new/a", ""), ("middle", "")]);
    for (path, seconds) in [("old", 1), ("middle", 2), ("new/a", 3), ("new/b", 3)] {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        File::open(tree.root.join(path)).unwrap().set_modified(time).unwrap();
    }
    let outcome = tree.run::<Glob>(json!({"pattern": "**"}));
    assert_eq!(outcome.content, "new/a\nnew/b\nmiddle\nold");
    assert_eq!(outcome.summary, "4 files");
}

#[test]
fn a_cut_list_still_names_every_folder() {
    let names: Vec<String> = (0..300).map(|index| format!("big/{index:03}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let tree = Tree::new(&files);
    for (path, seconds) in [("small/old.txt", 1), ("top.txt", 2)] {
        tree.write(path, b"");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        File::open(tree.root.join(path)).unwrap().set_modified(time).unwrap();
    }
    let outcome = tree.run::<Glob>(json!({"pattern": "*"}));
    assert_eq!(outcome.content.lines().count(), MAX_FILES + 1);
    assert_eq!(outcome.summary, "200 of 302 files");
    let last = outcome.content.lines().last().unwrap();
    assert!(last.contains("The 200 newest of 302 files"), "{last}");
    assert!(last.contains("big 300, . 1, small 1"), "{last}");
    assert_eq!(tree.run::<Glob>(json!({"pattern": "*"})), outcome, "the same on every run");
}

#[test]
fn links_to_files_inside_are_listed() {
    let tree = Tree::new(&[("AGENTS.md", ""), ("docs/x.md", "")]);
    std::fs::write(tree.root.join("../outside.md"), "").unwrap();
    tree.link("AGENTS.md", "CLAUDE.md");
    tree.link("../outside.md", "out.md");
    tree.link("docs", "folder.md");
    let outcome = tree.run::<Glob>(json!({"pattern": "*.md"}));
    let mut lines: Vec<&str> = outcome.content.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["AGENTS.md", "CLAUDE.md", "[Left out: not followed: links (1).]", "docs/x.md"]
    );
}

#[test]
fn an_interrupt_is_said() {
    let tree = tree();
    tree.cancel.cancel();
    let outcome = tree.run::<Glob>(json!({"pattern": "*"}));
    assert!(outcome.is_error);
    assert!(outcome.content.contains("Interrupted"), "{}", outcome.content);
}

#[test]
fn the_subject_is_the_pattern_and_where() {
    let args = |path: Option<&str>| Args { pattern: "*.rs".into(), path: path.map(str::to_owned) };
    assert_eq!(Glob::subject(&args(None)), "*.rs");
    assert_eq!(Glob::subject(&args(Some("src"))), "*.rs in src");
}
