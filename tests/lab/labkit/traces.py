"""What of a lab can still be found on this machine: the proof that `down` leaves nothing."""

import os
from pathlib import Path
from typing import Iterable

from . import cgroups, names, netns, processes


def inodes(lab: str) -> set[int]:
    """The numbers of the lab's network namespaces; ask before it goes down."""
    return {inode for part in netns.of_lab(lab) if (inode := netns.inode(part)) is not None}


def find(lab: str, namespaces: Iterable[int] = ()) -> list[str]:
    """Everything that belongs to the lab, in words; `namespaces` are those that it had while it was up."""
    # The kernel gives the number of a dead namespace to the next one: what others have now is not ours.
    others = _others(lab)
    known = (set(namespaces) - others) | inodes(lab)
    found = [f"namespace {name}" for name in netns.of_lab(lab)]
    found += [f"directory {root / lab}" for root in (names.RUN, names.DISKS) if (root / lab).exists()]
    found += [f"cgroup {path}" for path in cgroups.directories(lab)]
    places = tuple(f"{root / lab}/" for root in (names.RUN, names.DISKS))
    living = list(processes.living())
    # Services of another lab's node may be in a namespace without a name that has such a number.
    foreign = {_pid_space(process.pid) for process in living if process.is_host_init and process.network in others}
    for process in living:
        words = processes.command_line(process.pid)
        if any(word.startswith(places) for word in words) or (
                process.network in known and _pid_space(process.pid) not in foreign):
            found.append(f"process {process.pid} {' '.join(words)[:80]}")
    for line in _all_mounts():
        if names_lab(line, lab, known):
            found.append(f"mount {line.strip()[:160]}")
    return found


def _pid_space(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _others(lab: str) -> set[int]:
    pattern = names.netns_pattern(lab)
    return {inode for name in netns.entries() if not pattern.fullmatch(name) and (inode := netns.inode(name))}


def names_lab(mount: str, lab: str, namespaces: set[int]) -> bool:
    """True when a line of mountinfo shows a directory or a network namespace of the lab."""
    if any(f"net:[{inode}]" in mount for inode in namespaces):
        return True
    return any(f"{root / lab}/" in mount for root in (names.RUN, names.DISKS))


def _all_mounts() -> set[str]:
    """The mounts of every mount namespace on this machine."""
    seen: set[str] = set()
    lines: set[str] = set()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            space = os.readlink(f"/proc/{entry}/ns/mnt")
            if space not in seen:
                lines |= set(Path(f"/proc/{entry}/mountinfo").read_text(errors="replace").splitlines())
                seen.add(space)
        except OSError:
            continue
    return lines
