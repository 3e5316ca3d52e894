"""What load balancers cost: the requests to Hetzner of whole passes, counted."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.support.balancer_cluster import (
    IN_NETWORK,
    a_server_of,
    a_service,
    asked_of_hetzner,
    balancers,
    have_nodes,
    have_services,
    ingress,
    read_of_hetzner,
    seen,
    service_in,
    services,
)
from tests.support.in_process import one_pass
from tests.support.lifecycle import add_servers
from tests.support.objects import joining_node
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
    have_nodes(stage, 20)
    have_services(stage, a_service("web", 80, 443))
    stage.forget()

    ran = stage.reconcile("--once", "--output", "json")

    reads = Counter(read_of_hetzner(stage))
    (balancer,) = balancers(stage)
    assert (ran.code, ran.report["result"], len(ingress(service_in(stage)))) == (0, "no_changes", 3)
    assert [len(seen(balancer)[part]) for part in ("ports", "targets", "private")] == [2, 20, 1]
    assert asked_of_hetzner(stage) == ["POST load_balancers"]
    assert reads.pop("actions") in {1, 2}
    assert reads == READS | {"load_balancers": 2, "load_balancer_types": 1, "pricing": 1}


@pytest.fixture
def twenty(a_stage: Callable[..., Stage]) -> Stage:
    """Twenty Services with a load balancer each, and three Nodes. A target takes its time, all else none."""
    stage = a_stage(action_s=0.0, action_s_by_command={"add_target": 0.3})
    stage.environment |= IN_NETWORK
    have_nodes(stage, 3)
    have_services(stage, *(a_service(f"web-{number}") for number in range(SERVED)))
    assert one_pass(stage)["summary"]["applied"] == 3 * SERVED
    assert len(asked_of_hetzner(stage)) == SERVED
    stage.forget()
    return stage


def test_a_pass_with_nothing_to_do(twenty: Stage) -> None:
    """A page of servers, one of load balancers, the network, whatever the number of Services; and nothing written."""
    report = one_pass(twenty)

    assert (report["result"], report["changes"], len(balancers(twenty))) == ("no_changes", [], SERVED)
    assert Counter(read_of_hetzner(twenty)) == READS
    assert (asked_of_hetzner(twenty), twenty.writes()) == ([], [])


def test_a_node_joins(twenty: Stage) -> None:
    """One target more for each of the twenty load balancers, in the round in which the Node is initialized: polls that
    they share, one list afterwards, and no other write to Hetzner or to a Service."""
    before = services(twenty)
    add_servers(twenty, a_server_of(4))
    twenty.register(joining_node("web-4"))

    ran = twenty.reconcile("--once", "--output", "json")

    reads = Counter(read_of_hetzner(twenty))
    assert (ran.code, ran.report["result"], ran.report["summary"]["applied"]) == (0, "no_changes", SERVED + 1)
    assert is_initialised(twenty.nodes()["web-4"])
    assert [sorted(seen(balancer)["targets"]) for balancer in balancers(twenty)] == [[1, 2, 3, 4]] * SERVED
    assert asked_of_hetzner(twenty) == ["POST add_target"] * SERVED
    assert reads.pop("actions") < SERVED / 2
    assert reads == READS | {"load_balancers": 2}
    assert services(twenty) == before
    assert sorted(entry.path for entry in twenty.writes()) == ["/api/v1/nodes/web-4", "/api/v1/nodes/web-4/status"]


@pytest.mark.parametrize(("options", "more"), [({}, {}), (HTTPS, {"certificates": 1})], ids=["tcp", "https"])
def test_certificates_are_listed_only_when_one_is_asked_for(
    a_stage: Callable[..., Stage], options: dict[str, str], more: dict[str, int]
) -> None:
    """By an idle pass; the types, which never change for a load balancer that has the wanted one, are not."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    have_nodes(stage, 1, certificates=[{"id": 5, "name": "shop"}])
    have_services(stage, a_service("web", 443, **options))
    assert one_pass(stage)["result"] == "no_changes"
    stage.forget()

    one_pass(stage)

    assert (Counter(read_of_hetzner(stage)), asked_of_hetzner(stage)) == (READS | more, [])


def test_a_cluster_without_such_services_does_not_ask_for_load_balancers(balanced: Stage) -> None:
    """Nor for certificates: what issue after issue adds costs nobody who does not use it."""
    plain = a_service()
    plain["spec"]["type"] = "ClusterIP"
    have_services(balanced, plain)

    one_pass(balanced)

    assert Counter(read_of_hetzner(balanced)) == {"servers": 1, "networks": 1}
