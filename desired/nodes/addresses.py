"""Addresses that a Node gets from its server, and their choice by the kubelet's ``--node-ip``."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import overload

from desired.model.settings import AddressFamily
from desired.model.snapshot import AddressType, Network, NodeAddress, Server
from desired.syntax import bounds
from desired.syntax.address import IPAddress, parse_ip
from desired.syntax.bounds import measured_text
from desired.syntax.provider_id import Provider

_PADDING = re.compile(r"(?:^|(?<=\.))0+(?=[0-9])", re.ASCII)
"""Leading zeros of an IPv4 octet: the kubelet takes them as decimal padding, Python refuses them as ambiguous. In an
IPv6 address they mean nothing. The pattern is linear in the text, as any Node may carry 256 KiB of annotation."""


@dataclass(frozen=True, slots=True)
class UnusableNodeIP:
    """The kubelet's ``--node-ip`` does not fit the server; ``why`` is one sentence with the remedy."""

    why: str


class AddressOrigin(StrEnum):
    """Origin of an address of a server, in words."""

    NAME = "the server's name"
    IPV4 = "the server's public IPv4"
    IPV6 = "the first host of the server's IPv6 network"
    NETWORK = "the server's address in the private network"
    KUBELET = "what the kubelet reported, kept as ROBOT_FORWARD_INTERNAL_IPS says"


def addresses_with_origins(
    server: Server, family: AddressFamily, network: Network | None, forwarded: Collection[NodeAddress]
) -> Iterator[tuple[NodeAddress, AddressOrigin]]:
    """The server's addresses, each with where it comes from, in the order that HCCM writes: host name, public IPv4,
    public IPv6, private; of a Robot server the public IPv6 comes first.

    The host name is the server's name. The IPv6 address is the first host of the server's network, which is what
    Hetzner's images configure. What a server does not have is left out, where HCCM writes ``1`` or "" for Robot.
    Private addresses are those in ``network``, none without one; Robot knows none, so that the InternalIPs of its Node
    are ``forwarded`` as far as they are of the family.
    """
    yield NodeAddress(AddressType.HOSTNAME, server.name), AddressOrigin.NAME
    public: list[tuple[IPAddress, AddressOrigin]] = []
    if server.ipv4 and family is not AddressFamily.IPV6:
        public.append((server.ipv4, AddressOrigin.IPV4))
    if server.ipv6 and family is not AddressFamily.IPV4:
        public.append((first_host(server.ipv6), AddressOrigin.IPV6))
    is_robot = server.provider is Provider.ROBOT
    for ip, origin in reversed(public) if is_robot else public:
        yield NodeAddress(AddressType.EXTERNAL_IP, str(ip)), origin
    if is_robot:
        for address in forwarded:
            if address.type == AddressType.INTERNAL_IP and why_not_forwarded(address, server, family) is None:
                yield address, AddressOrigin.KUBELET
        return
    wanted = network.id if network else None
    for network_id, ip in server.private_ips:
        if network_id == wanted:
            yield NodeAddress(AddressType.INTERNAL_IP, str(ip)), AddressOrigin.NETWORK


def why_not_forwarded(address: NodeAddress, server: Server, family: AddressFamily) -> str | None:
    """Why an InternalIP on a Robot server's Node is left out, in words that follow it; None when it is kept."""
    ip = parse_ip(address.address)
    if ip is None:
        return "is no IP address"
    if ip == server.ipv4 or (server.ipv6 and ip == first_host(server.ipv6)):
        return "is the server's public address"
    version = {AddressFamily.IPV4: 4, AddressFamily.IPV6: 6}.get(family, ip.version)
    return None if ip.version == version else "is none of the family that HCLOUD_INSTANCES_ADDRESS_FAMILY asks for"


def with_internal_ips(offered: tuple[NodeAddress, ...], current: tuple[NodeAddress, ...]) -> tuple[NodeAddress, ...]:
    """``offered`` and, after it, those InternalIPs of ``current`` that are not among it.

    Without ``HCLOUD_NETWORK`` the cloud names no private address, and never one in a VPN or behind a vSwitch. What is
    no IP address is left out.
    """
    known = {parse_ip(address.address) for address in offered if address.type != AddressType.HOSTNAME}
    kept = (
        address
        for address in current
        if address.type == AddressType.INTERNAL_IP and parse_ip(address.address) not in {None, *known}
    )
    return (*offered, *kept)


