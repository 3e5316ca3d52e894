"""What is particular to Services: defaults, allocation, the published addresses."""

from typing import Any

from tests.contract.kubernetes_api import SERVICES, KubernetesApi, without_versions
from tests.support.rows import rows


def load_balancer(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], **spec}}


def test_a_load_balancer_service_gets_its_defaults(api: KubernetesApi, name: str) -> None:
    """A sent status is dropped; address and nodePort are allocated."""
    ingress = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    created = api.create(SERVICES, {**load_balancer(name), "status": ingress})
    address, node_port = created["spec"]["clusterIP"], created["spec"]["ports"][0]["nodePort"]
    assert address.startswith("10.96.")
    assert 30000 <= node_port <= 32767
    assert without_versions(created) == {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "type": "LoadBalancer",
            "allocateLoadBalancerNodePorts": True,
            "clusterIP": address,
            "clusterIPs": [address],
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": node_port}],
            "sessionAffinity": "None",
        },
        "status": {"loadBalancer": {}},
    }


@rows("spec fields", {
    "local": ({"externalTrafficPolicy": "Local"}, {"healthCheckNodePort", "nodePort"}),
    "no allocation": ({"allocateLoadBalancerNodePorts": False}, set()),
    "NodePort": ({"type": "NodePort"}, {"nodePort"}),
    "ClusterIP": ({"type": "ClusterIP"}, set()),
})  # fmt: skip
def test_node_ports_are_allocated_where_needed(
    api: KubernetesApi, name: str, spec: dict[str, Any], fields: set[str]
) -> None:
    """One for each port, and one for health checks where traffic stays local."""
    created = api.create(SERVICES, load_balancer(name, **spec))["spec"]
    allocated = {field for field in ("healthCheckNodePort",) if field in created}
    assert allocated | ({"nodePort"} & set(created["ports"][0])) == fields


def test_an_update_keeps_what_was_allocated(api: KubernetesApi, name: str) -> None:
    created = api.create(SERVICES, load_balancer(name))
    assert api.request("PUT", f"{SERVICES}/{name}", load_balancer(name)).good() == created


def test_a_service_that_is_no_load_balancer_any_more_loses_ports_and_ingress(api: KubernetesApi, name: str) -> None:
    """All at once: its controller sees an empty status."""
    api.create(SERVICES, load_balancer(name))
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    api.merge(f"{SERVICES}/{name}/status", {"status": status}).good()
    changed = api.merge(f"{SERVICES}/{name}", {"spec": {"type": "ClusterIP"}}).good()
    assert changed["status"] == {"loadBalancer": {}}
    assert not {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"} & set(changed["spec"])
    assert "nodePort" not in changed["spec"]["ports"][0]


def test_an_ingress_with_an_ip_gets_a_mode(api: KubernetesApi, name: str) -> None:
    """``ipMode: VIP`` unless said otherwise; so what is read differs from what was written."""
    api.create(SERVICES, load_balancer(name))
    ingress = [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1", "ipMode": "Proxy"}, {"hostname": "lb.example.com"}]
    patched = api.merge(f"{SERVICES}/{name}/status", {"status": {"loadBalancer": {"ingress": ingress}}}).good()
    assert patched["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1", "ipMode": "VIP"}, *ingress[1:]]
    emptied = api.merge(f"{SERVICES}/{name}/status", {"status": {"loadBalancer": None}}).good()
    assert emptied["status"] == {"loadBalancer": {}}


@rows("ingress cause", {
    "ip": ({"ip": "192.0.2"}, ("FieldValueInvalid", "ip")),
    "hostname": ({"hostname": "a_b"}, ("FieldValueInvalid", "hostname")),
    "an ip as hostname": ({"hostname": "192.0.2.1"}, ("FieldValueInvalid", "hostname")),
    "mode without ip": ({"hostname": "a.b", "ipMode": "VIP"}, ("FieldValueForbidden", "ipMode")),
    "unknown mode": ({"ip": "192.0.2.1", "ipMode": "Via"}, ("FieldValueNotSupported", "ipMode")),
})  # fmt: skip
def test_ingresses_are_validated(api: KubernetesApi, name: str, ingress: Any, cause: tuple[str, str]) -> None:
    api.create(SERVICES, load_balancer(name))
    answer = api.merge(f"{SERVICES}/{name}/status", {"status": {"loadBalancer": {"ingress": [ingress]}}})
    assert answer.refusal[:2] == (422, "Invalid")
    assert answer.causes == {(cause[0], f"status.loadBalancer.ingress[0].{cause[1]}")}


def test_only_a_load_balancer_has_ingresses(api: KubernetesApi, name: str) -> None:
    """Publishing an address comes too late once the type has changed."""
    api.create(SERVICES, load_balancer(name, type="NodePort"))
    ingress = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    why = "Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    answer = api.merge(f"{SERVICES}/{name}/status", {"status": ingress})
    assert answer.refusal == (422, "Invalid", f'Service "{name}" is invalid: status.loadBalancer.ingress: {why}')
