"""What a load balancer loses with its place in a network, and what comes back with the next one."""

from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.load_balancers.parts import may_return
from desired.model.load_balancer import Attachment, Health, IpTarget, SelectorTarget, ServerTarget, Target, is_private
from desired.model.snapshot import Network
from desired.plan.change import Verdict
from desired.section import Present
from tests.balancers import IN_NETWORK, NETWORK, a_balancer, a_world
from tests.builders import a_server
from tests.support.balancer_changes import BALANCER
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, part_of, plan_of, private, public
from tests.support.balancer_verdicts import judged
from tests.support.rows import rows

ELSEWHERE = Attachment(8, IPv4Address("10.8.0.9"))
ROBOT, EDGE = IpTarget("10.0.0.77"), SelectorTarget("role in (edge,worker),!spare", use_private_ip=True)
MOVES = {"private_ipv4": "10.0.0.9"}


@rows("target expected", {
    "a server by its private address": (ServerTarget(1, use_private_ip=True), True),
    "a selector of private addresses": (EDGE, True),
    "the end of the middle range": (IpTarget("172.31.255.1"), True),
    "after the end of it": (IpTarget("172.32.0.1"), False),
    "of another family": (IpTarget("fd00::1"), False),
})  # fmt: skip
def test_targets_reached_through_the_network(target: Target, expected: bool) -> None:
    assert is_private(target) is expected


@rows("target place world expected", {
    "a server in the network": (ServerTarget(1, True), HERE, {}, True),
    "a server that is gone": (ServerTarget(9, True), HERE, {}, False),
    "an address, in the same network": (ROBOT, HERE, {}, True),
    "an address, in a network without it": (ROBOT, ELSEWHERE, {}, False),
    "an address, in a network that has it": (ROBOT, ELSEWHERE,
        {"network": Present(Network(8, "other", (IPv4Network("10.0.0.0/24"),)))}, True),
})  # fmt: skip
def test_may_return(target: Target, place: Attachment | None, world: dict[str, Any], expected: bool) -> None:
    servers = [a_server(1, private_ips=((7, IPv4Address("10.0.0.2")),)), a_server(2, "web-2")]
    snapshot = a_world([], [], servers=servers, **{"network": Present(Network(8, "other")), **world})
    assert may_return(target, place, a_balancer(attachments=(HERE,)), snapshot) is expected


def test_what_others_have_added_comes_back_after_the_move() -> None:
    """The move first, then everything again."""
    balancer = a_balancer(attachments=(HERE,), targets=[*public(1), ROBOT, EDGE])
    plan = plan_of(asking(**MOVES), balancer, **INSIDE | fleet(1))
    found = {part_of(c): (c.before, c.after, c.depends_on) for c in plan.changes if c.kind == "lb.target"}
    assert found == {f"target/{each.name}": (None, each, (f"{BALANCER}/network/7",)) for each in (ROBOT, EDGE)}


@rows("options targets healthy", {
    "a Node goes on to serve": ({}, [*public(1), ROBOT], public(1)),
    "nobody did": ({}, [*public(1), ROBOT], []),
    "all Nodes are reached through it": ({"use_private_ip": "true"}, private(1, 2), private(1, 2)),
})  # fmt: skip
def test_the_floor_of_a_move(options: dict[str, str], targets: list[Target], healthy: list[Target]) -> None:
    """What serves, serves on; what others have added is lost for no moment."""
    balancer = a_balancer(attachments=(HERE,), targets=targets, health=dict.fromkeys(healthy, Health.HEALTHY))
    world = a_world([asking(**MOVES, **options)], [balancer], network=Present(NETWORK), **fleet(1, 2))
    plan = judged(world, IN_NETWORK)
    assert {part_of(change) for change in plan.with_verdict(Verdict.HELD)} == {"network/7"}
    assert all(hold.rule == "target-floor" for hold in plan.holds)
