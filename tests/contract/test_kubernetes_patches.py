"""The three kinds of patch, on the objects that the product patches."""

from typing import Any

import pytest

from tests.contract.kubernetes_api import (
    CONFIG_MAPS,
    JSON_PATCH,
    MERGE,
    NODES,
    SERVICES,
    STRATEGIC,
    KubernetesApi,
    without_versions,
)
from tests.support.rows import rows

UNPROCESSABLE = "the server rejected our request due to an error in our request"


def condition(kind: str, status: str = "True", reason: str = "R") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason}


def address(kind: str, value: str) -> dict[str, Any]:
    return {"type": kind, "address": value}


INTERNAL_1, INTERNAL_2, INTERNAL_3 = (address("InternalIP", f"10.0.0.{n}") for n in (1, 2, 3))
HOST, EXTERNAL = address("Hostname", "web-1"), address("ExternalIP", "192.0.2.1")


@rows("before patch after", {
    "added": ({"a": "1"}, {"b": "2"}, {"a": "1", "b": "2"}),
    "null removes": ({"a": "1", "b": "2"}, {"a": None, "c": None}, {"b": "2"}),
    "the empty map is left out": ({"a": "1"}, {"a": None}, None),
    "null removes the map": ({"a": "1"}, None, None),
    "an empty map changes nothing": ({"a": "1"}, {}, {"a": "1"}),
    "null where nothing is": ({}, {"a": None, "b": "2"}, {"b": "2"}),
})  # fmt: skip
@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC])
def test_maps_are_merged(api: KubernetesApi, name: str, content_type: str, before: Any, patch: Any, after: Any) -> None:
    api.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": before})
    patched = api.request("PATCH", f"{CONFIG_MAPS}/{name}", {"data": patch}, content_type).good()
    assert patched.get("data") == after


@rows(
    "patch after", {"replaced": ({"$patch": "replace", "z": "1"}, {"z": "1"}), "deleted": ({"$patch": "delete"}, None)}
)
def test_a_strategic_patch_has_directives_for_maps(api: KubernetesApi, name: str, patch: Any, after: Any) -> None:
    api.create(NODES, {"metadata": {"name": name, "labels": {"a": "1"}}})
    patched = api.strategic(f"{NODES}/{name}", {"metadata": {"labels": patch}}).good()
    assert patched["metadata"].get("labels") == after


def test_a_merge_patch_replaces_lists(api: KubernetesApi, name: str) -> None:
    """Which is why addresses are written with it."""
    api.create(NODES, {"metadata": {"name": name}, "status": {"addresses": [INTERNAL_1, HOST]}})
    patched = api.merge(f"{NODES}/{name}/status", {"status": {"addresses": [INTERNAL_2, INTERNAL_3]}}).good()
    assert patched["status"]["addresses"] == [INTERNAL_2, INTERNAL_3]


@rows("before patch after", {
    "taken where none is": ([], [INTERNAL_1, INTERNAL_2], [INTERNAL_1, INTERNAL_2]),
    "new ones come first": ([HOST], [EXTERNAL], [EXTERNAL, HOST]),
    "one of a type is replaced": ([HOST, INTERNAL_1], [INTERNAL_2], [HOST, INTERNAL_2]),
    "defect: two become one": ([INTERNAL_1], [INTERNAL_2, INTERNAL_3], [INTERNAL_3]),
    "defect: the second one stays": ([INTERNAL_1, INTERNAL_2, HOST], [INTERNAL_3, EXTERNAL],
        [INTERNAL_3, INTERNAL_2, EXTERNAL, HOST]),
    "replaced": ([INTERNAL_1, HOST], [{"$patch": "replace"}, INTERNAL_2, INTERNAL_3], [INTERNAL_2, INTERNAL_3]),
    "replaced, said last": ([INTERNAL_1, HOST], [INTERNAL_2, {"$patch": "replace"}], [INTERNAL_2]),
    "deleted by type": ([INTERNAL_1, INTERNAL_2, HOST], [{"type": "InternalIP", "$patch": "delete"}, EXTERNAL],
        [EXTERNAL, HOST]),
})  # fmt: skip
def test_a_strategic_patch_merges_addresses_by_type(
    api: KubernetesApi, name: str, before: Any, patch: Any, after: Any
) -> None:
    """With the well-known defect: of several addresses of one type only the first is ever found."""
    api.create(NODES, {"metadata": {"name": name}, "status": {"addresses": before}})
    patched = api.strategic(f"{NODES}/{name}/status", {"status": {"addresses": patch}}).good()
    assert patched["status"]["addresses"] == after


