"""Taking a lab away, whole or half made, whatever happened to those who made it."""

import contextlib
import shutil
from pathlib import Path

from . import cgroups, names, netns, processes, store
from .errors import LabError
from .shell import run


def remove(name: str) -> bool:
    """Removes every trace of the lab; returns False when there was none."""
    with contextlib.ExitStack() as stack:
        if (names.RUN / name).is_dir():
            with contextlib.suppress(LabError):  # it went while we waited for its lock
                stack.enter_context(store.locked(name))
        return remove_locked(name)


def remove_locked(name: str) -> bool:
    """The same, for those who hold the lab's lock."""
    found = bool(netns.of_lab(name)) or any((root / name).exists() for root in (names.RUN, names.DISKS))
    stubborn = _end_processes(name)
    groups = cgroups.remove(name)
    namespaces = netns.of_lab(name)
    if namespaces:
        run(["ip", "-force", "-batch", "-"], stdin="".join(f"netns del {one}\n" for one in namespaces), check=False)
    shutil.rmtree(names.DISKS / name, ignore_errors=True)
    # The name becomes free last, when nothing of the old lab can meet a new one.
    shutil.rmtree(names.RUN / name, ignore_errors=True)
    for empty in (names.RUN, names.DISKS, Path("/run/systemd/nspawn")):
        with contextlib.suppress(OSError):
            empty.rmdir()
    left = [*(f"process {pid}" for pid in stubborn), *(str(group) for group in groups), *netns.of_lab(name),
            *(str(root / name) for root in (names.RUN, names.DISKS) if (root / name).exists())]
    if left:
        raise LabError(f"lab {name} is not wholly gone, these are left: {', '.join(left[:10])}; "
                       f"run `lab down {name}` again")
    return found


def _end_processes(name: str) -> list[int]:
    inodes = {inode for part in netns.of_lab(name) if (inode := netns.inode(part)) is not None}
    places = tuple(f"{root / name}/" for root in (names.RUN, names.DISKS))

    def belongs(process: processes.Process) -> bool:
        # By what it is in; by its arguments for one that was started but has not entered yet.
        return (process.network in inodes or process.pid in groups
                or any(word.startswith(places) for word in processes.command_line(process.pid)))

    # The inits first: with them goes everything inside their hosts at once.
    groups = cgroups.members(name)
    processes.end([pid for inode, pid in processes.host_inits().items() if inode in inodes])
    groups = cgroups.members(name)
    return processes.end_all(belongs)
