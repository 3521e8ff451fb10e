//! The one-use secret of a join line, and the tag that is kept in its place.

use std::fmt;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{IdentityError, SiteName};

/// Bytes of a secret: 256 random bits, so that nothing slow is needed to keep its hash safe.
const LEN: usize = 32;

/// A secret that whoever holds it may use once to join a site. Never printed.
#[derive(Clone)]
pub struct JoinSecret(Zeroizing<[u8; LEN]>);

impl JoinSecret {
    /// A new random secret.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn generate() -> Result<Self, IdentityError> {
        let mut bytes = Zeroizing::new([0; LEN]);
        SystemRandom::new().fill(&mut bytes[..]).map_err(|_| IdentityError::Make {
            what: "a join secret",
            problem: "the system gives no random bytes".into(),
        })?;
        Ok(Self(bytes))
    }

    /// The secret in these bytes; none when their number is wrong.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(Zeroizing::new(bytes)))
    }

    /// The bytes, to be sent to the coordinator.
    pub fn expose(&self) -> &[u8] {
        &self.0[..]
    }
}

impl fmt::Debug for JoinSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinSecret(…)")
    }
}

/// What the coordinator keeps of a secret: enough to recognise it, not enough to use it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretTag([u8; 32]);

fn key() -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, b"bpa join secret, version 1")
}

/// The site is part of what is hashed: a tag copied to another site opens nothing.
fn text(site: &SiteName, secret: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(site.as_str().as_bytes().to_vec());
    text.push(0);
    text.extend_from_slice(secret);
    text
}

impl SecretTag {
    /// The tag of a site's secret.
    pub fn of(site: &SiteName, secret: &JoinSecret) -> Self {
        let tag = hmac::sign(&key(), &text(site, secret.expose()));
        let mut bytes = [0; 32];
        bytes.copy_from_slice(tag.as_ref());
        Self(bytes)
    }

    /// Whether these bytes are the secret; takes the same time however wrong they are.
    pub fn matches(&self, site: &SiteName, secret: &[u8]) -> bool {
        hmac::verify(&key(), &text(site, secret), &self.0).is_ok()
    }
}

impl fmt::Debug for SecretTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretTag(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_knows_its_secret_and_its_site_and_no_other() {
        let (north, south): (SiteName, SiteName) =
            ("north".parse().unwrap(), "south".parse().unwrap());
        let secret = JoinSecret::generate().unwrap();
        let tag = SecretTag::of(&north, &secret);
        assert!(tag.matches(&north, secret.expose()));
        assert!(!tag.matches(&south, secret.expose()));
        assert!(!tag.matches(&north, JoinSecret::generate().unwrap().expose()));
        assert!(!tag.matches(&north, b""));
        assert!(!tag.matches(&north, &secret.expose()[..31]));
    }

    #[test]
    fn neither_prints_itself() {
        let secret = JoinSecret::from_slice(&[0xab; 32]).unwrap();
        let tag = SecretTag::of(&"north".parse().unwrap(), &secret);
        let text = format!("{secret:?} {tag:?}");
        assert_eq!(text, "JoinSecret(…) SecretTag(…)");
        assert!(JoinSecret::from_slice(&[1; 31]).is_none());
    }
}
