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
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    kept = {**head, "metadata": {}, **_pruned(sent, ""), **head}
    for rule, paths in (*_FIELDS[""].items(), *_FIELDS.get(resource.kind, {}).items()):
        for path in paths.split():
            for holder, key in _holders(kept, path.split(".")):
                try:
                    holder[key] = rule(holder[key])
                except DecodeError as wrong:
                    raise DecodeError(f"{path}: {wrong}") from None
    return kept


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


def _holders(found: Any, steps: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every map that has the last step of a path, with that step."""
    step, rest = steps[0], steps[1:]
    key = step.removesuffix("[]")
    if not isinstance(found, dict) or key not in found:
        return
    if not rest:
        yield found, key
    elif step.endswith("[]"):
        for item in found[key]:
            yield from _holders(item, rest)
    else:
        yield from _holders(found[key], rest)


def _a(kind: type, go: str) -> Callable[[Any], Any]:
    def rule(value: Any) -> Any:
        if not isinstance(value, kind):
            raise DecodeError(f"json: cannot unmarshal {type(value).__name__} into a Go struct field of type {go}")
        return value

    return rule


_map, _list, _string = _a(dict, "struct"), _a(list, "slice"), _a(str, "string")


def _strings(value: Any) -> Any:
    for item in _map(value).values():
        _string(item)
    return value


def _list_of(rule: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: [rule(item) for item in _list(value)]


def _a_time(pattern: str, form: Callable[[datetime], str]) -> Callable[[Any], Any]:
    def rule(value: Any) -> Any:
        try:
            if re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d{pattern}(Z|[+-]\d\d:\d\d)", _string(value)):
                return form(datetime.fromisoformat(value))
        except ValueError:
            pass
        raise DecodeError(f'parsing time "{value}": cannot parse')

    return rule


_time, _micro_time = _a_time(r"(\.\d+)?", format_time), _a_time(r"\.\d{6}", format_micro_time)

_FIELDS: Mapping[str, Mapping[Callable[[Any], Any], str]] = {
    "": {
        _map: "metadata",
        _strings: "metadata.labels metadata.annotations",
        _list_of(_string): "metadata.finalizers",
        _string: "metadata.name metadata.namespace metadata.uid metadata.resourceVersion",
        _time: "metadata.creationTimestamp metadata.deletionTimestamp",
    },
    "Node": {
        _map: "spec status status.nodeInfo",
        _list_of(_map): "spec.taints status.addresses status.conditions",
        _string: "spec.providerID status.addresses[].type status.addresses[].address",
        _time: "status.conditions[].lastHeartbeatTime status.conditions[].lastTransitionTime spec.taints[].timeAdded",
    },
    "Service": {
        _map: "spec status status.loadBalancer",
        _list_of(_map): "spec.ports status.conditions status.loadBalancer.ingress",
        _string: "spec.type spec.clusterIP spec.ports[].protocol status.loadBalancer.ingress[].ip"
        " status.loadBalancer.ingress[].hostname",
        _time: "status.conditions[].lastTransitionTime",
    },
    "ConfigMap": {_strings: "data binaryData"},
    "Namespace": {_map: "spec status"},
    "Deployment": {_map: "spec status"},
    "Lease": {_map: "spec", _string: "spec.holderIdentity", _micro_time: "spec.acquireTime spec.renewTime"},
    "Event": {
        _map: "involvedObject source",
        _string: "involvedObject.namespace",
        _time: "firstTimestamp lastTimestamp",
        _micro_time: "eventTime",
    },
}
"""Kind ("" is every kind) and rule → paths of its fields, those of maps and lists before what is in them."""
_OMITTED_WHEN_EMPTY = (
    *(f"metadata.{field}" for field in ("labels", "annotations", "namespace", "uid", "resourceVersion")),
    *("data", "binaryData", "spec.providerID", "spec.taints[].value"),
)
