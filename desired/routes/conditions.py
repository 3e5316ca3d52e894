"""Desired condition ``NetworkUnavailable`` of each Node."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from desired.model.route import CONDITION_NETWORK, ROUTED, UNROUTED, NetworkCondition, route_key
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.nodes.matching import cloud_nodes
from desired.routes.claims import FAILING, UNDECIDED, RouteClaim, RouteStatus
from desired.routes.endpoints import NodeEndpoint, Reach, destinations_of, ipv6_of, malformed_of


@dataclass(frozen=True, slots=True)
class DesiredCondition:
    """The desired condition of one Node."""

    condition: NetworkCondition | None
    """None: the existing one, ours, should not be there."""
    why: str
    """One sentence for people."""
    after: tuple[str, ...] = ()
    """Keys of the changes of routes that make it true."""


def condition_of(node: Node) -> NetworkCondition | None:
    """The Node's condition as it is; None when nobody has written it."""
    found = node.condition(CONDITION_NETWORK)
    return NetworkCondition(found.status, found.reason) if found else None


def desired_conditions(
    endpoints: Collection[NodeEndpoint], claims: Collection[RouteClaim], network_id: int, failed: Collection[str]
) -> Mapping[str, DesiredCondition]:
    """Name of each Node whose condition is ours to write → what it should be; the others keep theirs.

    ``failed`` are keys of changes that were refused: of routes that are not there although they are planned.
    """
    by_node: dict[str, list[RouteClaim]] = {}
    for claim in claims:
        by_node.setdefault(claim.endpoint.node.name, []).append(claim)
    wanted = {
        endpoint.node.name: _desired(endpoint, by_node.get(endpoint.node.name, ()), network_id, failed)
        for endpoint in endpoints
        if endpoint.reach in (Reach.REACHED, Reach.UNATTACHED)
    }
    return {name: condition for name, condition in wanted.items() if condition is not None}


def _desired(
    endpoint: NodeEndpoint, claims: Collection[RouteClaim], network_id: int, failed: Collection[str]
) -> DesiredCondition | None:
    """The desired condition of a Node with claims. It is without a network as soon as one of its ranges is, as with
    HCCM.

    A route that is about to be created does not make it so, so that no Node is unschedulable for the moment that this
    takes.
    """
    keys = {claim.destination: route_key(network_id, claim.destination) for claim in claims}
    missing = [claim.destination for claim in claims if claim.status is not RouteStatus.SERVED]
    refused = [destination for destination in missing if keys[destination] in failed]
    wrong = next((claim.why for claim in claims if claim.status in FAILING), None)
    if wrong is None and refused:
        wrong = f"the route to {refused[0]} was refused"
    if wrong is None and malformed_of(endpoint.node):
        wrong = f"pod CIDR {malformed_of(endpoint.node)[0]!r} is no range"
    if wrong is not None:
        return DesiredCondition(UNROUTED, wrong)
    if any(claim.status in UNDECIDED for claim in claims):
        return None
    if claims:
        after = tuple(sorted(keys[destination] for destination in missing))
        be = "will be" if after else "is"
        return DesiredCondition(ROUTED, f"there {be} a route for each of its IPv4 pod CIDRs", after)
    return _without_claims(endpoint.node)


def _without_claims(node: Node) -> DesiredCondition | None:
    """The desired condition of a Node without claims. One whose pods have IPv6 addresses alone needs no route: HCCM
    leaves it unschedulable for ever."""
    there = condition_of(node)
    if ipv6_of(node) and not destinations_of(node) and there == UNROUTED:
        return DesiredCondition(None, "its pods have IPv6 addresses alone, for which there are no routes")
    return None


def conditions_without_routes(snapshot: Snapshot, settings: Settings) -> Mapping[str, DesiredCondition]:
    """Name of each Node with a condition of ours, while routes are switched off → it should not have one. HCCM leaves
    it there."""
    return {node.name: DesiredCondition(None, "routes are switched off") for node in _marked(snapshot, settings)}


def _marked(snapshot: Snapshot, settings: Settings) -> Iterator[Node]:
    for node, _ in cloud_nodes(snapshot, settings):
        there = condition_of(node)
        if there is not None and there.is_ours:
            yield node
