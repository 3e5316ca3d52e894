"""Guards on how many lose something at once: ``node-blast-radius``, ``address-blast-radius``, ``route-blast-radius``;
and ``cluster-cidr``.

They count the state of the cluster and not one plan: Nodes that lost something before, whose kubelets contradict the
plan, or of which nothing is known count as well.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.loss import ADDRESSES, NODES, OPEN_TO_PODS, ROUTES
from desired.guards.peaks import free_routes, routes_within
from desired.model.clocks import LOOK_AGAIN_S
from desired.model.route import UNROUTED, NetworkCondition, route_key
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Snapshot
from desired.names import LABEL_CONTROL_PLANE
from desired.nodes.addresses import ADDRESS_FIELDS, parse_node_ips
from desired.nodes.disruption import NodeLosses
from desired.nodes.matching import cloud_nodes, nodes_of
from desired.plan.change import Change, HoldEnd, LostNode, NodeIdentity, OutOfService
from desired.plan.evidence import AbsenceProof
from desired.plan.foresight import after_all
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.plan.setbacks import OF_ROUTES
from desired.routes.actions import RouteAction
from desired.routes.owners import AddressHolding
from desired.rules import guards as rows
from desired.section import Present, Unknown
from desired.syntax.provider_id import Provider, ServerKey, provider_of


def may_be_lost(nodes: int) -> int:
    """How many of so many Nodes may be lost."""
    return nodes - NODES.least(nodes, nodes)


def easing_of(losses: NodeLosses, snapshot: Snapshot, settings: Settings) -> tuple[float | None, HoldEnd | None]:
    """Seconds until the next lost Node counts as a planned disruption, as it has been silent for so long; None when all
    are Ready. While clocks differ: until another look.

    Besides, when so few are lost that nothing is held any more, if nothing else happens: one lost Node after the other
    goes, and there is one less to measure by. None when that does not suffice, while clocks differ, and if others went
    within the last hour, as it may end with that.
    """
    if snapshot.clocks.differ:
        return LOOK_AGAIN_S, None
    silent = (node for node in snapshot.nodes if node.key in losses.lost and node.ready is not Readiness.TRUE)
    waits = sorted(settings.waits.given_up_after - (snapshot.taken_at - node.heard_at) for node in silent)
    who = {1: "it stays", 2: "both stay"}.get(len(waits), f"all {len(waits)} stay")
    due = [left.total_seconds() for left in waits]
    ends = (
        HoldEnd(f"if {who} NotReady", max(0.0, left_s))
        for gone, left_s in enumerate(due, start=1)
        if losses.value - gone <= may_be_lost(losses.nodes - gone)
    )
    return next(iter(due), None), None if losses.lately else next(ends, None)


def last_of_control_plane(snapshot: Snapshot, settings: Settings) -> frozenset[str]:
    """Keys of the control plane's Nodes when none has a server that is known to exist, but those that are being
    deleted; else empty. It does not matter whether that was planned.

    A Node that is ignored, another cloud's, or Robot's without an account counts as one that remains: nothing will be
    known of it. One whose server cannot be read does not: that it exists is not known now.
    """
    in_doubt = {
        node.key
        for provider in Provider
        if provider is Provider.CLOUD or snapshot.robot is not None
        for node, server in nodes_of(provider, snapshot, settings)
        if not isinstance(snapshot.find(server), Present)
    }
    members = {node.key: node for node in snapshot.nodes if any(key in node.labels for key in LABEL_CONTROL_PLANE)}
    stays = any(node.key not in in_doubt and node.deleted_at is None for node in members.values())
    return frozenset() if stays else frozenset(members)


def lost_by(change: Change) -> AbsenceProof | None:
    """The proof behind a first step towards the end of a Node: its out-of-service taint, or its deletion without ours;
    None for other changes. The taint allows the deletion after it."""
    if isinstance(change.before, LostNode):
        return None if change.before.is_out_of_service else change.before.proof
    return change.after.proof if isinstance(change.after, OutOfService) else None


def node_blast_radius(view: GuardInput) -> Iterator[GuardResult]:
    """First steps towards the end of Nodes are held when more servers are gone at once than by planned disruptions, and
    for the last Node of the control plane always. A Node with our out-of-service taint is held no more, and counts."""
    steps = {change.owner: (change.key, proof) for change in view.plan.changes if (proof := lost_by(change))}
    members = last_of_control_plane(view.snapshot, view.settings) if steps else frozenset()
    for provider in sorted({proof.provider for _, proof in steps.values()}):
        going = {node: key for node, (key, proof) in steps.items() if proof.provider is provider}
        found, last = view.losses(provider), going.keys() & members
        left = found.nodes - found.value
        held, last_held = ({going[node] for node in nodes} for nodes in ((going.keys() & found.lost) | last, last))
        if last:
            limit = len(members) - 1
            final = GuardResult.of(rows.CONTROL_PLANE_LOST, sorted(last_held), value=len(members), limit=limit)
            too_many = NODES.losses(held, left, found.nodes, row=rows.NODES_AND_CONTROL_PLANE_LOST)
            yield from (each.leaving(0, of="control plane") for each in too_many or [final])
            continue
        wait = f"{view.settings.waits.given_up_after.total_seconds() / 60:g} minutes"
        row = rows.NODES_LOST_OR_UNREAD if found.unreadable else rows.NODES_LOST
        for loss in NODES.losses(held, left, found.nodes, {"wait": wait}, row):
            due_in_s, end = easing_of(found, view.snapshot, view.settings)
            yield replace(loss, due_in_s=due_in_s, end=end)


def takes_addresses(change: Change) -> bool:
    """Whether a Node loses an IP address by the change."""
    return bool(_ips(change.before) - _ips(change.after))


def closes_to_pods(change: Change) -> bool:
    """Whether a Node that accepts pods is closed to them. A Node on which nothing has been said is just joining."""
    before = change.before
    return change.after == UNROUTED and isinstance(before, NetworkCondition) and before.status != UNROUTED.status


def provider_behind(change: Change, snapshot: Snapshot) -> Provider | None:
    """The provider of the server of the Node that the change is about, of a joining Node that of the one that it will
    have; None for another cloud's, and for a change of something else."""
    if isinstance(change.after, NodeIdentity):
        return provider_of(change.after.provider_id)
    node = snapshot.node(change.owner)
    return provider_of(node.provider_id) if node else None


