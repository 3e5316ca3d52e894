"""Objects that cannot be explained: the reason, and names that come near."""

from dataclasses import replace
from typing import Any

import pytest

from desired.explain import why_no_node, why_no_service
from desired.model.service import Service
from desired.model.snapshot import Node, Server
from desired.names import LABEL_CLUSTER_UID, LABEL_FORMER, LABEL_RELEASED
from desired.section import Section
from tests.balancers import LOCATED, a_balancer, a_service, a_world
from tests.builders import CLUSTER_UID, a_node, a_server, a_snapshot, incomplete, nodes_of

UNREADABLE: Section[str, Node] = Section({}, unreadable={"web-2": "no uid"})
NAMED = "server 2 has the name: its kubelet has not registered here"
FORMER = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_RELEASED: "20260701T121000Z"}
LEFT_BEHIND = a_balancer(service_uid=None, spec={"name": "was-42", "labels": FORMER})


@pytest.mark.parametrize(("nodes", "servers", "why"), [
    (nodes_of(), [], "the cluster has no Node 'web-2'"),
    (nodes_of(a_node(), a_node("db-1")), [], "the cluster has no Node 'web-2'; nearest: web-1"),
    (incomplete(nodes_of(), "429"), [], "the cluster has no Node 'web-2', but 429"),
    (UNREADABLE, [], "Node 'web-2' cannot be explained: no uid"),
    (nodes_of(), [a_server(2, "web-2")], f"the cluster has no Node 'web-2'; {NAMED}"),
])  # fmt: skip
def test_no_node(nodes: Section[str, Node], servers: list[Server], why: str) -> None:
    """A name that no Node has is answered with what comes near, or why it cannot be told."""
    assert why_no_node("web-2", a_snapshot(nodes_section=nodes, servers=servers)) == why


BROKEN: Section[str, Service] = Section({}, unreadable={"default/web": "it has no ports"})
TWO = Section({service.id: service for service in (a_service(), a_service("api", namespace="shop"))})
LACKS, LACKING = (
    "the cluster has no Service {!r}{}".format,
    "Service {!r} is not among the {} that were read: {}".format,
)
UNEXPLAINED = "Service 'default/web' cannot be explained: {}".format
NEAR = "; nearest: default/web"
GIVEN_BACK = "; load balancer 42 was-42 is returned to it when it is created again"


@pytest.mark.parametrize(("services", "balancers", "name", "why"), [
    (Section(), [], "default/web", LACKS("default/web", "")),
    (TWO, [], "default/wep", LACKS("default/wep", NEAR)),
    (TWO, [], "default/api", LACKS("default/api", "; nearest: shop/api")),
    (incomplete(TWO, "429"), [], "default/wep", LACKING("default/wep", 2, "429") + NEAR),
    (Section.missing("403"), [], "default/web", LACKING("default/web", 0, "403")),
    (BROKEN, [], "default/web", UNEXPLAINED("it has no ports")),
    (None, [], "default/web", UNEXPLAINED("the Services were not read")),
    (Section(), [LEFT_BEHIND], "default/web", LACKS("default/web", GIVEN_BACK)),
])  # fmt: skip
def test_no_service(services: Section[str, Service] | None, balancers: list[Any], name: str, why: str) -> None:
    """A name that no Service has is answered with what comes near, or why it cannot be told."""
    assert why_no_service(name, replace(a_world((), balancers), services=services), LOCATED) == why
