"""The second look: which servers are asked for by id, how often, and what the snapshot says of them afterwards."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from actuators.concurrency import THREADS
from actuators.http.errors import NotFound
from actuators.http.hetzner import HetznerReader
from desired.model.settings import Settings
from desired.model.snapshot import Server, Snapshot
from desired.planner import compute_plan
from desired.section import Absent, Unknown
from reconciler.observe.servers_by_id import MOST_AT_ONCE, Confirmer
from reconciler.passes import judging
from tests.builders import (
    NOW,
    a_joining_node,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.support.objects import server
from tests.support.rows import rows
from tests.support.simulators import Simulation

ANCHOR = a_settled_node("anchor", 200)
DOWN: dict[str, Any] = {"kind": "status", "code": 503, "body": "<html>"}


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    return simulate(project={"servers": [server(200, "anchor")]})


def confirmed(made: Confirmer, snapshot: Snapshot, settings: Settings, most: int = MOST_AT_ONCE) -> Snapshot:
    """The world with what is known of the servers on whose absence its plan rests."""
    return judging.confirmed(made, compute_plan(snapshot, settings), snapshot, settings, most)


def confirmer(sim: Simulation) -> Confirmer:
    return Confirmer(HetznerReader(sim.hetzner_connection(read_only=True, attempts=1)))


def lacking(*server_ids: int, after_s: float = 0.0) -> Snapshot:
    """A world in which the Nodes of these servers are lost, read that much later than the first one."""
    lost = (a_lost_node(f"web-{server_id}", server_id) for server_id in server_ids)
    return a_snapshot([ANCHOR, *lost], [a_server(200, "anchor")], taken_at=NOW + timedelta(seconds=after_s))


def asked(sim: Simulation) -> set[int]:
    paths = [entry.path for entry in sim.sent_to_hetzner()]
    sim.hetzner_proxy.journal.clear()
    assert len(set(paths)) == len(paths)
    return {int(path.removeprefix("/v1/servers/")) for path in paths}


def test_nothing_to_ask(sim: Simulation) -> None:
    """A world in order costs no question, and stays what it was."""
    snapshot = lacking()

    assert confirmed(confirmer(sim), snapshot, Settings()) == snapshot
    assert asked(sim) == set()


def test_a_server_that_is_gone(sim: Simulation) -> None:
    """The API's own word for it is written down, and nothing else of the snapshot changes."""
    snapshot = lacking(1)

    assert confirmed(confirmer(sim), snapshot, Settings()) == replace(snapshot, confirmations={1: Absent()})
    assert asked(sim) == {1}


def test_ten_a_pass(sim: Simulation) -> None:
    """However many are gone, a pass asks for ten, those first that were silent first, and the next one goes on."""
    confirm = partial(confirmed, confirmer(sim))
    snapshot = lacking(*range(1, 26))
    first = a_lost_node("web-25", 25, ready_since=NOW - timedelta(hours=1))
    snapshot = replace(snapshot, nodes=replace(snapshot.nodes, items={**snapshot.nodes.items, "web-25": first}))

    passes = [(confirm(snapshot, Settings()).confirmations, asked(sim)) for _ in range(4)]

    assert MOST_AT_ONCE == 10
    assert [ids for _, ids in passes] == [{25, *range(1, 10)}, set(range(10, 20)), set(range(20, 25)), set()]
    assert [len(known) for known, _ in passes] == [10, 20, 25, 25]


def test_side_by_side() -> None:
    """The questions of a pass take as long as the slowest of them, not as all."""
    together = threading.Barrier(MOST_AT_ONCE, timeout=60.0)

    class _Patient:
        """A reader that answers none of ten questions before it has heard them all."""

        concurrency = THREADS

        def get(self, path: str) -> bytes:
            together.wait()
            raise NotFound(path)

    found = confirmed(Confirmer(_Patient()), lacking(*range(1, 11)), Settings())  # type: ignore[arg-type]

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

    found = confirmed(confirmer(sim), lacking(1, 2), Settings()).confirmations

    assert isinstance(found[1], Unknown)
    assert found[1].why.startswith("Hetzner ")
    assert found[2] == Absent()


