"""Whole processes beside each other on virtual time: one alone writes, whatever happens to it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from actuators.outcome import STOPPED, Applied, Failed, Skipped
from reconciler.cli.run import _once
from reconciler.report.documents import report_as_json
from reconciler.result import Report
from tests.campaign.shell import Cluster, Replica
from tests.support.keys import key_of
from tests.support.objects import joining_node, server
from tests.support.schemas import published
from tests.support.stage import is_initialised

SIZE = 20
"""Nodes that get a route each, one after the other: more than a Lease lasts."""
BEFORE = 3
"""Routes that are there when something happens."""
LEASE_S, RENEW_S, RETRY_S = 15.0, 10.0, 2.0
"""The defaults."""
TAKEOVER_S = LEASE_S + 2 * RETRY_S
AT_ONCE_S, SOON_S, LOOK_S = 5.0, 600.0, 0.5


@dataclass
class SingleRun(Replica):
    """A process with ``--once``."""

    ended: Report = field(init=False)

    def _run(self) -> None:
        with self._connected(self.cluster.config("--once")) as (runtime, connections):
            self.ended = _once(runtime.plan_context, connections, self._stop)  # type: ignore[arg-type]

    def ends(self) -> Report:
        assert self.cluster.scheduler.wait_until(lambda: self.is_over, SOON_S)
        return self.ended


@dataclass
class Watched:
    """A cluster, and each request: its moment, the process, the API, method and path."""

    cluster: Cluster
    sent: list[tuple[float, str, str, str]] = field(default_factory=list)
    unreachable: set[tuple[str, str]] = field(default_factory=set)
    """Process and API between which nothing passes."""

    def __post_init__(self) -> None:
        self.cluster.meets = self._meets

    def _meets(self, replica: Replica, api: str, method: str, path: str) -> str:
        self.sent.append((self.cluster.scheduler.now, replica.name, api, f"{method} {path}"))
        return "lost" if (replica.name, api) in self.unreachable else ""

    def of(self, replica: Replica, api: str) -> list[str]:
        return [request for _, name, asked, request in self.sent if (name, asked) == (replica.name, api)]

    def waits_for(self, holds: Callable[[], bool]) -> float:
        """Wait for this; the seconds that it took."""
        scheduler = self.cluster.scheduler
        began = scheduler.now
        while not holds():
            assert scheduler.now < began + SOON_S
            scheduler.sleep(LOOK_S)
        return scheduler.now - began

    def converges(self) -> None:
        self.waits_for(lambda: len(self.cluster.world.routes()) == SIZE)

    def leads_within(self, replica: Replica) -> float:
        """Wait until this process leads; the seconds that it took."""
        return self.waits_for(lambda: self.cluster.holder() == replica.identity != "")


@pytest.fixture
def a_cluster() -> Iterator[Callable[..., Cluster]]:
    with ExitStack() as made:

        def make(**options: Any) -> Cluster:
            cluster = Cluster(1, {"--interval": "30s", "--request-timeout": "2s"}, **options)
            made.callback(cluster.close)
            return cluster

        yield make


@pytest.fixture
def watched(a_cluster: Callable[..., Cluster]) -> Watched:
    cluster = a_cluster()
    cluster.world.have_pods(SIZE)
    return Watched(cluster)


def lead_and_stand_by(watched: Watched) -> tuple[Replica, Replica]:
    leading, standby = (Replica(watched.cluster, name) for name in ("one", "two"))
    leading.start()
    watched.leads_within(leading)
    standby.start()
    watched.waits_for(lambda: len(watched.cluster.world.routes()) >= BEFORE)
    return leading, standby


def test_the_standby_reads_the_lease_and_asks_hetzner_for_its_network_once(watched: Watched) -> None:
    """Settings are not known to work without the network."""
    _, standby = lead_and_stand_by(watched)

    watched.converges()

    assert watched.of(standby, "kubernetes") == []
    assert {request.split()[0] for request in watched.of(standby, "lease")} == {"GET"}
    (asked,) = watched.of(standby, "hetzner")
    assert asked.startswith("GET /v1/networks?")
    assert watched.cluster.wrongs == []


def cut_off(watched: Watched, leading: Replica) -> None:
    watched.unreachable = {(leading.name, "lease"), (leading.name, "kubernetes")}


def stands_still(_: Watched, leading: Replica) -> None:
    leading.stand_still(2 * LEASE_S)


@pytest.mark.parametrize("happens", [cut_off, stands_still])
def test_a_leader_that_is_gone_at_work_stands_by_when_it_is_back(
    watched: Watched, happens: Callable[[Watched, Replica], None]
) -> None:
    """Routes that are left are made by the heir; the first process leads again once the heir is dead."""
    leading, heir = lead_and_stand_by(watched)

    happens(watched, leading)

    assert watched.leads_within(heir) <= TAKEOVER_S
    watched.converges()
    watched.unreachable.clear()
    watched.cluster.scheduler.sleep(2 * LEASE_S)
    assert watched.cluster.holder() == heir.identity
    heir.kill()
    assert watched.leads_within(leading) <= TAKEOVER_S
    assert watched.cluster.wrongs == []


def test_a_leader_that_is_cut_off_writes_until_its_renew_deadline_and_no_longer(watched: Watched) -> None:
    leading, _ = lead_and_stand_by(watched)

    began = watched.cluster.scheduler.now
    cut_off(watched, leading)
    watched.cluster.scheduler.sleep(2 * LEASE_S)

    own = (sent for sent in watched.sent if sent[1:3] == (leading.name, "hetzner"))
    writes = [moment for moment, *_, request in own if moment > began and request.startswith("POST")]
    assert writes
    assert max(writes) <= began + RENEW_S


def test_a_single_run_beside_a_live_leader_asks_for_nothing_but_the_lease(watched: Watched) -> None:
    leading, _ = lead_and_stand_by(watched)
    single = SingleRun(watched.cluster, "single")

    single.start()

    ended = single.ends()
    document = report_as_json(ended)
    Draft202012Validator(published("schema.json")).validate(document)
    assert document["result"] == "not_leader"
    assert leading.identity in ended.not_leader
    assert {api for _, name, api, _ in watched.sent if name == single.name} == {"lease"}
    assert watched.cluster.wrongs == []


def test_a_single_run_after_a_leader_that_died_waits_for_its_lease_and_gives_it_back(watched: Watched) -> None:
    dead, standby = lead_and_stand_by(watched)
    standby.stop()
    dead.kill()
    single = SingleRun(watched.cluster, "single")
    single.start()

    assert watched.leads_within(single) <= TAKEOVER_S
    assert single.ends().result == "no_changes"
    watched.converges()
    assert watched.cluster.holder() == ""
    assert watched.cluster.wrongs == []


def test_of_two_single_runs_at_the_same_moment_one_works_at_a_time(watched: Watched) -> None:
    """Either run gives up, or waits for the other one."""
    runs: Sequence[SingleRun] = [SingleRun(watched.cluster, name) for name in ("one", "two")]
    for run in runs:
        run.start()

    results = {run.ends().result for run in runs}

    assert "no_changes" in results
    assert results <= {"no_changes", "not_leader"}
    watched.converges()
    assert watched.cluster.wrongs == []


def test_a_leader_that_is_asked_to_end_leaves_its_series_and_gives_the_lease_back(watched: Watched) -> None:
    leading, heir = lead_and_stand_by(watched)

    leading.stop()

    assert watched.waits_for(lambda: leading.is_over) <= AT_ONCE_S
    assert 0 < len(watched.cluster.world.routes()) < SIZE
    assert watched.leads_within(heir) <= 2 * RETRY_S
    watched.converges()
    assert watched.cluster.wrongs == []


def test_a_standby_that_is_asked_to_end_leaves_the_lease_alone(watched: Watched) -> None:
    leading, standby = lead_and_stand_by(watched)

    standby.stop()

    assert watched.waits_for(lambda: standby.is_over) <= AT_ONCE_S
    assert watched.cluster.holder() == leading.identity


def test_an_action_that_goes_on_for_ever_keeps_no_process(a_cluster: Callable[..., Cluster]) -> None:
    cluster = a_cluster(action_s=3600.0)
    watched = Watched(cluster)
    cluster.world.have_pods(SIZE)
    replica = Replica(cluster, "replica")
    replica.start()
    watched.waits_for(lambda: any("/v1/actions" in request for request in watched.of(replica, "hetzner")))

    replica.stop()

    assert watched.waits_for(lambda: replica.is_over) <= AT_ONCE_S


def test_a_single_run_that_is_asked_to_end_leaves_whole_nodes(a_cluster: Callable[..., Cluster]) -> None:
    """Nodes are left as they were, or are done; the next run does the rest."""
    cluster = a_cluster()
    names = [f"n-{number:02}" for number in range(60)]
    cluster.world.have_servers(*(server(number, name) for number, name in enumerate(names, 1)))
    cluster.world.register(*map(joining_node, names))
    before, tried = cluster.world.nodes(), list[str]()

    def meets(_replica: Replica, _api: str, method: str, path: str) -> str:
        name = path.split("/")[4] if method == "PATCH" and path.startswith("/api/v1/nodes/") else ""
        if name and name not in tried:
            tried.append(name)
        return "lost" if name in tried[8:] else ""

    cluster.meets = meets
    single = SingleRun(cluster, "single")
    single.start()
    assert cluster.scheduler.wait_until(lambda: len(tried) > 8, SOON_S)

    single.stop()

    report = single.ends()
    done = {name for name, node in cluster.world.nodes().items() if is_initialised(node)}
    assert (report.result, done) == ("partial", set(tried[:8]))
    assert {line.change.owner for line in report.outcomes(Applied)} == {key_of(f"node/{name}") for name in done}
    assert len(report.outcomes(Failed)) == len(tried) - 8
    assert {line.outcome for line in report.outcomes(Skipped)} == {Skipped(STOPPED)}
    assert {name: node for name, node in cluster.world.nodes().items() if name not in done} == {
        name: node for name, node in before.items() if name not in done
    }
    cluster.meets = lambda *_: ""
    single.start()
    assert len(single.ends().outcomes(Applied)) == 52
