"""Planner: computes the desired state from the rules of each kind of object, and the changes that lead to it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from desired.load_balancers.changes import load_balancer_changes
from desired.load_balancers.desired import DesiredLoadBalancer, DesiredServices, desired_load_balancers
from desired.load_balancers.lifecycle import orphan_deletion, release_changes
from desired.load_balancers.matching import BalancerMatch
from desired.load_balancers.notes import notes_on_stuck_services
from desired.load_balancers.orphans import Orphan
from desired.load_balancers.prices import with_costs
from desired.model.key import Key, ObjectKind
from desired.model.route import Route
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.nodes.changes import node_changes
from desired.nodes.node import DesiredNode, desired_nodes
from desired.plan.change import Change, LostNode, Plan
from desired.plan.evidence import AddressFree, Evidence, ServerGone
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note
from desired.plan.setbacks import NO_SETBACKS, Setbacks
from desired.routes.changes import condition_changes, route_changes
from desired.routes.desired import DesiredRoutes, desired_routes
from desired.routes.owners import Gateways
from desired.rules.guards import CLUSTER_UNREAD, NETWORK_REMEMBERED
from desired.section import Absent, Present, grouped
from desired.syntax.bounds import shown_text
from desired.syntax.provider_id import Provider, ServerKey
from desired.unselected import notes_on_unselected


@dataclass(frozen=True, slots=True)
class DesiredState:
    """The desired state of all objects, by name, and notes on those that are left alone."""

    nodes: Mapping[str, DesiredNode]
    services: DesiredServices = field(default_factory=dict)
    """By ``NAMESPACE/NAME``: those that want a load balancer, and those that have to release one."""
    routes: DesiredRoutes = field(default_factory=DesiredRoutes)
    notes: tuple[Note, ...] = ()
    matches: Mapping[str, BalancerMatch] = field(default_factory=dict)
    """Of each of ``services``: which load balancer is its."""
    orphans: tuple[Orphan, ...] = ()
    """Load balancers of this cluster that no Service wants."""

    @property
    def vanished(self) -> tuple[Orphan, ...]:
        """Those that a vanished Service has not released."""
        return tuple(orphan for orphan in self.orphans if orphan.is_vanished)


def compute_desired(
    snapshot: Snapshot,
    settings: Settings,
    setbacks: Setbacks = NO_SETBACKS,
    matches: Mapping[str, BalancerMatch] | None = None,
) -> DesiredState:
    """The desired state. Pure: it depends on the snapshot, the settings, and the setbacks of changes. ``matches`` are
    those of this snapshot, if they are known."""
    notes = tuple(_notes_on_cluster(snapshot, settings))
    nodes, why = desired_nodes(snapshot, settings)
    if not settings.controllers.isdisjoint({Controller.NODE, Controller.LIFECYCLE}):
        notes = (*notes, *why, *notes_on_unselected(snapshot, settings))
    failed = setbacks.failed - setbacks.unclear
    balancers = desired_load_balancers(snapshot, settings, nodes, matches, failed)
    routes, of_routes = desired_routes(snapshot, settings, nodes, setbacks.failed)
    stuck = notes_on_stuck_services(snapshot)
    return DesiredState(
        nodes,
        balancers.services,
        routes,
        (*notes, *balancers.notes, *stuck, *of_routes),
        balancers.matches,
        balancers.orphans,
    )


def _notes_on_cluster(snapshot: Snapshot, settings: Settings) -> Iterator[Note]:
    """Notes if the cluster's identity is unknown, so that it may own nothing in the cloud, and if the network is known
    by its remembered id alone."""
    if not isinstance(snapshot.cluster_uid, Present):
        yield CLUSTER_UNREAD.note(Key(ObjectKind.CLUSTER), error=snapshot.cluster_uid.why)
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is not None and settings.network not in (None, network.name, str(network.id)):
        wanted = shown_text(settings.network or "")
        yield NETWORK_REMEMBERED.note(
            Key(ObjectKind.NETWORK, network.id), wanted=wanted, id=network.id, name=network.name
        )


def diff(snapshot: Snapshot, desired: DesiredState, settings: Settings) -> Plan:
    """The plan that would turn the state of ``snapshot`` into the ``desired`` one. Guards come later."""
    changes = [
        change
        for name, wanted in desired.nodes.items()
        for change in node_changes(snapshot.nodes.items[name], wanted, settings)
    ]
    for lb in desired.services.values():
        if isinstance(lb, DesiredLoadBalancer):
            changes += load_balancer_changes(lb, snapshot)
        else:
            changes += release_changes(lb, snapshot)
    changes += [orphan_deletion(orphan, snapshot) for orphan in desired.vanished]
    changes += route_changes(desired.routes)
    changes += condition_changes(desired.routes, snapshot, tuple(changes))
    ordered = _after_their_targets(changes)
    return Plan(tuple(with_costs(with_evidence(ordered, snapshot), snapshot)), desired.notes)


def _after_their_targets(changes: Sequence[Change]) -> Iterator[Change]:
    """The changes, in which a Node is deleted only after the removal of its server from load balancers was tried; of a
    dedicated server, after it has happened: it is a target by addresses, and without the Node its owner is unknown."""
    removals = grouped(
        (change.server, change.key)
        for change in changes
        if change.kind == ChangeKind.LB_TARGET and change.verb is Verb.REMOVE and change.server
    )
    for change in changes:
        if not isinstance(change.before, LostNode):
            yield change
            continue
        proof = change.before.proof
        removed = sorted(removals.get(proof.server, ()))
        if proof.provider is Provider.ROBOT:
            yield replace(change, depends_on=(*change.depends_on, *removed))
        else:
            yield replace(change, follows=(*change.follows, *removed))


def with_evidence(changes: Iterable[Change], snapshot: Snapshot) -> Iterator[Change]:
    """The changes, of which those rest on an absence as well that take away a target or a route because a server is
    gone. One removal is as much an outage as another: each needs the proof that the deletion of a Node needs."""
    gateways = Gateways(snapshot)
    for change in changes:
        presumed = tuple(_presumed(change, snapshot, gateways))
        yield replace(change, presumed=presumed) if presumed else change


def _presumed(change: Change, snapshot: Snapshot, gateways: Gateways) -> Iterator[Evidence]:
    """For a target it is the server that the list lacks, whether a Node claims it or not. For a route it is whichever
    server is known to have had the gateway, as long as no list shows any with it."""
    before = change.before
    if isinstance(before, Route):
        if not gateways.is_held(before.gateway):
            yield AddressFree(before.gateway)
            holders = gateways.last_holders(before.gateway, before.destination)
            yield from (ServerGone(ServerKey(Provider.CLOUD, server_id)) for server_id in holders)
    elif before is not None and change.server is not None and isinstance(snapshot.find(change.server), Absent):
        yield ServerGone(change.server)


def compute_plan(snapshot: Snapshot, settings: Settings) -> Plan:
    """Desired state and difference in one step."""
    return diff(snapshot, compute_desired(snapshot, settings), settings)
