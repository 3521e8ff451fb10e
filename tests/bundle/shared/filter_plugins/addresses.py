"""Jinja filters for addresses, from Python's own ipaddress."""

import ipaddress


def nth_address(network, index):
    """The address at this place in a network, e.g. the 10th for cluster DNS."""
    return str(ipaddress.ip_network(network)[int(index)])


def overlaps(network, other):
    """Whether two networks (or a network and an address) share an address."""
    return ipaddress.ip_network(network).overlaps(ipaddress.ip_network(other))


def inside(addresses, networks):
    """Those of the addresses that lie in any of the networks."""
    return [address for address in addresses if any(overlaps(address, network) for network in networks)]


def blocks(network, prefix):
    """How many blocks of this prefix length a network has room for."""
    return 2 ** max(0, int(prefix) - ipaddress.ip_network(network).prefixlen)


def url_host(address):
    """An address as it stands in a URL: IPv6 wants brackets."""
    return "[%s]" % address if ":" in str(address) else str(address)


def bind_address(variables):
    """The address that a host binds to, from its variables (kubespray's order)."""
    for name in ("ip", "ansible_host", "inventory_hostname"):
        if variables.get(name):
            return variables[name]
    raise ValueError("a host has neither ip nor ansible_host")


def access_address(variables):
    """The address at which other hosts reach a host."""
    return variables.get("access_ip") or bind_address(variables)


class FilterModule:
    """What Ansible asks for."""

    def filters(self):
        """Name to function."""
        functions = (nth_address, overlaps, inside, blocks, url_host, bind_address, access_address)
        return {function.__name__: function for function in functions}
