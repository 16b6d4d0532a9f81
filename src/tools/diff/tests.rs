use proptest::prelude::*;

use super::*;
use crate::tools::fixture::numbered;

fn check(old: &str, new: &str, expected: &str) {
    assert_eq!(between(old.as_bytes(), new.as_bytes(), 100).text, expected);
}

#[test]
fn hunks_have_numbers_and_context() {
    check("", "", "");
    check("a\n", "a\n", "");
    check("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b");
    check("a\n", "", "@@ -1 +0,0 @@\n-a");
    check("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c");
    check(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        "1\n2\n3\n4\n5\nX\n7\n8\n9\n",
        "@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+X\n 7\n 8\n 9",
    );
    check("a\r\nb\r\n", "a\r\nB\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B");
    check("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a");
}

#[test]
fn far_places_are_separate_hunks() {
    let old = numbered("", 40);
    let new = old.replace("\n5\n", "\nfive\n").replace("\n35\n", "\n");
    let diff = between(old.as_bytes(), new.as_bytes(), 100);
    assert_eq!(diff.summary(), "+1 −2");
    let headers: Vec<_> = diff.text.lines().filter(|line| line.starts_with("@@")).collect();
    assert_eq!(headers, ["@@ -2,7 +2,7 @@", "@@ -32,7 +32,6 @@"]);
}

#[test]
fn output_and_work_are_bounded() {
    let old = numbered("a", 50_000);
    let new = numbered("b", 50_000);
    let diff = between(old.as_bytes(), new.as_bytes(), 20);
    assert_eq!((diff.added, diff.removed), (50_000, 50_000));
    assert_eq!(diff.text.lines().count(), 21);
    assert!(diff.text.ends_with("[diff cut after 20 lines]"));
    let long = "x".repeat(1_000_000);
    assert!(between(b"", long.as_bytes(), 20).text.len() < 1_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Applying the hunks to the old text gives the new one.
    #[test]
    fn a_diff_can_be_applied(old in "([ab]?\n){0,14}", new in "([ab]?\n){0,14}") {
        let diff = between(old.as_bytes(), new.as_bytes(), 1_000);
        let old_lines: Vec<&str> = old.lines().collect();
        let (mut result, mut at) = (Vec::new(), 0);
        for line in diff.text.lines() {
            if let Some(rest) = line.strip_prefix("@@ -") {
                let range = rest.split(' ').next().unwrap();
                let (first, length) = range.split_once(',').unwrap_or((range, "1"));
                let first: usize = first.parse().unwrap();
                let start = if length == "0" { first } else { first - 1 };
                result.extend(&old_lines[at..start]);
                at = start;
            } else if let Some(added) = line.strip_prefix('+') {
                result.push(added);
            } else {
                prop_assert_eq!(line.get(1..).unwrap(), old_lines[at]);
                if line.starts_with(' ') {
                    result.push(old_lines[at]);
                }
                at += 1;
            }
        }
        result.extend(&old_lines[at..]);
        prop_assert_eq!(result, new.lines().collect::<Vec<_>>());
    }
}
