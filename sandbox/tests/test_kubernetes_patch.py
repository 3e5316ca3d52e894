"""Patches as functions. What the API server answers to them is in ``tests/contract/test_kubernetes_patches.py``."""

import copy
from typing import Any

import pytest

from kubernetes_double.patch import (
    PatchCannotBeMerged,
    PatchDoesNotFit,
    PatchError,
    json_patch,
    merge_patch,
    strategic_patch,
)


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        # The examples of RFC 7386, appendix A, that concern objects.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    """RFC 7386, and neither argument is changed."""
    before = copy.deepcopy((target, patch))
    assert merge_patch(target, patch) == expected
    assert (target, patch) == before


@pytest.mark.parametrize(
    ("target", "operations", "expected"),
    [
        # From RFC 6902, appendix A.
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"foo": "bar", "baz": "qux"}),
        ({"foo": ["a", "b"]}, [{"op": "add", "path": "/foo/1", "value": "c"}], {"foo": ["a", "c", "b"]}),
        ({"foo": ["a", "b", "c"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["a", "c"]}),
        ({"foo": ["a", "b"]}, [{"op": "replace", "path": "/foo/0", "value": "c"}], {"foo": ["c", "b"]}),
        ({"foo": [1, 2, 3]}, [{"op": "move", "from": "/foo/0", "path": "/foo/2"}], {"foo": [2, 3, 1]}),
        ({"foo": ["a"]}, [{"op": "add", "path": "/foo/-", "value": ["b"]}], {"foo": ["a", ["b"]]}),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
        ({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": {"b": 1}, "c": {"b": 1}}),
    ],
)
def test_json_patch(target: Any, operations: Any, expected: Any) -> None:
    """RFC 6902, and the target is not changed."""
    before = copy.deepcopy(target)
    assert json_patch(target, operations) == expected
    assert target == before


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/list/5", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/text/x", "value": 1},
        {"op": "add", "path": "list", "value": 1},
        {"op": "remove", "path": "/list/5"},
        {"op": "move", "from": "/nothing", "path": "/list"},
        {"op": "test", "path": "/list", "value": [2]},
    ],
)
def test_json_patch_that_does_not_fit(operation: Any) -> None:
    """Each is refused as a whole, whatever came before it."""
    with pytest.raises(PatchDoesNotFit):
        json_patch({"list": [1], "text": "x"}, [{"op": "add", "path": "/a", "value": 1}, operation])


def test_json_patch_is_a_list() -> None:
    """Anything else is not read at all."""
    with pytest.raises(PatchError):
        json_patch({}, {"op": "add"})


def items(*names: str) -> list[dict[str, str]]:
    return [{"type": name} for name in names]


@pytest.mark.parametrize(
    ("before", "patch", "order", "expected"),
    [
        pytest.param("AB", "C", None, "CAB", id="new ones come first"),
        pytest.param("ABC", "B", None, "ABC", id="known ones stay"),
        pytest.param("ABC", "CA", None, "BCA", id="the patch's order, the others where they were"),
        pytest.param("ABCD", "XC", None, "XABCD", id="a new one before a known one"),
        pytest.param("ABCD", "CX", None, "ABCXD", id="a new one behind a known one"),
        pytest.param("ABC", "X", "CXA", "BCXA", id="an order in the patch"),
        pytest.param("ABC", None, "CBA", "CBA", id="nothing but an order"),
    ],
)
def test_the_order_of_merged_lists(before: str, patch: str | None, order: str | None, expected: str) -> None:
    """One letter is one item: named items in the order asked for, the others between them."""
    sent: dict[str, Any] = {}
    if patch is not None:
        sent["conditions"] = items(*patch)
    if order is not None:
        sent["$setElementOrder/conditions"] = items(*order)
    patched = strategic_patch({"status": {"conditions": items(*before)}}, {"status": sent}, "Node")
    assert patched["status"]["conditions"] == items(*expected)


@pytest.mark.parametrize(
    ("kind", "target", "patch", "expected"),
    [
        pytest.param("Node", {}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, id="nulls are not taken over"),
        pytest.param("Node", {"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="another type replaces"),
        pytest.param("Lease", {"spec": {"l": [1]}}, {"spec": {"l": [2]}}, {"spec": {"l": [2]}}, id="unknown lists"),
        pytest.param(
            "ConfigMap",
            {"status": {"conditions": items("A")}},
            {"status": {"conditions": items("B")}},
            {"status": {"conditions": items("B")}},
            id="the rules of another kind do not apply",
        ),
        pytest.param(
            "Node",
            {},
            {"status": {"addresses": [{"$patch": "replace"}, {"type": "A"}]}},
            {"status": {"addresses": items("A")}},
            id="directives are not taken over",
        ),
        pytest.param(
            "Lease",
            {"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}, {"uid": "2"}]}},
            {"metadata": {"ownerReferences": [{"uid": "1", "name": "b"}]}},
            {"metadata": {"ownerReferences": [{"uid": "1", "name": "b"}, {"uid": "2"}]}},
            id="owners by uid",
        ),
    ],
)
def test_strategic_patch(kind: str, target: Any, patch: Any, expected: Any) -> None:
    """Neither argument is changed."""
    before = copy.deepcopy((target, patch))
    assert strategic_patch(target, patch, kind) == expected
    assert (target, patch) == before


def test_strategic_patch_that_is_not_understood() -> None:
    """A directive that the simulator lacks is refused, not ignored."""
    with pytest.raises(PatchError, match="retainKeys"):
        strategic_patch({}, {"spec": {"$retainKeys": ["a"]}}, "Node")
    with pytest.raises(PatchCannotBeMerged, match="merge key"):
        strategic_patch({"status": {"conditions": []}}, {"status": {"conditions": [{"a": 1}]}}, "Node")
