"""Fixtures of the end-to-end lane: the shipped command against a real kube-apiserver."""

from collections.abc import Iterator

import pytest

from tests.support.apiserver import OwnApiServer, start_api_server
from tests.support.stage import Stage


@pytest.fixture(scope="session")
def real_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnApiServer]:
    """A real API server for the end-to-end tests of this worker: they count the Nodes of the whole cluster."""
    server = start_api_server(tmp_path_factory.mktemp("e2e") / "apiserver")
    yield server
    server.stop()


@pytest.fixture
def stage(real_cluster: OwnApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The stage with an empty cluster and an empty project."""
    stage = Stage(real_cluster, tmp_path_factory.mktemp("stage"), real_cluster.ca_file)
    stage.remove_nodes()
    yield stage
    stage.close()
