//! What `join` keeps and every session needs, below `<state_dir>/link`, readable by the agent only.
//!
//! - `key.pem`: the agent's key, made here; it never leaves this machine.
//! - `identity.json`: site, certificate, pins, addresses; replaced as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bpa_common::identity::{Address, CertificateFacts, Fingerprint, SiteKey, SiteName};
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::private;

const FORMAT: u32 = 1;

/// Who this agent is: key, certificate, site, and where and whom it dials.
#[derive(Debug)]
pub struct SiteIdentity {
    /// Name of the site that was joined.
    pub site: String,
    pub(super) name: SiteName,
    pub(super) key: SiteKey,
    pub(super) certificate: CertificateDer<'static>,
    /// Authorities that are believed.
    pub(super) pins: Vec<Fingerprint>,
    /// Where the coordinator is reached, tried in turn.
    pub(super) addresses: Vec<Address>,
    /// A time that is past for certain, by the coordinator's clock.
    pub(super) last_good: Timestamp,
}

/// Why there is no identity to connect with.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error(
        "this agent has not joined a site yet; run `bpa-agent join -` first, with the line of `bpa-coordinator site add`"
    )]
    NotJoined,
    #[error("can't {action} {}: {source}; run as the agent's user and check the directory", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "{} is damaged: {problem}; remove {} and join again with a new line",
        path.display(), path.parent().unwrap_or(path).display()
    )]
    Damaged { path: PathBuf, problem: String },
}

/// `identity.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    site: String,
    /// DER in base64.
    certificate: String,
    pins: Vec<String>,
    addresses: Vec<String>,
    last_good: Timestamp,
}

fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join("link")
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> IdentityError + 'a {
    move |source| IdentityError::Io { action, path: path.to_owned(), source }
}

fn damaged(path: &Path, problem: impl ToString) -> IdentityError {
    IdentityError::Damaged { path: path.to_owned(), problem: problem.to_string() }
}

impl SiteIdentity {
    /// Reads what `join` has kept.
    ///
    /// # Errors
    /// When no site was joined or the files can't be read.
    pub fn load(state_dir: &Path) -> Result<Self, IdentityError> {
        let path = folder(state_dir).join("identity.json");
        let Some(text) = read(&path)? else { return Err(IdentityError::NotJoined) };
        let file: File = serde_json::from_slice(&text).map_err(|e| damaged(&path, e))?;
        if file.format != FORMAT {
            return Err(damaged(&path, format!("format {}, wanted {FORMAT}", file.format)));
        }
        let Some(key) = load_key(state_dir)? else {
            return Err(damaged(&folder(state_dir).join("key.pem"), "the key is missing"));
        };
        let identity = Self::assemble(file, key).map_err(|problem| damaged(&path, problem))?;
        Ok(identity)
    }

    fn assemble(file: File, key: SiteKey) -> Result<Self, String> {
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let certificate = BASE64.decode(&file.certificate).map_err(|e| text(&e))?;
        let facts = CertificateFacts::read(&certificate).map_err(|e| text(&e))?;
        if facts.fingerprint != key.fingerprint() {
            return Err("the certificate is not that of key.pem".into());
        }
        if file.addresses.is_empty() || file.pins.is_empty() {
            return Err("it has no address or no pin".into());
        }
        let addresses = file.addresses.iter().map(|a| a.parse::<Address>().map_err(|e| text(&e)));
        let pins = file.pins.iter().map(|p| p.parse::<Fingerprint>().map_err(|e| text(&e)));
        Ok(Self {
            name: file
                .site
                .parse()
                .map_err(|e| text(&e as &bpa_common::identity::SiteNameError))?,
            site: file.site,
            key,
            certificate: certificate.into(),
            pins: pins.collect::<Result<_, _>>()?,
            addresses: addresses.collect::<Result<_, _>>()?,
            last_good: file.last_good,
        })
    }

