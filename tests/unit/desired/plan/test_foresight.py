"""Foresight forgets no kind. What each brings about is the law of tests/property/test_foresight.py."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.annotations.choices import Algorithm
from desired.model.load_balancer import Attachment, Identity, LoadBalancer, ManagedCertificate, Owner, ServerTarget
from desired.model.route import ROUTED
from desired.model.service import Ingress
from desired.names import FINALIZER_BALANCER
from desired.plan.change import Claimed, OutOfService
from desired.plan.foresight import after_all
from desired.plan.kinds import KINDS, Verb
from tests.balancers import a_balancer, a_listener, a_service, a_world
from tests.builders import CLUSTER_UID, a_change, a_loss, a_settled_node, an_identity
from tests.routes import a_route, routes_of

PLACE, TARGET, ENTRIES = Attachment(7), ServerTarget(1, use_private_ip=False), (Ingress("203.0.113.200"),)
ROUTE, BALANCER, NOBODYS = a_route(1), LoadBalancer("web", labels={}, type="lb11"), Owner(None, None)
WORLD = a_world(
    [a_service(finalizers=(FINALIZER_BALANCER, "other"), ingress=ENTRIES), a_service("new", uid="new")],
    [a_balancer(attachments=(PLACE,))],
    nodes=[a_settled_node()],
    routes=routes_of(ROUTE),
)
SIDES: dict[str, tuple[str, Any, Any]] = {
    "node.initialise": ("node/web-1", an_identity(None), an_identity("hcloud://2")),
    "node.addresses": ("node/web-1", a_settled_node().addresses, ()),
    "node.labels": ("node/web-1", a_settled_node().labels, {}),
    "node.shutdown_taint": ("node/web-1", False, True),
    "node.out_of_service_taint": ("node/web-1", None, OutOfService(a_loss().proof)),
    "node.network_condition": ("node/web-1", None, ROUTED),
    "node.delete": ("node/web-1", a_loss(), None),
    "service.claim": ("service/default/new", False, True),
    "service.status": ("service/default/web", ENTRIES, ()),
    "service.release": ("service/default/web", Claimed(FINALIZER_BALANCER, ENTRIES), None),
    "lb.create": ("service/default/new", None, BALANCER),
    "lb.adopt": ("service/default/web", NOBODYS, Owner(CLUSTER_UID, "another")),
    "lb.identity": ("service/default/web", Identity("web", {}), Identity("shop", {})),
    "lb.type": ("service/default/web", "lb11", "lb21"),
    "lb.algorithm": ("service/default/web", Algorithm.ROUND_ROBIN, Algorithm.LEAST_CONNECTIONS),
    "lb.rdns": ("load_balancer/default/web/rdns/ipv4", "static.200.example.com", "example.com"),
    "lb.network": ("service/default/web", PLACE, None),
    "lb.public_interface": ("service/default/web", True, False),
    "lb.listener": ("service/default/web", a_listener(), None),
    "lb.target": ("service/default/web", TARGET, None),
    "lb.retain": ("service/default/web", Owner(CLUSTER_UID, "uid-web"), NOBODYS),
    "lb.delete": ("service/default/web", BALANCER, None),
    "certificate.create": ("certificate/default/web", None, ManagedCertificate("web", ("example.com",), {})),
    "route.create": ("route/4/10.244.2.0@24", None, a_route(2)),
    "route.replace": ("route/4/10.244.1.0@24", ROUTE, replace(ROUTE, gateway=IPv4Address("10.0.0.9"))),
    "route.delete": ("route/4/10.244.1.0@24", ROUTE, None),
}
"""Kind → its object and both sides, where it takes something away if it can."""


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_changes_the_world_that_is_foreseen(kind: str) -> None:
    """A removal that nobody foresees would be counted by no guard on losses."""
    key, before, there = SIDES[kind]
    verb = max(KINDS[kind].verbs, key=list(Verb).index)
    number = 42 if kind.startswith("lb.") and kind != "lb.create" else None
    change = a_change(key, kind, verb=verb, before=before, after=there, cloud_id=number)
    assert after_all(WORLD, (change,)) != WORLD


def test_the_deletion_of_one_without_a_service() -> None:
    change = a_change("load_balancer/#42", "lb.delete", before=BALANCER, cloud_id=42)
    world = after_all(WORLD, (change,))
    assert world.load_balancers is not None
    assert world.load_balancers.items == {}
