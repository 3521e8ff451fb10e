//! `site add`: makes the one-use line that an engineer takes to the site.

use std::time::Duration;

use bpa_common::identity::{
    AddressError, IdentityError, JoinBundle, JoinSecret, SecretTag, SiteName, SiteNameError,
};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;

use super::store::{self, InvitationRecord, StoreError};
use crate::cluster::Vault;

const SHORTEST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(90 * 24 * 3600);

/// What a person asks for with `bpa-coordinator site add`.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Name of the site, a DNS-1123 label.
    pub site: String,
    /// How long the line can be used; a minute to ninety days.
    pub ttl: Duration,
    /// Where agents reach this coordinator, `host:port`, tried in this order; 1 to 8.
    pub addresses: Vec<String>,
    /// A person's decision that a new key may take the place of the enrolled one (lost disk).
    pub replace: bool,
}

/// The line to give to the site. It is shown once and kept nowhere.
#[derive(Debug)]
pub struct JoinLine {
    pub site: String,
    /// `bpa1.…`, to be used once as `bpa-agent join LINE`.
    pub line: SecretString,
    pub expires: Timestamp,
    /// Fingerprint of the coordinator's authority, as the agent shows it too.
    pub ca_fingerprint: String,
    /// Fingerprint of the enrolled key that a join with this line replaces.
    pub replaces: Option<String>,
}

