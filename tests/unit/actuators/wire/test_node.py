"""What the API server says, decoded: Nodes as they really come, with gaps, with nonsense, and one bad among many."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from actuators.http.errors import Broken
from actuators.http.kubernetes import ApiAnswer
from actuators.wire.node import NODES
from actuators.wire.objects import server_time
from desired.model.snapshot import Condition, Node, NodeAddress, Readiness
from desired.model.taint import Taint
from desired.section import Absent, Present, Section, Unknown
from tests.support.payloads import GONE, paths, replaced
from tests.support.rows import rows

REAL: dict[str, Any] = {
    "metadata": {
        "name": "web-1",
        "uid": "3b1f4a6e-0000-4000-8000-000000000001",
        "resourceVersion": "4711",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "labels": {"kubernetes.io/hostname": "web-1"},
        "annotations": {"alpha.kubernetes.io/provided-node-ip": "10.0.0.2", "other": "x"},
        "finalizers": ["example.com/drain"],
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:metadata": {}}}],
    },
    "spec": {
        "podCIDR": "10.244.0.0/24",
        "podCIDRs": ["10.244.0.0/24", "fd00:244::/64"],
        "providerID": "hcloud://1",
        "unschedulable": True,
        "taints": [
            {"key": "a", "value": "b", "effect": "NoSchedule"},
            {"key": "c", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
        ],
    },
    "status": {
        "capacity": {"cpu": "4"},
        "conditions": [
            {"type": "MemoryPressure", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {
                "type": "Ready",
                "status": "True",
                "lastTransitionTime": "2026-01-01T00:01:00Z",
                "lastHeartbeatTime": "2026-01-02T00:00:00Z",
                "reason": "KubeletReady",
            },
        ],
        "addresses": [{"type": "Hostname", "address": "web-1"}, {"type": "InternalIP", "address": "10.0.0.2"}],
        "nodeInfo": {"kubeletVersion": "v1.36.3"},
    },
}
OPTIONAL = paths(
    """
    metadata:deletionTimestamp metadata:labels metadata:annotations
    metadata:annotations:alpha.kubernetes.io/provided-node-ip metadata:finalizers metadata:managedFields
    spec:providerID spec:podCIDR spec:podCIDRs spec:unschedulable spec:taints spec:taints:0:value
    spec:taints:1:timeAdded status:conditions status:conditions:1:lastTransitionTime
    status:conditions:1:lastHeartbeatTime status:conditions:1:reason status:addresses status:nodeInfo
    """
)
NULLABLE = paths(
    """
    metadata:deletionTimestamp metadata:labels metadata:annotations metadata:finalizers spec:taints spec:podCIDRs
    status:conditions status:conditions:1:lastTransitionTime status:conditions:1:lastHeartbeatTime status:addresses
    """
)
NEEDED = paths(
    """
    metadata:uid metadata:resourceVersion metadata:creationTimestamp spec status spec:taints:0:key
    spec:taints:0:effect status:addresses:0:address status:conditions:1:status
    """
)


def page(*items: Any, **overrides: Any) -> bytes:
    return json.dumps(
        {
            "kind": "NodeList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "5"},
            "items": list(items),
            **overrides,
        }
    ).encode()


def section_of(*pages: bytes) -> Section[str, Node]:
    return NODES.joined([NODES.decode(one) for one in pages])


def changed(path: tuple[Any, ...], value: Any = GONE, name: str = "web-1") -> dict[str, Any]:
    """The real Node with one field dropped, or replaced."""
    return replaced({**REAL, "metadata": {**REAL["metadata"], "name": name}}, path, value)


def test_a_real_node() -> None:
    section = section_of(page(REAL))

    assert section.items == {
        "web-1": Node(
            name="web-1",
            uid="3b1f4a6e-0000-4000-8000-000000000001",
            resource_version="4711",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            provider_id="hcloud://1",
            labels={"kubernetes.io/hostname": "web-1"},
            taints=(Taint("a", "NoSchedule", "b"), Taint("c", "NoExecute", None, "2026-01-01T00:00:00Z")),
            addresses=(NodeAddress("Hostname", "web-1"), NodeAddress("InternalIP", "10.0.0.2")),
            provided_node_ip="10.0.0.2",
            conditions=(
                Condition("MemoryPressure", "False", "", datetime(2026, 1, 1, tzinfo=UTC)),
                Condition("Ready", "True", "KubeletReady", datetime(2026, 1, 1, 0, 1, tzinfo=UTC)),
            ),
            unschedulable=True,
            deleted_at=datetime(2026, 1, 2, tzinfo=UTC),
            finalizers=("example.com/drain",),
            pod_cidrs=("10.244.0.0/24", "fd00:244::/64"),
        )
    }
    assert section.complete


@pytest.mark.parametrize("path", OPTIONAL, ids=str)
def test_optional_fields(path: tuple[Any, ...]) -> None:
    section = section_of(page(changed(path)))
    assert list(section.items) == ["web-1"]
    assert section.unreadable == {}


@pytest.mark.parametrize("path", NULLABLE, ids=str)
def test_null_is_nothing(path: tuple[Any, ...]) -> None:
    """Go writes null for what is empty."""
    assert section_of(page(changed(path, None))).items == section_of(page(changed(path))).items


@pytest.mark.parametrize("path", NEEDED, ids=str)
def test_needed_fields(path: tuple[Any, ...]) -> None:
    section = section_of(page(changed(path), changed(("spec", "unschedulable"), name="web-2")))
    assert section.complete
    assert isinstance(section.find("web-1"), Unknown)
    assert isinstance(section.find("web-2"), Present)
    assert isinstance(section.find("web-3"), Absent)


def test_a_node_without_the_list_of_its_pod_cidrs() -> None:
    """The first of them is told twice: a route of the Node's own does not look superfluous."""
    (node,) = section_of(page(changed(("spec", "podCIDRs")))).items.values()
    assert node.pod_cidrs == ("10.244.0.0/24",)


