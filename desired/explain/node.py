"""Explanation of one Node: what was decided on its server, on each of its fields, and on the routes to its pods."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from ipaddress import IPv4Network, IPv6Network
from typing import Literal

from desired.explain.document import (
    Candidate,
    Fact,
    NodeExplanation,
    NodeRoutes,
    RouteFact,
    ServerFact,
    ServerMatch,
)
from desired.explain.guards import explain_anchor, explain_deletion, explain_guards, explain_losses
from desired.explain.view import View, if_withheld
from desired.model.clocks import shown_moment
from desired.model.key import ObjectKind
from desired.model.route import CONDITION_NETWORK, NetworkCondition, route_key
from desired.model.snapshot import Node, Readiness
from desired.model.taint import Taint, has_shutdown_taint, out_of_service_taint
from desired.names import (
    CONDITION_NODE_IN_SYNC,
    TAINT_UNINITIALIZED,
    TAINTS_OF_AUTOSCALERS,
)
from desired.nodes.addresses import DesiredAddresses
from desired.nodes.disruption import disruption_of
from desired.nodes.matching import Matched
from desired.nodes.node import DesiredNode, InitializedNode, UnmanagedNode, deletable_server
from desired.plan.foresight import after_all, node_after
from desired.plan.kinds import ChangeKind
from desired.plan.ordering import in_order
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteClaim, RouteStatus
from desired.routes.desired import DesiredRoutes
from desired.routes.endpoints import NodeEndpoint
from desired.rules import nodes as rules
from desired.rules import routes as of_routes
from desired.rules.nodes import Stage
from desired.rules.rule import Basis, Reason
from desired.section import Unmanaged
from desired.syntax.bounds import named
from desired.syntax.provider_id import Provider, provider_of


@dataclass(frozen=True)
class NodeView(View):
    """A Node."""

    node: Node

    @cached_property
    def then(self) -> Node:
        """As it is once its changes are made."""
        return reduce(node_after, in_order(self.changes), self.node)

    @property
    def wanted(self) -> DesiredNode:
        """What was decided on it."""
        return self.facts.desired.nodes[self.key.name]

    @property
    def routes(self) -> DesiredRoutes:
        """What was decided on all routes."""
        return self.facts.desired.routes


def explain_node(of: NodeView) -> NodeExplanation:
    """The explanation of a Node."""
    node, wanted, match = of.node, of.wanted, of.wanted.match
    announced = disruption_of(node, of.facts.snapshot, of.facts.settings)
    provider = match.server.provider if isinstance(match, Matched) else provider_of(node.provider_id) or Provider.CLOUD
    return NodeExplanation(
        stage=wanted.stage.value,
        why=_why(of),
        match=_match(node, wanted),
        labels=tuple(_labels(of)),
        addresses=tuple(_addresses(of)),
        routes=_routes(of),
        taints=tuple(_taint(taint, of) for taint in dict.fromkeys((*node.taints, *of.then.taints))),
        conditions=tuple(_conditions(of)),
        changes=of.changes,
        guards=(*explain_guards(of, provider), *explain_deletion(of, node)),
        announced=announced.text if announced else None,
        anchor=explain_anchor(of.facts, provider),
        losses=explain_losses(of.facts, provider),
        notes=of.notes_on((node.key,)),
    )


def _why(of: NodeView) -> str:
    """Why the Node is in its stage, and what comes next."""
    wanted = of.wanted
    match wanted.stage.value:
        case Stage.SETTLED:
            return f"{wanted.stage.text}; {of.planned}"
        case Stage.JOINING | Stage.DEPARTING:
            left = wanted.left.text if isinstance(wanted, UnmanagedNode) and wanted.left else None
            comes = left or of.next_of(
                ChangeKind.NODE_INITIALISE, ChangeKind.NODE_OUT_OF_SERVICE_TAINT, ChangeKind.NODE_DELETE
            )
            return f"{wanted.stage.text}; {comes}"
    return wanted.stage.text


def _match(node: Node, wanted: DesiredNode) -> ServerMatch:
    by: Literal["providerID", "name"] = "name" if node.provider_id is None else "providerID"
    if isinstance(wanted.match, Matched):
        server = wanted.match.server
        fact = ServerFact(server.id, server.name, server.status, server.type, server.location, server.provider)
        return ServerMatch(by, node.provider_id, fact)
    if wanted.match is None:
        return ServerMatch(by, node.provider_id, None, wanted.stage.says)
    near = (Candidate(each.value.id, each.value.name, each.text, each.value.provider) for each in wanted.match.near)
    return ServerMatch(by, node.provider_id, None, wanted.match.why.says, tuple(near))


def _labels(of: NodeView) -> Iterator[Fact]:
    """Every label that the Node has or should have, by key."""
    there, labels = of.node.labels, of.wanted.labels
    for key in sorted({*there, *(key for key, decided in labels.items() if decided.value is not None)}):
        value = there.get(key)
        if key not in labels:
            yield Fact.foreign(key, there[key])
        elif value == labels[key].value or value != of.then.labels.get(key):
            yield Fact.of(key, value, labels[key].value, labels[key])
        else:
            yield Fact.of(key, value, value, of.left_out)


def _addresses(of: NodeView) -> Iterator[Fact]:
    """The Node's addresses in their order, those that go away among them, and after these the ones that come; all stay
    where no change brings them."""
    for fact in _decided_addresses(of.node, of.wanted.addresses):
        stays = fact.value != fact.wanted and of.node.addresses == of.then.addresses
        yield Fact.of(fact.subject, fact.value, fact.value, of.left_out) if stays else fact


def _decided_addresses(node: Node, addresses: DesiredAddresses) -> Iterator[Fact]:
    why, gone = {each.value: each for each in addresses.wanted}, iter(addresses.gone)
    coming = list(addresses.values)
    for address in node.addresses:
        if address in coming:
            coming.remove(address)
            yield Fact.of(address.type, address.address, address.address, why[address])
        else:
            yield Fact.of(address.type, address.address, None, next(gone))
    yield from (Fact.of(address.type, None, address.address, why[address]) for address in coming)


def _taint(taint: Taint, of: NodeView) -> Fact:
    """A taint that the Node has or gets."""
    shown = f"{taint.value}:{taint.effect}" if taint.value else str(taint.effect)  # as kubectl shows them
    value, later = (shown if taint in side.taints else None for side in (of.node, of.then))
    if taint.key == TAINT_UNINITIALIZED:
        why = of.wanted.left or rules.TAINT_GOES.because()
        return Fact(taint.key, value, later, Basis.UNINITIALISED, why.text)
    if has_shutdown_taint((taint,)):
        return Fact(taint.key, value, later, Basis.SHUTDOWN, of.wanted.shut_down.text)
    if out_of_service_taint((taint,)):
        return Fact(taint.key, value, later, Basis.OUT_OF_SERVICE, _out_of_service(taint, of))
    if taint.key in TAINTS_OF_AUTOSCALERS:
        return Fact.of(taint.key, value, later, rules.ANNOUNCES.because())
    return Fact.foreign(taint.key, shown)


def _out_of_service(taint: Taint, of: NodeView) -> str:
    """Why our taint comes, stays or goes."""
    change, wanted = of.first(ChangeKind.NODE_OUT_OF_SERVICE_TAINT), of.wanted
    if change is not None:
        return change.reason + if_withheld(change)
    if isinstance(wanted, InitializedNode) and wanted.in_service is not None:
        return wanted.in_service.text
    since = shown_moment(taint.added_at) if taint.added_at else "an unknown time"
    return rules.OUT_OF_SERVICE_SINCE.text(since=since)


def _conditions(of: NodeView) -> Iterator[Fact]:
    """Every condition in the Node's order, and Ready in any case. That of routes comes last where it is not there."""
    node, network = of.node, _network_condition(of)
    if node.ready is Readiness.MISSING:
        yield Fact.of("Ready", None, None, _ready("the Node's creation, as none is written yet", of))
    for found in node.conditions:
        if network is not None and found.type == CONDITION_NETWORK:
            yield network
        elif found.type == "Ready":
            heard = f", last heard of {shown_moment(node.heartbeat)}" if node.heartbeat else ""
            why = _ready(f"{shown_moment(node.ready_since)}{heard}", of)
            yield Fact.of("Ready", found.status, found.status, why)
        elif found.type == CONDITION_NODE_IN_SYNC:
            shown = _shown(NetworkCondition(found.status, found.reason))
            yield Fact.of(found.type, shown, shown, rules.CONDITION_TELLS.because())
        else:
            yield Fact.foreign(found.type, found.status)
    if network is not None and node.condition(CONDITION_NETWORK) is None:
        yield network


