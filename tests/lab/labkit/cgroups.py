"""The cgroups that booted nodes live in: version 1, version 2 or both at once, as the machine has them."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from .errors import LabError

_ROOT = "bpa-lab"
_NEEDED = {"cpu", "memory", "pids"}


@dataclass(frozen=True)
class Layout:
    """`version` is the one that carries cpu, memory and pids; `mounts` are its hierarchies."""
    version: str
    mounts: tuple[Path, ...]


def detect(mountinfo: str, unified_controllers: set[str]) -> Layout:
    """Reads the machine's layout from /proc/self/mountinfo and the controllers of its version 2 hierarchy.

    On a hybrid machine most controllers are still version 1, and runc needs them where they are.
    """
    first: list[Path] = []
    second: list[Path] = []
    carried: set[str] = set()
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        where = Path(before.split()[4])
        if kind == "cgroup" and where not in first:
            first.append(where)
            carried |= set(options.split()[-1].split(","))
        elif kind == "cgroup2":
            second.append(where)
    if second and _NEEDED <= unified_controllers:
        return Layout("v2", (second[0],))
    if _NEEDED <= carried:
        return Layout("v1", tuple(first))
    raise LabError("this machine shows no cgroup hierarchy with the controllers cpu, memory and pids, "
                   "so booted nodes can't run here: use --kind ns, or mount /sys/fs/cgroup")


def layout() -> Layout:
    """The layout of this machine."""
    mountinfo = Path("/proc/self/mountinfo").read_text()
    controllers: set[str] = set()
    for where in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        listed = Path(where, "cgroup.controllers")
        if listed.exists():
            controllers |= set(listed.read_text().split())
    return detect(mountinfo, controllers)


def make(lab: str, host: str) -> tuple[Layout, list[Path]]:
    """An own cgroup for a node in every hierarchy that counts."""
    found = layout()
    paths = []
    for mount in found.mounts:
        path = mount
        for part in (_ROOT, lab, host):
            if found.version == "v2":
                _delegate(path)
            path = path / part
            try:
                path.mkdir(exist_ok=True)
            except OSError as problem:
                raise LabError(f"can't make the cgroup {path}: {problem.strerror}; "
                               "booted nodes need a writable /sys/fs/cgroup (or use --kind ns)") from None
            if found.version == "v1":
                _inherit_cpuset(path)
        paths.append(path)
    return found, paths


def _delegate(path: Path) -> None:
    available = (path / "cgroup.controllers").read_text().split()
    control = path / "cgroup.subtree_control"
    for controller in set(available) - set(control.read_text().split()):
        try:
            control.write_text(f"+{controller}")
        except OSError:
            if controller in _NEEDED:
                raise LabError(f"can't hand the controller {controller} down from {path}: "
                               "is it given to realtime processes or held by another manager?") from None


def _inherit_cpuset(path: Path) -> None:
    """A version 1 cpuset starts empty and then takes no process."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        setting = path / name
        if setting.exists() and not setting.read_text().strip():
            setting.write_text((path.parent / name).read_text())


def directories(lab: str) -> Iterator[Path]:
    """The lab's directory in every hierarchy, whichever version it was made for."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith(("cgroup ", "cgroup2 ")):
            top = Path(before.split()[4]) / _ROOT / lab
            if top.is_dir():
                yield top


def members(lab: str) -> set[int]:
    """The processes in the cgroups of this lab."""
    found: set[int] = set()
    for top in directories(lab):
        for directory, _, _ in os.walk(top):
            try:
                found |= {int(word) for word in Path(directory, "cgroup.procs").read_text().split()}
            except (OSError, ValueError):
                pass
    return found


def remove(lab: str, host: str | None = None, limit: float = 3) -> list[Path]:
    """Removes the cgroups of a host, or of the whole lab; returns those that did not go within `limit` s."""
    left = [top / host if host else top for top in directories(lab)]
    until = time.monotonic() + limit
    while left := [top for top in left if not _removed(top)]:
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    if not host:
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            if " - cgroup" in line:
                _rmdir(Path(line.split()[4]) / _ROOT)
    return left


def _removed(top: Path) -> bool:
    if not top.exists():
        return True
    for directory, _, _ in os.walk(top, topdown=False):
        _rmdir(Path(directory))
    return not top.exists()


def _rmdir(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:
        pass
