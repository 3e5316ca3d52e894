"""A run that dies at any single write for a route is finished by the next one.

In the middle of a swap a run always dies, however few crashes are tried: nobody reaches the pods then.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.crashing import Operation, crashes, dies_at, wrote_as_expected
from tests.support.in_process import one_pass
from tests.support.objects import ROUTED, a_route_to, a_server_of, notes, pods_of, private_ip
from tests.support.stage import Stage, killed_at_the_end, wait_for

NODES = 3
ADD, REMOVE = (f"POST /v1/networks/7/actions/{call}" for call in ("add_route", "delete_route"))
OF_SOMEBODY = {"destination": "10.8.0.0/24", "gateway": "10.0.0.254"}


def _status(number: int) -> str:
    """The write of the status of ``web-NUMBER``."""
    return f"PATCH /api/v1/nodes/web-{number}/status"


def _more_nodes(stage: Stage) -> None:
    stage.register(*(stage.a_pod_node(number) for number in (4, 5)))
    stage.add_servers(a_server_of(4), a_server_of(5))


def _fewer_nodes(stage: Stage) -> None:
    for number in (2, 3):
        stage.delete_node(f"web-{number}")
    stage.remove_servers(2, 3)


OPERATIONS = {
    "create": Operation(_more_nodes, (ADD, _status(4), ADD, _status(5))),
    "replace one led astray": Operation(
        lambda stage: stage.have_routes(OF_SOMEBODY, a_route_to(1), a_route_to(2, 3), a_route_to(3)), (REMOVE, ADD)
    ),
    "exchange two": Operation(
        lambda stage: stage.have_routes(OF_SOMEBODY, a_route_to(1), a_route_to(2, 3), a_route_to(3, 2)),
        (REMOVE, ADD, REMOVE, ADD),
    ),
    "follow a server": Operation(lambda stage: stage.move_server(2, "10.0.0.55"), (_status(2), REMOVE, ADD)),
    "delete": Operation(_fewer_nodes, (REMOVE, REMOVE)),
}


IN_THE_MIDDLE = ("follow a server", OPERATIONS["follow a server"].writes.index(ADD), "hang")


@pytest.fixture
def network(a_stage: Callable[..., Stage]) -> Stage:
    """An empty cluster, and a project whose actions have ended when they are answered."""
    return a_stage(action_s=0.0)


def _begin(stage: Stage, operation: Operation) -> None:
    """The world before the operation, and then what happens."""
    stage.remove_nodes()
    stage.settle(NODES)
    stage.have_routes(OF_SOMEBODY, *map(a_route_to, range(1, NODES + 1)))
    operation.happens(stage)
    stage.forget()


def _end_state(stage: Stage) -> Any:
    """Everything of routes and Nodes that does not differ from run to run."""
    addresses = {name: node["status"]["addresses"] for name, node in stage.nodes().items()}
    return sorted(stage.routes().items()), stage.all_say(), addresses


def _undisturbed(stage: Stage, operation: Operation) -> Any:
    """How the operation ends when nothing goes wrong. Its writes are those that it is said to have."""
    _begin(stage, operation)
    assert one_pass(stage)["result"] == "no_changes"
    assert wrote_as_expected(stage, operation)
    ended = _end_state(stage)
    assert (OF_SOMEBODY["destination"], OF_SOMEBODY["gateway"]) in ended[0]
    assert set(ended[1].values()) == {ROUTED}
    return ended


@pytest.mark.parametrize(("name", "number", "fault"), [*crashes(OPERATIONS, IN_THE_MIDDLE)])
def test_kill_9_at_a_write_then_once_ends_in_the_same_state(network: Stage, name: str, number: int, fault: str) -> None:
    """Killed at its n-th write, carried out or not, a run leaves what the next one brings to the end that an
    undisturbed run has: all pods have their route, none leads nowhere, and nothing is left to do."""
    operation = OPERATIONS[name]
    undisturbed = _undisturbed(network, operation)
    _begin(network, operation)
    dies_at(network, operation, number, fault)
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
    stage.settle(NODES)
    stage.move_server(2, "10.0.0.55")
    with killed_at_the_end(stage.start("--once")):
        wait_for(lambda: any(entry.path.endswith(command) for entry in stage.written_to_hetzner()), command)

    early = one_pass(stage)
    stage.clock.advance(3600.0)
    later = one_pass(stage)

    assert (early["result"], early["summary"]["failed"], later["result"]) == ("partial", 0, "no_changes")
    assert stage.routes() == {pods_of(1): private_ip(1), pods_of(2): "10.0.0.55", pods_of(3): private_ip(3)}
    assert one_pass(stage)["changes"] == []
