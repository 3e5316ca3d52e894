"""Rows of one Node: its server, each of its fields, and the routes to its pods."""

from collections.abc import Iterator
from functools import reduce
from ipaddress import IPv4Network, IPv6Network

from desired.explain.rows import Explanation, Part, Row, View, if_withheld
from desired.model.clocks import shown_moment
from desired.model.key import ObjectKind
from desired.model.route import CONDITION_NETWORK, MOST_ROUTES, NetworkCondition, route_key
from desired.model.snapshot import Node, Readiness
from desired.model.taint import Taint, has_shutdown_taint, out_of_service_taint
from desired.names import CONDITION_NODE_IN_SYNC, TAINT_UNINITIALIZED, TAINTS_OF_AUTOSCALERS
from desired.nodes.matching import Matched
from desired.nodes.node import DesiredNode, InitializedNode, UnmanagedNode, deletable_server
from desired.plan.foresight import after_all, node_after
from desired.plan.kinds import ChangeKind
from desired.plan.ordering import in_order
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteClaim, RouteStatus
from desired.routes.endpoints import NodeEndpoint
from desired.rules import nodes as rules
from desired.rules import routes as of_routes
from desired.rules.explanations import LEFT_ALONE
from desired.rules.nodes import Stage
from desired.rules.rule import Decided, Reason
from desired.section import Unmanaged
from desired.syntax.bounds import named
from desired.syntax.provider_id import Provider, provider_of


def explain_node(of: View, node: Node) -> Explanation:
    """The explanation of a Node."""
    wanted, then = of.facts.desired.nodes[node.name], reduce(node_after, in_order(of.changes), node)
    match = wanted.match
    provider = match.server.provider if isinstance(match, Matched) else provider_of(node.provider_id) or Provider.CLOUD
    rows = [
        *_server(node, wanted),
        *_labels(of, node, then, wanted),
        *_addresses(of, node, then, wanted),
        *_routes(of, node),
        *(_taint(of, taint, node, then, wanted) for taint in dict.fromkeys((*node.taints, *then.taints))),
        *_conditions(of, node, then, wanted),
    ]
    return of.explanation(rows, (node.key,), provider)


def _server(node: Node, wanted: DesiredNode) -> Iterator[Row]:
    """The match by which the Node has its server, or none; facts of the server, else the ones that come near."""
    subject = f"name {node.name}" if node.provider_id is None else f"providerID {node.provider_id}"
    match, stage = wanted.match, wanted.stage
    server = match.server if isinstance(match, Matched) else None
    found = server.key.name if server else None
    yield Row.of(Part.SERVER, subject, found, found, stage, state=stage.value)
    if isinstance(wanted, UnmanagedNode) and wanted.left and stage.value in (Stage.JOINING, Stage.DEPARTING):
        yield Row.of(Part.SERVER, "changes", None, None, wanted.left)
    if server:
        facts = {"name": server.name, "status": server.status, "type": server.type, "location": server.location}
        yield from (Row.fact(Part.SERVER, name, fact, fact) for name, fact in facts.items() if fact)
    elif match is not None and not isinstance(match, Matched):
        for near in match.near:
            shown = f"{near.value.key.name} {near.value.name}"
            yield Row.of(Part.SERVER, "nearest", shown, shown, near)


def _labels(of: View, node: Node, then: Node, wanted: DesiredNode) -> Iterator[Row]:
    """Every label that the Node has or should have, by key."""
    there, labels = node.labels, wanted.labels
    for key in sorted({*there, *(key for key, decided in labels.items() if decided.value is not None)}):
        value, decided = there.get(key), labels.get(key)
        if decided is None:
            yield Row.of(Part.LABELS, key, value, value, LEFT_ALONE.because())
        else:
            yield of.field(Part.LABELS, key, value, then.labels.get(key), decided.value, decided)


def _addresses(of: View, node: Node, then: Node, wanted: DesiredNode) -> Iterator[Row]:
    """The Node's addresses in their order, then those that come; all stay if no change brings them."""
    why, gone = {each.value: each for each in wanted.addresses.wanted}, iter(wanted.addresses.gone)
    coming, are_kept = list(wanted.addresses.values), node.addresses == then.addresses
    for address in node.addresses:
        kind, text = address.type, address.address
        if address in coming:
            coming.remove(address)
            yield Row.of(Part.ADDRESSES, kind, text, text, why[address])
        else:
            yield of.field(Part.ADDRESSES, kind, text, text if are_kept else None, None, next(gone))
    for address in coming:
        later = None if are_kept else address.address
        yield of.field(Part.ADDRESSES, address.type, None, later, address.address, why[address])


