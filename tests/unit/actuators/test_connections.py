"""What the connections to both APIs do alike, call by call: how often each is sent, when the gate is asked, what is
counted and observed, and what the times of answers tell."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from actuators.http.connection import ClockBounds, Dates, RequestEnded, tracing
from actuators.http.errors import ApiError, Broken, NotLeader, Transient
from actuators.http.hetzner import HetznerReader, HetznerWriter, RateLimit
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from hcloud_sandbox.exchange import Exchange
from tests.support.objects import joining_node, server
from tests.support.rows import rows
from tests.support.simulators import Simulate, Simulation

NODE, SERVER = "/api/v1/nodes/web-1", "/servers/1"
EVENTS = "/api/v1/namespaces/default/events"
LABELS = {"metadata": {"labels": {"a": "b"}}}
EVENT = {
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Node", "name": "web-1"},
    "type": "Normal",
}
PROTECTION = "/networks/7/actions/change_protection"


@dataclass(frozen=True)
class Call:
    api: str
    method: str
    send: Callable[[Any], object]
    """Given the connection."""
    tries: int
    """How often it is sent of the three times that patience has, while nothing answers."""

    def connection(self, sim: Simulation, **how: Any) -> Any:
        """A connection to its API, with three attempts."""
        return getattr(sim, f"{self.api}_connection")(**{"attempts": 3} | how)

    def spoil(self, sim: Simulation, kind: str, **fault: Any) -> None:
        getattr(sim, f"spoil_{self.api}")(kind, **fault)

    def sent(self, sim: Simulation) -> list[Exchange]:
        found: list[Exchange] = getattr(sim, f"sent_to_{self.api}")()
        return found


GET_NODE = Call("kubernetes", "GET", lambda c: KubernetesReader(c).get(NODE), 3)
GET_SERVER = Call("hetzner", "GET", lambda c: HetznerReader(c).get(SERVER), 3)
READS = {"Kubernetes GET": GET_NODE, "Hetzner GET": GET_SERVER}
WRITES = {
    "Kubernetes PATCH": Call("kubernetes", "PATCH", lambda c: KubernetesWriter(c).patch(NODE, LABELS), 3),
    "Kubernetes PUT": Call("kubernetes", "PUT", lambda c: KubernetesWriter(c).update(NODE, LABELS), 1),
    "Kubernetes POST": Call("kubernetes", "POST", lambda c: KubernetesWriter(c).create(EVENTS, EVENT), 1),
    "Kubernetes DELETE": Call(
        "kubernetes", "DELETE", lambda c: KubernetesWriter(c).delete("/api/v1/nodes/other", uid="u", version="1"), 3
    ),
    "an Event": Call("kubernetes", "POST", lambda c: KubernetesWriter(c).try_create(EVENTS, EVENT), 1),
    "an Event's count": Call("kubernetes", "PATCH", lambda c: KubernetesWriter(c).try_patch(NODE, LABELS), 1),
    "Hetzner PUT": Call("hetzner", "PUT", lambda c: HetznerWriter(c).put(SERVER, {"labels": {"a": "b"}}), 3),
    "Hetzner POST": Call("hetzner", "POST", lambda c: HetznerWriter(c).post("/networks", {"name": "net"}), 1),
    "Hetzner POST that may be repeated": Call(
        "hetzner", "POST", lambda c: HetznerWriter(c).post(PROTECTION, {"delete": True}, repeatable=True), 3
    ),
    "Hetzner DELETE": Call("hetzner", "DELETE", lambda c: HetznerWriter(c).delete("/networks/7"), 3),
}
ALL = READS | WRITES


class Gate:
    def __init__(self, passes: int = 99) -> None:
        self.passes = passes
        self.asked = 0

    def __call__(self) -> None:
        self.asked += 1
        if self.asked > self.passes:
            raise NotLeader("nothing is written")


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    return simulate(nodes=[joining_node("web-1")], project={"servers": [server(1, "web-1")]})


@pytest.mark.parametrize("kind", ["reset", "cut_body", "executed_then_reset", "executed_then_504"])
@rows("call", ALL)
def test_answers_that_do_not_arrive(sim: Simulation, call: Call, kind: str) -> None:
    call.spoil(sim, kind, count=None)
    connection = call.connection(sim)
    with pytest.raises(Transient):
        call.send(connection)
    assert [entry.method for entry in call.sent(sim)] == [call.method] * call.tries
    assert connection.requests.by_method() == {call.method: call.tries}


@rows("call", ALL)
def test_silence(sim: Simulation, call: Call) -> None:
    """A call without an answer is given up, and made exactly as often as it may be.

    Its tries are counted where they begin: a busy server may have noted none before the client has gone.
    """
    call.spoil(sim, "hang", count=None)
    with pytest.raises(Transient):
        call.send(call.connection(sim, timeout_s=0.2))
    assert len(sim.stop.waits) == call.tries - 1
    assert {entry.method for entry in call.sent(sim)} <= {call.method}


@rows("call", WRITES)
def test_a_connection_for_reading_refuses_writes(sim: Simulation, call: Call) -> None:
    """A dry run holds nothing that can write, whatever it calls."""
    connection, gate = call.connection(sim, read_only=True), Gate()
    with pytest.raises(PermissionError):
        call.send(connection)
    assert (connection.requests.total, call.sent(sim), gate.asked) == (0, [], 0)


@pytest.mark.parametrize("passes", [0, 1, 9])
@rows("call", WRITES)
def test_the_gate_is_asked_before_each_attempt(sim: Simulation, call: Call, passes: int) -> None:
    """A refusal, be it between two attempts, is not tried again: the lead that is lost is not written with."""
    gate = Gate(passes)
    call.spoil(sim, "status", code=503, count=None)
    with pytest.raises(NotLeader if passes < call.tries else Transient):
        call.send(call.connection(sim, gate=gate))
    assert len(call.sent(sim)) == min(passes, call.tries)
    assert gate.asked == min(passes + 1, call.tries)
    assert len(sim.stop.waits) == min(passes, call.tries - 1)


@rows(
    "call",
    READS
    | {"a watch": Call("kubernetes", "GET", lambda c: c.open("/api/v1/nodes?watch=true", silence_s=1.0).close(), 1)},
)
def test_reads_do_not_need_the_gate(sim: Simulation, call: Call) -> None:
    """A process that stands by may look."""
    gate = Gate(passes=0)
    call.send(call.connection(sim, gate=gate))
    assert (gate.asked, len(call.sent(sim))) == (0, 1)


def test_the_gate_is_asked_after_a_wait_for_the_allowance(sim: Simulation) -> None:
    """As late as can be: a wait may have outlasted the lead."""
    order: list[Any] = sim.stop.waits
    connection = sim.hetzner_connection(gate=lambda: order.append("gate"))
    connection.rate_limit = RateLimit(3600, 0)
    HetznerWriter(connection).put(SERVER, {"name": "x"})
    assert order == [1.0, "gate"]


@rows("call", READS)
def test_redirects_are_not_followed(sim: Simulation, call: Call) -> None:
    """An answer that points elsewhere is no answer: the token is not taken to another host."""
    elsewhere = getattr(sim, f"{call.api}_server")
    call.spoil(sim, "status", code=302, headers={"Location": f"{elsewhere.url}/anything"})
    with pytest.raises(Broken):
        call.send(call.connection(sim))
    assert elsewhere.journal.entries() == []


@rows(
    "faults statuses",
    {
        "answered": ([], [200]),
        "each try": ([{"kind": "status", "code": 503, "count": 2}], [503, 503, 200]),
        "no answer": ([{"kind": "reset", "count": 1}], [None, 200]),
        "refused": ([{"kind": "status", "code": 403}], [403]),
    },
)
@rows("call", READS)
def test_each_try_is_seen(sim: Simulation, call: Call, faults: list[dict[str, Any]], statuses: list[Any]) -> None:
    for fault in faults:
        call.spoil(sim, **fault)
    seen: list[tuple[str, str, int | None]] = []

    def began(method: str, path: str) -> RequestEnded:
        return lambda status: seen.append((method, path, status))

    connection = call.connection(sim)
    connection.observe = began
    if statuses[-1] == 200:
        call.send(connection)
    else:
        with pytest.raises(ApiError):
            call.send(connection)

    assert seen == [("GET", SERVER if call is GET_SERVER else NODE, status) for status in statuses]


def test_ids_of_refusals_are_kept(sim: Simulation) -> None:
    """What is refused has a correlation id, by which Hetzner's support finds it; where nobody collects, nothing is."""
    writer = sim.hetzner_writer()
    with tracing() as trace, pytest.raises(ApiError):
        writer.delete("/load_balancers/1")
    with pytest.raises(ApiError):
        writer.delete("/load_balancers/1")
    assert len(trace.correlations) == 1
    assert trace.actions == []