@pytest.mark.parametrize("value", [5, "10.244.0.0/24", {}, [5], [None]], ids=repr)
def test_pod_cidrs_that_are_no_list_of_texts(value: Any) -> None:
    """Nobody knows then which pods a Node has: it is unreadable, and no route of its own looks superfluous."""
    section = section_of(page(changed(("spec", "podCIDRs"), value), changed(("spec", "unschedulable"), name="web-2")))
    assert isinstance(section.find("web-1"), Unknown)
    assert isinstance(section.find("web-2"), Present)


def test_a_nameless_object() -> None:
    section = section_of(page(REAL, {"metadata": {"name": 5}}))
    assert isinstance(section.find("web-1"), Present)
    assert isinstance(section.find("web-2"), Unknown)
    assert section.why_incomplete == "1 Node could not be read, name included"


@pytest.mark.parametrize("items", [None, []])
def test_an_empty_list(items: Any) -> None:
    """Go writes null for an empty list; with a version it is a list all the same, and absence can be said."""
    section = section_of(page(items=items))
    assert (len(section), section.complete) == (0, True)
    assert isinstance(section.find("web-1"), Absent)


@rows(
    "body",
    {
        "null without a version": page(items=None, metadata={}),
        "one Node": page(kind="Node"),
        "items are a text": page(items="all"),
    },
)
def test_answers_that_are_no_list(body: bytes) -> None:
    """What is no list of the API server's is Broken: it must never look like an empty cluster."""
    with pytest.raises(Broken):
        section_of(body)


BORN, TURNED, BEAT = datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:01:00Z", datetime(2026, 1, 2, tzinfo=UTC)
SINCE = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def ready(status: str, **times: str) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": status, **times}]


@rows(
    "conditions readiness since heard_at",
    {
        "none": ([], Readiness.MISSING, BORN, BORN),
        "others only": ([{"type": "DiskPressure", "status": "False"}], Readiness.MISSING, BORN, BORN),
        "all there is": (REAL["status"]["conditions"], Readiness.TRUE, SINCE, BEAT),
        "without a time": (ready("False"), Readiness.FALSE, BORN, BORN),
        "unknown": (ready("Unknown", lastTransitionTime=TURNED), Readiness.UNKNOWN, SINCE, SINCE),
        "a word of a later version": (ready("Perhaps"), Readiness.UNKNOWN, BORN, BORN),
        "an earlier heartbeat": (
            ready("True", lastTransitionTime=TURNED, lastHeartbeatTime="2025-12-31T00:00:00Z"),
            Readiness.TRUE,
            SINCE,
            SINCE,
        ),
    },
)
def test_readiness(conditions: list[dict[str, str]], readiness: Readiness, since: datetime, heard_at: datetime) -> None:
    node = section_of(page(changed(("status", "conditions"), conditions))).items["web-1"]
    assert (node.ready, node.ready_since, node.heard_at) == (readiness, since, heard_at)


@pytest.mark.parametrize("field", ["lastTransitionTime", "lastHeartbeatTime"])
def test_a_time_that_is_none_is_unknown_and_not_absent(field: str) -> None:
    section = section_of(page(changed(("status", "conditions", 1, field), "yesterday")))
    assert isinstance(section.find("web-1"), Unknown)


@pytest.mark.parametrize(("text", "provided"), [("", ""), ("10.0.0.2,fd00::2", "10.0.0.2,fd00::2")])
def test_provided_node_ip(text: str, provided: str) -> None:
    path = ("metadata", "annotations", "alpha.kubernetes.io/provided-node-ip")
    assert section_of(page(changed(path, text))).items["web-1"].provided_node_ip == provided
    assert section_of(page(changed(path))).items["web-1"].provided_node_ip is None


@pytest.mark.parametrize("date", ["Wed, 01 Jul 2026 12:00:00 GMT", "Wed, 01 Jul 2026 14:00:00 +0200"])
def test_server_time(date: str) -> None:
    assert server_time(ApiAnswer(b"", {"date": date})) == datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("headers", [{}, {"date": ""}, {"date": "yesterday"}])
def test_no_server_time(headers: dict[str, str]) -> None:
    with pytest.raises(Broken, match="no usable Date header"):
        server_time(ApiAnswer(b"", headers))
