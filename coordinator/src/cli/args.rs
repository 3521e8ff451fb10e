//! The command line as clap reads it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand};

use super::output::Output;
use super::plan::PlanArgs;

/// What stands below the options of the command itself.
const COMMON: &str = "Options of every command";

/// Turns installed machines into Kubernetes clusters, one site at a time.
#[derive(Debug, Parser)]
#[command(
    name = "bpa-coordinator",
    version,
    arg_required_else_help = true,
    propagate_version = true,
    after_help = "Example, from nothing to a cluster:\n  \
        bpa-coordinator run --objects objects --state state --advertise 192.0.2.10:7443 &\n  \
        bpa-coordinator site add north          # prints the line for `bpa-agent join`\n  \
        bpa-coordinator site approve north\n  \
        bpa-coordinator apply -f hosts.yaml -f provisioning.yaml\n  \
        bpa-coordinator watch edge\n\n\
        Exit codes: 0 done, 1 error, 2 usage, 3 does not fit or not ready, 4 not found, 5 not possible now, 6 leadership lost."
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// Directory of manifests (BareMetalHosts, HardwareData, Sites, Provisionings)
    #[arg(long, global = true, env = "BPA_OBJECTS", value_name = "DIR", default_value = "objects", help_heading = COMMON)]
    pub objects: PathBuf,
    /// Directory of what the coordinator keeps: status, claims, kubeconfigs, keys (private)
    #[arg(long, global = true, env = "BPA_STATE", value_name = "DIR", default_value = "state", help_heading = COMMON)]
    pub state: PathBuf,
    /// How results are printed
    #[arg(long, short, global = true, value_enum, default_value_t = Output::Table, help_heading = COMMON)]
    pub output: Output,
    #[command(flatten)]
    pub kubernetes: KubernetesArgs,
    /// What is logged to standard error, e.g. `debug` or `info,bpa_coordinator::sites=trace`
    #[arg(long, global = true, value_name = "FILTER", help_heading = COMMON)]
    pub log: Option<String>,
}

