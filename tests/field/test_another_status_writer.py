"""Another controller, such as Cilium's IPAM, publishes its address at our Services."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from desired.rules.guards import SERVICE_REVERTED_BY
from hcloud_sandbox.exchange import Exchange, Request
from kubernetes_double import KubernetesSimulator
from reconciler.passes.history import History
from reconciler.passes.one_pass import converge
from tests.support.in_process import one_pass, runtime
from tests.support.objects import ingress, said_of
from tests.support.simulators import ImpatientStop
from tests.support.stage import SimulatedCluster, Stage

SERVICE = "/api/v1/namespaces/default/services/web"
REMEDY = SERVICE_REVERTED_BY.remedy
OTHERS = {
    "loadBalancer": {"ingress": [{"ip": "10.20.0.5"}]},
    "conditions": [
        {
            "type": "cilium.io/IPAMRequestSatisfied",
            "status": "True",
            "reason": "satisfied",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ],
}


@pytest.mark.parametrize("published", ["10.20.0.5", "198.18.0.1"], ids=["a pool's", "a Node's"])
@pytest.mark.parametrize("finalizers", [[], ["service.kubernetes.io/load-balancer-cleanup"]], ids=["none", "shared"])
def test_the_first_load_balancer_replaces_none(
    field: Callable[[str], Stage], finalizers: list[str], published: str
) -> None:
    """06: the Service never had a load balancer of ours, so that no Event tells of one that is lost: not even where
    k3s' servicelb has set the finalizer that it shares with us."""
    stage = field("06-another-status-writer")
    status = {**OTHERS, "loadBalancer": {"ingress": [{"ip": published}]}}
    stage.patch_service({"metadata": {"finalizers": finalizers}})
    stage.patch_service({"status": status}, "web/status")

    one_pass(stage)

    reasons = {event["reason"] for event in stage.events()}
    assert "EnsuredLoadBalancer" in reasons
    assert "LoadBalancerReplaced" not in reasons
    service = stage.service()
    assert published not in str(service["status"])
    assert "cilium.io/IPAMRequestSatisfied" in said_of(service)


def test_servicelb_before_us(field: Callable[[str], Stage]) -> None:
    """06: k3s' servicelb has set the finalizer and published the address of a Node, and no Node has a server by its
    providerID yet. That is no sign of another project: the load balancer is made."""
    stage = field("06-another-status-writer")
    assert isinstance(stage.cluster, SimulatedCluster)
    world = stage.cluster.simulator.world()["kubernetes"]
    for node in world["nodes"]:
        node["spec"]["providerID"] = f"k3s://{node['metadata']['name']}"
    (service,) = world["services"]
    service["metadata"]["finalizers"] = ["service.kubernetes.io/load-balancer-cleanup"]
    service["status"] = {"loadBalancer": {"ingress": [{"ip": "198.18.0.1"}]}}
    stage.cluster.simulator.replace_world(world)

    report = one_pass(stage)

    assert report["holds"] == []
    assert len(stage.balancers()) == 1


def test_another_hand_keeps_its_address(field: Callable[[str], Stage]) -> None:
    """06: three times the address is put right; then the status is left to the other for an hour, and everything that
    tells of it names him and the way out. Nothing else is held up, and the status that is published has the hold."""
    stage = field("06-another-status-writer")
    stage.have_config_map()
    history = History()
    with runtime(stage, {}, ImpatientStop()) as built:
        assert built.connections is not None
        plan_context = replace(built.plan_context, history=history)
        for _ in range(8):
            another_publishes(stage, "10.20.0.5")
            history.note(converge(plan_context, built.connections.apply_context))
        assert len(published_by_us(stage)) == 3
        stage.forget()
        for _ in range(3):
            history.note(converge(plan_context, built.connections.apply_context))
    assert published_by_us(stage) == []

    service = stage.service()
    assert ingress(service) == [{"ip": "10.20.0.5", "ipMode": "VIP"}]
    ready = next(found for found in service["status"]["conditions"] if found["type"] == "LoadBalancerReady")
    own = stage.balancers()[0]["public_net"]["ipv4"]["ip"]
    assert (ready["status"], ready["reason"]) == ("False", "OtherAddressPublished")
    assert ready["message"].startswith(
        f"published 10.20.0.5 (written by 'cilium-operator'), no address of load balancer 1 (own: {own}"
    )
    (event,) = stage.events("ChangeHeld")
    assert event["message"].startswith(
        "service.status is held by flapping: also written by 'cilium-operator' (condition"
        " 'cilium.io/IPAMRequestSatisfied'), reverted 3 times since "
    )
    assert REMEDY in event["message"]
    assert "Ends by itself after " in event["message"]


def another_publishes(stage: Stage, ip: str) -> None:
    """What a controller with that pool does as soon as another address is published."""
    headers = {
        "Authorization": f"Bearer {KubernetesSimulator.TOKEN}",
        "Content-Type": "application/strategic-merge-patch+json",
        "User-Agent": "cilium-operator/v1.18.0 linux/amd64",
    }
    body = {"status": {**OTHERS, "loadBalancer": {"ingress": [{"ip": ip}]}}}
    assert isinstance(stage.cluster, SimulatedCluster)
    request = Request.of("PATCH", f"{SERVICE}/status", body, headers)
    assert stage.cluster.simulator.handle(request).status == 200


def published_by_us(stage: Stage) -> list[Exchange]:
    """Writes of the status in which an address is published."""
    sent = [exchange for exchange in stage.writes() if exchange.path == f"{SERVICE}/status"]
    return [exchange for exchange in sent if "loadBalancer" in exchange.body.get("status", {})]