READY, MEMORY, NETWORK = condition("Ready"), condition("MemoryPressure", "False"), condition("NetworkUnavailable")


@rows("patch after", {
    "all are removed": ({"conditions": None}, None),
    "an order is given": ({"conditions": [NETWORK],
        "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "NetworkUnavailable"}]}, [READY, NETWORK, MEMORY]),
    "only an order is given": ({"$setElementOrder/conditions": [{"type": "MemoryPressure"}, {"type": "Ready"}]},
        [MEMORY, READY]),
})  # fmt: skip
def test_a_strategic_patch_merges_conditions_by_type(api: KubernetesApi, name: str, patch: Any, after: Any) -> None:
    api.create(NODES, {"metadata": {"name": name}, "status": {"conditions": [READY, MEMORY]}})
    patched = api.strategic(f"{NODES}/{name}/status", {"status": patch}).good()
    assert without_versions(patched["status"].get("conditions")) == after


def test_a_strategic_patch_replaces_taints(api: KubernetesApi, name: str) -> None:
    """There is no merge key: whoever writes taints needs the whole list and a version."""
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "c", "effect": "NoExecute"}]
    api.create(NODES, {"metadata": {"name": name}, "spec": {"taints": taints}})
    patched = api.strategic(f"{NODES}/{name}", {"spec": {"taints": taints[:1]}}).good()
    assert patched["spec"]["taints"] == taints[:1]
    assert "taints" not in api.strategic(f"{NODES}/{name}", {"spec": {"taints": []}}).good()["spec"]


@rows("before patch after", {
    "added, in front": (["e.c/1"], {"finalizers": ["e.c/2"]}, ["e.c/2", "e.c/1"]),
    "there already": (["e.c/1", "e.c/2"], {"finalizers": ["e.c/2"]}, ["e.c/1", "e.c/2"]),
    "in the patch's order": (["e.c/1"], {"finalizers": ["e.c/2", "e.c/1"]}, ["e.c/2", "e.c/1"]),
    "removed": (["e.c/1", "e.c/2"], {"$deleteFromPrimitiveList/finalizers": ["e.c/1", "e.c/3"]}, ["e.c/2"]),
    "the last one removed": (["e.c/1"], {"$deleteFromPrimitiveList/finalizers": ["e.c/1"]}, None),
    "removed where none is": ([], {"$deleteFromPrimitiveList/finalizers": ["e.c/1"]}, None),
    "removed, with an order": (["e.c/1", "e.c/2"],
        {"$deleteFromPrimitiveList/finalizers": ["e.c/1"], "$setElementOrder/finalizers": ["e.c/2"]}, ["e.c/2"]),
    "an order where none is": ([], {"$setElementOrder/finalizers": ["e.c/2"]}, None),
})  # fmt: skip
def test_a_strategic_patch_treats_finalizers_as_a_set(
    api: KubernetesApi, name: str, before: Any, patch: Any, after: Any
) -> None:
    api.create(NODES, {"metadata": {"name": name, "finalizers": before}})
    assert api.strategic(f"{NODES}/{name}", {"metadata": patch}).good()["metadata"].get("finalizers") == after


def test_a_strategic_patch_merges_service_ports_by_port(api: KubernetesApi, name: str) -> None:
    """As ``kubectl apply`` sends it; the port that is there keeps its nodePort."""
    spec = {"type": "LoadBalancer", "ports": [{"name": "a", "port": 80}]}
    path = f"{SERVICES}/{name}"
    before = api.create(SERVICES, {"metadata": {"name": name}, "spec": spec})["spec"]["ports"][0]
    ports = [{"name": "b", "port": 443}]
    patched = api.strategic(path, {"spec": {"$setElementOrder/ports": [{"port": 80}, {"port": 443}], "ports": ports}})
    first, second = patched.good()["spec"]["ports"]
    assert first == before
    assert (second["name"], second["port"], second["targetPort"], second["protocol"]) == ("b", 443, 443, "TCP")


