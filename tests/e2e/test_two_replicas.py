"""Two replicas of the controller: one writes at a time, and the other one takes over when it is gone, or may be.

Each has proxies of its own, whose logs tell who sent what. A label that is taken away again and again gives whoever
leads something to write.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.sandbox.exchange import Exchange, Journal
from reconciler.sandbox.proxy import FaultProxy
from tests.support.objects import joining_node, server
from tests.support.stage import Stage, is_initialised, killed_at_the_end

if TYPE_CHECKING:
    import subprocess

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"
LABEL = "instance.hetzner.cloud/provided-by"
QUICK = {
    "--leader-elect-lease-duration": "3s",
    "--leader-elect-renew-deadline": "2s",
    "--leader-elect-retry-period": "400ms",
    "--request-timeout": "2s",
}
DURATION_S = 3.0
DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Sent:
    """One request, by whom, and when it was answered."""

    who: str
    at: float
    exchange: Exchange

    @property
    def is_write(self) -> bool:
        """Whether it changes anything that is no replica's own: Lease, Events and questions about rights are."""
        own = ("/leases", "/events", "/selfsubjectaccessreviews")
        return self.exchange.method != "GET" and not any(part in self.exchange.path for part in own)


class SharedLog(Journal):
    """The log of one replica's proxy, as part of that of both."""

    def __init__(self, who: str, log: list[Sent]) -> None:
        super().__init__()
        self._who = who
        self._log = log

    def record(self, exchange: Exchange) -> None:
        """Append one exchange to both."""
        super().record(exchange)
        self._log.append(Sent(self._who, time.monotonic(), exchange))


class Replicas:
    """Two copies of the command, and what they send."""

    def __init__(self, stage: Stage, running: ExitStack) -> None:
        self.stage = stage
        self.log: list[Sent] = []
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.proxies: dict[str, FaultProxy] = {}
        self._running = running

    def start(self, who: str, **flags: str) -> "subprocess.Popen[str]":
        """Start one, with these values of flags."""
        stage = self.stage
        to_cluster = FaultProxy(stage._loop, stage.proxy.url).start()
        to_cloud = FaultProxy(stage._loop, stage.hetzner_proxy.url).start()
        for proxy in (to_cluster, to_cloud):
            proxy.journal = SharedLog(who, self.log)
            self._running.callback(proxy.stop)
        kubeconfig = stage.folder / f"kubeconfig-{who}"
        kubeconfig.write_text(stage.cluster.kubeconfig(server=to_cluster.url).read_text())
        process = stage.start(
            "--interval=100ms",
            *(f"{flag}={value}" for flag, value in flags.items()),
            KUBECONFIG=str(kubeconfig),
            HCLOUD_ENDPOINT=f"{to_cloud.url}/v1",
            RECONCILER_LEADER_ELECT="true",
        )
        self._running.enter_context(killed_at_the_end(process))
        self.processes[who], self.proxies[who] = process, to_cluster
        return process

    def both(self, **flags: str) -> None:
        """Start both: ``one`` leads, and ``two`` stands by."""
        self.start("one", **flags)
        self.until(lambda: bool(self.writes("one")), "the first one's writes")
        self.start("two", **flags)
        self.until(lambda: self.looks("two") >= 2, "the second one to stand by")

    def writes(self, who: str) -> list[Sent]:
        """What this replica wrote."""
        return [sent for sent in list(self.log) if sent.who == who and sent.is_write]

    def asked(self, who: str, method: str) -> list[Sent]:
        """What this replica asked of the Lease with success."""
        wanted = (who, method, LEASE, 200)
        entries = list(self.log)
        return [s for s in entries if (s.who, s.exchange.method, s.exchange.path, s.exchange.status) == wanted]

    def looks(self, who: str) -> int:
        """How often this replica has seen the Lease."""
        return len(self.asked(who, "GET"))

    def until(self, condition: Callable[[], bool], what: str) -> float:
        """Wait for something while there is always something to write; the seconds that it took."""
        began = time.monotonic()
        pause = threading.Event()
        while not condition():
            assert time.monotonic() < began + DEADLINE_S, f"waited {DEADLINE_S:.0f} s for {what}"
            self.drift()
            pause.wait(0.05)
        return time.monotonic() - began

    def drift(self) -> None:
        """Take a label away that the controller sets."""
        body = {"metadata": {"labels": {LABEL: None}}}
        self.stage.cluster.request("PATCH", "/api/v1/nodes/web-1", body)

    def writers(self) -> list[str]:
        """Who wrote, in that order, each one once in a row."""
        return [who for who, _ in groupby(sent.who for sent in list(self.log) if sent.is_write)]


