"""What goes because a server is gone needs the same proof, whatever it is: one list is not enough to empty a load
balancer, to remove a route, or to delete a Node."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import a_route_to, a_service, ago, notes_of_kind, seen
from tests.support.stage import Stage

NODES = 24
_ONE_PAGE = {"page": 1, "per_page": 50, "previous_page": None, "next_page": None, "last_page": 1, "total_entries": 0}
NO_MEMBERS: dict[str, Any] = {
    "kind": "status",
    "code": 200,
    "path": "/v1/networks/7/members",
    "body": {"members": [], "meta": {"pagination": _ONE_PAGE}},
    "count": None,
}
"""The network's list of members lags like the list of servers does."""


@pytest.fixture
def serving(stage: Stage) -> Stage:
    """Twenty-four Nodes, each a target of the one load balancer and with a route to its pods: nothing is left to do."""
    numbers = range(1, NODES + 1)
    stage.have_pods(NODES, *map(a_route_to, numbers))
    stage.have_services(a_service(use_private_ip="true"))
    one_pass(stage)
    assert set(targets(stage)) == set(numbers)
    stage.forget()
    return stage


def targets(stage: Stage) -> Mapping[int, str]:
    """Server id → how the only load balancer reaches it."""
    (balancer,) = stage.balancers()
    found: Mapping[int, str] = seen(balancer)["targets"]
    return found


def by_id(stage: Stage) -> list[str]:
    """Single servers that Hetzner was asked for, in order."""
    return [path for path in stage.questions() if path.startswith("/v1/servers/")]


def lose(stage: Stage, *numbers: int) -> None:
    """Every answer says that the servers of these Nodes are gone, though Hetzner has not dropped them as targets yet;
    their kubelets are silent for five minutes."""
    stage.project.set_faults([{"kind": "list_lacks", "path": "/servers", "ids": [*numbers], "count": None}])
    ids = "|".join(map(str, numbers))
    body = {"error": {"code": "not_found", "message": "server not found"}}
    gone = {"kind": "status", "code": 404, "path": f"/v1/servers/({ids})$", "body": body, "count": None}
    stage.hetzner_proxy.set_faults([NO_MEMBERS, gone])
    stage.set_ready(*(f"web-{number}" for number in numbers), ready="Unknown", since=ago(minutes=5))


@pytest.mark.parametrize(
    ("hidden", "first"),
    [
        pytest.param({}, 1, id="a list that is empty"),
        pytest.param({"ids": [*range(2, NODES + 1)]}, 2, id="a list that is short, and says that it is whole"),
    ],
)
def test_silent_nodes_and_one_list_without_their_servers_empty_nothing(
    serving: Stage, hidden: Mapping[str, Any], first: int
) -> None:
    """The kubelets fell silent just now, as behind a cut network, and one answer lacks the servers: a question by id
    finds them, so that no target and no route goes, and nothing is left over when the list is whole again."""
    before = targets(serving), serving.routes()
    serving.set_ready(*(f"web-{number}" for number in range(first, NODES + 1)), ready="Unknown")
    serving.project.set_faults([{"kind": "list_lacks", "path": "/servers", "count": None, **hidden}])
    serving.hetzner_proxy.set_faults([NO_MEMBERS])

    report = one_pass(serving, ONCE_AT_ANY_AGE)

    assert (targets(serving), serving.routes()) == before
    assert (serving.written_to_hetzner(), serving.deletions()) == ([], [])
    assert report["result"] == "incomplete"
    assert len(by_id(serving)) == 10

    serving.project.clear_faults()
    serving.hetzner_proxy.clear_faults()
    assert (one_pass(serving, ONCE_AT_ANY_AGE)["result"], targets(serving), serving.routes()) == ("no_changes", *before)


def test_nodes_that_are_gone_and_a_list_without_their_servers_empty_nothing(serving: Stage) -> None:
    """Somebody deleted the Nodes, and no Node claims what the list lacks: a target is asked for by its own id, a route
    by those that the network says are in it."""
    before = targets(serving), serving.routes()
    for number in (2, 3, 4):
        serving.delete_node(f"web-{number}")
    serving.project.set_faults([{"kind": "list_lacks", "path": "/servers", "count": None, "ids": [2, 3, 4]}])
    serving.hetzner_proxy.set_faults([NO_MEMBERS])

    one_pass(serving, ONCE_AT_ANY_AGE)

    assert (targets(serving), serving.routes(), serving.written_to_hetzner()) == (*before, [])
    assert sorted(by_id(serving)) == [f"/v1/servers/{number}" for number in (2, 3, 4)]


def test_target_route_and_node_of_a_server_that_is_gone_go_in_one_pass(serving: Stage) -> None:
    """The counter-proof: one question proves it for all three, the Node's deletion asks once more just before, and
    nobody is asked for a word."""
    lose(serving, 2)

    report = one_pass(serving, ONCE_AT_ANY_AGE)

    assert (report["result"], report["holds"]) == ("no_changes", [])
    left = {1, *range(3, NODES + 1)}
    assert set(targets(serving)) == left
    assert len(serving.routes()) == len(left)
    assert "web-2" not in serving.nodes()
    assert by_id(serving) == ["/v1/servers/2"] * 2


def test_more_dead_targets_than_questions_go_in_one_run(serving: Stage) -> None:
    """An autoscaler took 23 servers, and their Nodes with them: ten are asked for at a time, each once, and three
    passes take out what depends on them. A world in order costs no question."""
    dead = range(2, NODES + 1)
    lose(serving, *dead)
    for number in dead:
        serving.delete_node(f"web-{number}")

    report = one_pass(serving, ONCE_AT_ANY_AGE)

    assert (report["result"], report["holds"]) == ("no_changes", [])
    assert (set(targets(serving)), len(serving.routes())) == ({1}, 1)
    assert sorted(by_id(serving)) == sorted(f"/v1/servers/{number}" for number in dead)

    serving.forget()
    assert (one_pass(serving, ONCE_AT_ANY_AGE)["result"], by_id(serving)) == ("no_changes", [])


@pytest.mark.parametrize("number", [0, -1])
def test_a_type_that_takes_nothing_takes_nothing_away(serving: Stage, number: int) -> None:
    """Hetzner says that the type of the load balancer has room for no port, no target and no certificate, or for less:
    that is no limit, so that nothing goes and nothing is refused."""
    (balancer,) = serving.balancers()
    limits = dict.fromkeys(("max_services", "max_targets", "max_assigned_certificates", "max_connections"), number)
    serving.change_balancer(load_balancer_type={**balancer["load_balancer_type"], **limits})

    report = one_pass(serving, ONCE_AT_ANY_AGE)

    assert set(targets(serving)) == set(range(1, NODES + 1))
    assert [found["listen_port"] for found in serving.balancers()[0]["services"]] == [80]
    assert notes_of_kind(report, "limit") == []
    assert (report["result"], report["holds"]) == ("no_changes", [])
