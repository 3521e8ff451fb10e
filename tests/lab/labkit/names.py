"""Names and numbers that every lab is made of: what may be called what, and which address is whose."""

import re
from pathlib import Path

from .errors import LabError

RUN = Path("/run/bpa-lab")
DISKS = Path("/var/lib/bpa-lab")
NETNS = Path("/run/netns")

BOOT_ADDRESS = "10.77.0.1"
LAN_PREFIX = "10.77.0"
POOL = (f"{LAN_PREFIX}.50", f"{LAN_PREFIX}.200")
MAX_HOSTS = 150
MGMT_ADDRESS = "10.78.0.2"
MGMT_GATEWAY = "10.78.0.1"
BOOT_WAN_ADDRESS = "10.79.0.2"
WAN_GATEWAY = "10.79.0.1"
FILES_PORT = 8081


def pool_ranges(retired: list[str]) -> list[tuple[str, str]]:
    """The address pool as first and last addresses, with the retired ones left out."""
    first, last = (int(address.rpartition(".")[2]) for address in POOL)
    gone = sorted({int(address.rpartition(".")[2]) for address in retired})
    ranges = []
    for end in [*(number for number in gone if first <= number <= last), last + 1]:
        if first < end:
            ranges.append((f"{LAN_PREFIX}.{first}", f"{LAN_PREFIX}.{end - 1}"))
        first = end + 1
    return ranges


PARTS = ("mgmt", "wan", "boot", "lan")


def check_lab_name(name: str) -> str:
    """Lab names become parts of namespace and directory names."""
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", name):
        raise LabError(f"`{name}` can't be the name of a lab: use up to 40 small letters, digits and dashes")
    return name


def netns_of(lab: str, part: str) -> str:
    """The name of a namespace: `part` is one of `PARTS` or the name of a host."""
    return f"{lab}-{part}"


def netns_pattern(lab: str) -> re.Pattern[str]:
    """Matches the namespaces of this lab only, whatever the names of other labs."""
    return re.compile(rf"{re.escape(lab)}-({'|'.join(PARTS)}|host[1-9][0-9]*)")


def host_name(number: int) -> str:
    """Hosts are host1, host2, ..."""
    return f"host{number}"


def host_number(name: str) -> int:
    """The number in a host's name."""
    found = re.fullmatch(r"host([1-9][0-9]{0,3})", name)
    if not found:
        raise LabError(f"`{name}` is no host: hosts are called host1, host2, ...")
    return int(found[1])


def mac_of(number: int) -> str:
    """The MAC that host `number` is delivered with. All labs use the same: namespaces keep them apart."""
    return f"52:54:00:77:{number >> 8:02x}:{number & 255:02x}"


def check_mac(text: str) -> str:
    """A MAC address in the usual form, unicast."""
    mac = text.lower().replace("-", ":")
    if not re.fullmatch(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", mac) or int(mac[:2], 16) & 1:
        raise LabError(f"`{text}` is no MAC address of a machine: write it like 52:54:00:77:00:99")
    return mac
