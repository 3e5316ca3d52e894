"""Patches as functions. What the API server answers to them is in ``tests/contract/test_kubernetes_patches.py``."""

import copy
from typing import Any

import pytest

from kubernetes_double.errors import ApiError
from kubernetes_double.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, patched


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
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    """RFC 7386, and neither argument is changed."""
    before = copy.deepcopy((target, patch))
    assert patched(target, patch, MERGE_PATCH) == expected
    assert (target, patch) == before


def test_a_json_patch_is_carried_out_as_a_whole_or_not_at_all() -> None:
    """RFC 6902, by a library; what does not fit leaves the target as it was."""
    target = {"list": [1]}
    operations = [{"op": "add", "path": "/a", "value": 1}, {"op": "add", "path": "/list/-", "value": 2}]
    assert patched(target, operations, JSON_PATCH) == {"list": [1, 2], "a": 1}
    with pytest.raises(ApiError, match="422"):
        patched(target, [*operations, {"op": "remove", "path": "/list/5"}], JSON_PATCH)
    assert target == {"list": [1]}


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
    node = {"kind": "Node", "status": {"conditions": items(*before)}}
    assert patched(node, {"status": sent}, STRATEGIC_PATCH)["status"]["conditions"] == items(*expected)


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
    assert patched({"kind": kind, **target}, patch, STRATEGIC_PATCH) == {"kind": kind, **expected}
    assert (target, patch) == before


@pytest.mark.parametrize(
    ("patch", "text"),
    [({"spec": {"$retainKeys": ["a"]}}, "400.*retainKeys"), ({"status": {"conditions": [{"a": 1}]}}, "500.*merge key")],
)
def test_strategic_patch_that_is_not_understood(patch: Any, text: str) -> None:
    """What the double lacks is refused, not ignored."""
    with pytest.raises(ApiError, match=text):
        patched({"kind": "Node", "status": {"conditions": []}}, patch, STRATEGIC_PATCH)
