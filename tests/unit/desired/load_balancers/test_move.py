"""What a load balancer loses with its place in a network, and what comes back with the next one."""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.load_balancers.move import MOST_LABELS, labels_for, may_return, remembered
from desired.model.load_balancer import (
    Attachment,
    Health,
    Identity,
    IpTarget,
    SelectorTarget,
    ServerTarget,
    Target,
    is_private,
)
from desired.model.settings import Settings
from desired.model.snapshot import Network
from desired.names import LABEL_CLUSTER_UID, LABEL_FORMER, LABEL_RELEASED, LABEL_RETURNING, LABEL_SWITCH
from desired.plan.change import Change, Verdict
from desired.section import Present
from tests.balancers import DEFAULT_NAME, IN_NETWORK, LOCATED, NETWORK, a_balancer, a_world
from tests.builders import CLUSTER_UID, a_server
from tests.support.balancer_plans import asking, fleet, plan_of, private, public
from tests.support.balancer_verdicts import judged

HERE = Attachment(7, IPv4Address("10.0.0.200"))
ELSEWHERE = Attachment(8, IPv4Address("10.8.0.9"))
ROBOT, EDGE = IpTarget("10.0.0.77"), SelectorTarget("role in (edge,worker),!spare", use_private_ip=True)
TO_ROBOT, TO_EDGE = f"target/{ROBOT.name}", f"target/{EDGE.name}"
OUTSIDE = IpTarget("198.51.100.7")
BALANCER = "load_balancer/default/web"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param(ServerTarget(1, use_private_ip=True), True, id="a server by its private address"),
        pytest.param(ServerTarget(1, use_private_ip=False), False, id="a server by its public address"),
        pytest.param(EDGE, True, id="a selector of private addresses"),
        pytest.param(SelectorTarget("a=b", use_private_ip=False), False, id="a selector of public addresses"),
        pytest.param(ROBOT, True, id="an address of a vSwitch"),
        pytest.param(IpTarget("172.31.255.1"), True, id="the end of the middle range"),
        pytest.param(IpTarget("172.32.0.1"), False, id="after the end of it"),
        pytest.param(OUTSIDE, False, id="a public address"),
        pytest.param(IpTarget("fd00::1"), False, id="of another family"),
    ],
)
def test_what_is_reached_through_the_network(target: Target, expected: bool) -> None:
    assert is_private(target) is expected


@pytest.mark.parametrize(
    ("target", "place", "world", "expected"),
    [
        pytest.param(ServerTarget(1, True), HERE, {}, True, id="a server in the network"),
        pytest.param(ServerTarget(2, True), HERE, {}, False, id="a server that is not in it"),
        pytest.param(ServerTarget(9, True), HERE, {}, False, id="a server that is gone"),
        pytest.param(EDGE, ELSEWHERE, {}, True, id="a selector, in another network"),
        pytest.param(ROBOT, HERE, {}, True, id="an address, in the same network"),
        pytest.param(ROBOT, ELSEWHERE, {}, False, id="an address, in a network without it"),
        pytest.param(
            ROBOT,
            ELSEWHERE,
            {"network": Present(Network(8, "other", (IPv4Network("10.0.0.0/24"),)))},
            True,
            id="an address, in a network that has it",
        ),
        pytest.param(EDGE, None, {}, False, id="in no network"),
    ],
)
def test_what_may_come_back(target: Target, place: Attachment | None, world: dict[str, Any], expected: bool) -> None:
    servers = [a_server(1, private_ips=((7, IPv4Address("10.0.0.2")),)), a_server(2, "web-2")]
    snapshot = a_world([], [], servers=servers, **{"network": Present(Network(8, "other")), **world})
    assert may_return(target, place, a_balancer(attachments=(HERE,)), snapshot) is expected