/// The other world of objects: a Kubernetes API server in the place of a directory.
#[derive(Clone, Debug, Default, Args)]
pub struct KubernetesArgs {
    /// Objects are in a Kubernetes API server, not in a directory
    #[arg(long = "kubernetes", global = true, env = "BPA_KUBERNETES", value_parser = FalseyValueParser::new(), help_heading = COMMON)]
    pub on: bool,
    /// With --kubernetes: this kubeconfig [default: $KUBECONFIG, ~/.kube/config, the pod's own]
    #[arg(long, global = true, value_name = "FILE", help_heading = COMMON)]
    pub kubeconfig: Option<PathBuf>,
    /// With --kubernetes: only objects of this namespace; may be given several times [default: all]
    #[arg(long = "namespace", short = 'n', global = true, env = "BPA_NAMESPACES", value_name = "NAMESPACE", value_delimiter = ',', help_heading = COMMON)]
    pub namespaces: Vec<String>,
    /// With --kubernetes: namespace of the coordinator's own Secret and Lease [default: the pod's, else bpa-system]
    #[arg(long, global = true, env = "BPA_SYSTEM_NAMESPACE", value_name = "NAMESPACE", help_heading = COMMON)]
    pub system_namespace: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the coordinator: watch the objects, serve the sites, carry out
    Run(RunArgs),
    /// Say which host would take which role, and why not
    #[command(
        after_help = "Example:\n  bpa-coordinator plan -f hosts.yaml -f provisioning.yaml\n  kubectl get bmh,hardwaredata -A -o yaml | bpa-coordinator plan -f - -f provisioning.yaml\n\nExit code 0 when everything fits, 3 when not."
    )]
    Plan(PlanArgs),
    /// Check manifests and write them into the objects directory
    #[command(
        after_help = "Example:\n  bpa-coordinator apply -f provisioning.yaml\n  cat site.yaml | bpa-coordinator apply -f -"
    )]
    Apply(RequiredFiles),
    /// Remove objects from the objects directory
    #[command(
        after_help = "Example:\n  bpa-coordinator delete provisioning edge\n  bpa-coordinator delete -f provisioning.yaml\n\nThe cluster is kept or reset as spec.deletionPolicy says."
    )]
    Delete(DeleteArgs),
    /// Show objects in a table
    #[command(
        after_help = "Example:\n  bpa-coordinator get\n  bpa-coordinator get hosts\n  bpa-coordinator get provisioning edge -o yaml\n\nKinds: provisionings, sites, hosts, hardwaredata, softwares, clusters, events."
    )]
    Get(GetArgs),
    /// Tell everything about one object
    #[command(
        after_help = "Example:\n  bpa-coordinator describe edge\n  bpa-coordinator describe site north\n  bpa-coordinator describe host metal3/host1"
    )]
    Describe(DescribeArgs),
    /// Follow a Provisioning until it is ready (exit 0) or has failed (exit 3)
    #[command(
        after_help = "Example:\n  bpa-coordinator watch edge\n  bpa-coordinator watch edge --timeout 30m | tee install.log"
    )]
    Watch(WatchArgs),
    /// Print the log of a run
    #[command(after_help = "Example:\n  bpa-coordinator logs -f edge")]
    Logs(LogsArgs),
    /// Stop the run of a Provisioning
    #[command(after_help = "Example:\n  bpa-coordinator cancel edge")]
    Cancel(NameArg),
    /// Try again after a run that failed, was cancelled or was lost
    #[command(after_help = "Example:\n  bpa-coordinator retry edge && bpa-coordinator watch edge")]
    Retry(NameArg),
    /// Approve the plan of a Provisioning with `approval: Manual`
    #[command(
        after_help = "Example:\n  bpa-coordinator describe edge        # shows the plan and its hash\n  bpa-coordinator approve edge 0123456789ab"
    )]
    Approve(ApproveArgs),
    /// Print the definitions of our kinds, for a Kubernetes cluster
    #[command(after_help = "Example:\n  bpa-coordinator crds | kubectl apply --server-side -f -")]
    Crds,
    /// Add, approve and look at sites
    #[command(
        subcommand,
        after_help = "Example:\n  bpa-coordinator site add north\n  bpa-coordinator site approve north"
    )]
    Site(SiteCommand),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  bpa-coordinator run --objects /srv/bpa/objects --state /var/lib/bpa --advertise 192.0.2.10:7443\n  bpa-coordinator --kubernetes run --state /var/lib/bpa --advertise 192.0.2.10:7443\n\nStops on SIGTERM or Ctrl-C; runs at the sites go on and are picked up again at the next start."
)]
pub struct RunArgs {
    /// UDP address on which agents are served
    #[arg(long, env = "BPA_LISTEN", value_name = "ADDRESS:PORT", default_value = "0.0.0.0:7443")]
    pub listen: SocketAddr,
    /// Where agents reach this coordinator, as it goes into join lines; may be given several times
    #[arg(long, env = "BPA_ADVERTISE", value_name = "HOST:PORT", value_delimiter = ',', value_parser = host_port)]
    pub advertise: Vec<String>,
    /// Answer GET /healthz and /readyz on this TCP address; ready is only the leader
    #[arg(long, env = "BPA_HEALTH", value_name = "ADDRESS:PORT")]
    pub health: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub struct RequiredFiles {
    /// File with manifests, a directory of them, or `-` for standard input; may be given several times
    #[arg(long = "filename", short = 'f', value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Kind of the object, e.g. `provisioning`
    #[arg(required_unless_present = "files", requires = "name")]
    pub kind: Option<String>,
    /// Name, or NAMESPACE/NAME
    pub name: Option<String>,
    /// Let a deleted Provisioning go although its reset can't be done; its hosts stay as they are
    #[arg(long, conflicts_with = "files")]
    pub force: bool,
    /// Delete what stands in this file (or `-`)
    #[arg(long = "filename", short = 'f', value_name = "FILE", conflicts_with = "kind")]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct GetArgs {
    /// Kind, e.g. `hosts`; all of the important ones when absent
    pub kind: Option<String>,
    /// Only this one: name, or NAMESPACE/NAME
    #[arg(requires = "kind")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct DescribeArgs {
    /// NAME of a Provisioning, or KIND and NAME
    #[arg(required = true, num_args = 1..=2, value_name = "[KIND] NAME")]
    pub what: Vec<String>,
}

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Name, or NAMESPACE/NAME
    pub name: String,
    /// Give up after this long (exit 3), e.g. `90s`, `30m`
    #[arg(long, value_parser = duration)]
    pub timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Name, or NAMESPACE/NAME
    pub name: String,
    /// Go on until the run ends
    #[arg(long, short)]
    pub follow: bool,
    /// Log of this run instead of the last one
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
}

