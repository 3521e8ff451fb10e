"""Kea: memfile leases as CSV, a control socket, and the commands that change leases."""

import glob
import json
import socket
from pathlib import Path
from typing import Any

from .. import names
from ..errors import LabError

PROGRAM = "kea-dhcp4"
LEASES = "kea-leases4.csv"
_SOCKET = "kea.sock"
_HOOK = "/usr/lib/*/kea/hooks/libdhcp_lease_cmds.so"


def config(directory: Path, lease_seconds: int, ranges: list[tuple[str, str]], hook: str | None) -> dict[str, Any]:
    """The configuration of a small site."""
    return {"Dhcp4": {
        "interfaces-config": {"interfaces": ["eth0"], "dhcp-socket-type": "raw"},
        "lease-database": {"type": "memfile", "persist": True, "name": str(directory / LEASES), "lfc-interval": 0},
        "control-socket": {"socket-type": "unix", "socket-name": str(directory / _SOCKET)},
        "hooks-libraries": [{"library": hook}] if hook else [],
        "valid-lifetime": lease_seconds,
        "authoritative": True,
        "subnet4": [{
            "id": 1, "subnet": f"{names.LAN_PREFIX}.0/24",
            "pools": [{"pool": f"{first} - {last}"} for first, last in ranges],
            "option-data": [{"name": "routers", "data": names.BOOT_ADDRESS}],
        }],
        "loggers": [{"name": "kea-dhcp4", "severity": "INFO",
                     "output_options": [{"output": str(directory / "kea.log")}]}],
    }}


def prepare(directory: Path, lease_seconds: int, ranges: list[tuple[str, str]]) -> tuple[list[str], dict[str, str]]:
    hooks = glob.glob(_HOOK)
    path = directory / "kea.json"
    path.write_text(json.dumps(config(directory, lease_seconds, ranges, hooks[0] if hooks else None), indent=2))
    # A server that was killed leaves its socket and its pid behind and then refuses to start.
    for stale in (directory / _SOCKET, *directory.glob("*.pid")):
        stale.unlink(missing_ok=True)
    environment = {"KEA_LOCKFILE_DIR": "none", "KEA_PIDFILE_DIR": str(directory)}
    return [PROGRAM, "-c", str(path)], environment


def without(leases: str, mac: str) -> str:
    """Drops every row of this MAC; the columns are found by the header."""
    kept, column = [], None
    for line in leases.splitlines(keepends=True):
        fields = line.rstrip("\n").split(",")
        if "hwaddr" in fields:
            column = fields.index("hwaddr")
        elif column is not None and len(fields) > column and fields[column].lower() == mac:
            continue
        kept.append(line)
    return "".join(kept)


def forget_live(directory: Path, mac: str) -> None:
    """Deletes the leases of this MAC through the control socket, as an operator would."""
    found = _ask(directory, "lease4-get-by-hw-address", {"hw-address": mac})
    for lease in found.get("arguments", {}).get("leases", []):
        _ask(directory, "lease4-del", {"ip-address": lease["ip-address"]})


def _ask(directory: Path, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(5)
        try:
            channel.connect(str(directory / _SOCKET))
            channel.sendall(json.dumps({"command": command, "arguments": arguments}).encode())
            answer = b""
            while part := channel.recv(65536):
                answer += part
        except OSError as problem:
            raise LabError(f"Kea does not answer on its control socket: {problem}; see {directory}/kea.log") from None
    reply = json.loads(answer)
    if reply["result"] not in (0, 3):  # 3: there is no such lease
        raise LabError(f"Kea refused {command}: {reply.get('text', 'no reason given')}")
    return reply
