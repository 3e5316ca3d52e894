"""Fixtures of the field lane: the world of somebody's cluster, and the product on it."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.stage import SimulatedCluster, Stage

FOLDER = Path(__file__).parent


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Callable[[str], Stage]]:
    """Puts one file of this folder, named without ``.json``, on a stage: both simulators have its objects."""
    with ExitStack() as running:

        def put(name: str) -> Stage:
            world = json.loads((FOLDER / f"{name}.json").read_text())
            cluster = running.enter_context(closing(SimulatedCluster(tmp_path)))
            cluster.simulator.replace_world(world["kubernetes"])
            stage = running.enter_context(closing(Stage(cluster, tmp_path, None)))
            stage.project.replace_world(world["hetzner"])
            stage.project.node_ports(cluster.simulator.families_of)
            return stage

        yield put
