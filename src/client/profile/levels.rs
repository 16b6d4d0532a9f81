//! The names that providers give to thinking levels, on one scale.

use std::fmt;

use serde::{Deserialize, Serialize};

/// From none to most.
const SCALE: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// A set of level names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Names(u8);

impl Names {
    /// All there are.
    pub const ALL: Self = Self(0x7f);
    /// `low`, `medium`, `high`.
    pub const UP_TO_HIGH: Self = Self(0b001_1100);

    /// Those among some words.
    pub fn among<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let place = |word: &str| SCALE.iter().position(|name| *name == word);
        Self(words.into_iter().filter_map(place).fold(0, |set, place| set | (1 << place)))
    }

    /// True when there is none.
    pub fn is_empty(self) -> bool {
        self.0 & Self::ALL.0 == 0
    }

    fn contains(self, place: usize) -> bool {
        self.0 & (1 << place) != 0
    }

    /// The member nearest to a name; of two equally near ones the higher. A name that is not on the
    /// scale stays as it is; so does any where the set is empty.
    pub fn nearest(self, name: &'static str) -> &'static str {
        let Some(wanted) = SCALE.iter().position(|known| *known == name) else { return name };
        let members = SCALE.iter().enumerate().filter(|(place, _)| self.contains(*place));
        members
            .min_by_key(|(place, _)| (place.abs_diff(wanted), std::cmp::Reverse(*place)))
            .map_or(name, |(_, name)| name)
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = SCALE.iter().enumerate().filter(|(place, _)| self.contains(*place));
        f.write_str(&members.map(|(_, name)| *name).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_of_a_set() {
        let three = Names::among(["low", "high", "max", "bogus"]);
        for (wanted, expected) in [
            ("none", "low"),
            ("medium", "high"),
            ("xhigh", "max"),
            ("high", "high"),
            ("other", "other"),
        ] {
            assert_eq!(three.nearest(wanted), expected, "{wanted}");
        }
        assert_eq!(three.to_string(), "low, high, max");
        assert_eq!(Names::UP_TO_HIGH.to_string(), "low, medium, high");
        assert_eq!(Names::ALL.nearest("minimal"), "minimal");
        assert!(Names::among(["nothing"]).is_empty());
        assert_eq!(Names::among([]).nearest("low"), "low");
    }
}
