"""Another controller, such as Cilium's IPAM, publishes its address at our Services."""

from collections.abc import Callable

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


def test_the_first_load_balancer_replaces_none(field: Callable[[str], Stage]) -> None:
    """06: the Service never had a load balancer, so that no Event tells of one that is lost."""
    stage = field("06-another-status-writer")
    assert stage.cluster.request("PATCH", f"{SERVICE}/status", {"status": OTHERS})[0] == 200

    one_pass(stage)

    _, events = stage.cluster.request("GET", "/api/v1/namespaces/default/events")
    reasons = {event["reason"] for event in events["items"]}
    assert "EnsuredLoadBalancer" in reasons
    assert "LoadBalancerReplaced" not in reasons
    _, service = stage.cluster.request("GET", SERVICE)
    assert "10.20.0.5" not in str(service["status"])
    assert "cilium.io/IPAMRequestSatisfied" in {found["type"] for found in service["status"]["conditions"]}
