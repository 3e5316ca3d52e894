"""The second look: which servers are asked for by id, how often, and what the snapshot says of them afterwards."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actuators.clients.hetzner import HetznerReader
from actuators.errors import NotFound
from desired.change import Note, NoteKind
from desired.diff import compute_plan
from desired.section import Absent, Unknown
from desired.settings import Settings
from desired.snapshot import Node, Snapshot
from reconciler.observe.confirm import MOST_PER_PASS, Confirmer
from tests.builders import NOW, a_joining_node, a_lost_node, a_server, a_settled_node, a_snapshot
from tests.support.objects import server
from tests.support.simulators import Simulation

ANCHOR = a_settled_node("anchor", 200)
DOWN: dict[str, Any] = {"kind": "status", "code": 503, "body": "<html>"}


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """A project in which every server but one is gone."""
    return simulate(project={"servers": [server(200, "anchor")]})


def confirmer(sim: Simulation) -> Confirmer:
    """A new one, which asks each question with one request."""
    return Confirmer(HetznerReader(sim.hetzner_connection(read_only=True, attempts=1)))


def lacking(*server_ids: int, after_s: float = 0.0) -> Snapshot:
    """A world in which the Nodes of these servers are lost, read that much later than the first one."""
    lost = (a_lost_node(f"web-{server_id}", server_id) for server_id in server_ids)
    return a_snapshot([ANCHOR, *lost], [a_server(200, "anchor")], taken_at=NOW + timedelta(seconds=after_s))


def asked(sim: Simulation) -> set[int]:
    """Ids that were asked for since the last call, each of them once."""
    paths = [entry.path for entry in sim.sent_to_hetzner()]
    sim.hetzner_proxy.journal.clear()
    assert len(set(paths)) == len(paths)
    return {int(path.removeprefix("/v1/servers/")) for path in paths}


def test_nothing_to_ask(sim: Simulation) -> None:
    """A world in order costs no question, and stays what it was."""
    snapshot = lacking()

    assert confirmer(sim).confirm(snapshot, Settings()) == snapshot
    assert asked(sim) == set()


def test_a_server_that_is_gone(sim: Simulation) -> None:
    """The API's own word for it is written down, and nothing else of the snapshot changes."""
    snapshot = lacking(1)

    assert confirmer(sim).confirm(snapshot, Settings()) == replace(snapshot, confirmations={1: Absent()})
    assert asked(sim) == {1}


def test_a_server_is_never_asked_for_again_once_it_is_gone(sim: Simulation) -> None:
    """No id is given to a second server: absence stays known as long as somebody wants to know."""
    confirm = confirmer(sim).confirm

    for hours in range(5):
        found = confirm(lacking(1, after_s=3600.0 * hours), Settings())
        assert found.confirmations == {1: Absent()}

    assert asked(sim) == {1}


def test_ten_a_pass(sim: Simulation) -> None:
    """However many are gone, a pass asks for ten, those first that were silent first, and the next one goes on."""
    confirm = confirmer(sim).confirm
    snapshot = lacking(*range(1, 26))
    first = a_lost_node("web-25", 25, ready_since=NOW - timedelta(hours=1))
    snapshot = replace(snapshot, nodes=replace(snapshot.nodes, items={**snapshot.nodes.items, "web-25": first}))

    passes = [(confirm(snapshot, Settings()).confirmations, asked(sim)) for _ in range(4)]

    assert MOST_PER_PASS == 10
    assert [ids for _, ids in passes] == [{25, *range(1, 10)}, set(range(10, 20)), set(range(20, 25)), set()]
    assert [len(known) for known, _ in passes] == [10, 20, 25, 25]


def test_side_by_side() -> None:
    """The questions of a pass take as long as the slowest of them, not as all."""
    together = threading.Barrier(MOST_PER_PASS, timeout=5.0)

    class _Patient:
        """A reader that answers none of ten questions before it has heard them all."""

        def get(self, path: str) -> bytes:
            together.wait()
            raise NotFound(path)

    found = Confirmer(_Patient()).confirm(lacking(*range(1, 11)), Settings())  # type: ignore[arg-type]

    assert found.confirmations == dict.fromkeys(range(1, 11), Absent())


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"kind": "reset"}, id="no connection"),
        pytest.param(DOWN, id="down"),
        pytest.param({"kind": "status", "code": 401, "body": "<html>"}, id="a wrong token"),
        pytest.param({"kind": "status", "code": 429, "body": "<html>"}, id="throttled"),
        pytest.param({"kind": "status", "code": 404, "body": "<html>"}, id="a proxy's 404 is no absence"),
        pytest.param({"kind": "status", "code": 404, "body": {"detail": "no"}}, id="nor is another API's"),
        pytest.param({"kind": "status", "code": 200, "body": "<html>"}, id="a page of HTML"),
    ],
)
def test_an_answer_that_is_none(sim: Simulation, fault: dict[str, Any]) -> None:
    """Trouble is written down as such, raises nothing, and leaves the others' answers alone."""
    sim.spoil_hetzner(**fault, path="/v1/servers/1$", count=None)

    found = confirmer(sim).confirm(lacking(1, 2), Settings()).confirmations

    assert isinstance(found[1], Unknown)
    assert found[1].why.startswith("Hetzner ")
    assert found[2] == Absent()


