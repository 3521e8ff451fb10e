"""Running other programs: short ones to their end, long ones in a session of their own."""

import os
import subprocess
from pathlib import Path
from typing import Mapping, Sequence

from .errors import LabError


def run(argv: Sequence[str], *, stdin: str | None = None, check: bool = True,
        env: Mapping[str, str] | None = None, timeout: float = 60) -> subprocess.CompletedProcess:
    """Runs a short command and returns it with its output; a failure is a `LabError` with its last words.

    `timeout` is in seconds. Standard input is empty unless `stdin` is given.
    """
    try:
        done = subprocess.run(argv, input=stdin if stdin is not None else "", capture_output=True,
                              text=True, errors="replace", env=env, timeout=timeout)
    except FileNotFoundError:
        raise LabError(f"the program {argv[0]} is not on this machine: run tests/setup as root") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"`{' '.join(argv)}` did not end within {timeout:.0f} s") from None
    if check and done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-600:]
        raise LabError(f"`{' '.join(argv)}` failed with code {done.returncode}: {words}")
    return done


def spawn(argv: Sequence[str], log: Path, *, env: Mapping[str, str] | None = None) -> int:
    """Starts a process that outlives us and returns its id.

    It gets a session of its own (no Ctrl-C from our terminal), an empty standard input and a log
    file, and so holds nothing open that our caller waits for.
    """
    with open(log, "ab") as out, open(os.devnull, "rb") as nothing:
        try:
            process = subprocess.Popen(argv, stdin=nothing, stdout=out, stderr=out, env=env,
                                       start_new_session=True, cwd="/")
        except FileNotFoundError:
            raise LabError(f"the program {argv[0]} is not on this machine: run tests/setup as root") from None
    # The child is meant to stay; without this Python warns about it when we leave.
    process.returncode = 0
    return process.pid
