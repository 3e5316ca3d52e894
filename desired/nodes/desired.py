"""Desired state of each Node: to be initialized, kept in sync with its server, or deleted once its server is proven
gone.

| Node | Its server | Desired state |
|---|---|---|
| has the uninitialized taint | found by providerID or name | providerID, labels, addresses; the taint is removed last |
| is initialized | found by its providerID | labels, addresses and shutdown taint follow it; set zones stay |
| is initialized | absent | deleted, once the absence is proven |
| any | ambiguous, foreign, unknown | left alone, with a note |
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from desired.model.absence import is_going_away, proof_of_absence
from desired.model.key import Key, ObjectKind
from desired.model.settings import Controller, Settings
from desired.model.snapshot import (
    AddressType,
    Node,
    NodeAddress,
    Readiness,
    Server,
    ServerStatus,
    Snapshot,
    Taint,
    has_shutdown_taint,
    with_shutdown_taint,
)
from desired.names import TAINT_UNINITIALIZED
from desired.nodes.addresses import (
    DesiredAddresses,
    Others,
    choose_hostname,
    desired_addresses,
    not_forwarded,
)
from desired.nodes.labels import Labels, desired_labels, owned_labels, values_of
from desired.nodes.likely import LikelyServers
from desired.nodes.matching import (
    Ambiguous,
    Foreign,
    Gone,
    Malformed,
    Matched,
    Matcher,
    Miss,
    Unmatched,
    Unsupported,
    is_ignored,
    matcher_of,
)
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.notes import Note, NoteKind
from desired.rules import nodes as rules
from desired.rules.rule import Decided
from desired.section import UNMANAGED, Unknown, Unmanaged
from desired.syntax.provider_id import Provider, ServerKey, provider_id_of


def notes_on(node: Node, decisions: Iterable[Decided[object]]) -> tuple[Note, ...]:
    """Notes that these decisions on a Node say, each once."""
    found = (decided.note(node.key) for decided in decisions if decided.rule.of is not None)
    return tuple(dict.fromkeys(note for note in found if note is not None))


def _not_forwarded(node: Node, server: Server, settings: Settings) -> Iterator[Decided[NodeAddress]]:
    """The InternalIPs of a Robot server's Node that are not kept."""
    if server.provider is Provider.ROBOT and settings.forward_internal_ips:
        for address in node.addresses:
            if address.type == AddressType.INTERNAL_IP:
                found = not_forwarded(address, server, settings.address_family)
                if found is not None:
                    yield found


@dataclass(frozen=True, slots=True)
class UninitializedNode:
    """A Node that can be initialized: what it should be, and how it was matched."""

    identity: NodeIdentity
    server: Server
    matched_by: str
    labels: Labels
    addresses: DesiredAddresses


def is_uninitialized(node: Node) -> bool:
    """Whether the Node waits for a cloud controller: it has the uninitialized taint, with any value and effect."""
    return any(taint.key == TAINT_UNINITIALIZED for taint in node.taints)


def current_identity(node: Node, settings: Settings) -> NodeIdentity:
    """The part of a Node that its initialization sets, as it is."""
    return NodeIdentity(node.provider_id, owned_labels(node.labels, settings), node.taints, node.addresses)


def uninitialized_node(
    node: Node, match: Matched, snapshot: Snapshot, settings: Settings, others: Others
) -> tuple[UninitializedNode | None, tuple[Note, ...]]:
    """The desired state of ``node`` once it is initialized from the server of ``match``, and notes on it.

    A providerID that is set is kept, and so is an owned label that the server has no value for. None when the kubelet's
    ``--node-ip`` does not fit the server, when an address may be another server's, or when the network that decides its
    private addresses could not be read: then nothing is applied and the Node stays tainted, as a Node with a wrong
    address is worse than one that waits.
    """
    server = match.server
    hostname = choose_hostname(node, server, others, joins=True)
    addresses = desired_addresses(node, server, hostname, snapshot, settings, others)
    if isinstance(addresses, Decided):
        return None, notes_on(node, (addresses,))
    labels = desired_labels(server, node.labels, settings, joins=True)
    identity = NodeIdentity(
        node.provider_id or provider_id_of(server.key),
        values_of(labels),
        _initial_taints(node, wanted_shutdown_taint(server, node, settings)),
        addresses.values,
    )
    notes = notes_on(node, (*labels.values(), hostname, *_not_forwarded(node, server, settings)))
    return UninitializedNode(identity, server, match.by, labels, addresses), notes


def _initial_taints(node: Node, shut_down: bool | Unmanaged) -> tuple[Taint, ...]:
    """The taints of a Node that is initialized: the shutdown taint comes or goes in the same write, so that nothing is
    scheduled between two."""
    taints = tuple(taint for taint in node.taints if taint.key != TAINT_UNINITIALIZED)
    if isinstance(shut_down, Unmanaged) or shut_down is has_shutdown_taint(taints):
        return taints
    return with_shutdown_taint(taints, wanted=shut_down)


