"""What is told of a Node's routes: each pod CIDR with its route and why, what leads to its server besides, and the
condition that follows."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from desired.explain.fact import Fact
from desired.explain.node import NodeExplanation
from desired.explain.routes import NodeRoutes
from desired.model.route import CONDITION_NETWORK, ROUTED, UNROUTED, NetworkCondition, Route
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Condition, Snapshot
from desired.plan.change import Verdict
from desired.planner import compute_plan
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.rules.rule import Basis
from desired.section import Absent, Section, Unknown
from desired.syntax.selector import parse_selector
from tests.builders import incomplete
from tests.routes import ROUTING, WITHOUT_RANGE, a_pod_node, a_pod_server, a_route, a_routed_world, routes_of
from tests.support.explanations import EXPLANATIONS
from tests.support.judging import explain, judge
from tests.support.route_explanations import ROUTED_WORLDS

OFF = Settings(network="private")
LEFT_OUT = replace(ROUTING, controllers=frozenset(Controller) - {Controller.ROUTE})
IGNORING = replace(ROUTING, ignore_nodes=parse_selector("lab=yes"))
OTHER = NetworkCondition("False", "CalicoIsUp")


def explained(world: Snapshot, settings: Settings = ROUTING) -> NodeExplanation:
    """What there is to say of Node web-1."""
    plan = judge(compute_plan(world, settings), world, settings)
    return explain(world.nodes.items["web-1"], world, settings, plan)


def routes(world: Snapshot, settings: Settings = ROUTING) -> NodeRoutes:
    """What there is to say of its routes."""
    found = explained(world, settings).routes
    assert found is not None
    return found


def condition(world: Snapshot, settings: Settings = ROUTING) -> Fact | None:
    """What there is to say of its condition NetworkUnavailable."""
    return next((fact for fact in explained(world, settings).conditions if fact.subject == CONDITION_NETWORK), None)


def _gateway(side: object) -> object:
    return side.gateway if isinstance(side, Route) else None


@pytest.mark.parametrize("name", ROUTED_WORLDS)
def test_facts_agree_with_the_plan(name: str) -> None:
    """Routes and the condition are said to change exactly where the plan changes them."""
    found = EXPLANATIONS[name].explanation
    assert isinstance(found, NodeExplanation)
    assert found.routes is not None
    told = {
        fact.destination: (fact.value, fact.wanted) for fact in found.routes.destinations if fact.value != fact.wanted
    }
    network = [fact for fact in found.conditions if fact.subject == CONDITION_NETWORK and fact.value != fact.wanted]
    planned = {
        change.key.parts[0]: (_gateway(change.before), _gateway(change.after))
        for change in found.changes
        if change.kind.startswith("route.")
    }

    assert planned.items() <= told.items()
    assert all(
        fact.fate is RouteAction.CLAIMED
        for fact in found.routes.destinations
        if fact.destination in told.keys() - planned
    )
    assert len(network) == sum(change.kind == "node.network_condition" for change in found.changes)
    for change in found.changes:
        if change.kind.startswith("route.") and change.decision.verdict is not Verdict.ALLOWED:
            destination = change.key.parts[0]
            (fact,) = (fact for fact in found.routes.destinations if fact.destination == destination)
            assert fact.why.endswith(f"; {change.decision.verdict} ({change.decision.rule})")


def test_ranges_stand_in_the_order_of_the_node() -> None:
    """First its pod CIDRs as they were assigned, each once; then what leads to its server besides."""
    node = a_pod_node(1, "fd00::/64", "10.244.1.5/24", "10.244.1.0/24", "ten")
    found = routes(a_routed_world([node], routes=[a_route(1), a_route("10.8.0.0/24", 1)]))

    assert [(fact.destination, fact.standing, fact.fate) for fact in found.destinations] == [
        ("fd00::/64", None, None),
        ("10.244.1.0/24", RouteStatus.SERVED, RouteAction.CLAIMED),
        ("ten", RouteStatus.UNROUTABLE, None),
        ("10.8.0.0/24", None, RouteAction.FOREIGN),
    ]


def test_routes_by_an_alias_address_lead_to_the_server() -> None:
    """Somebody who wonders where traffic comes from is told of these as well."""
    server = a_pod_server(1, aliases=("10.0.0.50",))
    found = routes(a_routed_world([a_pod_node()], [server], [a_route(1), a_route("10.8.0.0/24", "10.0.0.50")]))

    assert [(fact.destination, fact.value) for fact in found.destinations][1:] == [
        ("10.8.0.0/24", a_route(1, "10.0.0.50").gateway)
    ]


def test_what_is_used() -> None:
    """What could not be read takes a place as well; of a list with a gap the number is not known."""
    world = a_routed_world()
    hidden = replace(world, routes=routes_of(a_route(), unreadable={"fd00::/64": "no IPv4"}))

    gap = replace(world, routes=incomplete(routes_of(a_route())))

    assert (routes(world).used, routes(hidden).used, routes(gap).used) == (1, 2, None)
    assert (routes(world).network, routes(world).cluster_cidr) == (4, ROUTING.cluster_cidr)


@pytest.mark.parametrize(
    ("world", "settings", "why"),
    [
        pytest.param(a_routed_world(), ROUTING, None, id="all is well"),
        pytest.param(
            a_routed_world(),
            WITHOUT_RANGE,
            "not managed: --cluster-cidr is not given",
            id="no cluster CIDR",
        ),
        pytest.param(
            a_routed_world(), OFF, "not managed: routes are switched off", id="switched off, and a condition is left"
        ),
        pytest.param(a_routed_world(), LEFT_OUT, "not managed: --controllers leaves route out", id="left to others"),
        pytest.param(
            replace(a_routed_world(), network=Unknown("no answer"), routes=Section.missing("no answer")),
            ROUTING,
            "the network is not known: no answer",
            id="network not read",
        ),
        pytest.param(
            replace(a_routed_world(), network=Absent(), routes=None),
            ROUTING,
            "the project has no network 'private'",
            id="no such network",
        ),
        pytest.param(
            replace(a_routed_world(), routes=None),
            ROUTING,
            "the routes of the network were not read",
            id="nobody read them",
        ),
        pytest.param(
            a_routed_world([a_pod_node(pod_cidrs=())], routes=[]),
            ROUTING,
            "the Node has no pod CIDR yet",
            id="no pods yet",
        ),
        pytest.param(
            a_routed_world([a_pod_node(provider_id="aws://1")], routes=[]),
            ROUTING,
            "its providerID names no server of Hetzner Cloud",
            id="another cloud",
        ),
        pytest.param(
            a_routed_world([a_pod_node(labels={"lab": "yes"})]),
            IGNORING,
            "ignored by --ignore-nodes",
            id="ignored",
        ),
    ],
)
def test_why_there_is_none(world: Snapshot, settings: Settings, why: str | None) -> None:
    """Where nothing is looked after, one sentence says why."""
    assert routes(world, settings).why == why


def test_a_pod_cidr_of_ipv6() -> None:
    """There is no route to it, and none is missing."""
    (fact,) = routes(a_routed_world([a_pod_node(1, "fd00:10:244:1::/64")], routes=[])).destinations

    assert fact.why == "private networks have IPv4 alone, so that there is no route to it, and nothing depends on that"


def test_a_route_to_pods_that_goes() -> None:
    """Where the Node's own route is removed, its line says why as well."""
    found = EXPLANATIONS["routes_dead"].explanation
    assert isinstance(found, NodeExplanation)
    assert found.routes is not None
    (fact,) = found.routes.destinations

    assert ", and the route goes: " in fact.why


