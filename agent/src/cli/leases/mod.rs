//! `bpa-agent leases`: which address has which MAC, from lease files, without a running agent.

mod report;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bpa_common::net::MacAddress;
use report::Report;

use crate::config::{Config, ConfigError, LeaseSourceConfig};
use crate::leases::{LeaseView, SourceSpec, read_once};
use bpa_common::output::{Output, print};

/// Options of the command.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:\n  bpa-agent leases\n  \
    bpa-agent leases --source kea:/var/lib/kea/kea-leases4.csv --mac 52:54:00:aa:01:02\n  \
    bpa-agent leases --source auto:dhcpd.leases --now 2026-11-30T22:33:30Z --output json\n\n\
    Exit codes: 0 done, 1 a source can't be read, 2 usage, 3 a MAC of --mac has no lease.")]
pub struct LeasesArgs {
    /// Lease file to read, may be given several times; kinds: isc, dnsmasq, libvirt, kea, networkd,
    /// udhcpd, bootpd, auto. Default: the sources of the configuration
    #[arg(long = "source", value_name = "KIND:PATH")]
    pub sources: Vec<SourceSpec>,
    /// Answer as of this time instead of now, e.g. 2026-11-30T22:33:30Z
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<jiff::Timestamp>,
    /// Only this MAC, may be given several times
    #[arg(long = "mac", value_name = "MAC")]
    pub macs: Vec<MacAddress>,
}

/// Why there is no answer at all.
#[derive(Debug, thiserror::Error)]
pub enum LeasesError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("there is no lease source: give --source KIND:PATH, or a [[lease]] with kind and path in {}", config.display())]
    NoSource { config: PathBuf },
    #[error("the result can't be written: {0}")]
    Write(#[from] std::io::Error),
}

/// Reads the sources, prints the answers, and says by the exit code whether all is well.
///
/// # Errors
/// When there are no sources or nothing can be printed. A source that can't be read is part of the
/// result.
pub fn run(args: &LeasesArgs, config: &Path, output: Output) -> Result<ExitCode, LeasesError> {
    let sources = sources(args, config)?;
    let now = args.now.unwrap_or_else(jiff::Timestamp::now).as_second();
    let view = read_once(&sources, now);
    let report = Report::new(&view, &args.macs);
    print(&output.text(&report, || table::render(&report))?)?;
    Ok(ExitCode::from(exit_code(&view, &args.macs)))
}

fn sources(args: &LeasesArgs, config: &Path) -> Result<Vec<SourceSpec>, LeasesError> {
    if !args.sources.is_empty() {
        return Ok(args.sources.clone());
    }
    let leases = Config::load(config)?.leases;
    if leases.is_empty() {
        return Err(LeasesError::NoSource { config: config.to_owned() });
    }
    Ok(leases.iter().map(LeaseSourceConfig::spec).collect())
}

/// An answer is an answer, though another source can't be read.
fn exit_code(view: &LeaseView, macs: &[MacAddress]) -> u8 {
    let all_answered = macs.iter().all(|mac| view.answer(*mac).address.is_some());
    let unreadable = view.sources().iter().any(|source| source.error.is_some());
    match (macs.is_empty(), all_answered, unreadable) {
        (true, _, false) | (false, true, _) => 0,
        (_, _, true) => 1,
        (false, false, false) => 3,
    }
}

#[cfg(test)]
mod tests;
