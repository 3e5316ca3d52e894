"""The map of the page: what leads where, as rows and as a picture, and what of it folds."""

from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from desired.annotations.claims import ClaimedPort
from desired.health.state import ObjectState, ServiceState, States
from desired.model.key import Key
from desired.model.load_balancer import Health, IpTarget, ServerTarget
from desired.model.snapshot import Readiness
from desired.plan.kinds import ChangeKind, Verb
from desired.planner import compute_plan
from desired.section import Present
from reconciler.page.map import ServiceRow, State, TargetRow, WorldMap, map_of
from reconciler.page.page import Page, document_of
from reconciler.page.picture import NODES, drawing_of, fitted
from reconciler.report.view import view_of
from reconciler.result import Line, Report, Result
from tests.balancers import IN_NETWORK, NETWORK, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import a_change, a_server, a_settled_node, a_snapshot, incomplete, servers_of
from tests.support.judging import decided
from tests.support.pages import read_page
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


def test_many_alike_are_one_box() -> None:
    """Four hundred Nodes behind sixty load balancers are read at a glance; what does not answer stands alone."""
    drawing = drawing_of(a_map(400, ill=(7,), services=60))

    assert [box.texts[0] for column in drawing.columns for box in column] == [
        "60 Services",
        "60 load balancers",
        "ok 399 Nodes",
        "!! web-007",
    ]
    assert [len(column) for column in drawing.columns] == [1, 1, 2, 0]
    assert [box.state for box in drawing.columns[2]] == [State.OK, State.BAD]
    assert [edge.state for edge in drawing.edges] == [None, State.OK, State.BAD]


def test_targets_that_fail_alike_are_one_box() -> None:
    """As where a port of one Service is silent on all of a hundred Nodes, which are well themselves."""
    (box,) = drawing_of(a_map(100, ill=tuple(range(1, 101)))).columns[2]

    assert box.texts[0] == "!! 100 Nodes"


def test_four_alike_are_four_boxes() -> None:
    drawing = drawing_of(a_map(4, services=4))

    assert [len(column) for column in drawing.columns] == [4, 4, 4, 0]


@pytest.mark.parametrize("count", [NODES, NODES + 30])
def test_what_is_not_alike_is_drawn_or_counted(count: int) -> None:
    """Where each Node is behind a load balancer of its own, so many are drawn, first what somebody should look at."""
    ill = count - 1
    rows = [row for number in range(count) for row in _one_of(a_map(count), number, ill)]
    drawing = drawing_of(replace(a_map(count), services=tuple(rows)))
    first, second, third, _ = drawing.columns

    assert len(first) == len(second) == NODES + (count > NODES)  # those behind the Nodes that are counted are alike
    assert [box.texts[0] for box in third[NODES:]] == [f"{count - NODES} more Nodes"] * (count > NODES)
    assert any(box.texts[0].startswith("!! ") for box in third)
    assert [edge.state for edge in drawing.edges].count(State.BAD) == 1


def test_targets_that_are_no_nodes_are_drawn_or_counted() -> None:
    """First those that do not answer; the others are not left out without a word."""
    world = a_map(1)
    (row,) = world.services
    assert row.balancer is not None
    last = NODES + 9
    targets = tuple(
        TargetRow(f"ip:10.0.0.{number}", None, State.BAD if number == last else State.OK, "")
        for number in range(last + 1)
    )
    drawing = drawing_of(replace(world, services=(replace(row, balancer=replace(row.balancer, targets=targets)),)))

    strangers = [box for box in drawing.columns[2] if "no Node" in box.texts[1]]
    assert len(strangers) == NODES + 1
    assert f"!! ip:10.0.0.{last}" in [box.texts[0] for box in strangers]
    assert (strangers[-1].texts[0], strangers[-1].state) == ("10 more targets", State.OK)
    ends = {edge.end for edge in drawing.edges if edge.start == row.balancer.key}
    assert ends == {box.name for box in strangers}


def _one_of(world: WorldMap, number: int, ill: int) -> list[ServiceRow]:
    """A Service whose load balancer leads to the Node of this number alone."""
    (row,) = world.services
    assert row.key is not None
    assert row.balancer is not None
    target = replace(row.balancer.targets[number], state=State.BAD if number == ill else State.OK)
    key, name = Key(row.key.kind, f"default/x{number}"), f"x{number}"
    balancer = replace(row.balancer, key=row.balancer.key.part(name), name=name, targets=(target,))
    return [replace(row, key=key, balancer=balancer)]


def test_the_picture() -> None:
    """Each box has its texts within, and a line for each pair of boxes; its words stand in the table as well."""
    world = a_map(3, ill=(2,))
    page = Page(view_of(Report()), Result.NO_CHANGES, world)
    picture = read_page(document_of(page).file()).by_id("map/picture")

    assert "!! web-002" in picture.text
    assert len([path for path in picture.named("path") if "edge" in (path.attributes["class"] or "")]) == 4
    for group in picture.named("g"):
        frames = [child for child in group.children if not isinstance(child, str) and child.name == "rect"]
        for frame in frames:
            left, top = float(frame.attributes["x"] or 0), float(frame.attributes["y"] or 0)
            for text in group.named("text"):
                assert left < float(text.attributes["x"] or 0)
                assert top < float(text.attributes["y"] or 0) < top + float(frame.attributes["height"] or 0)


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [
        ("web-1", 5, "web-1"),
        ("web-10", 5, "web-…"),
        ("日本語", 5, "日本…"),
        ("日本", 4, "日本"),
        ("", 3, ""),
        ("x" * 253, 9, "xxxxxxxx…"),
    ],
)
def test_names_are_cut_to_the_room(text: str, room: int, cut: str) -> None:
    assert fitted(text, room) == cut


def test_a_change_without_object_is_no_trouble() -> None:
    """A planned removal of what was not read is in the plan, and nowhere on the map."""
    report = decided(Report(snapshot=a_world([], []), lines=(Line(a_change("node/gone")),)))

    assert [row.key for row in map_of(report).nodes if row.key == "node/gone"] == []


def test_a_service_that_needs_a_person_says_so() -> None:
    """``none yet`` alone would read as if waiting helped."""
    service = a_service()
    health = ObjectState(service.key, ServiceState.BLOCKED, "no such type")
    report = decided(Report(snapshot=a_world([service], []), states=States((health,))))

    (box,) = drawing_of(map_of(report)).columns[0]

    assert (box.texts, box.state) == (("default/web", "blocked: no such type"), State.WARNING)


def test_a_node_whose_server_is_gone_says_so() -> None:
    """Rather than naming a server that nobody has; of one that could not be read nothing is said."""
    node = a_settled_node("web-1", 7)

    for servers, told in ((servers_of(), "server 7 is gone"), (incomplete(servers_of()), "server 7 cpx32")):
        world = mapped(Report(snapshot=replace(a_snapshot([node]), servers=servers)))
        (box,) = drawing_of(world).columns[2]
        assert box.texts[1] == told


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
