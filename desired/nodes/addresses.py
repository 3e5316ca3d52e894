"""Addresses that a Node gets from its server, and their choice by the kubelet's ``--node-ip``.

No Node is given a name or an address that is another Node's. The API server reaches kubelets by what their Nodes
publish, the Hostname first: with a name that is another Node's, the logs and shells of a pod are those of another
machine. That is decided only from what we never write, the names of Nodes and the names and addresses of servers, so
that no order of writes leads elsewhere.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from itertools import chain

from desired.model.settings import AddressFamily, Settings
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, Server, Snapshot
from desired.rules import nodes as rules
from desired.rules.rule import Decided, Plain
from desired.section import UNMANAGED, Absent, Present, Unknown, Unmanaged
from desired.syntax import bounds
from desired.syntax.address import IPAddress, parse_ip
from desired.syntax.bounds import measured_text
from desired.syntax.provider_id import Provider, ServerKey, server_key

_PADDING = re.compile(r"(?:^|(?<=\.))0+(?=[0-9])", re.ASCII)
"""Leading zeros of an IPv4 octet: the kubelet takes them as decimal padding, Python refuses them as ambiguous. In an
IPv6 address they mean nothing. The pattern is linear in the text, as any Node may carry 256 KiB of annotation."""
ADDRESS_FIELDS = frozenset({"public_net.ipv4", "public_net.ipv6", "private_net"})
"""Fields of a server that have its addresses (Hetzner Cloud API, servers)."""
_IPS = (AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP)

BY_SETTING = {
    rules.OTHER_FAMILY: "HCLOUD_INSTANCES_ADDRESS_FAMILY",
    rules.INTERNAL_IP_OTHER_FAMILY: "HCLOUD_INSTANCES_ADDRESS_FAMILY",
    rules.FORWARD_OFF: "ROBOT_FORWARD_INTERNAL_IPS",
    rules.NETWORK_UNSET: "--keep-internal-ips",
}
"""Rule by which an address goes → the setting behind it."""

Addresses = tuple[Decided[NodeAddress], ...]
UndecidedAddresses = Decided[Unmanaged]
"""Too little is known to say which addresses a Node should have: those that it has stay."""


@dataclass(frozen=True, slots=True)
class DesiredAddresses:
    """The addresses that a Node should have, in their order, and those of its own that go away."""

    wanted: Addresses
    gone: Addresses = ()

    @property
    def values(self) -> tuple[NodeAddress, ...]:
        """The addresses that it should have."""
        return tuple(each.value for each in self.wanted)

    @property
    def lost(self) -> tuple[str, ...]:
        """A warning for each IP address that goes away: no other controller gives it back."""
        kept = {each.value.address for each in self.wanted}
        return tuple(each.text for each in self.gone if each.value.type in _IPS and each.value.address not in kept)


class Others:
    """The names and addresses of one snapshot, with their owners."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._named = {name.lower(): name for name in (*snapshot.nodes.items, *snapshot.nodes.unreadable)}
        self._on_servers: dict[str, set[str]] = defaultdict(set)
        self._nodes: dict[ServerKey, str] = {}
        for node in snapshot.nodes:
            key = server_key(node.provider_id)
            if key is None:
                continue
            self._nodes.setdefault(key, node.name)
            found = snapshot.find(key)
            if isinstance(found, Present):
                self._on_servers[found.value.name.lower()].add(node.name)
        self._holders: dict[str, set[tuple[ServerKey, int | None]]] = defaultdict(set)
        """Address, or public IPv6 network → the servers that have it, with the network of a private address."""
        for server in chain(snapshot.servers, snapshot.servers_of(Provider.ROBOT)):
            key, public = server.key, (each for each in (server.ipv4, server.ipv6) if each)
            for place, ip in (*((None, each) for each in public), *server.private_ips, *server.alias_ips):
                self._holders[str(ip)].add((key, place))

    def whose_name(self, name: str, node: Node) -> str | None:
        """The other Node that is called ``name``, or else whose server is; None when there is none. A Node's own name
        is its own, whatever servers are called."""
        lower = name.lower()
        if lower == node.name.lower():
            return None
        return self._named.get(lower) or min(self._on_servers.get(lower, set()) - {node.name}, default=None)

    def contest(self, server: Server, addresses: Addresses, network_id: int | None) -> UndecidedAddresses | None:
        """The reason why one of the ``addresses`` of a Node on ``server`` may be another server's; None when none is.

        Hetzner gives an address to one server: if two seem to have it, an answer is old. The same private address in
        another network is another one.
        """
        own = server.key
        for address in (each.value for each in addresses if each.value.type != AddressType.HOSTNAME):
            holders = self._holders.get(address.address) or self._holders.get(_written(address.address, server), set())
            places = {place for key, place in holders if key == own}
            if places:
                places = {place for place in places if place is None or network_id in (None, place)}
            else:
                places = {None, *(attached for attached, _ in server.private_ips)}
            rival = min((key for key, place in holders if key != own and place in places), default=None)
            if rival is not None:
                other = f"{rival.name} of Node {self._nodes[rival]}" if rival in self._nodes else rival.name
                facts = {**_facts(address), "server": own.name, "other": other}
                return Decided(UNMANAGED, rules.ADDRESS_CONTESTED, facts)
        return None

    def why_strange(self, why: UndecidedAddresses, server: Server, network: Network | None) -> UndecidedAddresses:
        """The reason of ``choose_addresses``; for a ``--node-ip`` that is not offered, with what the address is."""
        address = parse_ip(str(why.facts.get("address", "")))
        if why.rule is not rules.NODE_IP_UNKNOWN or address is None:
            return why
        holders = self._holders.get(_written(str(address), server), set())
        places = sorted(place for key, place in holders if key == server.key and place is not None)
        facts: dict[str, Plain] = {"address": str(address), "server": server.key.name}
        if places:
            row = rules.NODE_IP_ALIAS if (places[0], address) in server.alias_ips else rules.NODE_IP_IN_OTHER_NETWORK
            shown = "not set" if network is None else f"{network.name} ({network.id})"
            return Decided(UNMANAGED, row, {**facts, "place": places[0], "network": shown})
        other = min((key for key, _ in holders if key != server.key), default=None)
        return Decided(UNMANAGED, rules.NODE_IP_OF_OTHER, {**facts, "other": other.name}) if other else why


