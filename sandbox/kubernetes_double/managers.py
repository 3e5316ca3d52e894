"""Managers of fields: who wrote what last, as the API server keeps it in ``metadata.managedFields``.

Only writes through the status are recorded, and only those that change something; any write takes the fields that it
changes or removes from their managers (Kubernetes, server-side apply, field management by updates).
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from hcloud_sandbox.exchange import Request
from kubernetes_double.patch import STRATEGIC_LISTS

_LONGEST = 128
"""Characters of a manager's name."""
_MAPS = frozenset({"metadata.labels", "metadata.annotations"})
_SERVERS = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    }
)
"""Metadata that belongs to no manager."""

Path = tuple[str, ...]


class Writer(NamedTuple):
    """Who writes, and through what."""

    manager: str
    subresource: str
    """Empty for the object itself."""


def manager_of(request: Request) -> str:
    """The name under which a request writes: ``fieldManager``, else its ``User-Agent`` up to the first slash."""
    given = request.first("fieldManager") or request.headers.get("user-agent", "").partition("/")[0]
    return "".join(letter for letter in given if letter.isprintable())[:_LONGEST] or "unknown"


def managed_fields(old: Mapping[str, Any], new: Mapping[str, Any], writer: Writer, time: str) -> list[dict[str, Any]]:
    """The entries of ``new``, which was written over ``old`` at this time."""
    lists = {**STRATEGIC_LISTS[""], **STRATEGIC_LISTS.get(new["kind"], {})}
    before, after = _fields_of(old, lists), _fields_of(new, lists)
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    gone = before.keys() - after.keys()
    head = {"manager": writer.manager, "operation": "Update", "apiVersion": new["apiVersion"]}
    head["subresource"] = writer.subresource
    entries: list[dict[str, Any]] = []
    own: set[Path] = set()
    for entry in old["metadata"].get("managedFields", []):
        paths = _paths_of(entry.get("fieldsV1", {})) - gone - {()}
        if all(entry.get(field) == value for field, value in head.items()):
            own = paths
        elif paths - changed:
            entries.append({**entry, "fieldsV1": _nested(paths - changed)})
    if writer.subresource and (own or changed):
        fields = {"fieldsType": "FieldsV1", "fieldsV1": _nested(own | changed)}
        entries.append({**head, "time": time, **fields})
    return entries


def _fields_of(found: Mapping[str, Any], lists: Mapping[str, str]) -> dict[Path, Any]:
    """Every field that can have a manager, with its value; None for what only contains others."""
    metadata = {name: value for name, value in found["metadata"].items() if name not in _SERVERS}
    kept = {name: value for name, value in found.items() if name not in ("apiVersion", "kind")}
    return dict(_walk({**kept, "metadata": metadata}, (), "", lists))


def _walk(value: Any, path: Path, where: str, lists: Mapping[str, str]) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        if where in _MAPS:
            yield path, None
        for name, item in value.items():
            yield from _walk(item, (*path, f"f:{name}"), f"{where}.{name}" if where else name, lists)
    elif isinstance(value, list) and where in lists:
        yield path, None
        for item in value:
            key = lists[where]
            here = (*path, f"k:{_json({key: item.get(key)})}" if key else f"v:{_json(item)}")
            yield here, None
            if isinstance(item, dict):
                yield from _walk(item, here, f"{where}[]", lists)
    else:  # a list without a key has one manager as a whole
        yield path, value


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _paths_of(nested: Any, path: Path = ()) -> set[Path]:
    """The fields of a ``fieldsV1``: leaves, and what is marked with a dot."""
    if not isinstance(nested, dict) or not nested:
        return {path}
    found = {path} if "." in nested else set()
    return found.union(*(_paths_of(item, (*path, name)) for name, item in nested.items() if name != "."))


def _nested(paths: Collection[Path]) -> dict[str, Any]:
    """A ``fieldsV1`` of these fields."""
    nested: dict[str, Any] = {}
    for path in sorted(paths):
        place = nested
        for step in path:
            place = place.setdefault(step, {})
    for path in paths:
        place = nested
        for step in path:
            place = place[step]
        if place:
            place["."] = {}
    return nested
