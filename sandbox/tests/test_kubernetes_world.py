"""World files of the Kubernetes simulator: what is filled in, what is refused."""

from typing import Any

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request
from kubernetes_double import KubernetesSimulator

NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z."""
ADMIN = {"Authorization": f"Bearer {KubernetesSimulator.TOKEN}"}


def simulator(world: dict[str, Any] | None = None, seed: int = 0) -> KubernetesSimulator:
    return KubernetesSimulator(SimulatedClock(lambda: NOW), world=world, seed=seed)


def read(api: KubernetesSimulator, path: str) -> Any:
    answer = api.handle(Request.of("GET", path, headers=ADMIN))
    assert answer.status == 200, answer.body
    return answer.body


def test_an_empty_world_has_the_system_namespaces() -> None:
    """And says so in the format that it reads."""
    world = simulator().world()
    assert world["format_version"] == "1.0"
    namespaces = world["kubernetes"].pop("namespaces")
    assert [found["metadata"]["name"] for found in namespaces] == ["default", "kube-system"]
    assert world["kubernetes"] == {"nodes": [], "services": []}


def test_a_partial_object_is_completed() -> None:
    """A name is enough; an object that does not say its age is an hour old."""
    node = read(simulator({"nodes": [{"metadata": {"name": "web-1"}}]}), "/api/v1/nodes/web-1")
    assert (node["kind"], node["apiVersion"], node["spec"]) == ("Node", "v1", {})
    assert node["metadata"]["creationTimestamp"] == "2025-12-31T23:00:00Z"
    assert int(node["metadata"]["resourceVersion"]) > 0


def test_what_is_given_is_kept() -> None:
    """Status, identity and versions of a captured object; the cluster's version continues from there."""
    given = {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": "web-1",
            "uid": "6f9619ff-8b86-4011-b42d-00c04fc964ff",
            "resourceVersion": "4711",
            "creationTimestamp": "2020-01-01T00:00:00Z",
            "deletionTimestamp": "2020-01-02T00:00:00Z",
            "finalizers": ["example.com/f"],
        },
        "spec": {"providerID": "hcloud://1"},
        "status": {"addresses": [{"type": "Hostname", "address": "web-1"}]},
    }
    api = simulator({"nodes": [given]})
    node = read(api, "/api/v1/nodes/web-1")
    assert node["metadata"] == given["metadata"]
    assert node["status"]["addresses"] == [{"type": "Hostname", "address": "web-1"}]
    created = api.handle(Request.of("POST", "/api/v1/nodes", {"metadata": {"name": "web-2"}}, ADMIN))
    assert int(created.body["metadata"]["resourceVersion"]) > 4711


@pytest.mark.parametrize(("captured", "left"), [({"captured": {}}, False), ({}, True)], ids=["captured", "written"])
def test_heartbeats_of_a_captured_world_are_left_out(captured: dict[str, Any], left: bool) -> None:
    """No kubelet would refresh them, and after a quarter of an hour each Node would look silent."""
    beating = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    node = {"metadata": {"name": "web-1"}, "status": {"conditions": [beating]}}
    api = simulator({**captured, "kubernetes": {"nodes": [node]}})

    (found,) = read(api, "/api/v1/nodes/web-1")["status"]["conditions"]
    assert ("lastHeartbeatTime" in found) is left


def test_a_service_gets_what_the_server_would_have_allocated() -> None:
    """Two services never the same."""
    ports = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    world = {"services": [{"metadata": {"name": name}, "spec": ports} for name in ("a", "b")]}
    found = read(simulator(world), "/api/v1/services")["items"]
    assert [service["metadata"]["namespace"] for service in found] == ["default", "default"]
    assert [service["spec"]["clusterIP"] for service in found] == ["10.96.0.10", "10.96.0.11"]
    assert [service["spec"]["ports"][0]["nodePort"] for service in found] == [30000, 30001]


def test_the_namespaces_of_objects_are_there() -> None:
    """They need not be listed."""
    api = simulator({"services": [{"metadata": {"name": "a", "namespace": "shop"}, "spec": {"ports": [{"port": 80}]}}]})
    assert read(api, "/api/v1/namespaces/shop")["status"]["phase"] == "Active"


def test_a_seed_decides_the_uids() -> None:
    """So the same world is the same cluster, and another seed is another."""
    world = {"nodes": [{"metadata": {"name": "web-1"}}]}
    assert simulator(world).world() == simulator(world).world()
    ours, other = simulator(world), simulator(world, seed=1)
    for path in ("/api/v1/nodes/web-1", "/api/v1/namespaces/kube-system"):
        assert read(ours, path)["metadata"]["uid"] != read(other, path)["metadata"]["uid"]


