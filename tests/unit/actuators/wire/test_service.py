"""Services as the API server says them: with gaps, with nonsense, and none that has lost what a load balancer needs."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from actuators.wire.service import SERVICES
from desired.annotations.claims import Claim, ClaimedPort
from desired.model.service import Ingress, Service, ServiceCondition
from desired.section import Absent, Present, Section, Unknown
from tests.support.payloads import GONE, paths, replaced
from tests.support.rows import rows

REAL: dict[str, Any] = {
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "1f2e3d4c-5b6a-7980-aabb-ccddeeff0011",
        "resourceVersion": "4711",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
        "labels": {"app": "web"},
        "annotations": {"load-balancer.hetzner.cloud/location": "fsn1"},
        "finalizers": ["service.kubernetes.io/load-balancer-cleanup"],
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "type": "LoadBalancer",
        "loadBalancerClass": "example.com/other",
        "allocateLoadBalancerNodePorts": False,
        "clusterIP": "10.96.0.7",
        "clusterIPs": ["10.96.0.7"],
        "externalTrafficPolicy": "Local",
        "healthCheckNodePort": 32000,
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ports": [
            {"name": "http", "port": 80, "protocol": "TCP", "targetPort": "http", "nodePort": 30080},
            {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53, "nodePort": 30053},
        ],
        "selector": {"app": "web"},
        "sessionAffinity": "ClientIP",
        "loadBalancerSourceRanges": ["192.0.2.0/24"],
        "loadBalancerIP": "203.0.113.7",
        "externalIPs": ["198.51.100.7"],
    },
    "status": {
        "loadBalancer": {
            "ingress": [
                {"ip": "203.0.113.200", "ipMode": "VIP"},
                {"hostname": "web.example.com", "ports": [{"port": 80, "protocol": "TCP"}]},
            ]
        },
        "conditions": [
            {
                "type": "LoadBalancerReady",
                "status": "False",
                "reason": "Pending",
                "message": "not yet",
                "lastTransitionTime": "2026-01-01T00:01:00Z",
                "observedGeneration": 1,
            }
        ],
    },
}
WHOLE = Service(
    namespace="shop",
    name="web",
    uid="1f2e3d4c-5b6a-7980-aabb-ccddeeff0011",
    resource_version="4711",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    type="LoadBalancer",
    load_balancer_class="example.com/other",
    claim=Claim(
        annotations={"load-balancer.hetzner.cloud/location": "fsn1"},
        ports=(ClaimedPort(80, "TCP", 30080), ClaimedPort(53, "UDP", 30053)),
        allocates_node_ports=False,
        source_ranges=("192.0.2.0/24",),
        external_ips=("198.51.100.7",),
        load_balancer_ip="203.0.113.7",
        session_affinity="ClientIP",
        external_traffic_policy="Local",
        health_check_node_port=32000,
        ip_families=("IPv4",),
    ),
    finalizers=("service.kubernetes.io/load-balancer-cleanup",),
    ingress=(Ingress("203.0.113.200", ip_mode="VIP"), Ingress(hostname="web.example.com", has_ports=True)),
    conditions=(ServiceCondition("LoadBalancerReady", "False", "Pending", "not yet"),),
    deleted_at=datetime(2026, 1, 2, tzinfo=UTC),
    labels={"app": "web"},
)


def written_by(*managers: str, **entry: Any) -> list[dict[str, Any]]:
    """``managedFields`` of these writers of the addresses."""
    fields: dict[str, Any] = {"f:status": {"f:conditions": {}, "f:loadBalancer": {"f:ingress": {}}}}
    return [{"manager": name, "subresource": "status", "fieldsV1": fields, **entry} for name in managers]


@rows(
    "managed writers",
    {
        "another's": (written_by("cilium-operator"), ("cilium-operator",)),
        "ours": (written_by("hcloud-reconciler"), ()),
        "several": (written_by("b", "hcloud-reconciler", "a"), ("a", "b")),
        "conditions": (written_by("a", fieldsV1={"f:status": {"f:conditions": {'k:{"type":"f:ingress"}': {}}}}), ()),
        "malformed": (written_by("a", fieldsV1={"f:status": {"f:loadBalancer": "f:ingress"}}), ()),
        "no list": ({"f:ingress": 1}, ()),
        "null": (None, ()),
        "not told": (GONE, ()),
    },
)
def test_writers_of_the_addresses(managed: Any, writers: tuple[str, ...]) -> None:
    """It is information: whatever stands there, the Service is read, and equal to itself without it."""
    _, found = SERVICES.decode_one(json.dumps(replaced(REAL, ("metadata", "managedFields"), managed)).encode())
    assert found == WHOLE
    assert isinstance(found, Service)
    assert found.status_writers == writers


def test_nobody_wrote_addresses_that_are_not_there() -> None:
    """A manager of an empty list is not looked for."""
    payload = replaced(REAL, ("metadata", "managedFields"), written_by("cilium-operator"))
    _, found = SERVICES.decode_one(json.dumps(replaced(payload, ("status", "loadBalancer"), {})).encode())
    assert isinstance(found, Service)
    assert found.status_writers == ()


NEEDED = paths(
    """
    metadata:uid metadata:resourceVersion metadata:creationTimestamp spec spec:type spec:ports spec:ports:0:port
    status:conditions:0:type status:conditions:0:status
    """
)
CLAIM = WHOLE.claim
DEFAULTED: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("metadata", "deletionTimestamp"), {"deleted_at": None}),
    (("metadata", "labels"), {"labels": {}}),
    (("metadata", "annotations"), {"claim": replace(CLAIM, annotations={})}),
    (("metadata", "finalizers"), {"finalizers": ()}),
    (("spec", "loadBalancerClass"), {"load_balancer_class": None}),
    (("spec", "allocateLoadBalancerNodePorts"), {"claim": replace(CLAIM, allocates_node_ports=True)}),
    (("spec", "externalTrafficPolicy"), {"claim": replace(CLAIM, external_traffic_policy="Cluster")}),
    (("spec", "healthCheckNodePort"), {"claim": replace(CLAIM, health_check_node_port=0)}),
    (("spec", "ipFamilies"), {"claim": replace(CLAIM, ip_families=())}),
    (("spec", "sessionAffinity"), {"claim": replace(CLAIM, session_affinity="None")}),
    (("spec", "loadBalancerSourceRanges"), {"claim": replace(CLAIM, source_ranges=())}),
    (("spec", "loadBalancerIP"), {"claim": replace(CLAIM, load_balancer_ip="")}),
    (("spec", "externalIPs"), {"claim": replace(CLAIM, external_ips=())}),
    (
        ("spec", "ports", 1, "protocol"),
        {"claim": replace(CLAIM, ports=(CLAIM.ports[0], ClaimedPort(53, "TCP", 30053)))},
    ),
    (("spec", "ports", 0, "nodePort"), {"claim": replace(CLAIM, ports=(ClaimedPort(80), CLAIM.ports[1]))}),
    (("status", "loadBalancer", "ingress"), {"ingress": ()}),
    (("status", "loadBalancer", "ingress", 0, "ip"), {"ingress": (Ingress(ip_mode="VIP"), WHOLE.ingress[1])}),
    (("status", "loadBalancer", "ingress", 0, "ipMode"), {"ingress": (Ingress("203.0.113.200"), WHOLE.ingress[1])}),
    (("status", "loadBalancer", "ingress", 1, "hostname"), {"ingress": (WHOLE.ingress[0], Ingress(has_ports=True))}),
    (
        ("status", "loadBalancer", "ingress", 1, "ports"),
        {"ingress": (WHOLE.ingress[0], Ingress(hostname="web.example.com"))},
    ),
    (("status", "conditions"), {"conditions": ()}),
    (("status", "conditions", 0, "lastTransitionTime"), {}),
]
"""What may be missing or null, and what that means."""


def page(*items: Any, **overrides: Any) -> bytes:
    found = {"kind": "ServiceList", "metadata": {"resourceVersion": "5"}, "items": list(items), **overrides}
    return json.dumps(found).encode()


def section_of(*pages: bytes) -> Section[str, Service]:
    return SERVICES.joined([SERVICES.decode(one) for one in pages])


def changed(path: tuple[Any, ...], value: Any = GONE, name: str = "web") -> dict[str, Any]:
    """The real Service with one field dropped, or replaced."""
    return replaced({**REAL, "metadata": {**REAL["metadata"], "name": name}}, path, value)


def test_a_real_service() -> None:
    section = section_of(page(REAL))
    assert section.items == {"shop/web": WHOLE}
    assert section.complete
    (condition,) = section.items["shop/web"].conditions
    assert condition.since == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(("path", "meaning"), DEFAULTED, ids=lambda part: ".".join(map(str, part)))
def test_fields_that_may_be_missing(path: tuple[Any, ...], meaning: dict[str, Any]) -> None:
    """A field that Go leaves out when it is empty has Kubernetes' default, and so has null."""
    for value in (GONE, None):
        section = section_of(page(changed(path, value)))
        assert section.items == {"shop/web": replace(WHOLE, **meaning)}, value


