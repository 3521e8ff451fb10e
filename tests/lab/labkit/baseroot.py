"""The base root: one plain Debian that every host of every lab has as its installed system.

It holds what an operating system image for servers holds, and nothing of Kubernetes: that comes
from the bundle. What differs between hosts (accounts, name, units) is laid over it by `disks`.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from . import mirror
from .cache import built, key_of
from .errors import LabError
from .shell import run

# Raise this when the steps below change, so that old roots are not used again.
RECIPE = 1
SUITE = "bookworm"
PACKAGES = (
    "systemd systemd-sysv dbus libpam-systemd openssh-server sudo python3 python3-apt "
    "iproute2 iputils-ping procps kmod iptables nftables ebtables ethtool conntrack socat "
    "isc-dhcp-client udhcpc busybox-static ca-certificates openssl curl xz-utils less"
).split()
# Started by packages, but of no use on a machine with a fixed package set and no internet.
MASKED = (
    "systemd-networkd-wait-online.service systemd-modules-load.service apt-daily.timer "
    "apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer "
    "console-getty.service getty@.service systemd-firstboot.service "
    # Ends some seconds after the last log-out; in version 1 cgroups of a node that takes two minutes,
    # and each log-in meanwhile waits for it.
    "user@.service"
).split()
SSHD = """\
# Fast log-ins with no name server; which accounts may log in is decided per host.
UseDNS no
GSSAPIAuthentication no
X11Forwarding no
HostKey /etc/ssh/ssh_host_ed25519_key
"""


def build_key() -> str:
    """Changes whenever the recipe, the packages or the settings do."""
    return key_of([str(RECIPE), SUITE, SSHD, "packages", *PACKAGES, "masked", *MASKED])


def base_root() -> Path:
    """The finished root, built first if this machine has none (about a minute)."""
    return built("base", build_key(), build)


def build(root: Path) -> None:
    """Makes the root in the empty directory `root`."""
    if os.geteuid() != 0:
        raise LabError("only root can build the base root of the hosts: run tests/lab/base with sudo")
    if shutil.which("debootstrap") is None:
        raise LabError("debootstrap is not on this machine: run tests/setup as root")
    started = time.monotonic()
    print(f"base: installing Debian {SUITE} with {len(PACKAGES)} packages", file=sys.stderr)
    _debootstrap(root)
    _make_image(root)
    print(f"base: done in {time.monotonic() - started:.0f} s", file=sys.stderr)


def _debootstrap(root: Path) -> None:
    log = root.with_name(f"{root.name}.log")
    # In a mount namespace of its own, so that an interrupted build leaves no /proc mounted in the root.
    argv = ["unshare", "--mount", "--propagation", "private", "debootstrap",
            "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(root), mirror.archive(SUITE)]
    with open(log, "wb") as out:
        code = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                              env={**os.environ, **mirror.proxy_environment()}).returncode
    if code != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise LabError(f"debootstrap failed with code {code}; its log is {log} and ends:\n{tail}\n"
                       "check that `apt-get update` works on this machine and that its disk has 1 GB free")
    log.unlink()


def _make_image(root: Path) -> None:
    """Turns a fresh installation into an image: no identity, no package sources, no waiting services."""
    shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
    (root / "var/cache/apt/archives/partial").mkdir(parents=True)
    shutil.rmtree(root / "var/lib/apt/lists", ignore_errors=True)
    (root / "var/lib/apt/lists/partial").mkdir(parents=True)
    for name in ("etc/apt/sources.list", "etc/machine-id", "etc/resolv.conf"):
        (root / name).write_text("")
    for name in ("etc/hostname", "etc/hosts", "var/lib/dbus/machine-id"):
        (root / name).unlink(missing_ok=True)
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    (root / "etc/ssh/sshd_config.d/10-server.conf").write_text(SSHD)
    run(["systemctl", f"--root={root}", "mask", *MASKED])
    run(["systemctl", f"--root={root}", "enable", "systemd-networkd.service"])
