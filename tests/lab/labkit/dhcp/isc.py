"""ISC dhcpd: a journal of lease blocks."""

from pathlib import Path

from .. import names

PROGRAM = "dhcpd"
LEASES = "dhcpd.leases"


def config(lease_seconds: int, ranges: list[tuple[str, str]]) -> str:
    """The configuration of a small site; a ping check would delay each new lease by a second."""
    return (
        "authoritative;\n"
        "ping-check false;\n"
        f"default-lease-time {lease_seconds};\n"
        f"max-lease-time {lease_seconds};\n"
        f"subnet {names.LAN_PREFIX}.0 netmask 255.255.255.0 {{\n"
        + "".join(f"  range {first} {last};\n" for first, last in ranges) +
        f"  option routers {names.BOOT_ADDRESS};\n"
        "}\n")


def prepare(directory: Path, lease_seconds: int, ranges: list[tuple[str, str]]) -> tuple[list[str], dict[str, str]]:
    path = directory / "dhcpd.conf"
    path.write_text(config(lease_seconds, ranges))
    (directory / LEASES).touch()
    # A stale pid that is in use again would make it believe that it runs already.
    pid_file = directory / "dhcpd.pid"
    pid_file.unlink(missing_ok=True)
    return [PROGRAM, "-f", "-4", "-user", "root", "-group", "root", "-cf", str(path),
            "-lf", str(directory / LEASES), "-pf", str(pid_file), "eth0"], {}


def without(leases: str, mac: str) -> str:
    """Drops every `lease` block that names this MAC."""
    kept: list[str] = []
    block: list[str] | None = None
    for line in leases.splitlines(keepends=True):
        if line.startswith("lease "):
            block = []
        if block is None:
            kept.append(line)
            continue
        block.append(line)
        if line.startswith("}"):
            if f"hardware ethernet {mac};" not in "".join(block).lower():
                kept += block
            block = None
    return "".join(kept + (block or []))