def expect_backing_off(sim: Simulation, confirm: Callable[[Snapshot, Settings], Snapshot]) -> None:
    """Server 1 is asked for when each pause is over, and not a second before; the pauses double up to an hour."""
    due = 0.0
    for pause in (30, 60, 120, 240, 480, 960, 1920, 3600, 3600):
        confirm(lacking(1, after_s=due), Settings())
        assert asked(sim) == {1}, due
        due += pause
        confirm(lacking(1, after_s=due - 1), Settings())
        assert asked(sim) == set(), due


def test_failures_back_off(sim: Simulation) -> None:
    """What could not be told is asked again after half a minute, then after twice as long, at most an hour."""
    sim.spoil_hetzner(**DOWN, count=None)

    expect_backing_off(sim, confirmer(sim).confirm)


def test_contradictions_back_off(sim: Simulation) -> None:
    """What the list lacks and the id finds is asked again as seldom as a failure."""
    sim.hetzner.replace_world({"servers": [server(1, "web-1")]})

    expect_backing_off(sim, confirmer(sim).confirm)


def test_a_failure_is_remembered_until_it_is_asked_again(sim: Simulation) -> None:
    """In between the snapshot says what was said last, and afterwards what is said now."""
    sim.spoil_hetzner(**DOWN)
    confirm = confirmer(sim).confirm

    answers = [confirm(lacking(1, after_s=after_s), Settings()).confirmations[1] for after_s in (0, 29, 30)]

    assert [type(answer) for answer in answers] == [Unknown, Unknown, Absent]
    assert answers[0] == answers[1]


def test_what_was_never_asked_goes_first(sim: Simulation) -> None:
    """Those that failed do not keep the others from ever having their turn."""
    sim.spoil_hetzner(**DOWN, count=None)
    confirm = confirmer(sim).confirm

    confirm(lacking(*range(1, 13)), Settings())
    assert asked(sim) == set(range(1, 11))
    confirm(lacking(*range(1, 13), after_s=30), Settings())
    assert asked(sim) == {11, 12, *range(1, 9)}


def test_the_list_against_the_id(sim: Simulation) -> None:
    """A server that the list lacks and the id finds is neither there nor absent: nothing is decided on it."""
    sim.hetzner.replace_world({"servers": [server(1, "renamed")]})

    found = confirmer(sim).confirm(lacking(1), Settings())

    assert found.servers.find(1) == Unknown("the list of servers lacks 1, and a GET by its id finds it")
    assert found.servers.complete
    assert found.confirmations == {}
    assert compute_plan(found, Settings()).changes == ()


def joining_beside(lost: Node) -> Snapshot:
    """A Node that joins as one of the servers that were listed, beside a lost one."""
    servers = [a_server(200, "anchor"), a_server(9, "web-9")]
    return a_snapshot([ANCHOR, lost, a_joining_node("web-9")], servers)


@pytest.mark.parametrize(
    ("name", "joins"), [pytest.param("web-9", False, id="the same name"), pytest.param("other", True, id="another")]
)
def test_the_name_of_a_contradiction_is_in_doubt(sim: Simulation, name: str, joins: bool) -> None:
    """A Node that joins by its name waits while a server that the list lacks may be the one."""
    sim.hetzner.replace_world({"servers": [server(1, name)]})

    plan = compute_plan(confirmer(sim).confirm(joining_beside(a_lost_node()), Settings()), Settings())

    assert [change.key for change in plan.changes] == ["node/web-9"] * joins
    waits = Note("node/web-9", NoteKind.UNKNOWN, "server 1 could not be read and may be the one")
    assert (waits in plan.notes) is not joins


def test_what_nobody_wants_to_know_is_forgotten(sim: Simulation) -> None:
    """A Node that was there in between is a new case: it is asked for at once, and its pauses begin anew."""
    sim.spoil_hetzner(**DOWN, count=None)
    confirm = confirmer(sim).confirm

    def is_asked(*server_ids: int, after_s: float) -> bool:
        confirm(lacking(*server_ids, after_s=after_s), Settings())
        return asked(sim) == {1}

    assert [is_asked(1, after_s=after_s) for after_s in (0, 30, 60)] == [True, True, False]
    assert not is_asked(after_s=61)
    assert [is_asked(1, after_s=after_s) for after_s in (62, 91, 92)] == [True, False, True]
