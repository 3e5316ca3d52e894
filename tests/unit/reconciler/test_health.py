"""Probes: alive as long as the loop comes round, ready once everything was read; whatever the clouds do."""

from dataclasses import dataclass, replace

import pytest

from actuators.apply import Actuator
from actuators.http.connection import ignore
from desired.model.key import PLAN
from desired.model.snapshot import RobotAccount, Snapshot
from desired.plan.change import Change
from desired.plan.notes import Note, NoteKind
from desired.section import Section
from reconciler.result import Report
from reconciler.telemetry.health import Check, LoopHealth
from reconciler.telemetry.serving import Request, health_pages
from tests.builders import a_change, a_server, a_snapshot, incomplete, servers_of

INTERVAL_S = 60.0
TIMEOUT_S = 15.0
ALLOWED_S = 3 * INTERVAL_S + 10 * TIMEOUT_S
WHOLE = Report(snapshot=a_snapshot())
WITHOUT_ROBOT = Report(snapshot=replace(a_snapshot(), robot=RobotAccount(Section.missing("503"))))
GAP = Report(snapshot=a_snapshot(servers_section=incomplete(servers_of(a_server()))))
WRONG = replace(WHOLE, errors=("the cluster CIDR is none",), misconfigured=("the cluster CIDR is none",))
ANOTHER = replace(WHOLE, notes=(Note(PLAN, NoteKind.ANCHOR, "0 of 3 Ready Nodes have their server in the project"),))
GONE = Report(errors=("Hetzner API does not answer",))


