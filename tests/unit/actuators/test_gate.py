"""The gate before each write: asked just before every attempt, never for a read, and what it refuses is not sent."""

from collections.abc import Callable
from typing import Any

import pytest

from actuators.http import hetzner, kubernetes
from actuators.http.errors import ApiError, NotLeader, Transient
from actuators.http.hetzner import HetznerReader, HetznerWriter
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from actuators.http.retry import Patience, Retry
from reconciler.sandbox.exchange import Exchange
from reconciler.sandbox.hetzner import HetznerSimulator
from tests.support.objects import joining_node
from tests.support.simulators import Simulation

NODE = "/api/v1/nodes/web-1"
PATCH = {"metadata": {"labels": {"a": "b"}}}
EVENTS = "/api/v1/namespaces/default/events"


class Gate:
    """Lets so many attempts pass."""

    def __init__(self, passes: int = 99) -> None:
        self.passes = passes
        self.asked = 0

    def __call__(self) -> None:
        """Pass, or raise."""
        self.asked += 1
        if self.asked > self.passes:
            raise NotLeader("nothing is written")


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """One Node."""
    return simulate(nodes=[joining_node("web-1")])


def to_kubernetes(sim: Simulation, gate: Gate) -> kubernetes.KubernetesConnection:
    """A connection through the gate."""
    return kubernetes.connect(
        str(sim.kubeconfig()),
        user_agent="tests/1.0",
        retry=Retry(sim.stop, Patience(attempts=3)),
        timeout_s=5.0,
        read_only=False,
        gate=gate,
    )


def to_hetzner(sim: Simulation, gate: Gate) -> hetzner.HetznerConnection:
    """A connection through the gate."""
    return hetzner.connect(
        HetznerSimulator.TOKEN,
        sim.endpoint,
        application=("tests", "1.0"),
        retry=Retry(sim.stop, Patience(attempts=3)),
        timeout_s=5.0,
        read_only=False,
        gate=gate,
    )


Call = Callable[[Simulation, Gate], object]
WRITES = [
    pytest.param(lambda s, g: KubernetesWriter(to_kubernetes(s, g)).patch(NODE, PATCH), 3, id="PATCH"),
    pytest.param(lambda s, g: KubernetesWriter(to_kubernetes(s, g)).delete(NODE, uid="u", version="1"), 3, id="DELETE"),
    pytest.param(lambda s, g: KubernetesWriter(to_kubernetes(s, g)).create(EVENTS, {}), 1, id="POST"),
    pytest.param(lambda s, g: KubernetesWriter(to_kubernetes(s, g)).update(NODE, PATCH), 1, id="PUT"),
    pytest.param(lambda s, g: KubernetesWriter(to_kubernetes(s, g)).try_create(EVENTS, {}), 1, id="Event"),
    pytest.param(lambda s, g: HetznerWriter(to_hetzner(s, g)).put("/servers/1", {}), 3, id="Hetzner PUT"),
    pytest.param(lambda s, g: HetznerWriter(to_hetzner(s, g)).delete("/servers/1"), 3, id="Hetzner DELETE"),
    pytest.param(lambda s, g: HetznerWriter(to_hetzner(s, g)).post("/servers", {}), 1, id="Hetzner POST"),
]


def sent(sim: Simulation) -> list[Exchange]:
    """All that was sent to either API."""
    return [*sim.sent_to_kubernetes(), *sim.sent_to_hetzner()]


def spoil(sim: Simulation, **fault: Any) -> None:
    """Have both APIs fail."""
    sim.spoil_kubernetes(**fault)
    sim.spoil_hetzner(**fault)


@pytest.mark.parametrize(("write", "tries"), WRITES)
def test_it_is_asked_before_each_attempt(sim: Simulation, write: Call, tries: int) -> None:
    """Also before those that are repeated."""
    gate = Gate()
    spoil(sim, kind="status", code=503, count=None)

    with pytest.raises(Transient):
        write(sim, gate)

    assert gate.asked == len(sent(sim)) == tries


@pytest.mark.parametrize(("write", "tries"), WRITES)
def test_what_it_refuses_is_not_sent(sim: Simulation, write: Call, tries: int) -> None:
    """Nor tried again."""
    gate = Gate(passes=0)

    with pytest.raises(NotLeader):
        write(sim, gate)

    assert (gate.asked, sent(sim), sim.stop.waits) == (1, [], [])


@pytest.mark.parametrize(("write", "tries"), [row for row in WRITES if row.values[1] == 3])
def test_it_ends_a_series_of_attempts(sim: Simulation, write: Call, tries: int) -> None:
    """The lead that is lost between two attempts is not written with."""
    gate = Gate(passes=1)
    spoil(sim, kind="status", code=503, count=None)

    with pytest.raises(NotLeader):
        write(sim, gate)

    assert len(sent(sim)) == 1


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda s, g: KubernetesReader(to_kubernetes(s, g)).get(NODE), id="Kubernetes"),
        pytest.param(lambda s, g: HetznerReader(to_hetzner(s, g)).get("/servers"), id="Hetzner"),
        pytest.param(
            lambda s, g: to_kubernetes(s, g).open("/api/v1/nodes?watch=true", silence_s=1.0), id="Kubernetes watch"
        ),
    ],
)
def test_reads_do_not_need_it(sim: Simulation, read: Call) -> None:
    """A process that stands by may look."""
    gate = Gate(passes=0)

    read(sim, gate)

    assert gate.asked == 0
    assert len(sent(sim)) == 1


def test_it_is_asked_after_a_wait_for_the_allowance(sim: Simulation) -> None:
    """As late as can be: a wait may have outlasted the lead."""
    order: list[Any] = sim.stop.waits
    connection = to_hetzner(sim, Gate())
    connection._gate = lambda: order.append("gate")
    connection.rate_limit = hetzner.RateLimit(3600, 0)

    with pytest.raises(ApiError):
        HetznerWriter(connection).put("/servers/1", {"name": "x"})

    assert order == [1.0, "gate"]
