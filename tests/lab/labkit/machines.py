"""Switching machines on and off, and installing them anew."""

import signal
from pathlib import Path

from . import accounts, cgroups, disks, netns, network, processes
from .errors import LabError
from .model import Host, Lab
from .shell import spawn

_STAGE = Path(__file__).resolve().parent.parent / "stage"


def power_on(lab: Lab, hosts: list[Host]) -> None:
    """Boots these hosts from their disks; a host without a disk is installed first. Does not wait."""
    hosts = [host for host in hosts if init_of(lab, host) is None]
    for host in hosts:
        _clear_leftovers(lab, host)
    fresh = [host for host in hosts if not disks.disk_of(lab, host).exists()]
    hashes = {password: accounts.hash_password(password) for password in {host.password for host in fresh}}
    for host in fresh:
        disks.install(lab, host, hashes[host.password])
    network.plug_in(lab, hosts)
    for host in hosts:
        spawn(_command(lab, host), lab.directory / host.name / "log")
        host.powered = True


def power_off(lab: Lab, host: Host) -> None:
    """Pulls the plug: nothing is shut down, the disk stays as it is, the port goes dark."""
    network_inode = netns.inode(lab.netns(host.name))
    groups = cgroups.members(lab.name) if lab.kind == "node" else set()
    init = init_of(lab, host)
    if init is not None:
        processes.end([init], signal.SIGKILL)
    if network_inode is not None and processes.end_all(lambda p: p.network == network_inode):
        raise LabError(f"{host.name} of lab {lab.name} can't be stopped: some of its processes do not die")
    if groups:
        cgroups.remove(lab.name, host.name)
    network.unplug(lab, host)
    host.powered, host.up, host.address = False, False, None


def reinstall(lab: Lab, host: Host) -> None:
    """A new operating system on the same machine: same MAC, everything else new, the host key too."""
    power_off(lab, host)
    disks.erase(lab, host)
    host.installation += 1
    power_on(lab, [host])


def init_of(lab: Lab, host: Host) -> int | None:
    """The host's pid 1 as the machine sees it; None when the host is off."""
    inode = netns.inode(lab.netns(host.name))
    return processes.host_inits().get(inode) if inode is not None else None


def need_init(lab: Lab, host: Host) -> int:
    """The host's pid 1, or the advice to switch it on."""
    init = init_of(lab, host)
    if init is None:
        raise LabError(f"{host.name} of lab {lab.name} is off: "
                       f"start it with `lab host {lab.name} {host.name} power-on`")
    return init


def _clear_leftovers(lab: Lab, host: Host) -> None:
    """A host that died by itself leaves its namespace and port behind."""
    if netns.inode(lab.netns(host.name)) is not None:
        power_off(lab, host)


def _command(lab: Lab, host: Host) -> list[str]:
    enter = ["nsenter", f"--net=/run/netns/{lab.netns(host.name)}", "unshare", "--mount", "--propagation", "private"]
    places = [lab.base, str(disks.disk_of(lab, host)), str(disks.root_of(lab, host))]
    if lab.kind == "ns":
        return [*enter, "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL",
                "sh", str(_STAGE / "ns.sh"), *places, lab.client]
    layout, groups = cgroups.make(lab.name, host.name)
    return [*enter, "sh", str(_STAGE / "node.sh"), *places, lab.netns(host.name), host.name,
            layout.version, *(str(group) for group in groups)]
