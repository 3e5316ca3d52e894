"""The changes of a Node: its initialization, its labels, addresses and shutdown taint, and its deletion."""

from collections.abc import Iterator

from desired.model.settings import Settings
from desired.model.snapshot import Node, has_shutdown_taint
from desired.nodes.labels import OWNED_LABELS, owned_labels, values_of
from desired.nodes.node import (
    DesiredNode,
    InitializedNode,
    OrphanedNode,
    UninitializedNode,
    current_identity,
)
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind, Verb
from desired.rules import nodes as rules
from desired.section import Unmanaged


def node_changes(node: Node, wanted: DesiredNode, settings: Settings) -> Iterator[Change]:
    """The changes that make ``node`` the ``wanted`` one."""
    match wanted:
        case UninitializedNode():
            yield _initialise(node, wanted, settings)
        case InitializedNode():
            yield from _labels(node, wanted, settings)
            yield from _addresses(node, wanted)
            yield from _shutdown_taint(node, wanted)
        case OrphanedNode():
            yield _delete(node, wanted)


def _initialise(node: Node, wanted: UninitializedNode, settings: Settings) -> Change:
    return Change(
        key=node.key,
        kind=ChangeKind.NODE_INITIALISE,
        verb=Verb.ADD,
        before=current_identity(node, settings),
        after=wanted.identity,
        reason=rules.JOINS.text(server=wanted.server.key.name, matched=wanted.match.by),
        owner=node.key,
        consequences=wanted.addresses.lost,
    )


def _labels(node: Node, wanted: InitializedNode, settings: Settings) -> Iterator[Change]:
    before, after = owned_labels(node.labels, settings), values_of(wanted.labels)
    if before == after:
        return
    server = wanted.server
    facts = {"server": server.key.name, "type": server.type, "location": server.location}
    is_ours = any(before.get(key) != after.get(key) for key in OWNED_LABELS)
    yield Change(
        key=node.key.part("labels"),
        kind=ChangeKind.NODE_LABELS,
        verb=Verb.MODIFY,
        before=before,
        after=after,
        reason=(rules.LABELS_DIFFER if is_ours else rules.MIRROR_DIFFERS).text(**facts),
        owner=node.key,
        consequences=tuple(wanted.labels[key].text for key in sorted(before.keys() - after.keys())),
    )


def _addresses(node: Node, wanted: InitializedNode) -> Iterator[Change]:
    after = wanted.addresses.values
    if after == node.addresses:
        return
    yield Change(
        key=node.key.part("addresses"),
        kind=ChangeKind.NODE_ADDRESSES,
        verb=Verb.MODIFY,
        before=node.addresses,
        after=after,
        reason=rules.ADDRESSES_DIFFER.text(server=wanted.server.key.name),
        owner=node.key,
        consequences=wanted.addresses.lost,
    )


def _shutdown_taint(node: Node, wanted: InitializedNode) -> Iterator[Change]:
    before, after = has_shutdown_taint(node.taints), wanted.shut_down.value
    if isinstance(after, Unmanaged) or after is before:
        return
    yield Change(
        key=node.key.part("shutdown"),
        kind=ChangeKind.NODE_SHUTDOWN_TAINT,
        verb=Verb.MODIFY,
        before=before,
        after=after,
        reason=wanted.shut_down.text,
        owner=node.key,
    )


def _delete(node: Node, wanted: OrphanedNode) -> Change:
    return Change(
        key=node.key,
        kind=ChangeKind.NODE_DELETE,
        verb=Verb.REMOVE,
        before=wanted.lost,
        after=None,
        reason=wanted.stage.text,
        owner=node.key,
    )
