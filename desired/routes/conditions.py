"""Desired condition ``NetworkUnavailable`` of each Node."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from desired.model.route import ROUTED, UNROUTED, NetworkCondition, route_key
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.nodes.matching import cloud_nodes
from desired.routes.claims import FAILING, UNDECIDED, RouteClaim, RouteStatus
from desired.routes.endpoints import NodeEndpoint, Reach, destinations_of, ipv6_cidrs_of, malformed_of
from desired.rules import routes as rules
from desired.rules.rule import Decided
from desired.section import UNMANAGED, Unmanaged, grouped
from desired.syntax.bounds import shown_text


@dataclass(frozen=True, slots=True)
class DesiredCondition:
    """The desired condition of one Node."""

    decided: Decided[NetworkCondition | Unmanaged | None]
    """None: the existing one, ours, should not be there. UNMANAGED: it stays as it is."""
    after: tuple[str, ...] = ()
    """Keys of the changes of routes that make it true."""


def desired_conditions(
    endpoints: Collection[NodeEndpoint], claims: Collection[RouteClaim], network_id: int, failed: Collection[str]
) -> Mapping[str, DesiredCondition]:
    """Name of each Node whose routes are ours to manage, or whose condition is of an earlier run → its condition.

    ``failed`` are keys of changes that were refused: of routes that are not there although they are planned.
    """
    by_node = grouped((claim.endpoint.node.name, claim) for claim in claims)
    return {
        endpoint.node.name: _desired(endpoint, by_node.get(endpoint.node.name, ()), network_id, failed)
        for endpoint in endpoints
        if endpoint.is_ours or _is_marked(endpoint.node)
    }


def _desired(
    endpoint: NodeEndpoint, claims: Collection[RouteClaim], network_id: int, failed: Collection[str]
) -> DesiredCondition:
    """The desired condition of a Node with claims. It is without a network as soon as one of its ranges is, as with
    HCCM.

    A route that is about to be created does not make it so, so that no Node is unschedulable for the moment that this
    takes.
    """
    if endpoint.reach not in (Reach.REACHED, Reach.UNATTACHED):
        return DesiredCondition(endpoint.decided.deciding(UNMANAGED))
    keys = {claim.destination: route_key(network_id, claim.destination) for claim in claims}
    missing = [claim.destination for claim in claims if claim.status is not RouteStatus.SERVED]
    refused = [destination for destination in missing if keys[destination] in failed]
    wrong = next((claim.decided for claim in claims if claim.status in FAILING), None)
    if wrong is not None:
        return DesiredCondition(wrong.deciding(UNROUTED))
    if refused:
        return DesiredCondition(Decided(UNROUTED, rules.ROUTE_REFUSED, {"destination": str(refused[0])}))
    if malformed_of(endpoint.node):
        cidr = shown_text(malformed_of(endpoint.node)[0])
        return DesiredCondition(Decided(UNROUTED, rules.POD_CIDR_MALFORMED, {"cidr": cidr}))
    waits = next((claim.decided for claim in claims if claim.status in UNDECIDED), None)
    if waits is not None:
        return DesiredCondition(waits.deciding(UNMANAGED))
    if claims:
        after = tuple(sorted(keys[destination] for destination in missing))
        return DesiredCondition(Decided(ROUTED, rules.ROUTES_COMING if after else rules.ROUTES_THERE), after)
    return DesiredCondition(_without_claims(endpoint.node))


def _without_claims(node: Node) -> Decided[Unmanaged | None]:
    """The desired condition of a Node without claims. One whose pods have IPv6 addresses alone needs no route: HCCM
    leaves it unschedulable for ever."""
    if not ipv6_cidrs_of(node) or destinations_of(node):
        return Decided(UNMANAGED, rules.NO_POD_CIDR)
    return Decided(None if node.network_condition == UNROUTED else UNMANAGED, rules.PODS_IPV6_ONLY)


def conditions_without_routes(snapshot: Snapshot, settings: Settings) -> Mapping[str, DesiredCondition]:
    """Name of each Node with a condition of ours, while routes are switched off → it should not have one. HCCM leaves
    it there."""
    unneeded = DesiredCondition(Decided(None, rules.CONDITION_UNNEEDED))
    return {node.name: unneeded for node, _ in cloud_nodes(snapshot, settings) if _is_marked(node)}


def _is_marked(node: Node) -> bool:
    return node.network_condition is not None and node.network_condition.is_ours
