"""All machines of a cluster are replaced, one after the other, while people use what runs on them."""

import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

from tests.support.controller import running
from tests.support.living_cluster import BRISKLY, LivingCluster
from tests.support.measured import DEADLINE_S, Stopwatch
from tests.support.stage import wait_for

SIZE, PODS = 10, 4
OLD = [f"old-{number}" for number in range(SIZE)]
NEW = [f"new-{number}" for number in range(SIZE)]
SERVICES = ("web", "api")
LOOK_EVERY_S = 0.2


@dataclass
class _Seen:
    """What users of the Services could see, look by look."""

    looks: list[float] = field(default_factory=list)
    """When they looked, in seconds of this process's clock."""
    fewest: dict[str, int] = field(default_factory=dict)
    """Service → the fewest targets that answered, and Service and "pods" → the fewest pods that were ready."""

    def look(self, cluster: LivingCluster) -> None:
        self.looks.append(time.monotonic())
        for app in SERVICES:
            answering = sum(cluster.targets(app).values())
            for what, count in ((app, answering), (f"pods of {app}", len(cluster.pods_run_on(app)))):
                self.fewest[what] = min(count, self.fewest.get(what, count))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_service_always_has_somewhere_to_lead_while_all_nodes_are_replaced(
    cluster: LivingCluster, measured: Stopwatch
) -> None:
    """A new machine joins, an old one is drained and deleted as soon as the new Node is open: nobody waits for load
    balancers. Both Services answer all the time, and in the end nothing is left of the old machines."""
    with running(cluster.stage, *BRISKLY):
        for app in SERVICES:
            cluster.deploy(app, PODS)
            cluster.expose(app)
        cluster.join(*OLD)
        for app in SERVICES:
            wait_for(partial(cluster.serves, app, OLD), f"targets of {app}", within_s=DEADLINE_S)
            wait_for(partial(cluster.runs, app, PODS), f"pods of {app}", within_s=DEADLINE_S)

        measured.start()
        with _users(cluster) as seen:
            for old, new in zip(OLD, NEW, strict=True):
                cluster.join(new)
                wait_for(partial(cluster.is_open, new), f"{new} to be open", within_s=DEADLINE_S)
                cluster.drain(old)
                cluster.delete_server(old)
            measured.wait_for(
                {
                    "replaced: Nodes": lambda: cluster.stage.nodes().keys() == set(NEW),
                    "routes": lambda: all(map(cluster.is_routed, NEW)) and len(cluster.stage.routes()) == SIZE,
                    "targets": lambda: all(cluster.serves(app, NEW) for app in SERVICES),
                    "pods": lambda: all(cluster.runs(app, PODS) for app in SERVICES),
                }
            )

    longest = max(after - before for before, after in itertools.pairwise(seen.looks))
    measured.note(f"in {len(seen.looks)} looks, {longest:.1f} s apart at most, at least {seen.fewest}")
    assert 0 not in seen.fewest.values()


@contextmanager
def _users(cluster: LivingCluster) -> Iterator[_Seen]:
    """People look several times a second whether the Services answer."""
    seen, have_left = _Seen(), threading.Event()

    def keep_looking() -> None:
        while not have_left.wait(LOOK_EVERY_S):
            seen.look(cluster)

    with ThreadPoolExecutor(1) as people:
        looking = people.submit(keep_looking)
        try:
            yield seen
        finally:
            have_left.set()
        looking.result()
