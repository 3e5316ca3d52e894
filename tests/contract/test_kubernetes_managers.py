"""Who wrote a Service's status last, as ``managedFields`` has it."""

from typing import Any

import pytest

from actuators.http.kubernetes import KubernetesWriter
from desired.names import APPLICATION
from tests.contract.kubernetes_api import MERGE, SERVICES, STRATEGIC, KubernetesApi, connected

INGRESS: dict[str, Any] = {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}
OURS = "service.kubernetes.io/load-balancer-cleanup"
CONDITION = {
    "type": "example.com/Audited",
    "status": "True",
    "lastTransitionTime": "2027-01-01T00:00:00Z",
    "reason": "Checked",
    "message": "by somebody",
}


@pytest.fixture
def path(api: KubernetesApi, name: str) -> str:
    """The status of a new Service."""
    api.create(SERVICES, {"metadata": {"name": name}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}})
    return f"{SERVICES}/{name}/status"


def published(ip: str, *conditions: Any) -> dict[str, Any]:
    status = {"loadBalancer": {"ingress": [{"ip": ip}]}, **({"conditions": list(conditions)} if conditions else {})}
    return {"status": status}


def managers(service: Any) -> dict[str, Any]:
    """Manager → the fields of the status that it wrote last."""
    entries = service["metadata"].get("managedFields", [])
    for entry in entries:
        assert (entry["operation"], entry["apiVersion"], entry["fieldsType"]) == ("Update", "v1", "FieldsV1")
        assert entry["time"]
    return {entry["manager"]: entry["fieldsV1"] for entry in entries if entry.get("subresource") == "status"}


def write(api: KubernetesApi, path: str, body: Any, agent: str, kind: str = STRATEGIC) -> Any:
    """A patch by the client of this name."""
    return api.request("PATCH", path, body, kind, agent=agent).good()


def test_the_last_writer_of_the_addresses(api: KubernetesApi, path: str) -> None:
    """Addresses are one field: they belong to the client that changed them last, and to nobody once they are gone; the
    same again changes nothing."""
    assert managers(write(api, path, published("192.0.2.1"), "first/1.0 (linux)")) == {"first": INGRESS}
    assert managers(write(api, path, published("192.0.2.1"), "second")) == {"first": INGRESS}
    assert managers(write(api, path, published("192.0.2.2"), "second", MERGE)) == {"second": INGRESS}
    assert managers(write(api, f"{path}?fieldManager=third", published("192.0.2.3"), "x/1")) == {"third": INGRESS}
    assert managers(write(api, path, published("192.0.2.4"), "")) == {"unknown": INGRESS}
    assert managers(write(api, path, {"status": {"loadBalancer": {"ingress": None}}}, "second/1")) == {}


def test_our_own_name(api: KubernetesApi, path: str) -> None:
    """The product's client writes under the name by which it knows its own writes again."""
    writer = KubernetesWriter(connected(api, f"{APPLICATION}/1.0"))
    writer.patch(path, published("192.0.2.1"), content_type=STRATEGIC)
    assert managers(api.get(path).good()) == {APPLICATION: INGRESS}
