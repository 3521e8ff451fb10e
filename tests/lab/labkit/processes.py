"""Which processes belong to a lab, found by what they are in and not by files that may lie."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable


@dataclass(frozen=True)
class Process:
    """A living process: its network namespace and its ids from the outermost pid namespace inwards."""
    pid: int
    network: int
    ids: tuple[int, ...]

    @property
    def is_host_init(self) -> bool:
        """True for pid 1 of a host; inits of pods lie one pid namespace deeper."""
        return len(self.ids) == 2 and self.ids[1] == 1


def living() -> Iterable[Process]:
    """All processes that are not zombies."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                link = os.readlink(f"/proc/{entry}/ns/net")
                status = Path(f"/proc/{entry}/status").read_text()
            except (OSError, UnicodeDecodeError):
                continue
            yield Process(int(entry), int(link[5:-1]), namespace_ids(status))


def namespace_ids(status: str) -> tuple[int, ...]:
    """The ids that a process has in each pid namespace around it."""
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            return tuple(int(word) for word in line.split()[1:])
    return ()


def command_line(pid: int) -> list[str]:
    """The arguments of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def host_inits() -> dict[int, int]:
    """Pid 1 of every host on this machine, by its network namespace."""
    return {process.network: process.pid for process in living() if process.is_host_init}


def dead(pid: int) -> bool:
    """True when the process is gone or a zombie (`kill -0` does not see the difference)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in ("Z", "X")


def end(pids: Iterable[int], how: signal.Signals = signal.SIGKILL, limit: float = 5) -> list[int]:
    """Signals these processes and waits up to `limit` seconds; returns those that still live."""
    waiting = list(pids)
    for pid in waiting:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            pass
    until = time.monotonic() + limit
    while waiting := [pid for pid in waiting if not dead(pid)]:
        if time.monotonic() > until:
            break
        time.sleep(0.01)
    return waiting


def end_all(belongs: Callable[[Process], bool], limit: float = 10) -> list[int]:
    """Kills until no process belongs any more, young ones included; spares us and our callers."""
    spared = _ourselves()
    until = time.monotonic() + limit
    while True:
        found = [p.pid for p in living() if p.pid not in spared and belongs(p)]
        if not found or time.monotonic() > until:
            return found
        end(found, limit=2)


def _ourselves() -> set[int]:
    spared, pid = set(), os.getpid()
    while pid > 0 and pid not in spared:
        spared.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            break
    return spared
