"""Which network zone a load balancer is in or goes to, and which servers are no targets for it there."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.options import Options
from desired.load_balancers.network import Place, place_of, why_out_of_zone, zone_of, zones_of_locations
from desired.model.load_balancer import CloudBalancer, IpTarget, LoadBalancer, ServerTarget, Target
from desired.model.snapshot import RobotAccount, Server
from desired.plan.change import Plan
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.section import Section, Unmanaged
from tests.balancers import LOCATED, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import a_robot_server, a_server, a_settled_node, a_snapshot

EUROPE, AMERICA = "eu-central", "us-east"
NEAR = a_server(1, "near", network_zone=EUROPE)
FAR = a_server(2, "far", location="ash", network_zone=AMERICA)
UNTOLD = a_server(3, "untold", location="")
NODES = [a_settled_node("near", 1), a_settled_node("far", 2), a_settled_node("untold", 3)]
ROBOT = replace(LOCATED, robot=True)


def in_zone(zone: str | None = EUROPE, location: str | None = "fsn1", **changes: Any) -> CloudBalancer:
    """A load balancer there."""
    balancer = a_balancer(**changes)
    return replace(balancer, spec=replace(balancer.spec, zone=zone, location=location))


def planned(
    service: Any, *balancers: CloudBalancer, servers: Sequence[Server] = (NEAR, FAR, UNTOLD), **changes: Any
) -> Plan:
    """The plan for these three Nodes."""
    world = a_world([service], balancers, nodes=NODES, servers=servers, **changes)
    return compute_plan(world, LOCATED)


def _ids(targets: Iterable[Target] | Unmanaged) -> set[int]:
    """The ids of the servers that are targets."""
    assert not isinstance(targets, Unmanaged)
    return {target.server_id for target in targets if isinstance(target, ServerTarget)}


def unusable(plan: Plan) -> list[str]:
    """The notes on Nodes that cannot be targets, without the reason."""
    return [note.text.split(":")[0] for note in plan.notes if note.kind is NoteKind.UNUSABLE_TARGET]


@pytest.mark.parametrize(
    ("options", "location", "present", "expected"),
    [
        pytest.param(Options(location="fsn1"), None, None, EUROPE, id="a location that Hetzner documents"),
        pytest.param(Options(location="new1"), None, None, "ap-new", id="a location that a server is in"),
        pytest.param(Options(location="moon"), None, None, "", id="a location that nothing tells of"),
        pytest.param(Options(network_zone=AMERICA), None, None, AMERICA, id="a zone"),
        pytest.param(Options(network_zone=EUROPE), "ash", None, AMERICA, id="where its Primary IP is"),
        pytest.param(Options(), None, None, "", id="no place"),
        pytest.param(Options(location="ash"), None, in_zone(), EUROPE, id="where it is, not where it should be"),
        pytest.param(Options(location="ash"), None, in_zone(zone=None), EUROPE, id="its location alone is known"),
        pytest.param(Options(), None, in_zone(None, None), "", id="nothing is known of where it is"),
    ],
)
def test_the_zone(options: Options, location: str | None, present: CloudBalancer | None, expected: str) -> None:
    """An existing load balancer never moves; a new one goes where it is asked for."""
    zones = zones_of_locations(a_snapshot((), [a_server(9, "n", location="new1", network_zone="ap-new"), UNTOLD]))

    assert zone_of(options, location, present, zones) == expected


def test_what_was_read_wins_over_the_documentation() -> None:
    """Of a location whose zone the API tells otherwise."""
    snapshot = a_snapshot((), [a_server(network_zone="eu-new")])

    assert zones_of_locations(snapshot)["fsn1"] == "eu-new"
    assert zones_of_locations(replace(snapshot, load_balancers=Section({1: in_zone("eu-lb")})))["fsn1"] == "eu-lb"


@pytest.mark.parametrize(
    ("zone", "targets", "zones", "expected"),
    [
        pytest.param("", (), {EUROPE, AMERICA}, None, id="the zone is not known"),
        pytest.param(EUROPE, (), {EUROPE}, None, id="all are there"),
        pytest.param(EUROPE, (), {EUROPE, ""}, None, id="of some it is not known"),
        pytest.param(EUROPE, (), {EUROPE, AMERICA}, Place(EUROPE), id="some are elsewhere"),
        pytest.param(EUROPE, (1, 3), {EUROPE, AMERICA}, Place(EUROPE), id="targets of its own zone"),
        pytest.param(EUROPE, (1, 2, 9), {EUROPE, AMERICA}, Place(EUROPE, frozenset({2})), id="a target of another"),
    ],
)
def test_the_place(zone: str, targets: tuple[int, ...], zones: set[str], expected: Place | None) -> None:
    """None shares the decision on targets with all other load balancers."""
    there = [ServerTarget(number, use_private_ip=False) for number in targets]
    snapshot = a_snapshot((), [NEAR, FAR, UNTOLD])

    assert place_of(zone, a_balancer(targets=there), snapshot, frozenset(zones)) == expected


@pytest.mark.parametrize(
    ("server", "place", "is_out"),
    [
        pytest.param(FAR, Place(EUROPE), True, id="another zone"),
        pytest.param(NEAR, Place(EUROPE), False, id="the same zone"),
        pytest.param(UNTOLD, Place(EUROPE), False, id="not known"),
        pytest.param(FAR, None, False, id="anywhere"),
        pytest.param(FAR, Place(EUROPE, frozenset({2})), False, id="a target by the API's own word"),
    ],
)
def test_servers_of_another_zone(server: Server, place: Place | None, *, is_out: bool) -> None:
    """A zone that is not known is not another one."""
    assert (why_out_of_zone(server, place) is not None) is is_out


@pytest.mark.parametrize(
    ("asks", "expected", "left_out"),
    [
        pytest.param({}, {1, 3}, ["no target for Node far"], id="by the default's location"),
        pytest.param({"location": "ash"}, {2, 3}, ["no target for Node near"], id="by its location"),
        pytest.param({"location": "", "network_zone": AMERICA}, {2, 3}, ["no target for Node near"], id="by its zone"),
        pytest.param({"location": "hil"}, {3}, ["no target for Node far", "no target for Node near"], id="of neither"),
        pytest.param({"location": "moon"}, {1, 2, 3}, [], id="of an unknown place"),
    ],
)
def test_a_new_load_balancer(asks: dict[str, str], expected: set[int], left_out: list[str]) -> None:
    """It is created with the targets that it can have."""
    service = a_service(claim=a_claim(annotations=annotated(**asks)))

    plan = planned(service)

    after = plan.by_key[service.balancer_key].after
    assert isinstance(after, LoadBalancer)
    assert _ids(after.targets) == expected
    assert unusable(plan) == left_out


def test_an_existing_target_of_another_zone_stays() -> None:
    """Hetzner has taken it, so that what is known of zones is wrong: nothing is removed for that, nor said."""
    service = a_served_service()
    there = [ServerTarget(number, use_private_ip=False) for number in (1, 2)]

    plan = planned(service, in_zone(targets=there))

    assert [change.key.parts[-1] for change in plan.changes] == ["server:3"]
    assert unusable(plan) == []


def test_a_service_of_each_zone_has_its_targets() -> None:
    """What is shared between Services is decided for each zone."""
    services = [
        a_service(name, uid=f"uid-{name}", claim=a_claim(annotations=annotated(location=name)))
        for name in ("fsn1", "ash", "nbg1")
    ]
    plan = compute_plan(a_world(services, nodes=NODES, servers=[NEAR, FAR, UNTOLD]), LOCATED)

    creations = {
        change.after.location: change.after for change in plan.changes if isinstance(change.after, LoadBalancer)
    }
    found = {place: _ids(made.targets) for place, made in creations.items()}
    assert found == {"fsn1": {1, 3}, "nbg1": {1, 3}, "ash": {2, 3}}


def test_a_robot_server_is_an_address() -> None:
    """Hetzner says of no address in which zone it is."""
    node = a_settled_node("metal", provider_id="hrobot://321")
    account = RobotAccount(Section({321: a_robot_server()}))
    world = a_world([a_service(claim=a_claim(annotations=annotated(location="ash")))], nodes=[node], servers=[NEAR])

    plan = compute_plan(replace(world, robot=account), ROBOT)

    (made,) = [change.after for change in plan.changes if isinstance(change.after, LoadBalancer)]
    assert made.targets == frozenset({IpTarget("192.0.2.65")})
