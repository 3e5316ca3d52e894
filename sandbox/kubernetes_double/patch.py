"""The three kinds of patch, as functions from an object and a patch to a new object. Nothing here knows HTTP.

The strategic rules (which list is merged by which key) are those of the fields that the product and kubectl write for
the kinds served here; every list that is not in ``STRATEGIC_LISTS`` is replaced. Source: the patchStrategy and
patchMergeKey markers of the Kubernetes API types, 1.36. ``$retainKeys`` is refused, not obeyed.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

STRATEGIC_LISTS: Mapping[str, Mapping[str, str]] = {
    "": {"metadata.finalizers": "", "metadata.ownerReferences": "uid"},
    "Node": {"status.conditions": "type", "status.addresses": "type", "spec.podCIDRs": ""},
    "Service": {"spec.ports": "port", "status.conditions": "type"},
    "Namespace": {"status.conditions": "type"},
}
"""Kind ("" is every kind) and path → merge key of a merged list; an empty key is a set of plain values."""

_ORDER = "$setElementOrder/"
_REMOVE = "$deleteFromPrimitiveList/"


class PatchError(ValueError):
    """A patch that cannot be read."""


class PatchCannotBeMerged(ValueError):
    """A strategic merge patch with a directive or list item that cannot be followed."""


class PatchDoesNotFit(ValueError):
    """A readable JSON patch whose path or test does not fit the object."""


def copied(value: T) -> T:
    """A deep copy of a JSON value."""
    copy: Any = value
    if isinstance(value, dict):
        copy = {key: copied(item) for key, item in value.items()}
    elif isinstance(value, list):
        copy = [copied(item) for item in value]
    result: T = copy
    return result


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null deletes, everything else replaces."""
    if not isinstance(patch, dict):
        return copied(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


# --- JSON patch, RFC 6902 ---


def json_patch(target: Any, operations: Any) -> Any:
    """``target`` after all operations. Raises PatchError for a malformed list, PatchDoesNotFit for what fails."""
    if not isinstance(operations, list):
        raise PatchError("a JSON patch is a list of operations")
    document = copied(target)
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise PatchDoesNotFit(f"operation without a path: {operation}")
        document = _operate(document, operation)
    return document


def _operate(document: Any, operation: dict[str, Any]) -> Any:
    path = _pointer(operation["path"])
    match operation.get("op"):
        case "add":
            return _add(document, path, copied(operation.get("value")))
        case "replace":
            rest = _remove(document, path) if path else None
            return _add(rest, path, copied(operation.get("value")))
        case "remove":
            return _remove(document, path)
        case "test":
            if _find(document, path, absent_is_null=True) != operation.get("value"):
                raise PatchDoesNotFit(f"test of {operation['path']} failed")
            return document
        case "move" | "copy" as verb:
            source = _pointer(str(operation.get("from", "")))
            value = copied(_find(document, source))
            return _add(_remove(document, source) if verb == "move" else document, path, value)
        case unknown:
            raise PatchDoesNotFit(f"unknown operation {unknown}")


def _pointer(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise PatchDoesNotFit(f"path {path} does not begin with /")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _find(document: Any, path: list[str], *, absent_is_null: bool = False) -> Any:
    for part in path:
        try:
            document = document[int(part)] if isinstance(document, list) else document[part]
        except (KeyError, IndexError, ValueError, TypeError):
            if absent_is_null:
                return None
            raise PatchDoesNotFit(f"nothing at /{'/'.join(path)}") from None
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list) and (last == "-" or (last.isdigit() and int(last) <= len(parent))):
        parent.insert(len(parent) if last == "-" else int(last), value)
    else:
        raise PatchDoesNotFit(f"cannot add at /{'/'.join(path)}")
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        raise PatchDoesNotFit("the whole object cannot be removed")
    _find(document, path)
    parent, last = _find(document, path[:-1]), path[-1]
    del parent[int(last) if isinstance(parent, list) else last]
    return document


# --- strategic merge patch ---


def strategic_patch(target: Any, patch: Any, kind: str) -> Any:
    """``target`` after a strategic merge patch. Raises PatchError for one that cannot be read or merged."""
    if not isinstance(patch, dict):
        raise PatchError("a strategic merge patch is an object")
    return _merge_maps(target, patch, {**STRATEGIC_LISTS[""], **STRATEGIC_LISTS.get(kind, {})}, "")


def _merge_maps(original: Any, patch: dict[str, Any], rules: Mapping[str, str], path: str) -> Any:
    if "$patch" in patch:
        match patch["$patch"]:
            case "replace":
                return _plain({key: value for key, value in patch.items() if key != "$patch"})
            case "delete":
                return {}
            case unknown:
                raise PatchCannotBeMerged(f"unknown patch type: {unknown} in map: {patch}")
    merged = dict(original) if isinstance(original, dict) else {}
    for key in _fields(patch):
        here = f"{path}.{key}" if path else key
        before = merged.get(key)
        after = _merge_field(before, patch, key, rules, here)
        if after is None:
            merged.pop(key, None)
        else:
            merged[key] = after
    return merged


def _fields(patch: dict[str, Any]) -> list[str]:
    """The fields that a patch speaks of, with or without a directive in front."""
    names: dict[str, None] = {}
    for key in patch:
        if key.startswith((_ORDER, _REMOVE)):
            names[key.partition("/")[2]] = None
        elif not _is_directive(key):
            names[key] = None
    return list(names)


def _is_directive(key: str) -> bool:
    if key.startswith("$") and key != "$patch" and not key.startswith((_ORDER, _REMOVE)):
        raise PatchError(f"the simulator does not know the directive {key}")
    return key.startswith("$")


def _merge_field(before: Any, patch: dict[str, Any], key: str, rules: Mapping[str, str], here: str) -> Any:
    """The field's new value; None when it is to be absent."""
    order, removed = patch.get(_ORDER + key), patch.get(_REMOVE + key)
    if not isinstance(order, list | None) or not isinstance(removed, list | None):
        raise PatchCannotBeMerged(f"a directive for {here} is not a list")
    if removed is not None and isinstance(before, list):
        before = [item for item in before if item not in removed]
    if key in patch:
        value = patch[key]
        if value is None:
            return None
        if here in rules and isinstance(value, list) and isinstance(before, list):
            return _merge_lists(before, value, rules, here, order)
        if isinstance(value, dict) and isinstance(before, dict):
            return _merge_maps(before, value, rules, here)
        return _plain(value)
    if order is not None and isinstance(before, list) and here in rules:
        return _ordered(before, order, before, rules[here])
    return before


def _merge_lists(before: list[Any], patch: list[Any], rules: Mapping[str, str], here: str, order: Any) -> list[Any]:
    key = rules[here]
    if not key:
        return _ordered([*before, *(item for item in patch if item not in before)], order or patch, before, key)
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [_plain(item) for item in patch if "$patch" not in item]
    if any(not isinstance(item, dict) or key not in item for item in patch):
        raise PatchCannotBeMerged(f"map: {patch} does not contain declared merge key: {key}")
    ids = [item[key] for item in patch if "$patch" not in item]
    if order and [item for item in order if item.get(key) in ids] != [{key: found} for found in ids]:
        raise PatchCannotBeMerged(f"The order in patch list:\n{patch}\n doesn't match {_ORDER} list:\n{order}\n")
    dropped = [item[key] for item in patch if item.get("$patch") == "delete"]
    merged = [item for item in before if item.get(key) not in dropped]
    wanted = [item for item in patch if item.get("$patch") != "delete"]
    for item in wanted:
        # The first item of that key, always: two wanted items of one key end up in one. This is the well-known defect
        # with several addresses of one type (kubernetes/kubernetes#79391); the merge below repeats it faithfully.
        at = next((n for n, old in enumerate(merged) if old.get(key) == item[key]), None)
        if at is None:
            merged.append(_plain(item))
        else:
            merged[at] = _merge_maps(merged[at], item, rules, here)
    return _ordered(merged, order or wanted, before, key)


def _ordered(items: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """Named items in the order given; the others between them where they stood before, new ones ahead of them."""
    if key and any(not isinstance(item, dict) or key not in item for item in order):
        raise PatchCannotBeMerged(f"an element of the order does not contain the merge key {key}")
    identity: Callable[[Any], Any] = (lambda item: item.get(key)) if key else (lambda item: item)
    wanted = [identity(item) for item in order]
    live = [identity(item) for item in before]
    named = sorted((item for item in items if identity(item) in wanted), key=lambda item: wanted.index(identity(item)))
    others = [item for item in items if identity(item) not in wanted]
    result: list[Any] = []
    while named and others:
        first, second = identity(others[0]), identity(named[0])
        goes_first = second in live and live.index(first) < live.index(second)
        result.append(others.pop(0) if goes_first else named.pop(0))
    return [*result, *named, *others]


def _plain(value: Any) -> Any:
    """A patch's value where there was nothing to merge with: without directives and nulls."""
    if isinstance(value, dict):
        return {k: _plain(item) for k, item in value.items() if not _is_directive(k) and item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value if not (isinstance(item, dict) and "$patch" in item)]
    return value
