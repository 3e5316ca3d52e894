"""The map of the page: what leads where, as rows."""

from dataclasses import replace
from ipaddress import IPv4Address

from desired.annotations.claims import ClaimedPort
from desired.model.load_balancer import Health, IpTarget, ServerTarget
from desired.model.snapshot import Readiness
from desired.plan.kinds import ChangeKind, Verb
from desired.planner import compute_plan
from desired.section import Present
from reconciler.page.map import State, TargetRow, WorldMap, map_of
from reconciler.result import Line, Report
from tests.balancers import IN_NETWORK, NETWORK, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import a_change, a_server, a_settled_node, a_snapshot, incomplete, servers_of
from tests.support.judging import decided
from tests.support.scenarios import SCENARIOS


def mapped(report: Report) -> WorldMap:
    """The map of a report on a world on which all was decided."""
    return map_of(decided(report))


def a_map(count: int = 2, ill: tuple[int, ...] = (), services: int = 1) -> WorldMap:
    """Services whose load balancers lead to so many Nodes, of which these do not answer."""
    nodes = [a_settled_node(f"web-{number:03}", number) for number in range(1, count + 1)]
    servers = [a_server(number, f"web-{number:03}") for number in range(1, count + 1)]
    targets = tuple(ServerTarget(number, use_private_ip=False) for number in range(1, count + 1))
    health = {target: Health.UNHEALTHY if target.server_id in ill else Health.HEALTHY for target in targets}
    pairs = []
    for number in range(services):
        service = a_served_service(f"app-{number:03}", uid=f"uid-{number}")
        named = {"name": f"app-{number:03}"}
        balancer = a_balancer(100 + number, service_uid=service.uid, targets=targets, health=health, spec=named)
        pairs.append((service, balancer))
    world = a_world([one for one, _ in pairs], [other for _, other in pairs], nodes=nodes, servers=servers)
    return mapped(Report(snapshot=world))


def test_rows() -> None:
    """A Service, its load balancer with the health of each target, and the Nodes behind."""
    world = a_map(3, ill=(2,))

    (service,) = world.services
    assert service.key == "service/default/app-000"
    assert service.balancer is not None
    assert [(row.node, row.state, row.health) for row in service.balancer.targets] == [
        ("web-001", State.OK, "healthy"),
        ("web-002", State.BAD, "unhealthy"),
        ("web-003", State.OK, "healthy"),
    ]
    assert service.balancer.health == "2 healthy, 1 unhealthy"
    assert [(row.key.name, row.ready, row.server) for row in world.nodes] == [
        (f"web-00{number}", Readiness.TRUE, f"server {number}") for number in (1, 2, 3)
    ]


def test_what_is_planned_is_marked() -> None:
    """By the symbol of the plan: what comes, what changes in part, and what is held."""
    marks = {row.key: row.mark for row in map_of(SCENARIOS["held_by_blast_radius"]).nodes}

    assert marks == {"node/control-1": "", "node/web-1": "!", "node/web-2": "!"}


def test_a_service_without_load_balancer_says_why() -> None:
    world = mapped(Report(snapshot=a_world([a_service()], [])))

    assert [(row.key, row.balancer, row.why) for row in world.services] == [("service/default/web", None, "none yet")]


def test_nothing_was_read() -> None:
    assert map_of(Report(errors=("no answer",))) == WorldMap()


def test_a_change_without_object_is_no_trouble() -> None:
    """A planned removal of what was not read is in the plan, and nowhere on the map."""
    report = decided(Report(snapshot=a_world([], []), lines=(Line(a_change("node/gone")),)))

    assert [row.key for row in map_of(report).nodes if row.key == "node/gone"] == []


def test_a_node_without_its_server() -> None:
    """A server that is gone is told; of one that could not be read nothing is said."""
    node = a_settled_node("web-1", 7)

    for servers, told in ((servers_of(), "server 7 is gone"), (incomplete(servers_of()), "server 7")):
        (row,) = mapped(Report(snapshot=replace(a_snapshot([node]), servers=servers))).nodes
        assert row.shown_server == told


def test_a_load_balancer_that_comes_has_what_is_made_after_it() -> None:
    """Targets that wait for a chosen private address, and a port that waits for its certificate, are no part of the
    creation: the map showed neither."""
    claim = a_claim(
        ClaimedPort(443, "TCP", 30443),
        annotations=annotated(
            private_ipv4="10.0.0.9",
            use_private_ip="true",
            protocol="https",
            certificate_type="managed",
            http_managed_certificate_domains="shop.example.com",
        ),
    )
    world = a_world(
        [a_service(claim=claim)],
        [],
        nodes=[a_settled_node("web-1", 1)],
        servers=[a_server(1, private_ips=((7, IPv4Address("10.0.0.2")),))],
        network=Present(NETWORK),
        certificates=[],
    )
    lines = tuple(map(Line, compute_plan(world, IN_NETWORK).changes))

    (row,) = mapped(Report(snapshot=world, lines=lines, settings=IN_NETWORK)).services

    assert row.balancer is not None
    assert (row.balancer.id, row.balancer.addresses, row.balancer.mark) == (None, (), "+")
    assert row.balancer.ports == ("443 to 30443 (https)",)
    assert row.balancer.targets == (TargetRow("server:1", "web-1", State.PLANNED, "planned", "+"),)


def test_a_target_that_is_replaced_by_another_is_told_with_it() -> None:
    """The addresses of a dedicated server are targets of two names, of which a full load balancer has one at a time:
    the map showed the one that goes alone."""
    service = a_served_service()
    there, comes = IpTarget("192.0.2.1"), IpTarget("10.1.0.1")
    world = a_world([service], [a_balancer(targets=(there,), health={there: Health.HEALTHY})])
    key, sides = service.balancer_key.part("target", comes.name), {"before": there, "after": comes}
    change = a_change(key, ChangeKind.LB_TARGET, verb=Verb.MODIFY, cloud_id=42, **sides)

    (row,) = mapped(Report(snapshot=world, lines=(Line(change),))).services

    assert row.balancer is not None
    assert [(target.name, target.state, target.mark) for target in row.balancer.targets] == [
        ("ip:10.1.0.1", State.PLANNED, "~"),
        ("ip:192.0.2.1", State.OK, ""),
    ]
