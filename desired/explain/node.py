"""Explanation of one Node, as plain values: its server, its fields, its changes, and the decisions of guards.

Nothing is decided here. The desired state comes from the same functions that a plan is made with, so that an
explanation cannot differ from what a pass does.
"""

from dataclasses import dataclass
from difflib import get_close_matches

from desired.explain.fact import Fact
from desired.explain.guards import Word, guard_words, words_on_deletion
from desired.explain.node_fields import explain_addresses, explain_conditions, explain_labels, explain_taints
from desired.explain.routes import NodeRoutes, explain_network_condition, explain_routes
from desired.explain.stage import ServerMatch, Stage, explain_match, stage_of, why_in, why_left
from desired.guards.anchor import Anchor, anchor_of_cloud
from desired.guards.facts import Facts
from desired.guards.judge import restrict
from desired.guards.nodes import NodeLosses, cloud_losses
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Snapshot
from desired.nodes.disruption import planned_disruption
from desired.nodes.matching import Matcher
from desired.nodes.ownership import is_ignored
from desired.plan.change import Change, Note, NoteKind, Plan
from desired.planner import DesiredState
from desired.syntax.provider_id import CloudID, parse_provider_id


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of one Node."""

    key: str
    stage: Stage
    why: str
    """One sentence."""
    match: ServerMatch
    labels: tuple[Fact, ...]
    addresses: tuple[Fact, ...]
    routes: NodeRoutes | None
    """None while routes are switched off."""
    taints: tuple[Fact, ...]
    conditions: tuple[Fact, ...]
    changes: tuple[Change, ...]
    """As in the judged plan."""
    guards: tuple[Word, ...]
    """On these changes; empty when there is none."""
    on_deletion: tuple[Word, ...]
    """On the Node's deletion, if its server were gone and its kubelet silent; empty for a Node that is never deleted
    from here, and for one whose deletion is among the changes or was asked for."""
    announced: str | None
    """How the Node's disruption was announced (a planned disruption); None when it was not."""
    anchor: Anchor
    losses: NodeLosses
    notes: tuple[Note, ...]
    """On this Node, and those that explain verdicts wherever they stand."""


def explain(node: Node, snapshot: Snapshot, settings: Settings, plan: Plan, desired: DesiredState) -> Explanation:
    """Explain ``node``, which is of ``snapshot``. ``plan`` is the judged plan of the same snapshot, made from
    ``desired``."""
    found = Matcher(snapshot.nodes, snapshot.servers).match(node)
    stage = stage_of(node, found, settings)
    disowned = why_left(stage, Controller.NODE, settings) if stage in (Stage.IGNORED, Stage.UNCLAIMED) else None
    match = explain_match(node, found, snapshot, disowned)
    wanted = desired.nodes.get(node.name)
    network = explain_network_condition(node, desired.routes, plan, stage, snapshot, settings)
    left = why_left(stage, Controller.NODE, settings)
    changes = tuple(change for change in plan.changes if change.owner == node.key)
    part = restrict(plan, (node.key,), (node.key,))
    server_id = _deletable_as(node, settings)
    deletion = any(change.kind == "node.delete" for change in changes)
    return Explanation(
        key=node.key,
        stage=stage,
        why=why_in(stage, node, match, changes, [note for note in part.notes if note.key == node.key], settings),
        match=match,
        labels=explain_labels(node, wanted, settings, left),
        addresses=explain_addresses(node, wanted, snapshot, settings, left),
        routes=explain_routes(node, desired.routes, plan, snapshot, settings),
        taints=explain_taints(node, wanted, stage, settings),
        conditions=explain_conditions(node, settings.waits, deletable=server_id is not None, network=network),
        changes=changes,
        guards=guard_words(node.key, Facts(plan, snapshot, settings, desired), part.holds),
        on_deletion=() if server_id is None or deletion else words_on_deletion(node, server_id, snapshot, settings),
        announced=planned_disruption(node, snapshot, settings.waits.given_up_after),
        anchor=anchor_of_cloud(snapshot, settings),
        losses=cloud_losses(snapshot, settings),
        notes=tuple(note for note in part.notes if note.kind is not NoteKind.PARTIAL),
    )


def _deletable_as(node: Node, settings: Settings) -> int | None:
    """The id of the server on whose absence the Node's deletion depends; None for a Node that is never deleted from
    here, or whose deletion was asked for."""
    provider_id = parse_provider_id(node.provider_id or "")
    if Controller.LIFECYCLE not in settings.controllers or is_ignored(node, settings) or node.deleted_at is not None:
        return None
    return provider_id.server_id if isinstance(provider_id, CloudID) else None


def why_no_node(name: str, snapshot: Snapshot) -> str:
    """The reason why there is no Node of this name to explain, and which ones come near."""
    if name in snapshot.nodes.unreadable:
        return f"Node {name!r} cannot be explained: {snapshot.nodes.unreadable[name]}"
    gap = f", but {snapshot.nodes.why_incomplete}" if snapshot.nodes.why_incomplete else ""
    near = get_close_matches(name, sorted(snapshot.nodes.items), n=3)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    named = [str(server.id) for server in snapshot.servers if server.name == name]
    server = f"; server {', '.join(named)} has the name: its kubelet has not registered here" if named else ""
    return f"the cluster has no Node {name!r}{gap}{hint}{server}"
