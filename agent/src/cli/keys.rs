//! `bpa-agent keys`: the agent's key, the site's SSH key and the host keys that are trusted.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use crate::link::SiteIdentity;
use crate::steps::access::{Pin, Pins, PinsError, SiteKey, SiteKeyError};
use bpa_common::output::{Output, columns, print};

/// A change of meaning is a new number.
const SCHEMA: u32 = 1;

/// Options of the command.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:\n  bpa-agent keys\n  bpa-agent keys forget rack1-node7\n\n\
    Exit codes: 0 done, 1 the keys can't be read, 2 usage, 4 the host has no pinned key.")]
pub struct KeysArgs {
    #[command(subcommand)]
    pub command: Option<KeysCommand>,
}

/// What to do; by default the keys are listed.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum KeysCommand {
    /// The site's public key, and the host keys that are trusted
    #[command(after_help = "Example:\n  bpa-agent keys list -o json")]
    List,
    /// Trust the key that this host shows next, whatever it is: after its OS was installed anew
    #[command(after_help = "Example:\n  bpa-agent keys forget rack1-node7")]
    Forget {
        /// Name of the Metal3 host, or its uid
        host: String,
    },
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error(transparent)]
    Pins(#[from] PinsError),
    #[error(transparent)]
    SiteKey(#[from] SiteKeyError),
    #[error("there is no state directory {}; start the agent first, or name its configuration with --config", path.display())]
    NoState { path: PathBuf },
    #[error("the result can't be written: {0}")]
    Write(#[from] std::io::Error),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    schema: u32,
    /// The key of the link, as the coordinator shows it when the site is approved. Null until the
    /// agent has joined.
    agent: Option<AgentLine>,
    /// Null until the agent has made it.
    site_key: Option<SiteKeyLine>,
    hosts: Vec<HostLine>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentLine {
    site: String,
    fingerprint: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SiteKeyLine {
    public: String,
    fingerprint: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HostLine {
    host: String,
    host_uid: String,
    installation: String,
    user: String,
    fingerprint: String,
    key: String,
}

/// Lists or forgets.
///
/// # Errors
/// When the keys can't be read, or nothing can be printed.
pub fn run(args: &KeysArgs, state_dir: &Path, output: Output) -> Result<ExitCode, KeysError> {
    if !state_dir.is_dir() {
        return Err(KeysError::NoState { path: state_dir.to_owned() });
    }
    match &args.command {
        None | Some(KeysCommand::List) => {
            let report = report(state_dir)?;
            print(&output.text(&report, || table(&report))?)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(KeysCommand::Forget { host }) => forget(state_dir, host, output),
    }
}

fn forget(state_dir: &Path, host: &str, output: Output) -> Result<ExitCode, KeysError> {
    let gone = Pins::new(state_dir).forget(host)?;
    if gone.is_empty() {
        eprintln!("no host key of {host} is pinned; `bpa-agent keys` lists those that are");
        return Ok(ExitCode::from(4));
    }
    let lines: Vec<HostLine> = gone.into_iter().map(HostLine::of).collect();
    let words = || {
        let line = |l: &HostLine| {
            format!("forgot {} of {}: its next key is trusted\n", l.fingerprint, l.host)
        };
        lines.iter().map(line).collect()
    };
    print(&output.text(&lines, words)?)?;
    Ok(ExitCode::SUCCESS)
}

fn report(state_dir: &Path) -> Result<Report, KeysError> {
    let site_key = SiteKey::load(state_dir)?.map(|key| SiteKeyLine {
        public: key.public_line().to_owned(),
        fingerprint: key.fingerprint(),
    });
    let hosts = Pins::new(state_dir).all()?.into_iter().map(HostLine::of).collect();
    // An identity that can't be read is told by `doctor`.
    let agent = SiteIdentity::load(state_dir)
        .ok()
        .map(|identity| AgentLine { fingerprint: identity.fingerprint(), site: identity.site });
    Ok(Report { schema: SCHEMA, agent, site_key, hosts })
}

impl HostLine {
    fn of(pin: Pin) -> Self {
        let fingerprint = pin.fingerprint();
        let Pin { host_uid, installation, host, key, user } = pin;
        Self { host, host_uid, installation, user, fingerprint, key }
    }
}

fn table(report: &Report) -> String {
    let mut text = match &report.agent {
        Some(agent) => format!("Agent:    {} of site {}\n", agent.fingerprint, agent.site),
        None => "Agent:    has not joined a site\n".to_owned(),
    };
    text.push_str(&match &report.site_key {
        Some(key) => format!("Site key: {}\n          {}\n\n", key.public, key.fingerprint),
        None => "Site key: none yet; the agent makes it when it starts\n\n".to_owned(),
    });
    if report.hosts.is_empty() {
        text.push_str("No host key is trusted yet: no host has been reached.\n");
        return text;
    }
    let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
    let mut rows = vec![row(["HOST", "USER", "INSTALLATION", "HOST KEY"])];
    rows.extend(
        report.hosts.iter().map(|h| row([&h.host, &h.user, &h.installation, &h.fingerprint])),
    );
    text.push_str(&columns(&rows));
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: KeysArgs,
    }

    fn args(words: &[&str]) -> KeysArgs {
        Cli::try_parse_from(std::iter::once(&"keys").chain(words)).unwrap().args
    }

    fn site() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let pin = Pin {
            host_uid: "uid-1".into(),
            installation: "one".into(),
            host: "host1".into(),
            key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
                .into(),
            user: "ops".into(),
        };
        Pins::new(dir.path()).save(pin).unwrap();
        dir
    }

    #[test]
    fn the_list_shows_the_public_key_and_no_private_one() {
        let dir = site();
        let text = table(&report(dir.path()).unwrap());
        assert!(text.starts_with("Agent:    has not joined a site\nSite key: none yet"), "{text}");
        let key = SiteKey::load_or_create(dir.path(), "berlin").unwrap();
        let report = report(dir.path()).unwrap();
        let text = table(&report);
        assert!(text.contains(key.public_line()) && text.contains("host1   ops    one"), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["siteKey"]["fingerprint"], key.fingerprint());
        assert_eq!(json["hosts"][0]["hostUid"], "uid-1");
        assert!(!json.to_string().contains("PRIVATE"));
        assert_eq!(run(&args(&[]), dir.path(), Output::Json).unwrap(), ExitCode::SUCCESS);
    }

    #[test]
    fn a_host_is_forgotten_once() {
        let dir = site();
        let forget = args(&["forget", "host1"]);
        assert_eq!(run(&forget, dir.path(), Output::Table).unwrap(), ExitCode::SUCCESS);
        assert!(Pins::new(dir.path()).all().unwrap().is_empty());
        assert_eq!(run(&forget, dir.path(), Output::Table).unwrap(), ExitCode::from(4));
    }

    #[test]
    fn a_site_without_an_agent_is_told() {
        let nowhere = Path::new("/nonexistent/bpa");
        let error = run(&args(&["list"]), nowhere, Output::Table).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/bpa"), "{error}");
    }
}
