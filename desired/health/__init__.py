"""Health: the state of each Service and Node, decided once a pass, beside the plan.

A plan says what is done; a state says what is. Services first, as their clients notice: ``service``. Then ``node``.
Everything is read from lists that the pass has anyway. ``state`` has the values, and which of them is worse.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from desired.guards.guard import GuardInput
from desired.health.node import node_health
from desired.health.service import service_health
from desired.health.state import ObjectState, States
from desired.plan.change import Plan

T = TypeVar("T")


def states_of(facts: GuardInput, plan: Plan, failed: Mapping[str, str]) -> States:
    """The states of all Services and Nodes of the snapshot that ``facts`` is of.

    ``plan`` is what was judged of it, and ``failed`` has the errors of changes that an API refused, by key. Pure.
    """
    snapshot, desired = facts.snapshot, facts.desired
    changes = _grouped(plan.changes, lambda change: change.owner)
    notes = _grouped(plan.notes, lambda note: note.key.whole)
    services = []
    for lb in desired.services.values():
        told = [note for key in lb.service.keys for note in notes.get(key, ())]
        own = changes.get(lb.service.key, ())
        services.append(service_health(lb, own, told, failed, snapshot.taken_at))
    nodes = []
    for node in snapshot.nodes:
        if (wanted := desired.nodes.get(node.name)) is not None:
            own, told = changes.get(node.key, ()), [*notes.get(node.key, ())]
            nodes.append(node_health(node, wanted, own, told, failed, snapshot.taken_at))
    ours = (each for each in nodes if each is not None)
    return States(tuple(sorted(services, key=_place)), tuple(sorted(ours, key=_place)))


def _grouped(items: Iterable[T], name: Callable[[T], str]) -> Mapping[str, Sequence[T]]:
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(name(item), []).append(item)
    return groups


def _place(health: ObjectState) -> tuple[int, int, str]:
    """Worst first, those of one state by name."""
    return -health.level, list(type(health.state)).index(health.state), health.key
