"""The product wired to both simulators without ports: whole passes in milliseconds, for laws that try many worlds.

The clients are the real ones; only what carries bytes is replaced, one adapter for each of the two libraries.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import hcloud
import requests
from kubernetes.client import ApiClient, Configuration
from urllib3.exceptions import ProtocolError

from actuators.concurrency import Concurrency
from actuators.http.hetzner import HetznerConnection
from actuators.http.kubernetes import KubernetesConnection
from actuators.http.retry import Patience, Retry
from actuators.http.robot import RobotLogin, RobotReader
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Journal, Request, Response, Simulator
from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from kubernetes_double import KubernetesSimulator
from sandbox_support.hetzner_spec import ValidatingSimulator, load_spec
from tests.support.lines import Between, Handle, Line, PoolLine, SessionLine
from tests.support.simulators import Gate, ImpatientStop, Simulated, is_open

P = ParamSpec("P")
R = TypeVar("R")

HETZNER_URL = "http://hetzner.test/v1"
KUBERNETES_URL = "http://kubernetes.test"
ROBOT_URL = "http://robot.test"


def death(api: str) -> Exception:
    """What the client of a dead process meets, as its library raises it."""
    is_cluster = api == "kubernetes"
    return ProtocolError("the process is dead") if is_cluster else requests.ConnectionError("the process is dead")


@dataclass
class Death:
    """The end of a process at one of its writes."""

    write: int
    is_done: bool
    """Whether that write still has its effect."""
    seen: int = 0
    is_dead: bool = False

    def between(self, api: str) -> Between:
        """What a request to this API meets: it, or its answer, is lost from that write on."""

        def exchange(request: Request, handle: Handle) -> Response:
            is_the_one = not self.is_dead and self._is_the_write(request.method, request.path)
            if is_the_one and self.is_done:
                handle(request)
            self.is_dead = self.is_dead or is_the_one
            if self.is_dead:
                raise death(api)
            return handle(request)

        return exchange

    def _is_the_write(self, method: str, path: str) -> bool:
        if method == "GET" or "/events" in path:
            return False
        self.seen += 1
        return self.seen == self.write + 1


class _Turns(Executor):
    """Carries out each call at once, in the thread of its caller."""

    def __init__(self, most: int, name: str) -> None:
        """Of a pool, which has ``most`` threads of this name."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - as the standard library's executors do
            future.set_exception(error)
        return future


IN_TURN = Concurrency(pool=_Turns)
"""One call after the other, in the same order in each run: a thread would take longer than the call."""


@dataclass
class DirectSimulation(Simulated):
    """The simulators at the ends of such lines."""

    hetzner: HetznerSimulator
    kubernetes: KubernetesSimulator
    clock: SimulatedClock
    stop: threading.Event = field(default_factory=ImpatientStop)
    robot: Simulator | None = None
    """None where Robot is not enabled, or has no credentials."""
    robot_login: RobotLogin = field(default_factory=lambda: RobotLogin(RobotSimulator.USER, RobotSimulator.PASSWORD))
    environment: dict[str, str] = field(default_factory=dict)
    token: str = HetznerSimulator.TOKEN
    """With which a process begins that is started now."""
    concurrency: Concurrency = IN_TURN
    """With which the product's connections are made."""
    is_judged: bool = True
    """Whether Hetzner's answers have to fit the vendor's document: not where a test spoils them."""

    def __post_init__(self) -> None:
        self.project = self.hetzner
        hetzner = ValidatingSimulator(self.hetzner, load_spec()) if self.is_judged else self.hetzner
        self.hetzner_line = Line(hetzner, self.clock)
        self.kubernetes_line = Line(self.kubernetes, self.clock)
        self.robot_line = None if self.robot is None else Line(self.robot, self.clock)
        self._robot_reader: RobotReader | None = None

    def lines(self) -> Mapping[str, Line]:
        robot = {} if self.robot_line is None else {"robot": self.robot_line}
        return {"hetzner": self.hetzner_line, "kubernetes": self.kubernetes_line, **robot}

    def journals(self) -> tuple[Journal, Journal]:
        return self.kubernetes_line.journal, self.hetzner_line.journal

    def hetzner_connection(self, *, read_only: bool = False, gate: Gate = is_open) -> HetznerConnection:
        client = hcloud.Client(self.token, api_endpoint=HETZNER_URL)
        retry = Retry(self.stop, Patience(), concurrency=self.concurrency)
        connection = HetznerConnection(
            client, endpoint=HETZNER_URL, retry=retry, timeout_s=5.0, read_only=read_only, gate=gate
        )
        session = client._client._session
        session.trust_env = False  # no proxy of this machine's leads there, and to look for one takes its time
        session.mount(HETZNER_URL, SessionLine(self.hetzner_line))
        return connection

    def kubernetes_connection(
        self, *, token: str | None = None, read_only: bool = False, gate: Gate = is_open
    ) -> KubernetesConnection:
        configuration = Configuration()
        configuration.host = KUBERNETES_URL
        configuration.api_key = {"authorization": f"Bearer {token or KubernetesSimulator.TOKEN}"}
        client = ApiClient(configuration)
        client.rest_client.pool_manager = PoolLine(self.kubernetes_line)  # type: ignore[assignment]
        retry = Retry(self.stop, Patience(), concurrency=self.concurrency)
        return KubernetesConnection(
            client, user_agent="tests/1.0", retry=retry, timeout_s=5.0, read_only=read_only, gate=gate
        )

    def dies_at(self, write: int, *, is_done: bool) -> Death:
        """The process dies at its write of this number, from 0 on and to whichever API, Events left out: before it
        arrives, or once it is done. From then on nothing of it arrives, until ``revive``; whether it has died is said
        by what is returned."""
        end = Death(write, is_done=is_done)
        for api, line in self.lines().items():
            line.between = end.between(api)
        return end

    def revive(self) -> None:
        """The lines are well again, for the next process."""
        for line in self.lines().values():
            line.between = Line.between

    def robot_reader(self) -> RobotReader | None:
        if self._robot_reader is None and self.robot_line is not None:
            self._robot_reader = RobotReader(
                self.robot_login,
                endpoint=ROBOT_URL,
                user_agent="tests/1.0",
                retry=Retry(self.stop, Patience(), concurrency=self.concurrency),
                timeout_s=5.0,
                clock=self.clock.timestamp,
            )
            self._robot_reader._opened().mount(ROBOT_URL, SessionLine(self.robot_line))
        return self._robot_reader
