"""The three kinds of patch, as functions from an object and a patch to a new object: JSON patches by ``jsonpatch``.

The strategic rules (which list is merged by which key) are those of the fields that the product and kubectl write for
the kinds served here; every other list is replaced. Source: the patchStrategy and patchMergeKey markers of the
Kubernetes API types, 1.36. ``$retainKeys`` is refused, not obeyed.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jsonpatch

from kubernetes_double.errors import bad_request, broken, failure

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)

_MERGED_LISTS: Mapping[str, Mapping[str, str]] = {
    "": {"metadata.finalizers": "", "metadata.ownerReferences": "uid"},
    "Node": {"status.conditions": "type", "status.addresses": "type", "spec.podCIDRs": ""},
    "Service": {"spec.ports": "port", "status.conditions": "type"},
}
"""Kind ("" is every kind) and path → merge key of a merged list; an empty key is a set of plain values."""

_ORDER = "$setElementOrder/"
_REMOVE = "$deleteFromPrimitiveList/"


def patched(target: dict[str, Any], patch: Any, media_type: str) -> Any:
    """A new object: ``target`` after a patch of this type, which is one of ``PATCHES``.

    Raises ApiError 400 for a patch that cannot be read, 422 for a JSON patch that does not fit, and 500, as the real
    server, for a strategic one with an item or a directive that cannot be followed.
    """
    if not isinstance(patch, list if media_type == JSON_PATCH else dict):
        raise bad_request("the patch is neither an object nor a list of operations")
    if media_type == MERGE_PATCH:
        return _merged(target, patch)
    if media_type == STRATEGIC_PATCH:
        return _merge_maps(target, patch, {**_MERGED_LISTS[""], **_MERGED_LISTS.get(target["kind"], {})}, "")
    try:
        return jsonpatch.apply_patch(target, patch)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        why = "the server rejected our request due to an error in our request"  # it says no more than this either
        raise failure(422, "Invalid", why, {}) from None


def _merged(target: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null deletes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        merged[key] = _merged(merged.get(key), value)
        if value is None:
            del merged[key]
    return merged


def _merge_maps(original: Any, patch: Any, rules: Mapping[str, str], path: str) -> Any:
    if "$patch" in patch:
        match patch["$patch"]:
            case "replace":
                return _plain({key: value for key, value in patch.items() if key != "$patch"})
            case "delete":
                return {}
            case unknown:
                raise broken(f"unknown patch type: {unknown} in map: {patch}")
    merged = dict(original) if isinstance(original, dict) else {}
    named = (key.partition("/")[2] if key.startswith((_ORDER, _REMOVE)) else key for key in patch)
    for key in dict.fromkeys(key for key in named if not _is_directive(key)):
        here = f"{path}.{key}" if path else key
        before = merged.get(key)
        after = _merge_field(before, patch, key, rules, here)
        if after is None:
            merged.pop(key, None)
        else:
            merged[key] = after
    return merged


def _is_directive(key: str) -> bool:
    if key.startswith("$") and key != "$patch" and not key.startswith((_ORDER, _REMOVE)):
        raise bad_request(f"the simulator does not know the directive {key}")
    return key.startswith("$")


def _merge_field(before: Any, patch: dict[str, Any], key: str, rules: Mapping[str, str], here: str) -> Any:
    """The field's new value; None when it is to be absent."""
    order, removed = patch.get(_ORDER + key), patch.get(_REMOVE + key)
    if not isinstance(order, list | None) or not isinstance(removed, list | None):
        raise broken(f"a directive for {here} is not a list")
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
        raise broken(f"map: {patch} does not contain declared merge key: {key}")
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
