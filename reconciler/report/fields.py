"""Field-level differences between the two sides of a change, for people and machines to read.

Both sides are compared in a canonical form: nested dicts with one leaf a field, which is text, a number, a boolean,
None or a list. UNMANAGED stands where nothing was asked for, and is no difference. deepdiff finds the differences,
in objects that are known to differ; no decision ever depends on them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from msgspec import Struct

from desired.model.load_balancer import (
    Attachment,
    Identity,
    IpTarget,
    KnownAfterApply,
    Listener,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    SelectorTarget,
    ServerTarget,
    Target,
)
from desired.model.route import NetworkCondition, Route
from desired.model.service import Ingress
from desired.model.snapshot import NodeAddress
from desired.model.to_builtins import to_builtins
from desired.plan.change import Change, Claimed, LostNode, NodeIdentity, OutOfService, State
from desired.section import UNMANAGED, Unmanaged

Nested = dict[str, Any]
_KEYED = frozenset({"labels", "taints", "addresses", "listeners"})
"""Parts whose members are named by the world and not by us: their names stand in brackets."""
Leaf = bool | float | str | list[str | float] | None
"""The value of one field."""


class FieldChange(Struct, frozen=True):
    """One field that differs."""

    path: str
    """Such as ``type``, ``labels[KEY]`` or ``listeners[443].health_check.port``."""
    before: Leaf
    """None where the field is not there."""
    after: Leaf
    """None where the field is not there."""


def field_changes(change: Change) -> tuple[FieldChange, ...]:
    """The fields in which the two sides of a change differ, by path."""
    sides = _both_sides(change)
    before, after = (dict(_leaves(side)) for side in sides)
    paths = {*(before.keys() ^ after.keys()), *_differing(before, after)}
    found = [FieldChange(path, before.get(path), after.get(path)) for path in paths]
    found += (moved for moved in _reordered(change) if sides[0][moved.path] == sides[1][moved.path])
    return tuple(sorted(found, key=lambda field: field.path))


def _differing(before: Nested, after: Nested) -> set[str]:
    """The paths that both sides have with different values. A list is shown as a whole, so what differs inside of it
    counts for its path."""
    both = [path for path in before.keys() & after.keys() if before[path] != after[path]]
    if not both:
        return set()
    from deepdiff import DeepDiff  # noqa: PLC0415 - 50 ms that a pass without changes need not pay

    one, other = ({path: side[path] for path in both} for side in (before, after))
    diff = DeepDiff(one, other, view="tree", threshold_to_diff_deeper=0, ignore_private_variables=False)
    return {level.path(output_format="list")[0] for levels in diff.values() for level in levels}


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


def _both_sides(change: Change) -> tuple[Nested, Nested]:
    """``before`` and ``after``; {} for one that is not there.

    Of ``before`` there is only what ``after`` says something about. An object that goes is told by what a person knows
    it by: everything that it has would drown that.
    """
    field = change.row.shown_field
    if change.after is None:
        return _known_by(change.before, field), {}
    before, after = _canonical(change.before, field), _canonical(change.after, field)
    return _as_far_as_asked(before, after), _asked(after)


def _by_type(addresses: Iterable[NodeAddress]) -> dict[str, str]:
    """Type → its addresses in their order: an address more shifts no other line."""
    found: dict[str, list[str]] = {}
    for address in addresses:
        found.setdefault(str(address.type), []).append(address.address)
    return {kind: ", ".join(texts) for kind, texts in found.items()}


def _nested(value: object) -> Any:
    """``to_builtins``, but UNMANAGED stays what it is."""
    match value:
        case Unmanaged():
            return value
        case Route():
            return to_builtins(value)
        case Mapping():
            return {str(key): _nested(value[key]) for key in sorted(value, key=str)}
        case tuple():
            return [_nested(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _nested(getattr(value, field.name)) for field in fields(value) if field.compare}
    return to_builtins(value)


def _asked(nested: Any) -> Any:
    """The same without what was not asked for."""
    if not isinstance(nested, dict):
        return nested
    return {name: _asked(value) for name, value in nested.items() if value is not UNMANAGED}


def _as_far_as_asked(before: Nested, after: Nested) -> Nested:
    """``before`` without what ``after``, or ``before`` itself, leaves open."""
    return {
        name: _as_far_as_asked(value, other) if isinstance(value, dict) and isinstance(other, dict) else _asked(value)
        for name, value in before.items()
        if UNMANAGED not in (value, other := after.get(name))
    }


def _canonical(state: State | None, field: str) -> Nested:
    """Everything of a side; ``field`` names what is no object. Lists with a natural key become mappings, so that
    nothing shifts."""
    match state:
        case None:
            return {}
        case str() | bool() | KnownAfterApply() | Route() | NetworkCondition() | OutOfService():
            return {field: _leaf(state)}
        case ServerTarget() | IpTarget() | SelectorTarget():
            return {field: _target(state)}
        case NodeIdentity():
            return {
                **({"provider_id": state.provider_id} if state.provider_id else {}),
                "labels": to_builtins(state.labels),
                "taints": {f"{taint.key}:{taint.effect}": taint.value or "" for taint in state.taints},
                "addresses": _by_type(state.addresses),
            }
        case tuple():
            return {
                "addresses": _by_type(entry for entry in state if isinstance(entry, NodeAddress)),
                "ingress": [_ingress(entry) for entry in state if isinstance(entry, Ingress)],
            }
        case LoadBalancer():
            listeners = {str(port): _listener(listener) for port, listener in state.listeners.items()}
            return {**_nested(state), "listeners": listeners, "targets": _targets(state)}
        case Listener():
            return _listener(state)
        case Owner() | Identity() | Attachment() | ManagedCertificate():
            return dict(_nested(state))
        case LostNode() | Claimed():
            return _known_by(state, field)
        case _:
            return {"labels": to_builtins(state)}


def _leaf(state: str | bool | KnownAfterApply | Route | NetworkCondition | OutOfService) -> Any:
    """``False (RouteCreated)`` for a condition: its message follows from these. The proof of a Node that is out of
    service is that of its deletion, which tells it."""
    if isinstance(state, OutOfService):
        return True
    if not isinstance(state, NetworkCondition):
        return to_builtins(state)
    return f"{state.status} ({state.reason})" if state.reason else state.status


def _known_by(state: State | None, field: str) -> Nested:
    """What a person knows by what goes."""
    match state:
        case LostNode(identity, proof):
            return {
                **({"provider_id": identity.provider_id} if identity.provider_id else {}),
                "addresses": _by_type(identity.addresses),
                "not_ready_since": to_builtins(proof.not_ready_since),
            }
        case Claimed(finalizer, ingress):
            return {"finalizer": finalizer, "ingress": [_ingress(entry) for entry in ingress]}
        case LoadBalancer():
            return {
                "name": state.name,
                "type": state.type,
                "location": state.location,
                "attachment": _asked(_nested(state.attachment)),
                "listeners": [f"{port} ({state.listeners[port].protocol})" for port in sorted(state.listeners)],
                "targets": _targets(state),
            }
        case Listener():
            return {"protocol": to_builtins(state.protocol), "destination_port": state.destination_port}
    return dict(_asked(_canonical(state, field)))


def _listener(listener: Listener) -> Nested:
    """Without its port, which is its key."""
    return {name: value for name, value in _nested(listener).items() if name != "port"}


def _targets(balancer: LoadBalancer) -> list[str] | Unmanaged:
    """Servers by their ids, then addresses, then selectors."""
    if isinstance(balancer.targets, Unmanaged):
        return balancer.targets
    kinds = (ServerTarget, IpTarget, SelectorTarget)
    return [_target(target) for kind in kinds for target in sorted(t for t in balancer.targets if isinstance(t, kind))]


def _target(target: Target) -> str:
    """``server:42 (private)``, ``ip:192.0.2.7``: as in its key, and by which address it is reached."""
    name = target.name
    return name if isinstance(target, IpTarget) else f"{name} ({'private' if target.use_private_ip else 'public'})"


def _ingress(ingress: Ingress) -> str:
    """``203.0.113.1 (VIP)``."""
    name = " ".join(text for text in (ingress.ip, ingress.hostname) if text) or "(empty)"
    remarks = [ingress.ip_mode or "", "with ports" if ingress.has_ports else ""]
    told = ", ".join(filter(None, remarks))
    return f"{name} ({told})" if told else name
