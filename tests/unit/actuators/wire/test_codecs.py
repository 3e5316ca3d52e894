"""Every codec meets every malformed answer: what cannot be read is isolated, and never looks as if it were not there.

The pages are those of the simulators, with two objects of each kind.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, Denied, Transient
from actuators.wire.catalogue import TYPES
from actuators.wire.certificate import CERTIFICATES
from actuators.wire.load_balancer import BALANCERS
from actuators.wire.network import NETWORKS
from actuators.wire.node import NODES
from actuators.wire.primary_ip import PRIMARY_IPS
from actuators.wire.server import SERVERS
from actuators.wire.service import SERVICES
from actuators.wire.workload import workloads
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request
from hcloud_sandbox.hetzner import HetznerSimulator
from kubernetes_double import KubernetesSimulator
from tests.support.objects import settled_node
from tests.support.payloads import GONE, every_path, replaced
from tests.support.rows import rows
from tests.support.simulators import START, Simulate
from tests.support.trouble import HETZNER_TROUBLE
from tests.support.world import to_simulator

DEPLOYMENTS, DAEMON_SETS = workloads("kube-system")
AT_HETZNER: Mapping[str, Any] = {
    "servers": SERVERS,
    "load_balancers": BALANCERS,
    "networks": NETWORKS,
    "certificates": CERTIFICATES,
    "primary_ips": PRIMARY_IPS,
    "load_balancer_types": TYPES,
}
IN_THE_CLUSTER: Mapping[str, Any] = {
    "nodes": NODES,
    "services": SERVICES,
    "deployments": DEPLOYMENTS,
    "daemonsets": DAEMON_SETS,
}
ALL = {**AT_HETZNER, **IN_THE_CLUSTER}
PROJECT: dict[str, Any] = {
    "servers": [{"id": number, "name": f"x-{number}"} for number in (1, 2)],
    "networks": [
        {
            "id": number,
            "name": f"x-{number}",
            "ip_range": f"10.{number}.0.0/16",
            "subnets": [{"type": "cloud", "ip_range": f"10.{number}.0.0/24", "network_zone": "eu-central"}],
            "routes": [{"destination": "10.250.0.0/16", "gateway": f"10.{number}.0.9"}],
        }
        for number in (1, 2)
    ],
    "certificates": [{"id": number, "name": f"x-{number}", "type": "managed"} for number in (1, 2)],
    "primary_ips": [{"id": number, "name": f"x-{number}"} for number in (1, 2)],
    "load_balancers": [
        {
            "id": number,
            "name": f"x-{number}",
            "private_net": [{"network": 1, "ip": f"10.1.0.{number + 10}"}],
            "services": [
                {"listen_port": 80, "destination_port": 30080},
                {"protocol": "https", "listen_port": 443, "destination_port": 30443, "http": {"certificates": [1]}},
            ],
            "targets": [{"server": {"id": 1}}, {"type": "ip", "ip": {"ip": "198.51.100.7"}}],
        }
        for number in (1, 2)
    ],
}


def _named(kind: str, number: int) -> dict[str, Any]:
    """An object of this kind in the cluster."""
    if kind == "nodes":
        return settled_node(f"x-{number}", number)
    namespace = "default" if kind == "services" else "kube-system"
    ports = {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30000 + number}]}
    containers = {"template": {"spec": {"containers": [{"name": "x", "image": "x"}]}}}
    return {
        "metadata": {"name": f"x-{number}", "namespace": namespace},
        "spec": ports if kind == "services" else containers,
    }


CLUSTER = {kind: [_named(kind, number) for number in (1, 2)] for kind in IN_THE_CLUSTER}


@cache
def page_of(kind: str) -> tuple[dict[str, Any], str, list[Any]]:
    """The answer, the name of its list, and two objects of it."""
    clock = SimulatedClock(source=START.timestamp)
    if kind in AT_HETZNER:
        headers = {"Authorization": f"Bearer {HetznerSimulator.TOKEN}"}
        request = Request.of("GET", f"/v1{ALL[kind].path}", None, headers)
        page = json.loads(HetznerSimulator(clock, world=PROJECT).handle(request).encoded())
    else:
        _, page = to_simulator(KubernetesSimulator(clock, world=CLUSTER), "GET", ALL[kind].path)
    name = kind if kind in AT_HETZNER else "items"
    return page, name, [found for found in page[name] if found.get("metadata", {}).get("name") != "kubernetes"][:2]


def decoded(kind: str, page: dict[str, Any], name: str, *items: Any) -> tuple[int, int, int]:
    """How many of these objects are read, how many are known by their key alone, and how many not even by that."""
    found = ALL[kind].decode(json.dumps({**page, name: list(items)}).encode())
    return len(found.items), len(found.unreadable), found.nameless


@pytest.mark.parametrize("kind", ALL)
def test_any_field_may_be_nonsense(kind: str) -> None:
    """Whatever one field holds, or when it is missing, decoding never raises, and the other object is read."""
    page, name, (first, second) = page_of(kind)
    values: tuple[Any, ...] = (GONE, None, 5, -1, "", [], {}, True, "999.0.0.1", [None], [{}])
    for value in values:
        for path in every_path(first):
            read, unreadable, nameless = decoded(kind, page, name, replaced(first, path, value), second)
            assert read >= 1, (path, value)
            assert read + unreadable + nameless == 2, (path, value)


@pytest.mark.parametrize(
    "item", [None, 5, "web-1", [], {}, {"id": "42"}, {"metadata": None}, {"metadata": {"name": 5}}]
)
@pytest.mark.parametrize("kind", ALL)
def test_nameless_objects(kind: str, item: Any) -> None:
    page, name, (first, _) = page_of(kind)
    assert decoded(kind, page, name, first, item) == (1, 0, 1)


@pytest.mark.parametrize("kind", ALL)
def test_text_that_is_not_utf8(kind: str) -> None:
    page, name, (first, second) = page_of(kind)
    body = json.dumps({**page, name: [first, second]}).encode().replace(b'"x-1"', b'"x-\xff"')
    if kind == "load_balancer_types":
        body = body.replace(b'"lb11"', b'"lb\xff"')
    found = ALL[kind].decode(body)
    assert len(found.items) == 1
    assert len(found.unreadable) + found.nameless == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"server": []}', b'{"kind": "Status", "items": []}'])
@pytest.mark.parametrize("kind", ALL)
def test_answers_that_are_no_list(kind: str, body: bytes) -> None:
    """They must never look like an empty project, or an empty cluster."""
    with pytest.raises(Broken, match=rf"GET {ALL[kind].path}: the answer is"):
        ALL[kind].decode(body)


@pytest.mark.parametrize(("fault", "expected"), HETZNER_TROUBLE)
@rows("codec", AT_HETZNER)
def test_lists_of_a_project_that_cannot_be_read(
    simulate: Simulate, codec: Any, fault: dict[str, Any], expected: type[ApiError]
) -> None:
    sim = simulate()
    sim.spoil_hetzner("status", **fault, count=None)
    section, error = codec.observe(sim.hetzner_reader())
    assert type(error) is expected
    assert (section.complete, section.why_incomplete) == (False, str(error))


@rows(
    "fault expected",
    {
        "may not": ({"code": 403, "body": {"kind": "Status", "reason": "Forbidden", "message": "no"}}, Denied),
        "down": ({"code": 500, "body": "<html>"}, Transient),
        "a page of HTML": ({"code": 200, "body": "<html>"}, Broken),
    },
)
@rows("codec", IN_THE_CLUSTER)
def test_lists_of_the_cluster_that_cannot_be_had(
    simulate: Simulate, codec: Any, fault: dict[str, Any], expected: type[ApiError]
) -> None:
    sim = simulate()
    sim.spoil_kubernetes("status", **fault, count=None)
    with pytest.raises(expected):
        codec.observe(sim.kubernetes_reader())
