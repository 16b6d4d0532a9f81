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

/// What other agents call the built-in tools, without `_` and in lower case.
pub const NICKNAMES: &[(&str, &[&str])] = &[
    ("glob", &["ls", "list", "listfiles", "listdir", "listdirectory", "find", "findfiles"]),
    ("grep", &["search", "searchfiles", "ripgrep", "rg", "searchcode"]),
    ("read", &["readfile", "cat", "view", "open", "openfile"]),
    ("write", &["writefile", "createfile", "create"]),
    ("edit", &["editfile", "strreplace", "replace", "applypatch", "patch", "multiedit"]),
    ("shell", &["bash", "sh", "exec", "execute", "run", "runcommand", "terminal", "shellcommand"]),
];

/// The built-in tool that was probably meant: one of a similar name, in any case, or what another
/// agent calls so.
pub fn tool<'a>(word: &str, builtin: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let plain = lower.replace(['_', '-'], "");
    let nicknamed = NICKNAMES.iter().find(|(_, names)| names.contains(&plain.as_str()));
    let nicknamed = nicknamed.and_then(|(tool, _)| builtin.iter().find(|known| *known == tool));
    nicknamed.copied().or_else(|| names(&lower, builtin, 1).first().copied())
}

#[cfg(test)]
mod tests {
    use super::{names, tool};

    #[test]
    fn tools_are_known_by_other_names() {
        let known = ["read", "grep", "shell"];
        for (word, meant) in [
            ("Bash", Some("shell")),
            ("run_command", Some("shell")),
            ("Read", Some("read")),
            ("raed", Some("read")),
            ("clock", None),
            ("calculator", None),
        ] {
            assert_eq!(tool(word, &known), meant, "{word}");
        }
    }

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
