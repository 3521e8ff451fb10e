"""The wires of a lab: management, NAT, bootstrap host, bridge, and one port for each host.

    mgmt 10.78.0.2 -- 10.78.0.1 wan 10.79.0.1 -- 10.79.0.2 boot 10.77.0.1 -- lan (bridge) -- hosts

All links are made inside the namespaces of the lab, so labs never meet.
"""

from . import names, nat, netns
from .model import Host, Lab
from .shell import run


def build_site(lab: Lab) -> None:
    """Everything but the hosts."""
    mgmt, wan, boot, lan = (lab.netns(part) for part in names.PARTS)
    _batch(None, [f"netns add {part}" for part in (mgmt, wan, boot, lan)])
    _batch(None, [
        f"link add eth0 netns {mgmt} type veth peer name mgmt0 netns {wan}",
        f"link add wan0 netns {boot} type veth peer name site0 netns {wan}",
        f"link add eth0 netns {boot} address 52:54:00:77:fe:01 type veth peer name boot netns {lan}",
    ])
    _batch(lan, ["link add br0 type bridge forward_delay 0 mcast_snooping 0", "link set br0 up",
                 "link set boot master br0 up"])
    _batch(wan, ["link set lo up", f"addr add {names.MGMT_GATEWAY}/24 dev mgmt0", "link set mgmt0 up",
                 f"addr add {names.WAN_GATEWAY}/24 dev site0", "link set site0 up"])
    _batch(mgmt, ["link set lo up", f"addr add {names.MGMT_ADDRESS}/24 dev eth0", "link set eth0 up",
                  f"route add default via {names.MGMT_GATEWAY}"])
    _batch(boot, ["link set lo up", f"addr add {names.BOOT_ADDRESS}/24 dev eth0", "link set eth0 up",
                  f"addr add {names.BOOT_WAN_ADDRESS}/24 dev wan0", "link set wan0 up",
                  f"route add default via {names.WAN_GATEWAY}"])
    # A new namespace may inherit the machine's setting; the bootstrap host is no router here.
    for part, forwards in ((mgmt, "0"), (boot, "0"), (wan, "1")):
        netns.sysctl(part, "ipv4/ip_forward", forwards)
    nat.load(wan, lab.rebinds)


def plug_in(lab: Lab, hosts: list[Host]) -> None:
    """A fresh network stack with one NIC for each of these hosts, and its port on the bridge."""
    lan = lab.netns("lan")
    made, ports = [], []
    for host in hosts:
        made.append(f"netns add {lab.netns(host.name)}")
        made.append(f"link add eth0 netns {lab.netns(host.name)} address {host.current_mac} "
                    f"type veth peer name {host.name} netns {lan}")
        ports.append(f"link set {host.name} master br0 {'up' if host.link_up else 'down'}")
    _batch(None, made)
    _batch(lan, ports)


def unplug(lab: Lab, host: Host) -> None:
    """The machine is off: its port is dark and its network stack is gone."""
    run(["ip", "-n", lab.netns("lan"), "link", "del", host.name], check=False)
    run(["ip", "netns", "del", lab.netns(host.name)], check=False)


def set_link(lab: Lab, host: Host) -> None:
    """Brings the host's port on the bridge to the state that the host says it has."""
    run(["ip", "-n", lab.netns("lan"), "link", "set", host.name, "up" if host.link_up else "down"])


def set_mac(lab: Lab, host: Host) -> None:
    """Gives the running NIC another MAC; it keeps its address and routes. The others learn of it at once."""
    run(["ip", "-n", lab.netns(host.name), "link", "set", "eth0", "address", host.current_mac])
    for part in netns.of_lab(lab.name):
        if part not in (lab.netns("mgmt"), lab.netns("wan"), lab.netns("lan")):
            run(["ip", "-n", part, "neigh", "flush", "dev", "eth0"], check=False)


def _batch(inside: str | None, lines: list[str]) -> None:
    where = ["-n", inside] if inside else []
    run(["ip", *where, "-batch", "-"], stdin="\n".join(lines) + "\n")
