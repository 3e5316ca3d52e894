"""What is decided on each Node: its stage, and what it should be.

| Node | Its server | Desired |
|---|---|---|
| has the uninitialized taint | found by providerID or name | providerID, labels, addresses; the taint is removed last |
| is initialized | found by its providerID | labels, addresses and shutdown taint follow it; set zones stay |
| is initialized | absent | deleted, once the absence is proven |
| any | ambiguous, foreign, unknown | left alone, with a note |
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import fields as fields_of

from desired.model.clocks import shown_moment
from desired.model.key import Key, ObjectKind
from desired.model.settings import Controller, Settings
from desired.model.snapshot import (
    REGISTERED_AGAIN,
    AddressType,
    Node,
    NodeAddress,
    Readiness,
    Server,
    ServerStatus,
    Snapshot,
)
from desired.model.taint import Taint, has_shutdown_taint, with_shutdown_taint
from desired.names import TAINT_UNINITIALIZED
from desired.nodes.addresses import (
    DesiredAddresses,
    Others,
    choose_hostname,
    desired_addresses,
    not_forwarded,
    untouched_addresses,
)
from desired.nodes.disruption import disruption_of, is_going_away
from desired.nodes.labels import Labels, desired_labels, label_values, owned_labels, untouched_labels
from desired.nodes.matching import Gone, Match, Matched, Missed, is_ignored, matcher_of
from desired.nodes.out_of_service import Detachment, InService, detachment_of, in_service, still_out_of_service
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.evidence import AbsenceProof
from desired.plan.notes import Note, NoteKind
from desired.rules import nodes as rules
from desired.rules.nodes import Stage
from desired.rules.rule import Decided, Plain, Reason
from desired.section import UNMANAGED, Unknown, Unmanaged
from desired.syntax.provider_id import Provider, ServerKey, provider_id_of, server_key

ShutDown = Decided[bool | Unmanaged]
"""Whether the Node should have the shutdown taint; UNMANAGED where it stays as it is."""
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
    """Why nothing is written of it; None where it is initialized or kept in sync."""
    announced: Reason | None
    """How its disruption was announced (a planned disruption); None when it was not."""
    deletable: ServerKey | None
    """The server on whose absence its deletion depends; None when it is never deleted from here, or its deletion was
    asked for."""


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
    """Whether the out-of-service taint goes; None where we have set none."""


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
    stopping, and where the controller of the lifecycle of Nodes is off. A Robot server is not asked for while its
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


def _initial_taints(node: Node, shut_down: bool | Unmanaged) -> tuple[Taint, ...]:
    """The taints of a Node that is initialized: the shutdown taint comes or goes in the same write, so that nothing is
    scheduled between two."""
    taints = tuple(taint for taint in node.taints if taint.key != TAINT_UNINITIALIZED)
    if isinstance(shut_down, Unmanaged) or shut_down is has_shutdown_taint(taints):
        return taints
    return with_shutdown_taint(taints, wanted=shut_down)


def notes_of(node: Node, decisions: Iterable[Decided[object]]) -> tuple[Note, ...]:
    """Notes that these decisions on a Node say, each once."""
    found = (decided.note(node.key) for decided in decisions if decided.rule.of is not None)
    return tuple(dict.fromkeys(note for note in found if note is not None))


DecidedNode = tuple[DesiredNode, tuple[Note, ...]]
"""What is decided on a Node, and notes on it."""


class NodeRules:
    """Decides on the Nodes of one snapshot."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self._snapshot, self._settings = snapshot, settings
        self._matcher, self._others = matcher_of(snapshot), Others(snapshot)

    def decide(self, node: Node) -> DecidedNode:
        """What is decided on ``node``, which is of the snapshot."""
        settings = self._settings
        if settings.ignore_nodes is not None and is_ignored(node, settings):
            ignored = Decided(Stage.IGNORED, rules.IGNORED, {"selector": settings.ignore_nodes.text})
            return self._left(node, ignored, None), notes_of(node, (ignored,))
        joins = is_uninitialized(node)
        if node.provider_id is None and not joins:
            unclaimed = self._matcher.unclaimed(node)
            return self._left(node, unclaimed.why, unclaimed), notes_of(node, (unclaimed.why,))
        match self._matcher.match(node):
            case Matched() as matched:
                return self._joining(node, matched) if joins else self._settled(node, matched)
            case Gone() as gone:
                return self._gone(node, gone, joins=joins)
            case missed:
                return self._missed(node, missed, joins=joins)

    def orphaned(self, node: Node, gone: Gone) -> OrphanedNode | None:
        """``node`` as one to be deleted; None while its kubelet reports, and where its deletion was asked for."""
        if not is_going_away(node):
            return None
        left = self._left(node, Decided(Stage.DEPARTING, rules.SERVER_GONE, gone.why.facts), gone)
        fields = {each.name: getattr(left, each.name) for each in fields_of(left)}
        lost = LostNode(current_identity(node, self._settings), AbsenceProof.of(node, gone.server))
        detachment = detachment_of(node, gone.server, self._snapshot, self._settings)
        return OrphanedNode(**fields, lost=lost, detachment=detachment)

    def _joining(self, node: Node, matched: Matched) -> DecidedNode:
        """A Node that is initialized from its server.

        A providerID that is set is kept, and so is an owned label that the server has no value for. Where addresses are
        undecided nothing is applied and the Node stays tainted, as a Node with a wrong address is worse than one that
        waits.
        """
        settings, server = self._settings, matched.server
        stage = _deleting(node) or Decided(Stage.JOINING, rules.JOINING, {"server": server.key.name})
        if Controller.NODE not in settings.controllers:
            return self._left(node, stage, matched, _off(Controller.NODE)), ()
        hostname = choose_hostname(node, server, self._others, joins=True)
        addresses = desired_addresses(node, server, hostname, self._snapshot, settings, self._others)
        if isinstance(addresses, Decided):
            return self._left(node, stage, matched, addresses), notes_of(node, (addresses,))
        labels = desired_labels(server, node.labels, settings, joins=True)
        power = shut_down(server, node, settings)
        identity = NodeIdentity(
            node.provider_id or provider_id_of(server.key),
            label_values(labels),
            _initial_taints(node, power.value),
            addresses.values,
        )
        notes = notes_of(node, (*labels.values(), hostname, *_not_forwarded(node, server, settings)))
        ends = self._announced(node), self._deletable(node)
        return UninitializedNode(stage, matched, labels, addresses, power, None, *ends, identity), notes

    def _settled(self, node: Node, matched: Matched) -> DecidedNode:
        """A Node that is kept in sync with its server.

        No address is removed because the network could not be read, none because the kubelet's ``--node-ip`` is wrong,
        and none is added that may be another server's.
        """
        settings, server = self._settings, matched.server
        stage = _deleting(node) or Decided(Stage.SETTLED, rules.SETTLED, {"server": server.key.name})
        power, ends = shut_down(server, node, settings), (self._announced(node), self._deletable(node))
        back = in_service(node, server, self._snapshot, settings)
        on_taint: list[Decided[object]] = [] if back is None else [back]
        if Controller.NODE not in settings.controllers:
            off = _off(Controller.NODE)
            labels, stay = untouched_labels(node.labels, off, settings), untouched_addresses(node.addresses, off)
            return InitializedNode(stage, matched, labels, stay, power, None, *ends, back), notes_of(node, on_taint)
        labels = desired_labels(server, node.labels, settings, joins=False)
        hostname = choose_hostname(node, server, self._others, joins=False)
        addresses = desired_addresses(node, server, hostname, self._snapshot, settings, self._others)
        decisions: list[Decided[object]] = [*on_taint, *labels.values(), hostname]
        decisions += _not_forwarded(node, server, settings)
        if isinstance(addresses, Decided):
            decisions += () if addresses.rule in _ROWS_TOLD_ONCE else (addresses,)
            addresses = untouched_addresses(node.addresses, addresses)
        return InitializedNode(stage, matched, labels, addresses, power, None, *ends, back), notes_of(node, decisions)

    def _gone(self, node: Node, gone: Gone, *, joins: bool) -> DecidedNode:
        facts, settings = gone.why.facts, self._settings
        if Controller.LIFECYCLE in settings.controllers:
            orphan = self.orphaned(node, gone)
            if orphan is not None:
                return orphan, notes_of(node, _unread(orphan))
            stage = _deleting(node, facts) or _ready(gone)
            return self._left(node, stage, gone), notes_of(node, (stage,))
        stage = _deleting(node) or _ready(gone)
        left = None
        if is_going_away(node):
            stage, left = Decided(Stage.DEPARTING, rules.SERVER_GONE, facts), _off(Controller.LIFECYCLE)
        is_told = joins and Controller.NODE in settings.controllers
        notes = notes_of(node, (Decided(None, rules.GONE_JOINING, facts),)) if is_told else ()
        return self._left(node, stage, gone, left), notes

    def _missed(self, node: Node, missed: Missed, *, joins: bool) -> DecidedNode:
        """A Node without a server that is known. One that is initialized is noted where that is about this Node: a gap
        in the list of servers is reported once, with the list."""
        row, is_whole = missed.why.rule, self._snapshot.servers.complete
        if joins:
            is_told = Controller.NODE in self._settings.controllers
        else:
            is_told = row.of is not NoteKind.UNSUPPORTED and (is_whole or row.of is not NoteKind.UNKNOWN)
        is_foreign = missed.why.value is Stage.FOREIGN
        left = self._left(node, missed.why if is_foreign else _deleting(node) or missed.why, missed)
        return left, notes_of(node, (missed.why,)) if is_told else ()

    def _left(
        self, node: Node, stage: Decided[Stage], match: Match | None, why: Decided[Unmanaged] | None = None
    ) -> UnmanagedNode:
        """The Node as it is. ``why`` is what keeps it so, where that is not its stage."""
        left = why or Decided(UNMANAGED, rules.NOT_MANAGED, {"stage": stage.value})
        labels = untouched_labels(node.labels, left, self._settings)
        addresses = untouched_addresses(node.addresses, left)
        ends = self._announced(node), self._deletable(node)
        return UnmanagedNode(stage, match, labels, addresses, left, left, *ends)

    def _announced(self, node: Node) -> Reason | None:
        return disruption_of(node, self._snapshot, self._settings)

    def _deletable(self, node: Node) -> ServerKey | None:
        settings, key = self._settings, server_key(node.provider_id)
        if (
            Controller.LIFECYCLE not in settings.controllers
            or is_ignored(node, settings)
            or node.deleted_at is not None
        ):
            return None
        return None if key and key.provider is Provider.ROBOT and self._snapshot.robot is None else key


