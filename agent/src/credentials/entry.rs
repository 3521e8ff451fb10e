//! One entry: whom it is for, and how to log in there.

use std::path::PathBuf;

use bpa_common::net::MacAddress;
use secrecy::SecretString;

use super::glob::Glob;

/// Whom an entry is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The Metal3 host of this name.
    Host(String),
    /// The host with this hardware address.
    Mac(MacAddress),
    /// Every host whose name fits.
    Pattern(Glob),
    /// Every host that no other entry is for.
    Default,
}

/// How to log in on a host until the site's key is installed there. `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct Credential {
    /// Account on the host; `root` unless the entry says otherwise.
    pub user: String,
    pub password: Option<SecretString>,
    /// Private key file, readable by the agent alone.
    pub key: Option<PathBuf>,
    pub key_passphrase: Option<SecretString>,
    /// For sudo; none = `password` is tried.
    pub sudo_password: Option<SecretString>,
    /// Where the entry stands, for messages: `credentials.toml line 12`.
    pub origin: String,
}

impl Credential {
    /// The password to try for sudo: its own, else the one of the account.
    pub fn password_for_sudo(&self) -> Option<&SecretString> {
        self.sudo_password.as_ref().or(self.password.as_ref())
    }

    /// True when there is something to log in with besides the site's key.
    pub fn can_log_in(&self) -> bool {
        self.password.is_some() || self.key.is_some()
    }
}

/// An entry with its selector, in the order of the files.
#[derive(Clone, Debug)]
pub struct Entry {
    pub selector: Selector,
    pub credential: Credential,
}
