"""APIs that are gone for a while, under a whole controller on virtual time."""

from collections.abc import Iterator

import pytest

from tests.campaign.shell import Cluster, Replica
from tests.support.objects import joining_node, server
from tests.support.stage import is_initialised

GONE_S = 300.0
AT_FIRST, A_SECOND = 15, 0.6
"""Most requests to an API in trouble: at the very beginning, and then on average."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(1, {"--request-timeout": "1s"})
    made.world.settle(1)
    yield made
    made.close()


@pytest.mark.parametrize("fault", ["reset", "401", "429", "lost"])
@pytest.mark.parametrize("gone", [("kubernetes", "lease"), ("kubernetes",), ("hetzner",)], ids="-".join)
def test_an_api_in_trouble_is_not_hammered_and_work_goes_on_afterwards(
    cluster: Cluster, gone: tuple[str, ...], fault: str
) -> None:
    sent = []

    def meets(_: Replica, api: str, method: str, path: str) -> str:
        if api not in gone:
            return ""
        sent.append(f"{method} {path}")
        return fault

    replica = Replica(cluster, "replica")
    replica.start()
    cluster.scheduler.sleep(60.0)
    assert set(replica.reports) == {"no_changes"}
    cluster.meets = meets
    cluster.scheduler.sleep(GONE_S)
    assert 0 < len(sent) <= AT_FIRST + A_SECOND * GONE_S

    cluster.meets = lambda *_: ""
    cluster.world.add_servers(server(2, "late"))
    cluster.world.register(joining_node("late"))
    cluster.scheduler.sleep(90.0)
    assert is_initialised(cluster.world.nodes()["late"])
    assert cluster.wrongs == []
