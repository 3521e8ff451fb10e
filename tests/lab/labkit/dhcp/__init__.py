"""The DHCP server of the bootstrap host: one of three, started in its namespace, asked to forget."""

import re
import signal
import time
from pathlib import Path
from typing import Protocol

from .. import names, netns, processes
from ..errors import LabError
from ..model import Lab
from ..shell import spawn
from . import dnsmasq, isc, kea, unconfined

LEASE_SECONDS = 600
_ADDRESS = re.compile(rf"\b{re.escape(names.LAN_PREFIX)}\.[0-9]+\b")


class Server(Protocol):
    """What each of the three modules offers."""
    PROGRAM: str
    LEASES: str

    def prepare(self, directory: Path, lease_seconds: int,
                ranges: list[tuple[str, str]]) -> tuple[list[str], dict[str, str]]:
        """Writes the configuration; returns the command and its additional environment."""

    def without(self, leases: str, mac: str) -> str:
        """The lease file's text without what it says of this MAC."""


_SERVERS = {"kea": kea, "isc": isc, "dnsmasq": dnsmasq}
KINDS = tuple(_SERVERS)


def program(kind: str) -> str:
    """The name of the server's program."""
    return _SERVERS[kind].PROGRAM


def lease_path(lab: Lab) -> Path:
    """The file that the server keeps its leases in."""
    return lab.dhcp_directory / _SERVERS[lab.server].LEASES


def start(lab: Lab) -> None:
    """Starts the server and waits until it listens."""
    if running(lab):
        raise LabError(f"the DHCP server of lab {lab.name} runs already")
    server = _SERVERS[lab.server]
    lab.dhcp_directory.mkdir(mode=0o755, exist_ok=True)
    argv, environment = server.prepare(lab.dhcp_directory, LEASE_SECONDS, names.pool_ranges(lab.retired))
    argv[0] = unconfined.runnable(argv[0], names.DISKS / lab.name / "bin")
    log = lab.dhcp_directory / "server.out"
    command = ["ip", "netns", "exec", lab.netns("boot"), "env",
               *(f"{key}={value}" for key, value in environment.items()), *argv]
    pid = spawn(command, log)
    until = time.monotonic() + 10
    while not _listens(lab):
        if processes.dead(pid) or time.monotonic() > until:
            words = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
            raise LabError(f"the DHCP server {server.PROGRAM} did not start; its output ({log}) ends:\n{words}")
        time.sleep(0.01)


def stop(lab: Lab) -> None:
    """Stops the server as an administrator would; it may finish writing."""
    left = processes.end(_pids(lab), signal.SIGTERM, limit=5)
    if left and processes.end(left):
        raise LabError(f"the DHCP server of lab {lab.name} can't be stopped (process {left})")


def running(lab: Lab) -> bool:
    return bool(_pids(lab))


def forget(lab: Lab, mac: str) -> None:
    """The server knows nothing of this MAC any more; a host that renews its lease gets one again."""
    was_running = running(lab)
    if was_running and lab.server == "kea":
        kea.forget_live(lab.dhcp_directory, mac)
        return
    if was_running:
        stop(lab)
    path = lease_path(lab)
    if path.exists():
        path.write_text(_SERVERS[lab.server].without(path.read_text(errors="surrogateescape"), mac),
                        errors="surrogateescape")
    if was_running:
        start(lab)


def move(lab: Lab, mac: str) -> list[str]:
    """Forgets this MAC and retires its addresses, so that its host gets another one; returns the old ones."""
    was_running = running(lab)
    if was_running:
        stop(lab)
    path = lease_path(lab)
    text = path.read_text(errors="surrogateescape") if path.exists() else ""
    left = _SERVERS[lab.server].without(text, mac)
    addresses = set(_ADDRESS.findall(text)) - set(_ADDRESS.findall(left))
    path.write_text(left, errors="surrogateescape")
    lab.retired = sorted({*lab.retired, *addresses})
    if was_running:
        start(lab)
    return sorted(addresses)


def _pids(lab: Lab) -> list[int]:
    network = netns.inode(lab.netns("boot"))
    program = _SERVERS[lab.server].PROGRAM
    return [process.pid for process in processes.living() if process.network == network
            and (processes.command_line(process.pid) or [""])[0].rpartition("/")[2] == program]


def _listens(lab: Lab) -> bool:
    """True when something in the bootstrap namespace has UDP port 67 open."""
    with netns.inside(lab.netns("boot")):
        table = Path("/proc/thread-self/net/udp").read_text()
    return any(line.split()[1].endswith(":0043") for line in table.splitlines()[1:])