@pytest.fixture
def replicas(stage: Stage) -> Iterator[Replicas]:
    """Nobody yet, one Node that has something to write about, and no Lease."""
    stage.servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    stage.cluster.request("DELETE", LEASE)
    with ExitStack() as running:
        yield Replicas(stage, running)
    stage.cluster.request("DELETE", LEASE)


def lease(stage: Stage) -> dict[str, Any]:
    """What the Lease says."""
    _, found = stage.cluster.request("GET", LEASE)
    spec: dict[str, Any] = found["spec"]
    return spec


def test_a_leader_that_is_killed(replicas: Replicas) -> None:
    """The other one writes when the Lease has run out, and not before."""
    replicas.both(**QUICK)

    replicas.processes["one"].kill()
    took_s = replicas.until(lambda: bool(replicas.writes("two")), "the second one to take over")

    assert took_s <= DURATION_S + 5.0
    assert replicas.writers() == ["one", "two"]
    assert lease(replicas.stage)["leaseTransitions"] == 1


def test_a_leader_that_is_stopped_and_goes_on(replicas: Replicas) -> None:
    """It wakes up, and does not write any more: it stands by."""
    replicas.both(**QUICK)

    replicas.processes["one"].send_signal(signal.SIGSTOP)
    took_s = replicas.until(lambda: bool(replicas.writes("two")), "the second one to take over")
    looks = replicas.looks("one")
    replicas.processes["one"].send_signal(signal.SIGCONT)
    replicas.until(lambda: replicas.looks("one") >= looks + 4, "the first one to stand by")

    assert took_s <= DURATION_S + 5.0
    assert replicas.writers() == ["one", "two"]
    assert replicas.processes["one"].poll() is None


def test_a_leader_that_is_cut_off(replicas: Replicas) -> None:
    """It lives on without the API server; when that is back it stands by."""
    replicas.both(**QUICK)

    replicas.proxies["one"].set_faults([{"kind": "cut_client", "client": "hcloud-reconciler"}])
    took_s = replicas.until(lambda: bool(replicas.writes("two")), "the second one to take over")
    replicas.proxies["one"].clear_faults()
    looks = replicas.looks("one")
    replicas.until(lambda: replicas.looks("one") >= looks + 4, "the first one to stand by")

    assert took_s <= DURATION_S + 5.0
    assert replicas.writers() == ["one", "two"]
    assert replicas.processes["one"].poll() is None


def test_a_leader_that_ends(replicas: Replicas) -> None:
    """It gives the Lease back, and the other one leads within 2 s: with the durations as they are shipped."""
    replicas.both()

    replicas.processes["one"].terminate()
    replicas.until(lambda: bool(replicas.writes("two")), "the second one to write")

    given_back, taken = replicas.asked("one", "PUT")[-1], replicas.asked("two", "PUT")[0]
    assert given_back.exchange.body["spec"]["holderIdentity"] == ""
    assert taken.at - given_back.at <= 2.0
    assert replicas.processes["one"].wait(timeout=10) == 0
    assert replicas.writers() == ["one", "two"]


def test_a_single_run_beside_a_controller(replicas: Replicas) -> None:
    """It gives way as soon as it sees that the controller is alive."""
    replicas.start("one", **QUICK)
    replicas.until(lambda: is_initialised(replicas.stage.nodes()["web-1"]), "the Node")

    ran = replicas.stage.reconcile("--once", "--output=json", RECONCILER_LEADER_ELECT="true")

    assert (ran.code, ran.report["result"]) == (1, "not_leader")
    assert "renewed meanwhile by" in ran.stderr
