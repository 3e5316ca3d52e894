"""The scheduler of a run: which tests one worker gets together, and that each test is run once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import _Lanes
from tests.support.rows import rows

CLUSTER = [
    "tests/cluster/test_scale.py::test_a",
    "tests/cluster/test_use.py::test_b[x]",
    "tests/cluster/test_use.py::test_c",
]
SPLIT = ["tests/e2e/test_kill.py::test_a[1]", "tests/e2e/test_kill.py::test_a[2]", "tests/e2e/test_kill.py::test_b"]
FILES = [f"tests/unit/test_{name}.py::test_{number}" for name in "abc" for number in range(4)]


@dataclass(eq=False)
class Worker:
    """The part of a worker that the scheduler speaks to; ``queue`` has what it is to run."""

    name: str
    queue: list[int] = field(default_factory=list)
    shutting_down: bool = False

    @property
    def gateway(self) -> SimpleNamespace:
        return SimpleNamespace(id=self.name)

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        assert not self.shutting_down
        self.queue += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def begun(tests: Sequence[str], *workers: Worker) -> _Lanes:
    """The scheduler of a run, as soon as all workers have collected these tests."""
    named: Any = {"tx": ["popen"] * len(workers)}
    config: Any = SimpleNamespace(getvalue=named.get, option=SimpleNamespace(loadscopereorder=False))
    scheduler = _Lanes(config, None)
    for worker in workers:
        scheduler.add_node(worker)
    for worker in workers:
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    return scheduler


def run(scheduler: _Lanes, tests: Sequence[str], *workers: Worker) -> Iterator[tuple[str, str]]:
    """Worker and test, as they are run by turns, to the end."""
    while any(worker.queue for worker in workers):
        for worker in workers:
            if worker.queue:
                index = worker.queue.pop(0)
                yield worker.name, tests[index]
                scheduler.mark_test_complete(worker, index)


@rows(
    "nodeid scope",
    {
        "a-file": ("tests/unit/test_a.py::test_x[1]", "tests/unit/test_a.py"),
        "a-file-of-the-simulators": ("sandbox/tests/test_a.py::test_x", "sandbox/tests/test_a.py"),
        "a-law": ("tests/property/test_bounds.py::test_x[1]", "tests/property/test_bounds.py"),
        "a-lane-with-one-cluster": ("tests/cluster/test_a.py::test_x[1]", "tests/cluster/"),
        "a-lane-with-one-browser": ("tests/browser/test_a.py::test_x", "tests/browser/"),
        "a-function": ("tests/e2e/test_a.py::test_x[1]", "tests/e2e/test_a.py::test_x"),
        "a-function-of-an-odd-row": ("tests/faults/test_a.py::test_x[a[0]::b]", "tests/faults/test_a.py::test_x"),
        "a-law-of-harm": ("tests/property/test_harm_a.py::test_x[1]", "tests/property/test_harm_a.py::test_x"),
    },
)
def test_what_is_run_together(nodeid: str, scope: str) -> None:
    assert begun([nodeid], Worker("a"))._split_scope(nodeid) == scope


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_each_test_is_run_once_and_each_scope_by_one_worker(count: int) -> None:
    """A worker runs a scope in one piece, and of what is done nothing is left to count."""
    tests = [*CLUSTER, *SPLIT, *FILES]
    workers = [Worker(str(number)) for number in range(count)]
    scheduler = begun(tests, *workers)
    ran = sorted(run(scheduler, tests, *workers), key=lambda each: each[0])
    assert sorted(test for _, test in ran) == sorted(tests)
    pieces = [key for key, _ in groupby((worker, scheduler._split_scope(test)) for worker, test in ran)]
    assert len(pieces) == len({scope for _, scope in pieces})
    assert scheduler.tests_finished
    assert not any(scheduler.assigned_work.values())


def test_a_worker_that_dies_leaves_its_scope_to_another() -> None:
    """Tests that it has run are not run again."""
    dies, lives = Worker("dies"), Worker("lives")
    tests = [*CLUSTER, *FILES]
    scheduler = begun(tests, dies, lives)
    ran = []
    for _ in range(2):
        index = dies.queue.pop(0)
        ran.append(tests[index])
        scheduler.mark_test_complete(dies, index)
    assert scheduler.remove_node(dies) == CLUSTER[2]
    ran += [test for _, test in run(scheduler, tests, lives)]
    assert sorted(ran) == sorted(tests)
