"""Former owners of gateways: the servers that have to be proven gone before a route is removed.

A gateway is an address, and no API can be asked who had it. What stands for a GET by id, so that a dead route needs as
much proof as the Node or the target of its server:

1. No server and no load balancer that is listed has the address, in complete lists, nor has any member of the network,
   by its own complete list (``address_owners``).
2. Each Node that reports the address, or has the destination among its pod CIDRs, names its server by providerID: as
   far as the list lacks these servers, each is proven gone by a GET by its id.
3. Where no Node reports the address, as its Node is deleted already, the network itself says which servers are in it:
   of these, too, each one that the list lacks is proven gone. One that is there shows that the list is not whole, and
   nothing goes.

What is left is a server without a Node that three answers lack alike: the lists of servers and of members, and the
network's own ids. The first one of these that has it keeps the route.
"""

from collections.abc import Iterator
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network

from desired.model.snapshot import Network, Node, Snapshot
from desired.routes.address_owners import known_addresses
from desired.routes.endpoints import destinations_of
from desired.section import Present
from desired.syntax.provider_id import CloudID, parse_provider_id


class Gateways:
    """The addresses of the configured network: their owners by the lists, and their former owners by the Nodes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._network = snapshot.network.value if isinstance(snapshot.network, Present) else None

    def is_held(self, gateway: IPv4Address) -> bool:
        """Whether a server or a load balancer that is listed has the address: then nothing is presumed to be gone."""
        return gateway in self._held

    def last_holders(self, gateway: IPv4Address, destination: IPv4Network) -> tuple[int, ...]:
        """Ids of the servers that no list shows and that may be behind the route, sorted; empty while somebody has the
        gateway by a list."""
        if self.is_held(gateway):
            return ()
        reporting = self._by_address.get(str(gateway), set())
        known = reporting | self._by_pods.get(destination, set())
        if not reporting and self._network is not None:
            known = known.union(self._network.server_ids)
        find = self._snapshot.servers.find
        return tuple(sorted(key for key in known if not isinstance(find(key), Present)))

    @cached_property
    def _held(self) -> frozenset[IPv4Address]:
        return frozenset(known_addresses(self._snapshot, self._network) if isinstance(self._network, Network) else ())

    @cached_property
    def _by_address(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for node, server_id in self._claims():
            for address in node.addresses:
                found.setdefault(address.address, set()).add(server_id)
        return found

    @cached_property
    def _by_pods(self) -> dict[IPv4Network, set[int]]:
        found: dict[IPv4Network, set[int]] = {}
        for node, server_id in self._claims():
            for destination in destinations_of(node):
                found.setdefault(destination, set()).add(server_id)
        return found

    def _claims(self) -> Iterator[tuple[Node, int]]:
        """Every Node of the cloud with its server's id, ignored ones included: what they say is evidence too."""
        for node in self._snapshot.nodes:
            claim = parse_provider_id(node.provider_id or "")
            if isinstance(claim, CloudID):
                yield node, claim.server_id