def note_on_miss(node: Node, miss: Miss) -> Note:
    """A note on why a joining Node is not initialized, and what a person can do about it."""
    match miss:
        case Unmatched(why, likely=LikelyServers() as likely):
            remedy = f"; {likely.remedy}" if likely.remedy else ""
            return Note(node.key, NoteKind.UNMATCHED, f"{why}; {likely.said}{remedy}")
        case Unmatched(why, candidates):
            nearest = f"; nearest: {', '.join(candidates)}" if candidates else ""
            remedy = "a Node joins when its name is its server's, or with the kubelet's --provider-id"
            return Note(node.key, NoteKind.UNMATCHED, f"{why}{nearest}; {remedy}")
        case Gone(server):
            return Note(
                node.key, NoteKind.UNMATCHED, f"{server.is_missing}; delete the Node if its server is gone for good"
            )
        case Ambiguous(why):
            return Note(node.key, NoteKind.AMBIGUOUS, f"{why}; delete the stale Node, or rename one of them")
        case Unsupported(why):
            return Note(node.key, NoteKind.UNSUPPORTED, f"{why}; set ROBOT_ENABLED, ROBOT_USER and ROBOT_PASSWORD")
        case Foreign():
            return _note_on_foreign(node, miss)
        case Malformed(why):
            return Note(node.key, NoteKind.MALFORMED, f"{why}; delete the Node and let its kubelet register again")
        case Unknown(why):
            return Note(node.key, NoteKind.UNKNOWN, why)
        case _:
            assert_never(miss)


def _note_on_foreign(node: Node, foreign: Foreign) -> Note:
    kind = NoteKind.LIKELY_SERVER if foreign.likely else NoteKind.FOREIGN
    way_out = f"; {foreign.way_out}" if foreign.way_out else ""
    return Note(node.key, kind, f"{foreign.why}; left alone{way_out}")


def wanted_shutdown_taint(server: Server, node: Node, settings: Settings) -> bool | Unmanaged:
    """``is_shut_down``, as far as the controller of the lifecycle of Nodes is on."""
    return is_shut_down(server, node) if Controller.LIFECYCLE in settings.controllers else UNMANAGED


def is_shut_down(server: Server, node: Node) -> bool | Unmanaged:
    """Whether ``node``, the server's, should have the shutdown taint; UNMANAGED while the server is starting or
    stopping. A Robot server is not asked for while its kubelet reports Ready: it is on then."""
    if server.provider is Provider.ROBOT and node.ready is Readiness.TRUE:
        return False
    match server.status:
        case ServerStatus.OFF:
            return True
        case ServerStatus.RUNNING:
            return False
    return UNMANAGED


@dataclass(frozen=True, slots=True)
class InitializedNode:
    """A Node whose server exists. A field is UNMANAGED when it is not to be kept in sync, or too little is known for
    that."""

    server: Server
    labels: Labels | Decided[Unmanaged]
    addresses: DesiredAddresses | Decided[Unmanaged]
    shut_down: bool | Unmanaged


def power_of(server: Server, *, shut_down: bool | Unmanaged) -> str:
    """Text: what is known of whether a Node's server is on, where ``shut_down`` follows from it. Of Robot nobody asks
    while its Node is Ready."""
    name = server.key.name
    if server.provider is Provider.ROBOT and server.status is ServerStatus.UNKNOWN:
        return f"{name} is on, as its Node is Ready" if shut_down is False else f"whether {name} is on is not known"
    return f"{name} is {server.status}"


def initialized_node(
    node: Node, server: Server, snapshot: Snapshot, settings: Settings, others: Others
) -> tuple[InitializedNode, tuple[Note, ...]]:
    """The desired state of ``node`` on ``server``, and notes on it.

    No address is removed because the network could not be read, none because the kubelet's ``--node-ip`` is wrong, and
    none is added that may be another server's.
    """
    shut_down = wanted_shutdown_taint(server, node, settings)
    if Controller.NODE not in settings.controllers:
        off: Decided[Unmanaged] = Decided(UNMANAGED, rules.CONTROLLER_OFF, {"controller": Controller.NODE})
        return InitializedNode(server, off, off, shut_down), ()
    labels = desired_labels(server, node.labels, settings, joins=False)
    hostname = choose_hostname(node, server, others, joins=False)
    addresses = desired_addresses(node, server, hostname, snapshot, settings, others)
    # A network that could not be read is told once, and not on each Node.
    is_told = isinstance(addresses, Decided) and addresses.rule not in (rules.NETWORK_UNKNOWN, rules.NETWORK_ABSENT)
    undecided = (addresses,) if is_told else ()
    decisions = (*labels.values(), hostname, *_not_forwarded(node, server, settings), *undecided)
    return InitializedNode(server, labels, addresses, shut_down), notes_on(node, decisions)


