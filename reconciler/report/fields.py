"""Field-level differences between the two sides of a change, for people and machines to read.

deepdiff finds them, in objects that are known to differ; no decision ever depends on it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from desired.model.snapshot import NodeAddress
from desired.plan.change import Change, NodeIdentity, State
from reconciler.report.canonical import Nested, both_sides

_KEYED = frozenset({"labels", "taints", "addresses", "listeners"})
"""Parts whose members are named by the world and not by us: their names stand in brackets."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field: text, a number, a boolean or a list of these. A side is None where the field is not there."""

    path: str
    before: Any
    after: Any


def field_changes(change: Change) -> tuple[FieldChange, ...]:
    """The fields in which the two sides of a change differ, by path."""
    from deepdiff import DeepDiff  # noqa: PLC0415 - 50 ms that a pass without changes need not pay

    sides = both_sides(change)
    before, after = (dict(_leaves(side)) for side in sides)
    diff = DeepDiff(before, after, view="tree", threshold_to_diff_deeper=0, ignore_private_variables=False)
    # A list is shown as a whole, so what differs inside of it counts for its path.
    paths = {level.path(output_format="list")[0] for levels in diff.values() for level in levels}
    found = [FieldChange(path, before.get(path), after.get(path)) for path in paths]
    found += (moved for moved in _reordered(change) if sides[0][moved.path] == sides[1][moved.path])
    return tuple(sorted(found, key=lambda field: field.path))


def _leaves(part: Nested, parent: str = "") -> Iterator[tuple[str, Any]]:
    """Path → leaf, ``listeners[443].health_check.port``. None and an empty list are no leaves: nothing is there."""
    for name, value in part.items():
        below = f"{parent}[{name}]" if parent in _KEYED else f"{parent}.{name}"
        path = below if parent else name
        if isinstance(value, dict):
            yield from _leaves(value, path)
        elif value is not None and value != []:
            yield path, value


def _reordered(change: Change) -> Iterator[FieldChange]:
    """Lists whose entries stand in another order, each as a whole: entry by entry it would look as if some went."""
    before, after = _lists(change.before), _lists(change.after)
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            yield FieldChange(name, before[name], after[name])


def _lists(state: State | None) -> Mapping[str, str]:
    """The lists of a side as they stand, where the canonical form does not keep their order."""
    match state:
        case NodeIdentity():
            taints = ", ".join(f"{taint.key}:{taint.effect}" for taint in state.taints)
            return {"taints": taints, "addresses": _in_order(state.addresses)}
        case tuple():
            return {"addresses": _in_order(entry for entry in state if isinstance(entry, NodeAddress))}
    return {}


def _in_order(addresses: Iterable[NodeAddress]) -> str:
    return ", ".join(f"{address.type} {address.address}" for address in addresses)
