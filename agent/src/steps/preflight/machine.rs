//! PURE: what one machine must be, taken by itself.

use bpa_common::wire::v1::Check;

use super::facts::{Facts, Space, Version};
use super::verdict::{failed, passed, seconds, size, warning};
use super::{Needs, Probed};

/// ansible-core 2.18 refuses older ones.
const PYTHON: Version = Version(3, 8, 0);
/// kubespray's floors, in bytes (it counts MiB).
const CONTROL_PLANE_MEMORY: u64 = 1500 << 20;
const WORKER_MEMORY: u64 = 1024 << 20;
/// kubeadm refuses a control plane with fewer.
const CONTROL_PLANE_CPUS: u32 = 2;
/// Images, etcd and logs; below the first the install itself does not fit.
const VAR_FLOOR: u64 = 3 << 30;
const VAR_ROOM: u64 = 10 << 30;
/// kubespray keeps its downloads there, about 1 GB.
const TMP_ROOM: u64 = 1 << 30;
/// ansible gives up at 12 s by default; a sudo this slow makes every task slow.
const SUDO_SLOW_MS: u64 = 1_000;
const SUDO_DEAD_MS: u64 = 10_000;

/// Every check of one machine.
pub(super) fn check(probed: &Probed<'_>, needs: Needs) -> Vec<Check> {
    let node = probed.target.name.as_str();
    let facts = &probed.facts;
    let mut checks = vec![name(node, facts), address(probed), python(node, facts)];
    checks.extend(sudo(probed));
    checks.extend([swap(node, facts), memory(probed), cpu(probed)]);
    checks.extend(disk(node, facts));
    checks.push(os(node, facts));
    checks.extend(needs.systemd.then(|| systemd(node, facts)));
    checks.extend(facts.cgroup.map(|version| {
        passed(node, "cgroup", "any (for information)", format!("version {version}"))
    }));
    checks.extend(facts.kernel.as_ref().map(|kernel| {
        let arch = facts.arch.as_deref().unwrap_or("unknown architecture");
        passed(node, "kernel", "any (for information)", format!("{kernel} {arch}"))
    }));
    checks
}

fn name(node: &str, facts: &Facts) -> Check {
    let wanted = "a DNS-1123 label that begins with a letter";
    if !is_label(node) {
        let fix = "use lower-case letters, digits and `-` in the Provisioning, at most 63";
        return failed(node, "name", wanted, format!("`{node}`"), fix);
    }
    let found = match &facts.hostname {
        Some(hostname) if hostname != node => {
            format!("{node}; the machine calls itself {hostname} and will be renamed")
        }
        _ => node.to_owned(),
    };
    passed(node, "name", wanted, found)
}

/// The hostname is changed before kubespray looks at the name, so a bad one must not get there.
fn is_label(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.bytes().all(plain)
        && !["all", "ungrouped", "localhost", "etcd"].contains(&name)
}

fn address(probed: &Probed<'_>) -> Check {
    let (node, address) = (probed.target.name.as_str(), probed.target.address);
    let wanted = format!("{address} on an interface of the machine");
    let all = &probed.facts.addresses;
    if all.contains(&address) {
        return passed(node, "address", wanted, address.to_string());
    }
    if all.is_empty() {
        let fix = "install iproute2 on the machine, to be sure";
        return warning(node, "address", wanted, "the machine does not tell its addresses", fix);
    }
    let shown = all.iter().filter(|a| !a.is_loopback()).map(ToString::to_string);
    let found = shown.take(6).collect::<Vec<_>>().join(", ");
    failed(
        node,
        "address",
        wanted,
        found,
        "name an address of the machine itself: behind NAT Kubernetes can't bind it",
    )
}

fn python(node: &str, facts: &Facts) -> Check {
    let wanted = format!("python3, {}.{} or newer", PYTHON.0, PYTHON.1);
    match facts.python {
        Some(version) if version >= PYTHON => passed(node, "python", wanted, version.to_string()),
        Some(version) => failed(
            node,
            "python",
            wanted,
            version.to_string(),
            "install a newer python3 on the machine, or a newer OS image",
        ),
        None => failed(
            node,
            "python",
            wanted,
            "none",
            "run on the machine: apt-get install python3 (or dnf, zypper), or put it into the OS image",
        ),
    }
}

fn sudo(probed: &Probed<'_>) -> Option<Check> {
    let node = probed.target.name.as_str();
    let took = u64::try_from(probed.sudo?.as_millis()).unwrap_or(u64::MAX);
    let (wanted, found) = ("an answer within 1 s", format!("{} after {}", "root", seconds(took)));
    let fix =
        "add the machine's own name to its /etc/hosts, and mend or empty its /etc/resolv.conf";
    Some(match took {
        ..SUDO_SLOW_MS => passed(node, "sudo", wanted, found),
        SUDO_SLOW_MS..SUDO_DEAD_MS => warning(node, "sudo", wanted, found, fix),
        _ => failed(node, "sudo", wanted, found, fix),
    })
}

fn swap(node: &str, facts: &Facts) -> Check {
    match facts.swaps.as_deref() {
        Some([]) => passed(node, "swap", "off", "off"),
        None => warning(node, "swap", "off", "unknown", "make /proc/swaps readable"),
        Some(swaps) => {
            let shown = swaps.iter().take(4).map(|s| format!("{} on {}", size(s.bytes), s.name));
            let found = shown.collect::<Vec<_>>().join(", ");
            let fix = "the playbook turns it off; remove it from /etc/fstab, or it is back after a reboot";
            warning(node, "swap", "off", found, fix)
        }
    }
}