@pytest.mark.parametrize(("number", "field"), [(0, "ip"), (1, "hostname")])
def test_an_empty_address_is_none(number: int, field: str) -> None:
    """Go writes no empty texts, so that one that is there means the same as none."""
    path = ("status", "loadBalancer", "ingress", number, field)
    assert section_of(page(changed(path, ""))) == section_of(page(changed(path)))


@pytest.mark.parametrize("path", [("status",), ("status", "loadBalancer")], ids=".".join)
def test_without_a_status(path: tuple[str, ...]) -> None:
    assert section_of(page(changed(path))).items["shop/web"].ingress == ()


@pytest.mark.parametrize("path", NEEDED, ids=lambda path: ".".join(map(str, path)))
@pytest.mark.parametrize("value", [GONE, None], ids=["gone", "null"])
def test_needed_fields(path: tuple[Any, ...], value: Any) -> None:
    section = section_of(page(changed(path, value), changed(("spec", "selector"), name="other")))
    assert section.complete
    assert isinstance(section.find("shop/web"), Unknown)
    assert isinstance(section.find("shop/other"), Present)
    assert isinstance(section.find("shop/missing"), Absent)


@pytest.mark.parametrize("ports", [GONE, None, []], ids=["gone", "null", "empty"])
def test_only_a_load_balancer_needs_ports(ports: Any) -> None:
    """The API server lets no Service of the type be without ports: it must not lose its listeners for one that is."""
    headless = replaced(changed(("spec", "ports"), ports), ("spec", "type"), "ExternalName")
    assert section_of(page(headless)).items["shop/web"].claim.ports == ()
    assert section_of(page(changed(("spec", "ports"), ports))).unreadable == {
        "shop/web": "the API server's Service could not be read: it is of type LoadBalancer and has no ports"
    }


@pytest.mark.parametrize(("text", "found"), [("", ""), ("x", "x"), (None, None)])
def test_an_empty_class_is_a_class(text: str | None, found: str | None) -> None:
    """Any value makes the Service another controller's, and only its absence makes it ours."""
    service = section_of(page(changed(("spec", "loadBalancerClass"), text))).items["shop/web"]
    assert service.load_balancer_class == found
