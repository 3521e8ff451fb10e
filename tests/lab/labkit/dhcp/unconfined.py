"""Debian confines some DHCP servers (AppArmor) to their usual directories; a lab keeps its leases elsewhere.

A profile is bound to the path of the program, so where one is in force we run a copy.
"""

import shutil
from pathlib import Path

from ..errors import LabError

_PROFILES = Path("/sys/kernel/security/apparmor/profiles")


def confined(profiles: str, program: str) -> bool:
    """True when the kernel's list of profiles has an enforcing one for this program."""
    for line in profiles.splitlines():
        name, _, mode = line.rpartition(" ")
        if name.rpartition("/")[2] == program and mode == "(enforce)":
            return True
    return False


def runnable(program: str, directory: Path) -> str:
    """What to start: the program itself, or a copy in `directory` when the original is confined."""
    try:
        profiles = _PROFILES.read_text()
    except OSError:
        return program
    if not confined(profiles, program):
        return program
    found = shutil.which(program, path="/usr/sbin:/sbin:/usr/bin:/usr/local/sbin")
    if found is None:
        raise LabError(f"the program {program} is not on this machine: run tests/setup as root")
    copy = directory / program
    if not copy.exists():
        directory.mkdir(parents=True, exist_ok=True)
        shutil.copy2(found, copy)
    return str(copy)