fn memory(probed: &Probed<'_>) -> Check {
    let (node, target) = (probed.target.name.as_str(), probed.target);
    let floor = if target.control_plane { CONTROL_PLANE_MEMORY } else { WORKER_MEMORY };
    let wanted = format!("at least {}", size(floor));
    let Some(found) = probed.facts.memory_bytes else {
        return warning(node, "memory", wanted, "unknown", "make /proc/meminfo readable");
    };
    if found < floor {
        let fix =
            format!("{} more is needed for this role; choose another host", size(floor - found));
        return failed(node, "memory", wanted, size(found), fix);
    }
    match target.memory_bytes {
        // The kernel keeps some for itself; a missing module takes far more.
        Some(offer) if found < offer / 20 * 17 => warning(
            node,
            "memory",
            format!("{}, as inspected", size(offer)),
            size(found),
            "a memory module may have failed or been taken out; inspect the host again",
        ),
        _ => passed(node, "memory", wanted, size(found)),
    }
}

fn cpu(probed: &Probed<'_>) -> Check {
    let (node, target) = (probed.target.name.as_str(), probed.target);
    let floor = if target.control_plane { CONTROL_PLANE_CPUS } else { 1 };
    let wanted = format!("at least {floor}");
    let Some(found) = probed.facts.cpus else {
        return warning(node, "cpu", wanted, "unknown", "make /proc/cpuinfo readable");
    };
    if found < floor {
        let fix = "kubeadm refuses this for a control plane; choose another host";
        return failed(node, "cpu", wanted, found.to_string(), fix);
    }
    match target.cpu {
        Some(offer) if found < offer => warning(
            node,
            "cpu",
            format!("{offer}, as inspected"),
            found.to_string(),
            "processors may be switched off (firmware, boot options); inspect the host again",
        ),
        _ => passed(node, "cpu", wanted, found.to_string()),
    }
}

fn disk(node: &str, facts: &Facts) -> Vec<Check> {
    let fix = "make room, or give the file system more space";
    let free = |space: Space| format!("{} free of {}", size(space.free), size(space.whole));
    let var = match facts.var {
        None => warning(node, "disk", "room on /var", "unknown", "check df -h /var on the machine"),
        Some(space) if space.free < VAR_FLOOR => failed(
            node,
            "disk",
            format!("at least {} free on /var", size(VAR_FLOOR)),
            free(space),
            fix,
        ),
        Some(space) if space.free < VAR_ROOM => {
            warning(node, "disk", format!("{} free on /var", size(VAR_ROOM)), free(space), fix)
        }
        Some(space) => {
            passed(node, "disk", format!("{} free on /var", size(VAR_ROOM)), free(space))
        }
    };
    let tmp = facts.tmp.filter(|space| space.free < TMP_ROOM).map(|space| {
        warning(node, "disk-tmp", format!("{} free on /tmp", size(TMP_ROOM)), free(space), fix)
    });
    std::iter::once(var).chain(tmp).collect()
}

/// Systems that kubespray 2.31 takes: id, and the beginnings of the versions that it knows.
const SYSTEMS: &[(&str, &[&str])] = &[
    ("debian", &["11", "12", "13"]),
    ("ubuntu", &["22.04", "24.04"]),
    ("centos", &["9", "10"]),
    ("rhel", &["9", "10"]),
    ("rocky", &["9", "10"]),
    ("almalinux", &["9", "10"]),
    ("ol", &["9", "10"]),
    ("fedora", &["39", "40", "41", "42"]),
    ("flatcar", &[""]),
    ("opensuse-leap", &["15"]),
    ("opensuse-tumbleweed", &[""]),
    ("amzn", &["2"]),
    ("kylin", &["V10"]),
    ("uos", &[""]),
    ("openEuler", &[""]),
];

fn os(node: &str, facts: &Facts) -> Check {
    let wanted = "a system that kubespray knows";
    let (id, version) = (facts.os_id.as_deref(), facts.os_version.as_deref().unwrap_or(""));
    let of_that_line = |known: &str| {
        version
            .strip_prefix(known)
            .is_some_and(|rest| known.is_empty() || rest.is_empty() || rest.starts_with('.'))
    };
    let known = SYSTEMS.iter().any(|(name, versions)| {
        id == Some(*name) && versions.iter().any(|known| of_that_line(known))
    });
    let found = facts.os_name.clone().or(id.map(str::to_owned)).unwrap_or("unknown".to_owned());
    if known {
        passed(node, "os", wanted, found)
    } else {
        let fix = "use one of them, or set allow_unsupported_distribution_setup in kubernetes.vars";
        warning(node, "os", wanted, found, fix)
    }
}

fn systemd(node: &str, facts: &Facts) -> Check {
    let found = facts.init.clone().unwrap_or("unknown".to_owned());
    if facts.systemd {
        passed(node, "systemd", "systemd as init", found)
    } else {
        failed(
            node,
            "systemd",
            "systemd as init",
            found,
            "use an OS image with systemd: the bundle's services need it",
        )
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