def _taint(of: View, taint: Taint, node: Node, then: Node, wanted: DesiredNode) -> Row:
    """A taint that the Node has or gets."""
    shown = f"{taint.value}:{taint.effect}" if taint.value else str(taint.effect)  # as kubectl shows them
    value, later = (shown if taint in side.taints else None for side in (node, then))
    said: Reason | Decided[object] = LEFT_ALONE.because()
    if taint.key == TAINT_UNINITIALIZED:
        said = wanted.left or rules.TAINT_GOES.because()
    elif has_shutdown_taint((taint,)):
        said = wanted.shut_down
    elif taint.key in TAINTS_OF_AUTOSCALERS:
        said = rules.ANNOUNCES.because()
    elif out_of_service_taint((taint,)):
        if change := of.first(ChangeKind.NODE_OUT_OF_SERVICE_TAINT):
            return Row.planned(Part.TAINTS, taint.key, value, later, change)
        since = shown_moment(taint.added_at) if taint.added_at else "an unknown time"
        stays = wanted.in_service if isinstance(wanted, InitializedNode) else None
        said = stays or rules.OUT_OF_SERVICE_SINCE.because(since=since)
    return Row.of(Part.TAINTS, taint.key, value, later, said)


def _conditions(of: View, node: Node, then: Node, wanted: DesiredNode) -> Iterator[Row]:
    """Every condition in the Node's order, and Ready in any case. That of routes comes last if it is not there."""
    of_network = _network_condition(of, node, then, wanted)
    if node.ready is Readiness.MISSING:
        yield _ready(of, node, None, "the Node's creation, as none is written yet")
    for found in node.conditions:
        if found.type == CONDITION_NETWORK and of_network is not None:
            yield of_network
        elif found.type == "Ready":
            heard = f", last heard of {shown_moment(node.heartbeat)}" if node.heartbeat else ""
            yield _ready(of, node, found.status, f"{shown_moment(node.ready_since)}{heard}")
        else:
            is_ours = found.type == CONDITION_NODE_IN_SYNC
            shown = _shown(NetworkCondition(found.status, found.reason)) if is_ours else found.status
            said = (rules.CONDITION_TELLS if is_ours else LEFT_ALONE).because()
            yield Row.of(Part.CONDITIONS, found.type, shown, shown, said)
    if of_network is not None and node.condition(CONDITION_NETWORK) is None:
        yield of_network


def _ready(of: View, node: Node, value: str | None, since: str) -> Row:
    """Since when the Node is as Ready as it is, and what depends on that."""
    waits, said = of.facts.settings.waits, rules.READY_IDLE.because(since=since)
    if deletable_server(node, of.facts.snapshot, of.facts.settings) is not None:
        silence = f"{waits.given_up_after.total_seconds() / 60:g} min"
        wait = f"{waits.not_ready_for.total_seconds():g} s"
        said = rules.READY_COUNTS.because(since=since, wait=wait, silence=silence)
        if node.ready is Readiness.TRUE:
            said = rules.READY_KEEPS.because(since=since)
    return Row.of(Part.CONDITIONS, "Ready", value, value, said)


def _network_condition(of: View, node: Node, then: Node, wanted: DesiredNode) -> Row | None:
    """The condition ``NetworkUnavailable``; None if it is not managed here."""
    routes, there = of.facts.desired.routes, node.network_condition
    found, value, is_ours = routes.conditions.get(node.name), _shown(there), there is not None and there.is_ours
    if found is None or isinstance(found.decided.value, Unmanaged):
        said = (wanted.left or routes.left) if found is None else found.decided
        is_told = is_ours or (found is not None and there is None)
        return Row.of(Part.CONDITIONS, CONDITION_NETWORK, value, value, said) if said and is_told else None
    change, later = of.first(ChangeKind.NODE_NETWORK_CONDITION), _shown(then.network_condition)
    if change is not None:
        return Row.of(Part.CONDITIONS, CONDITION_NETWORK, value, later, found.decided, change)
    return of.field(Part.CONDITIONS, CONDITION_NETWORK, value, later, _shown(found.decided.value), found.decided)


