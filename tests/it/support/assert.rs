//! Assertions on texts, tolerant of wording: what must be said, not how.

/// Fails unless `text` holds each of `parts`, whatever the case. A part may list alternatives
/// between bars: `"interrupt|cancel"`.
#[track_caller]
pub fn assert_says(text: &str, parts: &[&str]) {
    let lower = text.to_lowercase();
    for part in parts {
        let said = part.split('|').any(|word| lower.contains(&word.to_lowercase()));
        assert!(said, "expected {part:?} in:\n{text}");
    }
}

/// Fails if `text` holds any of `parts`, whatever the case.
#[track_caller]
pub fn assert_silent_on(text: &str, parts: &[&str]) {
    let lower = text.to_lowercase();
    for part in parts {
        assert!(!lower.contains(&part.to_lowercase()), "did not expect {part:?} in:\n{text}");
    }
}

/// Fails if `text` shows signs of a crash or of internals.
#[track_caller]
pub fn assert_no_crash(text: &str) {
    assert_silent_on(text, &["panicked at", "RUST_BACKTRACE", "stack backtrace", "unwrap()"]);
}

/// How often `part` occurs in `text`.
pub fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn alternatives_and_case() {
    assert_says("Interrupted by the user", &["cancel|interrupt", "USER"]);
    assert_silent_on("all well", &["error"]);
    assert_eq!(count("a b a", "a"), 2);
}
