"""Whole controllers on virtual time: loop, elector, watches, pools and events as they are, over simulators.

Only what carries bytes is replaced, and what decides who goes on (``tests.support.cooperative``). All that goes over a
wire takes time, may meet a fault, and is in the log.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import format_datetime
from functools import partial
from hashlib import blake2b
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

import urllib3

from actuators.http.kubernetes import KubernetesConnection
from actuators.wire.lease import Leases
from hcloud_sandbox.exchange import Request, Simulator, Stream
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.cli.streams import internal_error
from reconciler.config.config import Config, load_config
from reconciler.config.options import Command
from reconciler.controller import run_controller
from reconciler.leader_election.elector import Elector
from reconciler.passes.loop import Wake
from reconciler.result import Report
from reconciler.runtime import Connections, Runtime, build_runtime
from tests.campaign.refusals import refusal, reset, timeout
from tests.support.cooperative import Killed, Process, Scheduler
from tests.support.direct import HETZNER_URL, KUBERNETES_URL, DirectSimulation
from tests.support.lines import PoolLine, SessionLine
from tests.support.passes import Ears

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
SILENCE_S = 90.0
"""After so long a client takes a watch for dead that says nothing."""
LOOKS_S = 60.0
"""How often it is looked for bookmarks."""
GRACE_S = 2.0
"""How long a process that ends waits for its events."""
Meets = Callable[["Replica", str, str, str], str]
"""What a request of a process to an API, with this method and path, meets: one of ``lost``, ``unanswered``, ``reset``,
``dies``, ``dies after``, a status; "" for nothing."""
Bends = Callable[[bytes], list[bytes] | None]
"""What becomes of a line of a watch: the lines in its place, None: the connection breaks."""


Harms = Callable[[str, str, str, bytes], str]
"""Why a write must not be done, "" when it may be: its API, method, path and body."""


class Log:
    """All that went over wires, a line each: a digest of it, and its last lines. It ``keeps`` so many of them, or
    all where that is None."""

    def __init__(self, scheduler: Scheduler, keeps: int | None = 2000) -> None:
        self._scheduler = scheduler
        self._digest = blake2b()
        self._keeps = keeps
        self.lines: list[str] = []
        self.count = 0

    def note(self, *words: object) -> None:
        """One line, with the time."""
        line = " ".join([f"{self._scheduler.now:.6f}", *map(str, words)])
        self._digest.update(line.encode() + b"\n")
        self.count += 1
        self.lines.append(line)
        if self._keeps is not None and len(self.lines) > 2 * self._keeps:
            del self.lines[: -self._keeps]

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()


@dataclass
class Cluster:
    """Both simulators, what is between them and the processes, and the processes."""

    seed: int
    environment: Mapping[str, str]
    action_s: float = 1.0
    keeps: int | None = 2000
    rate_limit: int = 36_000

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.seed)
        random.seed(self.seed)  # of the product: back-offs and jitter
        self.log = Log(self.scheduler, self.keeps)
        self.clock = self.scheduler.clock
        options = HetznerOptions(action_s=self.action_s, seed=self.seed, rate_limit=self.rate_limit)
        hetzner, kubernetes = HetznerSimulator(self.clock, options), KubernetesSimulator(self.clock)
        self.world = DirectSimulation(hetzner, kubernetes, self.clock, is_judged=False)
        self.world.environment |= self.environment
        self.meets: Meets = lambda _replica, _api, _method, _path: ""
        self.bends: Bends = lambda line: [line]
        self.harms: Harms = lambda _api, _method, _path, _body: ""
        self.silent_until = -1.0
        """Until then no watch says anything."""
        self.wrongs: list[str] = []
        """What no process may do, and did."""
        self.calls = Counter[tuple[int, str]]()
        """Hour and API → requests."""
        self.faults = Counter[str]()
        """Fault → how often it happened."""
        self._folder = TemporaryDirectory()
        self.kubeconfig = _kubeconfig(Path(self._folder.name))

    def close(self) -> None:
        """End everything. Raises AssertionError when a task met what it does not handle."""
        self.scheduler.close()
        self._folder.cleanup()

    def holder(self) -> str:
        """Who is named by the Lease; "" when nobody is."""
        lease = self.world.objects("leases").get("cloud-controller-manager")
        return "" if lease is None else lease["spec"].get("holderIdentity") or ""

    def config(self, *modes: str) -> Config:
        """Configuration of a process, with flags such as ``--once``."""
        variables = {name: value for name, value in self.world.environment.items() if not name.startswith("-")}
        flags = {name: value for name, value in self.world.environment.items() if name.startswith("-")}
        flags |= {"--kubeconfig": str(self.kubeconfig), **dict.fromkeys(modes, "true")}
        own = {
            "HCLOUD_TOKEN": HetznerSimulator.TOKEN,
            "HCLOUD_ENDPOINT": HETZNER_URL,
            "HCLOUD_METRICS_ENABLED": "false",
        }
        return replace(load_config(Command.BARE, flags, own | variables), health_address=("127.0.0.1", 0))


class Wire:
    """What is between one connection of a process and an API."""

    def __init__(self, cluster: Cluster, replica: "Replica", api: str, simulator: Simulator, timeout_s: float) -> None:
        self._cluster, self._replica, self._api, self._timeout_s = cluster, replica, api, timeout_s
        self._identity = replica.identity
        self._simulator = simulator
        self._scheduler = cluster.scheduler

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of one answer. Raises what a library raises when there is none."""
        target = _target(url)
        self._travel()
        fault = self._cluster.meets(self._replica, self._api, method, target)
        if fault:
            self._note(method, target, fault)
        if fault == "lost":
            raise self._times_out()
        if fault == "dies":
            self._die()
        if fault.isdigit():
            self._return()
            return int(fault), {"Content-Type": "application/json"}, json.dumps(refusal(self._api, int(fault))).encode()
        self._arrives(method, target, body)
        answer = self._simulator.handle(Request.of(method, target, body, headers))
        content = answer.encoded()
        self._note(method, target, answer.status, crc32(body), crc32(content))
        if fault == "unanswered":
            raise self._times_out()
        if fault == "dies after":
            self._die()
        self._return()
        if fault == "reset":
            raise reset(self._api)
        date = format_datetime(self._cluster.clock.now(), usegmt=True)
        return answer.status, {"Content-Type": "application/json", "Date": date, **answer.headers}, content

    def watch(self, url: str, headers: Mapping[str, str]) -> "WatchAnswer | urllib3.HTTPResponse":
        target = _target(url)
        self._travel()
        self._arrives("WATCH", target, b"")
        answer = self._simulator.handle(Request.of("GET", target, None, headers))
        self._note("WATCH", target, answer.status)
        if isinstance(answer.body, Stream):
            return WatchAnswer(self._cluster, self._replica, answer.body)
        return urllib3.HTTPResponse(
            answer.encoded(), headers=answer.headers, status=answer.status, preload_content=True
        )

    def _arrives(self, method: str, target: str, body: bytes) -> None:
        cluster = self._cluster
        cluster.calls[int(self._scheduler.now // 3600), self._api] += 1
        if method in ("GET", "WATCH") or target.startswith(LEASES):
            return
        what = f"{self._scheduler.now:.3f} {self._identity} {method} {target}"
        if cluster.holder() != self._identity:
            cluster.wrongs.append(f"{what} while {cluster.holder() or 'no process'} leads")
        if why := cluster.harms(self._api, method, target, body):
            cluster.wrongs.append(f"{what}: {why}")

    def _travel(self) -> None:
        """What was sent arrives, even if its process stands still meanwhile."""
        self._scheduler.travel(0.001 + 0.02 * self._scheduler.random.random())

    def _return(self) -> None:
        """The answer comes, and is read once its process goes on."""
        self._scheduler.sleep(0.001 + 0.02 * self._scheduler.random.random())

    def _times_out(self) -> Exception:
        self._scheduler.sleep(self._timeout_s)
        return timeout(self._api)

    def _die(self) -> None:
        """The process is killed at this moment."""
        self._scheduler.process.is_dead = True
        raise Killed

    def _note(self, *words: object) -> None:
        self._cluster.log.note(self._replica.name, self._api, *words)


class Pool(PoolLine):
    """The wire as the ``kubernetes`` package wants its pool of connections, watches included."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)  # type: ignore[arg-type]
        self._wire = wire

    def request(self, method: str, url: str, **options: Any) -> Any:
        if "watch=true" in url:
            return self._wire.watch(url, options.get("headers") or {})
        return super().request(method, url, **options)


class WatchAnswer:
    """The answer to a watch, as urllib3 has it."""

    status, reason, data = 200, "OK", b""

    def __init__(self, cluster: Cluster, replica: "Replica", feed: Stream) -> None:
        self.headers: Mapping[str, str] = {}
        self._cluster, self._replica, self._feed = cluster, replica, feed
        self._scheduler = cluster.scheduler
        self._is_closed = self._has_news = False
        feed.on_news(self._news)

    def read1(self, _most: int) -> bytes:
        silent_from = self._scheduler.now
        while not self._is_closed:
            self._has_news = False
            is_silent = self._scheduler.now < self._cluster.silent_until
            taken = b"" if is_silent else self._feed.take()
            lines: list[bytes] = []
            for line in taken.splitlines(keepends=True):
                became = [line] if b'"BOOKMARK"' in line[:24] else self._cluster.bends(line)
                if became is None:
                    raise reset("kubernetes")
                lines += became
            if lines:
                for line in lines:
                    self._cluster.log.note(self._replica.name, "event", crc32(line))
                return b"".join(lines)
            if self._feed.is_over and not is_silent:
                return b""
            if self._scheduler.now - silent_from >= SILENCE_S:
                raise timeout("kubernetes")
            left_s = silent_from + SILENCE_S - self._scheduler.now
            # Time brings bookmarks, and the end.
            self._scheduler.wait_until(lambda: self._is_closed or self._has_news, min(left_s, LOOKS_S))
        return b""

    def shutdown(self) -> None:
        """Nothing comes any more."""
        self._is_closed = True

    def close(self) -> None:
        self._is_closed = True
        self._feed.close()

    def _news(self) -> None:
        self._has_news = True


@dataclass
class Replica:
    """A process of the product, which may be started again and again."""

    cluster: Cluster
    name: str
    identity: str = ""
    """Of the process that was started last."""
    process: Process = field(init=False)
    reports: Counter[str] = field(default_factory=Counter)
    """Result → passes."""
    is_over: bool = False
    """Whether the process that was started last has come to its end."""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def start(self) -> None:
        """A process begins."""
        self.is_over = False
        self.cluster.log.note(self.name, "starts")
        self._stop = self.cluster.scheduler.concurrency().event()
        self._interrupts: list[Callable[[], None]] = []
        self.process = self.cluster.scheduler.start_process(self.name, self._run)

    def stop(self) -> None:
        """It is asked to end, and does soon."""
        self.cluster.log.note(self.name, "is asked to end")
        self._stop.set()
        for interrupt in self._interrupts:
            interrupt()

    def kill(self) -> None:
        self.cluster.log.note(self.name, "is killed")
        self.cluster.scheduler.kill(self.process)

    def stand_still(self, seconds: float) -> None:
        """It is paused, and goes on as if nothing had been."""
        self.cluster.log.note(self.name, "stands still", seconds)
        self.process.stands_until = self.cluster.scheduler.now + seconds

    def _run(self) -> None:
        config = self.cluster.config()
        with self._connected(config) as (runtime, connections):
            wake = Wake(self._stop, clock=runtime.concurrency.clock, event=runtime.concurrency.event)
            self._interrupts.append(wake.interrupt)
            run_controller(
                runtime, connections, config, self._stop, wake=wake, of_bug=internal_error, publish=lambda _report: None
            )

    @contextmanager
    def _connected(self, config: Config) -> Iterator[tuple[Runtime, Connections]]:
        """Parts of a process, which gives the Lease back at its end."""
        runtime = build_runtime(config, self._stop, Ears(), self.cluster.scheduler.concurrency(), host=self.name)
        assert runtime.connections is not None
        connections = replace(runtime.connections, permission_gaps=lambda _stop: iter(()))
        self._plug(connections, config)
        status = runtime.plan_context.records.status
        vars(status)["keep"] = partial(self._counted, status.keep)
        try:
            yield runtime, connections
        finally:
            is_quiet = connections.events.close(GRACE_S)
            connections.leader.close(release=is_quiet)
            self.is_over = True

    def _counted(self, keep: Callable[[Report, float | None], None], report: Report, seconds: float | None) -> None:
        """Count each pass as its status is kept."""
        self.reports[report.result] += 1
        self.cluster.wrongs += [error for error in report.errors if error.startswith("internal error")]
        keep(report, seconds)

    def _plug(self, connections: Connections, config: Config) -> None:
        world, cluster, leader = self.cluster.world, self.cluster, connections.leader
        self.identity = f"{self.name}_{next(self._numbers)}"
        to_hetzner = Wire(cluster, self, "hetzner", world.hetzner, config.request_timeout_s)
        connections.cloud._opened().mount(HETZNER_URL, SessionLine(to_hetzner))  # type: ignore[arg-type]
        to_cluster = Wire(cluster, self, "kubernetes", world.kubernetes, config.request_timeout_s)
        _plug_into(connections.cluster, to_cluster)
        if isinstance(leader, Elector):
            # A random part would be in the Lease, and in the log.
            leader.identity = leader._candidate.identity = self.identity
            leases = leader._candidate._leases
            assert isinstance(leases, Leases)
            of_lease = Wire(cluster, self, "lease", world.kubernetes, config.timings.call_timeout_s)
            _plug_into(leases._reader.connection, of_lease)


def _plug_into(connection: KubernetesConnection, wire: Wire) -> None:
    connection._api_client.rest_client.pool_manager = Pool(wire)  # type: ignore[assignment]
    # The token stays; to look for another one takes longer than the rest of a request.
    connection._api_client.configuration.refresh_api_key_hook = None


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _kubeconfig(folder: Path) -> Path:
    cluster = {"name": "c", "cluster": {"server": KUBERNETES_URL}}
    user = {"name": "u", "user": {"token": KubernetesSimulator.TOKEN}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    parts = {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": "x"}
    path = folder / "kubeconfig"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **parts}), "utf-8")
    return path
