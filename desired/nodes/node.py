"""Decisions on each Node: its stage, and its desired state.

| Node | Its server | Desired |
|---|---|---|
| has the uninitialized taint | found by providerID or name | providerID, labels, addresses; the taint is removed last |
| is initialized | found by its providerID | labels, addresses and shutdown taint follow it; set zones stay |
| is initialized | absent | deleted, once the absence is proven |
| any | ambiguous, foreign, unknown | left alone, with a note |
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from desired.model.clocks import shown_moment
from desired.model.key import Key, ObjectKind
from desired.model.settings import Controller, Settings
from desired.model.snapshot import (
    REGISTERED_AGAIN,
    Node,
    Readiness,
    Server,
    ServerStatus,
    Snapshot,
)
from desired.model.taint import has_shutdown_taint, with_shutdown_taint
from desired.names import TAINT_UNINITIALIZED
from desired.nodes.addresses import (
    DesiredAddresses,
    Others,
    UndecidedAddresses,
    addresses_not_forwarded,
    choose_hostname,
    desired_addresses,
    untouched_addresses,
)
from desired.nodes.disruption import is_going_away
from desired.nodes.labels import Labels, desired_labels, label_values, owned_labels, untouched_labels
from desired.nodes.matching import Gone, Match, Matched, Matcher, Missed, is_ignored
from desired.nodes.out_of_service import Detachment, InService, detachment_of, in_service, still_out_of_service
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.evidence import AbsenceProof
from desired.plan.notes import Note, NoteKind
from desired.rules import nodes as rules
from desired.rules.nodes import Stage
from desired.rules.rule import Decided, Plain
from desired.section import UNMANAGED, Unknown, Unmanaged
from desired.syntax.provider_id import Provider, ServerKey, provider_id_of, server_key

ShutDown = Decided[bool | Unmanaged]
"""Whether the Node should have the shutdown taint; UNMANAGED if it stays as it is."""
_ROWS_TOLD_ONCE = (rules.NETWORK_UNKNOWN, rules.NETWORK_ABSENT)
"""Of a network that could not be read: told once, and not on each Node that is initialized."""


@dataclass(frozen=True, slots=True)
class DesiredNode:
    """All that is decided on one Node; plan, notes and explanation read it."""

    stage: Decided[Stage]
    match: Match | None
    """None for a Node that is ignored: it is not looked up."""
    labels: Labels
    addresses: DesiredAddresses
    shut_down: ShutDown
    left: Decided[Unmanaged] | None
    """Why nothing is written; None if it is initialized or kept in sync."""
    notes: tuple[Note, ...]
    """What a person should know."""


@dataclass(frozen=True, slots=True)
class NodeOnServer(DesiredNode):
    """A Node whose server exists."""

    match: Matched

    @property
    def server(self) -> Server:
        """Its server."""
        return self.match.server


@dataclass(frozen=True, slots=True)
class UninitializedNode(NodeOnServer):
    """A Node that can be initialized."""

    identity: NodeIdentity


@dataclass(frozen=True, slots=True)
class InitializedNode(NodeOnServer):
    """A Node that is kept in sync with its server."""

    in_service: InService | None
    """Whether the out-of-service taint goes; None if we have set none."""


@dataclass(frozen=True, slots=True)
class OrphanedNode(DesiredNode):
    """A Node to be deleted, or to be tainted before."""

    lost: LostNode
    detachment: Detachment | None
    """How it gets rid of its volumes before; None if nothing depends on that."""


@dataclass(frozen=True, slots=True)
class UnmanagedNode(DesiredNode):
    """A Node that stays as it is."""


def is_uninitialized(node: Node) -> bool:
    """Whether the Node waits for a cloud controller: it has the uninitialized taint, with any value and effect."""
    return any(taint.key == TAINT_UNINITIALIZED for taint in node.taints)


def current_identity(node: Node, settings: Settings) -> NodeIdentity:
    """The part of a Node that its initialization sets, as it is."""
    return NodeIdentity(node.provider_id, owned_labels(node.labels, settings), node.taints, node.addresses)


def shut_down(server: Server, node: Node, settings: Settings) -> ShutDown:
    """Whether ``node``, the server's, should have the shutdown taint; UNMANAGED while the server is starting or
    stopping, and if the controller of the lifecycle of Nodes is off. A Robot server is not asked for while its
    kubelet reports Ready: it is on then."""
    if Controller.LIFECYCLE not in settings.controllers:
        return _off(Controller.LIFECYCLE)
    if server.provider is Provider.ROBOT and node.ready is Readiness.TRUE:
        return Decided(False, rules.POWER_READY, {"server": server.key.name})
    facts = {"server": server.key.name, "status": server.status}
    if server.status in (ServerStatus.OFF, ServerStatus.RUNNING):
        return Decided(server.status is ServerStatus.OFF, rules.POWER, facts)
    return Decided(UNMANAGED, rules.POWER_CHANGING, facts)


def _off(controller: Controller) -> Decided[Unmanaged]:
    return Decided(UNMANAGED, rules.CONTROLLER_OFF, {"controller": controller})


def notes_of(node: Node, decisions: Iterable[Decided[object]]) -> tuple[Note, ...]:
    """Notes that these decisions on a Node say, each once."""
    return tuple(dict.fromkeys(note for decided in decisions if (note := decided.note(node.key))))


def deletable_server(node: Node, snapshot: Snapshot, settings: Settings) -> ServerKey | None:
    """The server on whose absence the deletion of ``node`` depends; None if it is never deleted from here, or its
    deletion was asked for."""
    server = server_key(node.provider_id)
    is_read = server is None or server.provider is Provider.CLOUD or snapshot.robot is not None
    return server if is_read and _may_be_deleted(node, settings) else None


def _may_be_deleted(node: Node, settings: Settings) -> bool:
    """Whether the deletion of ``node`` is up to this controller, and was not asked for."""
    is_on = Controller.LIFECYCLE in settings.controllers
    return is_on and node.deleted_at is None and not is_ignored(node, settings)


def orphaned_node(node: Node, gone: Gone, snapshot: Snapshot, settings: Settings) -> OrphanedNode | None:
    """``node`` as one to be deleted; None while its kubelet reports, and if its deletion was asked for."""
    if not is_going_away(node):
        return None
    stage = Decided(Stage.DEPARTING, rules.SERVER_GONE, gone.why.facts)
    stays = _not_managed(stage)
    labels, addresses = untouched_labels(node.labels, stays, settings), untouched_addresses(node.addresses, stays)
    lost = LostNode(current_identity(node, settings), AbsenceProof.of(node, gone.server))
    found = detachment_of(node, gone.server, snapshot, settings)
    notes: tuple[Note, ...] = ()
    if found is not None and found.taint is None and isinstance(found.attached, Unknown):
        notes = (rules.ATTACHMENTS_UNREAD.note(node.key, error=found.attached.why),)
    return OrphanedNode(stage, gone, labels, addresses, stays, stays, notes, lost, found)


class NodeRules:
    """Decides on the Nodes of one snapshot."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self._snapshot, self._settings = snapshot, settings
        self._matcher, self._others = Matcher(snapshot), Others(snapshot)

    def decide(self, node: Node) -> DesiredNode:
        """The decision on ``node``, which is of the snapshot."""
        settings = self._settings
        if settings.ignore_nodes is not None and is_ignored(node, settings):
            ignored = Decided(Stage.IGNORED, rules.IGNORED, {"selector": settings.ignore_nodes.text})
            return self._left(node, ignored, None, told=ignored)
        joins = is_uninitialized(node)
        if node.provider_id is None and not joins:
            unclaimed = self._matcher.unclaimed(node)
            return self._left(node, unclaimed.why, unclaimed, told=unclaimed.why)
        match self._matcher.match(node):
            case Matched() as matched:
                return self._on_server(node, matched, joins=joins)
            case Gone() as gone:
                return self._gone(node, gone, joins=joins)
            case missed:
                return self._missed(node, missed, joins=joins)

    def _on_server(self, node: Node, matched: Matched, *, joins: bool) -> DesiredNode:
        """A Node that is initialized from its server, or kept in sync with it.

        A providerID that is set is kept, and so is an owned label that the server has no value for. Undecided addresses
        keep a joining Node tainted, as one with a wrong address is worse than one that waits; any other keeps those
        that it has.
        """
        settings, server = self._settings, matched.server
        here, row = (Stage.JOINING, rules.JOINING) if joins else (Stage.SETTLED, rules.SETTLED)
        stage = _deleting(node) or Decided(here, row, {"server": server.key.name})
        power = shut_down(server, node, settings)
        back = None if joins else in_service(node, server, self._snapshot, settings)
        told: list[Decided[object]] = [] if back is None else [back]
        addresses: DesiredAddresses | UndecidedAddresses
        if Controller.NODE in settings.controllers:
            labels = desired_labels(server, node.labels, settings, joins=joins)
            hostname = choose_hostname(node, server, self._others, joins=joins)
            addresses = desired_addresses(node, server, hostname, self._snapshot, settings, self._others)
            told += (*labels.values(), hostname, *addresses_not_forwarded(node, server, settings))
        else:
            addresses = _off(Controller.NODE)
            labels = untouched_labels(node.labels, addresses, settings)
        if isinstance(addresses, Decided):
            if joins:
                return self._left(node, stage, matched, addresses, told=addresses)
            if addresses.rule not in _ROWS_TOLD_ONCE:
                told.append(addresses)
            addresses = untouched_addresses(node.addresses, addresses)
        notes = notes_of(node, told)
        if not joins:
            return InitializedNode(stage, matched, labels, addresses, power, None, notes, back)
        taints = tuple(taint for taint in node.taints if taint.key != TAINT_UNINITIALIZED)
        if not isinstance(power.value, Unmanaged) and power.value is not has_shutdown_taint(taints):
            taints = with_shutdown_taint(taints, wanted=power.value)  # in the same write: nothing is scheduled before
        provider_id = node.provider_id or provider_id_of(server.key)
        identity = NodeIdentity(provider_id, label_values(labels), taints, addresses.values)
        return UninitializedNode(stage, matched, labels, addresses, power, None, notes, identity)

    def _gone(self, node: Node, gone: Gone, *, joins: bool) -> DesiredNode:
        facts, controllers = gone.why.facts, self._settings.controllers
        reports = Decided(Stage.UNMATCHED, rules.GONE_READY, facts)
        if gone.near:
            namesake = gone.near[0].value.key.name
            reports = Decided(Stage.UNMATCHED, rules.GONE_REPLACED, {**facts, "namesake": namesake})
        if Controller.LIFECYCLE in controllers:
            stage = _deleting(node, facts) or reports
            orphaned = orphaned_node(node, gone, self._snapshot, self._settings)
            return orphaned or self._left(node, stage, gone, told=stage)
        told = Decided(None, rules.GONE_JOINING, facts) if joins and Controller.NODE in controllers else None
        if is_going_away(node):
            departing = Decided(Stage.DEPARTING, rules.SERVER_GONE, facts)
            return self._left(node, departing, gone, _off(Controller.LIFECYCLE), told=told)
        return self._left(node, _deleting(node) or reports, gone, told=told)

    def _missed(self, node: Node, missed: Missed, *, joins: bool) -> DesiredNode:
        """A Node without a server that is known. One that is initialized is noted if that is about this Node: a gap in
        the list of servers is reported once, with the list."""
        kind, is_whole = missed.why.rule.of, self._snapshot.servers.complete
        if joins:
            is_told = Controller.NODE in self._settings.controllers
        else:
            is_told = kind is not NoteKind.UNSUPPORTED and (is_whole or kind is not NoteKind.UNKNOWN)
        stage = missed.why if missed.why.value is Stage.FOREIGN else _deleting(node) or missed.why
        return self._left(node, stage, missed, told=missed.why if is_told else None)

    def _left(
        self,
        node: Node,
        stage: Decided[Stage],
        match: Match | None,
        why: Decided[Unmanaged] | None = None,
        *,
        told: Decided[object] | None,
    ) -> UnmanagedNode:
        """The Node as it is. ``why`` keeps it so, if its stage does not."""
        why = why or _not_managed(stage)
        labels, addresses = untouched_labels(node.labels, why, self._settings), untouched_addresses(node.addresses, why)
        tainted = still_out_of_service(node) if _may_be_deleted(node, self._settings) else None
        notes = notes_of(node, filter(None, (told, tainted)))
        return UnmanagedNode(stage, match, labels, addresses, why, why, notes)


