"""The disk of a host: what an installation leaves on it. A new installation is a new disk."""

import os
import shutil
from pathlib import Path

from . import accounts, names
from .model import Host, Lab

_GUEST = Path(__file__).resolve().parent.parent / "guest"
_FILES = {
    "ns": [
        ("ns-init.sh", "usr/local/sbin/lab-init", 0o755),
        ("dhclient.conf", "etc/dhcp/dhclient.conf", 0o644),
    ],
    "node": [
        ("node-setup.sh", "usr/local/sbin/lab-node-setup", 0o755),
        ("node-setup.service", "etc/systemd/system/lab-node-setup.service", 0o644),
        ("eth0.network", "etc/systemd/network/10-eth0.network", 0o644),
        ("ssh-hostkey.conf", "etc/systemd/system/ssh.service.d/10-hostkey.conf", 0o644),
    ],
}


def disk_of(lab: Lab, host: Host) -> Path:
    """Where the present installation of the host lies; on the machine's disk, not in its memory."""
    return names.DISKS / lab.name / f"{host.name}-{host.installation}"


def root_of(lab: Lab, host: Host) -> Path:
    """The mount point of the host's root; it shows nothing outside the host's own namespace."""
    return lab.directory / host.name / "root"


def install(lab: Lab, host: Host, hashed: str) -> None:
    """Makes the disk of a freshly installed host."""
    disk, base = disk_of(lab, host), Path(lab.base)
    before = os.umask(0o022)
    try:
        for part in ("upper", "work", *(("containerd", "kubelet") if lab.kind == "node" else ())):
            (disk / part).mkdir(parents=True)
        upper = disk / "upper"
        for source, target, mode in _FILES[lab.kind]:
            (upper / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_GUEST / source, upper / target)
            (upper / target).chmod(mode)
        (upper / "etc").mkdir(exist_ok=True)
        (upper / "etc/hostname").write_text(f"{host.name}\n")
        (upper / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {host.name}\n")
        if lab.kind == "node":
            wants = upper / "etc/systemd/system/sysinit.target.wants"
            wants.mkdir(parents=True)
            (wants / "lab-node-setup.service").symlink_to("../lab-node-setup.service")
        accounts.install(base, upper, host.user, hashed)
    finally:
        os.umask(before)
    root_of(lab, host).mkdir(parents=True, exist_ok=True)


def erase(lab: Lab, host: Host) -> None:
    """Throws the present installation away; the host must be off."""
    shutil.rmtree(disk_of(lab, host), ignore_errors=True)