@pytest.mark.parametrize(
    "targets",
    [
        pytest.param((), id="nothing"),
        pytest.param((ROBOT,), id="an address"),
        pytest.param((ROBOT, EDGE, ServerTarget(12, use_private_ip=True)), id="one of each"),
        pytest.param((SelectorTarget("x" * 1000, use_private_ip=True),), id="the longest selector"),
        pytest.param(tuple(IpTarget(f"10.0.0.{number}") for number in range(1, 120)), id="many"),
    ],
)
def test_what_labels_remember(targets: tuple[Target, ...]) -> None:
    """They say the same when they are read, and are labels as Hetzner takes them."""
    labels = labels_for(targets)
    assert labels is not None
    assert set(remembered(labels)) == set(targets)
    assert all(len(value) <= 63 and value[0] == value[-1] == "x" for value in labels.values())


def test_what_labels_cannot_remember() -> None:
    assert labels_for([SelectorTarget("x" * 999 + str(number), use_private_ip=True) for number in range(3)]) is None


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({}, id="none"),
        pytest.param({f"{LABEL_RETURNING}0": "hello"}, id="no such text"),
        pytest.param({f"{LABEL_RETURNING}0": ""}, id="nothing in it"),
        pytest.param({f"{LABEL_RETURNING}1": "xaXA6MTAuMC4wLjc3x"}, id="the first one is gone"),
        pytest.param({f"{LABEL_RETURNING}0": "x____x"}, id="no text at all"),
        pytest.param(labels_for([OUTSIDE]) or {}, id="an address that no move takes away"),
        pytest.param({f"{LABEL_RETURNING}{n}": "x" + "A" * 60 + "x" for n in range(MOST_LABELS + 5)}, id="too many"),
    ],
)
def test_labels_that_say_nothing(labels: Mapping[str, str]) -> None:
    """Whoever may write labels gets nobody to do anything that a move would not."""
    assert remembered(labels) == ()


def health(*targets: Target) -> dict[Target, Health]:
    """These answer."""
    return dict.fromkeys(targets, Health.HEALTHY)


def moving(*targets: Target, settings: Settings = IN_NETWORK, **more: Any) -> dict[str, Change]:
    """Key → change of a load balancer with these targets that gets another address, or the network that is given."""
    world = {"network": Present(NETWORK), **fleet(1), **more.pop("world", {})}
    balancer = a_balancer(attachments=(HERE,), targets=targets, **more)
    plan = plan_of(asking(private_ipv4="10.0.0.9"), balancer, settings=settings, **world)
    return {change.key.removeprefix(f"{BALANCER}/"): change for change in plan.changes}


def test_what_others_have_added_is_remembered_before_it_goes() -> None:
    """The labels first, then the move, then everything again; what a Node tells of needs no label."""
    found = moving(*public(1), ROBOT, EDGE)
    memory, move = found["labels/returning"], found["network/7"]
    assert set(remembered(memory.after.labels)) == {ROBOT, EDGE}  # type: ignore[union-attr]
    assert move.depends_on == (memory.key,)
    assert {key: (c.before, c.after, c.depends_on) for key, c in found.items() if key.startswith("target/")} == {
        TO_ROBOT: (None, ROBOT, (move.key,)),
        TO_EDGE: (None, EDGE, (move.key,)),
    }
    assert "labels/returning" not in moving(*public(1), OUTSIDE)


def owing(*targets: Target, places: tuple[Attachment, ...]) -> list[Change]:
    """What is planned for a load balancer whose labels say that it gets back the address and the selector."""
    spec = {"labels": {**a_balancer().spec.labels, **OWED}}
    balancer = a_balancer(attachments=places, targets=targets, spec=spec)
    service = asking(private_ipv4="10.0.0.9")
    plan = plan_of(service, balancer, settings=IN_NETWORK, network=Present(NETWORK), **fleet(1))
    return [change for change in plan.changes if change.kind in ("lb.target", "lb.identity")]


OWED = dict(labels_for([ROBOT, EDGE]) or {})
BACK = Attachment(7, IPv4Address("10.0.0.9"))