/// Why no line was made.
#[derive(Debug, thiserror::Error)]
pub enum SiteAddError {
    #[error(transparent)]
    Name(#[from] SiteNameError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(
        "a line that is good for {} s is not possible: wanted {} s to {} days",
        found.as_secs(), SHORTEST.as_secs(), LONGEST.as_secs() / 86_400
    )]
    Ttl { found: Duration },
    #[error(
        "site {site} has joined already, with key {fingerprint}; if its disk was lost, make a line that replaces this key: `bpa-coordinator site add {site} --replace`"
    )]
    Enrolled { site: String, fingerprint: String },
    #[error(transparent)]
    Line(#[from] IdentityError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a join line for a site, and the authority if there is none yet. Needs no running
/// coordinator; a running one sees the invitation at the next join. A newer line takes the place
/// of an older one.
///
/// # Errors
/// When the invitation is wrong, when the site is enrolled already (unless `replace`), or when the
/// vault can't be used.
pub fn site_add(
    vault: &impl Vault,
    invitation: &Invitation,
    now: Timestamp,
) -> Result<JoinLine, SiteAddError> {
    let site: SiteName = invitation.site.parse()?;
    let addresses = invitation.addresses.iter().map(|a| a.parse()).collect::<Result<_, _>>()?;
    let expires = expiry(now, invitation.ttl)?;
    let enrolled = store::key(vault, &site)?.map(|key| key.fingerprint);
    if let Some(fingerprint) = enrolled.clone().filter(|_| !invitation.replace) {
        return Err(SiteAddError::Enrolled { site: site.to_string(), fingerprint });
    }
    let authority = store::authority(vault, now)?;
    let bundle = JoinBundle {
        addresses,
        pins: vec![authority.fingerprint()],
        secret: JoinSecret::generate()?,
        site: site.clone(),
        issued: now,
        expires,
    };
    let line = bundle.to_line()?;
    let record = InvitationRecord {
        tag: SecretTag::of(&site, &bundle.secret),
        issued: now,
        expires,
        replaces: enrolled.clone(),
    };
    store::keep_invitation(vault, &site, &record)?;
    tracing::info!(site = %site, expires = %expires, "made a join line");
    Ok(JoinLine {
        site: site.to_string(),
        line,
        expires,
        ca_fingerprint: authority.fingerprint().to_string(),
        replaces: enrolled,
    })
}

fn expiry(now: Timestamp, ttl: Duration) -> Result<Timestamp, SiteAddError> {
    let wrong = SiteAddError::Ttl { found: ttl };
    if !(SHORTEST..=LONGEST).contains(&ttl) {
        return Err(wrong);
    }
    let ttl = SignedDuration::from_secs(ttl.as_secs().try_into().unwrap_or(i64::MAX));
    now.checked_add(ttl).map_err(|_| wrong)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;
    use crate::cluster::FileVault;
    use crate::sites::store::{KeyRecord, keep_key, known_sites};

    fn invitation() -> Invitation {
        Invitation {
            site: "north".into(),
            ttl: Duration::from_secs(3600),
            addresses: vec!["192.0.2.7:7443".into()],
            replace: false,
        }
    }

    fn vault() -> (tempfile::TempDir, FileVault) {
        let dir = tempfile::tempdir().unwrap();
        let vault = FileVault::open(dir.path()).unwrap();
        (dir, vault)
    }

    fn all_secrets(vault: &FileVault) -> String {
        let names = vault.list("").unwrap();
        let text = |name: &String| vault.get(name).unwrap().unwrap().to_vec();
        names.iter().map(|name| String::from_utf8_lossy(&text(name)).into_owned()).collect()
    }

    #[test]
    fn a_line_holds_what_the_site_needs_and_its_secret_is_kept_nowhere() {
        let (_dir, vault) = vault();
        let now = Timestamp::now();
        let made = site_add(&vault, &invitation(), now).unwrap();
        let bundle = JoinBundle::parse(made.line.expose_secret()).unwrap();
        assert_eq!(bundle.pins[0].to_string(), made.ca_fingerprint);
        assert_eq!(bundle.site.as_str(), "north");
        let record = store::invitation(&vault, &bundle.site).unwrap().unwrap();
        assert!(record.tag.matches(&bundle.site, bundle.secret.expose()));
        let secret = serde_json::to_string(bundle.secret.expose()).unwrap();
        assert!(!all_secrets(&vault).contains(secret.trim_matches(['[', ']'])));
        assert!(!format!("{made:?}").contains("bpa1."));
    }

    #[test]
    fn a_newer_line_takes_the_place_of_the_older_and_the_authority_stays() {
        let (_dir, vault) = vault();
        let now = Timestamp::now();
        let first = site_add(&vault, &invitation(), now).unwrap();
        let second = site_add(&vault, &invitation(), now).unwrap();
        assert_eq!(first.ca_fingerprint, second.ca_fingerprint);
        let bundle = JoinBundle::parse(first.line.expose_secret()).unwrap();
        let record = store::invitation(&vault, &bundle.site).unwrap().unwrap();
        assert!(!record.tag.matches(&bundle.site, bundle.secret.expose()));
        let known = known_sites(&vault).unwrap();
        assert_eq!(known.len(), 1);
        assert_eq!((known[0].site.as_str(), &known[0].fingerprint), ("north", &None));
    }

    #[test]
    fn an_enrolled_site_is_replaced_only_when_that_is_asked_for() {
        let (_dir, vault) = vault();
        let now = Timestamp::now();
        site_add(&vault, &invitation(), now).unwrap();
        let site: SiteName = "north".parse().unwrap();
        let tag = store::invitation(&vault, &site).unwrap().unwrap().tag;
        let key = KeyRecord { fingerprint: "ab".into(), enrolled: now, invitation: tag };
        keep_key(&vault, &site, &key).unwrap();
        let error = site_add(&vault, &invitation(), now).unwrap_err();
        assert!(error.to_string().contains("has joined already"), "{error}");
        let again = Invitation { replace: true, ..invitation() };
        assert_eq!(site_add(&vault, &again, now).unwrap().replaces.as_deref(), Some("ab"));
    }

    #[test]
    fn wrong_wishes_are_explained() {
        let (_dir, vault) = vault();
        let now = Timestamp::now();
        let wrong = |change: fn(&mut Invitation)| {
            let mut invitation = invitation();
            change(&mut invitation);
            site_add(&vault, &invitation, now).unwrap_err().to_string()
        };
        assert!(wrong(|i| i.site = "North".into()).contains("can't name a site"));
        assert!(wrong(|i| i.ttl = Duration::from_secs(1)).contains("wanted 60 s to 90 days"));
        assert!(wrong(|i| i.addresses = vec!["nowhere".into()]).contains("host:port"));
        assert!(wrong(|i| i.addresses.clear()).contains("0 addresses"));
    }
}
