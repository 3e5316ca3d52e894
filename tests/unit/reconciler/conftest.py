"""Worlds for whole passes."""

from collections.abc import Callable

import pytest

from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import Run
from tests.support.simulators import Simulation

NETWORK = {"id": 7, "name": "net", "ip_range": "10.0.0.0/16"}


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
