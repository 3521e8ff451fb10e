//! The checks, one function each.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::super::args::Common;
use super::super::status::{Lock, Status};
use super::Finding;
use crate::config::{BundleConfig, Config, LeaseSourceConfig};
use crate::credentials::CredentialSource;
use crate::journal::{FILE_NAME, Journal};
use crate::leases::{SourceSpec, read_once};
use crate::link::SiteIdentity;
use crate::runs::host_report;
use crate::steps::kubespray::Bundle;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// The day this was written: a clock before it is wrong. Seconds since 1970.
const EARLIEST: i64 = 1_764_547_200;

/// Every check, in the order in which a person would mend things.
pub(super) async fn all(common: &Common) -> Vec<Finding> {
    let config = match common.load() {
        Ok(config) => config,
        Err(error) => return vec![Finding::failed("config", error.to_string(), "")],
    };
    let mut findings = vec![Finding::ok("config", common.config.display().to_string())];
    findings.push(state_dir(&config.state_dir));
    findings.extend(journal(&config.state_dir));
    findings.push(credentials(&config));
    findings.extend(leases(&config));
    if config.bundles.is_empty() {
        let fix = "add a [[bundle]] to the configuration";
        findings.push(Finding::failed("bundle", "none is configured", fix));
    }
    for bundle in &config.bundles {
        findings.extend(bundle_checks(bundle).await);
    }
    findings.push(program("ssh", Path::new("ssh"), "-V", "install openssh-client").await);
    findings.extend(resources(&config.state_dir));
    findings.push(clock(jiff::Timestamp::now().as_second()));
    findings.push(link(&config.state_dir));
    findings
}

fn state_dir(path: &Path) -> Finding {
    let shown = path.display().to_string();
    match std::fs::metadata(path) {
        Err(error) => Finding::failed(
            "state",
            format!("{shown}: {error}"),
            "`bpa-agent join` makes it; it must belong to the account of the agent",
        ),
        Ok(meta) if !meta.is_dir() => {
            Finding::failed("state", format!("{shown} is no directory"), "name a directory")
        }
        Ok(meta) if meta.permissions().mode() & 0o077 != 0 => Finding::failed(
            "state",
            format!("{shown} has mode {:o}", meta.permissions().mode() & 0o777),
            "chmod 0700: keys lie in it",
        ),
        Ok(_) => match tempfile_in(path) {
            Ok(()) => Finding::ok("state", shown),
            Err(error) => Finding::failed("state", format!("{shown}: {error}"), "make it writable"),
        },
    }
}

fn tempfile_in(path: &Path) -> std::io::Result<()> {
    let file = path.join(format!(".doctor.{}", std::process::id()));
    std::fs::write(&file, b"x")?;
    std::fs::remove_file(&file)
}

fn journal(state_dir: &Path) -> Option<Finding> {
    if !state_dir.join(FILE_NAME).exists() {
        return None;
    }
    Some(match Journal::open_read_only(state_dir).and_then(|j| j.runs(256)) {
        Ok(runs) => Finding::ok("journal", counted(runs.len(), "run", "runs")),
        Err(error) => Finding::failed("journal", error.to_string(), ""),
    })
}

fn credentials(config: &Config) -> Finding {
    let source = CredentialSource::new(config.credentials.clone());
    let Some(path) = source.path().map(|p| p.display().to_string()) else {
        return Finding::warning(
            "credentials",
            "none: only hosts that have this agent's key can be reached",
            "set `credentials` in the configuration",
        );
    };
    match source.load() {
        Ok(found) if found.is_empty() => {
            Finding::warning("credentials", format!("{path} is empty"), "add entries")
        }
        Ok(found) => Finding::ok(
            "credentials",
            format!("{path}: {}", counted(found.len(), "entry", "entries")),
        ),
        Err(error) => Finding::failed("credentials", error.to_string(), ""),
    }
}

fn leases(config: &Config) -> Vec<Finding> {
    if config.leases.is_empty() {
        let fix = "add a [[lease]] to the configuration";
        return vec![Finding::failed("leases", "no lease source is configured", fix)];
    }
    let specs: Vec<SourceSpec> = config.leases.iter().map(LeaseSourceConfig::spec).collect();
    let view = read_once(&specs, jiff::Timestamp::now().as_second());
    let sources = view.wire_sources();
    let state = |source: &bpa_common::wire::v1::LeaseSource| {
        let name = format!("{} {}", source.kind, source.path);
        if source.error.is_empty() {
            let skipped = match source.skipped {
                0 => String::new(),
                n => format!(", {n} could not be read"),
            };
            return Finding::ok("leases", format!("{name}: {} records{skipped}", source.records));
        }
        let fix = "the agent must be able to read the file; is the DHCP server running?";
        Finding::failed("leases", format!("{name}: {}", source.error), fix)
    };
    sources.iter().map(state).collect()
}

