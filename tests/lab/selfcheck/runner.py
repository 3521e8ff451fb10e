"""Runs the checks, four at a time, each in labs of its own, and looks for traces after each."""

import os
import subprocess
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

from labkit import baseroot, traces
from labkit.errors import LabError

from . import faults, interrupts, kinds
from .tool import LAB

Check = Callable[[str], None]


def main(word: str) -> int:
    """Prints a line for each check and `N passed, N failed`; the exit code is 1 when any failed."""
    if os.geteuid() != 0:
        print("selftest: only root can make labs: run it again with sudo")
        return 1
    try:
        baseroot.base_root()
    except LabError as problem:
        print(f"selftest: {problem}")
        return 1
    started = time.monotonic()
    checks = [(name, check) for module in (kinds, faults, interrupts)
              for name, check in module.checks().items() if word in name]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(_run, range(len(checks)), *zip(*checks))) if checks else []
    print(f"{results.count(True)} passed, {results.count(False)} failed in {time.monotonic() - started:.0f} s")
    return 0 if checks and all(results) else 1


def _run(number: int, name: str, check: Check) -> bool:
    lab = f"self{os.getpid()}-{number}"
    started = time.monotonic()
    problem = ""
    namespaces: set[int] = set()
    try:
        check(lab)
    except BaseException as failure:
        problem = "".join(traceback.format_exception(failure)[-3:])
    namespaces |= traces.inodes(lab)
    down = subprocess.run([LAB, "down", lab], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if down.returncode != 0:
        problem += f"\nlab down failed: {down.stderr}"
    if left := _left(lab, namespaces):
        problem += "\nleft behind: " + "; ".join(left)
    result = "FAILED" if problem else "ok"
    print(f"{result:6} {name} ({time.monotonic() - started:.1f} s)" + (f"\n{problem}" if problem else ""), flush=True)
    return not problem


def _left(lab: str, namespaces: set[int]) -> list[str]:
    """What is left after a moment: the kernel takes namespaces apart when it has time."""
    until = time.monotonic() + 2
    while (left := traces.find(lab, namespaces)) and time.monotonic() < until:
        time.sleep(0.1)
    return left
