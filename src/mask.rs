//! Values that must never be stored or shown, and what stands in their place.
//!
//! Pure. Provider keys are kept from child processes in the first place; this is for the ways that
//! are left: a file that holds one, an error text that repeats it, a process list.

use std::borrow::Cow;

/// A value shorter than this is not masked: it would be found in innocent text.
const SHORTEST: usize = 8;

/// Secret values with their names.
#[derive(Clone, Default)]
pub struct Masks {
    /// Longest first, so that a value that begins with another is masked whole.
    values: Vec<(String, String)>,
}

impl Masks {
    /// Masks for these names and values.
    pub fn new(named: impl IntoIterator<Item = (String, String)>) -> Self {
        let long = |(_, value): &(String, String)| value.len() >= SHORTEST;
        let mut values: Vec<(String, String)> = named.into_iter().filter(long).collect();
        values.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.cmp(b)));
        Self { values }
    }

    /// The text with each secret replaced by its name.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for (name, value) in &self.values {
            if masked.contains(value.as_str()) {
                masked = Cow::Owned(masked.replace(value.as_str(), &format!("[{name} masked]")));
            }
        }
        masked
    }

    /// The same in place.
    pub fn apply_to(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.apply(text) {
            *text = masked;
        }
    }
}

/// Names only.
impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_become_their_names() {
        let named = [("A", "sk-12345678"), ("B", "sk-12345678-long"), ("C", "short")];
        let masks = Masks::new(named.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (text, expected) in [
            ("nothing here", "nothing here"),
            ("key=sk-12345678;", "key=[A masked];"),
            ("sk-12345678-long sk-12345678", "[B masked] [A masked]"),
            ("short stays", "short stays"),
        ] {
            assert_eq!(masks.apply(text), expected);
        }
        assert_eq!(format!("{masks:?}"), r#"{"B", "A"}"#);
    }
}
