"""A wrong annotation stops what it decides at a load balancer that exists, and nothing else."""

from typing import Any

from desired.annotations.claims import ClaimedPort
from desired.model.load_balancer import CloudBalancer, Health, ServerTarget
from tests.balancers import a_balancer, a_listener
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, in_turn, plan_of, private, public
from tests.support.rows import rows

MOVED = ClaimedPort(80, "TCP", 31080)
ATTACHED = a_balancer(attachments=(HERE,), targets=private(1))
SHUT = a_balancer(attachments=(HERE,), targets=(), spec={"public_interface": False})
ANSWERS = ServerTarget(1, use_private_ip=True)


@rows("wrong", {
    "number": {"health_check_interval": "soon"},
    "check-of-kube-proxy": {"health_check_node_port": "perhaps"},
    "of-the-port": {"port_80_protocol": "htps"},
    "of-targets": {"use_private_ip": "ture", "node_selector": "a in ("},
    "port-that-the-service-lacks": {"port_9999_protocol": "http"},
})  # fmt: skip
def test_node_ports_are_followed(wrong: dict[str, str]) -> None:
    plan = plan_of(asking(MOVED, **wrong), a_balancer())
    (change,) = [each for each in plan.changes if each.key.parts == ("listener", "80")]
    assert change.after.destination_port == change.after.health_check.port == 31080  # type: ignore[union-attr]


@rows("wrong order", {
    "algorithm": ({"algorithm_type": "fastest"}, ["listener/80"]),
    "proxy": ({"uses_proxyprotocol": "yes"}, ["algorithm"]),
    "address-in-the-network": ({"private_ipv4": "10.0.0"}, ["algorithm", "listener/80"]),
})  # fmt: skip
def test_the_rest_goes_on(wrong: dict[str, str], order: list[str]) -> None:
    wishes = {"algorithm_type": "least_connections", "uses_proxyprotocol": "true"}
    assert in_turn(plan_of(asking(**wishes | wrong), a_balancer(), **fleet(1))) == order


@rows("balancer world order", {
    "private": (ATTACHED, INSIDE, {"target/server:2": True}),
    "none-and-closed": (SHUT, INSIDE, {"target/server:1": True, "target/server:2": True}),
    "none-and-open": (a_balancer(targets=()), {}, {"target/server:1": False, "target/server:2": False}),
    "as-the-one-that-answers": (a_balancer(attachments=(HERE,), targets=(*public(3, 4), ANSWERS),
        health={ANSWERS: Health.HEALTHY}), INSIDE, {"target/server:2": True}),
})  # fmt: skip
def test_newcomers_are_reached_as_most_targets_are(
    balancer: CloudBalancer, world: dict[str, Any], order: dict[str, bool]
) -> None:
    """While it is not known how, and nothing that is there is switched."""
    numbers = {1, 2, *(each.server_id for each in balancer.targets if isinstance(each, ServerTarget))}
    plan = plan_of(asking(use_private_ip="ture"), balancer, **fleet(*numbers) | world)
    found = {
        f"target/{change.after.name}": change.after for change in plan.changes if isinstance(change.after, ServerTarget)
    }
    assert {key: target.use_private_ip for key, target in found.items()} == order


def test_an_unreadable_selector_removes_nothing_and_lets_newcomers_join() -> None:
    plan = plan_of(asking(node_selector="a in ("), a_balancer(targets=public(1)), **fleet(1, 2))
    assert in_turn(plan) == ["target/server:2"]


@rows("wrong balancer world", {
    "way-without-a-network": ({"use_private_ip": "true"}, ATTACHED, {}),
    "address-of-another-network": ({"private_ipv4": "192.168.9.9", "use_private_ip": "true"}, ATTACHED, INSIDE),
})  # fmt: skip
def test_the_place_in_the_network_stays(wrong: dict[str, str], balancer: CloudBalancer, world: dict[str, Any]) -> None:
    assert in_turn(plan_of(asking(**wrong), balancer, **fleet(1) | world)) == []


def test_a_port_that_stays_beside_a_wrong_redirect() -> None:
    """Of two ports that ask for the redirect, none gets it and none loses it."""
    both = {f"port_{port}_http_redirect_http": "true" for port in (443, 8443)}
    ports = [ClaimedPort(port, "TCP", 30000 + number) for number, port in enumerate((443, 8443))]
    there = a_balancer(listeners=[a_listener(443, 30000), a_listener(8443, 30001)])
    assert in_turn(plan_of(asking(*ports, **both), there, **fleet(1))) == []
