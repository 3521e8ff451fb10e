//! What would make the playbook fail an hour later, found in seconds: all misses at once.
//!
//! One small script runs on each host and prints what it finds (`probe.sh`, reads only); everything
//! else is pure: `facts` reads the lines, `machine` judges one host, `together` judges them all.

mod facts;
mod machine;
mod together;
mod verdict;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bpa_common::wire::v1::Check;
use tokio::sync::Semaphore;

use self::facts::Facts;
use super::access::Access;
use super::port::{NodeTarget, StepFailure};

const PROBE: &str = include_str!("probe.sh");
/// Probes at the same time; each takes a tenth of a second of the agent's host at most.
const AT_ONCE: usize = 16;

/// What the bundle asks of every host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The bundle's services run under systemd.
    pub systemd: bool,
}

/// One host, and what its probe found.
struct Probed<'a> {
    target: &'a NodeTarget,
    facts: Facts,
    sudo: Option<Duration>,
    /// The agent's clock around the probe, milliseconds since 1970.
    sent_ms: i64,
    received_ms: i64,
    /// Fingerprint.
    host_key: &'a str,
}

/// Checks every node, several at a time. Nothing is changed on a host.
///
/// A node that can't be probed has the one check `probe`, failed. In the answer the checks of a node
/// come together, in the order of `nodes`; those that compare nodes come last.
pub async fn check(nodes: &[(&NodeTarget, &Access)], needs: Needs) -> Vec<Check> {
    let turns = Semaphore::new(AT_ONCE);
    let probes = nodes.iter().map(|(target, access)| {
        let turns = &turns;
        async move {
            // The semaphore is never closed: without a turn there is nothing to wait for.
            let _turn = turns.acquire().await.ok();
            probe(target, access).await
        }
    });
    let mut checks = Vec::new();
    let mut probed = Vec::new();
    for ((target, _), answer) in nodes.iter().zip(futures_util::future::join_all(probes).await) {
        match answer {
            Ok(one) => {
                checks.extend(machine::check(&one, needs));
                probed.push(one);
            }
            Err(failure) => checks.push(verdict::failed(
                &target.name,
                "probe",
                "a probe of the machine",
                failure.message,
                failure.fix,
            )),
        }
    }
    checks.extend(together::check(&probed));
    checks
}

async fn probe<'a>(target: &'a NodeTarget, access: &'a Access) -> Result<Probed<'a>, StepFailure> {
    let sent_ms = now_ms();
    let output = access.script("the probe", PROBE).await?;
    let received_ms = now_ms();
    let facts = Facts::parse(&output.stdout).ok_or_else(|| StepFailure {
        reason: "ProbeFailed",
        node: Some(target.name.clone()),
        message: format!("the probe did not come to its end: {}", output.complaint()),
        fix: "try on the machine: sh -c 'cat /proc/meminfo; df -Pk /var; date +%s'".into(),
    })?;
    let (sudo, host_key) = (access.sudo_time(), access.host_key_fingerprint());
    Ok(Probed { target, facts, sudo, sent_ms, received_ms, host_key })
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
