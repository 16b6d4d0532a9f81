//! Which of the known names was probably meant by one that is not known.

/// How alike two names must be, from 0 to 1: about two slips in a word of five letters.
const ALIKE: f64 = 0.6;

/// The known names that are most like `word`, best first, at most this many.
pub fn names<'a>(word: &str, known: &[&'a str], most: usize) -> Vec<&'a str> {
    let alike = known.iter().map(|name| (strsim::normalized_damerau_levenshtein(word, name), name));
    let mut alike: Vec<_> = alike.filter(|(alike, _)| *alike >= ALIKE).collect();
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    alike.into_iter().take(most).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn slips_are_seen_through_and_other_words_are_not() {
        let known = ["model", "mode", "provider", "permission_mode"];
        assert_eq!(names("modle", &known, 3), ["model", "mode"]);
        assert_eq!(names("modle", &known, 1), ["model"]);
        assert_eq!(names("provder", &known, 3), ["provider"]);
        assert_eq!(names("permision-mode", &known, 3), ["permission_mode"]);
        assert!(names("colour", &known, 3).is_empty());
        assert!(names("", &known, 3).is_empty());
    }
}
