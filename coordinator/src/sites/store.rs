//! What the link keeps in the vault, and under which names.
//!
//! | name | content |
//! |---|---|
//! | `ca/authority.pem` | certificate and key of the authority, in one file |
//! | `epoch` | the number of the last start, as text |
//! | `sites/NAME/invitation` | tag and times of the newest join line |
//! | `sites/NAME/key` | the enrolled public key |

use std::io;

use bpa_common::identity::{Authority, IdentityError, SecretTag, SiteName};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cluster::Vault;

const AUTHORITY: &str = "ca/authority.pem";
const EPOCH: &str = "epoch";

/// Why what the link keeps can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("can't {action} `{name}` in the coordinator's vault: {source}")]
    Vault { action: &'static str, name: String, source: io::Error },
    #[error(
        "`{name}` in the coordinator's vault is damaged: {problem}; restore the state directory from a backup"
    )]
    Damaged { name: String, problem: String },
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// The newest join line of a site. The secret itself is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InvitationRecord {
    pub tag: SecretTag,
    pub issued: Timestamp,
    pub expires: Timestamp,
    /// Fingerprint of the enrolled key that a join may replace.
    pub replaces: Option<String>,
}

/// The enrolled key of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyRecord {
    pub fingerprint: String,
    pub enrolled: Timestamp,
    /// Of the line that it was enrolled with.
    pub invitation: SecretTag,
}

/// A site as the vault knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownSite {
    pub site: String,
    /// Fingerprint of the enrolled key; none until the site has joined.
    pub fingerprint: Option<String>,
    pub enrolled: Option<Timestamp>,
    /// When the newest join line ends.
    pub invited_until: Option<Timestamp>,
}

fn failed<'a>(action: &'static str, name: &'a str) -> impl Fn(io::Error) -> StoreError + 'a {
    move |source| StoreError::Vault { action, name: name.to_owned(), source }
}

/// The authority of this coordinator, made at first use. Of two that make one at once, both use
/// the one that was kept.
pub(super) fn authority(vault: &impl Vault, now: Timestamp) -> Result<Authority, StoreError> {
    use secrecy::ExposeSecret;
    if let Some(authority) = read_authority(vault)? {
        return Ok(authority);
    }
    let made = Authority::create(now)?;
    let pem = made.to_pem();
    let kept = vault
        .create(AUTHORITY, pem.expose_secret().as_bytes())
        .map_err(failed("write", AUTHORITY))?;
    if kept {
        return Ok(made);
    }
    read_authority(vault)?.ok_or_else(|| StoreError::Damaged {
        name: AUTHORITY.into(),
        problem: "it appeared and vanished".into(),
    })
}

fn read_authority(vault: &impl Vault) -> Result<Option<Authority>, StoreError> {
    let Some(bytes) = vault.get(AUTHORITY).map_err(failed("read", AUTHORITY))? else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&bytes).map_err(|_| StoreError::Damaged {
        name: AUTHORITY.into(),
        problem: "it is not text".into(),
    })?;
    Ok(Some(Authority::from_pem(&SecretString::from(text))?))
}

/// Counts one more start of this coordinator.
pub(super) fn next_epoch(vault: &impl Vault) -> Result<u64, StoreError> {
    let damaged =
        |problem: &str| StoreError::Damaged { name: EPOCH.into(), problem: problem.into() };
    let last = match vault.get(EPOCH).map_err(failed("read", EPOCH))? {
        None => 0,
        Some(bytes) => std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| text.trim().parse::<u64>().ok())
            .ok_or_else(|| damaged("it is not a number"))?,
    };
    let next = last.checked_add(1).ok_or_else(|| damaged("it is too large"))?;
    vault.put(EPOCH, next.to_string().as_bytes()).map_err(failed("write", EPOCH))?;
    Ok(next)
}

fn read<T: DeserializeOwned>(vault: &impl Vault, name: &str) -> Result<Option<T>, StoreError> {
    let Some(bytes) = vault.get(name).map_err(failed("read", name))? else { return Ok(None) };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|e| StoreError::Damaged { name: name.to_owned(), problem: e.to_string() })
}

fn write<T: Serialize>(vault: &impl Vault, name: &str, value: &T) -> Result<(), StoreError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|e| StoreError::Damaged { name: name.to_owned(), problem: e.to_string() })?;
    vault.put(name, &bytes).map_err(failed("write", name))
}

fn invitation_name(site: &SiteName) -> String {
    format!("sites/{site}/invitation")
}

fn key_name(site: &SiteName) -> String {
    format!("sites/{site}/key")
}

pub(super) fn invitation(
    vault: &impl Vault,
    site: &SiteName,
) -> Result<Option<InvitationRecord>, StoreError> {
    read(vault, &invitation_name(site))
}

pub(super) fn keep_invitation(
    vault: &impl Vault,
    site: &SiteName,
    record: &InvitationRecord,
) -> Result<(), StoreError> {
    write(vault, &invitation_name(site), record)
}

pub(super) fn key(vault: &impl Vault, site: &SiteName) -> Result<Option<KeyRecord>, StoreError> {
    read(vault, &key_name(site))
}

pub(super) fn keep_key(
    vault: &impl Vault,
    site: &SiteName,
    record: &KeyRecord,
) -> Result<(), StoreError> {
    write(vault, &key_name(site), record)
}

/// Every site that was invited or has joined, by name.
///
/// # Errors
/// When the vault can't be read or holds something damaged.
pub fn known_sites(vault: &impl Vault) -> Result<Vec<KnownSite>, StoreError> {
    let names = vault.list("sites/").map_err(failed("list", "sites/"))?;
    let mut sites: Vec<SiteName> = names
        .iter()
        .filter_map(|name| name.strip_prefix("sites/")?.split('/').next()?.parse().ok())
        .collect();
    sites.dedup();
    sites
        .into_iter()
        .map(|site| {
            let key = key(vault, &site)?;
            Ok(KnownSite {
                invited_until: invitation(vault, &site)?.map(|record| record.expires),
                site: site.to_string(),
                enrolled: key.as_ref().map(|key| key.enrolled),
                fingerprint: key.map(|key| key.fingerprint),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::FileVault;

    #[test]
    fn every_start_counts_and_a_damaged_count_stops() {
        let dir = tempfile::tempdir().unwrap();
        let vault = FileVault::open(dir.path()).unwrap();
        assert_eq!(next_epoch(&vault).unwrap(), 1);
        assert_eq!(next_epoch(&vault).unwrap(), 2);
        vault.put(EPOCH, b"two").unwrap();
        let error = next_epoch(&vault).unwrap_err();
        assert!(error.to_string().contains("restore"), "{error}");
    }

    #[test]
    fn of_many_that_start_at_once_all_have_one_authority() {
        let dir = tempfile::tempdir().unwrap();
        let vault = FileVault::open(dir.path()).unwrap();
        let now = Timestamp::now();
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| authority(&vault, now).unwrap())).collect();
            threads.into_iter().map(|t| t.join().unwrap().fingerprint()).collect()
        });
        assert!(made.iter().all(|f| *f == made[0]), "{made:?}");
    }

    #[test]
    fn a_damaged_record_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let vault = FileVault::open(dir.path()).unwrap();
        let north: SiteName = "north".parse().unwrap();
        vault.put("sites/north/key", b"{\"fingerprint\": 1}").unwrap();
        let error = key(&vault, &north).unwrap_err().to_string();
        assert!(error.contains("sites/north/key") && error.contains("backup"), "{error}");
        vault.put(AUTHORITY, b"\xff").unwrap();
        assert!(authority(&vault, Timestamp::now()).is_err());
    }
}