def test_a_route_that_another_one_is_in_the_way_of() -> None:
    """It is said which route has to go first."""
    dead = a_route("10.244.0.0/23", "10.0.0.99")
    (fact,) = routes(a_routed_world([a_pod_node(says=None)], [a_pod_server()], [dead], members=[])).destinations

    assert fact.why.endswith("; comes once the route to 10.244.0.0/23 is gone")


@pytest.mark.parametrize("says", [None, OTHER])
def test_nothing_is_told_while_routes_are_switched_off(says: NetworkCondition | None) -> None:
    """Who uses no routes reads nothing of them."""
    assert explained(a_routed_world([a_pod_node(says=says)]), OFF).routes is None


def test_the_route_of_an_ignored_node_is_left_alone() -> None:
    """Its pod CIDRs are told with the routes that are there."""
    (fact,) = routes(a_routed_world([a_pod_node(labels={"lab": "yes"})]), IGNORING).destinations

    assert (fact.standing, fact.fate, fact.value, fact.wanted) == (None, RouteAction.CLAIMED, fact.wanted, fact.value)
    assert fact.why == "ignored by --ignore-nodes"


_STATES: Mapping[NetworkCondition | None, str | None] = {
    ROUTED: "False (RouteCreated)",
    UNROUTED: "True (NoRouteCreated)",
    OTHER: "False (CalicoIsUp)",
    None: None,
}


