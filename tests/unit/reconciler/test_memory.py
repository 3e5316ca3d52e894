"""Memory of passes: a report that is let go of takes its world along, so that a second one is never kept beside it, and
what a controller loads."""

import gc
import subprocess
import sys
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


def test_a_controller_loads_nothing_that_only_people_need() -> None:
    """No wrapping, template or capture file; import-linter allows those that a function imports."""
    code = (
        "import sys, reconciler.cli.run, reconciler.controller\n"
        "heavy = ['rich', 'jinja2', 'markupsafe', 'deepdiff', 'reconciler.capture', 'reconciler.page.page']\n"
        "sys.stdout.write(' '.join(module for module in heavy if module in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == ""
