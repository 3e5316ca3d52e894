"""The door to this process: the simulators of all APIs, on time that a test lets pass, and the product's connections.

``Simulation`` has them on real ports with a fault proxy before each, for tests of transport; ``direct`` has them at
the ends of lines that need no port, for whole passes in milliseconds.
"""

import json
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from actuators.concurrency import THREADS, Concurrency
from actuators.http import hetzner as hetzner_client
from actuators.http import kubernetes as kubernetes_client
from actuators.http.hetzner import HetznerConnection, HetznerReader, HetznerWriter
from actuators.http.kubernetes import KubernetesConnection, KubernetesReader, KubernetesWriter
from actuators.http.retry import Patience, Retry
from actuators.http.robot import RobotLogin, RobotReader
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Exchange, Journal
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from kubernetes_double import KubernetesSimulator
from reconciler.observe.robot import RobotCache
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Readers, Robot
from sandbox_support.hetzner_spec import ValidatingSimulator, load_spec
from tests.support.lines import Shortcut
from tests.support.records import begins_record
from tests.support.world import Raw, World, to_simulator

USER_AGENT = "tests/1.0"
READ_ONLY_TOKEN = "r" * 64
TIMEOUT_S = 5.0
START = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
"""Where the clock of a simulation stands until it is advanced."""


Gate = Callable[[], None]
"""Asked before each write; raises an ApiError when it may not be sent."""


def is_open() -> None:
    """Let every write pass."""


