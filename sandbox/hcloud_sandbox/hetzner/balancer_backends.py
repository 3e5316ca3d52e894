"""The targets of a load balancer as raw objects: which servers they are, by which address, private or public.

Pure functions over stored objects. A stored target of type ``label_selector`` lists nothing but the healths that a
world file gave; which servers it finds is computed whenever somebody looks. Source: Hetzner Cloud API, load balancers.

Known differences: a selector finds a server the moment its labels match, and leaves out one that has no address of the
wanted kind, or is in another network zone, without a word.
"""

import functools
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address

from hcloud_sandbox.hetzner.addressing import is_private as is_private_range
from hcloud_sandbox.hetzner.selectors import Matches, parse_selector
from hcloud_sandbox.hetzner.store import Object, View


def is_private_address(address: str) -> bool:
    """Whether it is an address of private networks (RFC 1918)."""
    parsed = ip_address(address)
    return isinstance(parsed, IPv4Address) and is_private_range(IPv4Network(parsed))


def is_private(target: Object) -> bool:
    """Whether the target is reached through the load balancer's network."""
    if target["type"] == "ip":
        return is_private_address(target["ip"]["ip"])
    return bool(target["use_private_ip"])


def private_address(balancer: Object, server: Object) -> str | None:
    """The server's address in the load balancer's network; None when they share none."""
    networks = {entry["network"] for entry in balancer["private_net"]}
    return next((str(entry["ip"]) for entry in server["private_net"] if entry["network"] in networks), None)


def public_address(server: Object) -> str | None:
    """The server's public IPv4; None when it has none."""
    ipv4 = server["public_net"]["ipv4"]
    return None if ipv4 is None else str(ipv4["ip"])


def has_public_address(server: Object, address: str) -> bool:
    """Whether it is the server's public IPv4, or a host in its IPv6 network."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return public_address(server) == str(parsed)
    if server["public_net"]["ipv6"] is None:
        return False
    network = IPv6Network(server["public_net"]["ipv6"]["ip"])
    return parsed in network and parsed != network.network_address


def address_of(balancer: Object, server: Object, *, private: bool) -> str | None:
    """The address by which a target reaches a server; None when it cannot."""
    return private_address(balancer, server) if private else public_address(server)


def is_in_zone(balancer: Object, server: Object) -> bool:
    """Whether both are in one network zone: nothing else becomes a target."""
    return bool(server["location"]["network_zone"] == balancer["location"]["network_zone"])


def found_servers(view: View, balancer: Object, target: Object) -> Iterator[tuple[Object, str]]:
    """The servers that a label selector finds, by id, each with the address it is reached by."""
    matches = _matches(target["label_selector"]["selector"])
    for server in view.all("servers"):
        if matches(server["labels"]) and is_in_zone(balancer, server):
            address = address_of(balancer, server, private=target["use_private_ip"])
            if address is not None:
                yield server, address


def target_servers(view: View, balancer: Object) -> set[int]:
    """The ids of the servers that are targets, listed or found."""
    ids: set[int] = set()
    for target in balancer["targets"]:
        if target["type"] == "server":
            ids.add(target["server"]["id"])
        elif target["type"] == "label_selector":
            ids.update(server["id"] for server, _ in found_servers(view, balancer, target))
    return ids


def without_private_targets(balancer: Object) -> Object:
    """The load balancer as it is left when its network is gone."""
    return {**balancer, "targets": [target for target in balancer["targets"] if not is_private(target)]}


@functools.lru_cache(maxsize=256)
def _matches(selector: str) -> Matches:
    return parse_selector(selector)
