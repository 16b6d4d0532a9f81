use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tools::fixture::Fixture;
use crate::tools::read::Read;

fn edit_file(fixture: &Fixture, old: &str, new: &str) -> Outcome {
    fixture.run::<Edit>(json!({"file_path": "f", "old_string": old, "new_string": new}))
}

fn holding(content: impl AsRef<[u8]>) -> Fixture {
    let fixture = Fixture::new();
    fixture.put("f", content);
    fixture.run::<Read>(json!({"file_path": "f"}));
    fixture
}

#[track_caller]
fn check(content: impl AsRef<[u8]>, (old, new): (&str, &str), expected: impl AsRef<[u8]>) {
    let fixture = holding(content);
    let outcome = edit_file(&fixture, old, new);
    assert!(!outcome.is_error, "{}", outcome.content);
    assert_eq!(fixture.bytes("f"), expected.as_ref());
}

#[track_caller]
fn refused(content: impl AsRef<[u8]>, (old, new): (&str, &str), why: &str) {
    let fixture = holding(&content);
    let outcome = edit_file(&fixture, old, new);
    assert!(outcome.is_error && outcome.content.contains(why), "{}", outcome.content);
    assert_eq!(fixture.bytes("f"), content.as_ref());
    assert!(fixture.journal.changes.lock().unwrap().is_empty());
}

#[test]
fn the_result_shows_the_place() {
    let fixture = holding("1\n2\n3\n4\n5\n6\n7\n8\n");
    let outcome = edit_file(&fixture, "4\n", "four\nvier\n");
    assert_eq!(
        outcome.content,
        "Edited `f`: 1 place.\n2: 2\n3: 3\n4: four\n5: vier\n6: 5\n7: 6\n[Line endings: LF. Total \
         lines: 9.]"
    );
    assert_eq!(outcome.summary, "+2 −1");
    assert!(outcome.diff.unwrap().contains("-4\n+four\n+vier\n"));
    let outcome = edit_file(&fixture, "1\n", "");
    assert!(outcome.content.contains("place.\n1: 2\n2: 3\n3: four\n["), "{}", outcome.content);
    let outcome = edit_file(&fixture, "8\n", "");
    assert!(outcome.content.contains("place.\n6: 6\n7: 7\n["), "{}", outcome.content);
}

#[test]
fn places_far_apart_are_shown_apart_and_bounded() {
    let fixture = holding(format!("x\n{}x\n", "-\n".repeat(9)));
    let args = json!({"file_path": "f", "old_string": "x", "new_string": "y", "replace_all": true});
    let outcome = fixture.run::<Edit>(args);
    assert!(
        outcome.content.contains("2 places.\n1: y\n2: -\n3: -\n…\n9: -\n10: -\n11: y\n["),
        "{}",
        outcome.content
    );
    let fixture = holding("some words here\n".repeat(20_000));
    let args =
        json!({"file_path": "f", "old_string": "words", "new_string": "w", "replace_all": true});
    let outcome = fixture.run::<Edit>(args);
    assert!(outcome.content.contains("20000 places"));
    assert!(outcome.content.contains("[more changed lines are not shown]"));
    assert!(outcome.content.len() < 8_000);
    assert_eq!(fixture.bytes("f"), "some w here\n".repeat(20_000).as_bytes());
}

#[test]
fn bytes_outside_the_place_stay() {
    check(b"n = 7\n# \xFCber\n", ("n = 7", "n = 8"), b"n = 8\n# \xFCber\n");
    check(b"\xC4\xE3\xBA\xC3 x\r\n\xFF", ("x", "y\nz"), b"\xC4\xE3\xBA\xC3 y\r\nz\r\n\xFF");
    check("a\r\nb\r\nc\r\n", ("a\nb", "a\nB"), "a\r\nB\r\nc\r\n");
    check("a\r\nb\nc\r\n", ("b\nc", "B\nC"), "a\r\nB\nC\r\n");
    check("\u{FEFF}top\nend\n", ("top", "Top"), "\u{FEFF}Top\nend\n");
    check("\u{FEFF}top\r\nend", ("top\nend", "a\nb"), "\u{FEFF}a\r\nb");
    check("top \u{FEFF}\n", ("top", "a"), "a \u{FEFF}\n");
    check("no newline", ("newline", "feed"), "no feed");
    check(
        "aXb",
        ("X", "p=$$ m=$& a=$1 b=${n} c=$` d=$' e=\\1"),
        "ap=$$ m=$& a=$1 b=${n} c=$` d=$' e=\\1b",
    );
    check(b"\xFF\xFEa\0\r\0\n\0b\0", ("a\nb", "ä\nb"), b"\xFF\xFE\xE4\0\r\0\n\0b\0");
    check(b"\xFE\xFF\0a\0\n", ("a", "b"), b"\xFE\xFF\0b\0\n");
    check("a\u{A0}b  \n\tc \u{201C}d\u{201D}\n", ("a b\n\tc", "X"), "X \u{201C}d\u{201D}\n");
}

#[test]
fn a_tolerant_match_is_reported() {
    let fixture = holding("x\u{A0}= 1\n");
    let outcome = edit_file(&fixture, "x = 1", "x = 2");
    assert!(outcome.content.contains("There was no exact match"), "{}", outcome.content);
    let fixture = holding("a\r\nb\r\n");
    let outcome = edit_file(&fixture, "a\nb", "c\nd");
    assert!(outcome.content.contains("apart from line endings"), "{}", outcome.content);
    refused("x\u{A0}1 x\u{A0}1\n", ("x 1", "y"), "matches only if look-alike characters");
}