def ago(seconds: float) -> str:
    """A moment before the start, as the API server writes times."""
    return (START - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class ImpatientStop(threading.Event):
    """A stop event that nobody waits for: ``waits`` has the seconds that would have been waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        return self.is_set()


class PassingTime(ImpatientStop):
    """A stop event; while somebody waits for it, simulated time passes, and no other."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        if not self.is_set():
            self._clock.advance(timeout or 0.0)
        return super().wait(timeout)


class Simulated(World):
    """A world whose API server is simulated as well, and how the product reaches it."""

    hetzner: HetznerSimulator
    kubernetes: KubernetesSimulator
    stop: threading.Event
    concurrency: Concurrency = THREADS
    """With which the product's connections are made, and its pools."""

    @abstractmethod
    def journals(self) -> tuple[Journal, Journal]:
        """What clients have sent, to Kubernetes and to Hetzner."""

    @abstractmethod
    def kubernetes_connection(
        self, *, token: str | None = None, read_only: bool = False, gate: Gate = is_open
    ) -> KubernetesConnection:
        """The product's connection to the API server; it never really waits between tries."""

    @abstractmethod
    def hetzner_connection(self, *, read_only: bool = False, gate: Gate = is_open) -> HetznerConnection:
        """The product's connection to Hetzner; it never really waits between tries."""

    @abstractmethod
    def robot_reader(self) -> RobotReader | None:
        """A reader of Robot, whose time is that of the simulation; None where Robot is not enabled."""

    def to_cluster(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return to_simulator(self.kubernetes, method, path, body)

    def kubernetes_reader(self) -> KubernetesReader:
        return KubernetesReader(self._connected(read_only=True))

    def kubernetes_writer(self, token: str | None = None, gate: Gate = is_open) -> KubernetesWriter:
        return KubernetesWriter(self._connected(token=token, gate=gate))

    def _connected(self, **how: Any) -> KubernetesConnection:
        """One connection for each way to connect: a new one costs as much as a whole plan."""
        known: dict[Any, KubernetesConnection] = self.__dict__.setdefault("_connections", {})
        key = (*how.items(), self.stop, self.concurrency)
        if key not in known:
            known[key] = self.kubernetes_connection(**how)
        return known[key]

    def hetzner_reader(self) -> HetznerReader:
        return HetznerReader(self.hetzner_connection(read_only=True))

    def hetzner_writer(self) -> HetznerWriter:
        return HetznerWriter(self.hetzner_connection())

    def robot_readers(self) -> Robot | None:
        """What a pass reads Robot with; None where Robot is not enabled."""
        account = self.robot_reader()
        return None if account is None else reads_robot(account, self.clock)

    def readers(self) -> Readers:
        """What a pass reads with. It remembers what it asked by id, as in a loop."""
        reader = self.hetzner_reader()
        return Readers(self.kubernetes_reader(), reader, Confirmer(reader), robot=self.robot_readers())

    def sent_to_kubernetes(self, *methods: str) -> list[Exchange]:
        """What clients sent to the API server, with these methods only when some are given."""
        return [entry for entry in self.journals()[0].entries() if not methods or entry.method in methods]

    def sent_to_hetzner(self) -> list[Exchange]:
        return self.journals()[1].entries()

    def written(self) -> list[Exchange]:
        """What was sent to Kubernetes that changes something other than Events, and does more than begin the record."""
        sent = (entry for entry in self.sent_to_kubernetes() if entry.method != "GET" and "/events" not in entry.path)
        return [entry for entry in sent if not begins_record(entry)]

    def forget(self) -> None:
        for journal in self.journals():
            journal.clear()

    def objects(self, section: str) -> dict[str, Raw]:
        """Name → object of one section of the Kubernetes world, as it truly is."""
        listed = self.kubernetes.world()["kubernetes"].get(section, [])
        return {found["metadata"]["name"]: found for found in listed}

    def nodes(self) -> dict[str, Raw]:
        return self.objects("nodes")

    def services(self) -> dict[str, Raw]:
        return self.objects("services")


def reads_robot(account: RobotReader, clock: SimulatedClock) -> Robot:
    """What a pass reads Robot with."""
    return Robot(RobotCache(account, timedelta(minutes=5), clock.timestamp), Confirmer(account))


@dataclass
class Simulation(Simulated):
    """A small world on ports of its own."""

    clock: SimulatedClock
    hetzner: HetznerSimulator
    kubernetes: KubernetesSimulator
    hetzner_server: SimulatorServer
    kubernetes_server: SimulatorServer
    hetzner_proxy: FaultProxy
    kubernetes_proxy: FaultProxy
    folder: Path
    stop: ImpatientStop = field(default_factory=ImpatientStop)
    robot: RobotSimulator | None = None
    """None where Robot is not enabled."""
    robot_proxy: FaultProxy | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project = self.hetzner
        self._to_hetzner = Shortcut(self.hetzner_server, self.clock, self.hetzner_proxy)
        self._to_kubernetes = Shortcut(self.kubernetes_server, self.clock, self.kubernetes_proxy)

    def journals(self) -> tuple[Journal, Journal]:
        return self.kubernetes_proxy.journal, self.hetzner_proxy.journal

    @property
    def endpoint(self) -> str:
        """``HCLOUD_ENDPOINT``, behind the fault proxy."""
        return f"{self.hetzner_proxy.url}/v1"

    def kubeconfig(self, token: str | None = None) -> Path:
        """A kubeconfig for the API server behind the fault proxy."""
        file = self.folder / f"kubeconfig-{token or 'admin'}"
        file.write_text(json.dumps(self.kubernetes.kubeconfig(self.kubernetes_proxy.url, token)))
        return file

    def kubernetes_connection(
        self,
        *,
        token: str | None = None,
        read_only: bool = False,
        gate: Gate = is_open,
        timeout_s: float = TIMEOUT_S,
        attempts: int = 5,
    ) -> KubernetesConnection:
        """The product's connection to the API server; it never really waits between tries."""
        made = kubernetes_client.connect(
            str(self.kubeconfig(token)),
            user_agent=USER_AGENT,
            retry=Retry(self.stop, Patience(attempts=attempts)),
            timeout_s=timeout_s,
            read_only=read_only,
            gate=gate,
        )
        return self._to_kubernetes.of_kubernetes(made)

    def hetzner_connection(
        self,
        *,
        token: str = HetznerSimulator.TOKEN,
        read_only: bool = False,
        gate: Gate = is_open,
        timeout_s: float = TIMEOUT_S,
        attempts: int = 5,
    ) -> HetznerConnection:
        """The product's connection to Hetzner; it never really waits between tries."""
        made = hetzner_client.connect(
            token,
            self.endpoint,
            application=("tests", "1.0"),
            retry=Retry(self.stop, Patience(attempts=attempts)),
            timeout_s=timeout_s,
            read_only=read_only,
            gate=gate,
        )
        return self._to_hetzner.of_hetzner(made)

    def robot_reader(self) -> RobotReader | None:
        if self.robot_proxy is None:
            return None
        return RobotReader(
            RobotLogin(RobotSimulator.USER, RobotSimulator.PASSWORD),
            endpoint=self.robot_proxy.url,
            user_agent=USER_AGENT,
            retry=Retry(self.stop, Patience(attempts=2)),
            timeout_s=TIMEOUT_S,
            clock=self.clock.timestamp,
        )

    def sent_to_robot(self) -> list[str]:
        """The paths that clients asked Robot for."""
        return [entry.path for entry in self.robot_proxy.journal.entries()] if self.robot_proxy else []

    def spoil_robot(self, kind: str, **members: Any) -> None:
        assert self.robot_proxy is not None
        self.robot_proxy.set_faults([{"kind": kind, **members}])

    def spoil_kubernetes(self, kind: str, **members: Any) -> None:
        self.kubernetes_proxy.set_faults([{"kind": kind, **members}])

    def spoil_hetzner(self, kind: str, **members: Any) -> None:
        """Add a fault of transport before Hetzner. What is answered in its place has the time of its clock."""
        if kind == "status":
            date = {"Date": format_datetime(self.clock.now(), usegmt=True)}
            members["headers"] = {**date, **members.get("headers", {})}
        self.hetzner_proxy.set_faults([{"kind": kind, **members}])


Simulate = Callable[..., Simulation]
"""What the fixture ``simulate`` is."""


@contextmanager
def simulation(
    loop: BackgroundLoop,
    folder: Path,
    *,
    nodes: list[Any] | None = None,
    project: Mapping[str, Any] | None = None,
    kubernetes_tokens: Mapping[str, Any] | None = None,
    rate_limit: int = 3600,
    robot: list[Any] | None = None,
    options: HetznerOptions | None = None,
) -> Iterator[Simulation]:
    """Everything running. Raises AssertionError at the end when a Hetzner answer did not fit the vendor's document.

    ``project`` is the Hetzner part of a world file, ``robot`` the servers of a Robot account; ``options`` are all the
    options of Hetzner, with their own rate limit. The clock stands at one moment until it is advanced.
    """
    clock = SimulatedClock(source=START.timestamp)
    cloud = HetznerSimulator(
        clock,
        options or HetznerOptions(rate_limit=rate_limit),
        tokens={HetznerSimulator.TOKEN: "rw", READ_ONLY_TOKEN: "ro"},
        world=project or {},
    )
    cluster = KubernetesSimulator(clock, tokens=kubernetes_tokens, world={"nodes": nodes or []})
    judge = ValidatingSimulator(cloud, load_spec(), collect=True)
    hetzner_server = SimulatorServer(loop, judge, clock).start()
    kubernetes_server = SimulatorServer(loop, cluster, clock).start()
    hetzner_proxy = FaultProxy(loop, hetzner_server.url).start()
    kubernetes_proxy = FaultProxy(loop, kubernetes_server.url).start()
    ports: list[FaultProxy | SimulatorServer] = [hetzner_proxy, kubernetes_proxy, hetzner_server, kubernetes_server]
    sim = Simulation(clock, cloud, cluster, hetzner_server, kubernetes_server, hetzner_proxy, kubernetes_proxy, folder)
    if robot is not None:
        sim.robot = RobotSimulator(clock, world={"servers": robot})
        account_server = SimulatorServer(loop, sim.robot, clock).start()
        sim.robot_proxy = FaultProxy(loop, account_server.url).start()
        ports += [sim.robot_proxy, account_server]
    try:
        yield sim
    finally:
        for port in ports:
            port.stop()
    assert judge.problems == []
