"""The differences between the two sides of a change, field by field, for people and machines to read.

deepdiff finds them, in objects that are known to differ; no decision ever depends on it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from desired.change import Change, LostNode, NodeIdentity, State
from desired.plain import plain
from desired.snapshot import NodeAddress


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field. A side is None where the field is not there."""

    path: str
    before: Any
    after: Any


def field_changes(change: Change) -> tuple[FieldChange, ...]:
    """The fields in which the two sides of a change differ, by path."""
    from deepdiff import DeepDiff  # noqa: PLC0415 - 50 ms that a pass without changes need not pay

    before, after = _canonical(change.before), _canonical(change.after)
    diff = DeepDiff(before, after, view="tree", threshold_to_diff_deeper=0, ignore_private_variables=False)
    found = [
        FieldChange(_path(level.path(output_format="list")), _side(level.t1), _side(level.t2))
        for levels in diff.values()
        for level in levels
    ]
    found += (moved for moved in _reordered(change) if before[moved.path] == after[moved.path])
    return tuple(sorted(found, key=lambda field: field.path))


def _canonical(state: State | None) -> Any:
    """A side as nested dicts with scalar leaves: lists with a natural key become mappings, so that nothing shifts."""
    match state:
        case None:
            return {}
        case NodeIdentity():
            return {
                **({"provider_id": state.provider_id} if state.provider_id else {}),
                "labels": plain(state.labels),
                "taints": {f"{taint.key}:{taint.effect}": taint.value or "" for taint in state.taints},
                "addresses": _addresses(state.addresses),
            }
        case LostNode(identity, proof):
            # What a person needs to know the machine by: all labels and taints of it would drown that.
            return {
                **({"provider_id": identity.provider_id} if identity.provider_id else {}),
                **{f"addresses[{kind}]": texts for kind, texts in _addresses(identity.addresses).items()},
                "not_ready_since": plain(proof.not_ready_since),
            }
        case bool():
            return {"shutdown": state}
        case tuple():
            return {"addresses": _addresses(state)}
        case _:
            return {"labels": plain(state)}


def _reordered(change: Change) -> Iterator[FieldChange]:
    """Lists whose entries stand in another order, each as a whole: entry by entry it would look as if some went."""
    before, after = _lists(change.before), _lists(change.after)
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            yield FieldChange(name, before[name], after[name])


def _lists(state: State | None) -> Mapping[str, str]:
    """The lists of a side as they stand."""
    match state:
        case NodeIdentity():
            taints = ", ".join(f"{taint.key}:{taint.effect}" for taint in state.taints)
            return {"taints": taints, "addresses": _in_order(state.addresses)}
        case tuple():
            return {"addresses": _in_order(state)}
    return {}


def _in_order(addresses: tuple[NodeAddress, ...]) -> str:
    return ", ".join(f"{address.type} {address.address}" for address in addresses)


def _addresses(addresses: tuple[NodeAddress, ...]) -> dict[str, str]:
    """Type → its addresses in their order: an address more shifts no other line."""
    by_type: dict[str, list[str]] = {}
    for address in addresses:
        by_type.setdefault(str(address.type), []).append(address.address)
    return {kind: ", ".join(texts) for kind, texts in by_type.items()}


def _path(parts: list[Any]) -> str:
    """``labels[topology.kubernetes.io/region]``."""
    return str(parts[0]) + "".join(f"[{part}]" for part in parts[1:])


def _side(value: Any) -> Any:
    """deepdiff's mark for "not there" as None."""
    return value if isinstance(value, str | int | float | bool | dict | list) else None
