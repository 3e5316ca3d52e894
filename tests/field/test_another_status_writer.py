"""Another controller, such as Cilium's IPAM, publishes its address at our Services."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.stage import Stage

SERVICE = "/api/v1/namespaces/default/services/web"
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
    assert stage.cluster.request("PATCH", SERVICE, {"metadata": {"finalizers": finalizers}})[0] == 200
    assert stage.cluster.request("PATCH", f"{SERVICE}/status", {"status": status})[0] == 200

    one_pass(stage)

    reasons = {event["reason"] for event in events(stage)}
    assert "EnsuredLoadBalancer" in reasons
    assert "LoadBalancerReplaced" not in reasons
    _, service = stage.cluster.request("GET", SERVICE)
    assert published not in str(service["status"])
    assert "cilium.io/IPAMRequestSatisfied" in {found["type"] for found in service["status"]["conditions"]}


def events(stage: Stage) -> list[dict[str, Any]]:
    """Those on objects of the namespace."""
    _, listed = stage.cluster.request("GET", "/api/v1/namespaces/default/events")
    found: list[dict[str, Any]] = listed["items"]
    return found