@pytest.mark.parametrize("places", [(), (BACK,)])
def test_what_a_run_owes_that_ended_on_the_way(places: tuple[Attachment, ...]) -> None:
    """Out of the network, or in it again: what the labels name and is not there is added."""
    (change,) = owing(*public(1), EDGE, places=places)
    assert (change.key, change.before, change.after) == (f"{BALANCER}/target/{ROBOT.name}", None, ROBOT)


@pytest.mark.parametrize(
    ("former", "expected"),
    [
        pytest.param({}, [], id="of an earlier owner"),
        pytest.param({LABEL_FORMER: "default.web", LABEL_RELEASED: "20260601T120000Z"}, [], id="released for good"),
        pytest.param({LABEL_FORMER: "default.web"}, [ROBOT], id="its own, which goes back"),
    ],
)
def test_what_an_earlier_owner_is_owed_is_not_adopted(former: dict[str, str], expected: list[Target]) -> None:
    """The next one never asked for it: nothing is added, and no label is for it to write; the adoption takes it off."""
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_SWITCH: "private.20260701T120000Z.3.4.2", **OWED, **former}
    balancer = a_balancer(attachments=(BACK,), targets=(*public(1), EDGE), spec={"labels": labels, "name": "shop"})
    plan = plan_of(asking(name="shop"), balancer, settings=IN_NETWORK, network=Present(NETWORK), **fleet(1))
    assert "lb.adopt" in {change.kind for change in plan.changes}
    assert [change.after for change in plan.changes if change.kind == "lb.target"] == expected
    assert bool(expected) or "lb.identity" not in {change.kind for change in plan.changes}


def test_what_is_owed_no_more() -> None:
    """Everything is back: the labels go, and no others."""
    (change,) = owing(*public(1), EDGE, ROBOT, places=(BACK,))
    assert (change.before, change.after) == (Identity(DEFAULT_NAME, OWED), Identity(DEFAULT_NAME, {}))


@pytest.mark.parametrize(
    ("options", "targets", "healthy", "settings", "held"),
    [
        pytest.param({}, [*public(1), ROBOT], public(1), IN_NETWORK, {"network/7"}, id="a Node goes on to serve"),
        pytest.param({}, [*public(1), ROBOT], [ROBOT], IN_NETWORK, {"network/7"}, id="nobody does"),
        pytest.param({}, [*public(1), ROBOT], [], IN_NETWORK, {"network/7"}, id="nobody did"),
        pytest.param({}, [*public(1), ROBOT], public(1), LOCATED, {TO_ROBOT}, id="no network any more"),
        pytest.param({}, [*public(1), EDGE], public(1), LOCATED, {TO_EDGE}, id="no network any more, a selector"),
        pytest.param({}, public(1), public(1), LOCATED, set(), id="no network any more, and nothing in it"),
        pytest.param(
            {"use_private_ip": "true"},
            private(1, 2),
            private(1, 2),
            IN_NETWORK,
            {"network/7"},
            id="all Nodes are reached through it",
        ),
    ],
)
def test_the_floor_of_a_move(
    options: dict[str, str], targets: list[Target], healthy: list[Target], settings: Settings, held: set[str]
) -> None:
    """What serves, serves on; what others have added is lost for no moment."""
    balancer = a_balancer(attachments=(HERE,), targets=targets, health=health(*healthy))
    network: dict[str, Any] = {"network": Present(NETWORK)} if settings is IN_NETWORK else {}
    nodes = fleet(1, 2)
    moves = {"private_ipv4": "10.0.0.9"} if settings is IN_NETWORK else {}
    service = asking(**moves, **options)
    plan = judged(a_world([service], [balancer], **nodes, **network), settings)
    assert {c.key.removeprefix(f"{BALANCER}/") for c in plan.with_verdict(Verdict.HELD)} == held
    assert all(hold.rule == "target-floor" for hold in plan.holds)
    if held:
        assert plan.by_key[f"{BALANCER}/network/7"].decision.verdict is not Verdict.ALLOWED
        assert not any(c.kind == "lb.identity" and c.decision.verdict is Verdict.ALLOWED for c in plan.changes)
