"""dnsmasq: one line for each address, rewritten in place."""

from pathlib import Path

from .. import names

PROGRAM = "dnsmasq"
LEASES = "dnsmasq.leases"


def prepare(directory: Path, lease_seconds: int, ranges: list[tuple[str, str]]) -> tuple[list[str], dict[str, str]]:
    (directory / LEASES).touch()
    # Without --no-ping each new address would wait three seconds for an answer that never comes.
    return [PROGRAM, "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--interface=eth0",
            "--bind-interfaces", "--except-interface=lo", "--user=root", "--no-ping", "--dhcp-authoritative",
            f"--dhcp-leasefile={directory / LEASES}",
            *(f"--dhcp-range={first},{last},255.255.255.0,{lease_seconds}" for first, last in ranges),
            f"--dhcp-option=option:router,{names.BOOT_ADDRESS}", "--dhcp-option=option:dns-server", "--log-dhcp",
            f"--log-facility={directory / 'dnsmasq.log'}", f"--pid-file={directory / 'dnsmasq.pid'}"], {}


def without(leases: str, mac: str) -> str:
    """Drops every line of this MAC."""
    return "".join(line for line in leases.splitlines(keepends=True) if line.split()[1:2] != [mac])