def _written(address: str, server: Server) -> str:
    """An address on a Node of ``server`` as servers have it: IPv4, or the network of a public IPv6, which is a /64."""
    ip = parse_ip(address)
    if isinstance(ip, IPv6Address):
        return str(server.ipv6 if server.ipv6 and ip in server.ipv6 else IPv6Network((ip, 64), strict=False))
    return str(ip)


def choose_hostname(node: Node, server: Server, others: Others, *, joins: bool) -> Decided[NodeAddress]:
    """The Hostname of ``node`` on ``server``: the name that the server had when the Node joined.

    HCCM follows a server that is renamed. The machine is called no other for that, and two names that were swapped
    would be those of two Nodes for a while. Another Node's name is never taken, the Node's own always may be.
    """
    there = next((a.address for a in node.addresses if a.type == AddressType.HOSTNAME), None)
    other = others.whose_name(server.name, node)
    if not server.name:
        hostname, row = there or node.name, rules.SERVER_UNNAMED
    elif there is not None and not joins and others.whose_name(there, node) is None:
        hostname, row = there, rules.HOSTNAME_OF_SERVER if there == server.name else rules.HOSTNAME_KEPT
    elif other is not None:
        hostname, row = node.name, rules.HOSTNAME_TAKEN
    else:
        hostname, row = server.name, rules.HOSTNAME_OF_SERVER
    facts = {"server": server.key.name, "name": server.name, "hostname": hostname, "node": other or ""}
    return Decided(NodeAddress(AddressType.HOSTNAME, hostname), row, facts)


def desired_addresses(
    node: Node,
    server: Server,
    hostname: Decided[NodeAddress],
    snapshot: Snapshot,
    settings: Settings,
    others: Others,
) -> DesiredAddresses | UndecidedAddresses:
    """The addresses of ``node`` on ``server``, which gets this Hostname.

    Undecided while the network is unknown, when Hetzner's answer lacks the fields that would say, when the kubelet's
    ``--node-ip`` does not fit, and when an address may be another server's.
    """
    gaps = server.missing & ADDRESS_FIELDS
    if gaps:
        return Decided(UNMANAGED, rules.ADDRESSES_MISSING, {"field": min(gaps), "server": server.key.name})
    network: Network | None = None
    if server.provider is not Provider.ROBOT:  # its servers are in none
        match snapshot.network:
            case Unknown(cause):
                return Decided(UNMANAGED, rules.NETWORK_UNKNOWN, {"cause": cause})
            case Absent():
                return Decided(UNMANAGED, rules.NETWORK_ABSENT, {"network": settings.network or ""})
            case Present(network):
                pass
    sources = _Sources(node, server, network, settings, others)
    chosen = choose_addresses((hostname, *sources.offered()), node.provided_node_ip, server.ipv6)
    if isinstance(chosen, Decided):
        return others.why_strange(chosen, server, network)
    contest = others.contest(server, chosen, network.id if network else None)
    if contest is not None:
        return contest
    left, gone = [each.value for each in chosen], []
    for address in node.addresses:
        if address in left:
            left.remove(address)
        else:
            gone.append(sources.why_gone(address, chosen))
    return DesiredAddresses(chosen, tuple(gone))


