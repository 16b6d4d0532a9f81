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

    /// The same for bytes that need not be text, as far as more of them cannot change it: what may be
    /// the beginning of a secret at the end is left, unless `over`. Gives how many bytes were taken.
    fn apply_to_bytes(&self, bytes: &[u8], over: bool) -> (Vec<u8>, usize) {
        let mut begins = [false; 256];
        let firsts = self.values.iter().filter_map(|(_, value)| value.bytes().next());
        firsts.for_each(|byte| begins[usize::from(byte)] = true);
        let mut masked = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| begins[usize::from(*byte)]) {
            let (plain, from_here) = rest.split_at(at);
            masked.extend_from_slice(plain);
            rest = from_here;
            let goes_on =
                |value: &str| value.len() > rest.len() && value.as_bytes().starts_with(rest);
            if !over && self.values.iter().any(|(_, value)| goes_on(value)) {
                return (masked, bytes.len() - rest.len());
            }
            let whole = self.values.iter().find(|(_, value)| rest.starts_with(value.as_bytes()));
            let length = whole.map_or(1, |(_, value)| value.len());
            match whole {
                Some((name, _)) => masked.extend_from_slice(format!("[{name} masked]").as_bytes()),
                None => masked.extend(rest.first()),
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        masked.extend_from_slice(rest);
        (masked, bytes.len())
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
        if self.masks.values.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        let (masked, taken) = self.masks.apply_to_bytes(&self.held, false);
        self.held.drain(..taken);
        masked
    }

    /// What is left when nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        self.masks.apply_to_bytes(&std::mem::take(&mut self.held), true).0
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