def _unread(orphan: OrphanedNode) -> Iterator[Decided[object]]:
    """That no taint comes, as it is not known whether volumes are attached."""
    found = orphan.detachment
    if found is not None and found.taint is None and isinstance(found.attached, Unknown):
        yield Decided(UNMANAGED, rules.ATTACHMENTS_UNREAD, {"error": found.attached.why})


def _ready(gone: Gone) -> Decided[Stage]:
    """The stage of a Node whose kubelet reports, although the list of servers lacks its server."""
    if gone.near:
        facts = {**gone.why.facts, "namesake": gone.near[0].value.key.name}
        return Decided(Stage.UNMATCHED, rules.GONE_REPLACED, facts)
    return Decided(Stage.UNMATCHED, rules.GONE_READY, gone.why.facts)


def _deleting(node: Node, lost: Mapping[str, Plain] | None = None) -> Decided[Stage] | None:
    """The stage of a Node whose deletion was asked for; None for any other. ``lost`` are the facts of a server that is
    gone."""
    if node.deleted_at is None:
        return None
    holders = f"finalizers {', '.join(node.finalizers)}" if node.finalizers else "the API server"
    facts = {"since": shown_moment(node.deleted_at), "holders": holders, **(lost or {})}
    return Decided(Stage.DELETING, rules.DELETING if lost is None else rules.GONE_DELETING, facts)