def pauses_of(sim: Simulation, until_s: float) -> list[float]:
    """The seconds between one question for server 1 and the next, when there is a pass every ten seconds."""
    confirm, times = partial(confirmed, confirmer(sim)), []
    for after_s in range(0, int(until_s), 10):
        confirm(lacking(1, after_s=after_s), Settings())
        if asked(sim) == {1}:
            times.append(after_s)
    return [later - earlier for earlier, later in pairwise(times)]


UP_TO_TEN_MINUTES = [30, 60, 120, 240, 480, 600, 600]


@rows(
    "fault servers pauses",
    {
        "absence": (None, [], [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]),
        "a failure": (DOWN, [], UP_TO_TEN_MINUTES),
        "a contradiction": (None, [server(1, "web-1")], UP_TO_TEN_MINUTES),
    },
)
def test_pauses_get_longer(
    sim: Simulation, fault: dict[str, Any] | None, servers: list[dict[str, Any]], pauses: list[int]
) -> None:
    """A Node waits for an answer that proves something, so that it is never far."""
    if fault:
        sim.spoil_hetzner(**fault, count=None)
    sim.hetzner.replace_world({"servers": servers})

    assert pauses_of(sim, sum(pauses) + 100) == pauses


def test_doubt_after_an_hour_is_short(sim: Simulation) -> None:
    """An answer that proves nothing is asked again within ten minutes, however long the absence before it was known."""
    confirm, due = partial(confirmed, confirmer(sim)), 0.0
    for pause in (30, 60, 120, 240, 480, 960):
        confirm(lacking(1, after_s=due), Settings())
        due += pause
    sim.spoil_hetzner(**DOWN)

    confirm(lacking(1, after_s=due), Settings())
    sim.hetzner_proxy.journal.clear()
    confirm(lacking(1, after_s=due + 599), Settings())
    assert asked(sim) == set()
    assert confirm(lacking(1, after_s=due + 600), Settings()).confirmations == {1: Absent()}


def test_a_failure_is_remembered_until_it_is_asked_again(sim: Simulation) -> None:
    """In between the snapshot says what was said last, and afterwards what is said now."""
    sim.spoil_hetzner(**DOWN)
    confirm = partial(confirmed, confirmer(sim))

    answers = [confirm(lacking(1, after_s=after_s), Settings()).confirmations[1] for after_s in (0, 29, 30)]

    assert [type(answer) for answer in answers] == [Unknown, Unknown, Absent]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "times",
    [
        pytest.param({7200: True, 3600: True, 3659: False, 3660: True}, id="an hour back"),
        pytest.param({0: True, 3600: True, 3659: False, 3660: True}, id="an hour forward"),
        pytest.param({0: True, 3600: True, 10: True, 129: False, 130: True}, id="forward, and put right"),
        pytest.param({0: True, 29: False, 28: False, 30: True}, id="another API server's clock"),
    ],
)
@pytest.mark.parametrize("fault", [pytest.param(DOWN, id="a failure"), pytest.param(None, id="absence")])
def test_a_clock_that_is_set(sim: Simulation, fault: dict[str, Any] | None, times: dict[int, bool]) -> None:
    """What was said at a time that is yet to come is asked again at once, and then after as long as ever."""
    if fault:
        sim.spoil_hetzner(**fault, count=None)
    confirm, found = partial(confirmed, confirmer(sim)), {}
    for after_s in times:
        confirm(lacking(1, after_s=after_s), Settings())
        found[after_s] = asked(sim) == {1}

    assert found == times


def test_what_was_said_to_another_token_is_forgotten(sim: Simulation) -> None:
    """The token of another project was answered that there is no such server: that says nothing of this one's."""
    made = confirmer(sim)
    confirmed(made, lacking(1), Settings())
    asked(sim)
    made.forget()

    confirmed(made, lacking(1), Settings())

    assert asked(sim) == {1}


