"""A stage for end-to-end tests: a Kubernetes API and a Hetzner simulator behind fault proxies, and the command."""

import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from reconciler.sandbox.clock import SimulatedClock
from reconciler.sandbox.exchange import Exchange
from reconciler.sandbox.hetzner import HetznerOptions, HetznerSimulator
from reconciler.sandbox.proxy import FaultProxy
from reconciler.sandbox.robot import RobotSimulator
from reconciler.sandbox.serving import BackgroundLoop, SimulatorServer
from tests.support.hetzner_spec import ValidatingSimulator, load_spec
from tests.support.warm_start import Process, start_command

DEADLINE_S = 60.0
_CHANGES_NOTHING = (
    "/events",
    "/selfsubjectaccessreviews",
    "/selfsubjectreviews",
    "/configmaps/hcloud-reconciler-status",  # nothing is decided by what is published
)


class Cluster(Protocol):
    """An API server, real or simulated."""

    url: str

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and decoded JSON of one request with all rights."""

    def kubeconfig(self, token: str | None = None, *, server: str | None = None) -> Path:
        """A kubeconfig file, for another address of the same server if ``server`` is given."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report on stdout."""
        loaded: dict[str, Any] = json.loads(self.stdout)
        return loaded


class Stage:
    """Everything around one run of the command. ``options`` are those of the project, None for the usual ones."""

    def __init__(
        self, cluster: Cluster, folder: Path, ca_file: Path | None, options: HetznerOptions | None = None
    ) -> None:
        self.cluster = cluster
        self.folder = folder
        self.clock = SimulatedClock()
        self._loop = BackgroundLoop()
        self.proxy = FaultProxy(self._loop, cluster.url, ca_file=str(ca_file) if ca_file else None).start()
        self.project = HetznerSimulator(self.clock, options or HetznerOptions())
        spec = load_spec()
        self._judge = ValidatingSimulator(self.project, spec, collect=True) if spec else None
        self.hetzner = SimulatorServer(self._loop, self._judge or self.project, self.clock).start()
        self.hetzner_proxy = FaultProxy(self._loop, self.hetzner.url).start()
        self._robot_ports: tuple[FaultProxy | SimulatorServer, ...] = ()
        self.robot_proxy: FaultProxy | None = None
        """None until ``with_robot``."""
        self.environment: dict[str, str] = {
            "HCLOUD_ENDPOINT": f"{self.hetzner_proxy.url}/v1",
            "HCLOUD_TOKEN": HetznerSimulator.TOKEN,
            "KUBECONFIG": str(cluster.kubeconfig(server=self.proxy.url)),
            # What is killed here leaves no Lease behind for the next run to wait for; who leads has tests of its own.
            "RECONCILER_LEADER_ELECT": "false",
            "RECONCILER_HEALTH_ADDRESS": "127.0.0.1:0",
            "HCLOUD_METRICS_ENABLED": "false",
        }

    def with_robot(self, *servers: Mapping[str, Any], clock: SimulatedClock | None = None) -> RobotSimulator:
        """Begin to serve a Robot account with these servers, which runs from now on are told of; ``clock`` gives Robot
        a time of its own. Routes are off: with Robot the product refuses them."""
        clock = clock or self.clock
        robot = RobotSimulator(clock, world={"servers": list(servers)})
        account = SimulatorServer(self._loop, robot, clock).start()
        self.robot_proxy = FaultProxy(self._loop, account.url).start()
        self._robot_ports = (self.robot_proxy, account)
        self.environment |= {
            "ROBOT_ENABLED": "true",
            "ROBOT_USER": RobotSimulator.USER,
            "ROBOT_PASSWORD": RobotSimulator.PASSWORD,
            "ROBOT_ENDPOINT": self.robot_proxy.url,
            "HCLOUD_NETWORK_ROUTES_ENABLED": "false",
        }
        return robot

    def close(self) -> None:
        """Close the ports. Raises AssertionError when an answer of the simulator did not fit the vendor's document."""
        for port in (self.proxy, self.hetzner_proxy, self.hetzner, *self._robot_ports):
            port.stop()
        self._loop.close()
        assert self._judge is None or self._judge.problems == []

    def reconcile(self, *arguments: str, **variables: str | None) -> Ran:
        """Run the shipped command to its end. A variable of None is taken out of the environment."""
        return self.reconcile_into(subprocess.PIPE, *arguments, **variables)

    def reconcile_into(self, stdout_file: int, *arguments: str, **variables: str | None) -> Ran:
        """The same with stdout going to a file descriptor."""
        process = self._start(stdout_file, arguments, variables)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
        return Ran(process.wait(), stdout or "", stderr)

    def start(self, *arguments: str, **variables: str | None) -> Process:
        """Start the shipped command and return at once."""
        return self._start(subprocess.PIPE, arguments, variables)

    def _start(self, stdout: int, arguments: Sequence[str], variables: Mapping[str, str | None]) -> Process:
        merged: Mapping[str, str | None] = {**clean_environment(), **self.environment, **variables}
        environment = {name: value for name, value in merged.items() if value is not None}
        return start_command(arguments, environment, self.folder, stdout, subprocess.PIPE)

    def writes(self) -> list[Exchange]:
        """What was sent to Kubernetes that changes something other than Events."""
        return writes_in(self.proxy)

    def asked_hetzner(self) -> list[str]:
        """The paths of what was sent to Hetzner, in their order; of a list once a page."""
        return [entry.path for entry in self.hetzner_proxy.journal.entries()]

    def written_to_hetzner(self) -> list[Exchange]:
        """What was sent to Hetzner other than reads."""
        return writes_in(self.hetzner_proxy)

    def forget(self) -> None:
        """Empty all request logs."""
        self.proxy.journal.clear()
        self.hetzner_proxy.journal.clear()
        self.hetzner.journal.clear()

    def nodes(self) -> dict[str, Any]:
        """Name → Node, as the API server has them."""
        _, listed = self.cluster.request("GET", "/api/v1/nodes")
        return {node["metadata"]["name"]: node for node in listed["items"]}

    def register(self, *nodes: Mapping[str, Any]) -> None:
        """Create Nodes with their status, as kubelets do."""
        for node in nodes:
            status, answer = self.cluster.request("POST", "/api/v1/nodes", node)
            assert status == 201, answer

    def remove_nodes(self) -> None:
        """Empty a real cluster of Nodes, whoever holds them."""
        for name, node in self.nodes().items():
            if node["metadata"].get("finalizers"):
                self.cluster.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"finalizers": None}})
        self.cluster.request("DELETE", "/api/v1/nodes")

    def remove_services(self) -> None:
        """Empty the cluster of Services, whoever holds them; its own, ``default/kubernetes``, stays."""
        _, listed = self.cluster.request("GET", "/api/v1/services")
        for service in listed["items"]:
            meta = service["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/services/{meta['name']}"
            if meta["name"] != "kubernetes":
                self.cluster.request("PATCH", path, {"metadata": {"finalizers": None}})
                self.cluster.request("DELETE", path)

    def remove_config_map(self) -> None:
        """Forget what was approved, and what the cluster remembers of a project and of settings."""
        for name in ("hcloud-reconciler", "hcloud-reconciler-status"):
            self.cluster.request("DELETE", f"/api/v1/namespaces/kube-system/configmaps/{name}")

    def owner(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of what Hetzner answers to the project's owner, past the fault proxy: ``/servers?name=a``."""
        headers = {"Authorization": f"Bearer {HetznerSimulator.TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.hetzner.url}/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)

    def servers(self, *servers: Mapping[str, Any], networks: Sequence[Mapping[str, Any]] = ()) -> None:
        """Make these the project's servers and networks."""
        self.project.replace_world({"servers": list(servers), "networks": list(networks)})


def writes_in(proxy: FaultProxy) -> list[Exchange]:
    """What passed there that changes something other than Events."""
    sent = proxy.journal.entries()
    return [e for e in sent if e.method != "GET" and not any(part in e.path for part in _CHANGES_NOTHING)]


def clean_environment() -> dict[str, str]:
    """This process's environment without anything that configures the product or a proxy."""
    ours = ("HCLOUD_", "ROBOT_", "RECONCILER_", "KUBE")
    return {k: v for k, v in os.environ.items() if not k.startswith(ours) and not k.lower().endswith("_proxy")}


def is_initialised(node: Mapping[str, Any]) -> bool:
    """Whether a Node has all that initialization gives it."""
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    return (
        node["spec"].get("providerID", "").startswith("hcloud://")
        and "node.cloudprovider.kubernetes.io/uninitialized" not in taints
        and "topology.kubernetes.io/region" in node["metadata"]["labels"]
        and any(address["type"] == "ExternalIP" for address in node["status"]["addresses"])
    )


def wait_for(
    condition: Callable[[], object], what: str, every_s: float = 0.01, *, within_s: float = DEADLINE_S
) -> None:
    """Return as soon as ``condition`` holds, which is asked so often, and less often when the question takes long: who
    is waited for needs the processor too. Raises AssertionError when it does not hold within the deadline."""
    pause = threading.Event()
    asked = time.monotonic()
    until = asked + within_s
    while not condition():
        now = time.monotonic()
        assert now < until, f"waited {within_s:.0f} s for {what}"
        pause.wait(max(every_s, min(0.2, 4 * (now - asked))))
        asked = time.monotonic()


@contextmanager
def killed_at_the_end(process: Process) -> Iterator[Process]:
    """The process, which does not outlive the block."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