def _not_forwarded(node: Node, server: Server, settings: Settings) -> Iterator[Decided[NodeAddress]]:
    """The InternalIPs of a Robot server's Node that are not kept."""
    if server.provider is Provider.ROBOT and settings.forward_internal_ips:
        for address in node.addresses:
            if address.type == AddressType.INTERNAL_IP:
                found = not_forwarded(address, server, settings.address_family)
                if found is not None:
                    yield found


def desired_nodes(snapshot: Snapshot, settings: Settings) -> tuple[Mapping[str, DesiredNode], tuple[Note, ...]]:
    """Name of each Node that could be read → what is decided on it; and notes on what is left alone."""
    nodes = NodeRules(snapshot, settings)
    desired: dict[str, DesiredNode] = {}
    notes = [
        Note(Key(ObjectKind.NODE, name), NoteKind.UNREADABLE, why)
        for name, why in snapshot.nodes.unreadable.items()
        if why is not REGISTERED_AGAIN  # nothing is wrong with it, and the next pass decides on it
    ]
    for node in snapshot.nodes:
        desired[node.name], why = nodes.decide(node)
        notes += why
        if isinstance(desired[node.name], UnmanagedNode) and Controller.LIFECYCLE in settings.controllers:
            stays = None if is_ignored(node, settings) or node.deleted_at else still_out_of_service(node)
            notes += notes_of(node, () if stays is None else (stays,))
    return desired, tuple(notes)
