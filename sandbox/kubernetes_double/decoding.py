"""Decoding of a sent JSON object into the form in which the API server stores it: types checked, times and empty values
in order.

The real API server decodes into Go types. Only the parts of that which clients notice are here: maps of strings, lists
of objects, both kinds of time, and that empty values are not written back.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kubernetes_double.resources import Resource

_MAPS: Mapping[str, tuple[str, ...]] = {
    "": ("metadata",),
    "Node": ("spec", "status", "status.nodeInfo"),
    "Service": ("spec", "status", "status.loadBalancer"),
    "Namespace": ("spec", "status"),
    "Lease": ("spec",),
    "Deployment": ("spec", "status", "spec.selector", "spec.template", "spec.template.metadata", "spec.template.spec"),
    "Event": ("involvedObject", "source"),
}
_STRING_MAPS: Mapping[str, tuple[str, ...]] = {
    "": ("metadata.labels", "metadata.annotations"),
    "ConfigMap": ("data", "binaryData"),
}
_STRINGS: Mapping[str, tuple[str, ...]] = {
    "": ("metadata.name", "metadata.namespace", "metadata.generateName", "metadata.uid", "metadata.resourceVersion"),
    "Node": (
        "spec.providerID",
        "spec.taints[].key",
        "spec.taints[].value",
        "spec.taints[].effect",
        "status.addresses[].type",
        "status.addresses[].address",
    ),
    "Service": (
        "spec.type",
        "spec.clusterIP",
        "spec.ports[].protocol",
        "status.loadBalancer.ingress[].ip",
        "status.loadBalancer.ingress[].hostname",
    ),
    "Lease": ("spec.holderIdentity",),
    "Event": ("reason", "message", "type", "action", "reportingComponent", "reportingInstance"),
}
_STRING_LISTS: Mapping[str, tuple[str, ...]] = {"": ("metadata.finalizers",)}
_LISTS: Mapping[str, tuple[str, ...]] = {
    "Node": ("spec.taints", "status.addresses", "status.conditions"),
    "Service": ("spec.ports", "status.conditions", "status.loadBalancer.ingress"),
    "Namespace": ("status.conditions",),
}
_INTEGERS: Mapping[str, tuple[str, ...]] = {
    "Service": ("spec.ports[].port", "spec.ports[].nodePort"),
    "Lease": ("spec.leaseDurationSeconds", "spec.leaseTransitions"),
    "Event": ("count",),
}
_TIMES: Mapping[str, tuple[str, ...]] = {
    "": ("metadata.creationTimestamp", "metadata.deletionTimestamp"),
    "Node": (
        "status.conditions[].lastHeartbeatTime",
        "status.conditions[].lastTransitionTime",
        "spec.taints[].timeAdded",
    ),
    "Service": ("status.conditions[].lastTransitionTime",),
    "Event": ("firstTimestamp", "lastTimestamp"),
}
_MICRO_TIMES: Mapping[str, tuple[str, ...]] = {
    "Lease": ("spec.acquireTime", "spec.renewTime"),
    "Event": ("eventTime",),
}
_OMITTED_WHEN_EMPTY = frozenset({
    "metadata.labels", "metadata.annotations", "metadata.namespace", "metadata.generateName", "metadata.uid",
    "metadata.resourceVersion", "data", "binaryData", "spec.providerID", "spec.taints[].value",
})  # fmt: skip
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


class DecodeError(ValueError):
    """A body that is not an object of its kind."""


def format_time(moment: datetime) -> str:
    """Seconds, UTC: ``2026-01-02T03:04:05Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(moment: datetime) -> str:
    """Exactly six digits, UTC: ``2026-01-02T03:04:05.000000Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def decoded(resource: Resource, sent: Any) -> dict[str, Any]:
    """A new object in stored form. Raises DecodeError for a value of a wrong type and for a malformed time."""
    if not isinstance(sent, dict):
        raise DecodeError("the body is not an object")
    for field, ours in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        if sent.get(field) not in (None, "", ours):
            raise DecodeError(f"the object provided is unrecognized ({field} must be {ours}, is {sent[field]})")
    kept = _pruned({**sent, "kind": resource.kind, "apiVersion": resource.api_version}, "")
    kept.setdefault("metadata", {})
    kind = resource.kind
    _check(kept, _MAPS, kind, _map)
    _check(kept, _STRING_MAPS, kind, _string_map)
    _check(kept, _STRING_LISTS, kind, _string_list)
    _check(kept, _LISTS, kind, _list_of_maps)
    _check(kept, _STRINGS, kind, _string)
    _check(kept, _INTEGERS, kind, _integer)
    _check(kept, _TIMES, kind, _time)
    _check(kept, _MICRO_TIMES, kind, _micro_time)
    return {"kind": kept.pop("kind"), "apiVersion": kept.pop("apiVersion"), "metadata": kept.pop("metadata"), **kept}


def _pruned(value: Any, path: str) -> Any:
    """A copy without nulls and empty lists, and without the empty values that the API server leaves out."""
    if isinstance(value, list):
        return [_pruned(item, f"{path}[]") for item in value]
    if not isinstance(value, dict):
        return value
    if path.endswith((".labels", ".annotations")) or path in ("data", "binaryData"):
        return {key: "" if item is None else item for key, item in value.items()}
    kept = {}
    for key, item in value.items():
        here = f"{path}.{key}" if path else key
        if item is None or item == [] or (here in _OMITTED_WHEN_EMPTY and not item):
            continue
        kept[key] = _pruned(item, here)
    return kept


def _check(found: dict[str, Any], table: Mapping[str, tuple[str, ...]], kind: str, rule: Callable[[Any], Any]) -> None:
    for path in (*table.get("", ()), *table.get(kind, ())):
        for holder, key in _holders(found, path.split(".")):
            try:
                holder[key] = rule(holder[key])
            except DecodeError as wrong:
                raise DecodeError(f"{path}: {wrong}") from None


def _holders(found: Any, steps: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every map that has the last step of a path, with that step."""
    step, rest = steps[0], steps[1:]
    key = step.removesuffix("[]")
    if not isinstance(found, dict) or key not in found:
        return
    if not rest:
        yield found, key
    elif step.endswith("[]"):
        for item in found[key] if isinstance(found[key], list) else ():
            yield from _holders(item, rest)
    else:
        yield from _holders(found[key], rest)


