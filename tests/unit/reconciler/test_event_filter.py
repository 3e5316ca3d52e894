"""Which events wake the loop: those at which some rule looks, and that were not ours."""

import json
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from actuators.http.own_writes import OwnWrites
from actuators.http.watch import WatchEvent
from actuators.wire.node import NODES
from actuators.wire.service import SERVICES
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.section import Section
from reconciler.triggers import EventFilter, WatchedKind
from tests.builders import a_snapshot
from tests.support.objects import condition, settled_node
from tests.support.payloads import GONE, replaced
from tests.support.rows import rows

CREATED = "2026-01-01T00:00:00Z"
NODE, SERVICE = WatchedKind.NODE, WatchedKind.SERVICE


def a_raw_node(name: str = "web-1", version: int = 10, **changes: Any) -> dict[str, Any]:
    """A settled Node as the API server has it, with what no rule looks at."""
    node = settled_node(name, 1)
    meta = {"uid": f"uid-{name}", "resourceVersion": str(version), "creationTimestamp": CREATED, "generation": 1}
    node["metadata"] |= meta
    node["status"] |= {"images": [{"names": ["a"], "sizeBytes": 1}], "nodeInfo": {"kubeletVersion": "v1"}}
    return node | changes


def a_raw_service(kind: str = "LoadBalancer", version: int = 10, **metadata: Any) -> dict[str, Any]:
    """A Service as the API server has it."""
    own = {"name": "web", "namespace": "shop", "uid": "uid-shop-web", "creationTimestamp": CREATED}
    ports = [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**own, "resourceVersion": str(version), **metadata},
        "spec": {"type": kind, "ports": ports, "clusterIP": "10.96.0.1"},
        "status": {"loadBalancer": {}},
    }


def a_list(kind: str, *items: Any) -> bytes:
    return json.dumps({"kind": f"{kind}List", "metadata": {"resourceVersion": "99"}, "items": items}).encode()


def world(*, nodes: tuple[Any, ...] = (), services: tuple[Any, ...] | None = ()) -> Snapshot:
    """A snapshot of these raw objects, read as a pass reads them."""
    found = None if services is None else SERVICES.joined([SERVICES.decode(a_list("Service", *services))])
    section = NODES.joined([NODES.decode(a_list("Node", *nodes))])
    return a_snapshot(nodes_section=section, services=found)


class Stage:
    """A judge with a clock that stands still, and what has woken the loop."""

    def __init__(self, baseline: Snapshot | None) -> None:
        self.now = 0.0
        self.woken: list[str] = []
        self.own = OwnWrites()
        self.relevance = EventFilter(self.woken.append, self.own, clock=lambda: self.now)
        if baseline is not None:
            self.relevance.settle(baseline)

    def tell(self, kind: WatchedKind, found: dict[str, Any], type_: str = "MODIFIED") -> "Stage":
        """A watch tells of an object; nothing is judged yet."""
        meta = found.get("metadata", {})
        event = WatchEvent(
            type_, json.dumps(found).encode(), str(meta.get("resourceVersion", "")), str(meta.get("uid", ""))
        )
        self.relevance.saw(kind, event)
        return self

    def judged(self) -> list[str]:
        """What has woken the loop since this was last asked, once all events have been judged."""
        self.now += 0.2
        self.relevance.judge()
        woken, self.woken[:] = list(self.woken), []
        return woken

    def judge(self, kind: WatchedKind, found: dict[str, Any], type_: str = "MODIFIED") -> list[str]:
        return self.tell(kind, found, type_).judged()

    def settle(self, snapshot: Snapshot) -> list[str]:
        """What the end of a pass wakes."""
        self.relevance.settle(snapshot)
        woken, self.woken[:] = list(self.woken), []
        return woken


def with_label(found: dict[str, Any], version: int, value: str = "red") -> dict[str, Any]:
    """The object after somebody labelled it."""
    other = deepcopy(found)
    other["metadata"]["resourceVersion"] = str(version)
    other["metadata"]["labels"] = {**other["metadata"].get("labels", {}), "example.com/team": value}
    return other