@dataclass
class Clock:
    """Seconds that pass when they are told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Watched:
    """A health with its clock."""

    clock: Clock
    health: LoopHealth

    def after(self, seconds: float) -> "Watched":
        self.clock.now += seconds
        return self

    @property
    def is_alive(self) -> bool:
        """What ``/livez`` says."""
        return is_fine(self.health.liveness())

    @property
    def is_ready(self) -> bool:
        """What ``/readyz`` says."""
        return is_fine(self.health.readiness())


def is_fine(checks: tuple[Check, ...]) -> bool:
    return all(check.problem is None for check in checks)


@pytest.fixture
def watched() -> Watched:
    clock = Clock()
    return Watched(clock, LoopHealth(interval_s=INTERVAL_S, request_timeout_s=TIMEOUT_S, clock=clock))


def test_a_process_that_begins(watched: Watched) -> None:
    assert (watched.is_alive, watched.is_ready) == (True, False)


@pytest.mark.parametrize("report", [WHOLE, GAP, GONE], ids=["whole", "gap", "error"])
def test_a_loop_that_goes_round_is_alive(watched: Watched, report: Report) -> None:
    """Whatever comes of the passes: no restart brings a cloud back."""
    for _ in range(100):
        watched.health.began()
        watched.after(INTERVAL_S).health.passed(report)
        assert watched.is_alive


def test_a_loop_that_hangs(watched: Watched) -> None:
    watched.health.passed(WHOLE)
    watched.after(10).health.began()

    assert watched.after(ALLOWED_S - 10).is_alive
    assert not watched.after(1).is_alive
    assert watched.health.liveness()[1].line == (
        "[-]loop failed: no pass, call or change has ended for 331 s (limit 330 s);"
        " the pass that is running began 321 s ago"
    )
    assert watched.is_ready


def test_a_long_pass_that_gets_on_is_alive(watched: Watched) -> None:
    watched.health.began()
    for _ in range(100):
        watched.health.attend({"lb.type": take(watched, ALLOWED_S)})["lb.type"](a_change(), a_snapshot())
        assert watched.is_alive


def test_a_long_reading_that_gets_on_is_alive(watched: Watched) -> None:
    """A list of a hundred pages, each of which takes its time."""
    watched.health.began()
    observe = watched.health.follow(ignore)
    for _ in range(100):
        ended = observe("GET", "/servers?page=2")
        watched.after(10 * TIMEOUT_S)
        assert watched.is_alive
        ended(200)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/servers", None, id="no answer"),
        pytest.param("GET", "/actions?id=1&id=2", 200, id="the action goes on"),
        pytest.param("WATCH", "/api/v1/nodes?watch=true", 200, id="a watch is opened again"),
        pytest.param("GET", "/api/v1/nodes?limit=1", 200, id="from where it begins"),
    ],
)
def test_what_is_answered_while_nothing_gets_on(watched: Watched, method: str, path: str, status: int | None) -> None:
    """A pass that hangs is no less stuck for what others hear meanwhile."""
    watched.health.began()
    for _ in range(10):
        watched.health.follow(ignore)(method, path)(status)
        watched.after(ALLOWED_S / 9)

    assert not watched.is_alive


def test_a_call_that_hangs_among_others(watched: Watched) -> None:
    """Bytes that trickle for ever: other changes of the pass go on, and hide it from who looks for silence."""
    watched.health.began()
    observe = watched.health.follow(ignore)
    hanging = observe("GET", "/load_balancers?page=2")
    for _ in range(10):
        ended = observe("POST", "/load_balancers")
        watched.after(TIMEOUT_S)
        ended(201)
    assert watched.is_alive

    watched.after(1)
    assert watched.health.liveness()[1].line == (
        "[-]loop failed: the call GET /load_balancers has not ended for 151 s (limit 150 s)"
    )
    hanging(200)
    assert watched.is_alive


def test_a_change_that_hangs_beside_the_passes(watched: Watched) -> None:
    """A pass may have left it, and its object would be left alone for ever."""
    seen = []

    def hang(_change: Change, _snapshot: Snapshot) -> None:
        for _ in range(11):
            watched.after(INTERVAL_S).health.passed(WHOLE)
            seen.append(watched.health.liveness()[1].problem)

    watched.health.attend({"lb.type": hang})["lb.type"](a_change("load_balancer/a/b"), a_snapshot())

    assert seen == [None] * 10 + ["the change load_balancer/a/b has not ended for 660 s (limit 600 s)"]
    assert watched.is_alive


def take(watched: Watched, seconds: float) -> Actuator:
    def carry_out(_change: Change, _snapshot: Snapshot) -> None:
        watched.after(seconds)

    return carry_out


def test_a_longer_interval_gives_more_time(watched: Watched) -> None:
    """The pause follows from the rate limit, and is known only after a pass."""
    watched.health.passed(WHOLE, 600.0)

    assert watched.after(3 * 600.0).is_alive
    assert not watched.after(10 * TIMEOUT_S + 1).is_alive


def test_standby(watched: Watched) -> None:
    """It is alive as long as it goes round, and ready once its settings were found to work; when it leads it is ready
    once it has read everything."""
    watched.health.standby()
    assert watched.health.readiness()[1].line == (
        "[-]snapshot failed: Hetzner has not been asked yet for what the settings name"
    )
    watched.health.checked("")
    for _ in range(100):
        watched.after(ALLOWED_S).health.standby()
        assert (watched.is_alive, watched.is_ready) == (True, True)
    assert not watched.after(ALLOWED_S + 1).is_alive

    watched.health.began()
    assert not watched.is_ready
    watched.health.passed(WHOLE)
    assert watched.is_ready


def test_without_the_lead_and_without_a_leader(watched: Watched) -> None:
    """It is alive, and ready only if it was so before; it says why not, also of what it has read of the world."""
    for _ in range(100):
        watched.after(ALLOWED_S).health.leaderless("the Lease is not to be had")
        assert (watched.is_alive, watched.is_ready) == (True, False)
    assert watched.health.readiness()[1].line == "[-]snapshot failed: the Lease is not to be had"
    watched.health.leaderless("")
    assert watched.health.readiness()[1].line == "[-]snapshot failed: no pass has ended yet"

    watched.health.standby()
    watched.health.checked("")
    watched.health.leaderless("the Lease is not to be had")
    assert watched.is_ready
    watched.health.began()
    assert watched.health.readiness()[1].line == "[-]snapshot failed: no pass has ended yet"

    watched.health.passed(WHOLE)
    watched.health.leaderless("the Lease is not to be had")
    assert watched.is_ready


@pytest.mark.parametrize(
    ("reports", "line"),
    [
        pytest.param((), "[-]snapshot failed: no pass has ended yet", id="nothing yet"),
        pytest.param((GONE,), "[-]snapshot failed: Hetzner API does not answer", id="nothing was read"),
        pytest.param((GAP,), "[-]snapshot failed: page 2 timed out", id="a gap"),
        pytest.param((GAP, WHOLE), "[+]snapshot ok", id="whole at last"),
        pytest.param((WRONG,), "[-]snapshot failed: the cluster CIDR is none", id="settings that cannot work"),
        pytest.param(
            (ANOTHER,), "[-]snapshot failed: 0 of 3 Ready Nodes have their server in the project", id="another project"
        ),
        pytest.param((WHOLE, ANOTHER), "[+]snapshot ok", id="another project later"),
        pytest.param((WRONG, WHOLE, WRONG), "[+]snapshot ok", id="settings that stop to work later"),
        pytest.param((WITHOUT_ROBOT,), "[+]snapshot ok", id="a Robot account that is out of reach"),
        pytest.param((replace(WITHOUT_ROBOT, errors=("503",)),), "[+]snapshot ok", id="a refused Robot login"),
        pytest.param((WHOLE, GONE, GAP), "[+]snapshot ok", id="once is enough"),
    ],
)
def test_readiness(watched: Watched, reports: tuple[Report, ...], line: str) -> None:
    """Ready after the first look at everything, and for good: a cloud that goes away makes nobody unready."""
    for report in reports:
        watched.health.passed(report)

    assert watched.health.readiness()[1].line == line


@pytest.mark.parametrize(
    ("path", "query", "status", "text"),
    [
        ("/livez", "", 200, "ok"),
        ("/healthz", "", 200, "ok"),
        ("/livez", "verbose", 200, "[+]ping ok\n[+]loop ok\nlivez check passed\n"),
        ("/healthz", "verbose=1", 200, "[+]ping ok\n[+]loop ok\nhealthz check passed\n"),
        ("/readyz", "", 503, "[+]ping ok\n[-]snapshot failed: no pass has ended yet\nreadyz check failed\n"),
        ("/livez", "exclude=loop", 200, "ok"),
    ],
)
def test_answers(watched: Watched, path: str, query: str, status: int, text: str) -> None:
    page = health_pages(watched.health)[path](Request(query))

    assert (page.status, page.body.decode()) == (status, text)


def test_an_answer_is_text_whatever_an_api_said(watched: Watched) -> None:
    watched.health.passed(Report(errors=("a\n[+]b ok\x1b[2J",)))

    lines = health_pages(watched.health)["/readyz"](Request()).body.decode().splitlines()

    assert lines[1] == "[-]snapshot failed: a\\n[+]b ok\\x1b[2J"
    assert len(lines) == 3
