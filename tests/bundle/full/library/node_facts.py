#!/usr/bin/python
"""Ansible module: what a host is and can do, as far as these playbooks ask.

Much less than Ansible's own facts, and therefore quick. Returned as the fact
`node`: hostname, machine, os, systemd, container, cgroup_version,
root_is_overlay, may_lower_oom_score, apparmor, conntrack_settable, resolver,
swap, addresses, kubeadm {next (keep, run, wipe or refuse), reason}.

options: cluster (the name of the cluster that the host is wanted for).
"""

import os
import platform
import re
import subprocess

from ansible.module_utils import kubeadm_state
from ansible.module_utils.basic import AnsibleModule

CAP_SYS_RESOURCE = 24


def text_of(path):
    """A small file's text; empty when it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def cgroup_version():
    """1 for version 1 and for a mix of both, because runc then uses version 1."""
    return 2 if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else 1


def in_container():
    """Whether this is a container rather than a machine, as systemd sees it."""
    try:
        return subprocess.run(["systemd-detect-virt", "--quiet", "--container"], timeout=10, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def root_type(mounts):
    """File system type of / in a /proc/mounts text; the last line wins."""
    kind = ""
    for line in mounts.splitlines():
        words = line.split()
        if len(words) > 2 and words[1] == "/":
            kind = words[2]
    return kind


def has_capability(status, bit):
    """Whether a /proc/PID/status text shows a capability as effective."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return bool(found) and bool(int(found.group(1), 16) >> bit & 1)


def os_release(text):
    """ID and VERSION_ID of an os-release text."""
    values = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.MULTILINE))
    return "%s %s" % (values.get("ID", "unknown"), values.get("VERSION_ID", ""))


def resolvers(text):
    """Name servers of a resolv.conf text."""
    return re.findall(r"^\s*nameserver\s+(\S+)", text, re.MULTILINE)


def addresses():
    """The host's own addresses."""
    out = subprocess.run(["ip", "-o", "addr"], capture_output=True, text=True, timeout=20, check=True).stdout
    return [word for word in re.findall(r"inet6? ([^/ ]+)", out) if word not in ("127.0.0.1", "::1")]


def collect(cluster):
    """All of it."""
    found = kubeadm_state.leftovers()
    step, reason = kubeadm_state.decide(kubeadm_state.read(), cluster, "step", found)
    return {
        "hostname": platform.node(),
        "machine": platform.machine(),
        "os": os_release(text_of("/etc/os-release")).strip(),
        "systemd": os.path.isdir("/run/systemd/system"),
        "container": in_container(),
        "cgroup_version": cgroup_version(),
        "root_is_overlay": root_type(text_of("/proc/mounts")) == "overlay",
        "may_lower_oom_score": has_capability(text_of("/proc/self/status"), CAP_SYS_RESOURCE),
        "apparmor": os.path.isdir("/sys/kernel/security/apparmor"),
        "conntrack_settable": os.access("/proc/sys/net/netfilter/nf_conntrack_max", os.W_OK),
        "resolver": bool(resolvers(text_of("/etc/resolv.conf"))),
        "swap": len(text_of("/proc/swaps").splitlines()) > 1,
        "addresses": addresses(),
        "kubeadm": {"next": step, "reason": reason},
    }


def main():
    """Reports it as facts."""
    module = AnsibleModule(argument_spec={"cluster": {"type": "str", "required": True}}, supports_check_mode=True)
    module.exit_json(changed=False, ansible_facts={"node": collect(module.params["cluster"])})


if __name__ == "__main__":
    main()
