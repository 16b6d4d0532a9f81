//! A key that cannot be shown by accident.

use std::fmt;

/// A provider's key. Printing it shows stars.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key that can go into an HTTP header. One with blanks, also around it, was copied
    /// wrongly. The error says what is wrong with it, never what it is.
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
mod tests;
