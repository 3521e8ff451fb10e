"""Which hosts answer: an address on their NIC, and an SSH greeting that the bootstrap host can read."""

import selectors
import socket
import time

from . import machines, netns, processes
from .errors import LabError
from .model import Host, Lab


def refresh(lab: Lab, limit: float = 0.5) -> None:
    """Brings `powered`, `address` and `up` of all hosts to what they are now; takes up to `limit` seconds."""
    inits = processes.host_inits()
    for host in lab.hosts:
        host.powered = netns.inode(lab.netns(host.name)) in inits
        host.address = netns.address(lab.netns(host.name)) if host.powered else None
        host.up = False
    _greet(lab, [host for host in lab.hosts if host.address], limit)


def wait(lab: Lab, hosts: list[Host], limit: float) -> None:
    """Waits until each of these hosts has an address and answers SSH; `limit` is in seconds."""
    started = time.monotonic()
    looked = started
    for host in hosts:
        host.up = False
    while waiting := [host for host in hosts if not host.up]:
        for host in waiting:
            host.address = netns.address(lab.netns(host.name))
        _greet(lab, [host for host in waiting if host.address], 0.5)
        now = time.monotonic()
        if now - looked > 1:
            looked = now
            _complain_of_dead(lab, waiting)
        if now - started > limit:
            _complain(lab, [host for host in hosts if not host.up], limit)
        time.sleep(0.01)


def _greet(lab: Lab, hosts: list[Host], limit: float) -> None:
    """Marks those that send the greeting of an SSH server within `limit` seconds as up."""
    if not hosts:
        return
    until = time.monotonic() + limit
    with selectors.DefaultSelector() as selector:
        for host in hosts:
            wire = netns.make_socket(lab.netns("boot"))
            wire.setblocking(False)
            wire.connect_ex((host.address, 22))
            selector.register(wire, selectors.EVENT_READ, host)
        while selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                key.data.up = _greeting(key.fileobj)
                selector.unregister(key.fileobj)
                key.fileobj.close()
        for key in list(selector.get_map().values()):
            key.fileobj.close()


def _greeting(wire: socket.socket) -> bool:
    try:
        return wire.recv(16).startswith(b"SSH-")
    except OSError:
        return False


def _complain_of_dead(lab: Lab, waiting: list[Host]) -> None:
    for host in waiting:
        if machines.init_of(lab, host) is None:
            raise LabError(f"{host.name} of lab {lab.name} did not boot; {_log(lab, host)}")


def _complain(lab: Lab, waiting: list[Host], limit: float) -> None:
    parts = [f"{host.name} " + (f"has {host.address} but does not answer SSH" if host.address
                                else "got no address from the DHCP server") for host in waiting]
    raise LabError(f"after {limit:.0f} s {'; '.join(parts)}. {_log(lab, waiting[0])}\n"
                   f"The DHCP server's log is in {lab.dhcp_directory}; --no-wait does not wait, --timeout waits longer")


def _log(lab: Lab, host: Host) -> str:
    path = lab.directory / host.name / "log"
    try:
        tail = "\n".join(path.read_text(errors="replace").splitlines()[-6:])
    except OSError:
        tail = ""
    return f"its log ({path}) ends:\n{tail}" if tail else f"its log ({path}) is empty"
