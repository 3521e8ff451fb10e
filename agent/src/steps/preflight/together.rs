//! PURE: what machines must be to one another: no two the same, their clocks together.

use std::collections::BTreeMap;

use bpa_common::wire::v1::Check;

use super::Probed;
use super::verdict::{failed, passed, seconds, warning};

/// etcd's members warn of each other from here on.
const ETCD_MS: u64 = 1_000;
const WORKER_MS: u64 = 5_000;
/// Certificates and tokens of a minute ago are "not yet valid" from about here on.
const TOO_FAR_MS: u64 = 30_000;

/// Every check that needs more than one machine, and the clocks.
pub(super) fn check(all: &[Probed<'_>]) -> Vec<Check> {
    let mut checks = clocks(all);
    checks.extend(doubles(
        all,
        |p| Some(p.target.address.to_string()),
        |node, others, value| {
            let fix =
                "find the second machine (a double lease, a fixed address) and give it another";
            failed(node, "address", "an address of its own", format!("{value}, as {others}"), fix)
        },
    ));
    checks.extend(doubles(all, |p| p.facts.machine_id.clone(), |node, others, value| {
        let fix = "cloned disks: run on the machine: rm /etc/machine-id; systemd-machine-id-setup; reboot";
        warning(node, "machine-id", "an id of its own", format!("{value}, as {others}"), fix)
    }));
    checks.extend(doubles(all, |p| Some(p.host_key.to_owned()), |node, others, value| {
        let fix = "cloned disks: run on each machine: rm /etc/ssh/ssh_host_*; ssh-keygen -A; then bpa-agent keys forget HOST";
        warning(node, "host-key", "an SSH host key of its own", format!("{value}, as {others}"), fix)
    }));
    checks.extend(doubles(
        all,
        |p| p.facts.hostname.clone(),
        |node, others, value| {
            let fix = "the playbook renames both; where it is told not to, rename them";
            warning(node, "hostname", "a name of its own", format!("{value}, as {others}"), fix)
        },
    ));
    checks
}

/// For each value that several machines have: a check for each of them, naming the others.
fn doubles(
    all: &[Probed<'_>],
    value: impl Fn(&Probed<'_>) -> Option<String>,
    words: impl Fn(&str, &str, &str) -> Check,
) -> Vec<Check> {
    let mut owners: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for probed in all {
        if let Some(value) = value(probed) {
            owners.entry(value).or_default().push(&probed.target.name);
        }
    }
    let mut checks = Vec::new();
    for (value, names) in owners.iter().filter(|(_, names)| names.len() > 1) {
        for (at, name) in names.iter().enumerate() {
            let others = names.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, n)| *n);
            let others = others.take(5).collect::<Vec<_>>().join(", ");
            checks.push(words(name, &others, value));
        }
    }
    checks
}

/// A machine's clock against the agent's, as bounds in milliseconds: the probe ran somewhere between
/// our sending and our receiving, so the truth lies between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offset {
    least: i64,
    most: i64,
}

impl Offset {
    fn of(probed: &Probed<'_>) -> Option<Self> {
        let (began, ended) = probed.facts.clock?;
        let most = began.saturating_sub(probed.sent_ms);
        let least = ended.saturating_sub(probed.received_ms).min(most);
        Some(Self { least, most })
    }

    fn middle(self) -> i64 {
        self.least + (self.most - self.least) / 2
    }

    /// How far from a time it is at the very least; positive when ahead.
    fn beyond(self, reference: i64) -> i64 {
        if self.least > reference {
            self.least - reference
        } else if self.most < reference {
            self.most - reference
        } else {
            0
        }
    }
}

