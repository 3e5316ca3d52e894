"""Fixtures of the fault lane: the shipped command against simulators, which is fast."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.objects import joining_node, server
from tests.support.stage import SimulatedCluster, Stage


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SimulatedCluster]:
    cluster = SimulatedCluster(tmp_path)
    yield cluster
    cluster.close()


@pytest.fixture
def stage(cluster: SimulatedCluster, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(cluster, tmp_path, None)
    yield stage
    stage.close()


@pytest.fixture
def joining(stage: Stage) -> Stage:
    """A cluster in which one Node joins, and a Lease that writers take."""
    stage.environment["RECONCILER_LEADER_ELECT"] = "true"
    stage.have_servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    return stage


def assert_untouched(stage: Stage) -> None:
    """Nothing was written, not even the Lease."""
    assert stage.writes() == []
    assert stage.written_to_hetzner() == []