def date(second: int) -> str:
    """So many seconds after the epoch, as a header."""
    return format_datetime(datetime.fromtimestamp(second, UTC), usegmt=True)


def heard(answers: Iterable[tuple[int, float, float]]) -> Dates:
    """The clock of an API that answered so: its second, when it was asked, when the answer came."""
    moments: list[float] = []
    dates = Dates(moments.pop)
    for second, asked_at, answered_at in answers:
        moments.append(answered_at)
        dates.note(date(second), asked_at)
    return dates


@rows(
    "ours theirs ahead_s jump_s",
    {
        "the-same": ([(1000, 10.0, 10.1)], [(1000, 10.0, 10.1)], 0.0, 0.0),
        "a-second-later": ([(1001, 10.0, 10.1)], [(1000, 10.9, 10.9)], pytest.approx(0.8), 0.0),
        "an-hour-ahead": ([(4600, 10.0, 10.0)], [(1000, 10.0, 10.0)], pytest.approx(3599.0), 0.0),
        "an-hour-behind": ([(1000, 10.0, 10.0)], [(4600, 10.0, 10.0)], pytest.approx(-3599.0), 0.0),
        "an-answer-that-took-long": ([(1000, 10.0, 100.0)], [(1000, 100.0, 100.0)], 0.0, 0.0),
        "one-answer-of-several": (
            [(1000, 10.0, 10.0), (4600, 10.0, 10.0)],
            [(1000, 10.0, 10.0)],
            pytest.approx(3599.0),
            pytest.approx(3599.0),
        ),
    },
)
def test_two_clocks(
    ours: list[tuple[int, float, float]], theirs: list[tuple[int, float, float]], ahead_s: float, jump_s: float
) -> None:
    """An answer is as old as it took to arrive, and a date is true for a second."""
    first, second = heard(ours).seen, heard(theirs).seen
    assert first is not None
    assert second is not None
    assert (first.ahead_of_s(second), first.jump_s) == (ahead_s, jump_s)


@pytest.mark.parametrize("header", [None, "", "soon", "Mon, 99 Xyz 2026", "Fri, 31 Dec 999999 23:59:59 GMT"])
def test_no_time_says_nothing(header: str | None) -> None:
    """A proxy's answer may have no time, or any text in its place."""
    dates = Dates(lambda: 10.0)
    dates.note(header, 10.0)
    assert dates.seen is None


@rows("call", READS)
def test_a_refusal_says_nothing_of_the_clock(sim: Simulation, call: Call) -> None:
    """It may be a proxy's, whose clock is another."""
    connection = call.connection(sim, attempts=1)
    call.spoil(sim, "status", code=403, headers={"Date": "Fri, 15 Jan 2027 08:00:00 GMT"})
    with pytest.raises(ApiError):
        call.send(connection)
    assert connection.dates.seen is None
    call.send(connection)
    assert connection.dates.seen is not None


def test_the_last_answer_stands_until_there_is_another() -> None:
    dates = heard([(1000, 10.0, 10.0), (4600, 10.0, 10.0)])
    dates.begin()
    assert dates.seen == ClockBounds(4590.0, 4591.0)