def address_blast_radius(view: GuardInput) -> Iterator[GuardResult]:
    """Changes are held when too many Nodes would lose addresses, or be closed to pods: Nodes that lack an address
    already, whose kubelets contradict the plan, or of which nothing is known count as well.

    If no network is configured, a joining Node loses the internal address that its kubelet reported. HCCM does the
    same, every cluster without a network starts that way, and it is reported as a consequence: it does not count. Nor
    does what a setting takes: ``by-default`` holds that for one Node as for all.
    """
    in_network = view.settings.network is not None
    taking = [
        change
        for change in view.plan.changes
        if takes_addresses(change) and not change.brings and (in_network or change.kind != ChangeKind.NODE_INITIALISE)
    ]
    for provider in Provider if taking else ():
        losing = {change.owner: change for change in taking if provider_behind(change, view.snapshot) is provider}
        keys, ours = [change.key for change in losing.values()], nodes_of(provider, view.snapshot, view.settings)
        most = {node.key for node, _ in ours} | losing.keys()
        leaves_none = any(_ips(c.before, _INTERNAL) and not _ips(c.after, _INTERNAL) for c in losing.values())
        left = most - losing.keys() - _without(provider, view, leaves_none=leaves_none)
        nodes, setting = _OF_PROVIDER[provider]
        yield from ADDRESSES.losses(keys, len(left), len(most), {"nodes": nodes, "setting": setting}, scope=nodes)
    closing = [change.key for change in view.plan.changes if closes_to_pods(change) and not change.brings]
    if closing:
        world = after_all(view.snapshot, [change for change in view.plan.changes if change.kind in _CLOSING])
        closed = sum(node.network_condition == UNROUTED for node, _ in cloud_nodes(world, view.settings))
        count = sum(1 for _ in cloud_nodes(view.snapshot, view.settings))
        yield from OPEN_TO_PODS.losses(closing, count - closed, count)


_CLOSING = frozenset({ChangeKind.NODE_INITIALISE, ChangeKind.NODE_NETWORK_CONDITION})
_OF_PROVIDER = {
    Provider.CLOUD: ("Nodes", "HCLOUD_NETWORK"),
    Provider.ROBOT: ("Nodes on Robot servers", "ROBOT_FORWARD_INTERNAL_IPS"),
}
_IPS = frozenset({AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP})
_INTERNAL = frozenset({AddressType.INTERNAL_IP})


