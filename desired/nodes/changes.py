"""The changes of a Node: its initialization, its labels, addresses and taints, and its deletion."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from desired.model.key import Key
from desired.model.settings import Settings
from desired.model.snapshot import Node
from desired.model.taint import has_shutdown_taint
from desired.nodes.addresses import BY_SETTING
from desired.nodes.labels import OWNED_LABELS, label_values, owned_labels
from desired.nodes.node import DesiredNode, InitializedNode, OrphanedNode, UninitializedNode, current_identity
from desired.plan.change import Change, Difference, OutOfService, State
from desired.plan.kinds import ChangeKind, Verb
from desired.rules import nodes as rules
from desired.section import Unknown, Unmanaged
from desired.syntax.bounds import counted


def node_changes(node: Node, wanted: DesiredNode, settings: Settings) -> Iterator[Change]:
    """The changes that make ``node`` the ``wanted`` one."""
    match wanted:
        case UninitializedNode():
            yield Change(
                key=node.key,
                kind=ChangeKind.NODE_INITIALISE,
                verb=Verb.ADD,
                before=current_identity(node, settings),
                after=wanted.identity,
                reason=rules.JOINS.text(server=wanted.server.key.name, matched=wanted.match.by),
                owner=node.key,
                consequences=wanted.addresses.lost,
            )
        case InitializedNode():
            yield from _in_sync(node, wanted, settings)
        case OrphanedNode():
            yield _departure(node, wanted)


def out_of_service_key(node: Key) -> Key:
    """The key of the change of a Node's out-of-service taint."""
    return node.part("out-of-service")


def _departure(node: Node, wanted: OrphanedNode) -> Change:
    """The next step of a Node whose server is gone: its out-of-service taint while it needs that, else its deletion.

    The taint is a removal, as it ends the Node's pods, and allows the deletion.
    """
    kind, found = ChangeKind.NODE_DELETE, wanted.detachment
    if found is None or not found.needs_taint or isinstance(found.attached, Unknown):
        return Change(node.key, kind, Verb.REMOVE, wanted.lost, None, wanted.stage.text, node.key)
    key, kind, proof = out_of_service_key(node.key), ChangeKind.NODE_OUT_OF_SERVICE_TAINT, wanted.lost.proof
    why = rules.OUT_OF_SERVICE.text(server=proof.server.name, volumes=counted(found.attached, "volume"))
    return Change(key, kind, Verb.REMOVE, None, OutOfService(proof), why, node.key)


def _in_sync(node: Node, wanted: InitializedNode, settings: Settings) -> Iterator[Change]:
    before, after = owned_labels(node.labels, settings), label_values(wanted.labels)
    if before != after:
        gone = tuple(wanted.labels[key].text for key in sorted(before.keys() - after.keys()))
        why = _why_labels(before, after, wanted)
        yield _modify(node.key, "labels", ChangeKind.NODE_LABELS, before, after, why, gone)
    addresses = wanted.addresses
    if addresses.values != node.addresses:
        why = rules.ADDRESSES_DIFFER.text(server=wanted.server.key.name)
        kind = ChangeKind.NODE_ADDRESSES
        change = _modify(node.key, "addresses", kind, node.addresses, addresses.values, why, addresses.lost)
        yield replace(change, brings=tuple(_lost_by_setting(node.key, wanted)))
    there, taint = has_shutdown_taint(node.taints), wanted.shut_down.value
    if not isinstance(taint, Unmanaged) and taint is not there:
        yield _modify(node.key, "shutdown", ChangeKind.NODE_SHUTDOWN_TAINT, there, taint, wanted.shut_down.text)
    back = wanted.in_service
    if back is not None and back.value is False:
        key, kind = out_of_service_key(node.key), ChangeKind.NODE_OUT_OF_SERVICE_TAINT
        yield Change(key, kind, Verb.MODIFY, True, False, back.text, node.key)


def _lost_by_setting(node: Key, wanted: InitializedNode) -> Iterator[Difference]:
    """The IP addresses that go although the server still has them: another network, or another family."""
    there = {str(ip) for _, ip in wanted.server.private_ips}
    kept = {each.address for each in wanted.addresses.values}
    for each in wanted.addresses.gone:
        address = each.value.address
        is_in_network = each.rule in (rules.NETWORK_UNSET, rules.ADDRESS_UNKNOWN) and address in there
        setting = "HCLOUD_NETWORK" if is_in_network else BY_SETTING.get(each.rule, "")
        if setting and address not in kept:
            yield Difference(node, str(each.value.type), address, "", setting)


def _why_labels(before: Mapping[str, str], after: Mapping[str, str], wanted: InitializedNode) -> str:
    server = wanted.server
    is_ours = any(before.get(key) != after.get(key) for key in OWNED_LABELS)
    row = rules.LABELS_DIFFER if is_ours else rules.MIRROR_DIFFERS
    return row.text(server=server.key.name, type=server.type, location=server.location)


def _modify(
    node: Key, part: str, kind: ChangeKind, before: State, after: State, reason: str, gone: tuple[str, ...] = ()
) -> Change:
    """The change of a part of a Node; ``gone`` tells what is lost with it."""
    return Change(node.part(part), kind, Verb.MODIFY, before, after, reason, node, gone)
