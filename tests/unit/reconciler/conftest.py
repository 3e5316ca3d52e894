"""Worlds for whole passes, and a log that is as it was."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import Run
from tests.support.said import logging_as_before
from tests.support.simulators import Simulation

NETWORK = {"id": 7, "name": "net", "ip_range": "10.0.0.0/16"}


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """What a command sets up of logging lasts no longer than its test."""
    with logging_as_before():
        yield


@pytest.fixture
def joining(simulate: Callable[..., Simulation]) -> Run:
    """Two Nodes that join, and their servers."""
    return Run(
        simulate(
            nodes=[joining_node("web-1"), joining_node("web-2")],
            project={"servers": [server(1, "web-1"), server(2, "web-2")], "networks": [NETWORK]},
        )
    )


@pytest.fixture
def elsewhere(simulate: Callable[..., Simulation]) -> Run:
    """One Node that joins, and a Ready one whose server is not in the project."""
    return Run(
        simulate(
            nodes=[joining_node("web-1"), settled_node("old-1", 98), settled_node("old-2", 99)],
            project={"servers": [server(1, "web-1")]},
        )
    )
