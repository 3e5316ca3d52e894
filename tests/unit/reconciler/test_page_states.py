"""The states of Services and Nodes on the page: in which order, what is folded, and what stands beside."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from desired.health.state import AnyState, ObjectState, PortHealth, States
from desired.health.state import NodeState as N
from desired.health.state import ServiceState as S
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import Health, ServerTarget
from desired.model.settings import Settings
from desired.model.snapshot import Network, Snapshot
from desired.section import Absent, Present, Unknown
from reconciler.page.bands import Band, bands_of, counts_of_states
from reconciler.page.map import NodeRow, ServiceRow, map_of
from reconciler.page.map import State as Shade
from reconciler.page.page import document_of, network_of, page_of, ports_of, same, targets_of
from reconciler.page.picture import drawing_of
from reconciler.report.folding import LEAST
from reconciler.result import Report
from tests.balancers import NETWORK, a_balancer, a_listener, a_served_service, a_world
from tests.builders import NOW, a_server, a_settled_node
from tests.support.judging import decided
from tests.support.pages import Element, read_page


def a_row(name: str, state: AnyState | None, why: str = "why") -> ServiceRow:
    """A Service in this state; None: one of which nothing was decided."""
    key = Key(ObjectKind.SERVICE, f"default/{name}")
    return ServiceRow(key, None, health=ObjectState(key, state, why) if state else None)


def shown(bands: Iterable[Band]) -> list[tuple[str, list[str]]]:
    """Anchor of each fold, and the names in it."""
    return [(band.name, [row.key.name.removeprefix("default/") for row in band.rows if row.key]) for band in bands]


def test_worst_first_and_what_is_well_is_folded() -> None:
    """Nobody scrolls past what serves to what is down; even one that is well is a line."""
    rows = [a_row("a", S.SERVING), a_row("b", S.WAITING), a_row("c", None), a_row("d", S.DOWN), a_row("e", S.BLOCKED)]

    assert shown(bands_of(rows, "x")) == [("", ["d", "e", "b"]), ("x/serving", ["a"]), ("x/left alone", ["c"])]
    assert [(count, word, tone) for word, tone, count, _ in counts_of_states(rows)] == [
        (1, "down", "bad"),
        (1, "blocked", "warning"),
        (1, "waiting", "busy"),
        (1, "serving", "good"),
        (1, "left alone", "dim"),
    ]


@pytest.mark.parametrize("count", [LEAST - 1, LEAST])
def test_five_for_one_reason_are_a_line(count: int) -> None:
    """That has the reason; who is down for another one stands alone before it."""
    many = [a_row(f"a{number}", S.DOWN, "no target") for number in range(count)]
    bands = list(bands_of([*many, a_row("b", S.DOWN, "no way")], "x"))

    alike = [row.key.name.removeprefix("default/") for row in many if row.key]
    if count < LEAST:
        assert shown(bands) == [("", [*alike, "b"])]
    else:
        assert shown(bands) == [("", ["b"]), ("x/down/service/default/a0", alike)]
        assert [band.why for band in bands] == ["", "no target"]


def test_what_passes_by_itself_is_folded_whatever_its_reason() -> None:
    """A hundred Nodes that change, each on a server of its own, are a line, after those that do something else."""
    keys = [Key(ObjectKind.NODE, f"w-{number}") for number in range(LEAST)]
    health = [ObjectState(key, N.CHANGING, f"{key.name}; 1 change planned") for key in keys]
    health.append(ObjectState(Key(ObjectKind.NODE, "x"), N.JOINING, "waits"))
    some = map_of(decided(Report(snapshot=_world()))).nodes[0]
    rows: list[NodeRow] = [replace(some, key=each.key, health=each) for each in health]

    assert shown(bands_of(rows, "n")) == [("", ["x"]), ("n/changing", [key.name for key in keys])]


def test_a_row_says_state_since_when_and_why() -> None:
    """How long by the time of the reading; the day only where it was another."""
    for since, said in (
        (NOW - timedelta(minutes=7), "down for 7 min, since 2026-07-01 11:53 UTC"),
        (NOW - timedelta(days=3), "down for 72 h, since 2026-06-28 12:00 UTC"),
        (NOW + timedelta(minutes=1), "down for 0 s, since 2026-07-01 12:01 UTC"),
        (None, "down"),
    ):
        row = _page(_report(S.DOWN, since=since)).by_id("service/default/web")
        page = _page(_report(S.DOWN, since=since)).by_id("states")
        (state,) = [each for each in page.named("td") if each.attributes.get("data-label") == "state"][:1]
        assert state.text == f"{said}port 80: 0 of 1 healthy", since
        assert row.text == "default/web"


def test_sections_in_the_order_of_an_operator() -> None:
    """What is comes before what is done about it, and nothing has a section of its own."""
    sections = [section.name for section in page_of(_report(S.DOWN)).sections]

    assert sections == ["states", "map"]
    assert page_of(Report()).sections == ()


def test_many_ports_are_folded() -> None:
    """Thirty are a line that says how many fail; the numbers stand in it."""
    health = tuple(PortHealth(port, int(port != 8007), int(port == 8007), 1) for port in range(8000, 8030))
    report = _report(S.DOWN, ports=health)
    fold = _page(report).by_id("ports/service/default/web")

    assert fold.named("summary")[0].text == "30 ports, 1 failing"
    assert "8007 to 30080 0/1" in fold.text
    assert len(ports_of(map_of(report).services[0])) == 30


def test_targets_are_told_by_their_health() -> None:
    """``healthy`` and ``planned`` stand once, whatever leads there."""
    (row,) = map_of(_report(S.DEGRADED, targets=3, dead=(2,))).services

    assert row.balancer is not None
    assert targets_of(row.balancer) == [("", "2 healthy", "web-1, web-3"), ("", "1 unhealthy", "web-2")]


@pytest.mark.parametrize(
    ("values", "said"), [(["lb11"], ""), (["lb11", "lb11"], "lb11"), (["lb11", "lb21"], ""), ([], "")]
)
def test_what_all_have_is_said_once(values: list[str], said: str) -> None:
    """Above them; of one it stands where it always does."""
    assert same(values) == said


@pytest.mark.parametrize(
    ("state", "shade"),
    [(S.DOWN, Shade.BAD), (S.BLOCKED, Shade.WARNING), (S.WAITING, None), (S.SERVING, Shade.OK)],
)
def test_the_picture_has_the_colors_of_the_states(state: S, shade: Shade | None) -> None:
    """A Service that is down is red with its load balancer, which was neutral grey."""
    service, balancer, node, _ = drawing_of(map_of(_report(state))).columns

    assert service[0].state is shade
    assert balancer[0].state is (shade or Shade.OK)
    assert node[0].state is Shade.OK
    assert [text for text in service[0].texts if text.startswith(("down", "blocked"))] == (
        [f"{state}: port 80: 0 of 1 healthy"] if shade in (Shade.BAD, Shade.WARNING) else []
    )


def test_nodes_without_a_pod_are_no_trouble() -> None:
    """With ``externalTrafficPolicy: Local`` all but those with a pod fail by design: nothing of it is red."""
    ports = (PortHealth(80, 1, 1, 2, is_local=True),)
    world = map_of(_report(S.SERVING, targets=2, dead=(2,), ports=ports))
    drawing = drawing_of(world)

    assert world.services[0].balancer is not None
    assert world.services[0].balancer.health == "1 healthy, 1 without a pod"
    shades = {box.state for column in drawing.columns for box in column} | {edge.state for edge in drawing.edges}
    assert Shade.BAD not in shades


def test_the_head_names_context_and_network() -> None:
    """Nobody knows a cluster by its UUID."""
    settings = Settings(network="private")
    cases: list[tuple[Present[Network | None] | Absent | Unknown, str]] = [
        (Present(NETWORK), "private (7)"),
        (Absent(), "private, not found"),
        (Unknown("no answer"), "private, not read"),
        (Present(None), ""),
    ]
    for found, said in cases:
        report = Report(snapshot=replace(_world(), network=found), settings=settings, context="prod")
        facts = _page(report).by_id("facts").text
        assert "Contextprod" in facts
        assert network_of(report) == said
        assert ("Network" in facts) is bool(said)


def _world(targets: int = 1, dead: Iterable[int] = (), ports: Iterable[int] = (80,)) -> Snapshot:
    members = [ServerTarget(number, use_private_ip=False) for number in range(1, targets + 1)]
    said = {each: Health.UNHEALTHY if each.server_id in dead else Health.HEALTHY for each in members}
    balancer = a_balancer(targets=members, health=said, listeners=[a_listener(port) for port in ports])
    nodes = [a_settled_node(f"web-{number}", number) for number in range(1, targets + 1)]
    servers = [a_server(number, f"web-{number}") for number in range(1, targets + 1)]
    return a_world([a_served_service()], [balancer], nodes=nodes, servers=servers)


def _report(
    state: S,
    *,
    targets: int = 1,
    dead: Iterable[int] = (),
    ports: tuple[PortHealth, ...] = (),
    since: datetime | None = None,
) -> Report:
    """A report of one Service in this state, whose Nodes are in sync."""
    world = _world(targets, dead, [port.port for port in ports] or (80,))
    key = Key(ObjectKind.SERVICE, "default/web")
    service = ObjectState(key, state, "port 80: 0 of 1 healthy", since, ports)
    nodes = tuple(ObjectState(node.key, N.IN_SYNC, "server") for node in world.nodes)
    return replace(decided(Report(snapshot=world)), states=States((service,), nodes))


def _page(report: Report) -> Element:
    return read_page(document_of(page_of(report)).file())
