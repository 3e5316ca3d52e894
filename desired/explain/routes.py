"""Explanation of a Node's routes: those to its pods, others that lead to its server, and the condition that reports
them. The desired state is not decided again here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network

from desired.explain.fact import Fact, if_withheld
from desired.model.key import ObjectKind
from desired.model.route import CONDITION_NETWORK, MOST_ROUTES, NetworkCondition, Route, route_key
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.nodes.node import DesiredNode
from desired.plan.change import Change, Plan
from desired.plan.foresight import after_all
from desired.routes.actions import RouteAction, RouteDecision
from desired.routes.claims import RouteClaim, RouteStatus
from desired.routes.desired import DesiredRoutes
from desired.routes.endpoints import NodeEndpoint
from desired.rules import routes as rules
from desired.rules.rule import Basis
from desired.section import Unmanaged


@dataclass(frozen=True, slots=True)
class RouteFact:
    """One pod CIDR of the Node with the route to it, or a route to other pods that leads to the Node's server."""

    destination: str
    """As routes have it; as the Node has it, where that is no range."""
    standing: RouteStatus | None
    """None for what is no pod CIDR of the Node, or none that a route could lead to."""
    fate: RouteAction | None
    """What happens to the existing route; None when there is none."""
    value: IPv4Address | None
    """The gateway of the existing route."""
    wanted: IPv4Address | None
    """The gateway once the planned changes are made; None when there should be no route."""
    why: str
    """One sentence."""


@dataclass(frozen=True, slots=True)
class NodeRoutes:
    """Explanation of a Node's routes."""

    network: int | None = None
    """Id; None when there is none, or it is not known: ``why`` says so."""
    used: int | None = None
    """Number of routes in the network; None while that is not known."""
    limit: int = MOST_ROUTES
    """How many routes a network takes."""
    cluster_cidr: IPv4Network | None = None
    """The one that is given; None where no route is managed."""
    mismatch: str | None = None
    """Why it cannot be the cluster's; None when it may be."""
    why: str | None = None
    """Why no route is managed, one sentence; None when some are."""
    destinations: tuple[RouteFact, ...] = ()
    """The Node's pod CIDRs in their order, then the other routes that lead to its server, by destination."""


def explain_routes(
    node: Node, desired: DesiredRoutes, plan: Plan, snapshot: Snapshot, settings: Settings
) -> NodeRoutes | None:
    """The Node's routes; None while routes are switched off and the Node bears no trace of them."""
    there = node.network_condition
    if not settings.routes and not (there and there.is_ours):
        return None
    endpoint = next((endpoint for endpoint in desired.endpoints if endpoint.node.name == node.name), None)
    if desired.network is None or endpoint is None:
        return NodeRoutes(why=desired.left.text if desired.left else None)
    section = snapshot.routes
    then = after_all(snapshot, [change for change in plan.changes if change.row.object is ObjectKind.ROUTE]).routes
    routes = _Routes(endpoint, desired, plan.by_key, then.items if then else {}, desired.network.id)
    used = section.total if section is not None and section.complete else None
    why = endpoint.decided.text if not endpoint.is_ours else None if node.pod_cidrs else rules.NO_POD_CIDR.text()
    return NodeRoutes(
        network=desired.network.id,
        used=used,
        cluster_cidr=settings.cluster_cidr,
        mismatch=desired.mismatch,
        why=why,
        destinations=(*routes.to_pods(), *routes.besides()),
    )


def explain_network_condition(
    node: Node, then: Node, wanted: DesiredNode, desired: DesiredRoutes, plan: Plan
) -> Fact | None:
    """The Node's condition ``NetworkUnavailable``; None when it is not managed here. ``then`` is the Node once its
    changes are made."""
    there, found = node.network_condition, desired.conditions.get(node.name)
    value = _shown(there)
    if found is None:
        left = wanted.left or desired.left
        is_ours = there is not None and there.is_ours
        return Fact.of(CONDITION_NETWORK, value, value, left) if is_ours and left else None
    if isinstance(found.decided.value, Unmanaged):
        if there is not None and not there.is_ours:
            return None
        return Fact(CONDITION_NETWORK, value, value, Basis.UNTOUCHED, found.decided.says)
    change = plan.by_key.get(node.key.part("network"))
    later = "; written once the routes are there" if found.after and change else ""
    why = found.decided.says + later + (if_withheld(change) if change else "")
    return Fact(CONDITION_NETWORK, value, _shown(then.network_condition), Basis.ROUTES, why)


def _shown(condition: NetworkCondition | None) -> str | None:
    """``False (RouteCreated)``."""
    if condition is None:
        return None
    return f"{condition.status} ({condition.reason})" if condition.reason else condition.status


@dataclass(frozen=True, slots=True)
class _Routes:
    """Present routes, planned changes of them, and those that there are then."""

    endpoint: NodeEndpoint
    desired: DesiredRoutes
    changes: Mapping[str, Change]
    then: Mapping[str, Route]
    network_id: int

    def to_pods(self) -> Iterator[RouteFact]:
        name = self.endpoint.node.name
        claims = {each.destination: each for each in self.desired.claims if each.endpoint.node.name == name}
        for cidr in self.endpoint.pod_cidrs:
            match cidr:
                case str():
                    why = rules.POD_CIDR_MALFORMED.text(cidr=repr(cidr))
                    yield RouteFact(cidr, RouteStatus.UNROUTABLE, None, None, None, why)
                case IPv4Network() as destination:
                    yield self._to_pod_cidr(destination, claims.get(destination))
                case IPv6Network():
                    yield RouteFact(str(cidr), None, None, None, None, rules.POD_CIDR_IPV6.text())

    def besides(self) -> Iterator[RouteFact]:
        own = self.endpoint.pod_cidrs
        addresses = (*self.endpoint.addresses, *self.endpoint.aliases)
        for destination, decided in self.desired.decided.items():
            if destination not in own and decided.route.gateway in addresses:
                yield self._fact(destination, None, self._why_besides(decided))

    def _to_pod_cidr(self, destination: IPv4Network, claim: RouteClaim | None) -> RouteFact:
        if claim is None:
            return self._fact(destination, None, self.endpoint.decided.text)
        why = claim.why
        found = self.desired.decided.get(destination)
        if found is not None and found.goes:
            why += f", and the route goes: {found.why}"
        if claim.status is RouteStatus.MISSING and claim.after:
            why += f"; comes once the route to {', '.join(map(str, claim.after))} is gone"
        return self._fact(destination, claim, why)

    def _why_besides(self, decided: RouteDecision) -> str:
        names = [c.endpoint.node.name for c in self.desired.claims if c.destination == decided.route.destination]
        if decided.action is RouteAction.CLAIMED and names:
            return rules.PODS_OF_OTHER_NODE.text(nodes=", ".join(names))
        return decided.why

    def _fact(self, destination: IPv4Network, claim: RouteClaim | None, why: str) -> RouteFact:
        found, then = self.desired.decided.get(destination), self.then.get(str(destination))
        change = self.changes.get(route_key(self.network_id, destination))
        return RouteFact(
            str(destination),
            claim.status if claim else None,
            found.action if found else None,
            found.route.gateway if found else None,
            then.gateway if then else None,
            why + if_withheld(change) if change else why,
        )
