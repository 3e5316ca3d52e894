"""Several processes of the product in one cluster, each behind fault proxies of its own: their logs tell who wrote."""

import itertools
import math
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hcloud_sandbox.exchange import Exchange
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.serving import BackgroundLoop
from tests.support.stage import DEADLINE_S, Stage, clean_environment, wait_for
from tests.support.warm_start import Process, start_command

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE = f"{LEASES}/cloud-controller-manager"
DURATION_S = 2
DEADLINES = {
    "RECONCILER_LEADER_ELECT_LEASE_DURATION": f"{DURATION_S}s",
    "RECONCILER_LEADER_ELECT_RENEW_DEADLINE": "1500ms",
    "RECONCILER_LEADER_ELECT_RETRY_PERIOD": "300ms",
}
TAKEOVER_S = DURATION_S + 15.0
"""How soon another one leads after whatever happened to the one that did, its start on a busy machine included."""
_QUESTION = "/selfsubjectaccessreviews"
"""A POST that changes nothing."""


class Replica:
    """One process, which is started, held up and ended by a test; it elects with short deadlines."""

    def __init__(self, name: str, stage: Stage, loop: BackgroundLoop, ca_file: Path, token: str | None) -> None:
        self.name = name
        self.kubernetes = FaultProxy(loop, stage.cluster.url, ca_file=str(ca_file)).start()
        self.hetzner = FaultProxy(loop, stage.hetzner.url).start()
        self._stage = stage
        self._own = DEADLINES | {
            "HCLOUD_ENDPOINT": f"{self.hetzner.url}/v1",
            "KUBECONFIG": str(stage.cluster.kubeconfig(token, server=self.kubernetes.url)),
            "RECONCILER_HEALTH_ADDRESS": "127.0.0.1:0",
        }
        self._process: Process | None = None
        self._stdout, self._stderr = stage.folder / f"{name}.out", stage.folder / f"{name}.err"

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    def start(self, *arguments: str, **variables: str) -> None:
        """Start the shipped command; Lease and deadlines are as the product has them but for what is given here."""
        common = {name: value for name, value in self._stage.environment.items() if name != "RECONCILER_LEADER_ELECT"}
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            environment = {**clean_environment(), **common, **self._own, **variables}
            streams = stdout.fileno(), stderr.fileno()
            self._process = start_command(arguments, environment, self._stage.folder, *streams)

    def ends(self) -> int:
        """Its exit code, which is waited for."""
        return self.process.wait(DEADLINE_S)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def close(self) -> None:
        """End whatever still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self.kubernetes.stop()
        self.hetzner.stop()

    def writes(self) -> list[Exchange]:
        """All that it sent to either API that changes something, Events included, but for the Lease; in order."""
        sent = [*self.kubernetes.journal.entries(), *self.hetzner.journal.entries()]
        changing = (e for e in sent if e.method != "GET" and not e.path.startswith(LEASES) and _QUESTION not in e.path)
        return sorted(changing, key=lambda entry: entry.at)

    def claims(self) -> list[Exchange]:
        about = (entry for entry in self.kubernetes.journal.entries() if entry.path.startswith(LEASES))
        return [entry for entry in about if entry.method in ("POST", "PUT") and entry.status in (200, 201)]

    def has_looked(self) -> bool:
        """Whether it has read the Lease."""
        return any((entry.path, entry.status) == (LEASE, 200) for entry in self.kubernetes.journal.entries())

    def leads_since(self, moment: float) -> bool:
        """Whether it took or renewed the Lease after that moment."""
        return any(entry.at > moment and _holder(entry) for entry in self.claims())

    def waits_for_lead(self) -> None:
        """Return when it has the Lease."""
        wait_for(lambda: bool(self.claims()), f"{self.name} to lead")


@contextmanager
def replicas(stage: Stage, ca_file: Path, *names: str, token: str | None = None) -> Iterator[tuple[Replica, ...]]:
    """Processes that are still to be started, the administrator's unless there is a token; no Lease is there, and none
    of them outlives the block."""
    stage.cluster.request("DELETE", LEASE)
    loop = BackgroundLoop()
    built = tuple(Replica(name, stage, loop, ca_file, token) for name in names)
    try:
        yield built
    finally:
        for replica in built:
            replica.close()
        loop.close()
        stage.cluster.request("DELETE", LEASE)


@dataclass(frozen=True, slots=True)
class Term:
    """How long one of them was entitled to write, in seconds of this process's monotonic clock."""

    name: str
    since: float
    until: float


def terms(among: Sequence[Replica]) -> list[Term]:
    """Who held the Lease when: from each write of it that was carried out, for as long as it lasts or until the next
    one, which may be the same holder's."""
    claims = sorted((entry.at, replica.name, _holder(entry)) for replica in among for entry in replica.claims())
    following = [*(at for at, _, _ in claims[1:]), math.inf]
    return [
        Term(name, at, min(then, at + DURATION_S))
        for (at, name, holder), then in zip(claims, following, strict=True)
        if holder
    ]


def written_out_of_term(*among: Replica) -> list[str]:
    """The writes that were sent by one of them while it did not hold the Lease; none is what everybody wants."""
    held = terms(among)
    return [
        f"{replica.name} at {write.at:.3f}: {write.method} {write.path} {write.status}; {held}"
        for replica in among
        for write in replica.writes()
        if not any(term.name == replica.name and term.since <= write.at < term.until for term in held)
    ]


def turns(*among: Replica) -> list[str]:
    """Who wrote, each time that it was another one than before."""
    written = sorted((write.at, replica.name) for replica in among for write in replica.writes())
    return [name for name, _ in itertools.groupby(name for _, name in written)]


def taken_over_after(moment: float, *among: Replica) -> float:
    """How long nobody led after that moment: seconds until one of these took the Lease. Waits for it."""
    wait_for(lambda: any(replica.leads_since(moment) for replica in among), "another one to lead")
    return min(claim.at for replica in among for claim in replica.claims() if claim.at > moment) - moment


def now() -> float:
    return time.monotonic()


def change_lease(stage: Stage, spec: Mapping[str, Any]) -> None:
    status, answer = stage.cluster.request("PATCH", LEASE, {"spec": dict(spec)})
    assert status == 200, answer


def _holder(claim: Exchange) -> str:
    return str(claim.body["spec"]["holderIdentity"])
