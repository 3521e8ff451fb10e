"""Using the lab the way that its users do: by its command line and its JSON."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

LAB = str(Path(__file__).resolve().parent.parent / "lab")


def lab(*arguments: str, expect: int = 0, timeout: float = 60) -> str:
    """Runs `lab` and returns what it prints; any other exit code than `expect` is a failure."""
    done = subprocess.run([LAB, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == expect, (
        f"`lab {' '.join(arguments)}` ended with {done.returncode}, not {expect}: {done.stderr[-900:]}")
    return done.stdout if expect == 0 else done.stderr


def up(name: str, *arguments: str) -> dict[str, Any]:
    """A new lab, as JSON."""
    return json.loads(lab("up", name, *arguments, "--json"))


def status(name: str) -> dict[str, Any]:
    return json.loads(lab("status", name, "--json"))


def host(site: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in site["hosts"] if one["name"] == name)


def in_netns(netns: str, *argv: str, expect: int = 0, timeout: float = 30) -> str:
    """Runs a command in a namespace, as our own programs are run there."""
    done = subprocess.run(["ip", "netns", "exec", netns, *argv], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout)
    assert done.returncode == expect, (
        f"`{' '.join(argv)}` in {netns} ended with {done.returncode}: {done.stderr[-600:]}")
    return done.stdout


def ssh(site: dict[str, Any], machine: dict[str, Any], command: str, expect: int = 0) -> str:
    """Logs in to the host from the bootstrap host with the password that the lab names."""
    options = [f"-o{option}" for option in ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
                                            "LogLevel=ERROR", "PubkeyAuthentication=no", "ConnectTimeout=5")]
    return in_netns(site["boot"]["netns"], "sshpass", "-p", machine["password"], "ssh", *options,
                    f"{machine['user']}@{machine['address']}", command, expect=expect)


def host_key(site: dict[str, Any], machine: dict[str, Any]) -> str:
    """The key that the host shows to anyone who connects."""
    return in_netns(site["boot"]["netns"], "ssh-keyscan", "-t", "ed25519", machine["address"]).split()[-1]


def eventually(question, what: str, limit: float = 10) -> None:
    """Asks until the answer is yes, for at most `limit` seconds."""
    until = time.monotonic() + limit
    while not question():
        assert time.monotonic() < until, f"{what} did not happen within {limit:.0f} s"
        time.sleep(0.02)
