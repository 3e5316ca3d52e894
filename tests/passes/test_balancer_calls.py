"""What load balancers cost: the requests to Hetzner of whole passes, counted."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import IN_NETWORK, a_server_of, a_service, ingress, joining_node, seen
from tests.support.stage import Stage, is_initialised

READS = {"servers": 1, "networks": 1, "load_balancers": 1}
"""Of a pass that finds nothing to do: a page of each."""
SERVED = 20
HTTPS = {"protocol": "https", "http_certificates": "shop"}


def test_creating_a_load_balancer(a_stage: Callable[..., Stage]) -> None:
    """With 2 ports, 20 targets and a network: one creation, one or two polls of its action, one list afterwards;
    before that the reads of every pass, the types, as nothing is known of the one that it gets, and the currency."""
    stage = a_stage(action_s=0.3)
    stage.environment |= IN_NETWORK
    stage.have_nodes(20)
    stage.have_services(a_service("web", 80, 443))
    stage.forget()

    ran = stage.reconcile("--once", "--output", "json")

    reads = Counter(stage.read_of_hetzner())
    (balancer,) = stage.balancers()
    assert (ran.code, ran.report["result"], len(ingress(stage.service()))) == (0, "no_changes", 3)
    assert [len(seen(balancer)[part]) for part in ("ports", "targets", "private")] == [2, 20, 1]
    assert stage.asked_of_hetzner() == ["POST load_balancers"]
    assert reads.pop("actions") in {1, 2}
    assert reads == READS | {"load_balancers": 2, "load_balancer_types": 1, "pricing": 1}


@pytest.fixture
def twenty(a_stage: Callable[..., Stage]) -> Stage:
    """Twenty Services with a load balancer each, and three Nodes. A target takes its time, all else none."""
    stage = a_stage(action_s=0.0, action_s_by_command={"add_target": 0.3})
    stage.environment |= IN_NETWORK
    stage.have_nodes(3)
    stage.have_services(*(a_service(f"web-{number}") for number in range(SERVED)))
    assert one_pass(stage)["summary"]["applied"] == 3 * SERVED
    assert len(stage.asked_of_hetzner()) == SERVED
    stage.forget()
    return stage


def test_a_pass_with_nothing_to_do(twenty: Stage) -> None:
    """A page of servers, one of load balancers, the network, whatever the number of Services; and nothing written."""
    report = one_pass(twenty)

    assert (report["result"], report["changes"], len(twenty.balancers())) == ("no_changes", [], SERVED)
    assert Counter(twenty.read_of_hetzner()) == READS
    assert (twenty.asked_of_hetzner(), twenty.writes()) == ([], [])


def test_a_node_joins(twenty: Stage) -> None:
    """One target more for each of the twenty load balancers, in the pass in which the Node is initialized: polls that
    they share, one list afterwards, and no other write to Hetzner or to a Service."""
    before = twenty.services()
    twenty.add_servers(a_server_of(4))
    twenty.register(joining_node("web-4"))

    ran = twenty.reconcile("--once", "--output", "json")

    reads = Counter(twenty.read_of_hetzner())
    assert (ran.code, ran.report["result"], ran.report["summary"]["applied"]) == (0, "no_changes", SERVED + 1)
    assert is_initialised(twenty.nodes()["web-4"])
    assert [sorted(seen(balancer)["targets"]) for balancer in twenty.balancers()] == [[1, 2, 3, 4]] * SERVED
    assert twenty.asked_of_hetzner() == ["POST add_target"] * SERVED
    assert reads.pop("actions") < SERVED / 2
    assert reads == READS | {"load_balancers": 2}
    assert twenty.services() == before
    assert sorted(entry.path for entry in twenty.writes()) == ["/api/v1/nodes/web-4", "/api/v1/nodes/web-4/status"]


@pytest.mark.parametrize(("options", "more"), [({}, {}), (HTTPS, {"certificates": 1})], ids=["tcp", "https"])
def test_certificates_are_listed_only_when_one_is_asked_for(
    a_stage: Callable[..., Stage], options: dict[str, str], more: dict[str, int]
) -> None:
    """By an idle pass; the types, which never change for a load balancer that has the wanted one, are not."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    stage.have_nodes(1, certificates=[{"id": 5, "name": "shop"}])
    stage.have_services(a_service("web", 443, **options))
    assert one_pass(stage)["result"] == "no_changes"
    stage.forget()

    one_pass(stage)

    assert (Counter(stage.read_of_hetzner()), stage.asked_of_hetzner()) == (READS | more, [])


def test_a_cluster_without_such_services_does_not_ask_for_load_balancers(balanced: Stage) -> None:
    """Nor for certificates: what issue after issue adds costs nobody who does not use it."""
    plain = a_service()
    plain["spec"]["type"] = "ClusterIP"
    balanced.have_services(plain)

    one_pass(balanced)

    assert Counter(balanced.read_of_hetzner()) == {"servers": 1, "networks": 1}
