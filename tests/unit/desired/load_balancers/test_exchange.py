"""Exchanges of dedicated servers' addresses: what each step waits for."""

from collections.abc import Mapping

import pytest

from desired.load_balancers.exchange import Step, exchanges_of, silent_newcomers
from desired.load_balancers.membership import Membership, NodeTarget
from desired.load_balancers.targets import desired_targets, target_candidates
from desired.model.load_balancer import CloudBalancer, Health, IpTarget, Target
from desired.model.snapshot import Readiness
from tests.balancers import a_balancer, a_listener
from tests.builders import a_settled_node, a_snapshot, in_robot

UP, DOWN, NEW = Health.HEALTHY, Health.UNHEALTHY, Health.UNKNOWN
PUBLIC = [IpTarget(f"192.0.2.{number}") for number in range(4)]
PRIVATE = [IpTarget(f"10.1.0.{number}") for number in range(4)]
STRANGER = IpTarget("203.0.113.9")


def a_node(number: int, wanted: IpTarget) -> NodeTarget:
    """The Node of Robot server NUMBER."""
    addresses = (PUBLIC[number].ip, PRIVATE[number].ip)
    return NodeTarget(f"db-{number}", Membership.TARGET, "", wanted, in_robot(number), addresses=addresses)


def going_private(*numbers: int) -> list[NodeTarget]:
    """Nodes that should be targets by their private addresses."""
    return [a_node(number, PRIVATE[number]) for number in numbers]


def steps(balancer: CloudBalancer, members: list[NodeTarget]) -> dict[int, Step]:
    """Number of a server → its step."""
    targets = desired_targets(target_candidates(members), balancer, None, "")
    return {exchange.server.id: exchange.step for exchange in exchanges_of(balancer, targets)}


@pytest.mark.parametrize(
    ("health", "step"),
    [
        pytest.param({PUBLIC[1]: UP}, Step.ADD, id="the new one is no target yet"),
        pytest.param({PUBLIC[1]: UP, PRIVATE[1]: UP}, Step.REMOVE, id="both answer"),
        pytest.param({PUBLIC[1]: DOWN, PRIVATE[1]: UP}, Step.REMOVE, id="the new one alone"),
        pytest.param({PUBLIC[1]: NEW, PRIVATE[1]: UP}, Step.REMOVE, id="the new one, and who knows"),
        pytest.param({PUBLIC[1]: UP, PRIVATE[1]: NEW}, Step.WAIT, id="not checked yet"),
        pytest.param({PUBLIC[1]: UP, PRIVATE[1]: {}}, Step.WAIT, id="no check is there yet"),
        pytest.param({PUBLIC[1]: UP, PRIVATE[1]: DOWN}, Step.ASK, id="the old one alone"),
        pytest.param({PUBLIC[1]: DOWN, PRIVATE[1]: DOWN}, Step.WAIT, id="neither"),
        pytest.param({PUBLIC[1]: {80: UP, 81: UP}, PRIVATE[1]: {80: UP, 81: DOWN}}, Step.ASK, id="not at each port"),
        pytest.param({PUBLIC[1]: {80: UP, 81: DOWN}, PRIVATE[1]: {80: UP, 81: DOWN}}, Step.REMOVE, id="a dead port"),
        pytest.param(
            {PUBLIC[1]: DOWN, PRIVATE[1]: DOWN, PRIVATE[2]: UP},
            Step.REMOVE,
            id="neither, and another shows the way",
        ),
        pytest.param(
            {PUBLIC[1]: NEW, PRIVATE[1]: DOWN, PRIVATE[2]: UP},
            Step.WAIT,
            id="the old one may answer yet",
        ),
        pytest.param(
            {PUBLIC[1]: DOWN, PRIVATE[1]: DOWN, STRANGER: UP}, Step.WAIT, id="neither, and a stranger shows nothing"
        ),
        pytest.param(
            {PUBLIC[1]: DOWN, PRIVATE[1]: DOWN, PRIVATE[2]: UP, PRIVATE[3]: DOWN, PUBLIC[3]: UP},
            Step.WAIT,
            id="neither, and a third one shows that the way is broken",
        ),
    ],
)
def test_steps(health: Mapping[Target, Health | Mapping[int, Health]], step: Step) -> None:
    """Of the first server, whose old address is public and whose new one is private."""
    listeners = [a_listener(80), a_listener(81)]
    balancer = a_balancer(targets=list(health), health=health, listeners=listeners)

    assert steps(balancer, going_private(1, 2, 3))[1] is step


def test_without_listeners_nothing_is_checked() -> None:
    """And nothing is lost."""
    balancer = a_balancer(targets=[PUBLIC[1], PRIVATE[1]], listeners=[])

    assert steps(balancer, going_private(1)) == {1: Step.REMOVE}


def test_what_is_no_exchange() -> None:
    """What is as it should be, what is new, and addresses of nobody."""
    balancer = a_balancer(targets=[PRIVATE[1], STRANGER])

    assert steps(balancer, going_private(1, 2)) == {}


@pytest.mark.parametrize(
    ("ready", "health", "silent"),
    [
        pytest.param(Readiness.TRUE, DOWN, (PRIVATE[1],), id="it does not answer"),
        pytest.param(Readiness.TRUE, NEW, (PRIVATE[1],), id="nobody knows yet"),
        pytest.param(Readiness.TRUE, UP, (), id="it answers"),
        pytest.param(Readiness.UNKNOWN, DOWN, (), id="it is down, for reasons of its own"),
    ],
)
def test_silent_newcomers(ready: Readiness, health: Health, silent: tuple[IpTarget, ...]) -> None:
    """Of those that should be targets so, and of no stranger."""
    balancer = a_balancer(targets=[PRIVATE[1], STRANGER], health={PRIVATE[1]: health, STRANGER: DOWN})
    targets = desired_targets(target_candidates(going_private(1)), balancer, None, "")
    snapshot = a_snapshot([a_settled_node("db-1", provider_id="hrobot://1", ready=ready)], [])

    assert silent_newcomers(balancer, targets, snapshot) == silent