@pytest.mark.parametrize(
    ("world", "settings", "wanted", "rule", "source"),
    [
        pytest.param(
            a_routed_world(),
            ROUTING,
            ROUTED,
            Basis.ROUTES,
            "there is a route for each of its IPv4 pod CIDRs",
            id="as it should be",
        ),
        pytest.param(
            a_routed_world([a_pod_node(says=OTHER)]),
            ROUTING,
            ROUTED,
            Basis.ROUTES,
            "there is a route for each of its IPv4 pod CIDRs",
            id="another's word",
        ),
        pytest.param(
            a_routed_world([a_pod_node(says=None)], routes=[]),
            ROUTING,
            ROUTED,
            Basis.ROUTES,
            "there will be a route for each of its IPv4 pod CIDRs; written once the routes are there",
            id="comes with its route",
        ),
        pytest.param(
            a_routed_world(routes=[]),
            ROUTING,
            ROUTED,
            Basis.ROUTES,
            "there will be a route for each of its IPv4 pod CIDRs",
            id="stays while its route comes back",
        ),
        pytest.param(
            a_routed_world([a_pod_node(1, "fd00::/64", says=UNROUTED)]),
            ROUTING,
            None,
            Basis.ROUTES,
            "its pods have IPv6 addresses alone, for which there are no routes",
            id="IPv6 alone",
        ),
        pytest.param(
            a_routed_world([a_pod_node(1, "fd00::/64", says=None)]),
            ROUTING,
            None,
            Basis.UNTOUCHED,
            "its pods have IPv6 addresses alone, for which there are no routes",
            id="IPv6 alone, and nothing to take back",
        ),
        pytest.param(
            a_routed_world([a_pod_node(pod_cidrs=())], routes=[]),
            ROUTING,
            ROUTED,
            Basis.UNTOUCHED,
            "the Node has no pod CIDR yet",
            id="no pods yet",
        ),
        pytest.param(
            a_routed_world(routes=[a_route(1, "10.0.0.77")]),
            ROUTING,
            ROUTED,
            Basis.UNTOUCHED,
            "the owner of 10.0.0.77 was not asked for",
            id="too little is known",
        ),
        pytest.param(
            a_routed_world(), OFF, None, Basis.ROUTES, "routes are switched off", id="switched off, and taken back"
        ),
        pytest.param(
            a_routed_world([a_pod_node(provider_id="aws://1")], routes=[]),
            OFF,
            ROUTED,
            Basis.UNTOUCHED,
            "not managed: the Node is foreign",
            id="switched off, and another cloud's",
        ),
        pytest.param(
            a_routed_world(),
            LEFT_OUT,
            ROUTED,
            Basis.UNTOUCHED,
            "not managed: --controllers leaves route out",
            id="left to others",
        ),
    ],
)
def test_the_condition(
    world: Snapshot, settings: Settings, wanted: NetworkCondition | None, rule: Basis, source: str
) -> None:
    """It is told as it stands and as it should be, with what decides on it."""
    there = world.nodes.items["web-1"].condition(CONDITION_NETWORK)
    value = _STATES[NetworkCondition(there.status, there.reason) if there else None]

    assert condition(world, settings) == Fact(CONDITION_NETWORK, value, _STATES[wanted], rule, source)


@pytest.mark.parametrize(
    ("world", "settings", "expected"),
    [
        pytest.param(
            a_routed_world([a_pod_node(says=OTHER)]),
            OFF,
            Fact(CONDITION_NETWORK, "False", "False", Basis.FOREIGN, "not ours, left alone"),
            id="somebody else's, and routes switched off",
        ),
        pytest.param(
            a_routed_world([a_pod_node(says=OTHER, pod_cidrs=())], routes=[]),
            ROUTING,
            Fact(CONDITION_NETWORK, "False", "False", Basis.FOREIGN, "not ours, left alone"),
            id="somebody else's, and no pods",
        ),
        pytest.param(a_routed_world([a_pod_node(says=None)]), OFF, None, id="nobody's"),
        pytest.param(
            a_routed_world([a_pod_node(says=None, provider_id="aws://1")], routes=[]), ROUTING, None, id="another cloud"
        ),
    ],
)
def test_a_condition_that_routes_have_no_say_in(world: Snapshot, settings: Settings, expected: Fact | None) -> None:
    """It is told as every other condition, or not at all where there is none."""
    assert condition(world, settings) == expected


def test_a_condition_without_a_reason() -> None:
    """What has no reason is told by its status."""
    node = a_pod_node(says=None, conditions=(Condition(CONDITION_NETWORK, "Unknown"),))
    fact = condition(a_routed_world([node]))

    assert fact is not None
    assert (fact.value, fact.wanted) == ("Unknown", "False (RouteCreated)")
