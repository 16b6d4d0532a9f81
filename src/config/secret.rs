//! A key that cannot be shown by accident.

use std::fmt;

/// A provider's key. Printing it shows stars.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key that can go into an HTTP header. The error says what is wrong with it, never
    /// what it is.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.chars().position(|c| !c.is_ascii_graphic()) {
            None if text.is_empty() => Err("it is empty".to_owned()),
            None => Ok(Self(text.to_owned())),
            Some(index) => {
                let found = text.chars().nth(index).map_or("", describe);
                Err(format!("it contains {found} at character {}", index + 1))
            }
        }
    }

    /// The key itself, for the one header that it belongs in and for masking.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

fn describe(found: char) -> &'static str {
    match found {
        '\n' | '\r' => "a line break",
        c if c.is_whitespace() => "a space",
        c if c.is_control() => "a control character",
        _ => "a character that is not ASCII",
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn keys_that_cannot_be_sent_are_refused_with_the_reason() {
        let cases = [
            ("sk-abc_123.~", Ok(())),
            ("", Err("it is empty")),
            ("sk abc", Err("it contains a space at character 3")),
            ("sk-abc\n", Err("it contains a line break at character 7")),
            ("sk-abc\r\n", Err("it contains a line break at character 7")),
            (" sk", Err("it contains a space at character 1")),
            ("sk\u{a0}", Err("it contains a space at character 3")),
            ("schlüssel", Err("it contains a character that is not ASCII at character 5")),
            ("“sk”", Err("it contains a character that is not ASCII at character 1")),
            ("sk\0", Err("it contains a control character at character 3")),
        ];
        for (text, expected) in cases {
            assert_eq!(
                Secret::parse(text).map(|_| ()).map_err(|e| e.clone()),
                expected.map_err(String::from),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_key_is_never_printed() {
        let key = Secret::parse("sk-very-secret").unwrap();
        assert_eq!(format!("{key} {key:?}"), "*** ***");
        assert_eq!(key.expose(), "sk-very-secret");
    }
}