def heartbeat(version: int) -> dict[str, Any]:
    """The Node after its kubelet has written its status: the time, images, its version."""
    node = a_raw_node(version=version)
    node["status"]["conditions"] = [
        {**condition("Ready", "True"), "lastHeartbeatTime": f"2026-02-01T00:00:{version % 60:02}Z"}
    ]
    node["status"]["images"] = [{"names": [str(version)], "sizeBytes": version}]
    return node


BASE = world(nodes=(a_raw_node(),), services=(a_raw_service(),))


def test_a_thousand_heartbeats_wake_nobody() -> None:
    stage = Stage(BASE)
    for version in range(11, 1011):
        stage.tell(NODE, heartbeat(version))

    assert stage.judged() == []
    assert stage.relevance.judge() is None


def changed(path: tuple[Any, ...], value: Any, version: int = 11) -> dict[str, Any]:
    return replaced(a_raw_node(version=version), path, value)


def of_service(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    return replaced(a_raw_service(version=11), path, value)


SPEC, STATUS, META = ("spec",), ("status",), ("metadata",)
UNREACHABLE = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]


@pytest.mark.parametrize(("kind", "found"), [
    pytest.param(NODE, with_label(a_raw_node(), 11), id="a label by kubectl"),
    pytest.param(NODE, changed((*SPEC, "unschedulable"), True), id="a cordon"),
    pytest.param(NODE, changed((*SPEC, "taints"), UNREACHABLE), id="a taint"),
    pytest.param(NODE, changed((*SPEC, "podCIDRs"), ["10.244.0.0/24"]), id="a pod CIDR"),
    pytest.param(NODE, changed((*SPEC, "providerID"), GONE), id="no providerID"),
    pytest.param(NODE, changed((*STATUS, "conditions"), [condition("Ready", "False")]), id="not Ready"),
    pytest.param(NODE, changed((*STATUS, "addresses"), []), id="addresses"),
    pytest.param(NODE, changed((*META, "deletionTimestamp"), CREATED), id="on its way out"),
    pytest.param(NODE, changed((*META, "uid"), "another"), id="another Node of that name"),
    pytest.param(SERVICE, of_service((*SPEC, "ports", 0, "port"), 81), id="a port"),
    pytest.param(SERVICE, of_service((*META, "annotations"), {"a": "b"}), id="an annotation"),
    pytest.param(SERVICE, of_service((*SPEC, "type"), "ClusterIP"), id="another type"),
    pytest.param(SERVICE, of_service((*META, "deletionTimestamp"), CREATED), id="a Service on its way out"),
    pytest.param(SERVICE, of_service((*SPEC, "loadBalancerClass"), "other"), id="another's class"),
    pytest.param(SERVICE, of_service((*STATUS, "loadBalancer"), {"ingress": [{"ip": "192.0.2.1"}]}), id="status"),
])  # fmt: skip
def test_changes_that_some_rule_looks_at(kind: WatchedKind, found: dict[str, Any]) -> None:
    """They wake, once: what follows of the same object is no news, as long as it stays like that."""
    stage = Stage(BASE)
    key = "node/web-1" if kind is NODE else "service/shop/web"

    assert stage.judge(kind, found) == [f"{key} changed"]
    again = deepcopy(found)
    again["metadata"]["resourceVersion"] = "12"
    assert stage.judge(kind, again) == []


@rows("kind found", {
    "images": (NODE, changed((*STATUS, "images"), [])),
    "an annotation of a Node": (NODE, changed((*META, "annotations"), {"example.com/x": "y"})),
    "managed fields": (NODE, changed((*META, "managedFields"), [{"manager": "kubectl"}])),
    "order": (NODE, changed((*META, "labels"), dict(reversed(a_raw_node()["metadata"]["labels"].items())))),
    "a cluster IP": (SERVICE, of_service((*SPEC, "clusterIP"), "10.96.0.2")),
    "a target port": (SERVICE, of_service((*SPEC, "ports", 0, "targetPort"), 8080)),
})  # fmt: skip
def test_changes_that_no_rule_looks_at(kind: WatchedKind, found: dict[str, Any]) -> None:
    assert Stage(BASE).judge(kind, found) == []


