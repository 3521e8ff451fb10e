"""Making a lab: the wishes of the command line become hosts, the parts are started, and all answer."""

import os
import secrets
import shutil
import signal
from argparse import Namespace

from . import baseroot, cgroups, dhcp, files, machines, names, nat, network, reach, store, teardown
from .errors import LabError
from .hardware import Hardware
from .model import Host, Lab

_PROGRAMS = ("ip", "nft", "conntrack", "nsenter", "unshare", "openssl")


def make(wishes: Namespace, say) -> Lab:
    """Brings the lab up and returns it; on a failure or Ctrl-C nothing is left of it."""
    lab = plan(wishes)
    _check_machine(lab)
    if wishes.bundle:
        lab.bundle = str(files.bundle_directory(wishes.bundle))
    lab.base = str(baseroot.base_root())
    if "," in lab.base or ":" in lab.base:
        raise LabError(f"{lab.base} can't be mounted as it has a comma or colon in its name: set BPA_CACHE elsewhere")
    store.claim(lab.name)
    try:
        with store.locked(lab.name):
            try:
                _build(lab, wishes, say)
            except BaseException as problem:
                _clean_up(lab, wishes, problem)
                raise
    except KeyboardInterrupt:
        raise LabError(f"interrupted; lab {lab.name} is removed again") from None
    return lab


def plan(wishes: Namespace) -> Lab:
    """The lab as values; all that can be wrong with the command line is found here."""
    name = names.check_lab_name(wishes.name)
    if not 0 <= wishes.hosts <= names.MAX_HOSTS:
        raise LabError(f"{wishes.hosts} hosts can't be: the site's address pool is for 0 to {names.MAX_HOSTS}")
    lab = Lab(name, wishes.kind, wishes.server, wishes.client, base="")
    usual = Hardware().changed(f"cpu={wishes.cpu},memory={wishes.memory},disk={wishes.disk}")
    password = wishes.password or secrets.token_urlsafe(12)
    if any(ord(letter) < 33 or letter == ":" for letter in password):
        raise LabError("a password can't contain spaces, control characters or a colon here: take another")
    for number in range(1, wishes.hosts + 1):
        lab.hosts.append(new_host(number, password, wishes.sudo, usual))
    for host, settings in _pairs(wishes.host_hw):
        lab.host(host).hardware = lab.host(host).hardware.changed(settings)
    for host, label in _pairs(wishes.host_label):
        key, equals, value = label.partition("=")
        if not equals:
            raise LabError(f"`{host}:{label}` sets no label: write it like {host}:rack=a")
        lab.host(host).labels[key] = value
    for host in wishes.no_hardware:
        lab.host(host).hardware_known = False
    for host in wishes.hold:
        lab.host(host)
    return lab


def new_host(number: int, password: str, sudo: bool, hardware: Hardware) -> Host:
    """A host as it is delivered."""
    mac = names.mac_of(number)
    return Host(names.host_name(number), mac, "ops" if sudo else "root", password,
                password if sudo else None, hardware, current_mac=mac)


def _pairs(settings: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for setting in settings:
        host, colon, rest = setting.partition(":")
        if not colon or not rest:
            raise LabError(f"`{setting}` names no host: write it like host1:{setting}")
        pairs.append((host, rest))
    return pairs


def _check_machine(lab: Lab) -> None:
    if os.geteuid() != 0:
        raise LabError("only root can make namespaces: run it again with sudo")
    programs = [*_PROGRAMS, dhcp.program(lab.server)]
    if lab.kind == "node":
        cgroups.layout()
        programs.append("systemd-nspawn")
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise LabError(f"these programs are not on this machine: {', '.join(missing)}; run tests/setup as root")


def _build(lab: Lab, wishes: Namespace, say) -> None:
    store.save(lab)
    names.DISKS.mkdir(mode=0o711, parents=True, exist_ok=True)
    # A lab that was up when the machine was switched off has left its disks, and only them.
    shutil.rmtree(names.DISKS / lab.name, ignore_errors=True)
    (names.DISKS / lab.name).mkdir(mode=0o711)
    network.build_site(lab)
    if wishes.nat_timeout:
        nat.set_timeout(lab.netns("wan"), wishes.nat_timeout)
    dhcp.start(lab)
    if lab.bundle:
        files.start(lab)
    say("site", f"management, NAT, bootstrap host with {lab.server}"
        + (f", files of {lab.bundle}" if lab.bundle else ""))
    booting = [host for host in lab.hosts if host.name not in wishes.hold]
    machines.power_on(lab, booting)
    if not wishes.no_wait:
        reach.wait(lab, booting, wishes.timeout)
    lab.complete = True
    store.save(lab)


def _clean_up(lab: Lab, wishes: Namespace, problem: BaseException) -> None:
    if wishes.keep and isinstance(problem, LabError):
        store.save(lab)
        return
    # A second Ctrl-C must not stop the removal.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    teardown.remove_locked(lab.name)
