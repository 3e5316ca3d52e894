"""The differences between the two sides of a change, field by field, for people and machines to read.

deepdiff finds them, in objects that are known to differ; no decision ever depends on it.
"""

from dataclasses import dataclass
from typing import Any

from desired.change import Change, NodeIdentity, State
from desired.plain import plain


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field. A side is None where the field is not there."""

    path: str
    before: Any
    after: Any


def field_changes(change: Change) -> tuple[FieldChange, ...]:
    """The fields in which the two sides of a change differ, by path."""
    from deepdiff import DeepDiff  # noqa: PLC0415 - 50 ms that a pass without changes need not pay

    diff = DeepDiff(_canonical(change.before), _canonical(change.after), view="tree", threshold_to_diff_deeper=0)
    found = [
        FieldChange(_path(level.path(output_format="list")), _side(level.t1), _side(level.t2))
        for levels in diff.values()
        for level in levels
    ]
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
                "addresses": {str(i): f"{a.type} {a.address}" for i, a in enumerate(state.addresses)},
            }


def _path(parts: list[Any]) -> str:
    """``labels[topology.kubernetes.io/region]``."""
    return str(parts[0]) + "".join(f"[{part}]" for part in parts[1:])


def _side(value: Any) -> Any:
    """deepdiff's mark for "not there" as None."""
    return value if isinstance(value, str | int | float | bool | dict | list) else None
