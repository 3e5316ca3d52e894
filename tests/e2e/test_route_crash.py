"""A run that dies at any single write for a route is finished by the next one.

``CRASHES`` says at how many of its writes each operation dies, chosen by ``CRASH_SEED``; ``scripts/soak`` tries all. In
the middle of a swap a run always dies: nobody reaches the pods then.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from reconciler.sandbox.exchange import Exchange
from reconciler.sandbox.proxy import FaultProxy
from tests.support.balancer_cluster import a_server_of, private_ip
from tests.support.in_process import one_pass
from tests.support.lifecycle import add_servers, notes, remove_servers
from tests.support.routed_cluster import (
    ROUTED,
    a_pod_node,
    a_route_to,
    all_say,
    delete_node,
    have_routes,
    move_server,
    pods_of,
    routes,
    settle,
)
from tests.support.stage import Stage, killed_at_the_end, wait_for

CRASHES = int(os.environ.get("CRASHES", "1"))
SEED = int(os.environ.get("CRASH_SEED", "1"))
MOMENTS = {"hang": "before", "half_open": "after"}
"""Fault of the proxy → when the process dies: before its write is carried out, or after, without an answer."""
NODES = 3
ADD, REMOVE = (f"POST /v1/networks/7/actions/{call}" for call in ("add_route", "delete_route"))
OF_SOMEBODY = {"destination": "10.8.0.0/24", "gateway": "10.0.0.254"}


def _status(number: int) -> str:
    """The write of the status of ``web-NUMBER``."""
    return f"PATCH /api/v1/nodes/web-{number}/status"


@dataclass(frozen=True, slots=True)
class Operation:
    """What happens to a network whose routes are all in order, and the writes that follow from it."""

    happens: Callable[[Stage], None]
    writes: tuple[str, ...]
    """In the order in which each of the two APIs gets its own."""


def _more_nodes(stage: Stage) -> None:
    stage.register(*(a_pod_node(stage, number) for number in (4, 5)))
    add_servers(stage, a_server_of(4), a_server_of(5))


def _fewer_nodes(stage: Stage) -> None:
    for number in (2, 3):
        delete_node(stage, f"web-{number}")
    remove_servers(stage, 2, 3)


OPERATIONS = {
    "create": Operation(_more_nodes, (ADD, _status(4), ADD, _status(5))),
    "replace one led astray": Operation(
        lambda stage: have_routes(stage, OF_SOMEBODY, a_route_to(1), a_route_to(2, 3), a_route_to(3)), (REMOVE, ADD)
    ),
    "exchange two": Operation(
        lambda stage: have_routes(stage, OF_SOMEBODY, a_route_to(1), a_route_to(2, 3), a_route_to(3, 2)),
        (REMOVE, ADD, REMOVE, ADD),
    ),
    "follow a server": Operation(lambda stage: move_server(stage, 2, "10.0.0.55"), (_status(2), REMOVE, ADD)),
    "delete": Operation(_fewer_nodes, (REMOVE, REMOVE)),
}


IN_THE_MIDDLE = ("follow a server", OPERATIONS["follow a server"].writes.index(ADD), "hang")


def _crashes() -> Iterator[Any]:
    """For each operation some of its writes, drawn, or all of them."""
    rng = random.Random(SEED)
    for name, operation in OPERATIONS.items():
        every = [(number, fault) for number in range(len(operation.writes)) for fault in MOMENTS]
        drawn = rng.sample(every, min(CRASHES, len(every)))
        certain = [crash for crash in every if (name, *crash) == IN_THE_MIDDLE]
        for number, fault in sorted({*drawn, *certain}):
            last = operation.writes[number].rpartition("/")[2]
            yield pytest.param(name, number, fault, id=f"{name}, {MOMENTS[fault]} write {number + 1} ({last})")


@pytest.fixture
def network(a_stage: Callable[..., Stage]) -> Stage:
    """An empty cluster, and a project whose actions have ended when they are answered."""
    return a_stage(action_s=0.0)


def _begin(stage: Stage, operation: Operation) -> None:
    """The world before the operation, and then what happens."""
    stage.remove_nodes()
    settle(stage, NODES)
    have_routes(stage, OF_SOMEBODY, *map(a_route_to, range(1, NODES + 1)))
    operation.happens(stage)
    stage.forget()


def _proxy(stage: Stage, write: str) -> FaultProxy:
    """Where the write passes."""
    return stage.hetzner_proxy if write in (ADD, REMOVE) else stage.proxy


def _writes(proxy: FaultProxy) -> list[Exchange]:
    return [entry for entry in proxy.journal.entries() if entry.method != "GET" and "/events" not in entry.path]


def _end_state(stage: Stage) -> Any:
    """Everything of routes and Nodes that does not differ from run to run."""
    addresses = {name: node["status"]["addresses"] for name, node in stage.nodes().items()}
    return sorted(routes(stage).items()), all_say(stage), addresses


def _undisturbed(stage: Stage, operation: Operation) -> Any:
    """How the operation ends when nothing goes wrong. Its writes are those that it is said to have."""
    _begin(stage, operation)
    assert one_pass(stage)["result"] == "no_changes"
    for proxy in (stage.proxy, stage.hetzner_proxy):
        sent = [f"{entry.method} {entry.path}" for entry in _writes(proxy)]
        assert sent == [write for write in operation.writes if _proxy(stage, write) is proxy]
    ended = _end_state(stage)
    assert (OF_SOMEBODY["destination"], OF_SOMEBODY["gateway"]) in ended[0]
    assert set(ended[1].values()) == {ROUTED}
    return ended


@pytest.mark.parametrize(("name", "number", "fault"), [*_crashes()])
def test_kill_9_at_a_write_then_once_ends_in_the_same_state(network: Stage, name: str, number: int, fault: str) -> None:
    """Killed at its n-th write, carried out or not, a run leaves what the next one brings to the end that an
    undisturbed run has: all pods have their route, none leads nowhere, and nothing is left to do."""
    operation = OPERATIONS[name]
    undisturbed = _undisturbed(network, operation)
    _begin(network, operation)
    write, before = operation.writes[number], operation.writes[:number]
    method, _, path = write.partition(" ")
    proxy = _proxy(network, write)
    passed = [False for other in before if _proxy(network, other) is proxy]
    proxy.set_faults(
        [{"kind": fault, "method": method, "path": f"{path}$", "skip": before.count(write), "count": None}]
    )

    with killed_at_the_end(network.start("--once")):
        wait_for(lambda: len(_writes(proxy)) > len(passed), f"write number {number + 1}, {write}")
    proxy.clear_faults()
    assert [entry.status == 0 for entry in _writes(proxy)][: len(passed) + 1] == [*passed, fault == "hang"]
    again = one_pass(network)

    assert (again["result"], notes(again)) == ("no_changes", {(f"route/7/{OF_SOMEBODY['destination']}", "foreign")})
    assert _end_state(network) == undisturbed
    assert one_pass(network)["changes"] == []


@pytest.mark.parametrize("command", ["delete_route", "add_route"])
def test_the_next_run_begins_while_what_the_killed_one_began_still_goes_on(
    a_stage: Callable[..., Stage], command: str
) -> None:
    """A network is locked while one of its routes changes: another run leaves it at that, and a later one goes on."""
    stage = a_stage(action_s=0.0, action_s_by_command={command: 3600.0})
    settle(stage, NODES)
    move_server(stage, 2, "10.0.0.55")
    with killed_at_the_end(stage.start("--once")):
        wait_for(lambda: any(entry.path.endswith(command) for entry in stage.written_to_hetzner()), command)

    early = one_pass(stage)
    stage.clock.advance(3600.0)
    later = one_pass(stage)

    assert (early["result"], early["summary"]["failed"], later["result"]) == ("partial", 0, "no_changes")
    assert routes(stage) == {pods_of(1): private_ip(1), pods_of(2): "10.0.0.55", pods_of(3): private_ip(3)}
    assert one_pass(stage)["changes"] == []