def _shown(condition: NetworkCondition | None) -> str | None:
    """``False (RouteCreated)``."""
    if condition is None:
        return None
    return f"{condition.status} ({condition.reason})" if condition.reason else condition.status


def _routes(of: View, node: Node) -> Iterator[Row]:
    """The network, then the pod CIDRs of the Node in their order, then the other routes that lead to its server.
    Nothing while routes are off and the Node bears no trace of them."""
    desired, settings, section = of.facts.desired.routes, of.facts.settings, of.facts.snapshot.routes
    there = node.network_condition
    if not settings.routes and not (there and there.is_ours):
        return
    endpoint = next((endpoint for endpoint in desired.endpoints if endpoint.node.name == node.name), None)
    if desired.network is None or endpoint is None:
        if desired.left:
            yield Row.of(Part.ROUTES, "all", None, None, desired.left)
        return
    used = f"{section.total} of {MOST_ROUTES}" if section is not None and section.complete else None
    network, cidr, doubt = str(desired.network.id), str(settings.cluster_cidr), desired.mismatched
    yield Row.fact(Part.ROUTES, "network", network, network)
    yield Row.fact(Part.ROUTES, "routes in use", used, used)
    name = "cluster CIDR"
    yield Row.of(Part.ROUTES, name, cidr, cidr, doubt) if doubt else Row.fact(Part.ROUTES, name, cidr, cidr)
    if not endpoint.is_ours or not node.pod_cidrs:
        why = of_routes.NO_POD_CIDR.because() if endpoint.is_ours else endpoint.decided
        yield Row.of(Part.ROUTES, "pod CIDRs", None, None, why)
    yield from _destinations(of, endpoint, desired.network.id)


def _destinations(of: View, endpoint: NodeEndpoint, network_id: int) -> Iterator[Row]:
    desired, plan = of.facts.desired.routes, of.plan
    then = after_all(of.facts.snapshot, [each for each in plan.changes if each.row.object is ObjectKind.ROUTE]).routes
    name, addresses = endpoint.node.name, (*endpoint.addresses, *endpoint.aliases)
    claims = {claim.destination: claim for claim in desired.claims if claim.endpoint.node.name == name}

    def route(destination: IPv4Network, said: Decided[object] | Reason, state: str | None, more: str = "") -> Row:
        found, later = desired.decided.get(destination), then.items.get(str(destination)) if then else None
        sides = (str(found.route.gateway) if found else None, str(later.gateway) if later else None)
        change = plan.by_key.get(route_key(network_id, destination))
        why = said.says + more + if_withheld(change)
        return Row(Part.ROUTES, str(destination), *sides, said.rule.name, why, said.advice, state)

    for cidr in endpoint.pod_cidrs:
        match cidr:
            case str():
                malformed = of_routes.POD_CIDR_MALFORMED.because(cidr=repr(cidr))
                yield Row.of(Part.ROUTES, cidr, None, None, malformed, state=RouteStatus.UNROUTABLE)
            case IPv6Network():
                yield Row.of(Part.ROUTES, str(cidr), None, None, of_routes.POD_CIDR_IPV6.because())
            case IPv4Network():
                claim = claims.get(cidr)
                found = desired.decided.get(cidr)
                fate = found.action if found else None
                more = _obstacles(claim, found.why if found and found.goes else "") if claim else ""
                yield route(cidr, claim.decided if claim else endpoint.decided, claim.status if claim else fate, more)
    for destination, decided in desired.decided.items():
        if destination in endpoint.pod_cidrs or decided.route.gateway not in addresses:
            continue
        others = [claim.endpoint.node.name for claim in desired.claims if claim.destination == destination]
        is_theirs = decided.action is RouteAction.CLAIMED and others
        theirs = of_routes.PODS_OF_OTHER_NODE.because(nodes=named("Node", others))
        yield route(destination, theirs if is_theirs else decided.decided, decided.action)


def _obstacles(claim: RouteClaim, removed: str) -> str:
    """The reason why the present route is ``removed``, and the routes before another one; "" without either."""
    why = f"; the route is removed: {removed}" if removed else ""
    if claim.status is RouteStatus.MISSING and claim.after:
        why += f"; created once the route to {', '.join(map(str, claim.after))} is removed"
    return why