@pytest.mark.parametrize("others", [(), (a_server(300, "stranger"),)], ids=["empty", "of strangers"])
def test_what_a_strange_project_said_is_kept_apart(sim: Simulation, others: tuple[Server, ...]) -> None:
    """For a while the token is another project's: its word counts only there, is asked for once, and what our own
    project says is asked for again."""
    confirm = partial(confirmed, confirmer(sim))
    confirm(lacking(1), Settings())
    asked(sim)

    def strange(after_s: float) -> Snapshot:
        return replace(lacking(1, 2, after_s=after_s), servers=servers_of(*others))

    assert confirm(strange(1), Settings()).confirmations == {1: Absent(), 2: Absent()}
    assert asked(sim) == {1, 2}
    confirm(strange(2), Settings())
    assert asked(sim) == set()

    assert confirm(lacking(1, 2, after_s=3), Settings(), most=0).confirmations == {}
    confirm(lacking(1, 2, after_s=4), Settings())
    assert asked(sim) == {1, 2}


def test_what_was_never_asked_goes_first(sim: Simulation) -> None:
    """Those that failed do not keep the others from ever having their turn."""
    sim.spoil_hetzner(**DOWN, count=None)
    confirm = partial(confirmed, confirmer(sim))

    confirm(lacking(*range(1, 13)), Settings())
    assert asked(sim) == set(range(1, 11))
    confirm(lacking(*range(1, 13), after_s=30), Settings())
    assert asked(sim) == {11, 12, *range(1, 9)}


def test_the_list_against_the_id(sim: Simulation) -> None:
    """A server that the list lacks and the id finds makes the list one with a gap: nothing it lacks is absent."""
    sim.hetzner.replace_world({"servers": [server(1, "renamed"), server(3, "web-3")]})

    found = confirmed(confirmer(sim), lacking(1, 2, 3), Settings())

    why = "it lacks server 1, 3, which a GET by its id finds"
    assert (found.servers.complete, found.servers.why_incomplete) == (False, why)
    assert [found.servers.find(server_id) for server_id in (1, 2, 3)] == [Unknown(why)] * 3
    assert found.confirmations == {2: Absent()}
    assert compute_plan(found, Settings()).changes == ()


def test_who_joins_beside_a_contradiction(sim: Simulation) -> None:
    """A name decides only in a whole list; what was listed is there, so that a providerID still decides."""
    sim.hetzner.replace_world({"servers": [server(1, "web-1")]})
    servers = [a_server(200, "anchor"), a_server(8, "web-8"), a_server(9, "web-9")]
    joining = [a_joining_node("web-8", provider_id="hcloud://8"), a_joining_node("web-9")]

    found = confirmed(confirmer(sim), a_snapshot([ANCHOR, a_lost_node(), *joining], servers), Settings())

    assert [change.key for change in compute_plan(found, Settings()).changes] == ["node/web-8"]


@pytest.mark.parametrize("fault", [pytest.param(DOWN, id="a failure"), pytest.param(None, id="absence")])
def test_a_gap_forgets_nothing(sim: Simulation, fault: dict[str, Any] | None) -> None:
    """A list with a gap does not tell who is wanted: what was answered before is known after it, and not due before."""
    if fault:
        sim.spoil_hetzner(**fault, count=None)
    confirm = partial(confirmed, confirmer(sim))
    before = confirm(lacking(1), Settings()).confirmations
    gap = lacking(1, after_s=10)
    confirm(replace(gap, servers=incomplete(gap.servers)), Settings())
    asked(sim)

    assert confirm(lacking(1, after_s=20), Settings()).confirmations == before != {}
    assert asked(sim) == set()


def test_what_nobody_wants_to_know_is_forgotten(sim: Simulation) -> None:
    """A Node that was there in between is a new case: it is asked for at once, and its pauses begin anew."""
    sim.spoil_hetzner(**DOWN, count=None)
    confirm = partial(confirmed, confirmer(sim))

    def is_asked(*server_ids: int, after_s: float) -> bool:
        confirm(lacking(*server_ids, after_s=after_s), Settings())
        return asked(sim) == {1}

    assert [is_asked(1, after_s=after_s) for after_s in (0, 30, 60)] == [True, True, False]
    assert not is_asked(after_s=61)
    assert [is_asked(1, after_s=after_s) for after_s in (62, 91, 92)] == [True, False, True]
