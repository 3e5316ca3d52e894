"""The door to the API server, real or simulated: both APIs behind fault proxies, and the command on them."""

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

from actuators.http.hetzner import HetznerConnection
from actuators.http.kubernetes import KubernetesConnection
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Exchange, Request
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from kubernetes_double import KubernetesSimulator
from sandbox_support.hetzner_spec import ValidatingSimulator, load_spec
from tests.support.lines import Shortcut
from tests.support.records import begins_record, publishes
from tests.support.warm_start import Process, start_command
from tests.support.world import World, to_simulator

DEADLINE_S = 60.0
AT_ANY_AGE = ("--delete-min-age", "0s")
"""A Node of a test is a second old, and its age is the API server's to say."""
SERVER_LIST = "/v1/servers?page=1&per_page=50&sort=id:asc"
"""The question with which every pass begins."""
_CHANGES_NOTHING = (
    "/events",
    "/selfsubjectaccessreviews",
    "/selfsubjectreviews",
)


class SimulatedCluster:
    """The Kubernetes simulator with the interface of a real API server."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        """``seed`` decides the UIDs."""
        self._loop = BackgroundLoop()
        self._folder = folder
        self.clock = SimulatedClock()
        self.simulator = KubernetesSimulator(self.clock, seed=seed)
        self.server = SimulatorServer(self._loop, self.simulator, self.clock).start()
        self.url = self.server.url

    def close(self) -> None:
        self.server.stop()
        self._loop.close()

    def holds(self, *nodes: dict[str, Any]) -> None:
        """Make these the cluster's Nodes."""
        self.simulator.replace_world({"nodes": list(nodes)})

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return to_simulator(self.simulator, method, path, body)

    def kubeconfig(self, token: str | None = None, *, server: str | None = None) -> Path:
        """A kubeconfig file, for another address of the same server if ``server`` is given."""
        file = self._folder / "kubeconfig"
        file.write_text(json.dumps(self.simulator.kubeconfig(server or self.url, token)))
        return file


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
        loaded: dict[str, Any] = json.loads(self.stdout)
        return loaded


class Stage(World):
    """Everything around one run of the command. ``options`` are those of the project, None for the usual ones."""

    def __init__(
        self, cluster: Cluster, folder: Path, ca_file: Path | None, options: HetznerOptions | None = None
    ) -> None:
        self.cluster = cluster
        self.folder = folder
        self.clock = cluster.clock if isinstance(cluster, SimulatedCluster) else SimulatedClock()
        self._loop = BackgroundLoop()
        self.proxy = FaultProxy(self._loop, cluster.url, ca_file=str(ca_file) if ca_file else None).start()
        self.project = HetznerSimulator(self.clock, options or HetznerOptions())
        self._judge = ValidatingSimulator(self.project, load_spec(), collect=True)
        self.hetzner = SimulatorServer(self._loop, self._judge, self.clock).start()
        self.hetzner_proxy = FaultProxy(self._loop, self.hetzner.url).start()
        self._robot_ports: tuple[FaultProxy | SimulatorServer, ...] = ()
        self.robot_proxy: FaultProxy | None = None
        """None until ``with_robot``."""
        self.environment = {
            "HCLOUD_ENDPOINT": f"{self.hetzner_proxy.url}/v1",
            "HCLOUD_TOKEN": HetznerSimulator.TOKEN,
            "KUBECONFIG": str(cluster.kubeconfig(server=self.proxy.url)),
            # What is killed here leaves no Lease behind for the next run to wait for; who leads has tests of its own.
            "RECONCILER_LEADER_ELECT": "false",
            "RECONCILER_OWN_SETTINGS": "true",  # the API server has the status that other tests have left
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

    def shorten(self, to_cluster: KubernetesConnection, to_project: HetznerConnection) -> None:
        """Let these connections of this process go past the ports, to simulators."""
        Shortcut(self.hetzner, self.clock, self.hetzner_proxy).of_hetzner(to_project)
        if isinstance(self.cluster, SimulatedCluster):
            Shortcut(self.cluster.server, self.cluster.clock, self.proxy).of_kubernetes(to_cluster)

    def close(self) -> None:
        """Close the ports. Raises AssertionError when an answer of the simulator did not fit the vendor's document."""
        for port in (self.proxy, self.hetzner_proxy, self.hetzner, *self._robot_ports):
            port.stop()
        self._loop.close()
        assert self._judge.problems == []

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
        return writes_in(self.hetzner_proxy)

    def asked_of_hetzner(self) -> list[str]:
        """Method and last part of the path of each write to Hetzner, in order."""
        return [f"{entry.method} {entry.path.rpartition('/')[2]}" for entry in self.written_to_hetzner()]

    def read_of_hetzner(self) -> list[str]:
        read = (entry.path for entry in self.hetzner_proxy.journal.entries() if entry.method == "GET")
        return sorted(path.removeprefix("/v1/") for path in read)

    def questions(self) -> list[str]:
        """The paths of what Hetzner was asked about single servers."""
        return [path for path in self.asked_hetzner() if path != "/v1/servers"]

    def deletions(self) -> list[str]:
        """The paths of the deletions that were sent to the API server, whatever became of them."""
        return [entry.path for entry in self.proxy.journal.entries() if entry.method == "DELETE"]

    def forget(self) -> None:
        self.proxy.journal.clear()
        self.hetzner_proxy.journal.clear()
        self.hetzner.journal.clear()

    def to_cluster(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return self.cluster.request(method, path, body)

    def remove_nodes(self) -> None:
        """Empty the cluster of Nodes, whoever holds them."""
        for name, node in self.nodes().items():
            if node["metadata"].get("finalizers"):
                self.cluster.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"finalizers": None}})
            self.cluster.request("DELETE", f"/api/v1/nodes/{name}")

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
        self.cluster.request("DELETE", "/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler")

    def to_project(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {HetznerSimulator.TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.hetzner.url}/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)


def writes_in(proxy: FaultProxy) -> list[Exchange]:
    """What passed there that changes something other than Events, and does more than begin the record or publish."""
    sent = (e for e in proxy.journal.entries() if e.method != "GET" and not (begins_record(e) or publishes(e)))
    return [e for e in sent if not any(part in e.path for part in _CHANGES_NOTHING)]


def hetzner_says(project: HetznerSimulator, url: str) -> Any:
    """The body of what Hetzner answers to this question, ``SERVER_LIST`` for example, without anybody noticing."""
    return project.handle(Request.of("GET", url, headers={"Authorization": f"Bearer {HetznerSimulator.TOKEN}"})).body


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