def _ready(since: str, of: NodeView) -> Reason:
    """Since when the Node is as Ready as it is, and what depends on that."""
    if deletable_server(of.node, of.facts.snapshot, of.facts.settings) is None:
        return rules.READY_IDLE.because(since=since)
    if of.node.ready is Readiness.TRUE:
        return rules.READY_KEEPS.because(since=since)
    waits = of.facts.settings.waits
    silence = f"{waits.given_up_after.total_seconds() / 60:g} min"
    return rules.READY_COUNTS.because(since=since, wait=f"{waits.not_ready_for.total_seconds():g} s", silence=silence)


def _network_condition(of: NodeView) -> Fact | None:
    """The condition ``NetworkUnavailable``; None when it is not managed here."""
    there, found = of.node.network_condition, of.routes.conditions.get(of.node.name)
    value, is_ours = _shown(there), there is not None and there.is_ours
    if found is None:
        left = of.wanted.left or of.routes.left
        return Fact.of(CONDITION_NETWORK, value, value, left) if is_ours and left else None
    if isinstance(found.decided.value, Unmanaged):
        stays = Fact(CONDITION_NETWORK, value, value, Basis.UNTOUCHED, found.decided.says)
        return stays if there is None or is_ours else None
    change = of.first(ChangeKind.NODE_NETWORK_CONDITION)
    if change is None and found.decided.value != there:
        return Fact.of(CONDITION_NETWORK, value, value, of.left_out)
    later = "; written once the routes are there" if found.after and change else ""
    why = found.decided.says + later + if_withheld(change)
    return Fact(CONDITION_NETWORK, value, _shown(of.then.network_condition), Basis.ROUTES, why)