@rows("kind found type_ woken", {
    "a Node joins": (NODE, a_raw_node("web-2", 11), "ADDED", ["node/web-2 is new"]),
    "a Node goes": (NODE, a_raw_node(version=11), "DELETED", ["node/web-1 is gone"]),
    "a Node that nobody has seen goes": (NODE, a_raw_node("web-2", 11), "DELETED", []),
    "a Service goes": (SERVICE, a_raw_service(version=11), "DELETED", ["service/shop/web is gone"]),
    "a new Service": (SERVICE, a_raw_service(version=11, name="new"), "ADDED", ["service/shop/new is new"]),
    "one without load balancer": (SERVICE, a_raw_service("ClusterIP", 11, name="new"), "ADDED", []),
})  # fmt: skip
def test_comings_and_goings(kind: WatchedKind, found: dict[str, Any], type_: str, woken: list[str]) -> None:
    assert Stage(BASE).judge(kind, found, type_) == woken


def test_a_service_that_never_mattered() -> None:
    """Whatever happens to it, until it becomes one that does."""
    stage = Stage(world(services=(a_raw_service("ClusterIP"),)))

    assert stage.judge(SERVICE, with_label(a_raw_service("ClusterIP"), 11)) == []
    assert stage.judge(SERVICE, a_raw_service(version=12)) == ["service/shop/web changed"]


def test_our_own_write_wakes_nobody() -> None:
    """Even when its answer comes later than the watch's word of it, and whatever is written after the pass looked."""
    stage = Stage(BASE)
    written = with_label(a_raw_node(), 11)
    stage.tell(NODE, written)
    stage.own.note(json.dumps(written).encode())

    assert stage.judged() == []
    assert stage.judge(NODE, with_label(a_raw_node(), 12)) == []
    assert stage.settle(BASE) == []
    assert stage.judge(NODE, with_label(a_raw_node(), 12)) == []
    assert stage.judge(NODE, with_label(a_raw_node(), 13, "blue")) == ["node/web-1 changed"]


def test_our_own_deletion_wakes_nobody() -> None:
    stage = Stage(BASE)
    stage.own.note(json.dumps({"kind": "Status", "details": {"uid": "uid-web-1"}}).encode())

    assert stage.judge(NODE, a_raw_node(version=11), "DELETED") == []


def test_a_foreign_change_just_before_our_own() -> None:
    """Each event is judged for itself: ours does not hide it."""
    stage = Stage(BASE)
    foreign = changed((*SPEC, "unschedulable"), True)
    ours = with_label(foreign, 12)
    stage.own.note(json.dumps(ours).encode())

    assert stage.tell(NODE, foreign).judge(NODE, ours) == ["node/web-1 changed"]


def test_a_pass_that_has_seen_it() -> None:
    """Nothing is left of an event once a pass agrees with it, or is later."""
    labelled = with_label(a_raw_node(), 11)
    for later in (labelled, with_label(a_raw_node(), 12, "blue")):
        stage = Stage(BASE)
        assert stage.judge(NODE, labelled)
        assert stage.settle(world(nodes=(later,))) == []
        assert stage.judge(NODE, with_label(later, 20, later["metadata"]["labels"]["example.com/team"])) == []


def test_an_event_of_before_the_pass_looked() -> None:
    stage = Stage(world(nodes=(a_raw_node(version=12),)))

    assert stage.judge(NODE, with_label(a_raw_node(), 11)) == []


def test_a_change_while_a_pass_runs() -> None:
    """It wakes at once, so that a long series gives way, and again at the end of the pass that has not seen it; but not
    for ever, should no pass ever see it."""
    stage = Stage(BASE)

    assert stage.judge(NODE, a_raw_node("web-2", 11), "ADDED") == ["node/web-2 is new"]
    assert stage.settle(BASE) == ["node/web-2 is new"]
    assert stage.settle(BASE) == []
    assert stage.settle(BASE) == []


def test_a_change_that_is_taken_back() -> None:
    stage = Stage(BASE)
    assert stage.judge(NODE, with_label(a_raw_node(), 11))
    assert stage.judge(NODE, heartbeat(12)) == []

    assert stage.settle(BASE) == []


