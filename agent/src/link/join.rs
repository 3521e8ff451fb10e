//! `bpa-agent join LINE`: first contact. Safe to repeat.

use std::path::Path;
use std::time::Duration;

use bpa_common::identity::{
    CertificateFacts, Fingerprint, JoinBundle, JoinLineError, SiteKey, SiteName,
};
use bpa_common::link::{CloseCode, DialError, Dialed, client_config, dial};
use bpa_common::wire::v1::{JoinGranted, JoinRefused, JoinRequest, SecretBytes};
use bpa_common::wire::{FrameError, FrameReader, FrameWriter, Message, VERSION};
use jiff::Timestamp;

use super::identity::{IdentityError, SiteIdentity, key};

/// How long the coordinator may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// What a join led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub site: String,
    /// Fingerprint of this agent's key, as the coordinator shows it too.
    pub fingerprint: String,
    /// Fingerprint of the coordinator's authority.
    pub ca_fingerprint: String,
    /// True when this agent had joined this site before; its certificate is new now.
    pub already: bool,
}

/// Why the site could not be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(transparent)]
    Line(#[from] JoinLineError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(
        "this agent belongs to site {joined}, the line is for site {wanted}; to move it, stop it, remove {folder} and join again"
    )]
    OtherSite { joined: String, wanted: String, folder: String },
    #[error("no coordinator could be reached:{}", list(tried))]
    NotReached { tried: Vec<DialError> },
    #[error("{reason}")]
    Refused { refusal: JoinRefused, reason: String },
    #[error("the coordinator's answer did not come whole: {0}; run the same command again")]
    Broken(String),
    #[error("the coordinator's answer is not to be trusted: {0}; nothing was kept")]
    Wrong(String),
    #[error("can't make the request: {0}")]
    Local(String),
}

fn list(tried: &[DialError]) -> String {
    tried.iter().map(|error| format!("\n  - {error}")).collect()
}

