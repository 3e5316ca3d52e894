"""Every Node and what it is to a Service's load balancer; and the targets of it that are no Node's."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.explain.parts import TargetFact
from desired.load_balancers.membership import Membership
from desired.model.load_balancer import Attachment, CloudBalancer, Health, IpTarget, SelectorTarget, ServerTarget
from desired.model.service import Service
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Node, Server
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS
from desired.section import Absent, Present
from tests.balancers import (
    IN_NETWORK,
    LB11,
    LOCATED,
    NETWORK,
    a_balancer,
    a_claim,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import NOW, a_joining_node, a_node, a_server, a_settled_node, nodes_of
from tests.support.service_explanations import of_the_service

PUBLIC = {n: ServerTarget(n, use_private_ip=False) for n in range(1, 10)}
PRIVATE_1 = ServerTarget(1, use_private_ip=True)
EXCLUDED = a_settled_node("web-2", 2, labels={LABEL_EXCLUDE_FROM_BALANCERS: ""})
WHY_EXCLUDED = f"it has the label {LABEL_EXCLUDE_FROM_BALANCERS}"
IN_IT = ((7, IPv4Address("10.0.0.2")),)
PLACE = Attachment(7, IPv4Address("10.0.0.9"))
OBSERVE = replace(LOCATED, policy=Policy.OBSERVE)


def members(
    nodes: Iterable[Node],
    servers: Iterable[Server],
    balancer: CloudBalancer | None,
    service: Service | None = None,
    settings: Settings = LOCATED,
    **overrides: Any,
) -> Mapping[str, TargetFact]:
    """Subject → what is said of it."""
    balancers = [] if balancer is None else [balancer]
    snapshot = a_world([service or a_served_service()], balancers, nodes=nodes, servers=servers, **overrides)
    return {fact.subject: fact for fact in of_the_service(snapshot, settings).targets}


@pytest.mark.parametrize(
    ("node", "servers", "targets", "settings", "membership", "sides", "why"),
    [
        pytest.param(
            a_settled_node("web-2", 2),
            [a_server(2, "web-2")],
            [PUBLIC[2]],
            LOCATED,
            Membership.TARGET,
            ("203.0.113.2", "203.0.113.2"),
            "server 2 by its public address 203.0.113.2",
            id="a-target",
        ),
        pytest.param(
            a_settled_node("web-2", 2),
            [a_server(2, "web-2")],
            [],
            LOCATED,
            Membership.TARGET,
            (None, "203.0.113.2"),
            "server 2 by its public address 203.0.113.2",
            id="comes",
        ),
        pytest.param(
            a_settled_node("web-2", 2),
            [a_server(2, "web-2")],
            [],
            OBSERVE,
            Membership.TARGET,
            (None, "203.0.113.2"),
            "server 2 by its public address 203.0.113.2; waiting (policy)",
            id="comes-and-is-withheld",
        ),
        pytest.param(
            EXCLUDED,
            [a_server(2, "web-2")],
            [PUBLIC[2]],
            LOCATED,
            Membership.EXCLUDED,
            ("203.0.113.2", None),
            WHY_EXCLUDED,
            id="goes",
        ),
        pytest.param(
            EXCLUDED,
            [a_server(2, "web-2")],
            [],
            LOCATED,
            Membership.EXCLUDED,
            (None, None),
            WHY_EXCLUDED,
            id="kept-out",
        ),
        pytest.param(
            a_node("web-2", provider_id="aws://2"),
            [],
            [],
            LOCATED,
            Membership.SERVERLESS,
            (None, None),
            "providerID 'aws://2' belongs to another cloud",
            id="another-cloud's",
        ),
        pytest.param(
            a_joining_node("web-2"),
            [a_server(2, "web-2")],
            [],
            LOCATED,
            Membership.TARGET,
            (None, "203.0.113.2"),
            "server 2 by its public address 203.0.113.2",
            id="a-joining-node",
        ),
        pytest.param(
            a_settled_node("web-2", 2),
            [],
            [PUBLIC[2]],
            LOCATED,
            Membership.UNCERTAIN,
            ("its public address", "its public address"),
            "the server is not known: it is not listed, but the kubelet reports Ready",
            id="a-server-that-is-not-listed",
        ),
    ],
)
def test_nodes(
    node: Node,
    servers: list[Server],
    targets: list[ServerTarget],
    settings: Settings,
    membership: Membership,
    sides: tuple[str | None, str | None],
    why: str,
) -> None:
    """Each Node is told with what it is, the address by which it gets traffic now and then, and why."""
    there = a_balancer(targets=(PUBLIC[1], *targets))
    found = members([a_settled_node(), node], [a_server(), *servers], there, settings=settings)
    fact = found["web-2"]

    assert list(found) == ["web-1", "web-2"]
    assert (fact.membership, (fact.value, fact.wanted), fact.why) == (membership, sides, why)


def test_a_switch_to_private_addresses() -> None:
    """A target that is reached otherwise has both addresses; one that cannot be is said to go."""
    service = a_served_service(claim=a_claim(annotations=annotated(use_private_ip="true")))
    balancer = a_balancer(targets=(PUBLIC[1], PUBLIC[2]), attachments=(PLACE,))
    found = members(
        [a_settled_node(), a_settled_node("web-2", 2)],
        [a_server(private_ips=IN_IT), a_server(2, "web-2")],
        balancer,
        service,
        IN_NETWORK,
        network=Present(NETWORK),
    )

    assert [(fact.value, fact.wanted) for fact in found.values()] == [
        ("203.0.113.1", "10.0.0.2"),
        ("203.0.113.2", None),
    ]


@pytest.mark.parametrize(
    ("node", "sides"),
    [
        pytest.param(a_settled_node(), ("203.0.113.1, 10.0.0.2", "203.0.113.1"), id="wanted-once"),
        pytest.param(a_settled_node("web-2", 2), ("203.0.113.1, 10.0.0.2", "10.0.0.2"), id="wanted-no-more"),
    ],
)
def test_a_server_that_is_a_target_twice(node: Node, sides: tuple[str, str]) -> None:
    """A server has one line, whatever addresses it gets traffic by, and loses one of them at a time."""
    balancer = a_balancer(targets=(PUBLIC[1], PRIVATE_1, PUBLIC[2]), attachments=(PLACE,))
    servers = [a_server(private_ips=IN_IT), a_server(2, "web-2")]
    found = members([node], servers, balancer, settings=IN_NETWORK, network=Present(NETWORK))
    (fact,) = (fact for fact in found.values() if fact.server_id == 1)

    assert (fact.value, fact.wanted) == sides


@pytest.mark.parametrize(
    ("settings", "wanted", "why"),
    [
        pytest.param(LOCATED, "203.0.113.1", "server 1 by its public address 203.0.113.1", id="created-with-it"),
        pytest.param(
            OBSERVE, "203.0.113.1", "server 1 by its public address 203.0.113.1; waiting (policy)", id="withheld"
        ),
    ],
)
def test_a_new_load_balancer(settings: Settings, wanted: str, why: str) -> None:
    """Targets that come with a new load balancer are told as such."""
    (fact,) = members([a_settled_node()], [a_server()], None, a_service(), settings).values()

    assert (fact.value, fact.wanted, fact.why) == (None, wanted, why)


def test_a_full_load_balancer() -> None:
    """A Node for which the type has no room is told so, and gets nothing."""
    small = a_balancer(targets=(PUBLIC[2],), type=replace(LB11, max_targets=1))
    nodes, servers = [a_settled_node(), a_settled_node("web-2", 2)], [a_server(), a_server(2, "web-2")]
    fact = members(nodes, servers, small)["web-1"]

    assert (fact.membership, fact.value, fact.wanted) == (Membership.OVER_LIMIT, None, None)


def test_health() -> None:
    """What the load balancer says of a target is told, and nothing of what is none."""
    health = {PUBLIC[1]: Health.UNHEALTHY, IpTarget("192.0.2.1"): Health.HEALTHY}
    balancer = a_balancer(targets=(PUBLIC[1], IpTarget("192.0.2.1")), health=health)
    found = members([a_settled_node(), EXCLUDED], [a_server(), a_server(2, "web-2")], balancer)

    assert {subject: fact.health for subject, fact in found.items()} == {
        "web-1": Health.UNHEALTHY,
        "web-2": None,
        "ip:192.0.2.1": Health.HEALTHY,
    }


@pytest.mark.parametrize(
    ("checks", "health"),
    [
        ({80: Health.HEALTHY, 443: Health.UNHEALTHY}, Health.UNHEALTHY),
        ({80: Health.UNKNOWN, 443: Health.HEALTHY}, Health.UNKNOWN),
        ({}, None),
    ],
)
def test_the_worst_health_is_told(checks: Mapping[int, Health], health: Health | None) -> None:
    """Of several listeners the one counts that fails."""
    balancer = replace(a_balancer(targets=(PUBLIC[1],)), checks={PUBLIC[1]: checks})

    assert members([a_settled_node()], [a_server()], balancer)["web-1"].health is health


@pytest.mark.parametrize(
    ("target", "subject", "sides", "why"),
    [
        pytest.param(
            IpTarget("192.0.2.1"),
            "ip:192.0.2.1",
            ("ip:192.0.2.1", "ip:192.0.2.1"),
            "not ours, left as it is",
            id="an-address",
        ),
        pytest.param(
            SelectorTarget("a=b", use_private_ip=False),
            "selector:a=b",
            ("selector:a=b", "selector:a=b"),
            "not ours, left as it is",
            id="a-selector",
        ),
        pytest.param(
            PUBLIC[8],
            "server:8",
            ("203.0.113.8", None),
            "no Node is server 8; held (silent-cluster)",
            id="a-server-of-no-node",
        ),
        pytest.param(
            PUBLIC[9], "server:9", ("its public address", None), "server 9 is gone", id="a-server-that-is-gone"
        ),
    ],
)
def test_targets_that_are_no_nodes(target: Any, subject: str, sides: tuple[str | None, str | None], why: str) -> None:
    """What is no Node's is told after the Nodes, with what becomes of it."""
    balancer = a_balancer(targets=(target, PUBLIC[1]))
    found = members([a_settled_node()], [a_server(), a_server(8, "x")], balancer, confirmations={9: Absent()})
    fact = found[subject]

    assert list(found) == ["web-1", subject]
    assert (fact.membership, (fact.value, fact.wanted), fact.why) == (None, sides, why)


