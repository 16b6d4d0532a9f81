//! The one hash in use: it names file versions, kept contents and derived ids.

use sha2::{Digest, Sha256};

/// The SHA-256 of these bytes in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    let digits = b"0123456789abcdef";
    let digit = |nibble: u8| digits.get(usize::from(nibble)).map(|&digit| char::from(digit));
    let hash = Sha256::digest(bytes);
    hash.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(digit).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_value() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256(b"abc"), expected);
    }
}