def notes_on_unmanaged(node: Node, miss: Miss, *, list_of_servers_is_whole: bool) -> tuple[Note, ...]:
    """Notes on why a Node without the uninitialized taint is not kept in sync; empty when it has no server to be in
    sync with.

    A gap in the list of servers is reported once, with the list, and not on each Node; in a complete list a server is
    unknown when it arrived and could not be decoded, which is reported on its own.
    """
    match miss:
        case Foreign():
            return (_note_on_foreign(node, miss),)
        case Malformed(why):
            remedy = "delete the Node and let its kubelet register again"
            return (Note(node.key, NoteKind.MALFORMED, f"{why}; left alone; {remedy}"),)
        case Ambiguous(why):
            return (Note(node.key, NoteKind.AMBIGUOUS, f"{why}; both are left alone, delete the stale one"),)
        case Unknown(why) if list_of_servers_is_whole:
            return (Note(node.key, NoteKind.UNKNOWN, why),)
    return ()


def note_on_unclaimed(node: Node, likely: LikelyServers | None = None) -> Note:
    """A note on a Node that belongs to no cloud; ``likely`` are the servers that it is likely on, if any."""
    why = "has neither a providerID nor the uninitialized taint, so it is left alone"
    remedy = "to have it managed, start its kubelet with --cloud-provider=external and let the Node register again"
    if likely is None:
        return Note(node.key, NoteKind.FOREIGN, f"{why}; {remedy}")
    return Note(node.key, NoteKind.LIKELY_SERVER, f"{why}; {likely.said}; {remedy}")


def notes_on_owners(likely: Iterable[LikelyServers], settings: Settings) -> Iterator[Note]:
    """A note on each silent Node whose server another Node is likely on: the first of them, where these are several."""
    told = set()
    for found in likely:
        owner = found.owner
        if found.told_to_owner and owner is not None and owner.key not in told and not is_ignored(owner, settings):
            told.add(owner.key)
            yield Note(owner.key, NoteKind.LIKELY_SERVER, found.told_to_owner)


@dataclass(frozen=True, slots=True)
class OrphanedNode:
    """A Node to be deleted."""

    lost: LostNode


def orphaned_node(node: Node, gone: Gone, settings: Settings) -> tuple[OrphanedNode | None, tuple[Note, ...]]:
    """The Node as one to be deleted; None, with a note that says why, while it is not."""
    if is_going_away(node):
        return OrphanedNode(LostNode(current_identity(node, settings), proof_of_absence(node, gone.server))), ()
    missing = gone.server.is_missing
    if node.deleted_at is None:
        why = f"{missing}, and its kubelet reports Ready: nothing is done while it does"
        if gone.namesake is not None:
            namesake = ServerKey(gone.server.provider, gone.namesake).name
            why += f"; {namesake} has its name: delete the Node, so that the kubelet there registers anew"
        return None, (Note(node.key, NoteKind.UNMATCHED, why),)
    return None, (Note(node.key, NoteKind.DELETING, f"{missing}; the Node {asked_to_go(node)}"),)


def asked_to_go(node: Node) -> str:
    """Since when a Node is being deleted, and which finalizers hold it."""
    holders = f"finalizers {', '.join(node.finalizers)}" if node.finalizers else "the API server"
    return f"is being deleted since {node.deleted_at:%Y-%m-%d %H:%M} UTC and waits for {holders}"


DesiredNode = UninitializedNode | InitializedNode | OrphanedNode


def desired_nodes(snapshot: Snapshot, settings: Settings) -> tuple[Mapping[str, DesiredNode], tuple[Note, ...]]:
    """Name of each managed Node → its desired state; and notes on what is left alone."""
    desired: dict[str, DesiredNode] = {}
    notes = [
        Note(Key(ObjectKind.NODE, name), NoteKind.UNREADABLE, why) for name, why in snapshot.nodes.unreadable.items()
    ]
    matcher, others = matcher_of(snapshot), Others(snapshot)
    likely: list[LikelyServers] = []
    for node in snapshot.nodes:
        wanted, why = _desired_node(node, matcher, others, snapshot, settings, likely)
        notes += why
        if wanted is not None:
            desired[node.name] = wanted
    return desired, (*notes, *notes_on_owners(likely, settings))


def _desired_node(
    node: Node,
    matcher: Matcher,
    others: Others,
    snapshot: Snapshot,
    settings: Settings,
    likely: list[LikelyServers],
) -> tuple[DesiredNode | None, tuple[Note, ...]]:
    """``likely`` gets the servers that a Node without one is likely on."""
    if settings.ignore_nodes is not None and is_ignored(node, settings):
        return None, (Note(node.key, NoteKind.IGNORED, f"ignored: matches {settings.ignore_nodes.text}"),)
    joining = is_uninitialized(node)
    if node.provider_id is None and not joining:
        found = matcher.likely(node)
        likely += [found] if found else []
        return None, (note_on_unclaimed(node, found),)
    match = matcher.match(node)
    if isinstance(match, Foreign | Unmatched) and match.likely:
        likely.append(match.likely)
    if isinstance(match, Gone) and Controller.LIFECYCLE in settings.controllers:
        return orphaned_node(node, match, settings)
    if joining and Controller.NODE not in settings.controllers:
        return None, ()
    if isinstance(match, Matched):
        if joining:
            return uninitialized_node(node, match, snapshot, settings, others)
        return initialized_node(node, match.server, snapshot, settings, others)
    return None, (note_on_miss(node, match),) if joining else notes_on_unmanaged(
        node, match, list_of_servers_is_whole=snapshot.servers.complete
    )
