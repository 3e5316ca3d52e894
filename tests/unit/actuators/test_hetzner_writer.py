"""Writes to Hetzner: which are sent again, and what is waited for."""

from collections.abc import Callable
from typing import Any, Literal

import pytest

from actuators.http.errors import Busy, Conflict, Throttled, Transient
from actuators.http.hetzner import HetznerWriter
from reconciler.sandbox.hetzner import HetznerOptions
from tests.support.balancer_stage import NETWORKS, PassingTime
from tests.support.simulators import Simulation

BusyCode = Literal["conflict", "locked"]
NETWORK = "/networks/7"
ROUTE = {"destination": "10.244.1.0/24", "gateway": "10.7.0.11"}


def post(writer: HetznerWriter) -> bytes:
    """A write that must not be sent twice."""
    return writer.post("/networks", {"name": "net", "ip_range": "10.0.0.0/16"})


def post_again(writer: HetznerWriter) -> bytes:
    """A write that may be sent twice."""
    return writer.post(f"{NETWORK}/actions/change_protection", {"delete": True}, repeatable=True)


def put(writer: HetznerWriter) -> bytes:
    """A write of absolute values."""
    return writer.put(NETWORK, {"labels": {"a": "b"}})


def delete(writer: HetznerWriter) -> bytes:
    """A deletion."""
    return writer.delete(NETWORK)


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """Two networks."""
    return simulate(project={"networks": NETWORKS})


def busy_network(simulate: Callable[..., Simulation], code: BusyCode, seconds: float) -> Simulation:
    """Network 7 is being changed for so long."""
    sim = simulate(project={"networks": NETWORKS}, options=HetznerOptions(action_s=seconds, network_busy_code=code))
    sim.stop = PassingTime(sim.clock)
    sim.hetzner_writer().post(f"{NETWORK}/actions/add_route", ROUTE)
    sim.hetzner_proxy.journal.clear()
    return sim


@pytest.mark.parametrize("fault", ["reset", "executed_then_reset", "executed_then_504"])
@pytest.mark.parametrize(
    ("write", "sent"),
    [
        pytest.param(post, 1, id="POST is sent once"),
        pytest.param(post_again, 3, id="POST that may be repeated"),
        pytest.param(put, 3, id="PUT"),
        pytest.param(delete, 3, id="DELETE"),
    ],
)
def test_answers_that_do_not_arrive(
    sim: Simulation, write: Callable[[HetznerWriter], bytes], sent: int, fault: str
) -> None:
    """A write of which nothing is known is sent again only where that does no harm."""
    sim.spoil_hetzner(fault, count=None)

    with pytest.raises(Transient):
        write(HetznerWriter(sim.hetzner_connection(attempts=3)))

    assert len(sim.sent_to_hetzner()) == sent


@pytest.mark.parametrize("code", ["conflict", "locked"])
@pytest.mark.parametrize("write", [post_again, put, delete])
def test_busy_objects(
    simulate: Callable[..., Simulation], write: Callable[[HetznerWriter], bytes], code: BusyCode
) -> None:
    """A busy object is waited for without a word to anybody, since nothing was done."""
    sim = busy_network(simulate, code, 2.0)
    writer = sim.hetzner_writer()

    write(writer)

    refused = [entry for entry in sim.sent_to_hetzner() if entry.status in (409, 423)]
    assert 1 <= len(refused) == writer.requests.total - 1 <= 3
    assert 1.5 <= sum(sim.stop.waits) <= 5.0


def test_an_object_that_stays_busy(simulate: Callable[..., Simulation]) -> None:
    """Patience ends, and then the change is for a later plan."""
    sim = busy_network(simulate, "conflict", 600.0)

    with pytest.raises(Busy, match="network has changed during request") as raised:
        put(sim.hetzner_writer())

    assert isinstance(raised.value, Conflict)
    assert len(sim.sent_to_hetzner()) == 5


def test_a_name_that_is_taken_is_not_waited_for(sim: Simulation) -> None:
    """A conflict that no time resolves is no busy object."""
    with pytest.raises(Conflict) as raised:
        sim.hetzner_writer().post("/networks", {"name": "private", "ip_range": "10.0.0.0/16"})

    assert type(raised.value) is Conflict
    assert len(sim.sent_to_hetzner()) == 1


@pytest.mark.parametrize("write", [post, post_again, put, delete])
def test_throttled_writes(sim: Simulation, write: Callable[[HetznerWriter], bytes]) -> None:
    """A throttled write was not carried out, and is sent again."""
    refusal = {"error": {"code": "rate_limit_exceeded", "message": "no"}}
    sim.spoil_hetzner("status", code=429, body=refusal, count=2)

    write(sim.hetzner_writer())

    assert [entry.status for entry in sim.sent_to_hetzner()][:2] == [429, 429]
    assert len(sim.sent_to_hetzner()) == 3


def test_throttled_for_good(sim: Simulation) -> None:
    """Patience ends here as well."""
    sim.spoil_hetzner("status", code=429, body={"error": {"code": "rate_limit_exceeded", "message": "no"}}, count=None)

    with pytest.raises(Throttled):
        post(sim.hetzner_writer())


@pytest.mark.parametrize("write", [post, post_again, put, delete])
def test_a_connection_for_reading(sim: Simulation, write: Callable[[HetznerWriter], Any]) -> None:
    """Even a writer cannot write over a connection that was opened for reading."""
    writer = HetznerWriter(sim.hetzner_connection(read_only=True))

    with pytest.raises(PermissionError):
        write(writer)

    assert sim.sent_to_hetzner() == []


def test_a_deletion_without_a_body(sim: Simulation) -> None:
    """204 has none, and that is an answer."""
    assert delete(sim.hetzner_writer()) == b""


def test_a_post_without_a_body(simulate: Callable[..., Simulation]) -> None:
    """Some actions need none."""
    sim = simulate(project={"load_balancers": [{"id": 42}]})

    assert b"enable_public_interface" in sim.hetzner_writer().post("/load_balancers/42/actions/enable_public_interface")
    assert sim.sent_to_hetzner()[0].body is None
