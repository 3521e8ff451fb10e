//! The agent's configuration file, `/etc/bpa/agent.toml`: one file, few settings, unknown ones
//! refused.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::leases::{SourceKind, SourceSpec};

/// Where the packaged service keeps its configuration.
pub const DEFAULT_PATH: &str = "/etc/bpa/agent.toml";

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Journal, keys, runs. Only the service may read it.
    #[serde(default = "default_state_dir")]
    pub state_dir: PathBuf,
    /// Credentials of the hosts; see `credentials`. None = only the agent's own key is tried.
    #[serde(default)]
    pub credentials: Option<PathBuf>,
    /// Where leases come from, in order of no importance: the newest valid lease answers.
    #[serde(default, rename = "lease")]
    pub leases: Vec<LeaseSourceConfig>,
    #[serde(default, rename = "bundle")]
    pub bundles: Vec<BundleConfig>,
    #[serde(default)]
    pub runs: RunsConfig,
}

/// One `[[lease]]` table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseSourceConfig {
    /// `isc`, `dnsmasq`, `libvirt`, `kea`, `networkd`, `udhcpd`, `bootpd` or `auto`.
    pub kind: SourceKind,
    pub path: PathBuf,
    /// How long a lease that has ended answers on, in seconds, if its MAC has nothing better.
    #[serde(default)]
    pub grace_seconds: u32,
}

impl LeaseSourceConfig {
    /// The source as it is read.
    pub fn spec(&self) -> SourceSpec {
        let Self { kind, path, grace_seconds } = self.clone();
        SourceSpec { kind, path, grace_seconds }
    }
}

/// One `[[bundle]]` table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleConfig {
    /// Directory with `bundle.json` and the playbooks.
    pub path: PathBuf,
    /// Directory of `ansible-playbook` and `ansible-inventory`; none = from PATH.
    #[serde(default)]
    pub ansible_bin: Option<PathBuf>,
    /// Variables of this site for every run, such as `files_repo`.
    #[serde(default)]
    pub vars: toml::Table,
}

/// `[runs]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunsConfig {
    /// How long a run waits for a host's lease before it fails.
    pub lease_wait_seconds: u64,
    /// How long a run waits for a host's SSH port to answer.
    pub ssh_wait_seconds: u64,
    /// `ansible-playbook --forks`.
    pub forks: u32,
    /// How many playbooks are at work at once; further runs wait for their turn.
    pub at_once: NonZeroU32,
}

/// As many as a small bootstrap host bears.
const AT_ONCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

impl Default for RunsConfig {
    fn default() -> Self {
        Self { lease_wait_seconds: 600, ssh_wait_seconds: 120, forks: 10, at_once: AT_ONCE }
    }
}

/// Where state lies when nothing else is said.
pub fn default_state_dir() -> PathBuf {
    PathBuf::from("/var/lib/bpa-agent")
}

/// Why the configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("can't read the configuration {}: {source}; create it (bpa-agent run --help shows an example) or name another with --config", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the configuration {} is wrong: {message}", path.display())]
    Parse { path: PathBuf, message: String },
}

impl Config {
    /// Reads a configuration file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        toml::from_str(&text)
            .map_err(|e| ConfigError::Parse { path: path.to_owned(), message: e.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_enough_and_a_typo_is_named() {
        let config: Config =
            toml::from_str("[[lease]]\nkind = \"kea\"\npath = \"/var/lib/kea/kea-leases4.csv\"\n")
                .unwrap();
        assert_eq!(config.state_dir, PathBuf::from("/var/lib/bpa-agent"));
        assert_eq!(config.leases[0].kind, SourceKind::Kea);
        assert_eq!(config.leases[0].spec().grace_seconds, 0);
        let error = toml::from_str::<Config>("state_dri = \"/x\"").unwrap_err().to_string();
        assert!(error.contains("state_dri"), "{error}");
        let error = toml::from_str::<Config>("[[lease]]\nkind = \"kae\"\npath = \"/x\"\n")
            .unwrap_err()
            .to_string();
        assert!(error.contains("wanted one of isc"), "{error}");
    }
}
