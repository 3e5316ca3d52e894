"""Whole controller on virtual time: calls for a pass, costs of a restart, and drift."""

from collections.abc import Iterator
from typing import Any

import pytest

from desired.names import CONFIG_MAP
from reconciler.passes.loop import GAP_S
from tests.campaign.shell import LEASES, Cluster, Replica
from tests.support.objects import a_route_to, a_service, ingress, joining_node, said_of, server
from tests.support.stage import is_initialised
from tests.support.world import CONFIG_MAPS

NODES, SERVICES = 5, 3
RARELY = {"--interval": "1h"}
LABEL = "instance.hetzner.cloud/provided-by"
SOON_S = GAP_S + 15.0
"""Longer than a pass that is called for takes, and shorter than an interval."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Nodes and Services in order, the ConfigMap of the chart, and an interval of an hour."""
    made = Cluster(1, RARELY)
    made.world.settle(NODES)
    made.world.to_cluster("POST", CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP}})
    made.world.have_services(*(a_service(f"web-{number}") for number in range(SERVICES)))
    yield made
    made.close()


@pytest.fixture
def replica(cluster: Cluster) -> Replica:
    """Controller after its first pass; whatever it has written has come back as an event."""
    made = Replica(cluster, "replica")
    made.start()
    cluster.scheduler.sleep(120.0)
    assert (len(cluster.world.balancers()), made.reports.total()) == (SERVICES, 1)
    return made


def test_1000_heartbeats_wake_nobody(cluster: Cluster, replica: Replica) -> None:
    for _ in range(200):
        now = {"lastHeartbeatTime": cluster.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")}
        for name, node in cluster.world.nodes().items():
            conditions = [said | now for said in node["status"]["conditions"]]
            cluster.world.patch_node(f"{name}/status", {"status": {"conditions": conditions}})
        cluster.scheduler.sleep(0.5)
    cluster.scheduler.sleep(SOON_S)
    assert replica.reports.total() == 1


def test_a_node_that_joins_is_initialised_at_once(cluster: Cluster, replica: Replica) -> None:
    cluster.world.add_servers(server(9, "late"))
    cluster.world.register(joining_node("late"))
    cluster.scheduler.sleep(SOON_S)
    assert is_initialised(cluster.world.nodes()["late"])
    assert replica.reports.total() == 2


def test_a_service_that_comes_or_goes_is_served_at_once(cluster: Cluster, replica: Replica) -> None:
    cluster.world.have_services(a_service("late"))
    cluster.scheduler.sleep(SOON_S)
    assert ingress(cluster.world.service("late"))
    cluster.world.delete_service("late")
    cluster.scheduler.sleep(SOON_S)
    assert "late" not in cluster.world.services()
    assert len(cluster.world.balancers()) == SERVICES
    assert set(replica.reports) == {"no_changes"}


def test_a_service_that_cannot_be_served_wakes_nobody(cluster: Cluster, replica: Replica) -> None:
    cluster.world.have_services(a_service("broken", algorithm_type="nonsense"))
    cluster.scheduler.sleep(600.0)
    assert said_of(cluster.world.service("broken"))["LoadBalancerInSync"] == ("False", "InvalidAnnotation")
    assert replica.reports.total() == 2


def test_a_label_that_somebody_takes_is_put_back_at_once(cluster: Cluster, replica: Replica) -> None:
    cluster.world.label("web-2", labels={LABEL: None})
    cluster.scheduler.sleep(SOON_S)
    assert cluster.world.nodes()["web-2"]["metadata"]["labels"][LABEL] == "cloud"
    assert replica.reports.total() == 2


def test_a_restart_of_a_converged_cluster_writes_its_lease_and_its_status_alone(
    cluster: Cluster, replica: Replica
) -> None:
    """Lists are read once, and the version of watched ones besides; memory, publication, and names that approvals have
    left, are read once a process."""
    replica.stop()
    cluster.scheduler.sleep(60.0)
    sent: list[tuple[str, str, str]] = []

    def meets(_: Replica, api: str, method: str, path: str) -> str:
        sent.append((api, method, path))
        return ""

    cluster.meets = meets
    replica.start()
    cluster.scheduler.sleep(600.0)

    assert replica.reports.total() == 2
    written = [(method, path) for _, method, path in sent if method != "GET" and LEASES not in path]
    assert written == [("PATCH", f"{CONFIG_MAPS}/{CONFIG_MAP}")]
    read = sorted((path.partition("?")[0], api) for api, method, path in sent if method == "GET" and LEASES not in path)
    assert read == [
        ("/api/v1/namespaces/kube-system", "kubernetes"),
        ("/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler", "kubernetes"),
        ("/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler", "kubernetes"),
        ("/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler", "kubernetes"),
        ("/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler", "kubernetes"),
        ("/api/v1/nodes", "kubernetes"),
        ("/api/v1/nodes", "kubernetes"),
        ("/api/v1/services", "kubernetes"),
        ("/api/v1/services", "kubernetes"),
        ("/apis/apps/v1/namespaces/kube-system/daemonsets", "kubernetes"),
        ("/apis/apps/v1/namespaces/kube-system/deployments", "kubernetes"),
        ("/v1/load_balancers", "hetzner"),
        ("/v1/networks", "hetzner"),
        ("/v1/servers", "hetzner"),
    ]


def loses_a_target(cluster: Cluster) -> None:
    found = cluster.world.balancers()[1]
    assert cluster.world.remove_target(found["id"], found["targets"][0]["server"]["id"])


def gets_a_listener(cluster: Cluster) -> None:
    found = cluster.world.balancers()[0]
    foreign = {"protocol": "tcp", "listen_port": 9999, "destination_port": 30999}
    assert cluster.world._act(f"/load_balancers/{found['id']}", "add_service", **foreign)


def loses_a_route(cluster: Cluster) -> None:
    route = a_route_to(1)
    assert cluster.world.delete_route(7, route["destination"], route["gateway"])


def shown(cluster: Cluster) -> dict[str, Any]:
    return {
        "balancers": [
            (
                sorted(target["server"]["id"] for target in found["targets"]),
                sorted(service["listen_port"] for service in found["services"]),
            )
            for found in cluster.world.balancers()
        ],
        "routes": cluster.world.routes(),
    }


def test_drift_at_hetzner_is_repaired_within_an_interval(cluster: Cluster, replica: Replica) -> None:
    in_order = shown(cluster)
    for drifts in (loses_a_target, gets_a_listener, loses_a_route):
        drifts(cluster)
    cluster.scheduler.sleep(60.0)
    drifted = shown(cluster)
    assert drifted["balancers"] != in_order["balancers"]
    assert drifted["routes"] != in_order["routes"]
    cluster.scheduler.sleep(600.0)
    assert (shown(cluster), replica.reports.total()) == (drifted, 1)
    cluster.scheduler.sleep(3600.0)
    assert shown(cluster) == in_order
