"""Each kind of host with each DHCP server: leases, log-ins, manifests, files, the NAT."""

import json
import subprocess
import tempfile
from pathlib import Path

from . import tool


def checks() -> dict:
    found = {}
    for kind, server, options in (
            ("ns", "kea", []), ("ns", "isc", ["--sudo"]), ("ns", "dnsmasq", ["--client", "udhcpc"]),
            ("node", "kea", ["--sudo"]), ("node", "isc", []), ("node", "dnsmasq", [])):
        found[f"{kind} hosts with {server} {' '.join(options)}".strip()] = (
            lambda name, k=kind, s=server, o=options: _site(name, k, s, o))
    found["manifests tell what was asked for"] = _manifests
    found["the files of a bundle reach the hosts"] = _files
    found["the NAT lets the site out and nobody in"] = _nat
    found["output to a pipe ends while the lab stays up"] = _pipe
    found["wrong wishes are explained"] = _explained
    return found


def _site(name: str, kind: str, server: str, options: list[str]) -> None:
    site = tool.up(name, "--hosts", "2", "--kind", kind, "--server", server, *options)
    leases = Path(site["boot"]["leases"]["path"]).read_text()
    keys = set()
    for machine in site["hosts"]:
        assert machine["up"] and machine["address"], machine
        assert machine["mac"] in leases and machine["address"] in leases, f"{machine} is not in the leases: {leases}"
        words = tool.ssh(site, machine, "hostname; cat /sys/class/net/eth0/address; python3 -c 'print(6*7)'; id -un")
        assert words.split() == [machine["name"], machine["mac"], "42", machine["user"]], words
        keys.add(tool.host_key(site, machine))
        if machine["sudoPassword"]:
            who = tool.ssh(site, machine, f"echo '{machine['sudoPassword']}' | sudo -S -p '' id -un")
            assert who.strip() == "root", who
            tool.ssh(site, {**machine, "user": "root"}, "true", expect=5)
        tool.ssh(site, {**machine, "password": "not it"}, "true", expect=5)
    assert len(keys) == 2, "two hosts have one host key"
    if kind == "node":
        tool.eventually(lambda: tool.lab("exec", name, "host1", "--", "systemctl", "is-system-running", "--wait")
                        .strip() == "running", "a node that runs")
        tool.lab("exec", name, "host1", "--", "sh", "-c", "d=/sys/fs/cgroup; [ -d $d/memory ] && d=$d/memory; "
                 "mkdir $d/probe && rmdir $d/probe && echo 1 >/proc/sys/vm/overcommit_memory")
    assert tool.status(name)["hosts"] == site["hosts"], "status says something else than up"


def _manifests(name: str) -> None:
    tool.up(name, "--hosts", "3", "--hold", "host3", "--host-hw", "host2:cpu=2,memory=4Gi,disk=50Gi",
            "--no-hardware", "host3", "--host-label", "host1:rack=a")
    items = json.loads(tool.lab("manifests", name, "--json"))["items"]
    assert [(one["kind"], one["metadata"]["name"]) for one in items] == [
        ("BareMetalHost", "host1"), ("HardwareData", "host1"), ("BareMetalHost", "host2"), ("HardwareData", "host2"),
        ("BareMetalHost", "host3")]
    assert items[0]["metadata"]["labels"] == {"rack": "a"}
    hardware = items[3]["spec"]["hardware"]
    assert (hardware["cpu"]["count"], hardware["ramMebibytes"]) == (2, 4096)
    assert "kind: BareMetalHost" in tool.lab("manifests", name)
    held = tool.host(tool.status(name), "host3")
    assert not held["up"] and held["address"] is None
    assert json.loads(tool.lab("host", name, "host3", "boot", "--json"))["up"]


def _files(name: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "files").mkdir()
        Path(directory, "files", "hello").write_text("from the bundle\n")
        site = tool.up(name, "--hosts", "1", "--bundle", directory)
        words = tool.ssh(site, site["hosts"][0], f"curl -sS {site['boot']['filesUrl']}/hello")
        assert words == "from the bundle\n", words
        tool.lab("down", name)


def _nat(name: str) -> None:
    site = tool.up(name, "--hosts", "0")
    boot, mgmt = site["boot"]["netns"], site["mgmt"]["netns"]
    ping = ["ping", "-q", "-c1", "-W1"]
    tool.in_netns(boot, *ping, site["mgmt"]["address"])
    tool.in_netns(mgmt, *ping, site["boot"]["wanAddress"], expect=1)
    tool.lab("wan", name, "cut")
    tool.in_netns(boot, *ping, site["mgmt"]["address"], expect=1)
    tool.lab("wan", name, "heal")
    tool.in_netns(boot, *ping, site["mgmt"]["address"])
    assert _port_seen(site) == 4444
    tool.lab("wan", name, "rebind")
    assert 20000 <= _port_seen(site) <= 24999


def _port_seen(site: dict) -> int:
    """The source port that management sees when the site sends from port 4444."""
    listen = ("import socket; s=socket.socket(2,2); s.bind(('10.78.0.2',5555)); print('ready',flush=True); "
              "s.settimeout(5); print(s.recvfrom(9)[1][1])")
    send = "import socket; s=socket.socket(2,2); s.bind(('',4444)); s.sendto(b'x',('10.78.0.2',5555))"
    listener = subprocess.Popen(["ip", "netns", "exec", site["mgmt"]["netns"], "python3", "-c", listen],
                                stdout=subprocess.PIPE, text=True)
    listener.stdout.readline()
    tool.in_netns(site["boot"]["netns"], "python3", "-c", send)
    return int(listener.communicate(timeout=10)[0])


def _pipe(name: str) -> None:
    """With a pipe that is read to its end, nothing of the lab may hold it open."""
    done = subprocess.run(f"{tool.LAB} up {name} --hosts 1 --kind node --json 2>&1 | cat", shell=True,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert f'"name": "{name}"' in done.stdout, done.stdout
    assert tool.status(name)["hosts"][0]["up"]


def _explained(name: str) -> None:
    tool.up(name, "--hosts", "0")
    for words, says in ((["up", name], "already"), (["up", "Bad_Name"], "small letters"),
                        (["status", f"{name}x"], "no lab"), (["exec", name, "moon", "--", "true"], "moon"),
                        (["up", f"{name}x", "--host-hw", "host9:cpu=1"], "no host"),
                        (["host", name, "host1", "boot"], "no host"), (["up", f"{name}x", "--memory", "much"], "8Gi"),
                        (["dhcp", name, "start"], "runs already"), (["down", f"{name}x", "--all"], "not both")):
        text = tool.lab(*words, expect=1)
        assert says in text and "Traceback" not in text, f"lab {words} says: {text}"