def test_a_world_that_is_written_can_be_read() -> None:
    """Nothing is lost on the way."""
    partial = {
        "nodes": [{"metadata": {"name": "web-1", "labels": {"a": "b"}}}],
        "services": [{"metadata": {"name": "a"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}],
        "configmaps": [{"metadata": {"name": "a"}, "data": {"k": "v"}}],
        "leases": [{"metadata": {"name": "a"}, "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}],
        "events": [{"metadata": {"name": "a"}, "involvedObject": {"kind": "Node", "name": "web-1"}}],
        "deployments": [{"metadata": {"name": "a"}, "status": {"readyReplicas": 1}}],
        "daemonsets": [{"metadata": {"name": "a"}, "status": {"numberReady": 1}}],
        "volumeattachments": [{"metadata": {"name": "a"}, "spec": {"nodeName": "web-1"}}],
    }
    world = simulator(partial).world()
    assert simulator(world, seed=5).world() == world
    other = simulator()
    other.replace_world(world)
    assert other.world() == world


@pytest.mark.parametrize(
    "world",
    [
        {"format_version": "1.0", "kubernetes": {"nodes": [{"metadata": {"name": "web-1"}}]}, "hetzner": {}},
        {"kubernetes": {"nodes": [{"metadata": {"name": "web-1"}}]}},
        {"nodes": [{"metadata": {"name": "web-1"}}]},
    ],
    ids=["whole file", "without a version", "inner part"],
)
def test_a_world_is_read_in_each_of_its_forms(world: dict[str, Any]) -> None:
    """Other parts of a whole file belong to other simulators."""
    assert read(simulator(world), "/api/v1/nodes/web-1")


def test_a_world_file_without_kubernetes_is_an_empty_cluster() -> None:
    """It may be about Hetzner alone."""
    assert read(simulator({"hetzner": {"servers": []}}), "/api/v1/nodes")["items"] == []


NODE = {"metadata": {"name": "web-1"}}


@pytest.mark.parametrize(
    ("world", "text"),
    [
        ({"nodes": [NODE, NODE]}, r"kubernetes.nodes\[1\]: node web-1 is there twice: remove or rename one of them"),
        ({"nodes": [{"metadata": {}}]}, r"kubernetes.nodes\[0\] has no metadata.name: give it one"),
        ({"nodes": [{}]}, r"kubernetes.nodes\[0\] has no metadata.name: give it one"),
        ({"nodes": ["web-1"]}, r"kubernetes.nodes\[0\]: the body is not an object"),
        ({"nodes": {}}, "kubernetes.nodes must be a list of objects"),
        ({"node": []}, "kubernetes.node is not known: use one of nodes, services, namespaces, events, leases, config"),
        ({"nodes": [{**NODE, "kind": "Service"}]}, r"kubernetes.nodes\[0\]: .*kind must be Node, is Service"),
        ({"nodes": [{"metadata": {"name": "A"}}]}, r"kubernetes.nodes\[0\]: node A is invalid: metadata.name: Invalid"),
        ({"nodes": [{"metadata": {"name": "a", "namespace": "b"}}]}, "a Node has no namespace: remove"),
        ({"nodes": [{"metadata": {"name": "a", "resourceVersion": "x"}}]}, "resourceVersion of node a is not a number"),
        ({"services": [{"metadata": {"name": "a"}}]}, "service default/a is invalid: spec.ports: Required value"),
        ({"kubernetes": {"node": []}}, "kubernetes.node is not known: use one of nodes, services"),
        ({"kubernetes": {}, "x": 1}, "x is not known: use one of format_version, captured, kubernetes, hetzner, robot"),
        ({"format_version": "2.0", "kubernetes": {}}, "format_version '2.0' is not known: expect 1.x, such as '1.0'"),
        ({}, 'the world has no key: use {"kubernetes": {}} for an empty one'),
    ],
)  # fmt: skip
def test_a_wrong_world_is_refused(world: dict[str, Any], text: str) -> None:
    """With the object and the remedy; what was there before stays."""
    api = simulator({"nodes": [{"metadata": {"name": "before"}}]})
    with pytest.raises(ValueError, match=text):
        api.replace_world(world)
    assert read(api, "/api/v1/nodes/before")


def test_a_replaced_world_leaves_nothing_behind() -> None:
    """Neither objects nor pages; versions do not go back."""
    api = simulator({"nodes": [{"metadata": {"name": f"web-{n}"}} for n in range(3)]})
    page = read(api, "/api/v1/nodes?limit=1")["metadata"]
    api.replace_world({"nodes": [NODE]})
    api.handle(Request.of("DELETE", "/api/v1/nodes/web-1", headers=ADMIN))
    listed = read(api, "/api/v1/nodes")
    assert listed["items"] == []
    assert int(listed["metadata"]["resourceVersion"]) > int(page["resourceVersion"])
    token = page["continue"]
    assert api.handle(Request.of("GET", f"/api/v1/nodes?continue={token}", headers=ADMIN)).status == 410


def test_answers_and_worlds_are_copies() -> None:
    """Whoever changes one does not change the cluster."""
    labels = {"a": "b"}
    api = simulator({"nodes": [{"metadata": {"name": "web-1", "labels": labels}}]})
    labels["a"] = "x"
    read(api, "/api/v1/nodes/web-1")["metadata"]["labels"]["a"] = "y"
    read(api, "/api/v1/nodes")["items"][0]["metadata"]["labels"]["a"] = "z"
    api.world()["kubernetes"]["nodes"][0]["metadata"]["labels"]["a"] = "w"
    assert read(api, "/api/v1/nodes/web-1")["metadata"]["labels"] == {"a": "b"}