#[test]
fn what_is_not_one_place_is_refused() {
    refused("f()\n\nf()\nf() f()\n", ("f()", "g()"), "matches 4 places in `f`, at line 1, 3, 4.");
    refused("aaa", ("aa", "b"), "matches 1 place and others that overlap");
    refused("a\r\nb\na\nb\n", ("a\nb", "c"), "matches 2 places");
    refused("x\n", ("", "y"), "`old_string` is empty");
    refused("x\n", ("x", "x"), "are the same");
    refused("x\n", ("x\0", "y"), "NUL");
    refused("x\n", ("x", "y\0"), "NUL");
    refused("a\r\nb\r\n", ("a\r\nb", "a\nb"), "would change nothing");
    refused(b"\xFF\xFEa\0\0\xD8", ("a", "b"), "damaged UTF-16");
    let fixture = holding("f()\nf()\nf()\n");
    let args =
        json!({"file_path": "f", "old_string": "f()", "new_string": "g()", "replace_all": true});
    assert!(fixture.run::<Edit>(args).content.starts_with("Edited `f`: 3 places."));
    assert_eq!(fixture.bytes("f"), b"g()\ng()\ng()\n");
}

#[test]
fn what_is_not_found_is_explained() {
    let file = "fn main() {\n    let\u{A0}x = 1; // “one”\n}\n";
    refused(file, ("let x = 2;", "y"), "2:     let\u{A0}x = 1; // “one”");
    refused(file, ("    let x = 2; // \"one\"", "y"), "U+00A0 (no-break space)");
    refused("let a = 1;\n", ("1: let a = 1;", "x"), "leave off `N: `");
    refused("let a = 2;\n", ("let a = 1;", "let a = 2;"), "`new_string` already stands at line 1");
    refused(b"let \xFC = 1;\n", ("let \u{FFFD} = 1;", "x"), "U+FFFD stands for bytes");
    refused("alpha\n", ("12345 67890", "x"), "Nothing in it is like it");
}

#[test]
fn the_file_must_be_known_and_there() {
    let fixture = Fixture::new();
    let told = edit_file(&fixture, "a", "b").content;
    assert!(told.contains("`f` does not exist") && told.contains("use `write`"), "{told}");
    fixture.put("f", "a\n");
    assert!(edit_file(&fixture, "a", "b").content.contains("was not read"));
    fixture.run::<Read>(json!({"file_path": "f"}));
    fixture.put("f", "a!\n");
    let told = edit_file(&fixture, "a", "b").content;
    assert!(told.contains("has changed since") && told.contains("Read it again"), "{told}");
    assert_eq!(fixture.bytes("f"), b"a!\n");
    fixture.run::<Read>(json!({"file_path": "f"}));
    fs::remove_file(fixture.path("f")).unwrap();
    assert!(edit_file(&fixture, "a", "b").content.contains("was deleted"));
    assert_eq!(fixture.list("."), Vec::<String>::new());
}

#[test]
fn three_edits_of_one_file_all_land() {
    let fixture = holding("a\nb\nc\n");
    for (old, new) in [("a", "A"), ("b", "B"), ("c", "C")] {
        assert!(!edit_file(&fixture, old, new).is_error);
    }
    assert_eq!(fixture.bytes("f"), b"A\nB\nC\n");
    assert_eq!(fixture.list("."), ["f"]);
}

#[test]
fn mode_and_link_are_kept() {
    let fixture = Fixture::new();
    fixture.put("real.sh", "echo a\n");
    fs::set_permissions(fixture.path("real.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("real.sh", fixture.path("f")).unwrap();
    fixture.run::<Read>(json!({"file_path": "f"}));
    assert!(!edit_file(&fixture, "a", "b").is_error);
    assert_eq!(fixture.bytes("real.sh"), b"echo b\n");
    assert_eq!(fs::metadata(fixture.path("real.sh")).unwrap().mode() & 0o7777, 0o755);
    assert!(fs::symlink_metadata(fixture.path("f")).unwrap().is_symlink());
}

#[test]
fn large_files_are_edited_up_to_the_limit() {
    let line = "some line of a large file\n";
    let count = 8 * 1024 * 1024 / line.len();
    let fixture = holding(format!("{}needle\n{}", line.repeat(count), line.repeat(10)));
    let outcome = edit_file(&fixture, "needle", "pin");
    assert_eq!(outcome.summary, "+1 −1");
    assert!(outcome.content.contains(&format!("{}: pin\n", count + 1)), "{}", outcome.content);
    assert!(edit_file(&fixture, "nothing like this, is there?", "x").is_error);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever surrounds the one place, only the place changes.
    #[test]
    fn only_the_place_changes(
        before in prop::collection::vec(1..=255_u8, 0..20),
        after in prop::collection::vec(1..=255_u8, 0..20),
    ) {
        let content = [&b"."[..], &before, b"<needle>", &after].concat();
        let fixture = holding(&content);
        prop_assume!(!fixture.known.borrow().is_empty());
        prop_assert!(!edit_file(&fixture, "<needle>", "$&").is_error);
        prop_assert_eq!(fixture.bytes("f"), [&b"."[..], &before, b"$&", &after].concat());
    }
}