@rows("patch", {
    "an item without its merge key": {"status": {"addresses": [{"address": "10.0.0.1"}]}},
    "an unknown directive": {"status": {"$patch": "merge"}},
})  # fmt: skip
def test_a_strategic_patch_that_cannot_be_merged_is_an_internal_error(
    api: KubernetesApi, name: str, patch: Any
) -> None:
    """500 without a reason, which looks transient and is not."""
    api.create(NODES, {"metadata": {"name": name}, "status": {"addresses": [HOST]}})
    assert api.strategic(f"{NODES}/{name}/status", patch).refusal[:2] == (500, None)


@rows("operations after", {
    "escape": ([{"op": "add", "path": "/metadata/labels/x~1y", "value": ""}], {"a": "1", "x/y": ""}),
    "remove": ([{"op": "remove", "path": "/metadata/labels/a"}], None),
    "move": ([{"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/b"}], {"b": "1"}),
    "test that holds": ([{"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "replace", "path": "/metadata/labels", "value": {"c": "d"}}], {"c": "d"}),
})  # fmt: skip
def test_a_json_patch_is_applied(api: KubernetesApi, name: str, operations: Any, after: Any) -> None:
    """RFC 6902."""
    api.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"a": "1"}}})
    patched = api.request("PATCH", f"{CONFIG_MAPS}/{name}", operations, JSON_PATCH).good()
    assert patched["metadata"].get("labels") == after


@rows("operation", {
    "test that fails": {"op": "test", "path": "/metadata/name", "value": "x"},
    "replace of nothing": {"op": "replace", "path": "/metadata/nothing/here", "value": "x"},
    "remove of nothing": {"op": "remove", "path": "/metadata/labels/x"},
    "add to nothing": {"op": "add", "path": "/metadata/annotations/x", "value": "y"},
    "unknown operation": {"op": "turn", "path": "/metadata/name"},
    "no path": {"op": "remove"},
    "remove everything": {"op": "remove", "path": ""},
})  # fmt: skip
def test_a_json_patch_that_does_not_fit_is_unprocessable(api: KubernetesApi, name: str, operation: Any) -> None:
    api.create(CONFIG_MAPS, {"metadata": {"name": name}})
    answer = api.request("PATCH", f"{CONFIG_MAPS}/{name}", [operation], JSON_PATCH)
    assert answer.refusal == (422, "Invalid", UNPROCESSABLE)


@rows("content_type patch", {
    "merge: a list": (MERGE, []),
    "merge: no JSON": (MERGE, b"{a"),
    "strategic: a list": (STRATEGIC, []),
    "strategic: no JSON": (STRATEGIC, b"{a"),
    "JSON patch: an object": (JSON_PATCH, {}),
})  # fmt: skip
def test_an_unreadable_patch_is_a_bad_request(api: KubernetesApi, name: str, content_type: str, patch: Any) -> None:
    api.create(CONFIG_MAPS, {"metadata": {"name": name}})
    assert api.request("PATCH", f"{CONFIG_MAPS}/{name}", patch, content_type).refusal[:2] == (400, "BadRequest")


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC])
@pytest.mark.parametrize("labels", [{"a": 1}, "x"], ids=["number", "text for a map"])
def test_a_patch_to_a_wrong_type_is_invalid(api: KubernetesApi, name: str, content_type: str, labels: Any) -> None:
    """422 where a POST or PUT has 400; the object is not named."""
    api.create(NODES, {"metadata": {"name": name}})
    answer = api.request("PATCH", f"{NODES}/{name}", {"metadata": {"labels": labels}}, content_type)
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert message.startswith(' "" is invalid: patch: Invalid value: ')
    assert answer.causes == {("FieldValueInvalid", "patch")}


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
def test_an_unknown_kind_of_patch_is_unsupported(api: KubernetesApi, name: str, content_type: str) -> None:
    answer = api.request("PATCH", f"{NODES}/{name}", {}, content_type)
    assert answer.refusal == (415, "UnsupportedMediaType", "415: Unsupported Media Type")
