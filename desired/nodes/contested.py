"""Contested names and addresses: no Node is given one that is another Node's.

The API server reaches kubelets by what their Nodes publish, the Hostname first: with a name that is another Node's, the
logs and shells of a pod are those of another machine. The decision depends only on what we never write, the names of
Nodes and the names and addresses of servers, so that no order of writes leads elsewhere.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from itertools import chain

from desired.model.snapshot import AddressType, Node, NodeAddress, Server, Snapshot
from desired.section import Present
from desired.syntax.address import parse_ip
from desired.syntax.provider_id import Provider, ServerKey, server_key

Holding = IPv4Address | IPv6Network | tuple[int, IPv4Address]
"""What only one server has: a public address or network, and an address in a network."""


@dataclass(frozen=True, slots=True)
class Hostname:
    """The Hostname of a Node."""

    name: str
    why: str = ""
    """One sentence, why it is not the server's name; "" when it is."""


@dataclass(frozen=True, slots=True)
class ContestedAddress:
    """An address that the Node should have seems to be another server's; ``why`` is one sentence that names both."""

    why: str


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
        self._having: dict[Holding, set[ServerKey]] = defaultdict(set)
        for server in chain(snapshot.servers, snapshot.servers_of(Provider.ROBOT)):
            for holding in _holdings(server):
                self._having[holding].add(server.key)

    def whose_name(self, name: str, node: Node) -> str | None:
        """The other Node that is called ``name``, or else whose server is; None when there is none. A Node's own name
        is its own, whatever servers are called."""
        lower = name.lower()
        if lower == node.name.lower():
            return None
        return self._named.get(lower) or min(self._on_servers.get(lower, set()) - {node.name}, default=None)

    def why_contested(self, server: Server, addresses: Iterable[NodeAddress], network_id: int | None) -> str | None:
        """The reason why one of the ``addresses`` of a Node on ``server`` may be somebody else's; None when none is.

        Hetzner gives an address to one server: where two seem to have it, an answer is old. The same private address in
        another network is another one.
        """
        for address in addresses:
            ip = None if address.type == AddressType.HOSTNAME else parse_ip(address.address)
            for holding in () if ip is None else _meant(ip, server, network_id):
                rivals = self._having.get(holding, set()) - {server.key}
                if rivals:
                    return (
                        f"{address.type} {address.address} of {server.key.name} is that of"
                        f" {self._what(min(rivals))} as well"
                    )
        return None

    def _what(self, key: ServerKey) -> str:
        node = self._nodes.get(key)
        return f"{key.name} of Node {node}" if node else key.name


def choose_hostname(node: Node, server: Server, others: Others, *, joins: bool) -> Hostname:
    """The Hostname of ``node`` on ``server``: the name that the server had when the Node joined.

    HCCM follows a server that is renamed. The machine is called no other for that, and two names that were swapped
    would be those of two Nodes for a while. What is another Node's is never taken, the Node's own name always may be.
    """
    there = next((a.address for a in node.addresses if a.type == AddressType.HOSTNAME), None)
    other = others.whose_name(server.name, node)
    if not server.name:
        return Hostname(there or node.name, f"{server.key.name} has no name")
    named = f"{server.key.name} is called {server.name}"
    if other is not None:
        named += f", which is the name of Node {other} or of its server"
    if there is not None and not joins and others.whose_name(there, node) is None:
        return Hostname(there, "" if there == server.name else f"{named}; the Node keeps Hostname {there}")
    if other is None:
        return Hostname(server.name)
    return Hostname(node.name, f"{named}; the Node's own name is its Hostname")


def _holdings(server: Server) -> Iterator[Holding]:
    """All that this server has, and no other should."""
    if server.ipv4:
        yield server.ipv4
    if server.ipv6:
        yield server.ipv6
    yield from server.private_ips
    yield from server.alias_ips


def _meant(ip: IPv4Address | IPv6Address, server: Server, network_id: int | None) -> Collection[Holding]:
    """The holdings that an address on a Node of ``server`` stands for: those that the server has, else all that it
    could be."""
    if isinstance(ip, IPv6Address):
        return (server.ipv6 if server.ipv6 and ip in server.ipv6 else IPv6Network((ip, 64), strict=False),)
    own = [h for h in _holdings(server) if h == ip or (isinstance(h, tuple) and h[1] == ip)]
    if own:
        return [h for h in own if not isinstance(h, tuple) or network_id in (None, h[0])]
    return (ip, *((attached, ip) for attached, _ in server.private_ips))
