//! The command line as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::keys::KeysArgs;
use super::leases::LeasesArgs;
use crate::config;
use bpa_common::output::Output;

/// What stands below the options of the command itself.
const COMMON: &str = "Options of every command";

/// Works at a site, beside its DHCP server: makes clusters of the hosts there.
#[derive(Debug, Parser)]
#[command(
    name = "bpa-agent",
    version,
    arg_required_else_help = true,
    propagate_version = true,
    after_help = "Example, from nothing to a working agent:\n  \
        bpa-agent join -                 # and the line that `bpa-coordinator site add` printed\n  \
        bpa-agent doctor                 # is everything there?\n  \
        bpa-agent run\n\n\
        Exit codes: 0 done, 1 error, 2 usage, 3 not ready, 4 not found, 5 not possible now."
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(super) struct Common {
    /// Configuration file
    #[arg(long, global = true, env = "BPA_CONFIG", value_name = "FILE", default_value = config::DEFAULT_PATH, help_heading = COMMON)]
    pub config: PathBuf,
    /// Directory of keys, journal and runs; default: the one of the configuration
    #[arg(long, global = true, env = "BPA_AGENT_STATE", value_name = "DIR", help_heading = COMMON)]
    pub state_dir: Option<PathBuf>,
    /// How results are printed
    #[arg(long, short, global = true, value_enum, default_value_t = Output::Table, help_heading = COMMON)]
    pub output: Output,
    /// What is logged to standard error, e.g. `debug` or `info,bpa_agent::link=trace`
    #[arg(long, global = true, value_name = "FILTER", help_heading = COMMON)]
    pub log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the agent: follow the leases, keep the link, carry out orders
    #[command(after_help = super::run::HELP)]
    Run,
    /// Join a site with the line that `bpa-coordinator site add` printed
    #[command(after_help = "Example:\n  bpa-agent join -          # and paste the line\n  \
        ssh admin@coordinator bpa-coordinator site add north | bpa-agent join -\n\n\
        The line is a secret, good for one use. `-` reads it from standard input, so that it is \
        in no list of processes.")]
    Join(JoinArgs),
    /// Show the runs of this agent, or one of them with its steps and events
    #[command(after_help = "Example:\n  bpa-agent runs\n  bpa-agent runs 0d9f -o yaml\n\n\
        RUN is a run's id, the beginning of one, or `latest`.")]
    Runs(RunsArgs),
    /// Print the log of a run
    #[command(after_help = "Example:\n  bpa-agent logs -f latest\n\n\
        RUN is a run's id, the beginning of one, or `latest`.")]
    Logs(LogsArgs),
    /// Which address has which MAC, from the lease files
    Leases(LeasesArgs),
    /// Check everything that a run needs, and say what to mend
    #[command(after_help = "Example:\n  bpa-agent doctor\n  bpa-agent doctor -o json\n\n\
        Exit code 0 when nothing failed (warnings may be there), 3 when something did.")]
    Doctor,
    /// The agent's key, the site's SSH key and the host keys that are trusted; or forget one
    Keys(KeysArgs),
    /// Own a running playbook (started by the agent)
    #[command(hide = true)]
    Supervise {
        /// The attempt's directory
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct JoinArgs {
    /// The join line, or `-` to read it from standard input
    pub line: String,
}

#[derive(Debug, Args)]
pub(super) struct RunsArgs {
    /// Show this run alone
    pub run: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct LogsArgs {
    /// Which run
    #[arg(default_value = "latest")]
    pub run: String,
    /// Go on as the log grows, until the run ends
    #[arg(long, short)]
    pub follow: bool,
}
