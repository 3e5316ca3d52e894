"""Kubelets of simulated servers: what Nodes say of servers that come, stop, return and go."""

from typing import Any

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.kubelets import KubeletOptions, Kubelets
from kubernetes_double import KubernetesSimulator

UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
READY = [{"type": "Ready", "status": "True"}]
NEW = {"name": "web-2", "server_type": "cax11", "image": "debian-12", "location": "fsn1", "networks": [5]}
WORLD = {
    "hetzner": {"servers": [{"id": 1, "name": "web-1"}, {"id": 3, "name": "db"}], "networks": [{"id": 5, "name": "n"}]},
    "kubernetes": {
        "nodes": [
            {
                "metadata": {"name": "web-1"},
                "spec": {"providerID": "hcloud://1", "podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"]},
                "status": {"conditions": READY},
            },
            {"metadata": {"name": "elsewhere"}, "status": {"conditions": READY}},
        ]
    },
}


class Cluster:
    """Both simulators with kubelets between them, and a clock that stands still."""

    def __init__(self, world: Any = WORLD) -> None:
        self.clock = SimulatedClock(lambda: 1_767_225_600.0)
        self.hetzner = HetznerSimulator(self.clock, HetznerOptions(action_s=0), world=world)
        self.kubernetes = KubernetesSimulator(self.clock, world=world)
        options = KubeletOptions(join_s=5, grace_s=50)
        self.kubelets = Kubelets(self.hetzner, self.kubernetes, self.clock, options)

    def cloud(self, method: str, path: str, body: Any = None) -> Any:
        """A request to Hetzner, which the kubelets notice."""
        headers = {"Authorization": f"Bearer {HetznerSimulator.TOKEN}"}
        answer = self.hetzner.handle(Request.of(method, f"/v1{path}", body, headers))
        assert answer.status < 300, answer.body
        self.kubelets.tick()
        return answer.body

    def cluster(self, method: str, path: str, body: Any = None) -> Any:
        """A request to the API server; its status and body."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {KubernetesSimulator.TOKEN}", "Content-Type": kind}
        answer = self.kubernetes.handle(Request.of(method, path, body, headers))
        return answer.status, answer.body

    def after(self, seconds: float) -> None:
        """So much later, the kubelets have done what was due."""
        self.clock.advance(seconds)
        self.kubelets.tick()

    def said(self, name: str) -> tuple[str, set[str]] | None:
        """Status of Ready and the keys of taints; None without the Node."""
        status, node = self.cluster("GET", f"/api/v1/nodes/{name}")
        if status == 404:
            return None
        [ready] = [entry["status"] for entry in node["status"]["conditions"] if entry["type"] == "Ready"]
        return ready, {taint["key"].rpartition("/")[2] for taint in node["spec"].get("taints", ())}

    def renewed(self, name: str) -> Any:
        """When the Node's Lease was renewed; None without one."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"
        return self.cluster("GET", path)[1].get("spec", {}).get("renewTime")

    def initialize(self, name: str) -> None:
        """Do what a cloud controller does last."""
        assert self.cluster("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}})[0] == 200
        self.after(0)


def test_a_server_that_is_created_joins() -> None:
    """As a kubelet registers its Node: tainted, with what it knows of itself, and with a range for Pods."""
    cluster = Cluster()
    cluster.cloud("POST", "/servers", NEW)
    cluster.after(4)
    assert cluster.said("web-2") is None
    cluster.after(1)
    assert cluster.said("web-2") == ("False", {"uninitialized", "not-ready"})
    node = cluster.cluster("GET", "/api/v1/nodes/web-2")[1]
    assert node["metadata"]["annotations"] == {"alpha.kubernetes.io/provided-node-ip": "10.0.0.2"}
    assert node["metadata"]["labels"]["kubernetes.io/arch"] == "arm64"
    assert node["spec"]["podCIDR"] == "10.244.1.0/24"
    assert "providerID" not in node["spec"]
    assert [entry["type"] for entry in node["status"]["addresses"]] == ["Hostname", "InternalIP"]
    cluster.initialize("web-2")
    assert cluster.said("web-2") == ("True", set())
    assert cluster.renewed("web-2") == "2026-01-01T00:00:05.000000Z"


def test_a_server_with_capitals_joins_without() -> None:
    """No Node has capitals in its name."""
    cluster = Cluster()
    cluster.cloud("POST", "/servers", {**NEW, "name": "Web-2"})
    cluster.after(5)
    assert cluster.said("web-2") == ("False", {"uninitialized", "not-ready"})


def test_a_server_that_is_off_goes_silent_and_returns() -> None:
    """The Lease stops at once, the Node is Unknown after the grace, and Ready when the server is back."""
    cluster = Cluster()
    cluster.after(10)
    before = cluster.renewed("web-1")
    cluster.cloud("POST", "/servers/1/actions/poweroff")
    cluster.after(49)
    assert (cluster.said("web-1"), cluster.renewed("web-1")) == (("True", set()), before)
    cluster.after(1)
    assert cluster.said("web-1") == ("Unknown", {"unreachable"})
    cluster.cloud("POST", "/servers/1/actions/poweron")
    cluster.after(5)
    assert cluster.said("web-1") == ("True", set())
    assert cluster.renewed("web-1") > before


def test_time_that_is_skipped_counts_as_silence() -> None:
    """The Node has been Unknown since the grace ended, however late that was noticed."""
    cluster = Cluster()
    cluster.cloud("POST", "/servers/1/actions/poweroff")
    cluster.after(600)
    [ready] = cluster.cluster("GET", "/api/v1/nodes/web-1")[1]["status"]["conditions"]
    assert (ready["status"], ready["lastTransitionTime"]) == ("Unknown", "2026-01-01T00:00:50Z")


def test_a_server_that_is_deleted_leaves_its_node_silent() -> None:
    """Nobody but a cloud controller deletes a Node; a server of its name that comes later has the Node as it is."""
    cluster = Cluster()
    cluster.cloud("DELETE", "/servers/1")
    cluster.after(50)
    assert cluster.said("web-1") == ("Unknown", {"unreachable"})
    cluster.cloud("POST", "/servers", {**NEW, "name": "web-1"})
    cluster.after(5)
    assert cluster.said("web-1") == ("True", set())
    assert cluster.cluster("GET", "/api/v1/nodes/web-1")[1]["spec"]["providerID"] == "hcloud://1"


def test_a_server_that_replaces_one_of_its_name_speaks_for_their_node() -> None:
    """As where Terraform replaces a server: the old kubelet has nothing to say any more, not even when the new one
    falls silent."""
    cluster = Cluster()
    cluster.cloud("DELETE", "/servers/1")
    new = cluster.cloud("POST", "/servers", {**NEW, "name": "web-1"})["server"]["id"]
    cluster.after(55)
    before = cluster.cluster("GET", "/api/v1/nodes/web-1")
    cluster.after(1)
    assert cluster.said("web-1") == ("True", set())
    assert cluster.cluster("GET", "/api/v1/nodes/web-1") == before

    cluster.cloud("POST", f"/servers/{new}/actions/poweroff")
    cluster.after(1)
    assert cluster.said("web-1") == ("True", set())


def test_a_node_that_is_deleted_returns_with_its_kubelet() -> None:
    """A kubelet registers when it starts, and not again."""
    cluster = Cluster()
    cluster.cluster("DELETE", "/api/v1/nodes/web-1")
    cluster.after(600)
    assert cluster.said("web-1") is None
    cluster.cloud("POST", "/servers/1/actions/poweroff")
    cluster.cloud("POST", "/servers/1/actions/poweron")
    cluster.after(5)
    assert cluster.said("web-1") == ("False", {"uninitialized", "not-ready"})


def test_a_range_for_pods_does_not_come_back_at_once() -> None:
    """A route to it may still be there; when all were given out, it does."""
    cluster = Cluster()
    given = []
    for name in ("a", "b"):
        server = cluster.cloud("POST", "/servers", {**NEW, "name": name, "networks": []})["server"]
        cluster.after(5)
        given.append(cluster.cluster("GET", f"/api/v1/nodes/{name}")[1]["spec"]["podCIDR"])
        cluster.cloud("DELETE", f"/servers/{server['id']}")
        cluster.cluster("DELETE", f"/api/v1/nodes/{name}")
    assert given == ["10.244.1.0/24", "10.244.2.0/24"]
    full = {"metadata": {"name": "last"}, "spec": {"podCIDR": "10.244.255.0/24", "podCIDRs": ["10.244.255.0/24"]}}
    assert cluster.cluster("POST", "/api/v1/nodes", full)[0] == 201
    cluster.cloud("POST", "/servers", {**NEW, "networks": []})
    cluster.after(5)
    assert cluster.cluster("GET", "/api/v1/nodes/web-2")[1]["spec"]["podCIDR"] == "10.244.1.0/24"


@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_what_a_world_says_of_a_node_holds(status: str) -> None:
    """Until something happens to the server; a server without a Node does not join, and a Node without one is alone."""
    node = {"metadata": {"name": "web-1"}, "status": {"conditions": [{"type": "Ready", "status": status}]}}
    cluster = Cluster({**WORLD, "kubernetes": {"nodes": [node, WORLD["kubernetes"]["nodes"][1]]}})
    cluster.after(600)
    assert [cluster.said(name) for name in ("web-1", "elsewhere", "db")] == [(status, set()), ("True", set()), None]
    cluster.cloud("POST", "/servers/1/actions/poweroff")
    cluster.cloud("POST", "/servers/1/actions/poweron")
    cluster.after(5)
    assert cluster.said("web-1") == ("True", set())


def test_a_node_of_a_world_is_ready_once_it_is_initialized() -> None:
    """As when the network of Pods comes up."""
    node = {
        "metadata": {"name": "web-1"},
        "spec": {"taints": [UNINITIALIZED]},
        "status": {"conditions": [{"type": "Ready", "status": "False"}]},
    }
    cluster = Cluster({**WORLD, "kubernetes": {"nodes": [node]}})
    cluster.after(60)
    assert cluster.said("web-1") == ("False", {"uninitialized"})
    cluster.initialize("web-1")
    assert cluster.said("web-1") == ("True", set())


def test_a_new_world_has_kubelets_of_its_own() -> None:
    """What happened before is forgotten."""
    cluster = Cluster()
    cluster.cloud("POST", "/servers/1/actions/poweroff")
    cluster.hetzner.replace_world(WORLD)
    cluster.kubernetes.replace_world(WORLD)
    cluster.after(600)
    assert cluster.said("web-1") == ("True", set())


@pytest.mark.parametrize("times", [{"join_s": -1}, {"grace_s": -0.5}])
def test_times_that_cannot_be(times: dict[str, float]) -> None:
    """Refused by name."""
    with pytest.raises(ValueError, match="give 0 or more seconds"):
        KubeletOptions(**times)
