"""Changes of routes, and of the Node conditions that report them."""

from collections.abc import Collection, Iterator

from desired.model.key import Key, ObjectKind
from desired.model.route import CONDITION_NETWORK, UNROUTED, NetworkCondition, Route, route_key
from desired.model.snapshot import Node, Snapshot
from desired.plan.change import Change, Difference
from desired.plan.kinds import ChangeKind, Verb
from desired.routes.actions import RouteAction, RouteDecision
from desired.routes.claims import RouteClaim, RouteStatus
from desired.routes.desired import DesiredRoutes
from desired.routes.endpoints import Reach
from desired.rules import routes as rules
from desired.section import Present, Unmanaged, grouped
from desired.syntax.provider_id import server_key


def route_changes(desired: DesiredRoutes) -> Iterator[Change]:
    """Changes of routes that are missing, lead elsewhere, or should not exist."""
    if desired.network is None:
        return
    network_id = desired.network.id
    for claim in desired.claims:
        if claim.status in (RouteStatus.MISSING, RouteStatus.MISLED):
            yield _led(claim, network_id)
    for decided in desired.decided.values():
        if decided.goes:
            yield _delete(decided, network_id)


def condition_changes(desired: DesiredRoutes, snapshot: Snapshot, others: Collection[Change]) -> Iterator[Change]:
    """Conditions of Nodes. ``others`` are all other changes: those of the same Node go first, as a route may take its
    time."""
    by_owner = grouped((change.owner, change.key) for change in others if change.key.kind is ObjectKind.NODE)
    is_mistaken = not any(endpoint.is_ours and endpoint.reach is Reach.REACHED for endpoint in desired.endpoints)
    for name, wanted in desired.conditions.items():
        node = snapshot.nodes.items[name]
        condition = wanted.decided.value
        if not isinstance(condition, Unmanaged) and condition != node.network_condition:
            yield Change(
                key=node.key.part("network"),
                kind=ChangeKind.NODE_NETWORK_CONDITION,
                verb=Verb.MODIFY,
                before=node.network_condition,
                after=condition,
                reason=wanted.decided.says,
                owner=node.key,
                depends_on=wanted.after,
                follows=tuple(sorted(by_owner.get(node.key, ()))),
                brings=tuple(_closed_by_setting(node, condition, desired, snapshot, is_mistaken=is_mistaken)),
            )


def _closed_by_setting(
    node: Node,
    condition: NetworkCondition | None,
    desired: DesiredRoutes,
    snapshot: Snapshot,
    *,
    is_mistaken: bool,
) -> Iterator[Difference]:
    """The closing of a Node to pods whose server is in another network, while no server at all is in the configured
    one."""
    key, network = server_key(node.provider_id), desired.network
    found = None if key is None or condition != UNROUTED else snapshot.find(key)
    places = {place for place, _ in found.value.private_ips} if isinstance(found, Present) else set()
    is_elsewhere = bool(places) and network is not None and network.id not in places
    if is_elsewhere and is_mistaken:
        yield Difference(node.key, CONDITION_NETWORK, "False", "True", "HCLOUD_NETWORK")


def _led(claim: RouteClaim, network_id: int) -> Change:
    """The change that leads a route to its Node: it is missing, or leads elsewhere."""
    node, is_missing = claim.endpoint.node, claim.status is RouteStatus.MISSING
    joining = (node.key,) if claim.endpoint.joins else ()
    return Change(
        key=route_key(network_id, claim.destination),
        kind=ChangeKind.ROUTE_CREATE if is_missing else ChangeKind.ROUTE_REPLACE,
        verb=Verb.ADD if is_missing else Verb.MODIFY,
        before=None if claim.present is None else Route(claim.destination, claim.present),
        after=Route(claim.destination, claim.gateway),
        reason=claim.why,
        owner=node.key,
        cloud_id=network_id,
        consequences=() if is_missing else (rules.SWAP.text(node=node.name),),
        depends_on=(*joining, *(route_key(network_id, destination) for destination in claim.after)),
    )


def _delete(decided: RouteDecision, network_id: int) -> Change:
    diverted: tuple[str, ...] = ()
    if decided.action is not RouteAction.DEAD and decided.holder is not None:
        facts = {"destination": str(decided.route.destination), "owner": decided.holder.what}
        diverted = (rules.DIVERTED.text(**facts),)
    return Change(
        key=route_key(network_id, decided.route.destination),
        kind=ChangeKind.ROUTE_DELETE,
        verb=Verb.REMOVE,
        before=decided.route,
        after=None,
        reason=decided.why,
        owner=Key(ObjectKind.NODE, decided.node) if decided.node else Key(ObjectKind.NETWORK, network_id),
        cloud_id=network_id,
        consequences=diverted,
    )
