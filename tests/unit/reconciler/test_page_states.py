"""The states of Services and Nodes on the page: their order, the fold, and the columns beside."""

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
from reconciler.page.map import ServiceRow, map_of
from reconciler.page.page import (
    by_state,
    counts_of_states,
    document_of,
    network_of,
    page_of,
    ports_of,
    same,
    targets_of,
)
from reconciler.result import Report
from tests.balancers import NETWORK, a_balancer, a_listener, a_served_service, a_world
from tests.builders import NOW, a_server, a_settled_node
from tests.support.judging import decided
from tests.support.pages import Element, read_page


def a_row(name: str, state: AnyState | None) -> ServiceRow:
    """A Service in this state; None: one without a decision."""
    key = Key(ObjectKind.SERVICE, f"default/{name}")
    return ServiceRow(key, None, health=ObjectState(key, state, "why") if state else None)


def test_worst_first() -> None:
    """Rows without trouble are folded; a load balancer without a Service is not among them."""
    alone = ServiceRow(None, map_of(_report(S.DOWN)).services[0].balancer)
    rows = [a_row("a", S.SERVING), a_row("b", S.WAITING), a_row("c", None), a_row("d", S.DOWN), a_row("e", S.BLOCKED)]
    ill, well = by_state([*rows, alone])

    assert counts_of_states(ill + well) == [
        ("down", "bad", 1),
        ("blocked", "warning", 1),
        ("waiting", "busy", 1),
        ("without a Service", "dim", 1),
        ("serving", "good", 1),
        ("left alone", "dim", 1),
    ]
    assert [row.word for row in well] == ["serving", "left alone"]


def test_a_row_says_state_since_when_and_why() -> None:
    """The age is that at the time of the reading."""
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


def test_sections() -> None:
    """A section without content is left out."""
    assert [section.name for section in page_of(_report(S.DOWN)).sections] == ["states"]
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
    (row,) = map_of(_report(S.DEGRADED, targets=3, dead=(2,))).services

    assert row.balancer is not None
    assert targets_of(row.balancer) == [("", "2 healthy", "web-1, web-3"), ("", "1 unhealthy", "web-2")]


@pytest.mark.parametrize(
    ("values", "said"), [(["lb11"], ""), (["lb11", "lb11"], "lb11"), (["lb11", "lb21"], ""), ([], "")]
)
def test_a_common_value_is_said_once(values: list[str], said: str) -> None:
    assert same(values) == said


def test_nodes_without_a_pod_are_no_trouble() -> None:
    """With ``externalTrafficPolicy: Local`` all but those with a pod fail by design."""
    ports = (PortHealth(80, 1, 1, 2, is_local=True),)
    (row,) = map_of(_report(S.SERVING, targets=2, dead=(2,), ports=ports)).services

    assert row.balancer is not None
    assert row.balancer.health == "1 healthy, 1 without a pod"


def test_the_head_names_context_and_network() -> None:
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