#[derive(Debug, Args)]
pub struct NameArg {
    /// Name, or NAMESPACE/NAME
    pub name: String,
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// Name, or NAMESPACE/NAME
    pub name: String,
    /// Hash of the plan, as `describe` shows it
    pub hash: String,
}

#[derive(Debug, Subcommand)]
pub enum SiteCommand {
    /// Make the one-use line with which an agent joins
    #[command(
        after_help = "Example:\n  bpa-coordinator site add north --advertise 192.0.2.10:7443\n  bpa-coordinator site add north | ssh root@bootstrap bpa-agent join -\n\nThe line is a secret, good for one use, printed once and kept nowhere. At the site, `bpa-agent join -`\nreads it from standard input."
    )]
    Add(SiteAddArgs),
    /// Let a site take orders
    #[command(after_help = "Example:\n  bpa-coordinator site approve north")]
    Approve(NameArg),
    /// Show the sites
    #[command(after_help = "Example:\n  bpa-coordinator site list")]
    List,
    /// Show the DHCP leases that a site reports
    #[command(after_help = "Example:\n  bpa-coordinator site leases north")]
    Leases(NameArg),
}

#[derive(Debug, Args)]
pub struct SiteAddArgs {
    /// Name of the site (lower-case letters, digits and `-`)
    pub name: String,
    /// Where agents reach the coordinator; default: what `run --advertise` was given
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', value_parser = host_port)]
    pub advertise: Vec<String>,
    /// How long the line can be used, e.g. `24h`
    #[arg(long, value_parser = duration, default_value = "24h")]
    pub ttl: Duration,
    /// Let a new key take the place of the enrolled one (the site's disk was lost)
    #[arg(long)]
    pub replace: bool,
}

/// `90s`, `30m`, `24h`, `7d`.
fn duration(text: &str) -> Result<Duration, String> {
    let problem =
        || format!("`{text}` is no duration; wanted a number with s, m, h or d, e.g. 30m");
    let unit = text.chars().last().ok_or_else(problem)?;
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(problem()),
    };
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| problem())?;
    number.checked_mul(factor).map(Duration::from_secs).ok_or_else(problem)
}

fn host_port(text: &str) -> Result<String, String> {
    let problem = || format!("`{text}` is no address; wanted HOST:PORT, e.g. 192.0.2.10:7443");
    let (host, port) = text.rsplit_once(':').ok_or_else(problem)?;
    let bracketed = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || (host.contains(':') && !bracketed) || port.parse::<u16>().is_err() {
        return Err(problem());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_every_command_has_an_example() {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        let mut waiting: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        while let Some(one) = waiting.pop() {
            if one.get_name() == "help" {
                continue;
            }
            let inner: Vec<_> = one.get_subcommands().cloned().collect();
            if inner.is_empty() {
                let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("Example"), "{}", one.get_name());
            }
            waiting.extend(inner);
        }
    }

    #[test]
    fn durations_and_addresses_are_read_and_mistakes_named() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(604_800)));
        for bad in ["", "5", "m", "5x", "-5m", "99999999999999999999d", "5µ"] {
            assert!(duration(bad).unwrap_err().contains("30m"), "{bad}");
        }
        for good in ["192.0.2.1:7443", "bpa.example.org:1", "[2001:db8::1]:7443"] {
            assert_eq!(host_port(good), Ok(good.to_owned()));
        }
        for bad in ["", "host", ":1", "host:99999", "2001:db8::1:7443"] {
            assert!(host_port(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn common_options_may_stand_behind_the_command() {
        let cli =
            Cli::try_parse_from(["x", "get", "hosts", "--state", "/s", "-o", "json"]).unwrap();
        assert_eq!((cli.common.state, cli.common.output), (PathBuf::from("/s"), Output::Json));
        assert!(Cli::try_parse_from(["x", "delete"]).is_err());
        assert!(Cli::try_parse_from(["x", "delete", "site"]).is_err());
        assert!(Cli::try_parse_from(["x", "describe", "a", "b", "c"]).is_err());
    }
}
