"""Routes that an evening of attack took away from their owners stay, on a real API server."""

from tests.support.in_process import one_pass
from tests.support.objects import ROUTED, a_route_to, a_server_of, by_key, pods_of, private_ip
from tests.support.stage import Stage


def test_a_strangers_route_to_a_living_server_is_not_replaced_without_approval(network: Stage) -> None:
    """Somebody leads the pods of web-1 through a server of his own. It stays, pass after pass, until a person has said
    that it may go; what other Nodes ask for does not wait for that."""
    network.settle(4)
    network.add_servers(a_server_of(90))
    network.have_routes(a_route_to(1, 90), a_route_to(2, 3), a_route_to(3), a_route_to(4))
    theirs = f"route/7/{pods_of(1)}"

    held, again = one_pass(network), one_pass(network)

    assert network.routes() == {pods_of(1): private_ip(90)} | {pods_of(n): private_ip(n) for n in (2, 3, 4)}
    assert [by_key(report)[theirs]["rule"] for report in (held, again)] == ["route-blast-radius"] * 2
    assert network.all_say() == dict.fromkeys(("web-1", "web-2", "web-3", "web-4"), ROUTED)

    (hold,) = again["holds"]
    assert (hold["keys"], hold["value"], hold["limit"]) == ([theirs], "1", "0")
    approved = network.reconcile("--once", "--approve", hold["hash"], "--output", "json").report
    assert approved["result"] == "no_changes"
    assert network.routes()[pods_of(1)] == private_ip(1)


def test_an_approval_takes_a_strangers_route_once(network: Stage) -> None:
    """A person approves that the route of nobody goes. It comes back within the time of the approval, and stays."""
    network.settle(4)
    network.add_servers(a_server_of(90))
    theirs = a_route_to(9, 90)
    network.have_routes(theirs, *(a_route_to(n) for n in range(1, 5)))
    (hold,) = one_pass(network)["holds"]
    network.reconcile("approve", hold["hash"], "--yes")
    one_pass(network)
    assert pods_of(9) not in network.routes()

    network.have_routes(theirs, *(a_route_to(n) for n in range(1, 5)))
    one_pass(network)

    assert pods_of(9) in network.routes()