/// Joins the site of a line: makes a key, proves the secret, keeps the certificate below
/// `<state_dir>/link`. Safe to repeat: the key stays, and the same line with the same key is
/// granted again.
///
/// # Errors
/// Each refusal says what was wanted, what was found and what to do.
pub async fn join(line: &str, state_dir: &Path) -> Result<Joined, JoinError> {
    let bundle = JoinBundle::parse(line)?;
    let already = match SiteIdentity::load(state_dir) {
        Ok(identity) if identity.name != bundle.site => {
            return Err(JoinError::OtherSite {
                joined: identity.site,
                wanted: bundle.site.to_string(),
                folder: state_dir.join("link").display().to_string(),
            });
        }
        Ok(_) => true,
        // A certificate that can't be read is no loss: a new one is on its way.
        Err(IdentityError::NotJoined | IdentityError::Damaged { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    let key = key(state_dir)?;
    let dialed = reach(&bundle).await?;
    let request = request(&bundle, &key)?;
    let answer = tokio::time::timeout(ANSWER_LIMIT, ask(&dialed, &request)).await;
    let answer = answer.unwrap_or_else(|_| Err("no answer came in time".into()));
    dialed.close(CloseCode::Done, "").await;
    let granted = match answer.map_err(JoinError::Broken)? {
        Ok(granted) => granted,
        Err(refusal) => {
            let reason = explain(&refusal, &bundle.site);
            return Err(JoinError::Refused { refusal, reason });
        }
    };
    let ca = check(&granted, &bundle, key.fingerprint()).map_err(JoinError::Wrong)?;
    let identity = SiteIdentity {
        site: bundle.site.to_string(),
        name: bundle.site,
        key,
        certificate: granted.certificate.into(),
        pins: bundle.pins,
        addresses: bundle.addresses,
        last_good: Timestamp::from_millisecond(granted.clock_ms).unwrap_or(bundle.issued),
    };
    identity.save(state_dir)?;
    Ok(Joined {
        fingerprint: identity.fingerprint(),
        site: identity.site,
        ca_fingerprint: ca.to_string(),
        already,
    })
}

async fn reach(bundle: &JoinBundle) -> Result<Dialed, JoinError> {
    let config = client_config(bundle.pins.clone(), bundle.issued, None)
        .map_err(|e| JoinError::Local(e.to_string()))?;
    let mut tried = Vec::new();
    for address in &bundle.addresses {
        match dial(address, config.clone()).await {
            Ok(dialed) => return Ok(dialed),
            Err(error) => tried.push(error),
        }
    }
    Err(JoinError::NotReached { tried })
}

fn request(bundle: &JoinBundle, key: &SiteKey) -> Result<JoinRequest, JoinError> {
    Ok(JoinRequest {
        min_version: VERSION,
        max_version: VERSION,
        site: bundle.site.to_string(),
        secret: SecretBytes(bundle.secret.expose().to_vec()),
        csr: key.request(&bundle.site).map_err(|e| JoinError::Local(e.to_string()))?,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        clock_ms: Timestamp::now().as_millisecond(),
    })
}

async fn ask(
    dialed: &Dialed,
    request: &JoinRequest,
) -> Result<Result<JoinGranted, JoinRefused>, String> {
    let text = |e: FrameError| e.to_string();
    let (send, receive) = dialed.connection.open_bi().await.map_err(|e| e.to_string())?;
    let mut writer = FrameWriter::new(send);
    writer.send(request).await.map_err(text)?;
    let _ = writer.get_mut().finish();
    let mut reader = FrameReader::new(receive, JoinGranted::MAX);
    match reader.next().await.map_err(text)? {
        Some(frame) if frame.is::<JoinGranted>() => Ok(Ok(frame.decode().map_err(text)?)),
        Some(frame) => Ok(Err(frame.decode().map_err(text)?)),
        None => Err("it was empty".into()),
    }
}

/// Trusts nothing that was not asked for. Gives the fingerprint of the authority.
fn check(
    granted: &JoinGranted,
    bundle: &JoinBundle,
    key: Fingerprint,
) -> Result<Fingerprint, String> {
    let certificate = CertificateFacts::read(&granted.certificate).map_err(|e| e.to_string())?;
    let ca = CertificateFacts::read(&granted.ca).map_err(|e| e.to_string())?;
    if certificate.fingerprint != key {
        return Err("its certificate is for another key".into());
    }
    if certificate.site.as_ref() != Some(&bundle.site) {
        return Err(format!("its certificate is not for site {}", bundle.site));
    }
    if !bundle.pins.contains(&ca.fingerprint) {
        return Err("its authority is not the pinned one".into());
    }
    Ok(ca.fingerprint)
}

fn explain(refusal: &JoinRefused, site: &SiteName) -> String {
    let again = format!("make a new one with `bpa-coordinator site add {site}`");
    match refusal {
        JoinRefused::Version { min, max } => format!(
            "the coordinator speaks protocol versions {min} to {max}, this agent {VERSION}; install matching versions"
        ),
        JoinRefused::UnknownSite => format!(
            "the coordinator does not know site {site}; was the line made on another coordinator? Otherwise {again}"
        ),
        JoinRefused::WrongSecret => format!(
            "this is not the newest join line of site {site}: a newer one was made since; use that, or {again}"
        ),
        JoinRefused::Expired { since } => {
            let since = Timestamp::from_second(*since).map(|t| t.to_string()).unwrap_or_default();
            format!("the join line ended at {since} by the coordinator's clock; {again}")
        }
        JoinRefused::Used { fingerprint } => format!(
            "the join line was used already, by the agent with key {fingerprint}; if that is not an agent of yours, somebody else has had the line: see `bpa-coordinator get sites` and {again}"
        ),
        JoinRefused::KeyEnrolled { fingerprint } => format!(
            "site {site} has an agent already, with key {fingerprint}; if this machine is to take its place, {again} --replace"
        ),
        JoinRefused::Invalid { message } => {
            format!("the coordinator can't read the request: {message}; install matching versions")
        }
        JoinRefused::Busy { retry_after_ms } => {
            format!("the coordinator is busy; try again in {} s", retry_after_ms.div_ceil(1000))
        }
        JoinRefused::Internal { message } => {
            format!(
                "the coordinator could not enrol this agent: {message}; then run the same command again"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_a_message_of_its_own_that_says_what_to_do() {
        let refusals = [
            JoinRefused::Version { min: 2, max: 3 },
            JoinRefused::UnknownSite,
            JoinRefused::WrongSecret,
            JoinRefused::Expired { since: 1_796_000_000 },
            JoinRefused::Used { fingerprint: "ab".into() },
            JoinRefused::KeyEnrolled { fingerprint: "ab".into() },
            JoinRefused::Invalid { message: "m".into() },
            JoinRefused::Busy { retry_after_ms: 1500 },
            JoinRefused::Internal { message: "m".into() },
        ];
        let site = "north".parse().unwrap();
        let mut texts: Vec<_> = refusals.iter().map(|r| explain(r, &site)).collect();
        assert!(texts.iter().all(|t| t.contains(';')), "{texts:#?}");
        assert!(texts[3].contains("2026-11-30T"), "{}", texts[3]);
        assert!(texts[7].contains("2 s"), "{}", texts[7]);
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), refusals.len());
    }

    #[tokio::test]
    async fn a_bad_line_leaves_no_trace() {
        let dir = tempfile::tempdir().unwrap();
        let error = join("bpa1.AAAA", dir.path()).await.unwrap_err();
        assert!(error.to_string().contains("cut off"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
