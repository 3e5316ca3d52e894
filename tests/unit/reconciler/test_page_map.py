"""The map of the page: what leads where, as rows and as a picture, and what of it folds."""

import pytest

from desired.model.load_balancer import Health, ServerTarget
from desired.model.snapshot import Readiness
from reconciler.report.page.drawing import NODES, SERVICES, draw_map, fitted, plan_drawing
from reconciler.report.page.world_map import State, WorldMap, map_of
from reconciler.result import Line, Report
from tests.balancers import a_balancer, a_served_service, a_service, a_world
from tests.builders import a_change, a_server, a_settled_node
from tests.support.pages import read_page
from tests.support.scenarios import SCENARIOS


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
    return map_of(Report(snapshot=world))


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
    """Rather than being left out."""
    world = map_of(Report(snapshot=a_world([a_service()], [])))

    assert [(row.key, row.balancer, row.why) for row in world.services] == [("service/default/web", None, "none yet")]


def test_nothing_was_read() -> None:
    """Then there is no map, and nothing breaks."""
    assert map_of(Report(errors=("no answer",))) == WorldMap()


@pytest.mark.parametrize(("count", "services"), [(NODES, SERVICES), (NODES + 30, SERVICES + 20), (400, 3)])
def test_a_large_map_folds(count: int, services: int) -> None:
    """What is fine gives way to one box with its count. Each Service and Node is drawn, or counted."""
    drawing = plan_drawing(a_map(count, services=services))
    first, second, third, _ = drawing.columns

    assert len(first) == min(services, SERVICES) + bool(drawing.folded_services)
    assert len(second) == min(services, SERVICES)
    assert drawing.folded_services == max(0, services - SERVICES)
    assert len(third) == min(count, NODES) + bool(drawing.folded_nodes)
    assert drawing.folded_nodes == max(0, count - NODES)
    if drawing.folded_nodes:
        assert third[-1].texts == (f"{count - NODES} more Nodes", f"{count - NODES} healthy")


def test_what_is_ill_is_drawn_first() -> None:
    """However late in the alphabet."""
    drawing = plan_drawing(a_map(300, ill=(299, 300)))

    names = [box.name for box in drawing.columns[2]]
    assert {"node/web-299", "node/web-300"} <= set(names)
    assert {edge.end for edge in drawing.edges if edge.state is State.BAD} == {"node/web-299", "node/web-300"}


def test_the_picture() -> None:
    """Each box has its texts within, and a line for each pair of boxes; its words stand in the table as well."""
    world = a_map(3, ill=(2,))
    picture = read_page(draw_map(world))

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
    """By columns, as wide characters take two."""
    assert fitted(text, room) == cut


def test_a_change_without_object_is_no_trouble() -> None:
    """A planned removal of what was not read is in the plan, and nowhere on the map."""
    report = Report(snapshot=a_world([], []), lines=(Line(a_change("node/gone")),))

    assert [row.key for row in map_of(report).nodes if row.key == "node/gone"] == []