def test_a_section_that_was_not_read() -> None:
    stage = Stage(BASE)
    stage.settle(replace(BASE, services=Section.missing("403")))

    assert stage.judge(SERVICE, a_raw_service(version=11)) == []
    assert stage.judge(SERVICE, with_label(a_raw_service(), 12)) == ["service/shop/web changed"]


def test_before_the_first_pass_has_ended() -> None:
    """What comes and goes wakes; a change may be a heartbeat, and is compared with what the pass has seen."""
    stage = Stage(None)

    assert stage.judge(NODE, heartbeat(11)) == []
    assert stage.judge(NODE, with_label(a_raw_node(), 12)) == ["node/web-1 changed"]
    assert stage.judge(NODE, a_raw_node("web-2", 13), "ADDED") == ["node/web-2 is new"]
    assert stage.settle(BASE) == ["node/web-1 changed"]

    quiet = Stage(None)
    assert quiet.judge(NODE, heartbeat(11)) == []
    assert quiet.settle(BASE) == []


BROKEN = changed((*META, "creationTimestamp"), "yesterday")


def test_an_object_that_cannot_be_read() -> None:
    """It wakes when it becomes so, and when it becomes so in another way; its heartbeats do not."""
    stage = Stage(BASE)
    assert stage.judge(NODE, BROKEN) == ["node/web-1 changed"]
    assert stage.settle(world(nodes=(BROKEN,), services=(a_raw_service(),))) == []

    for version in range(12, 100):
        assert stage.judge(NODE, replaced(BROKEN, (*META, "resourceVersion"), str(version))) == []
    assert stage.judge(NODE, replaced(BROKEN, (*META, "creationTimestamp"), 7)) == ["node/web-1 changed"]
    assert stage.judge(NODE, a_raw_node(version=200)) == ["node/web-1 changed"]


@pytest.mark.parametrize("found", [{}, {"metadata": {}}, {"metadata": {"name": 7}}])
def test_an_object_without_a_name(found: dict[str, Any]) -> None:
    stage = Stage(BASE)

    assert stage.judge(NODE, found) == ["a node that cannot be read has changed"]
    assert stage.judge(NODE, found) == []


@pytest.mark.parametrize("version", ["", "abc", "9" * 5000, "٣", "-1"])
def test_a_version_that_is_no_number(version: str) -> None:
    """Nothing can be said of the order; what the object is still counts."""
    stage = Stage(BASE)

    assert stage.judge(NODE, replaced(a_raw_node(), (*META, "resourceVersion"), version)) == []
    labelled = replaced(with_label(a_raw_node(), 11), (*META, "resourceVersion"), version)
    assert stage.judge(NODE, labelled) == ["node/web-1 changed"]


def test_an_event_is_judged_a_moment_after_it_came() -> None:
    """A tenth of a second, which is said to whoever waits."""
    stage = Stage(BASE)
    stage.tell(NODE, with_label(a_raw_node(), 11))

    assert stage.relevance.judge() == pytest.approx(0.1)
    stage.now += 0.06
    assert stage.relevance.judge() == pytest.approx(0.04)
    assert stage.woken == []
    stage.now += 0.05
    assert stage.relevance.judge() is None
    assert stage.woken == ["node/web-1 changed"]


def test_every_field_that_the_core_compares_counts() -> None:
    """All but the version; a new field of Nodes or Services is looked at without a word here."""
    seen = world(nodes=(a_raw_node(),), services=(a_raw_service(),))
    assert seen.services is not None
    (node,), (service,) = seen.nodes, seen.services
    assert WatchedKind.NODE.section(seen) is seen.nodes
    later = datetime(2027, 1, 1, tzinfo=UTC)
    for found in (node, service):
        before = found.__class__(**{name: getattr(found, name) for name in found.__dataclass_fields__})
        assert before == found
        assert sight(before) == sight(found)
        assert sight(replace(found, resource_version="77")) == sight(found)
        assert sight(replace(found, created_at=later)) != sight(found)


def sight(found: Any) -> int | None:
    from reconciler.triggers.relevance import projection_of  # noqa: PLC0415 - the only test of a part

    return projection_of(found, Serving()).projection
