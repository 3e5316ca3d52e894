"""Fixtures of whole passes on a simulated cluster and project. What an API server itself does to them is in the
end-to-end and contract lanes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hcloud_sandbox.hetzner import HetznerOptions
from tests.e2e.conftest import balanced, one_node, stage
from tests.support.in_process import one_pass
from tests.support.objects import a_service
from tests.support.stage import SimulatedCluster, Stage

__all__ = ["balanced", "one_node", "stage"]


@pytest.fixture
def a_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Stage]]:
    """Sets up a stage with an empty cluster and an empty project, which has the options that are given."""
    with ExitStack() as open_stages:

        def set_up(**options: Any) -> Stage:
            folder = tmp_path_factory.mktemp("stage")
            cluster = SimulatedCluster(folder)
            open_stages.callback(cluster.close)
            found = Stage(cluster, folder, None, HetznerOptions(**options))
            open_stages.callback(found.close)
            return found

        yield set_up


@pytest.fixture
def recorded(balanced: Stage) -> Stage:
    """The Service ``web`` has its load balancer, and the record has the id."""
    balanced.have_config_map()
    return _served(balanced)


@pytest.fixture
def served(balanced: Stage) -> Stage:
    """The Service ``web`` has its load balancer."""
    return _served(balanced)


@pytest.fixture
def network(a_stage: Callable[..., Stage]) -> Stage:
    """An empty cluster, and a project whose actions have ended when they are answered."""
    return a_stage(action_s=0.0)


def _served(stage: Stage) -> Stage:
    stage.have_services(a_service())
    one_pass(stage)
    stage.forget()
    return stage