def _not_managed(stage: Decided[Stage]) -> Decided[Unmanaged]:
    return Decided(UNMANAGED, rules.NOT_MANAGED, {"stage": stage.value})


def _deleting(node: Node, lost: Mapping[str, Plain] | None = None) -> Decided[Stage] | None:
    """The stage of a Node whose deletion was asked for; None for any other. ``lost`` are the facts of a server that is
    gone."""
    if node.deleted_at is None:
        return None
    holders = f"finalizers {', '.join(node.finalizers)}" if node.finalizers else "the API server"
    facts = {"since": shown_moment(node.deleted_at), "holders": holders, **(lost or {})}
    return Decided(Stage.DELETING, rules.DELETING if lost is None else rules.GONE_DELETING, facts)


def desired_nodes(snapshot: Snapshot, settings: Settings) -> tuple[Mapping[str, DesiredNode], tuple[Note, ...]]:
    """Name of each Node that could be read → the decision on it; and all notes."""
    nodes = NodeRules(snapshot, settings)
    desired = {node.name: nodes.decide(node) for node in snapshot.nodes}
    unreadable = (
        Note(Key(ObjectKind.NODE, name), NoteKind.UNREADABLE, why)
        for name, why in snapshot.nodes.unreadable.items()
        if why is not REGISTERED_AGAIN  # nothing is wrong with it, and the next pass decides on it
    )
    return desired, (*unreadable, *(note for wanted in desired.values() for note in wanted.notes))