def _shown(condition: NetworkCondition | None) -> str | None:
    """``False (RouteCreated)``."""
    if condition is None:
        return None
    return f"{condition.status} ({condition.reason})" if condition.reason else condition.status


def _routes(of: NodeView) -> NodeRoutes | None:
    """The Node's routes; None while routes are switched off and the Node bears no trace of them."""
    node, desired, settings, section = of.node, of.routes, of.facts.settings, of.facts.snapshot.routes
    there = node.network_condition
    if not settings.routes and not (there and there.is_ours):
        return None
    endpoint = next((endpoint for endpoint in desired.endpoints if endpoint.node.name == node.name), None)
    if desired.network is None or endpoint is None:
        return NodeRoutes(why=desired.left.text if desired.left else None)
    why = endpoint.decided.text if not endpoint.is_ours else None if node.pod_cidrs else of_routes.NO_POD_CIDR.text()
    return NodeRoutes(
        network=desired.network.id,
        used=section.total if section is not None and section.complete else None,
        cluster_cidr=settings.cluster_cidr,
        mismatch=desired.mismatch,
        why=why,
        destinations=tuple(_destinations(of, endpoint, desired.network.id)),
    )


def _destinations(of: NodeView, endpoint: NodeEndpoint, network_id: int) -> Iterator[RouteFact]:
    """The pod CIDRs of the endpoint's Node, then the other routes that lead to its server."""
    desired, plan = of.routes, of.plan
    planned = [change for change in plan.changes if change.row.object is ObjectKind.ROUTE]
    then = after_all(of.facts.snapshot, planned).routes
    name, addresses = endpoint.node.name, (*endpoint.addresses, *endpoint.aliases)
    claims = {claim.destination: claim for claim in desired.claims if claim.endpoint.node.name == name}

    def route(destination: IPv4Network, claim: RouteClaim | None, why: str) -> RouteFact:
        found, later = desired.decided.get(destination), then.items.get(str(destination)) if then else None
        return RouteFact(
            str(destination),
            claim.status if claim else None,
            found.action if found else None,
            found.route.gateway if found else None,
            later.gateway if later else None,
            why + if_withheld(plan.by_key.get(route_key(network_id, destination))),
        )

    for cidr in endpoint.pod_cidrs:
        match cidr:
            case str():
                why = of_routes.POD_CIDR_MALFORMED.text(cidr=repr(cidr))
                yield RouteFact(cidr, RouteStatus.UNROUTABLE, None, None, None, why)
            case IPv4Network():
                claim = claims.get(cidr)
                yield route(cidr, claim, _why_claimed(claim, desired) if claim else endpoint.decided.text)
            case IPv6Network():
                yield RouteFact(str(cidr), None, None, None, None, of_routes.POD_CIDR_IPV6.text())
    for destination, decided in desired.decided.items():
        if destination in endpoint.pod_cidrs or decided.route.gateway not in addresses:
            continue
        others = [claim.endpoint.node.name for claim in desired.claims if claim.destination == destination]
        is_theirs = decided.action is RouteAction.CLAIMED and others
        why = of_routes.PODS_OF_OTHER_NODE.text(nodes=named("Node", others)) if is_theirs else decided.why
        yield route(destination, None, why)


def _why_claimed(claim: RouteClaim, desired: DesiredRoutes) -> str:
    """How it stands with a pod CIDR, why the route that is there goes, and what is in the way of another."""
    found = desired.decided.get(claim.destination)
    why = claim.why + (f"; the route is removed: {found.why}" if found is not None and found.goes else "")
    if claim.status is RouteStatus.MISSING and claim.after:
        why += f"; created once the route to {', '.join(map(str, claim.after))} is removed"
    return why