def untouched_addresses(current: tuple[NodeAddress, ...], why: UndecidedAddresses) -> DesiredAddresses:
    """The addresses that a Node has, each of which stays as it is."""
    return DesiredAddresses(tuple(map(why.deciding, current)))


@dataclass(frozen=True, slots=True)
class _Sources:
    """What decides on the addresses of one Node."""

    node: Node
    server: Server
    network: Network | None
    settings: Settings
    others: Others

    def offered(self, family: AddressFamily | None = None) -> Iterator[Decided[NodeAddress]]:
        """The server's IP addresses of the family, by default the configured one, in the order that HCCM writes: public
        IPv4, public IPv6, private; of a Robot server the public IPv6 comes first. An address that a server lacks is
        left out; HCCM writes ``1`` or "" for Robot. Then the kubelet's that stay: Robot knows no private address, nor
        does the cloud know those in a VPN or behind a vSwitch."""
        server, settings, family = self.server, self.settings, family or self.settings.address_family
        public: list[Decided[NodeAddress]] = []
        if server.ipv4 and family is not AddressFamily.IPV6:
            public.append(Decided(NodeAddress(AddressType.EXTERNAL_IP, str(server.ipv4)), rules.PUBLIC_IPV4))
        if server.ipv6 and family is not AddressFamily.IPV4:
            address = NodeAddress(AddressType.EXTERNAL_IP, str(first_host(server.ipv6)))
            public.append(Decided(address, rules.PUBLIC_IPV6))
        if server.provider is Provider.ROBOT:
            yield from reversed(public)
            if settings.forward_internal_ips:
                kept = (each for each in _internal_ips(self.node) if _why_not_forwarded(each, server, family) is None)
                yield from (Decided(address, rules.INTERNAL_IP_FORWARDED) for address in kept)
            return
        yield from public
        if self.network is not None:
            private = (str(ip) for network_id, ip in server.private_ips if network_id == self.network.id)
            yield from (Decided(NodeAddress(AddressType.INTERNAL_IP, ip), rules.PRIVATE_IP) for ip in private)
        elif settings.keep_internal_ips:
            known = {None, *(parse_ip(each.value.address) for each in public)}
            kept = (each for each in _internal_ips(self.node) if parse_ip(each.address) not in known)
            yield from (Decided(address, rules.INTERNAL_IP_KEPT) for address in kept)

    def why_gone(self, address: NodeAddress, chosen: Addresses) -> Decided[NodeAddress]:
        """The rule by which an address of the Node that is not among the ``chosen`` ones goes."""
        settings, facts = self.settings, _facts(address)
        if address.type == AddressType.HOSTNAME and (owner := self.others.whose_name(address.address, self.node)):
            return Decided(address, rules.HOSTNAME_OF_OTHERS, {**facts, "node": owner})
        types = [each.value.type for each in chosen if each.value.address == address.address]
        if types:
            row = rules.ADDRESS_TWICE if address.type in types else rules.ADDRESS_OF_OTHER_TYPE
            return Decided(address, row, {**facts, "other": types[0]})
        only = [each.value for each in chosen if each.rule is rules.ON_NODE_IP and each.value.type == address.type]
        if only:
            return Decided(address, rules.NOT_ON_NODE_IP, {**facts, "wanted": only[0].address})
        if address in (each.value for each in self.offered(AddressFamily.DUALSTACK)):
            return Decided(address, rules.OTHER_FAMILY, {**facts, "family": settings.address_family})
        if address.type == AddressType.INTERNAL_IP and self.server.provider is Provider.ROBOT:
            if not settings.forward_internal_ips:
                return Decided(address, rules.FORWARD_OFF, facts)
            if why := _why_not_forwarded(address, self.server, settings.address_family):
                return why
        elif address.type == AddressType.INTERNAL_IP and self.network is None:
            return Decided(address, rules.NETWORK_UNSET, facts)
        return Decided(address, rules.ADDRESS_UNKNOWN, {**facts, "server": self.server.key.name})


def _internal_ips(node: Node) -> Iterator[NodeAddress]:
    return (address for address in node.addresses if address.type == AddressType.INTERNAL_IP)


