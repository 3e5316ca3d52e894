"""Memory of passes: a report that is let go of takes its world along, so that a second one is never kept beside it."""

import gc
from collections import Counter
from collections.abc import Callable

import pytest

from desired.load_balancers.membership import NodeTarget
from desired.model.snapshot import Node, Snapshot
from tests.balancers import IN_NETWORK
from tests.support.passes import a_balanced_run, outcomes
from tests.support.simulators import Simulation


def worlds() -> list[object]:
    return [each for each in gc.get_objects() if isinstance(each, Node | NodeTarget | Snapshot)]


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_pass_leaves_no_world_to_a_collection(simulate: Callable[..., Simulation], *, is_refused: bool) -> None:
    """Circles through targets, and through the frames of a refusal, kept several worlds until Python looked."""
    run = a_balanced_run(simulate, settings=IN_NETWORK)
    if is_refused:
        body = {"error": {"code": "forbidden", "message": "no"}}
        run.sim.spoil_hetzner("status", method="POST", path="/v1/load_balancers$", code=403, body=body, count=None)
    gc.collect()
    before = set(map(id, worlds()))
    gc.disable()
    try:
        report = run.converge()
        assert ("Failed" in {each.__name__ for each in outcomes(report).values() if each}) is is_refused
        del report
        left = Counter(type(each).__name__ for each in worlds() if id(each) not in before)
    finally:
        gc.enable()
    assert left == Counter()
