//! Who may hold a session? Pure: decided after the handshake, so that the reason can be told.

use std::ops::RangeInclusive;

use bpa_common::identity::{CertificateFacts, Fingerprint, SiteName};
use bpa_common::link::CloseCode;
use bpa_common::wire::VERSION;
use bpa_common::wire::v1::{ConnectRefused, Hello};
use jiff::Timestamp;

/// Protocol versions that this coordinator speaks.
pub(super) const VERSIONS: RangeInclusive<u16> = VERSION..=VERSION;

/// When an agent without a journal may try again, milliseconds.
const NO_JOURNAL_MS: u64 = 5000;

/// A peer that has proved to hold the enrolled key of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    pub site: SiteName,
    pub fingerprint: Fingerprint,
    /// The session ends then.
    pub not_after: Timestamp,
}

/// Why a connection is closed right after its handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub code: CloseCode,
    pub site: Option<SiteName>,
    pub reason: String,
}

fn refuse<T>(
    code: CloseCode,
    site: Option<&SiteName>,
    reason: impl Into<String>,
) -> Result<T, Refusal> {
    Err(Refusal { code, site: site.cloned(), reason: reason.into() })
}

/// The site that a certificate was issued to.
pub(super) fn site_of(certificate: Option<&CertificateFacts>) -> Result<&SiteName, Refusal> {
    let Some(facts) = certificate else {
        let reason = "no client certificate was shown; run `bpa-agent join -` first";
        return refuse(CloseCode::NoCertificate, None, reason);
    };
    match &facts.site {
        Some(site) => Ok(site),
        None => refuse(CloseCode::NotEnrolled, None, "the certificate names no site"),
    }
}

/// Admits a peer whose certificate chains to our authority. `enrolled` is the fingerprint that the
/// vault has for the certificate's site.
pub(super) fn admit(
    certificate: &CertificateFacts,
    enrolled: Option<&str>,
    now: Timestamp,
) -> Result<Admitted, Refusal> {
    let site = site_of(Some(certificate))?;
    let key = certificate.fingerprint.to_string();
    match enrolled {
        None => {
            let reason = format!("site {site} is not known here; join it again with a new line");
            return refuse(CloseCode::NotEnrolled, Some(site), reason);
        }
        Some(known) if known != key => {
            let reason = format!(
                "key {key} is not the enrolled one of site {site}; another agent has joined in its place"
            );
            return refuse(CloseCode::NotEnrolled, Some(site), reason);
        }
        Some(_) => {}
    }
    if now >= certificate.not_after {
        let reason = format!(
            "the certificate of site {site} ended at {}; join it again with the old line or a new one",
            certificate.not_after
        );
        return refuse(CloseCode::Expired, Some(site), reason);
    }
    Ok(Admitted {
        site: site.clone(),
        fingerprint: certificate.fingerprint,
        not_after: certificate.not_after,
    })
}

/// The protocol version of a session, or why there is none.
pub(super) fn greet(hello: &Hello, site: &SiteName) -> Result<u16, ConnectRefused> {
    if hello.site != site.as_str() {
        let message = format!(
            "the certificate is that of site {site}, but the agent calls itself {:?}",
            hello.site
        );
        return Err(ConnectRefused::UnknownSite { message });
    }
    // An agent that can't read its journal numbers its session 0. It would tell that nothing
    // stands at its site, which must not be believed.
    if hello.session == 0 {
        return Err(ConnectRefused::Busy { retry_after_ms: NO_JOURNAL_MS });
    }
    common_version(hello.min_version, hello.max_version)
        .ok_or(ConnectRefused::Version { min: *VERSIONS.start(), max: *VERSIONS.end() })
}

/// The highest version that both sides speak.
pub(super) fn common_version(min: u16, max: u16) -> Option<u16> {
    let version = max.min(*VERSIONS.end());
    (version >= min && version >= *VERSIONS.start()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn certificate() -> CertificateFacts {
        CertificateFacts {
            fingerprint: Fingerprint::from_bytes([1; 32]),
            site: Some("north".parse().unwrap()),
            not_before: at(0),
            not_after: at(100),
        }
    }

    fn enrolled(n: u8) -> String {
        Fingerprint::from_bytes([n; 32]).to_string()
    }

    #[test]
    fn the_enrolled_key_with_a_certificate_in_force_is_admitted() {
        let admitted = admit(&certificate(), Some(&enrolled(1)), at(99)).unwrap();
        assert_eq!(admitted.site.as_str(), "north");
        assert_eq!(admitted.not_after, at(100));
    }

    #[test]
    fn each_refusal_has_its_code_and_says_what_to_do() {
        let code = |result: Result<Admitted, Refusal>| result.unwrap_err().code;
        assert_eq!(site_of(None).unwrap_err().code, CloseCode::NoCertificate);
        let nameless = CertificateFacts { site: None, ..certificate() };
        assert_eq!(code(admit(&nameless, None, at(1))), CloseCode::NotEnrolled);
        assert_eq!(code(admit(&certificate(), None, at(1))), CloseCode::NotEnrolled);
        assert_eq!(code(admit(&certificate(), Some(&enrolled(2)), at(1))), CloseCode::NotEnrolled);
        let refusal = admit(&certificate(), Some(&enrolled(1)), at(100)).unwrap_err();
        assert_eq!(refusal.code, CloseCode::Expired);
        assert!(refusal.reason.contains("join it again"), "{}", refusal.reason);
    }

    #[test]
    fn a_hello_must_bear_the_certificates_name_and_come_from_a_journal() {
        let hello = Hello {
            min_version: 1,
            max_version: 1,
            site: "north".into(),
            agent_version: String::new(),
            session: 3,
            clock_ms: 0,
            epoch_seen: 0,
            runs: vec![],
            ssh_public_key: String::new(),
            bundles: vec![],
        };
        let north = "north".parse().unwrap();
        assert_eq!(greet(&hello, &north), Ok(1));
        let stranger = greet(&hello, &"south".parse().unwrap());
        assert!(matches!(stranger, Err(ConnectRefused::UnknownSite { .. })));
        let blind = Hello { session: 0, ..hello.clone() };
        assert!(matches!(greet(&blind, &north), Err(ConnectRefused::Busy { .. })));
        let future = Hello { min_version: 2, max_version: 3, ..hello };
        assert_eq!(greet(&future, &north), Err(ConnectRefused::Version { min: 1, max: 1 }));
    }

    #[test]
    fn the_highest_common_version_is_spoken() {
        assert_eq!(common_version(1, 1), Some(1));
        assert_eq!(common_version(1, 9), Some(1));
        assert_eq!(common_version(0, 1), Some(1));
        assert_eq!(common_version(2, 9), None);
        assert_eq!(common_version(0, 0), None);
        assert_eq!(common_version(9, 1), None);
    }
}
