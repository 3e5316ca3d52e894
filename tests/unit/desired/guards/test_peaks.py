"""The most targets, Nodes and routes within the last hour."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address

import pytest

from desired.guards.blast_radius import node_blast_radius, route_blast_radius
from desired.guards.guard import GuardInput
from desired.guards.peaks import Peak, headcounts, peaks_after
from desired.model.clocks import Clocks
from desired.model.load_balancer import Health, IpTarget
from desired.model.settings import Settings
from desired.model.snapshot import RobotAccount, Snapshot
from desired.plan.change import GuardName
from desired.plan.setbacks import Scope, Setbacks
from desired.planner import compute_plan
from reconciler.passes.history import History
from tests.balancers import LOCATED, a_balancer, a_served_service, a_world
from tests.builders import (
    NOW,
    a_change,
    a_fleet,
    a_lost_node,
    a_robot_server,
    a_server,
    a_settled_node,
    incomplete,
    servers_of,
)
from tests.routes import ROUTING, a_pod_node, a_pod_server, a_route, a_routed_world
from tests.support.balancer_plans import public
from tests.support.judging import facts_of
from tests.support.rows import rows

ALL = range(1, 9)
H, X = Health.HEALTHY, Health.UNHEALTHY
AHEAD = Clocks(hetzner=timedelta(hours=-1))


def facts(
    world: Snapshot, settings: Settings = LOCATED, peaks: Mapping[Scope, frozenset[str]] | None = None
) -> GuardInput:
    return facts_of(compute_plan(world, settings), world, settings, Setbacks(peaks=peaks or {}))


def later(world: Snapshot, minutes: int) -> Snapshot:
    return replace(world, taken_at=NOW + timedelta(minutes=minutes))


def most(*steps: Snapshot, settings: Settings = LOCATED) -> dict[Scope, int]:
    """Scope → size of the peak after these readings."""
    peaks: Mapping[Scope, Peak] = {}
    for world in steps:
        found = headcounts(facts(world, settings))
        peaks = peaks_after(peaks, found, world.taken_at, ages=not world.clocks.differ)
    return {scope: len(peak.members) for scope, peak in peaks.items()}


def at(minutes: int, *alive: int, drained: int = 0, failing: Collection[int] = (), whole: bool = True) -> Snapshot:
    """The world so many minutes later, in which a load balancer leads to these servers; the first ``drained`` Nodes are
    cordoned."""
    nodes = [replace(a_settled_node(f"n-{n}", n), unschedulable=n <= drained) for n in ALL]
    checks = {target: X if target.server_id in failing else H for target in public(*alive)}
    balancer = a_balancer(targets=list(checks), health=checks)
    world = a_world([a_served_service()], [balancer], nodes=nodes, servers=[a_server(n, f"n-{n}") for n in ALL])
    return later(world if whole else replace(world, nodes=incomplete(world.nodes)), minutes)


@rows("steps answering there", {
    "all": ([at(0, *ALL)], 8, 8),
    "two do not answer": ([at(0, *ALL, failing=(1, 2))], 6, 8),
    "fewer within the hour": ([at(0, *ALL), at(10, 1, 2, 3)], 8, 8),
    "fewer just within it": ([at(0, *ALL), at(60, 1, 2, 3)], 8, 8),
    "fewer after it": ([at(0, *ALL), at(61, 1, 2, 3)], 3, 3),
    "fewer after it in a list that is not whole": ([at(0, *ALL), at(61, 1, 2, 3, whole=False)], 8, 8),
    "as many once more begins the hour anew": ([at(0, 1, 2, 3), at(10, 1, 2, 3), at(65, 1)], 3, 3),
    "drained before": ([at(0, *ALL), at(10, *ALL, drained=5), at(20, 6, 7, 8)], 3, 3),
    "by a clock that is ahead": ([at(0, *ALL), replace(at(61, 1, 2, 3), clocks=AHEAD)], 8, 8),
})  # fmt: skip
def test_a_peak_of_targets_lasts_for_an_hour(steps: list[Snapshot], answering: int, there: int) -> None:
    found = most(*steps)
    assert (found[42, "answering", "port 80"], found[42, "provider", "Cloud"]) == (answering, there)


def test_dedicated_servers_count_by_whichever_address() -> None:
    """One server has two targets while it is switched from one address to the other."""
    numbers = (61, 62, 63)
    metal = [a_settled_node(f"m-{number}", provider_id=f"hrobot://{number}") for number in numbers]
    account = [a_robot_server(number, f"m-{number}", ipv4=IPv4Address(f"192.0.2.{number}")) for number in numbers]
    stranger, targets = IpTarget("203.0.113.9"), [IpTarget(f"192.0.2.{number}") for number in numbers]
    health = dict.fromkeys((*targets, stranger), H)
    balancer = a_balancer(targets=list(health), health=health)
    world = a_world([a_served_service()], [balancer], nodes=metal, servers=[])
    found = most(replace(world, robot=RobotAccount(servers_of(*account))), settings=replace(LOCATED, robot=True))
    assert (found[42, "answering", "port 80"], found[42, "provider", "Robot"]) == (3, 3)


def test_a_load_balancer_that_a_list_lacks_keeps_its_peak() -> None:
    lacking = a_world([a_served_service()], [], nodes=[], servers=[])
    assert most(at(0, *ALL), later(lacking, 10))[42, "answering", "port 80"] == 8
    assert (42, "answering", "port 80") not in most(at(0, *ALL), later(lacking, 61))


def ours(*numbers: int, lost: Collection[int] = (), cordoned: Collection[int] = ()) -> Snapshot:
    """Nodes, of which these are lost."""
    nodes = [
        replace((a_lost_node if n in lost else a_settled_node)(f"n-{n}", n), unschedulable=n in cordoned)
        for n in numbers
    ]
    return a_fleet(*nodes, gone=lost)


@rows("before now value", {
    "two are gone": (ours(*ALL), ours(3, 4, 5, 6, 7, 8, lost=[3]), "3"),
    "two are gone and two have joined": (ours(*ALL), ours(3, 4, 5, 6, 7, 8, 9, 10, lost=[3]), None),
    "two were cordoned before": (ours(*ALL, cordoned=[1, 2]), ours(3, 4, 5, 6, 7, 8, lost=[3]), None),
    "two were lost before": (ours(*ALL, lost=[1, 2]), ours(3, 4, 5, 6, 7, 8, lost=[3]), None),
})  # fmt: skip
def test_nodes_that_are_lost_one_by_one_are_counted(before: Snapshot, now: Snapshot, value: str | None) -> None:
    peaks = {scope: peak.members for scope, peak in peaks_after({}, headcounts(facts(before)), NOW).items()}
    found = [each.value for each in node_blast_radius(facts(now, peaks=peaks))]
    assert found == ([] if value is None else [value])


def routed(nodes: Collection[int], *superfluous: int, cordoned: Collection[int] = ()) -> Snapshot:
    """Nodes with their routes, and routes that none of them needs."""
    population = [replace(a_pod_node(number), unschedulable=number in cordoned) for number in nodes]
    return a_routed_world(
        population,
        [a_pod_server(number) for number in nodes],
        [*map(a_route, nodes), *(a_route(200 + number, min(nodes)) for number in superfluous)],
        members=[],
    )


@rows("before now value", {
    "two of ten": (routed(ALL, 1, 2), routed(ALL, 1, 2), None),
    "two more went": (routed(ALL, 1, 2), routed((3, 4, 5, 6, 7, 8), 1, 2), "4"),
    "of Nodes that were announced to go": (routed(ALL, 1, 2, cordoned=(1, 2)), routed((3, 4, 5, 6, 7, 8), 1, 2), None),
})  # fmt: skip
def test_routes_that_go_one_by_one_are_counted(before: Snapshot, now: Snapshot, value: str | None) -> None:
    counted = peaks_after({}, headcounts(facts(before, ROUTING)), NOW)
    peaks = {scope: peak.members for scope, peak in counted.items()}
    found = [each.value for each in route_blast_radius(facts(now, ROUTING, peaks))]
    assert found == ([] if value is None else [value])


def test_routes_that_led_nowhere_are_no_loss() -> None:
    """Their servers are gone, and so are the routes; then others would go."""
    left = (4, 5, 6, 7, 8)
    dead = a_routed_world([*map(a_pod_node, left)], [*map(a_pod_server, left)], [*map(a_route, ALL)], members=[])
    assert most(routed(ALL), dead, settings=ROUTING)["routes", 4] == len(left)


@pytest.mark.parametrize(("balancer", "expected"), [(42, 4), (7, 8)])
def test_a_person_lets_go_of_targets_of_one_load_balancer(balancer: int, expected: int) -> None:
    history = History()
    history.with_peaks(facts(at(0, *ALL)))
    change = replace(a_change(), cloud_id=balancer)
    history.let_go({GuardName.TARGET_FLOOR: [change]})
    assert len(history.with_peaks(facts(at(1, 1, 2, 3, 4))).setbacks.peak(42, "answering", "port 80")) == expected
