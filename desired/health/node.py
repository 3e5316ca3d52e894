"""State of a Node: by its stage, its server, and what withholds its changes."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from desired.health.state import Findings, NodeState, ObjectState
from desired.model.snapshot import Node, ServerStatus
from desired.nodes.node import DesiredNode, NodeOnServer, is_uninitialized
from desired.plan.change import Change, GuardName, Verdict
from desired.plan.notes import NoteKind
from desired.rules.nodes import GONE_READY, Stage
from desired.syntax.bounds import counted

PATIENCE = timedelta(minutes=5)
"""How long a Node may have no server of its name before a person is needed: the list of servers has a new one within
seconds, and who sets providerID or name does so at once."""
_OF_OTHERS = frozenset({Stage.FOREIGN, Stage.IGNORED, Stage.UNCLAIMED})
"""Stages of Nodes that are not looked after here: they have no state."""
_STATES: Mapping[Stage, NodeState] = {
    Stage.JOINING: NodeState.JOINING,
    Stage.DEPARTING: NodeState.GOING,
    Stage.DELETING: NodeState.GOING,
    Stage.UNMATCHED: NodeState.STUCK,
    Stage.AMBIGUOUS: NodeState.STUCK,
    Stage.MALFORMED: NodeState.STUCK,
    Stage.UNSUPPORTED: NodeState.STUCK,
    Stage.UNKNOWN: NodeState.UNKNOWN,
}
"""Stage → state, if nothing else is known; a Node that is SETTLED is as its server says, or about to be."""


def node_health(node: Node, wanted: DesiredNode, findings: Findings) -> ObjectState | None:
    """The state of ``node``; None for one that is not looked after here. A Node without a server of its name is joining
    for five minutes, and then stuck."""
    stage = wanted.stage.value
    if stage in _OF_OTHERS:
        return None
    state, why = _STATES.get(stage, NodeState.IN_SYNC), wanted.stage.text
    if stage is Stage.SETTLED and isinstance(wanted, NodeOnServer):
        state, why = _settled(wanted, findings.changes)
    elif stage is Stage.UNMATCHED and wanted.stage.rule is GONE_READY:
        state = NodeState.UNKNOWN
    elif stage is Stage.UNMATCHED and is_uninitialized(node) and findings.now - node.created_at < PATIENCE:
        state = NodeState.JOINING
    elif stage is Stage.JOINING and wanted.left is not None and isinstance(wanted.left.rule.of, NoteKind):
        state = NodeState.UNKNOWN if wanted.left.rule.of is NoteKind.UNKNOWN else NodeState.STUCK
        why = wanted.left.text
    obstacles = tuple(dict.fromkeys(_obstacles(findings)))
    if obstacles and state is not NodeState.STUCK:
        state, why = NodeState.STUCK, obstacles[0]
    also = tuple(each for each in obstacles if each not in why)
    return ObjectState(node.key, state, why, also=also)


def _settled(wanted: NodeOnServer, changes: Sequence[Change]) -> tuple[NodeState, str]:
    server = wanted.server
    if server.status is ServerStatus.OFF:
        return NodeState.OFF, f"{server.key.name} is {server.status}"
    if changes:
        left = {change.decision.why for change in changes if change.decision.rule is GuardName.POLICY}
        why = f", and not made: {', '.join(sorted(left))}" if left else ""
        return NodeState.CHANGING, f"{server.key.name}; {counted(len(changes), 'change')} planned{why}"
    return NodeState.IN_SYNC, server.key.name


def _obstacles(findings: Findings) -> Iterator[str]:
    """Obstacles that keep the Node as it is until a person acts; gravest first."""
    yield from (note.text for note in findings.notes if note.needs_a_person)
    for change in findings.changes:
        decision = change.decision
        if decision.verdict in (Verdict.REFUSED, Verdict.HELD):
            yield f"{change.kind} is {decision.verdict} ({decision.rule}): {decision.why}"
    yield from (findings.failed[each.key] for each in findings.changes if each.key in findings.failed)
