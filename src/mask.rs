//! Values that must never be stored or shown, and what stands in their place.
//!
//! Pure. Provider keys are kept from child processes in the first place; this is for the ways that
//! are left: a file that holds one, an error text that repeats it, a process list.

use std::borrow::Cow;

use memchr::memmem;

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

    /// The same for bytes that need not be text.
    fn apply_to_bytes(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (name, value) in &self.values {
            let finder = memmem::Finder::new(value);
            if finder.find(&bytes).is_none() {
                continue;
            }
            let mut masked = Vec::new();
            let mut rest = bytes.as_slice();
            while let Some(at) = finder.find(rest) {
                masked.extend_from_slice(rest.get(..at).unwrap_or_default());
                masked.extend_from_slice(format!("[{name} masked]").as_bytes());
                rest = rest.get(at + value.len()..).unwrap_or_default();
            }
            masked.extend_from_slice(rest);
            bytes = masked;
        }
        bytes
    }

    /// How many bytes at the end may be the beginning of a secret.
    fn begun_at_the_end(&self, bytes: &[u8]) -> usize {
        let begun = |value: &str| {
            let value = value.as_bytes();
            (1..value.len().min(bytes.len() + 1)).rev().find(|count| {
                value.get(..*count).is_some_and(|beginning| bytes.ends_with(beginning))
            })
        };
        self.values.iter().filter_map(|(_, value)| begun(value)).max().unwrap_or(0)
    }

    /// True if the text holds a secret.
    pub fn hit(&self, text: &str) -> bool {
        matches!(self.apply(text), Cow::Owned(_))
    }

    /// The same in place.
    pub fn apply_to(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.apply(text) {
            *text = masked;
        }
    }
}

/// Masks what comes in pieces, also where a secret is cut in two: the end of a piece that a secret may
/// begin with waits for the next one.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    masks: Masks,
    held: Vec<u8>,
}

impl Stream {
    /// Nothing has come yet.
    pub fn new(masks: Masks) -> Self {
        Self { masks, held: Vec::new() }
    }

    /// Takes a piece; gives what can be shown by now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        let mut bytes = self.masks.apply_to_bytes(bytes);
        self.held = bytes.split_off(bytes.len() - self.masks.begun_at_the_end(&bytes));
        bytes
    }

    /// What is left when nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Like [`Stream::push`], for text.
    pub fn push_text(&mut self, piece: &str) -> String {
        text(self.push(piece.as_bytes()))
    }

    /// Like [`Stream::finish`], for text.
    pub fn finish_text(&mut self) -> String {
        text(self.finish())
    }
}

/// What is held is a part of a secret, and where that is cut inside a character, it is shown as such.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
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

    #[test]
    fn a_secret_is_masked_wherever_a_stream_is_cut() {
        let named = [("A", "sk-12345678"), ("B", "sk-12345678-long"), ("C", "schlüssel!")];
        let masks = Masks::new(named.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let text =
            "ask s sk- sk-1234567 sk-12345678; sk-12345678-long\nschlüssel! sk-12345678-lo sk-12";
        let whole = masks.apply(text);
        for size in 1..text.len() {
            let mut stream = Stream::new(masks.clone());
            let mut shown: Vec<u8> =
                text.as_bytes().chunks(size).flat_map(|piece| stream.push(piece)).collect();
            shown.extend(stream.finish());
            let shown = String::from_utf8(shown).unwrap();
            for (_, secret) in named {
                assert!(!shown.contains(secret), "{size}: {shown}");
            }
            assert_eq!(shown, whole, "{size}");
        }
    }
}
