"""Fixtures of the fault lane: the shipped command against simulators, which is fast."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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
