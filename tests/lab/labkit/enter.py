"""Running a command of the user's inside a part of a lab."""

import os

from . import machines, names
from .errors import LabError
from .model import Lab

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def command(lab: Lab, where: str, argv: list[str]) -> list[str]:
    """How to run `argv` in mgmt, boot, wan or lan (the machine's own files) or in a host (the host's files)."""
    if where in names.PARTS:
        return ["ip", "netns", "exec", lab.netns(where), *argv]
    try:
        host = lab.host(where)
    except LabError as problem:
        raise LabError(f"{problem}; other places are {', '.join(names.PARTS)}") from None
    init = machines.need_init(lab, host)
    terminal = [f"TERM={os.environ['TERM']}"] if "TERM" in os.environ else []
    return ["nsenter", "-t", str(init), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w",
            "env", "-i", _PATH, "HOME=/root", "LANG=C.UTF-8", *terminal, *argv]


def run_in(lab: Lab, where: str, argv: list[str]) -> None:
    """Becomes that command; returns only by an error."""
    full = command(lab, where, argv)
    try:
        os.execvp(full[0], full)
    except FileNotFoundError:
        raise LabError(f"the program {full[0]} is not on this machine: run tests/setup as root") from None
