"""What is there against what should be there: changes and notes, the same for every order of the input."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from desired.change import Change, LostNode, Plan
from desired.departing import DepartingNode
from desired.joining import JoiningNode, current_identity
from desired.kinds import Verb
from desired.labels import OWNED_LABELS, owned_labels
from desired.load_balancer import ServerTarget
from desired.load_balancers.differences import leaving_changes, parting_change, serving_changes
from desired.load_balancers.serving import Serving
from desired.nodes import DesiredNode
from desired.routes.differences import condition_changes, route_changes
from desired.section import Unmanaged
from desired.settings import Settings
from desired.settled import SettledNode
from desired.shutdown import has_shutdown_taint
from desired.snapshot import Node, Server, Snapshot
from desired.state import DesiredState, compute_desired


def diff(snapshot: Snapshot, desired: DesiredState, settings: Settings) -> Plan:
    """The plan that would make the world of ``snapshot`` the ``desired`` one. No verdicts yet: guards come after."""
    changes = [
        change
        for name, wanted in desired.nodes.items()
        for change in _node(snapshot.nodes.items[name], wanted, settings)
    ]
    for wish in desired.services.values():
        changes += serving_changes(wish, snapshot) if isinstance(wish, Serving) else leaving_changes(wish)
    changes += [parting_change(parting, snapshot) for parting in desired.partings]
    changes += route_changes(desired.routes)
    changes += condition_changes(desired.routes, snapshot, tuple(changes))
    return Plan(_after_their_targets(changes), desired.notes)


def _after_their_targets(changes: Sequence[Change]) -> tuple[Change, ...]:
    """A Node is deleted only after its server was tried to be taken out of the load balancers (design section 4)."""
    removals: dict[int, list[str]] = {}
    for change in changes:
        if change.kind == "lb.target" and change.verb is Verb.REMOVE and isinstance(change.before, ServerTarget):
            removals.setdefault(change.before.server_id, []).append(change.key)
    return tuple(
        replace(change, follows=tuple(sorted(removals[change.before.proof.server_id])))
        if isinstance(change.before, LostNode) and change.before.proof.server_id in removals
        else change
        for change in changes
    )


def compute_plan(snapshot: Snapshot, settings: Settings) -> Plan:
    """Desired state and difference in one step."""
    return diff(snapshot, compute_desired(snapshot, settings), settings)


def _node(node: Node, wanted: DesiredNode, settings: Settings) -> Iterator[Change]:
    match wanted:
        case JoiningNode():
            yield _initialise(node, wanted, settings)
        case SettledNode():
            yield from _labels(node, wanted, settings)
            yield from _addresses(node, wanted)
            yield from _shutdown_taint(node, wanted)
        case DepartingNode():
            yield _delete(node, wanted)
        case _:
            assert_never(wanted)


def _initialise(node: Node, wanted: JoiningNode, settings: Settings) -> Change:
    return Change(
        key=node.key,
        kind="node.initialise",
        verb=Verb.ADD,
        before=current_identity(node, settings),
        after=wanted.identity,
        reason=f"joins as server {wanted.server.id}, recognised by its {wanted.matched_by}",
        owner=node.key,
        consequences=wanted.consequences,
    )


def _labels(node: Node, wanted: SettledNode, settings: Settings) -> Iterator[Change]:
    before = owned_labels(node.labels, settings)
    if not isinstance(wanted.labels, Unmanaged) and wanted.labels != before:
        yield Change(
            key=f"{node.key}/labels",
            kind="node.labels",
            verb=Verb.MODIFY,
            before=before,
            after=wanted.labels,
            reason=_why_labels(before, wanted.labels, wanted.server),
            owner=node.key,
            consequences=tuple(
                f"label {key} goes away: it is below the domain of --mirror-labels, and the server has none such"
                for key in sorted(before.keys() - wanted.labels.keys())
            ),
        )


def _why_labels(before: Mapping[str, str], after: Mapping[str, str], server: Server) -> str:
    if any(before.get(key) != after.get(key) for key in OWNED_LABELS):
        return f"differs from server {server.id}, a {server.type} in {server.location}"
    return f"differs from the labels of server {server.id}"


def _addresses(node: Node, wanted: SettledNode) -> Iterator[Change]:
    if not isinstance(wanted.addresses, Unmanaged) and wanted.addresses != node.addresses:
        yield Change(
            key=f"{node.key}/addresses",
            kind="node.addresses",
            verb=Verb.MODIFY,
            before=node.addresses,
            after=wanted.addresses,
            reason=f"differs from what server {wanted.server.id} has now",
            owner=node.key,
            consequences=wanted.lost_addresses,
        )


def _shutdown_taint(node: Node, wanted: SettledNode) -> Iterator[Change]:
    tainted = has_shutdown_taint(node.taints)
    if not isinstance(wanted.shut_down, Unmanaged) and wanted.shut_down is not tainted:
        yield Change(
            key=f"{node.key}/shutdown",
            kind="node.shutdown_taint",
            verb=Verb.MODIFY,
            before=tainted,
            after=wanted.shut_down,
            reason=f"server {wanted.server.id} is {wanted.server.status}",
            owner=node.key,
        )


def _delete(node: Node, wanted: DepartingNode) -> Change:
    return Change(
        key=node.key,
        kind="node.delete",
        verb=Verb.REMOVE,
        before=wanted.lost,
        after=None,
        reason=f"no server of the project has the id {wanted.lost.proof.server_id}",
        owner=node.key,
    )