    /// Keeps this identity in the place of an older one. The key is kept already.
    pub(super) fn save(&self, state_dir: &Path) -> Result<(), IdentityError> {
        let path = folder(state_dir).join("identity.json");
        let file = File {
            format: FORMAT,
            site: self.site.clone(),
            certificate: BASE64.encode(&self.certificate),
            pins: self.pins.iter().map(Fingerprint::to_string).collect(),
            addresses: self.addresses.iter().map(Address::to_string).collect(),
            last_good: self.last_good,
        };
        let text = serde_json::to_vec_pretty(&file).map_err(|e| damaged(&path, e))?;
        private::write(&path, &text).map_err(failed("write", &path))
    }

    /// Fingerprint of this agent's key, as the coordinator shows it too.
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint().to_string()
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, IdentityError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failed("read", path)(e)),
    }
}

fn load_key(state_dir: &Path) -> Result<Option<SiteKey>, IdentityError> {
    let path = folder(state_dir).join("key.pem");
    let Some(bytes) = read(&path)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| damaged(&path, "it is not text"))?;
    SiteKey::from_pem(&SecretString::from(text)).map(Some).map_err(|e| damaged(&path, e))
}

/// The key of this agent, made at the first call.
pub(super) fn key(state_dir: &Path) -> Result<SiteKey, IdentityError> {
    use secrecy::ExposeSecret;
    if let Some(key) = load_key(state_dir)? {
        return Ok(key);
    }
    let folder = folder(state_dir);
    private::make_dir(&folder).map_err(failed("make", &folder))?;
    let path = folder.join("key.pem");
    let key = SiteKey::generate().map_err(|e| damaged(&path, e))?;
    private::write(&path, key.to_pem().expose_secret().as_bytes())
        .map_err(failed("write", &path))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use bpa_common::identity::Authority;

    use super::*;

    fn identity(state_dir: &Path) -> SiteIdentity {
        let now = Timestamp::now();
        let authority = Authority::create(now).unwrap();
        let key = key(state_dir).unwrap();
        let name: SiteName = "north".parse().unwrap();
        let request = key.request(&name).unwrap();
        SiteIdentity {
            site: "north".into(),
            certificate: authority.certify(&name, &request, now).unwrap().der,
            name,
            key,
            pins: vec![authority.fingerprint()],
            addresses: vec!["192.0.2.7:7443".parse().unwrap()],
            last_good: now,
        }
    }

    #[test]
    fn what_was_kept_is_read_again_and_nobody_else_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let kept = identity(dir.path());
        kept.save(dir.path()).unwrap();
        let read = SiteIdentity::load(dir.path()).unwrap();
        assert_eq!(read.fingerprint(), kept.fingerprint());
        assert_eq!((&read.certificate, &read.pins), (&kept.certificate, &kept.pins));
        assert_eq!((&read.addresses, read.last_good), (&kept.addresses, kept.last_good));
        for (name, mode) in
            [("link", 0o700), ("link/key.pem", 0o600), ("link/identity.json", 0o600)]
        {
            let found = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "{name}");
        }
    }

    #[test]
    fn the_key_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let first = key(dir.path()).unwrap().fingerprint();
        assert_eq!(key(dir.path()).unwrap().fingerprint(), first);
    }

    #[test]
    fn an_agent_that_has_not_joined_or_has_lost_its_key_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let error = SiteIdentity::load(dir.path()).unwrap_err();
        assert!(error.to_string().contains("run `bpa-agent join -`"), "{error}");
        identity(dir.path()).save(dir.path()).unwrap();
        fs::remove_file(dir.path().join("link/key.pem")).unwrap();
        let error = SiteIdentity::load(dir.path()).unwrap_err();
        assert!(error.to_string().contains("join again"), "{error}");
        key(dir.path()).unwrap();
        let error = SiteIdentity::load(dir.path()).unwrap_err();
        assert!(error.to_string().contains("not that of key.pem"), "{error}");
        fs::write(dir.path().join("link/identity.json"), "{}").unwrap();
        assert!(matches!(SiteIdentity::load(dir.path()), Err(IdentityError::Damaged { .. })));
    }
}