async fn bundle_checks(config: &BundleConfig) -> Vec<Finding> {
    let bundle = Bundle::inspect(config);
    let report = bundle.report();
    if !report.problems.is_empty() {
        let shown = config.path.display();
        let each = |p: &String| {
            Finding::failed("bundle", format!("{shown}: {p}"), "mend the bundle or its entry")
        };
        return report.problems.iter().map(each).collect();
    }
    let versions = report.kubernetes_versions.join(", ");
    let found = format!("{} {}, Kubernetes {versions}", report.name, report.version);
    let mut findings = vec![Finding::ok("bundle", found)];
    if let Ok(tool) = bundle.tool("ansible-playbook") {
        findings
            .push(program("ansible", &tool, "--version", "see `ansible_bin` of the bundle").await);
    }
    findings
}

/// Runs a program to see that it runs; shows the first line of what it says.
async fn program(id: &'static str, path: &Path, argument: &str, fix: &str) -> Finding {
    let output = tokio::process::Command::new(path)
        .arg(argument)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match tokio::time::timeout(Duration::from_secs(30), output).await {
        Ok(Ok(output)) => {
            let said = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
            let line = String::from_utf8_lossy(said).lines().next().unwrap_or("").to_owned();
            match output.status.success() {
                true => Finding::ok(id, line),
                false => Finding::failed(id, format!("{}: {line}", path.display()), fix),
            }
        }
        Ok(Err(error)) => Finding::failed(id, format!("{}: {error}", path.display()), fix),
        Err(_) => Finding::failed(id, format!("{} does not answer", path.display()), fix),
    }
}

/// A number with its word.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Bytes as a person says them: whole MiB below 10 GiB, whole GiB above.
fn size(bytes: u64) -> String {
    if bytes < 10 * GIB { format!("{} MiB", bytes / MIB) } else { format!("{} GiB", bytes / GIB) }
}

fn resources(state_dir: &Path) -> Vec<Finding> {
    let host = host_report(if state_dir.exists() { state_dir } else { Path::new("/") });
    let disk = format!("{} of {} left", size(host.disk_available), size(host.disk_total));
    let memory = format!("{} of {} left", size(host.memory_available), size(host.memory_total));
    let load = format!("load {:.2} on {} CPUs", f64::from(host.load_percent) / 100.0, host.cpus);
    let space =
        "2 GiB are wanted; logs and artifacts of old runs lie in `runs/` of the state directory";
    vec![
        match host.disk_available {
            n if n < 100 * MIB => Finding::failed("disk", disk, space),
            n if n < 2 * GIB => Finding::warning("disk", disk, space),
            _ => Finding::ok("disk", disk),
        },
        match host.memory_available {
            n if n < 200 * MIB => Finding::failed("memory", memory, "a playbook takes 300 MiB"),
            n if n < 600 * MIB => Finding::warning("memory", memory, "a playbook takes 300 MiB"),
            _ => Finding::ok("memory", memory),
        },
        match host.load_percent / 100 > host.cpus.max(1) * 4 {
            true => Finding::warning("cpu", load, "playbooks will be slow; see what is at work"),
            false => Finding::ok("cpu", load),
        },
    ]
}

fn clock(now: i64) -> Finding {
    let shown = jiff::Timestamp::from_second(now).unwrap_or_default().to_string();
    if now < EARLIEST {
        let fix = "set the clock: certificates are not valid yet at that time";
        return Finding::failed("clock", shown, fix);
    }
    Finding::ok("clock", shown)
}

fn link(state_dir: &Path) -> Finding {
    let site = match SiteIdentity::load(state_dir) {
        Ok(identity) => identity.site,
        Err(error) => return Finding::failed("link", error.to_string(), ""),
    };
    // Only the agent itself may open a session: a second one would look like a copied key.
    let free = !state_dir.join("agent.lock").exists()
        || Lock::take(state_dir).is_ok_and(|lock| lock.is_some());
    match Status::load(state_dir).filter(|_| !free) {
        None => Finding::warning(
            "link",
            format!("site {site}; the agent does not run"),
            "start it: `bpa-agent run`, or `systemctl start bpa-agent`",
        ),
        Some(status) if status.connected => {
            Finding::ok("link", format!("site {site}, {}", status.text))
        }
        Some(status) => Finding::failed(
            "link",
            format!("site {site}, {}", status.text),
            "see that the coordinator runs and that this host reaches its UDP port",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;

    #[test]
    fn an_open_state_directory_is_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(state_dir(dir.path()).status, Grade::Ok);
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let finding = state_dir(dir.path());
        assert_eq!(finding.status, Grade::Failed);
        assert!(finding.found.contains("755") && finding.fix.contains("0700"));
        assert_eq!(state_dir(Path::new("/nowhere")).status, Grade::Failed);
    }

    #[test]
    fn numbers_are_said_as_people_say_them() {
        assert_eq!([counted(1, "run", "runs"), counted(0, "run", "runs")], ["1 run", "0 runs"]);
        assert_eq!([size(300 * MIB), size(250 * GIB + MIB)], ["300 MiB", "250 GiB"]);
    }

    #[test]
    fn a_clock_of_the_last_century_is_noticed() {
        assert_eq!(clock(0).status, Grade::Failed);
        assert_eq!(clock(EARLIEST + 1).status, Grade::Ok);
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let finding = program("x", Path::new("/nowhere/x"), "--version", "install x").await;
        assert_eq!(finding.status, Grade::Failed);
        assert!(finding.found.contains("/nowhere/x"));
        assert_eq!(program("t", Path::new("true"), "", "").await.status, Grade::Ok);
    }
}
