"""The controller for a long time in a cluster that never rests, with APIs that fail at random.

``SOAK_MINUTES`` says for how long, ``PROPERTY_SEED`` what happens; ``scripts/soak`` runs 20 minutes.
"""

import os
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import pytest

from actuators.apply import PARALLEL_CHANGES
from desired.plan.kinds import Api
from hcloud_sandbox.proxy import FaultProxy
from tests.support.apiserver import ApiServer
from tests.support.churn import Churn
from tests.support.held import Held, held_by
from tests.support.replicas import replicas
from tests.support.sampling import SEED
from tests.support.stage import Stage

SECONDS = 60 * float(os.environ.get("SOAK_MINUTES", "0.1"))
LONG_S = 300.0
"""A run that is shorter says nothing of what grows: the pools of threads and connections are still being filled."""
SETTLES_S = 180.0
"""How long everything may take to be in order after the last fault: what failed is tried again after a minute."""
STEP_S = 0.5
FAULTS_EVERY, RESTARTS_EVERY = 10, 400
"""Steps after which the APIs change for the better or the worse, and after which the API server is restarted."""
USUAL_DEADLINES = {
    "RECONCILER_LEADER_ELECT_LEASE_DURATION": "15s",
    "RECONCILER_LEADER_ELECT_RENEW_DEADLINE": "10s",
    "RECONCILER_LEADER_ELECT_RETRY_PERIOD": "2s",
}
GROWTH = 1.1
"""Of memory, in the last third of the time."""
SLACK = 2
"""So many threads and files more may happen to be in use."""
MOST_THREADS = 80
"""All pools full at once, and some more."""
MOST_CONNECTIONS = {"kubernetes": PARALLEL_CHANGES[Api.KUBERNETES] + 4, "hetzner": PARALLEL_CHANGES[Api.HETZNER] + 4}
"""One for each change that may be under way, and besides: two watches, the Lease's own, and one that is just being
opened. What is under way here may be answered there already, so that the APIs' own count says too little. A pool keeps
what it once needed at once, so that its size at rest grows with the busiest moment so far: what bounds it is this."""
MOST_READS_A_SECOND, AT_FIRST = 2.0, 20
"""Of one API, on average; and so many more for the beginning."""
LOOP = (
    *("run", "--interval", "20s", "--request-timeout", "3s", "--log-format", "json"),
    *("--delete-min-age", "0s", "--delete-not-ready-for", "0s"),
)


@pytest.mark.timeout(SECONDS + SETTLES_S + 120)
def test_the_controller_outlives_churn_under_faults(a_stage: Callable[..., Stage], api_server: ApiServer) -> None:
    """When the faults end all is as it should be, and the process holds no more than it did before."""
    stage = a_stage(rate_limit=36_000)
    stage.have_pods(0)
    with replicas(stage, api_server.ca_file, "controller") as (controller,):
        apis = {"kubernetes": controller.kubernetes, "hetzner": controller.hetzner}
        churn = Churn(stage, SEED, list(apis.values()))
        ports = {urlsplit(proxy.url).port or 0: host for host, proxy in apis.items()}
        controller.start(*LOOP, **USUAL_DEADLINES)
        controller.waits_for_lead()
        samples = _churned(lambda: held_by(controller.process.pid, ports), churn, api_server)
        reads = {host: _reads(proxy) for host, proxy in apis.items()}
        kept = {host: max(sample.connections[port] for sample in samples) for port, host in ports.items()}
        needed = {host: proxy.most_at_once for host, proxy in apis.items()}
        churn.calm()
        left = _unsettled_in(churn, SETTLES_S)
        ended, told = controller.process.poll(), controller.stderr

    print(  # noqa: T201
        f"\n{SECONDS:.0f} s: {dict(churn.done)}\n{_figures(samples)}\n"
        f"connections: {kept}, at once under way: {needed}; reads: {reads}"
    )
    if left:  # the last passes say why
        print("\n".join(told.splitlines()[-60:]))  # noqa: T201
    assert (ended, left) == (None, [])
    assert "internal error" not in told
    assert "Traceback" not in told
    assert max(reads.values()) <= AT_FIRST + MOST_READS_A_SECOND * SECONDS
    assert max(sample.threads for sample in samples) <= MOST_THREADS
    assert {host: count for host, count in kept.items() if count > MOST_CONNECTIONS[host]} == {}
    if SECONDS >= LONG_S:
        middle, last = _thirds(samples)
        assert _mean_kb(last) <= GROWTH * _mean_kb(middle)
        assert all(now <= then + SLACK for now, then in zip(_at_rest(last), _at_rest(middle), strict=True))


def _churned(held: Callable[[], Held | None], churn: Churn, cluster: ApiServer) -> list[Held]:
    """Let things happen for as long as the test takes; what the process held meanwhile, twice a second, or until it
    was no more."""
    pause = threading.Event()
    began = time.monotonic()
    samples: list[Held] = []
    while time.monotonic() < began + SECONDS and (now := held()) is not None:
        samples.append(now)
        churn.step()
        if len(samples) % FAULTS_EVERY == 0:
            churn.faults()
        if len(samples) % RESTARTS_EVERY == RESTARTS_EVERY - 1:
            cluster.restart()
        pause.wait(began + len(samples) * STEP_S - time.monotonic())
    return samples


def _unsettled_in(churn: Churn, seconds: float) -> list[str]:
    """What is not as it should be after so long; nothing as soon as all is."""
    pause = threading.Event()
    until = time.monotonic() + seconds
    while (left := churn.unsettled()) and time.monotonic() < until:
        pause.wait(0.2)
    return left


def _thirds(samples: Sequence[Held]) -> tuple[Sequence[Held], Sequence[Held]]:
    """The second and the last third: in the first one the process is only getting warm."""
    third = len(samples) // 3
    return samples[third : 2 * third], samples[2 * third :]


def _mean_kb(samples: Sequence[Held]) -> float:
    return statistics.fmean(sample.memory_kb for sample in samples)


def _at_rest(samples: Sequence[Held]) -> tuple[int, int]:
    """The fewest threads and files: between two passes, when nothing is under way."""
    return min(sample.threads for sample in samples), min(sample.files for sample in samples)


def _figures(samples: Sequence[Held]) -> str:
    """Memory on average, and what is held at rest, in each third; and the most there ever were."""
    third = len(samples) // 3
    parts = [samples[:third], *_thirds(samples)]
    threads, files = zip(*map(_at_rest, parts), strict=True)
    most = max(sample.threads for sample in samples)
    return (
        f"memory: {', then '.join(f'{_mean_kb(part) / 1024:.1f} MB' for part in parts)};"
        f" at rest: {threads} threads, at most {most}; {files} files besides connections"
    )


def _reads(proxy: FaultProxy) -> int:
    """How often an API was asked what there is. What is asked of single actions depends on what was done."""
    return sum(entry.method == "GET" and "/actions" not in entry.path for entry in proxy.journal.entries())