def reports_strange_address(node: Node, server: Server) -> bool:
    """Whether an InternalIP of the Node on this server is none of the server's own addresses."""
    own = (server.ipv4, *(ip for _, ip in (*server.private_ips, *server.alias_ips)))
    ips = {parse_ip(address.address) for address in _internal_ips(node)} - {None, *own}
    return any(server.ipv6 is None or not isinstance(ip, IPv6Address) or ip not in server.ipv6 for ip in ips)


def addresses_not_forwarded(node: Node, server: Server, settings: Settings) -> Iterator[Decided[NodeAddress]]:
    """The InternalIPs of a Robot server's Node that are left out, each with the reason."""
    if server.provider is Provider.ROBOT and settings.forward_internal_ips:
        family = settings.address_family
        yield from filter(None, (_why_not_forwarded(each, server, family) for each in _internal_ips(node)))


def _why_not_forwarded(address: NodeAddress, server: Server, family: AddressFamily) -> Decided[NodeAddress] | None:
    """The reason why an InternalIP on a Robot server's Node is left out; None when it is kept."""
    ip, facts = parse_ip(address.address), _facts(address)
    if ip is None:
        return Decided(address, rules.INTERNAL_IP_MALFORMED, facts)
    if ip == server.ipv4 or (server.ipv6 and ip == first_host(server.ipv6)):
        return Decided(address, rules.INTERNAL_IP_PUBLIC, facts)
    if ip.version == {AddressFamily.IPV4: 4, AddressFamily.IPV6: 6}.get(family, ip.version):
        return None
    return Decided(address, rules.INTERNAL_IP_OTHER_FAMILY, {**facts, "family": family})


def _facts(address: NodeAddress) -> dict[str, str]:
    return {"type": address.type, "address": address.address}


def parse_node_ips(annotation: str) -> tuple[IPAddress, ...] | UndecidedAddresses:
    """The addresses of the provided-node-ip annotation: one, or two of different families (kubelet ``--node-ip``)."""
    facts = {"value": measured_text(annotation, bounds.LONGEST_ADDRESSES)}
    try:
        bounds.LONGEST_ADDRESSES.check(annotation)
        ips = tuple(_parse_ip(text) for text in annotation.split(","))
    except ValueError:
        return Decided(UNMANAGED, rules.NODE_IP_MALFORMED, facts)
    if len(ips) > 1 and (len(ips) > 2 or ips[0].version == ips[1].version or any(ip.is_unspecified for ip in ips)):
        return Decided(UNMANAGED, rules.NODE_IP_NO_PAIR, facts)
    return ips


def choose_addresses(
    addresses: Addresses, annotation: str | None, ipv6: IPv6Network | None
) -> Addresses | UndecidedAddresses:
    """``addresses`` narrowed and reordered by the provided-node-ip annotation; unchanged when ``annotation`` is None.

    Each listed address comes first, in the order of the annotation, and makes its type exclusive: other addresses of
    that type are dropped. The rest follow in their order. A listed address that is some other host of the server's
    IPv6 network ``ipv6`` replaces the first host there, since it is what the machine really uses.
    """
    if annotation is None:
        return addresses
    ips = parse_node_ips(annotation)
    if isinstance(ips, Decided):
        return ips
    offered = [each.value for each in addresses if each.value.type != AddressType.HOSTNAME]
    chosen: list[Decided[NodeAddress]] = []
    for ip in ips:
        found = [address.type for address in offered if _means(ip, address, ipv6)]
        if not found:
            shown = ", ".join(f"{address.type} {address.address}" for address in offered) or "none"
            return Decided(UNMANAGED, rules.NODE_IP_UNKNOWN, {"address": str(ip), "addresses": shown})
        chosen += (Decided(NodeAddress(kind, str(ip)), rules.ON_NODE_IP, {"type": kind}) for kind in found)
    exclusive = {each.value.type for each in chosen}
    return (*chosen, *(each for each in addresses if each.value.type not in exclusive))


def _means(ip: IPAddress, address: NodeAddress, ipv6: IPv6Network | None) -> bool:
    """Whether ``ip`` means the address. Any host of the server's network means the public address that stands for that
    network."""
    known = ip_address(address.address)
    return known == ip or bool(ipv6 and address.type == AddressType.EXTERNAL_IP and known in ipv6 and ip in ipv6)


def public_ipv6(server: Server, annotation: str | None) -> IPv6Address | None:
    """The host in the server's IPv6 network that the provided-node-ip annotation lists first, else the first one; None
    when the server has no IPv6."""
    if server.ipv6 is None:
        return None
    ips = () if annotation is None else parse_node_ips(annotation)
    listed = () if isinstance(ips, Decided) else ips
    return next((ip for ip in listed if isinstance(ip, IPv6Address) and ip in server.ipv6), first_host(server.ipv6))


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
