"""What a lab is, as values, and the JSON that people and tests read it from."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import names
from .errors import LabError
from .hardware import Hardware


@dataclass
class Host:
    """One machine: what it was delivered as, and what has been done to it since."""
    name: str
    mac: str
    user: str
    password: str
    sudo_password: str | None
    hardware: Hardware
    current_mac: str
    hardware_known: bool = True
    labels: dict[str, str] = field(default_factory=dict)
    # Counts the installations: each has a disk, and so a host key, of its own.
    installation: int = 1
    link_up: bool = True
    powered: bool = False
    # As last seen; asked again by everything that prints it.
    address: str | None = None
    up: bool = False

    def to_json(self, lab: str) -> dict[str, Any]:
        return {
            "name": self.name, "mac": self.mac, "netns": names.netns_of(lab, self.name),
            "address": self.address, "user": self.user, "password": self.password,
            "sudoPassword": self.sudo_password, "cpu": self.hardware.cpu,
            "memory": self.hardware.memory, "disk": self.hardware.disk, "up": self.up,
            "powered": self.powered, "linkUp": self.link_up, "currentMac": self.current_mac,
            "installation": self.installation, "labels": self.labels, "hardwareKnown": self.hardware_known,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> "Host":
        return Host(
            name=data["name"], mac=data["mac"], user=data["user"], password=data["password"],
            sudo_password=data["sudoPassword"], current_mac=data["currentMac"],
            hardware=Hardware(data["cpu"], data["memory"], data["disk"]),
            hardware_known=data["hardwareKnown"], labels=data["labels"],
            installation=data["installation"], link_up=data["linkUp"], powered=data["powered"],
            address=data["address"], up=data["up"])


@dataclass
class Lab:
    """One site with its management side."""
    name: str
    kind: str
    server: str
    client: str
    base: str
    bundle: str | None = None
    # How often the NAT has been given other ports.
    rebinds: int = 0
    # Addresses that the DHCP server gives to nobody any more.
    retired: list[str] = field(default_factory=list)
    # False until `up` has finished: a lab that was interrupted stays false.
    complete: bool = False
    hosts: list[Host] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        return names.RUN / self.name

    @property
    def dhcp_directory(self) -> Path:
        return self.directory / "dhcp"

    def netns(self, part: str) -> str:
        return names.netns_of(self.name, part)

    def host(self, name: str) -> Host:
        for host in self.hosts:
            if host.name == name:
                return host
        known = ", ".join(h.name for h in self.hosts) or "none"
        raise LabError(f"lab {self.name} has no host `{name}`; its hosts: {known}")

    def to_json(self, lease_path: Path) -> dict[str, Any]:
        return {
            "name": self.name, "dir": str(self.directory), "kind": self.kind, "server": self.server,
            "mgmt": {"netns": self.netns("mgmt"), "address": names.MGMT_ADDRESS},
            "wan": {"netns": self.netns("wan")},
            "lan": {"netns": self.netns("lan")},
            "boot": {
                "netns": self.netns("boot"), "address": names.BOOT_ADDRESS,
                "wanAddress": names.BOOT_WAN_ADDRESS, "interface": "eth0",
                "leases": {"kind": self.server, "path": str(lease_path)},
                "filesUrl": f"http://{names.BOOT_ADDRESS}:{names.FILES_PORT}" if self.bundle else None,
            },
            "hosts": [host.to_json(self.name) for host in self.hosts],
            "client": self.client, "base": self.base, "bundle": self.bundle,
            "rebinds": self.rebinds, "retired": self.retired, "complete": self.complete,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> "Lab":
        return Lab(
            name=data["name"], kind=data["kind"], server=data["server"], client=data["client"],
            base=data["base"], bundle=data["bundle"], rebinds=data["rebinds"], complete=data["complete"],
            retired=data["retired"],
            hosts=[Host.from_json(host) for host in data["hosts"]])
