"""How a controller writes to a Service through its status: the addresses with conditions, and the release."""

from typing import Any

from tests.contract.kubernetes_api import SERVICES, KubernetesApi

OURS, OTHERS = "service.kubernetes.io/load-balancer-cleanup", "example.com/hold"
FOREIGN = {
    "type": "example.com/Audited",
    "status": "True",
    "observedGeneration": 3,
    "lastTransitionTime": "2027-01-01T00:00:00Z",
    "reason": "Checked",
    "message": "by somebody",
}
READY = {**FOREIGN, "type": "LoadBalancerReady", "reason": "AddressPublished", "message": "published 192.0.2.1"}


def load_balancer(api: KubernetesApi, name: str, *finalizers: str) -> dict[str, Any]:
    """A new Service with these finalizers, an address and a condition of somebody else."""
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    api.create(SERVICES, {"metadata": {"name": name, "finalizers": list(finalizers)}, "spec": spec})
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"ip": "192.0.2.8"}]}, "conditions": [FOREIGN]}
    written: dict[str, Any] = api.merge(f"{SERVICES}/{name}/status", {"status": status}).good()
    return written


def precondition(service: dict[str, Any]) -> dict[str, str]:
    """The Service is the one that was read, and as it was read."""
    return {field: service["metadata"][field] for field in ("uid", "resourceVersion")}


def test_a_status_is_written(api: KubernetesApi, name: str) -> None:
    """A strategic patch replaces the addresses as a whole, and merges conditions by type, those of others unharmed."""
    service = load_balancer(api, name)
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "Proxy"}]}, "conditions": [READY]}
    body = {"metadata": precondition(service), "status": status}
    written = api.strategic(f"{SERVICES}/{name}/status", body).good()
    assert written["status"]["loadBalancer"] == status["loadBalancer"]
    conditions = {condition["type"]: condition for condition in written["status"]["conditions"]}
    assert conditions == {FOREIGN["type"]: FOREIGN, READY["type"]: READY}


def test_a_release(api: KubernetesApi, name: str) -> None:
    """Finalizer and addresses go in one write; with the last finalizer a Service that is being deleted vanishes."""
    load_balancer(api, name, OTHERS, OURS)
    api.request("DELETE", f"{SERVICES}/{name}").good()
    for left in ([OTHERS], []):
        service = api.get(f"{SERVICES}/{name}").good()
        metadata = {**precondition(service), "finalizers": left}
        body = {"metadata": metadata, "status": {"loadBalancer": {"ingress": None}}}
        released = api.merge(f"{SERVICES}/{name}/status", body).good()
        assert released["metadata"].get("finalizers", []) == left
        assert released["status"] == {"loadBalancer": {}, "conditions": [FOREIGN]}
    assert api.get(f"{SERVICES}/{name}").status == 404
