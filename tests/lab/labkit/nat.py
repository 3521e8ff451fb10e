"""The router between management and site: the site reaches management, never the other way round."""

from . import netns
from .shell import run

# Where translated ports lie after the first, second, ... rebind; before, ports are kept.
_PORTS = ("20000-24999", "30000-34999", "40000-44999", "50000-54999")


def ruleset(rebinds: int) -> str:
    """The rules for nft; loading them replaces those that stand."""
    ports = f" to :{_PORTS[(rebinds - 1) % len(_PORTS)]}" if rebinds else ""
    translate = (
        f"    iifname \"site0\" oifname \"mgmt0\" meta l4proto {{ tcp, udp }} masquerade{ports}\n"
        "    iifname \"site0\" oifname \"mgmt0\" masquerade\n")
    return (
        "table ip lab\n"
        "delete table ip lab\n"
        "table ip lab {\n"
        "  chain translate {\n"
        "    type nat hook postrouting priority srcnat;\n"
        f"{translate}"
        "  }\n"
        "  chain pass {\n"
        "    type filter hook forward priority filter; policy drop;\n"
        "    ct state established,related accept\n"
        "    iifname \"site0\" oifname \"mgmt0\" accept\n"
        "  }\n"
        "}\n")


def load(wan: str, rebinds: int) -> None:
    """Puts the rules in force in the router's namespace."""
    run(["ip", "netns", "exec", wan, "nft", "-f", "-"], stdin=ruleset(rebinds))


def flush(wan: str) -> None:
    """Forgets all translations, as a router does that was restarted: open connections lose their way back."""
    run(["ip", "netns", "exec", wan, "conntrack", "-F"])


def set_timeout(wan: str, seconds: int) -> None:
    """How long a silent UDP flow keeps its translation."""
    for setting in ("nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"):
        netns.sysctl(wan, f"netfilter/{setting}", str(seconds))


def set_cut(wan: str, cut: bool) -> None:
    """Takes the line to the site away, in both directions, or brings it back."""
    run(["ip", "-n", wan, "link", "set", "site0", "down" if cut else "up"])
