"""Fixtures of whole passes on a simulated cluster and project. What an API server itself does to them is in the
end-to-end and contract lanes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from desired.names import CONFIG_MAP
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
    balanced.to_cluster("POST", "/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": CONFIG_MAP}})
    balanced.have_services(a_service())
    one_pass(balanced)
    balanced.forget()
    return balanced


@pytest.fixture
def served(balanced: Stage) -> Stage:
    """The Service ``web`` has its load balancer."""
    balanced.have_services(a_service())
    one_pass(balanced)
    balanced.forget()
    return balanced
