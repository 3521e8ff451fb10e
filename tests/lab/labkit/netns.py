"""Acting in a network namespace without starting a program: sockets, settings, addresses.

A thread may be in another namespace than its process, and a socket stays in the namespace where it
was made; so we step in, make what we need, and step back.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from typing import Iterator

from . import names
from .errors import LabError

_CLONE_NEWNET = 0x40000000
_SIOCGIFADDR = 0x8915
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(netns: str) -> Iterator[None]:
    """This thread is in `netns` until the block ends."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        try:
            there = os.open(names.NETNS / netns, os.O_RDONLY)
        except FileNotFoundError:
            raise LabError(f"there is no network namespace {netns}: the machine is off or the lab is down") from None
        try:
            _enter(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _enter(home)
    finally:
        os.close(home)


def _enter(handle: int) -> None:
    if _libc.setns(handle, _CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise LabError(f"can't enter a network namespace: {os.strerror(code)}; the lab must run as root")


def make_socket(netns: str, kind: int = socket.SOCK_STREAM) -> socket.socket:
    """An IPv4 socket that lives in `netns`."""
    with inside(netns):
        return socket.socket(socket.AF_INET, kind)


def sysctl(netns: str, key: str, value: str) -> None:
    """Sets a network setting, such as `ipv4/ip_forward`, of the namespace."""
    with inside(netns), open(f"/proc/sys/net/{key}", "w") as setting:
        setting.write(value)


def address(netns: str, interface: str = "eth0") -> str | None:
    """The first IPv4 address of the interface; None while it has none or the namespace is not there."""
    try:
        probe = make_socket(netns, socket.SOCK_DGRAM)
    except LabError:
        return None
    with probe:
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("16s24x", interface.encode()))
        except OSError:
            return None
        return socket.inet_ntoa(answer[20:24])


def inode(netns: str) -> int | None:
    """The number that /proc shows for this namespace; None when it is not there (or only half made)."""
    try:
        found = os.stat(names.NETNS / netns)
    except FileNotFoundError:
        return None
    return found.st_ino if found.st_dev == os.stat("/proc/self/ns/net").st_dev else None


def of_lab(lab: str) -> list[str]:
    """The namespaces of a lab that stand now."""
    pattern = names.netns_pattern(lab)
    return sorted(entry for entry in entries() if pattern.fullmatch(entry))


def entries() -> list[str]:
    """All named namespaces of this machine."""
    try:
        return os.listdir(names.NETNS)
    except FileNotFoundError:
        return []
