"""What can happen to a host or a line, done on purpose."""

import hashlib
import re

from . import accounts, dhcp, disks, machines, names, nat, netns, network, reach, up
from .errors import LabError
from .hardware import Hardware
from .model import Host, Lab
from .shell import run

HOST_ACTIONS = {
    "power-off": "pull the plug",
    "power-on": "boot from the same disk",
    "boot": "the same as power-on (for a host that `up --hold` left off)",
    "reboot": "power-off and power-on",
    "reinstall": "a new operating system: same MAC, new host key",
    "remove-python": "take Python off the disk (reinstall brings it back)",
    "block-ssh": "drop all packets to port 22 until unblock-ssh or a reboot",
    "unblock-ssh": "let them through again",
    "set-password": "give the login account another password (argument: the password)",
    "down-link": "pull the network cable",
    "up-link": "plug it in again",
    "set-mac": "change the NIC's MAC, the address stays (argument: the MAC)",
}


def act_on_host(lab: Lab, host: Host, action: str, argument: str | None, wait: float | None) -> None:
    """Carries out one of `HOST_ACTIONS`; `wait` is how long to wait for a booted host, in seconds."""
    needs_argument = action in ("set-password", "set-mac")
    if needs_argument != (argument is not None):
        number = "an" if needs_argument else "no"
        raise LabError(f"{action} takes {number} argument: {HOST_ACTIONS[action]}")
    if action in ("power-on", "boot"):
        machines.power_on(lab, [host])
    elif action == "power-off":
        machines.power_off(lab, host)
    elif action == "reboot":
        machines.power_off(lab, host)
        machines.power_on(lab, [host])
    elif action == "reinstall":
        machines.reinstall(lab, host)
    elif action == "remove-python":
        _in_host(lab, host, ["sh", "-c", "rm -f /usr/bin/python3* /usr/local/bin/python3*"])
    elif action in ("block-ssh", "unblock-ssh"):
        _set_ssh_blocked(lab, host, action == "block-ssh")
    elif action == "set-password":
        _set_password(lab, host, argument)
    elif action in ("down-link", "up-link"):
        host.link_up = action == "up-link"
        if netns.inode(lab.netns(host.name)) is not None:
            network.set_link(lab, host)
    elif action == "set-mac":
        host.current_mac = names.check_mac(argument)
        if netns.inode(lab.netns(host.name)) is not None:
            network.set_mac(lab, host)
    if wait is not None and action in ("power-on", "boot", "reboot", "reinstall"):
        reach.wait(lab, [host], wait)


def add_host(lab: Lab, boot: bool, wait: float | None) -> Host:
    """One more host, delivered like the others."""
    if len(lab.hosts) >= names.MAX_HOSTS:
        raise LabError(f"lab {lab.name} has {len(lab.hosts)} hosts, its address pool has room for no more")
    number = max((names.host_number(host.name) for host in lab.hosts), default=0) + 1
    like = lab.hosts[-1] if lab.hosts else None
    password = like.password if like else hashlib.sha256(lab.name.encode()).hexdigest()[:12]
    host = up.new_host(number, password, bool(like and like.sudo_password), like.hardware if like else Hardware())
    lab.hosts.append(host)
    if boot:
        machines.power_on(lab, [host])
        if wait is not None:
            reach.wait(lab, [host], wait)
    return host


def act_on_wan(lab: Lab, action: str, seconds: int | None) -> None:
    """cut, heal, flush, rebind, timeout: what a line and a NAT router do to connections."""
    wan = lab.netns("wan")
    if action in ("cut", "heal"):
        nat.set_cut(wan, action == "cut")
    elif action == "flush":
        nat.flush(wan)
    elif action == "rebind":
        lab.rebinds += 1
        nat.load(wan, lab.rebinds)
        nat.flush(wan)
    elif seconds:
        nat.set_timeout(wan, seconds)
    else:
        raise LabError(f"say how many seconds a silent flow may have: `lab wan {lab.name} timeout 30`")


def act_on_dhcp(lab: Lab, action: str, host: str | None) -> None:
    """stop, start, forget, move."""
    if action == "stop":
        dhcp.stop(lab)
    elif action == "start":
        dhcp.start(lab)
    elif host is None:
        raise LabError(f"say which host: `lab dhcp {lab.name} {action} host1`")
    elif action == "move":
        dhcp.move(lab, lab.host(host).current_mac)
    else:
        dhcp.forget(lab, lab.host(host).current_mac)


def _in_host(lab: Lab, host: Host, argv: list[str], stdin: str | None = None) -> None:
    init = machines.need_init(lab, host)
    run(["nsenter", "-t", str(init), "-m", "-u", "-i", "-p", "-r", "-w", *argv], stdin=stdin)


def _set_ssh_blocked(lab: Lab, host: Host, blocked: bool) -> None:
    machines.need_init(lab, host)
    rules = "table inet lab\ndelete table inet lab\n"
    if blocked:
        rules += ("table inet lab { chain blocked { type filter hook input priority -10; "
                  "tcp dport 22 drop; }; }\n")
    run(["ip", "netns", "exec", lab.netns(host.name), "nft", "-f", "-"], stdin=rules)


def _set_password(lab: Lab, host: Host, password: str) -> None:
    if not password or re.search(r"[\s:]", password):
        raise LabError("a password can't be empty or contain spaces or a colon here: take another")
    hashed = accounts.hash_password(password)
    if machines.init_of(lab, host) is not None:
        _in_host(lab, host, ["/usr/sbin/chpasswd", "-e"], stdin=f"{host.user}:{hashed}\n")
    else:
        shadow = disks.disk_of(lab, host) / "upper/etc/shadow"
        if shadow.exists():
            shadow.write_text(accounts.with_hash(shadow.read_text(), host.user, hashed))
    host.password = password
    host.sudo_password = password if host.sudo_password else None


