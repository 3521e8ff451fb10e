"""The command line of the lab: what can be asked, with examples."""

import argparse
import os

from . import dhcp, faults

_EXAMPLES = """\
examples:
  lab up --hosts 3                         a lab called `lab` with three hosts, DHCP by Kea
  lab up demo --hosts 3 --kind node        booted nodes, as Kubernetes needs them
  lab up t1 --hosts 2 --sudo --server isc --json
  lab status demo                          who is up, with which address and password
  lab exec demo boot -- ssh root@10.77.0.50
  lab host demo host2 reinstall            a new host key on the same machine
  lab wan demo cut                         the line to the site is gone; `heal` brings it back
  lab down --all                           every trace of every lab
"""


def parser() -> argparse.ArgumentParser:
    """All subcommands; each sets `command`."""
    top = argparse.ArgumentParser(
        prog="lab",
        description="A site on this one machine: management, NAT, bootstrap host with a DHCP server, hosts.",
        epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _up(commands)
    down = commands.add_parser("down", help="remove a lab, or all, with every trace")
    down.add_argument("name", nargs="?", help="default: lab; a name with * stands for all that fit, as in 'test-*'")
    down.add_argument("--all", action="store_true", help="every lab on this machine")
    for name, text in (("status", "what stands, as it is now"),
                       ("manifests", "BareMetalHosts and HardwareData, as YAML")):
        command = commands.add_parser(name, help=text)
        command.add_argument("name", nargs="?", default="lab")
        command.add_argument("--json", action="store_true")
    listing = commands.add_parser("list", help="the labs on this machine")
    listing.add_argument("--json", action="store_true")
    _enter(commands)
    _faults(commands)
    return top


def _up(commands) -> None:
    up = commands.add_parser("up", help="make a lab and leave it up")
    up.add_argument("name", nargs="?", default="lab")
    up.add_argument("--hosts", type=int, default=3, metavar="N")
    up.add_argument("--kind", choices=("ns", "node"), default="ns",
                    help="ns: namespace with sshd, dozens in seconds; node: booted systemd, for Kubernetes")
    up.add_argument("--server", choices=dhcp.KINDS, default="kea", help="the site's DHCP server")
    up.add_argument("--client", choices=("dhclient", "udhcpc"), default="dhclient", help="DHCP client of ns hosts")
    up.add_argument("--sudo", action="store_true", help="log in as `ops` who may sudo with a password; no root login")
    up.add_argument("--password", help="of the login account (default: random)")
    up.add_argument("--cpu", default=str(os.cpu_count() or 1),
                    help="declared logical CPUs (default: as many as this machine has)")
    up.add_argument("--memory", default="8Gi", help="declared memory")
    up.add_argument("--disk", default="100Gi", help="declared disk")
    up.add_argument("--host-hw", action="append", default=[], metavar="HOST:cpu=2,memory=4Gi", help="for one host")
    up.add_argument("--host-label", action="append", default=[], metavar="HOST:KEY=VALUE", help="label in the manifest")
    up.add_argument("--no-hardware", action="append", default=[], metavar="HOST", help="no HardwareData for this host")
    up.add_argument("--hold", action="append", default=[], metavar="HOST", help="leave this host off")
    up.add_argument("--bundle", metavar="full|lite|DIR", help="serve a bundle's files to the hosts")
    up.add_argument("--nat-timeout", type=int, metavar="SECONDS", help="how long the NAT remembers a silent UDP flow")
    up.add_argument("--json", action="store_true", help="print lab.json")
    up.add_argument("--keep", action="store_true", help="leave a lab that failed, to look at it")
    _waiting(up)


def _waiting(command) -> None:
    command.add_argument("--no-wait", action="store_true", help="don't wait until hosts answer SSH")
    command.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="how long to wait (default 60)")


def _enter(commands) -> None:
    for name, text in (("exec", "run a command inside"), ("shell", "a shell inside")):
        command = commands.add_parser(name, help=f"{text} mgmt, boot, wan, lan or a host")
        command.add_argument("name")
        command.add_argument("where", metavar="mgmt|boot|wan|lan|HOST")
        if name == "exec":
            command.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- CMD ...")


def _faults(commands) -> None:
    actions = "\n".join(f"  {name:14}{text}" for name, text in faults.HOST_ACTIONS.items())
    host = commands.add_parser("host", help="do something to a host, or add one",
                               formatter_class=argparse.RawDescriptionHelpFormatter,
                               epilog=f"lab host NAME add [--no-boot]\nlab host NAME HOST ACTION [ARGUMENT]\n{actions}")
    host.add_argument("name")
    host.add_argument("host", metavar="HOST|add")
    host.add_argument("action", nargs="?", metavar="ACTION")
    host.add_argument("argument", nargs="?")
    host.add_argument("--no-boot", action="store_true", help="with add: leave it off")
    host.add_argument("--json", action="store_true", help="print the host")
    _waiting(host)
    wan = commands.add_parser("wan", help="the line between site and management")
    wan.add_argument("name")
    wan.add_argument("action", choices=("cut", "heal", "flush", "rebind", "timeout"),
                     help="flush: the NAT forgets; rebind: it forgets and takes other ports; "
                          "timeout: how long it remembers silent UDP flows")
    wan.add_argument("seconds", nargs="?", type=int)
    server = commands.add_parser("dhcp", help="the DHCP server of the bootstrap host")
    server.add_argument("name")
    server.add_argument("action", choices=("stop", "start", "forget", "move"),
                        help="forget: the server knows nothing of the host; "
                             "move: nor will it give the same address again")
    server.add_argument("host", nargs="?")
