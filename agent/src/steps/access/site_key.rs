//! The site's own SSH key: made here, never leaves. Its public half goes to the hosts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::TryRngCore;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::keys::{HashAlg, PrivateKey};
use secrecy::zeroize::Zeroizing;

use crate::credentials::{CredentialsError, read_private};
use crate::private;

/// A key file is some 400 bytes.
const LIMIT: u64 = 16 << 10;
const ROOM: &str = "ssh";

fn path_in(state_dir: &Path) -> PathBuf {
    state_dir.join(ROOM).join("site_ed25519")
}

/// The site's key pair. `Debug` shows the public half alone.
pub struct SiteKey {
    path: PathBuf,
    key: Arc<PrivateKey>,
    line: String,
}

/// Why there is no site key.
#[derive(Debug, thiserror::Error)]
pub enum SiteKeyError {
    #[error("can't write the site's SSH key {}: {source}; wanted a state directory that the agent may write", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("can't use the site's SSH key: {0}")]
    Private(CredentialsError),
    #[error("the site's SSH key {} is damaged ({message}); restore it, or move it away: a new one is made then and installed with the credentials", path.display())]
    Damaged { path: PathBuf, message: String },
    #[error("no random numbers for the site's SSH key: {0}")]
    Random(String),
}

impl SiteKey {
    /// Reads the key of `<state_dir>/ssh`, or makes it (ed25519) when there is none.
    ///
    /// # Errors
    /// When it can't be written, read, or is open to others. A damaged key is never replaced.
    pub fn load_or_create(state_dir: &Path, site: &str) -> Result<Self, SiteKeyError> {
        let path = path_in(state_dir);
        let unwritten = |source| SiteKeyError::Write { path: path.clone(), source };
        private::make_dir(&state_dir.join(ROOM)).map_err(unwritten)?;
        if !path.exists() {
            let text = generate(site)?;
            private::write(&path, text.as_bytes()).map_err(unwritten)?;
        }
        let key = Self::read(path.clone())?;
        let public = path.with_extension("pub");
        if fs::read_to_string(&public).ok().as_deref().map(str::trim_end) != Some(&key.line) {
            private::write(&public, format!("{}\n", key.line).as_bytes()).map_err(unwritten)?;
        }
        Ok(key)
    }

    /// Reads the key; none when it has not been made yet.
    ///
    /// # Errors
    /// When it can't be read, is damaged or open to others.
    pub fn load(state_dir: &Path) -> Result<Option<Self>, SiteKeyError> {
        let path = path_in(state_dir);
        if path.exists() { Self::read(path).map(Some) } else { Ok(None) }
    }

    fn read(path: PathBuf) -> Result<Self, SiteKeyError> {
        let text = read_private(&path, LIMIT).map_err(SiteKeyError::Private)?;
        let damaged = |e: russh::keys::ssh_key::Error| SiteKeyError::Damaged {
            path: path.clone(),
            message: e.to_string(),
        };
        let key = PrivateKey::from_openssh(text.as_bytes()).map_err(damaged)?;
        let line = key.public_key().to_openssh().map_err(damaged)?;
        Ok(Self { path, key: Arc::new(key), line })
    }

    /// The private key file, for `ssh -i` and ansible.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One line of `authorized_keys`, ending in `bpa-agent@<site>`.
    pub fn public_line(&self) -> &str {
        &self.line
    }

    /// `SHA256:…`, as ssh-keygen prints it.
    pub fn fingerprint(&self) -> String {
        self.key.public_key().fingerprint(HashAlg::Sha256).to_string()
    }

    pub(super) fn key(&self) -> Arc<PrivateKey> {
        Arc::clone(&self.key)
    }
}

impl std::fmt::Debug for SiteKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SiteKey({})", self.line)
    }
}

fn generate(site: &str) -> Result<Zeroizing<String>, SiteKeyError> {
    let mut seed = Zeroizing::new([0u8; 32]);
    rand::rngs::OsRng
        .try_fill_bytes(seed.as_mut())
        .map_err(|e| SiteKeyError::Random(e.to_string()))?;
    let pair = KeypairData::from(Ed25519Keypair::from_seed(&seed));
    PrivateKey::new(pair, format!("bpa-agent@{}", plain(site)))
        .and_then(|key| key.to_openssh(LineEnding::LF))
        .map_err(|e| SiteKeyError::Random(e.to_string()))
}

/// The comment stands in files of the hosts and in a command line: letters, digits, `.`, `_`, `-`.
fn plain(site: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    site.chars().take(63).map(keep).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_key_is_made_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let first = SiteKey::load_or_create(dir.path(), "berlin-1").unwrap();
        assert!(first.public_line().starts_with("ssh-ed25519 "));
        assert!(first.public_line().ends_with(" bpa-agent@berlin-1"));
        assert_eq!(fs::metadata(first.path()).unwrap().permissions().mode() & 0o777, 0o600);
        let again = SiteKey::load_or_create(dir.path(), "berlin-1").unwrap();
        assert_eq!(first.fingerprint(), again.fingerprint());
        let text = fs::read_to_string(first.path()).unwrap();
        assert!(!format!("{first:?}").contains(text.lines().nth(2).unwrap()));
    }

    #[test]
    fn ssh_keygen_reads_it_and_agrees_on_the_fingerprint() {
        let dir = tempfile::tempdir().unwrap();
        let key = SiteKey::load_or_create(dir.path(), "s").unwrap();
        let out = std::process::Command::new("ssh-keygen").arg("-lf").arg(key.path()).output();
        let out = String::from_utf8(out.unwrap().stdout).unwrap();
        assert!(out.contains(&key.fingerprint()), "{out}");
    }

    #[test]
    fn a_damaged_or_open_key_is_told_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = SiteKey::load_or_create(dir.path(), "s").unwrap().path().to_owned();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let message = SiteKey::load_or_create(dir.path(), "s").unwrap_err().to_string();
        assert!(message.contains("chmod 600"), "{message}");
        private::write(&path, b"not a key\n").unwrap();
        let message = SiteKey::load_or_create(dir.path(), "s").unwrap_err().to_string();
        assert!(message.contains("is damaged"), "{message}");
        assert_eq!(fs::read(&path).unwrap(), b"not a key\n");
    }

    #[test]
    fn a_site_name_can_carry_nothing_into_a_command() {
        assert_eq!(plain("a b';rm -rf /\n"), "a_b__rm_-rf___");
    }
}
