"""Fixtures of the cluster lane: the shipped command in a cluster with controllers, a scheduler and kubelets."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hcloud_sandbox.hetzner import HetznerOptions
from tests.support.assets import needed
from tests.support.control_plane import BRISK, PROGRAMS, ControlPlane, start_control_plane
from tests.support.living_cluster import LivingCluster
from tests.support.measured import Stopwatch
from tests.support.stage import Stage

RATE_LIMIT = 1_000_000
"""Requests an hour: tests look at the project all the time, and no limit is tested here."""


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The cluster of this run, for all of its tests, one after another. A start costs ten seconds and 0.6 GB."""
    for script in PROGRAMS:
        needed(script)
    started = start_control_plane(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


@pytest.fixture
def a_cluster(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., LivingCluster]]:
    """Sets up an empty cluster and an empty project, which has the options that are given."""
    with ExitStack() as open_stages:

        def set_up(**options: Any) -> LivingCluster:
            project = HetznerOptions(rate_limit=RATE_LIMIT, **options)
            api_server = control_plane.api_server
            stage = Stage(api_server, tmp_path_factory.mktemp("stage"), api_server.ca_file, project)
            open_stages.callback(stage.close)
            return LivingCluster(stage, api_server)

        yield set_up


@pytest.fixture
def cluster(control_plane: ControlPlane, a_cluster: Callable[..., LivingCluster]) -> LivingCluster:
    """The empty cluster and the empty project, in which silent kubelets are noticed after six seconds."""
    control_plane.run_with(BRISK)
    return a_cluster()


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Stopwatch:
    """How long what is waited for takes; told at the end of the run."""
    return Stopwatch(record_property)
