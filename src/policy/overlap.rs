//! Could a word of a command name what a rule about paths is about? Both may hold wildcards.

/// A part of a name, with what the shell or a rule makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Itself, in any case.
    Char(char),
    /// Any one character; a shy one is no leading dot.
    One {
        /// The shell expands it.
        shy: bool,
    },
    /// Any characters, or none.
    Many {
        /// The shell expands it.
        shy: bool,
    },
    /// A variable or a substitution: any characters, or none.
    Unknown,
}

/// Pieces of a name that are compared. No file has a longer one.
const MAX_PIECES: usize = 255;

impl Piece {
    /// A character in quotes: the program that gets it may still read it as a wildcard.
    pub fn quoted(c: char) -> Self {
        match c {
            '*' | '[' => Self::Many { shy: false },
            '?' => Self::One { shy: false },
            _ => Self::Char(c),
        }
    }

    fn is_many(self) -> bool {
        matches!(self, Self::Many { .. } | Self::Unknown)
    }

    fn is_shy(self) -> bool {
        matches!(self, Self::One { shy: true } | Self::Many { shy: true })
    }
}

/// The names in a word: what stands between slashes, and between the signs that separate a path
/// from an option or from other paths (`--file=a`, `HEAD:a`, `@a`, `-fa`).
pub fn split_names(word: &[Piece]) -> Vec<Vec<Piece>> {
    let ends = |piece: &Piece| matches!(piece, Piece::Char('/' | '=' | ':' | ',' | '@'));
    let mut names: Vec<Vec<Piece>> = word.split(ends).map(<[Piece]>::to_vec).collect();
    if let Some([Piece::Char('-'), Piece::Char(letter), rest @ ..]) =
        names.first().map(Vec::as_slice)
        && letter.is_alphanumeric()
    {
        let rest = rest.to_vec();
        names.push(rest);
    }
    // A variable alone could be anything; asking about each would be asking about everything.
    names.retain(|name| name.iter().any(|piece| *piece != Piece::Unknown));
    names
}

/// The name that stands for a rule: the last part of its pattern that says which file or folder is
/// meant. `secrets/**` is about `secrets`.
pub fn key(pattern: &str) -> Vec<Piece> {
    let mut parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    while parts.len() > 1 && parts.last().is_some_and(|part| part.chars().all(|c| c == '*')) {
        parts.pop();
    }
    let mut pieces = Vec::new();
    let mut rest = parts.last().copied().unwrap_or_default().chars();
    while let Some(c) = rest.next() {
        let end = match c {
            '[' => Some(']'),
            '{' => Some('}'),
            _ => None,
        };
        if let Some(end) = end {
            rest.by_ref().take_while(|c| *c != end).for_each(drop);
        }
        pieces.push(match c {
            '\\' => rest.next().map_or(Piece::Char(c), Piece::Char),
            '?' => Piece::One { shy: false },
            '*' | '[' | '{' => Piece::Many { shy: false },
            _ => Piece::Char(c),
        });
    }
    pieces
}

/// Is there a name that both could be?
pub fn overlap(word: &[Piece], rule: &[Piece]) -> bool {
    let dotted = rule.first() == Some(&Piece::Char('.'));
    if dotted && word.first().is_some_and(|piece| piece.is_shy()) {
        return false;
    }
    let has_many = word.iter().any(|piece| piece.is_many());
    if word.len() > MAX_PIECES {
        return has_many;
    }
    // Whether what comes before piece `i` of the word and before a piece of the rule can be equal.
    let mut row = vec![false; rule.len() + 1];
    for i in 0..=word.len() {
        let mut next = vec![false; rule.len() + 1];
        for j in 0..=rule.len() {
            let above = row.get(j).copied().unwrap_or_default();
            let left = j > 0 && next.get(j - 1).copied().unwrap_or_default();
            let diagonal = j > 0 && row.get(j - 1).copied().unwrap_or_default();
            let a = i.checked_sub(1).and_then(|i| word.get(i)).copied();
            let b = j.checked_sub(1).and_then(|j| rule.get(j)).copied();
            let can = match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => {
                    ((a.is_many() || b.is_many()) && (above || left)) || (diagonal && same(a, b))
                }
                (Some(a), None) => a.is_many() && above,
                (None, Some(b)) => b.is_many() && left,
            };
            if let Some(cell) = next.get_mut(j) {
                *cell = can;
            }
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

fn same(a: Piece, b: Piece) -> bool {
    match (a, b) {
        (Piece::Char(a), Piece::Char(b)) => a == b || a.to_lowercase().eq(b.to_lowercase()),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Vec<Piece> {
        super::super::loose::find(text).names.remove(0)
    }

    #[test]
    fn names_overlap() {
        for (text, rule, expected) in [
            (".env", ".env", true),
            (".ENV", ".env", true),
            (".envrc", ".env", false),
            (".e*", ".env", true),
            (".e??", ".env", true),
            (".e?", ".env", false),
            (".e[n]v", ".env", true),
            (".{env,x}", ".env", true),
            ("*", ".env", false),
            ("'*'", ".env", true),
            ("*.rs", ".env", false),
            ("'*env'", ".env", true),
            (".e$x", ".env", true),
            ("k*", "*.pem", true),
            ("key.pem", "*.pem", true),
            ("key.txt", "*.pem", false),
            ("*", "*.pem", true),
            ("secrets", "secrets/**", true),
            ("x", "/a/b/*.key", false),
            ("q.key", "/a/b/*.key", true),
            ("abc", "**", true),
        ] {
            assert_eq!(overlap(&word(text), &key(rule)), expected, "{text} {rule}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_literal_word_overlaps_as_a_glob_matches(word in "[ab.]{0,6}", rule in "[ab.*?]{1,6}") {
            let glob = globset::Glob::new(&rule).unwrap().compile_matcher();
            let pieces: Vec<_> = word.chars().map(Piece::Char).collect();
            let stars = rule.chars().all(|c| c == '*');
            proptest::prop_assert_eq!(overlap(&pieces, &key(&rule)), stars || glob.is_match(&word));
        }
    }
}
