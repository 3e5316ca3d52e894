"""How a controller writes to a Service through its status: the claim, the addresses with conditions, the release."""

from typing import Any

from tests.contract.kubernetes_api import SERVICES, KubernetesApi
from tests.support.rows import rows

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


@rows(
    "before after",
    {
        "none": ([], [OURS]),
        "somebody else's": ([OTHERS], [OURS, OTHERS]),
        "ours already": ([OTHERS, OURS], [OTHERS, OURS]),
    },
)
def test_a_claim(api: KubernetesApi, name: str, before: list[str], after: list[str]) -> None:
    """The finalizer is added through the status; that makes another version, unless it was there already."""
    service = load_balancer(api, name, *before)
    body = {"metadata": {"uid": service["metadata"]["uid"], "finalizers": [OURS]}}
    claimed = api.strategic(f"{SERVICES}/{name}/status", body).good()
    assert claimed["metadata"]["finalizers"] == after
    assert (claimed["spec"], claimed["status"]) == (service["spec"], service["status"])
    same = claimed["metadata"]["resourceVersion"] == service["metadata"]["resourceVersion"]
    assert same == (OURS in before)
    api.merge(f"{SERVICES}/{name}", {"metadata": {"finalizers": None}}).good()


def test_a_claim_of_what_is_being_deleted(api: KubernetesApi, name: str) -> None:
    """New finalizers are refused then."""
    service = load_balancer(api, name, OTHERS)
    api.request("DELETE", f"{SERVICES}/{name}").good()
    body = {"metadata": {"uid": service["metadata"]["uid"], "finalizers": [OURS]}}
    answer = api.strategic(f"{SERVICES}/{name}/status", body)
    assert answer.refusal[:2] == (422, "Invalid")
    assert "no new finalizers can be added if the object is being deleted" in answer.refusal[2]
    api.merge(f"{SERVICES}/{name}", {"metadata": {"finalizers": None}}).good()


def test_a_status_is_written(api: KubernetesApi, name: str) -> None:
    """A strategic patch replaces the addresses as a whole, and merges conditions by type, those of others unharmed."""
    service = load_balancer(api, name)
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "Proxy"}]}, "conditions": [READY]}
    body = {"metadata": precondition(service), "status": status}
    written = api.strategic(f"{SERVICES}/{name}/status", body).good()
    assert written["status"]["loadBalancer"] == status["loadBalancer"]
    assert {condition["type"]: condition for condition in written["status"]["conditions"]} == {
        FOREIGN["type"]: FOREIGN,
        READY["type"]: READY,
    }


def test_addresses_are_taken_away(api: KubernetesApi, name: str) -> None:
    """Null leaves none."""
    service = load_balancer(api, name)
    body = {"metadata": precondition(service), "status": {"loadBalancer": {"ingress": None}}}
    written = api.strategic(f"{SERVICES}/{name}/status", body).good()
    assert written["status"] == {"loadBalancer": {}, "conditions": [FOREIGN]}


def test_a_status_for_an_old_version(api: KubernetesApi, name: str) -> None:
    """A claim in between makes it a conflict."""
    service = load_balancer(api, name)
    api.strategic(f"{SERVICES}/{name}/status", {"metadata": {"finalizers": [OURS]}}).good()
    body = {"metadata": precondition(service), "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
    assert api.strategic(f"{SERVICES}/{name}/status", body).refusal[:2] == (409, "Conflict")
    api.merge(f"{SERVICES}/{name}", {"metadata": {"finalizers": None}}).good()


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
