"""Fixtures of the end-to-end lane: the shipped command against a real kube-apiserver."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hcloud_sandbox.hetzner import HetznerOptions
from tests.support.apiserver import ApiServer
from tests.support.objects import IN_NETWORK, joining_node, server
from tests.support.replicas import LEASE
from tests.support.stage import Stage


@pytest.fixture
def a_stage(api_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Stage]]:
    """Sets up a stage with an empty cluster and an empty project, which has the options that are given."""
    with ExitStack() as open_stages:

        def set_up(**options: Any) -> Stage:
            folder, ca_file = tmp_path_factory.mktemp("stage"), api_server.ca_file
            stage = Stage(api_server, folder, ca_file, HetznerOptions(**options))
            open_stages.callback(stage.close)
            stage.remove_nodes()
            stage.remove_services()
            stage.remove_config_map()
            return stage

        yield set_up


@pytest.fixture
def stage(a_stage: Callable[..., Stage]) -> Stage:
    """The stage with an empty cluster and an empty project."""
    return a_stage()


@pytest.fixture
def one_node(stage: Stage) -> Stage:
    """The stage with one Node that joins."""
    stage.have_servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    return stage


@pytest.fixture
def no_lease(api_server: ApiServer) -> Iterator[None]:
    """There is none at first, and none is left to others."""
    api_server.request("DELETE", LEASE)
    yield
    api_server.request("DELETE", LEASE)


@pytest.fixture
def balanced(a_stage: Callable[..., Stage]) -> Stage:
    """The stage with three Nodes in a private network, in a project whose actions have ended when they are answered."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    stage.have_nodes(3)
    return stage