def parse_node_ips(annotation: str) -> tuple[IPAddress, ...] | UnusableNodeIP:
    """The addresses of the provided-node-ip annotation: one, or two of different families (kubelet ``--node-ip``)."""
    shown = measured_text(annotation, bounds.ADDRESSES)
    try:
        bounds.ADDRESSES.check(annotation)
        ips = tuple(_parse_ip(text) for text in annotation.split(","))
    except ValueError:
        return UnusableNodeIP(
            f"annotation provided-node-ip is {shown}, which is no IP address or pair of them without blanks:"
            " correct the kubelet's --node-ip"
        )
    if len(ips) > 1 and (len(ips) > 2 or ips[0].version == ips[1].version or any(ip.is_unspecified for ip in ips)):
        return UnusableNodeIP(
            f"annotation provided-node-ip is {shown}: two addresses have to be one IPv4 and one IPv6 address,"
            " neither of them unspecified; correct the kubelet's --node-ip"
        )
    return ips


def choose_addresses(
    addresses: tuple[NodeAddress, ...], annotation: str | None, ipv6: IPv6Network | None
) -> tuple[NodeAddress, ...] | UnusableNodeIP:
    """``addresses`` narrowed and reordered by the provided-node-ip annotation; unchanged when ``annotation`` is None.

    Each listed address comes first, in the order of the annotation, and makes its type exclusive: other addresses of
    that type are dropped. The rest follow in their order. A listed address that is some other host of the server's
    IPv6 network ``ipv6`` replaces the first host there, since it is what the machine really uses.
    """
    if annotation is None:
        return addresses
    ips = parse_node_ips(annotation)
    if isinstance(ips, UnusableNodeIP):
        return ips
    chosen: list[NodeAddress] = []
    for ip in ips:
        found = _matching(ip, addresses, ipv6)
        if not found:
            offered = ", ".join(f"{a.type} {a.address}" for a in addresses if a.type != AddressType.HOSTNAME) or "none"
            return UnusableNodeIP(
                f"the kubelet's --node-ip {ip} is none of the server's addresses ({offered}): correct it, or set"
                " HCLOUD_NETWORK for a private and HCLOUD_INSTANCES_ADDRESS_FAMILY for an IPv6 address"
            )
        chosen += found
    exclusive = {address.type for address in chosen}
    return (*chosen, *(address for address in addresses if address.type not in exclusive))


def public_ipv6(server: Server, annotation: str | None) -> IPv6Address | None:
    """The host in the server's IPv6 network that the provided-node-ip annotation lists first, else the first one; None
    when the server has no IPv6."""
    if server.ipv6 is None:
        return None
    ips = () if annotation is None else parse_node_ips(annotation)
    listed = () if isinstance(ips, UnusableNodeIP) else ips
    return next((ip for ip in listed if isinstance(ip, IPv6Address) and ip in server.ipv6), first_host(server.ipv6))


@overload
def first_host(network: IPv6Network) -> IPv6Address: ...
@overload
def first_host(network: None) -> None: ...
def first_host(network: IPv6Network | None) -> IPv6Address | None:
    """The first host of a server's network, which is what Hetzner's images configure; None without a network."""
    return None if network is None else IPv6Address(int(network.network_address) | 1)


def _parse_ip(text: str) -> IPAddress:
    """One address as the kubelet reads it: IPv4 written as ``::ffff:10.0.0.2`` is IPv4, a zone is an error."""
    ip = ip_address(_PADDING.sub("", text))
    if isinstance(ip, IPv4Address):
        return ip
    if ip.scope_id is not None:
        raise ValueError(f"{text!r} has a zone")
    return ip.ipv4_mapped or ip


def _matching(ip: IPAddress, addresses: tuple[NodeAddress, ...], ipv6: IPv6Network | None) -> list[NodeAddress]:
    """Every address that ``ip`` means, with ``ip`` itself as its text. Any host of the server's network means the
    public address that stands for that network."""
    found: list[NodeAddress] = []
    for address in addresses:
        if address.type == AddressType.HOSTNAME:
            continue
        known = ip_address(address.address)
        network = ipv6 if ipv6 and address.type == AddressType.EXTERNAL_IP and known in ipv6 else None
        if known == ip or (network and ip in network):
            found.append(NodeAddress(address.type, str(ip)))
    return found
