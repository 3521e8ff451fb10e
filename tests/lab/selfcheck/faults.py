"""What the scenario tests do to hosts, each checked once."""

import json
from pathlib import Path

from . import tool


def checks() -> dict:
    return {
        "a reinstalled host has a new key and its old MAC": lambda name: _reinstalled(name, "ns"),
        "a reinstalled node has a new key and its old MAC": lambda name: _reinstalled(name, "node"),
        "hosts lose power, cable, ssh, python, password": _losses,
        "a swapped machine answers with another MAC": _swapped,
        "a host that comes later gets its lease": _later,
        "kea forgets a lease and moves it": lambda name: _forgotten(name, "kea"),
        "isc forgets a lease and moves it": lambda name: _forgotten(name, "isc"),
        "dnsmasq forgets a lease and moves it": lambda name: _forgotten(name, "dnsmasq"),
    }


def _reinstalled(name: str, kind: str) -> None:
    site = tool.up(name, "--hosts", "2", "--kind", kind)
    before = tool.host(site, "host1")
    key, other = tool.host_key(site, before), tool.host_key(site, tool.host(site, "host2"))
    tool.ssh(site, before, "touch /root/mark")
    again = json.loads(tool.lab("host", name, "host1", "reboot", "--json"))
    assert tool.host_key(site, again) == key, "a reboot changed the host key"
    tool.ssh(site, again, "test -e /root/mark")
    after = json.loads(tool.lab("host", name, "host1", "reinstall", "--json"))
    assert after["mac"] == before["mac"] and after["installation"] == 2, after
    assert tool.host_key(site, after) != key, "the host key survived a new installation"
    tool.ssh(site, after, "test ! -e /root/mark")
    assert tool.host_key(site, tool.host(site, "host2")) == other


def _losses(name: str) -> None:
    site = tool.up(name, "--hosts", "1")
    machine = site["hosts"][0]
    for action, back in (("power-off", "power-on"), ("down-link", "up-link"), ("block-ssh", "unblock-ssh")):
        lost = json.loads(tool.lab("host", name, "host1", action, "--json"))
        assert not lost["up"], f"up after {action}"
        tool.lab("host", name, "host1", back)
        tool.eventually(lambda: tool.status(name)["hosts"][0]["up"], f"ssh after {back}")
    tool.lab("host", name, "host1", "remove-python")
    tool.ssh(site, machine, "python3 -V", expect=127)
    changed = json.loads(tool.lab("host", name, "host1", "set-password", "other-one", "--json"))
    tool.ssh(site, machine, "true", expect=5)
    tool.ssh(site, changed, "true")
    tool.lab("host", name, "host1", "reinstall")
    tool.ssh(site, changed, "python3 -V")


def _swapped(name: str) -> None:
    site = tool.up(name, "--hosts", "1")
    machine = site["hosts"][0]
    tool.lab("host", name, "host1", "set-mac", "52:54:00:77:00:99")
    after = tool.host(tool.status(name), "host1")
    assert after["mac"] == machine["mac"] and after["currentMac"].endswith(":99"), after
    assert tool.ssh(site, machine, "cat /sys/class/net/eth0/address").strip() == "52:54:00:77:00:99"
    assert machine["mac"] in Path(site["boot"]["leases"]["path"]).read_text()


def _later(name: str) -> None:
    site = tool.up(name, "--hosts", "1", "--server", "dnsmasq")
    leases = Path(site["boot"]["leases"]["path"])
    added = json.loads(tool.lab("host", name, "add", "--no-boot", "--json"))
    assert added["name"] == "host2" and added["mac"] not in leases.read_text()
    tool.lab("dhcp", name, "stop")
    waiting = json.loads(tool.lab("host", name, "host2", "boot", "--no-wait", "--json"))
    assert waiting["address"] is None
    tool.lab("dhcp", name, "start")
    tool.eventually(lambda: tool.host(tool.status(name), "host2")["up"], "a lease for host2", limit=30)
    assert added["mac"] in leases.read_text()


def _forgotten(name: str, server: str) -> None:
    site = tool.up(name, "--hosts", "2", "--server", server)
    leases = Path(site["boot"]["leases"]["path"])
    gone, kept = site["hosts"]
    tool.lab("dhcp", name, "forget", "host1")
    rows = [row for row in leases.read_text().splitlines() if gone["mac"] in row]
    # Kea appends a row that ends the lease; the others have no word of it any more.
    assert not rows or (server == "kea" and rows[-1].split(",")[3] == "0"), rows
    assert kept["mac"] in leases.read_text()
    again = json.loads(tool.lab("host", name, "host1", "reboot", "--json"))
    assert again["up"]
    tool.lab("dhcp", name, "move", "host1")
    moved = json.loads(tool.lab("host", name, "host1", "reboot", "--json"))
    assert moved["up"] and moved["address"] not in (again["address"], kept["address"]), moved