def test_a_server_that_may_be_an_unreadable_nodes() -> None:
    """While it is not known whose a server is it stays."""
    nodes = replace(nodes_of(a_settled_node()), unreadable={"web-2": "no uid"})
    snapshot = replace(
        a_world([a_served_service()], [a_balancer(targets=(PUBLIC[1], PUBLIC[8]))], servers=[a_server(), a_server(8)]),
        nodes=nodes,
    )
    found = {fact.subject: fact for fact in of_the_service(snapshot).targets}

    assert found["web-2"].membership is Membership.UNCERTAIN
    assert (found["server:8"].wanted, found["server:8"].why) == ("203.0.113.8", "no Node is server 8; left as it is")


@pytest.mark.parametrize(
    ("claim", "balancer"),
    [
        pytest.param(a_claim(annotations=annotated(use_private_ip="x")), a_balancer(targets=()), id="malformed"),
        pytest.param(
            a_claim(annotations=annotated(name="shop")),
            a_balancer(service_uid=None, cluster_uid="another", spec={"name": "shop"}),
            id="another-cluster's",
        ),
    ],
)
def test_nothing_is_planned(claim: Any, balancer: CloudBalancer) -> None:
    """Where no target is planned for a Node that may be one, that is said; what others have is not told as its."""
    (fact,) = members([a_settled_node()], [a_server()], balancer, a_served_service(claim=claim)).values()

    assert (fact.membership, fact.value, fact.wanted) == (Membership.TARGET, None, None)
    assert fact.why == "server 1 by its public address 203.0.113.1; nothing is planned as things are"


@pytest.mark.parametrize(
    ("overrides", "wanted", "why"),
    [
        pytest.param({}, None, "goes with the load balancer", id="deleted"),
        pytest.param(
            {"is_protected": True}, "203.0.113.1", "stays with the load balancer, which is released", id="let-go"
        ),
    ],
)
def test_a_service_that_is_going(overrides: Mapping[str, Any], wanted: str | None, why: str) -> None:
    """Of a Service that goes only what is there is told; nobody asks any more who should be a target."""
    balancer = a_balancer(targets=(PUBLIC[1], PUBLIC[8]), **overrides)
    nodes = [a_settled_node(), a_settled_node("web-2", 2)]
    found = members(nodes, [a_server(), a_server(2, "web-2")], balancer, a_served_service(deleted_at=NOW))

    assert list(found) == ["web-1", "server:8"]
    assert (found["web-1"].membership, found["web-1"].wanted, found["web-1"].why) == (None, wanted, why)


def test_a_service_that_is_not_looked_after() -> None:
    """No Node is anything to it."""
    assert members([a_settled_node()], [a_server()], None, a_service(type="ClusterIP")) == {}