def _without(provider: Provider, view: GuardInput, *, leaves_none: bool) -> set[str]:
    """Keys of our Nodes of a provider that lose nothing by this plan, and count all the same: those of which too little
    is known, whose kubelets contradict it, and, if some would be without any internal address, those that are."""
    refused = {note.key for note in view.plan.notes if note.kind is NoteKind.UNUSABLE_NODE_IP}
    return {
        node.key
        for node, server in nodes_of(provider, view.snapshot, view.settings)
        if _is_unknown(server, view.snapshot)
        or (node.key in refused and _publishes_its_own_ip(node))
        or (leaves_none and provider is Provider.CLOUD and _is_outside(node, server, view.snapshot))
    }


def _is_unknown(server: ServerKey, snapshot: Snapshot) -> bool:
    found = snapshot.find(server)
    return isinstance(found, Unknown) or (isinstance(found, Present) and bool(found.value.missing & ADDRESS_FIELDS))


def _is_outside(node: Node, server: ServerKey, snapshot: Snapshot) -> bool:
    """Whether the Node has no address in the network that is configured, as it lost it or never had one."""
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    found = snapshot.find(server)
    if network is None or not isinstance(found, Present) or _ips(node.addresses, _INTERNAL):
        return False
    return all(place != network.id for place, _ in found.value.private_ips)


def _publishes_its_own_ip(node: Node) -> bool:
    """Whether the Node publishes what its kubelet was started with: that is evidence against any other answer."""
    ips = () if node.provided_node_ip is None else parse_node_ips(node.provided_node_ip)
    return isinstance(ips, tuple) and not _ips(node.addresses).isdisjoint(map(str, ips))


def _ips(side: object, types: Collection[AddressType] = _IPS) -> set[str]:
    """The addresses of these types on a side of a change of a Node; empty if it is about something else."""
    found = side.addresses if isinstance(side, NodeIdentity) else side
    of_node = [each for each in found if isinstance(each, NodeAddress)] if isinstance(found, tuple) else []
    return {address.address for address in of_node if address.type in types}


def route_blast_radius(view: GuardInput) -> Iterator[GuardResult]:
    """Removals of many routes to existing servers are held, and each removal of a route to a server that is no Node.

    A route that leads nowhere is free, and so is one that leads to another Node and only gets the right gateway. A swap
    takes the route away from whichever server has it, as a removal does.
    """
    going: dict[str, ChangeKind] = {c.key: c.kind for c in view.plan.changes if c.kind in _TAKING_ROUTES}
    routes, cidr, network = view.desired.routes, view.settings.routed_range, view.desired.routes.network
    if not going or network is None or cidr is None:
        return
    removed = {key: found for key, found in routes.by_key.items() if going.get(key) == ChangeKind.ROUTE_DELETE}
    living = [key for key, decided in removed.items() if decided.action is not RouteAction.DEAD]
    within, free = routes_within(view), free_routes(view)
    most = max(len(within), len(view.setbacks.peak(OF_ROUTES, network.id) | (free & within.keys())))
    too_many = ROUTES.losses(living, len(within) - len(living), most, {"cidr": str(cidr)})
    yield from too_many
    for key, found in removed.items() if not too_many else ():
        if found.action is RouteAction.STRANGER and found.holder is not None:
            of_server = {"destination": str(found.route.destination), "server": found.holder.what}
            yield GuardResult.of(rows.ROUTE_OF_SERVER, (key,), of_server, value=1, limit=0)
    for claim in routes.claims:
        key = route_key(network.id, claim.destination)
        if claim.holder is not None and claim.holder.holding is AddressHolding.SERVER and key in going:
            of_server = {"destination": str(claim.destination), "server": claim.holder.what}
            found_on = of_server | {"node": claim.endpoint.node.name}
            yield GuardResult.of(rows.ROUTE_OF_WRONG_SERVER, (key,), found_on, value=1, limit=0)


_TAKING_ROUTES = frozenset({ChangeKind.ROUTE_DELETE, ChangeKind.ROUTE_REPLACE})


def cluster_cidr(view: GuardInput) -> Iterator[GuardResult]:
    """Removals of routes wait while the configured cluster CIDR cannot be the cluster's: a mistyped one may cover the
    routes of others."""
    mismatched = view.desired.routes.mismatched
    keys = tuple(change.key for change in view.plan.changes if change.kind == ChangeKind.ROUTE_DELETE)
    if mismatched is not None and keys:
        yield GuardResult.of(mismatched.rule, keys, mismatched.facts)