/// Compares with the middle of all clocks, the agent's among them: one wrong clock, be it ours, can't
/// make the others look wrong.
fn clocks(all: &[Probed<'_>]) -> Vec<Check> {
    let offsets: Vec<Option<Offset>> = all.iter().map(Offset::of).collect();
    let mut middles: Vec<i64> = offsets.iter().flatten().map(|o| o.middle()).collect();
    middles.push(0);
    middles.sort_unstable();
    let pair = (middles[(middles.len() - 1) / 2], middles[middles.len() / 2]);
    let reference = if pair.0.abs() <= pair.1.abs() { pair.0 } else { pair.1 };
    let mut checks: Vec<Check> = all
        .iter()
        .zip(&offsets)
        .map(|(probed, offset)| clock(probed, *offset, reference))
        .collect();
    let ours = reference.unsigned_abs();
    if ours > TOO_FAR_MS
        && let Some(first) = all.first()
    {
        let way = if reference > 0 { "behind" } else { "ahead of" };
        checks.push(warning(
            &first.target.name,
            "agent-clock",
            "the bootstrap host's clock with those of the machines",
            format!("{} {way} them", seconds(ours)),
            "set the bootstrap host's clock; until then times in events are off",
        ));
    }
    checks
}

fn clock(probed: &Probed<'_>, offset: Option<Offset>, reference: i64) -> Check {
    let node = probed.target.name.as_str();
    let limit = if probed.target.control_plane { ETCD_MS } else { WORKER_MS };
    let wanted = format!("within {} s of the others", limit / 1000);
    let Some(offset) = offset else {
        return warning(node, "clock", wanted, "unknown", "check date on the machine");
    };
    let beyond = offset.beyond(reference);
    let far = beyond.unsigned_abs();
    let way = if beyond > 0 { "ahead" } else { "behind" };
    let found = if far < 10 { "the same".to_owned() } else { format!("{} {way}", seconds(far)) };
    let fix =
        "run a time service of the site on every machine (chrony), or set the clock: date -s @…";
    if far > TOO_FAR_MS {
        failed(node, "clock", wanted, found, fix)
    } else if far >= limit {
        warning(node, "clock", wanted, found, fix)
    } else {
        passed(node, "clock", wanted, found)
    }
}

#[cfg(test)]
mod tests {
    use bpa_common::wire::v1::CheckOutcome::{self, Failed, Passed, Warning};

    use super::super::facts::Facts;
    use super::*;
    use crate::steps::NodeTarget;
    use crate::steps::access::testing::target;

    /// Machines whose clocks are that many milliseconds ahead; each probe took 400 ms.
    fn machines(ahead: &[i64]) -> Vec<(NodeTarget, Facts)> {
        let machine = |(n, ahead): (usize, &i64)| {
            let node = NodeTarget {
                address: [10, 0, 0, 10 + u8::try_from(n).unwrap()].into(),
                ..target(&format!("node{n}"), 22)
            };
            let facts =
                Facts { clock: Some((1_000_100 + ahead, 1_000_300 + ahead)), ..Facts::default() };
            (node, facts)
        };
        ahead.iter().enumerate().map(machine).collect()
    }

    fn probed<'a>(machines: &'a [(NodeTarget, Facts)], keys: &'a [String]) -> Vec<Probed<'a>> {
        let one = |((target, facts), key): (&'a (NodeTarget, Facts), &'a String)| Probed {
            target,
            facts: facts.clone(),
            sudo: None,
            sent_ms: 1_000_000,
            received_ms: 1_000_400,
            host_key: key,
        };
        machines.iter().zip(keys).map(one).collect()
    }

    fn keys(n: usize) -> Vec<String> {
        (0..n).map(|n| format!("SHA256:{n}")).collect()
    }

    fn clocks_of(ahead: &[i64]) -> Vec<CheckOutcome> {
        let (machines, keys) = (machines(ahead), keys(ahead.len()));
        check(&probed(&machines, &keys)).iter().map(|c| c.status).collect()
    }

    #[test]
    fn the_time_that_a_probe_takes_is_no_skew() {
        assert_eq!(clocks_of(&[0, 90, -90]), [Passed, Passed, Passed]);
    }

    #[test]
    fn one_wrong_clock_is_told_from_right_ones() {
        assert_eq!(clocks_of(&[0, 2_000, 0]), [Passed, Warning, Passed]);
        assert_eq!(clocks_of(&[0, 0, -86_400_000]), [Passed, Passed, Failed]);
        assert_eq!(clocks_of(&[40_000]), [Failed]);
    }

    #[test]
    fn a_wrong_clock_of_the_agent_is_no_fault_of_the_machines() {
        let year = 365 * 86_400_000;
        assert_eq!(clocks_of(&[year, year + 50, year]), [Passed, Passed, Passed, Warning]);
        let (machines, keys) = (machines(&[year, year, year]), keys(3));
        let last = check(&probed(&machines, &keys)).pop().unwrap();
        assert_eq!(
            (last.id.as_str(), last.found.as_str()),
            ("agent-clock", "31536000 s behind them")
        );
    }

    #[test]
    fn two_machines_that_are_one_are_told_on_both() {
        let mut machines = machines(&[0, 0, 0]);
        machines[2].0.address = machines[0].0.address;
        for n in [0, 1] {
            machines[n].1.machine_id = Some("abc".into());
            machines[n].1.hostname = Some("debian".into());
        }
        let mut keys = keys(3);
        keys[1] = keys[2].clone();
        let checks = check(&probed(&machines, &keys));
        let found: Vec<_> = checks
            .iter()
            .filter(|c| c.status != Passed)
            .map(|c| (c.node.as_str(), c.id.as_str(), c.status, c.found.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("node0", "address", Failed, "10.0.0.10, as node2"),
                ("node2", "address", Failed, "10.0.0.10, as node0"),
                ("node0", "machine-id", Warning, "abc, as node1"),
                ("node1", "machine-id", Warning, "abc, as node0"),
                ("node1", "host-key", Warning, "SHA256:2, as node2"),
                ("node2", "host-key", Warning, "SHA256:2, as node1"),
                ("node0", "hostname", Warning, "debian, as node1"),
                ("node1", "hostname", Warning, "debian, as node0"),
            ]
        );
    }

    #[test]
    fn a_clock_that_is_not_told_is_a_warning() {
        let mut machines = machines(&[0]);
        machines[0].1.clock = None;
        assert_eq!(check(&probed(&machines, &keys(1)))[0].status, Warning);
    }
}
