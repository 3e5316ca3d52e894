"""Health: the state of each Service and Node, decided once a pass, beside the plan.

A plan says what is done; a state says what is. Services first, as their clients notice: ``service``. Then ``node``.
Everything is read from lists that the pass has anyway. ``state`` has the values, and which of them is worse.
"""

from collections.abc import Mapping
from dataclasses import replace

from desired.guards.guard import GuardInput
from desired.health.node import node_health
from desired.health.service import service_health
from desired.health.state import Findings, ObjectState, States
from desired.plan.change import Plan
from desired.section import grouped


def states_of(facts: GuardInput, plan: Plan, failed: Mapping[str, str]) -> States:
    """The states of all Services and Nodes of the snapshot that ``facts`` is of.

    ``plan`` is what was judged of it, and ``failed`` has the errors of changes that an API refused, by key. Pure.
    """
    snapshot, desired = facts.snapshot, facts.desired
    changes = replace(facts, plan=plan).by_owner
    notes = grouped((note.key.whole, note) for note in plan.notes)
    services = []
    for lb in desired.services.values():
        told = tuple(note for key in lb.service.keys for note in notes.get(key, ()))
        findings = Findings(changes.get(lb.service.key, ()), told, failed, snapshot.taken_at)
        services.append(service_health(lb, findings))
    nodes = []
    for node in snapshot.nodes:
        if (wanted := desired.nodes.get(node.name)) is not None:
            told = notes.get(node.key, ())
            findings = Findings(changes.get(node.key, ()), told, failed, snapshot.taken_at)
            nodes.append(node_health(node, wanted, findings))
    ours = (each for each in nodes if each is not None)
    return States(tuple(sorted(services, key=_place)), tuple(sorted(ours, key=_place)))


def _place(health: ObjectState) -> tuple[tuple[int, int], str]:
    """Worst first, those of one state by name."""
    return health.rank, health.key
