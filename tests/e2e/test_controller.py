"""The controller on a real API server: what wakes it and what does not, what a restart costs, and what it repairs."""

import json
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from desired.names import LEASE
from tests.support.apiserver import ApiServer
from tests.support.controller import OFTEN, RARELY, let_the_gap_pass, running
from tests.support.objects import (
    IN_NETWORK,
    ROUTED,
    a_route_to,
    a_service,
    ago,
    condition,
    ingress,
    joining_node,
    said_of,
    server,
    settled_node,
)
from tests.support.stage import Stage, is_initialised, wait_for

LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{LEASE}"
LABEL = "instance.hetzner.cloud/provided-by"
INVALID = {"LoadBalancerReady": ("False", "NotCreated"), "LoadBalancerInSync": ("False", "InvalidAnnotation")}
CLUSTER_OF_20 = 20
SERVICES = 10


@pytest.fixture
def network(a_stage: Callable[..., Stage]) -> Stage:
    """An empty cluster, and a project whose actions have ended when they are answered."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    return stage


def _beat(cluster: ApiServer, name: str, times: int) -> None:
    """A kubelet says so often that its Node is as it was."""
    tls = ssl.create_default_context(cafile=str(cluster.ca_file))
    kubelet = HTTPSConnection(urlsplit(cluster.url).netloc, context=tls, timeout=30)
    headers = {"Authorization": f"Bearer {cluster.admin_token}", "Content-Type": "application/merge-patch+json"}
    for turn in range(times):
        heartbeat = condition("Ready", "True") | {"lastHeartbeatTime": ago(seconds=-turn)}
        body = json.dumps({"status": {"conditions": [heartbeat]}})
        kubelet.request("PATCH", f"/api/v1/nodes/{name}/status", body, headers)
        answer = kubelet.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
    kubelet.close()


def _label(stage: Stage, name: str) -> str | None:
    found: str | None = stage.nodes()[name]["metadata"]["labels"].get(LABEL)
    return found


def _drift(stage: Stage, name: str) -> None:
    """``kubectl label node NAME KEY-``, whoever has kubectl."""
    stage.patch_node(name, {"metadata": {"labels": {LABEL: None}}})


def test_1000_heartbeats_wake_nobody_and_a_node_that_joins_is_initialised_at_once(
    stage: Stage, api_server: ApiServer
) -> None:
    """The interval is an hour. The second pass is that for the new Node, however many heartbeats came before it."""
    names = [f"web-{number}" for number in range(1, 6)]
    stage.have_servers(*(server(number, name) for number, name in enumerate(names, 1)))
    stage.register(*(settled_node(name, number) for number, name in enumerate(names, 1)))

    with running(stage, *RARELY) as controller:
        started = time.monotonic()
        with ThreadPoolExecutor() as kubelets:
            list(kubelets.map(lambda name: _beat(api_server, name, 200), names))
        let_the_gap_pass(started)
        assert controller.passes() == 1
        stage.add_servers(server(9, "late"))
        stage.register(joining_node("late"))
        wait_for(lambda: is_initialised(stage.nodes()["late"]), "the Node that joins")
        controller.wait_for_passes(2)

        assert controller.triggers()[-1] == "node/late is new"
        assert controller.passes() == 2


def test_a_service_gets_its_load_balancer_at_once(network: Stage) -> None:
    """The interval is an hour."""
    network.have_nodes(1)

    with running(network, *RARELY):
        network.have_services(a_service())
        wait_for(lambda: bool(ingress(network.service())), "the address in the Service")


def test_what_was_written_wakes_nobody(network: Stage) -> None:
    """The interval is an hour. Finalizer, status and the conditions of a Service that cannot be served, which are the
    last that a pass writes, come back as events: the next pass is that for a label that somebody took from a Node."""
    network.have_nodes(2)
    network.have_services(a_service(), a_service("broken", algorithm_type="nonsense"))

    with running(network, *RARELY) as controller:
        assert said_of(network.service("broken")) == INVALID
        _drift(network, "web-2")
        wait_for(lambda: _label(network, "web-2") == "cloud", "the label to be mended")
        controller.wait_for_passes(2)

        assert (controller.passes(), controller.triggers()) == (2, ["the start", "node/web-2 changed"])


def test_a_service_that_is_deleted_goes_at_once(network: Stage) -> None:
    """The interval is an hour; the load balancer goes, and then the Service."""
    network.have_nodes(1)
    network.have_services(a_service())

    with running(network, *RARELY):
        network.delete_service()
        wait_for(lambda: not network.balancers() and not network.services(), "both to be gone")


def _asked(stage: Stage, how: str = "") -> list[str]:
    """The paths of what was read of the API server by a pass, or to ``watch``, or with ``limit=1`` for the version from
    which to watch; the Lease left out. Sorted."""
    found = [entry for entry in stage.proxy.journal.entries() if entry.method == "GET" and entry.path != LEASE_PATH]
    return sorted(entry.path for entry in found if _how(entry.query) == how)


def _how(query: str) -> str:
    return "watch" if "watch=true" in query else query if query == "limit=1" else ""


def test_a_restart_of_a_converged_cluster_reads_and_writes_nothing_but_its_lease(network: Stage) -> None:
    """20 Nodes with routes and 10 Services with load balancers. Each list is read once, the two that are watched are
    asked for their version besides; what the cluster remembers of its project, and what is published, are read once a
    process (HCCM: 67 calls to Hetzner, 20 of them writes)."""
    network.have_pods(CLUSTER_OF_20, *map(a_route_to, range(1, CLUSTER_OF_20 + 1)), says=ROUTED)
    network.have_services(*(a_service(f"web-{number}") for number in range(SERVICES)))
    network.cluster.request("DELETE", LEASE_PATH)
    leading = {"RECONCILER_LEADER_ELECT": "true"}
    with running(network, *RARELY, **leading) as controller:
        wait_for(lambda: len(network.balancers()) == SERVICES, "the load balancers")
        assert controller.end()[0] == 0
    network.forget()

    with running(network, *RARELY, **leading) as controller:
        assert controller.metric("hcloud_reconciler_no_op_passes_total") == 1
        wait_for(lambda: len(_asked(network, "watch")) == 2, "both watches")
        assert controller.end()[0] == 0

    assert network.read_of_hetzner() == ["load_balancers", "networks", "servers"]
    assert network.written_to_hetzner() == []
    assert _asked(network) == [
        "/api/v1/namespaces/kube-system",
        "/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler",
        "/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler-status",
        "/api/v1/nodes",
        "/api/v1/services",
        "/apis/apps/v1/namespaces/kube-system/daemonsets",
        "/apis/apps/v1/namespaces/kube-system/deployments",
    ]
    assert _asked(network, "limit=1") == _asked(network, "watch") == ["/api/v1/nodes", "/api/v1/services"]
    own = ("/leases", "/selfsubjectaccessreviews")
    assert [entry for entry in network.writes() if not any(part in entry.path for part in own)] == []


def _loses_a_target(stage: Stage) -> None:
    (found,) = stage.balancers()
    stage.change_balancer(targets=found["targets"][1:])


def _gets_a_listener(stage: Stage) -> None:
    (found,) = stage.balancers()
    foreign = {"protocol": "tcp", "listen_port": 9999, "destination_port": 30999}
    stage.have_balancers(found | {"services": [*found["services"], foreign]})


def _loses_a_route(stage: Stage) -> None:
    stage.have_routes(a_route_to(1))


def _shown(stage: Stage) -> dict[str, Any]:
    (found,) = stage.balancers()
    return {
        "targets": sorted(target["server"]["id"] for target in found["targets"]),
        "ports": sorted(service["listen_port"] for service in found["services"]),
        "routes": stage.routes(),
    }


def _looks_before_the_first_write(stage: Stage) -> int:
    """How often Hetzner was asked for the servers, as each pass does once, before something was changed."""
    methods = [(entry.method, entry.path) for entry in stage.hetzner_proxy.journal.entries()]
    first = next(place for place, (method, _) in enumerate(methods) if method != "GET")
    return methods[:first].count(("GET", "/v1/servers"))


def test_drift_on_the_side_of_the_cloud_is_repaired_within_an_interval(network: Stage) -> None:
    """A target, a listener and a route that somebody touched at the console: nobody calls for a pass, and the first one
    that begins afterwards mends it (HCCM: never)."""
    network.have_pods(2, *map(a_route_to, (1, 2)), says=ROUTED)
    network.have_services(a_service())

    with running(network, *OFTEN) as controller:
        wait_for(lambda: bool(ingress(network.service())), "the load balancer")
        controller.wait_for_passes(1, 'result="no_changes"')
        in_order = _shown(network)
        for drifts in (_loses_a_target, _gets_a_listener, _loses_a_route):
            network.forget()
            drifts(network)
            wait_for(lambda: bool(network.written_to_hetzner()), f"a write after {drifts.__name__}")
            wait_for(lambda: _shown(network) == in_order, f"{drifts.__name__} to be mended")
            assert _looks_before_the_first_write(network) <= 2  # of the pass under way, and of the next
        assert set(controller.triggers()[1:]) == {"interval"}
