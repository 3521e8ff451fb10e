//! Fingerprints of public keys, as people compare them.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};

/// SHA-256 of a public key in its `SubjectPublicKeyInfo` form.
///
/// Shown as sixteen groups of four hexadecimal digits, so that two people can read it to each
/// other over the telephone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

/// Text that is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a fingerprint: wanted 64 hexadecimal digits in groups")]
pub struct ParseFingerprintError {
    /// The start of the text that was found.
    pub found: String,
}

impl Fingerprint {
    /// The fingerprint of a public key, given as DER of `SubjectPublicKeyInfo`.
    pub fn of_public_key(spki: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, spki).as_ref());
        Self(bytes)
    }

    /// A fingerprint that was kept as bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, pair) in self.0.chunks(2).enumerate() {
            let gap = if i == 0 { "" } else { "-" };
            write!(f, "{gap}{:02x}{:02x}", pair[0], pair[1])?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseFingerprintError { found: text.chars().take(90).collect() };
        let digits: Vec<u8> = text
            .bytes()
            .filter(|b| !matches!(b, b'-' | b':' | b' '))
            .map(|b| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok()))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        if digits.len() != 64 {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_the_sha256_in_groups() {
        let text = Fingerprint::of_public_key(b"abc").to_string();
        assert!(text.starts_with("ba78-16bf-8f01-cfea-"), "{text}");
        assert_eq!(text.split('-').count(), 16);
    }

    #[test]
    fn other_text_is_refused() {
        for bad in ["", "ba78", &"g".repeat(64), &"a".repeat(65)] {
            assert!(bad.parse::<Fingerprint>().is_err());
        }
    }

    proptest! {
        #[test]
        fn printed_and_read_again_is_the_same(bytes: [u8; 32]) {
            let fingerprint = Fingerprint::from_bytes(bytes);
            prop_assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        }
    }
}
