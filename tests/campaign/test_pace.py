"""The whole controller in simulated time, beside a client that leaves little of the project's rate limit."""

from collections.abc import Iterator

import pytest

from tests.campaign.shell import Cluster, Replica
from tests.campaign.year import ENVIRONMENT
from tests.support.objects import a_service

HOUR_S = 3600.0
LIMIT = 3600


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three Nodes in order, and a Service."""
    sharing = {"--interval": "60s", "--share-rate-limit": "true"}
    made = Cluster(1, {**ENVIRONMENT, **sharing}, rate_limit=LIMIT)
    made.world.settle(3)
    made.world.have_services(a_service())
    yield made
    made.close()


def leave(cluster: Cluster, left: int) -> None:
    """Another client takes whatever there is above that, each second."""
    bucket = cluster.world.hetzner._bucket

    def take() -> None:
        while True:
            while int(bucket.headers()["RateLimit-Remaining"]) > left:
                bucket.take()
            cluster.scheduler.sleep(1.0)

    cluster.scheduler.start_process("greedy", take)


def asked_of_hetzner(cluster: Cluster) -> int:
    return sum(calls for (_, api), calls in cluster.calls.items() if api == "hetzner")


@pytest.mark.parametrize("left", [pytest.param(144, id="a twenty-fifth"), pytest.param(7, id="hardly anything")])
def test_events_are_served_while_nothing_else_is(cluster: Cluster, left: int) -> None:
    """A pass an hour and a few questions, and a Service that goes is cleaned up after at once."""
    replica = Replica(cluster, "replica")
    replica.start()
    cluster.scheduler.sleep(600.0)
    leave(cluster, left)
    cluster.scheduler.sleep(120.0)
    before, asked = replica.reports.total(), asked_of_hetzner(cluster)

    cluster.scheduler.sleep(3 * HOUR_S)

    assert replica.reports.total() - before in (3, 4)
    assert asked_of_hetzner(cluster) - asked <= 3 * 10
    cluster.world.delete_service()
    cluster.scheduler.sleep(90.0)
    assert cluster.world.balancers() == []
    assert set(replica.reports) == {"no_changes"}
    assert cluster.wrongs == []