def _string(value: Any) -> Any:
    if not isinstance(value, str):
        raise DecodeError(f"json: cannot unmarshal {_type(value)} into a Go struct field of type string")
    return value


def _map(value: Any) -> Any:
    if not isinstance(value, dict):
        raise DecodeError(f"json: cannot unmarshal {_type(value)} into a Go struct")
    return value


def _string_map(value: Any) -> Any:
    for item in _map(value).values():
        _string(item)
    return value


def _string_list(value: Any) -> Any:
    if not isinstance(value, list) or any(not isinstance(item, str) for item in value):
        raise DecodeError("json: cannot unmarshal into a Go struct field of type []string")
    return value


def _list_of_maps(value: Any) -> Any:
    if not isinstance(value, list) or any(not isinstance(item, dict) for item in value):
        raise DecodeError("json: cannot unmarshal into a Go struct field of type []struct")
    return value


def _integer(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DecodeError(f"json: cannot unmarshal {_type(value)} into a Go struct field of type int32")
    return value


def _time(value: Any) -> Any:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise DecodeError(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse')
    return format_time(_instant(value))


def _micro_time(value: Any) -> Any:
    if not isinstance(value, str) or not _MICRO_TIME.fullmatch(value):
        raise DecodeError(f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse')
    return format_micro_time(_instant(value))


def _instant(value: str) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except ValueError as wrong:
        raise DecodeError(f'parsing time "{value}": {wrong}') from None


def _type(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")
