//! May this key be enrolled for this site? Pure.

use bpa_common::identity::{Fingerprint, SiteName};
use bpa_common::wire::v1::JoinRefused;
use jiff::Timestamp;

use super::store::{InvitationRecord, KeyRecord};

/// What is to be done for a join that is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Keep the key, then certify it.
    Enrol,
    /// It is enrolled already with this very line: the answer got lost. Certify it again.
    Again,
}

/// What the vault says of a site.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    pub invitation: Option<InvitationRecord>,
    pub key: Option<KeyRecord>,
}

/// Judges a join of a key that the request has proved to hold.
pub(super) fn judge(
    standing: &Standing,
    site: &SiteName,
    secret: &[u8],
    key: Fingerprint,
    now: Timestamp,
) -> Result<Verdict, JoinRefused> {
    let Some(invitation) = &standing.invitation else { return Err(JoinRefused::UnknownSite) };
    if !invitation.tag.matches(site, secret) {
        return Err(JoinRefused::WrongSecret);
    }
    let key = key.to_string();
    let used_with = standing.key.as_ref().filter(|old| old.invitation == invitation.tag);
    match used_with {
        // Whoever repeats this holds the enrolled key, so the line's end does not matter.
        Some(old) if old.fingerprint == key => return Ok(Verdict::Again),
        Some(old) => return Err(JoinRefused::Used { fingerprint: old.fingerprint.clone() }),
        None => {}
    }
    if now >= invitation.expires {
        return Err(JoinRefused::Expired { since: invitation.expires.as_second() });
    }
    match &standing.key {
        None => Ok(Verdict::Enrol),
        Some(old) if old.fingerprint == key => Ok(Verdict::Enrol),
        Some(old) if invitation.replaces.as_ref() == Some(&old.fingerprint) => Ok(Verdict::Enrol),
        Some(old) => Err(JoinRefused::KeyEnrolled { fingerprint: old.fingerprint.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use bpa_common::identity::{JoinSecret, SecretTag};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn north() -> SiteName {
        "north".parse().unwrap()
    }

    fn print(n: u8) -> Fingerprint {
        Fingerprint::from_bytes([n; 32])
    }

    fn secret(n: u8) -> JoinSecret {
        JoinSecret::from_slice(&[n; 32]).unwrap()
    }

    fn invited(n: u8, replaces: Option<u8>) -> Option<InvitationRecord> {
        Some(InvitationRecord {
            tag: SecretTag::of(&north(), &secret(n)),
            issued: at(100),
            expires: at(200),
            replaces: replaces.map(|n| print(n).to_string()),
        })
    }

    fn enrolled(key: u8, with: u8) -> Option<KeyRecord> {
        Some(KeyRecord {
            fingerprint: print(key).to_string(),
            enrolled: at(110),
            invitation: SecretTag::of(&north(), &secret(with)),
        })
    }

    fn ask(standing: Standing, with: u8, key: u8, now: i64) -> Result<Verdict, JoinRefused> {
        judge(&standing, &north(), secret(with).expose(), print(key), at(now))
    }

    #[test]
    fn an_invited_site_with_its_secret_in_time_is_enrolled() {
        let standing = Standing { invitation: invited(1, None), key: None };
        assert_eq!(ask(standing, 1, 7, 199), Ok(Verdict::Enrol));
    }

    #[test]
    fn who_was_not_invited_or_has_another_secret_is_refused() {
        assert_eq!(ask(Standing::default(), 1, 7, 150), Err(JoinRefused::UnknownSite));
        let standing = Standing { invitation: invited(1, None), key: None };
        assert_eq!(ask(standing, 2, 7, 150), Err(JoinRefused::WrongSecret));
    }

    #[test]
    fn a_line_ends() {
        let standing = Standing { invitation: invited(1, None), key: None };
        assert_eq!(ask(standing, 1, 7, 200), Err(JoinRefused::Expired { since: 200 }));
    }

    #[test]
    fn a_line_is_good_for_one_key_which_may_repeat_itself() {
        let standing = Standing { invitation: invited(1, None), key: enrolled(7, 1) };
        assert_eq!(ask(standing.clone(), 1, 7, 5000), Ok(Verdict::Again));
        let used = Err(JoinRefused::Used { fingerprint: print(7).to_string() });
        assert_eq!(ask(standing, 1, 8, 150), used);
    }

    #[test]
    fn an_enrolled_key_is_replaced_only_by_a_decision() {
        let without = Standing { invitation: invited(2, None), key: enrolled(7, 1) };
        let refused = Err(JoinRefused::KeyEnrolled { fingerprint: print(7).to_string() });
        assert_eq!(ask(without.clone(), 2, 8, 150), refused);
        assert_eq!(ask(without, 2, 7, 150), Ok(Verdict::Enrol), "the same key may rejoin");
        let with = Standing { invitation: invited(2, Some(7)), key: enrolled(7, 1) };
        assert_eq!(ask(with, 2, 8, 150), Ok(Verdict::Enrol));
        let stale = Standing { invitation: invited(2, Some(7)), key: enrolled(9, 1) };
        assert!(ask(stale, 2, 8, 150).is_err(), "the decision was about another key");
    }
}
