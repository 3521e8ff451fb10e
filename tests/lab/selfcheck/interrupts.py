"""Ctrl-C and sudden death in the middle of `up`, at several moments, for both kinds of host."""

import os
import signal
import subprocess
import time

from labkit import names, traces

from . import tool

# Seconds after the lab has begun to exist; a whole `up` takes half a second on an idle machine.
_MOMENTS = (0, 0.05, 0.15, 0.4)


def checks() -> dict:
    return {
        "Ctrl-C during up leaves nothing (ns)": lambda name: _ctrl_c(name, "ns"),
        "Ctrl-C during up leaves nothing (node)": lambda name: _ctrl_c(name, "node"),
        "down after kill -9 during up leaves nothing (ns)": lambda name: _killed(name, "ns"),
        "down after kill -9 during up leaves nothing (node)": lambda name: _killed(name, "node"),
        "labs side by side do not meet": _side_by_side,
        "down twice, and down of nothing": _down_twice,
    }


def _start(name: str, kind: str, moment: float) -> subprocess.Popen:
    """Begins to make a lab and returns in the middle of it."""
    process = subprocess.Popen([tool.LAB, "up", name, "--hosts", "4", "--kind", kind], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    tool.eventually(lambda: (names.RUN / name).exists() or process.poll() is not None, "the beginning of a lab")
    time.sleep(moment)
    return process


def _ctrl_c(name: str, kind: str) -> None:
    for moment in _MOMENTS:
        process = _start(name, kind, moment)
        namespaces = traces.inodes(name)
        os.killpg(process.pid, signal.SIGINT)
        words = process.communicate(timeout=30)[1]
        if process.returncode == 0:  # it was quicker than we: then it must stand
            tool.status(name)
            tool.lab("down", name)
        else:
            assert process.returncode in (1, 130), f"ended with {process.returncode}: {words}"
            assert "Traceback" not in words, words
        _nothing_left(name, namespaces, moment)


def _killed(name: str, kind: str) -> None:
    for moment in _MOMENTS:
        process = _start(name, kind, moment)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
        namespaces = traces.inodes(name)
        tool.lab("down", name)
        _nothing_left(name, namespaces, moment)


def _nothing_left(name: str, namespaces: set[int], moment: float) -> None:
    tool.eventually(lambda: not traces.find(name, namespaces),
                    f"an end without traces after {moment} s: {traces.find(name, namespaces)}", limit=3)


def _side_by_side(name: str) -> None:
    labs = [name, f"{name}-b", f"{name}-c"]
    processes = [subprocess.Popen([tool.LAB, "up", one, "--hosts", "2", "--json"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for one in labs]
    for process in processes:
        words = process.communicate(timeout=60)[1]
        assert process.returncode == 0, words
    spaces = {one: traces.inodes(one) for one in labs}
    try:
        tool.lab("down", labs[1])
        _nothing_left(labs[1], spaces[labs[1]], 0)
        for one in (labs[0], labs[2]):
            assert all(host["up"] for host in tool.status(one)["hosts"]), f"taking {labs[1]} down hurt {one}"
    finally:
        for one in labs[1:]:
            tool.lab("down", one)
    _nothing_left(labs[2], spaces[labs[2]], 0)


def _down_twice(name: str) -> None:
    tool.up(name, "--hosts", "1")
    assert "is gone" in tool.lab("down", name)
    assert "no lab" in tool.lab("down", name)
    tool.up(name, "--hosts", "1")
