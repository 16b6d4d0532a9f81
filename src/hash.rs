//! The one hash in use: it names file versions, kept contents and derived ids.

use sha2::{Digest, Sha256};

/// The SHA-256 of these bytes in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    let digits = b"0123456789abcdef";
    let digit = |nibble: u8| digits.get(usize::from(nibble)).map(|&digit| char::from(digit));
    let hash = Sha256::digest(bytes);
    hash.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(digit).collect()
}

/// The HMAC-SHA-256 of a message, in lower-case hex: who does not know the key cannot make it. A key
/// has 64 bytes at most.
pub fn keyed(key: &[u8], message: &[u8]) -> String {
    let padded = |pad: u8| {
        let key = key.iter().copied().chain(std::iter::repeat(0)).take(64);
        key.map(move |byte| byte ^ pad)
    };
    let inner = Sha256::digest(padded(0x36).chain(message.iter().copied()).collect::<Vec<u8>>());
    sha256(&padded(0x5c).chain(inner).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_value() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256(b"abc"), expected);
    }

    #[test]
    fn known_keyed_value() {
        // RFC 4231, test case 2.
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(super::keyed(b"Jefe", b"what do ya want for nothing?"), expected);
    }
}
