"""Worlds in which there is something to say of the routes of Node web-1, by name, each with its settings."""

from collections.abc import Mapping
from dataclasses import replace

from desired.model.route import ROUTED, UNROUTED, NetworkCondition
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Condition, NodeAddress, Snapshot
from desired.section import Absent, Section, Unknown
from tests.builders import UNINITIALIZED, a_lost_node
from tests.routes import ROUTING, a_pod_node, a_pod_server, a_route, a_routed_world, gateway_of, pods_of

NAT = a_route("0.0.0.0/0", gateway_of())
"""The network's way out leads through the server of web-1."""
WEB_2, SERVER_2 = a_pod_node(2), a_pod_server(2)
UNREAD = "network 'private' could not be read: Hetzner API GET /networks answers 503 Service Unavailable"


def _routed() -> Snapshot:
    """All is well, with two families of addresses; the way out of the network leads through its server."""
    node = a_pod_node(1, pods_of(), "fd00:10:244:1::/64")
    return a_routed_world([node, WEB_2], routes=[NAT, a_route(1), a_route(2, 2)])


def _rerouted() -> Snapshot:
    """The route to its pods leads to web-2, and one to pods of nobody leads to its server."""
    node = a_pod_node(says=UNROUTED)
    return a_routed_world([node, WEB_2], routes=[a_route(1, 2), a_route(2, 1), a_route("10.244.9.0/24", 1)])


def _unroutable() -> Snapshot:
    """Its server is not in the network, and what should be its second pod CIDR is none."""
    node = a_pod_node(1, pods_of(), "ten", addresses=a_pod_node().addresses[:-1])
    return a_routed_world([node, WEB_2], [a_pod_server(private_ips=()), SERVER_2])


def _over_limit() -> Snapshot:
    """Somebody else's routes have filled the network."""
    full = [a_route(f"172.20.{number}.0/24", "10.0.0.200") for number in range(100)]
    return a_routed_world([a_pod_node(says=None)], routes=full)


def _mismatched() -> Snapshot:
    """Its pods are outside of the cluster CIDR that is given, so that no route goes."""
    return a_routed_world([a_pod_node(1, "10.245.1.0/24", says=UNROUTED)], routes=[a_route(2, 1)])


def _held() -> Snapshot:
    """Two of four routes lead to its server, and no Node has the pods."""
    routes = [a_route(1), a_route(2, 2), a_route(8, 1), a_route(9, 1)]
    return a_routed_world([a_pod_node(), WEB_2], routes=routes)


def _dead() -> Snapshot:
    """Its server is proven gone, and its kubelet silent: the route leads nowhere."""
    node = a_lost_node(pod_cidrs=(pods_of(),), conditions=(*a_lost_node().conditions, _condition(ROUTED)))
    routes = [a_route(1), a_route(2, 2)]
    return a_routed_world([node, WEB_2], [SERVER_2], routes, members=[], confirmations={1: Absent()})


def _joining() -> Snapshot:
    """It has just registered, and its pods are within a range that is routed elsewhere as a whole."""
    addresses = (NodeAddress(AddressType.HOSTNAME, "web-1"),)
    node = a_pod_node(says=None, provider_id=None, taints=(UNINITIALIZED,), addresses=addresses, labels={})
    dead = a_route("10.244.0.0/23", "10.0.0.99")
    return a_routed_world([node, WEB_2], [a_pod_server(), SERVER_2], [dead, a_route(2, 2)], members=[])


def _unknown() -> Snapshot:
    """The route to its pods leads to an address of which could not be told who has it."""
    why = "Hetzner API GET /networks/7/members answers 503 Service Unavailable"
    return a_routed_world(
        [a_pod_node(says=ROUTED)], routes=[a_route(pods_of(), "10.0.0.77")], members=Section.missing(why)
    )


def _unread() -> Snapshot:
    """The network could not be read, and so nobody knows what its routes are."""
    return replace(a_routed_world(), network=Unknown(UNREAD), routes=Section.missing(UNREAD))


def _condition(said: NetworkCondition) -> Condition:
    return Condition("NetworkUnavailable", said.status, said.reason)


ROUTED_WORLDS: Mapping[str, tuple[Snapshot, Settings]] = {
    "routed": (_routed(), ROUTING),
    "rerouted": (_rerouted(), ROUTING),
    "unroutable": (_unroutable(), ROUTING),
    "over_limit": (_over_limit(), ROUTING),
    "mismatched": (_mismatched(), ROUTING),
    "routes_held": (_held(), ROUTING),
    "routes_dead": (_dead(), ROUTING),
    "routes_joining": (_joining(), ROUTING),
    "routes_unknown": (_unknown(), ROUTING),
    "routes_unread": (_unread(), ROUTING),
    "routes_off": (a_routed_world(), Settings(network="private")),
}
"""Name → world and settings."""
