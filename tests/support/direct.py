"""The product wired to both simulators without ports: whole passes in milliseconds, for laws that try many worlds.

The clients are the real ones; only what carries bytes is replaced, one adapter for each of the two libraries.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import hcloud
import requests
import urllib3
from kubernetes.client import ApiClient, Configuration
from requests.adapters import BaseAdapter
from urllib3.exceptions import ProtocolError

from actuators.concurrency import THREADS, Concurrency
from actuators.http.hetzner import HetznerConnection
from actuators.http.kubernetes import KubernetesConnection
from actuators.http.retry import Patience, Retry
from actuators.http.robot import RobotLogin, RobotReader
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Exchange, Journal, Request, Response, Simulator, readable_body
from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from kubernetes_double import KubernetesSimulator
from sandbox_support.hetzner_spec import ValidatingSimulator, load_spec
from tests.support.simulators import Gate, ImpatientStop, Simulated, is_open

HETZNER_URL = "http://hetzner.test/v1"
KUBERNETES_URL = "http://kubernetes.test"
ROBOT_URL = "http://robot.test"


Refusal = tuple[int, Mapping[str, Any]]
"""Status and body of an answer in place of the API's."""
Trouble = Callable[[str, str], Refusal | Exception | None]
"""What a call with this method and path meets; None: nothing."""
Handle = Callable[[Request], Response]
Between = Callable[[Request, Handle], Response]


class Line:
    """A simulator at the other end of a line, which answers one request at a time."""

    trouble: Trouble = staticmethod(lambda _method, _path: None)
    """What goes wrong on the line. What meets it does not arrive."""

    between: Between = staticmethod(lambda request, handle: handle(request))
    """What is between a client and the simulator, and may answer in its place, or raise, before or after its effect."""

    def __init__(self, simulator: Simulator, clock: SimulatedClock) -> None:
        self._simulator = simulator
        self._clock = clock
        self._lock = threading.Lock()
        self.journal = Journal()

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of one answer, of the API or of whoever is in its place. Raises what the trouble
        has it raise."""
        parts = urlsplit(url)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        met = self.trouble(method, target)
        if isinstance(met, Exception):
            raise met
        if met is not None:
            return met[0], {"Content-Type": "application/json"}, json.dumps(met[1]).encode()
        with self._lock:
            answer = self.between(Request.of(method, target, body, headers), self._simulator.handle)
        client = headers.get("User-Agent", "")
        self.journal.record(Exchange(method, parts.path, parts.query, answer.status, readable_body(body), client))
        date = format_datetime(self._clock.now(), usegmt=True)
        headers_of_answer = {"Content-Type": "application/json", "Date": date, **answer.headers}
        return answer.status, headers_of_answer, answer.encoded()


class SessionLine(BaseAdapter):
    """The line as ``requests`` wants it."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        status, headers, content = self._line.ask(
            str(request.method), str(request.url), dict(request.headers), bytes(body)
        )
        response = requests.Response()
        response.status_code = status
        response.reason = HTTPStatus(status).phrase
        response.headers.update(headers)
        response._content = content
        response.request = request
        response.url = str(request.url)
        return response

    def close(self) -> None:
        """Nothing is open."""


class PoolLine:
    """The line as the ``kubernetes`` package wants its pool of connections."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def request(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: Any = None, **_options: Any
    ) -> urllib3.HTTPResponse:
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else b""
        if body is not None and not data:
            data = json.dumps(body).encode()
        status, found, content = self._line.ask(method, url, headers or {}, data)
        reason = HTTPStatus(status).phrase
        return urllib3.HTTPResponse(content, headers=found, status=status, reason=reason, preload_content=True)

    def clear(self) -> None:
        """Nothing is open."""


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
    concurrency: Concurrency = THREADS
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
