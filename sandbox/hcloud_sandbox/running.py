"""A whole sandbox: the simulators of one world on their ports, a Kubernetes beside them, and the environment that
points a client at all of it."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.kubelets import KubeletOptions, Kubelets
from hcloud_sandbox.kubernetes import ApiServer, Cluster
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import LOCAL, BackgroundLoop, SimulatorServer
from hcloud_sandbox.worlds import check_file
from kubernetes_double import KubernetesSimulator

_TICK_S = 0.25
"""How often kubelets look at their servers."""
_TICK_OF_A_CLUSTER_S = 1.0
"""The same beside a real API server, which is asked each time."""


@dataclass(frozen=True, slots=True)
class SandboxOptions:
    """What the command lets people choose. Port 0 is any free one."""

    world: Mapping[str, Any] = field(default_factory=dict)
    listen: str = LOCAL
    """The address whose ports are bound; 0.0.0.0 is every one of IPv4."""
    hetzner_port: int = 0
    kubernetes_port: int = 0
    robot_port: int = 0
    without_kubernetes: bool = False
    kubernetes_assets: Path | None = None
    """The folder of the programs of a real API server; None: the double stands in for it."""
    without_robot: bool = False
    action_s: float = 0.3
    latency_s: float = 0.0
    rate_limit: int = 3600
    kubelets: KubeletOptions | None = None
    """None: Nodes do not follow their servers."""
    network_attachments: int = 100
    """How many servers and load balancers a network takes; the real one takes 100."""


class Sandbox:
    """Simulators that share one clock. Use it as a context manager; ``environment`` is known inside. Robot is simulated
    where the world has that part, be it without servers.

    Raises ValueError for a world that cannot be used, also on entering, when a real API server refuses a part of it;
    on entering OSError for a port, or for a program that does not run, and InterruptedError when it was ``stopped``
    meanwhile.
    """

    def __init__(
        self,
        options: SandboxOptions,
        clock: SimulatedClock | None = None,
        *,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.clock = clock or SimulatedClock()
        self._options = options
        self._stopped = stopped
        world = options.world
        check_file(world)
        hetzner_options = HetznerOptions(
            action_s=options.action_s,
            rate_limit=options.rate_limit,
            network_attachment_limit=options.network_attachments,
        )
        self.hetzner = HetznerSimulator(self.clock, hetzner_options, world=world)
        has_double = not options.without_kubernetes and options.kubernetes_assets is None
        self.kubernetes = KubernetesSimulator(self.clock, world=world) if has_double else None
        has_robot = "robot" in world and not options.without_robot
        self.robot = RobotSimulator(self.clock, world=world) if has_robot else None
        self._cluster: Cluster | None = None
        self._kubelets: Kubelets | None = None
        self._loop = BackgroundLoop()
        self._at_the_end = ExitStack()
        self.environment: dict[str, str] = {}
        """Variable → value: what a client of this sandbox needs."""
        self.hetzner_server = self._server(self.hetzner, options.hetzner_port)
        self.kubernetes_server = self._server(self.kubernetes, options.kubernetes_port) if self.kubernetes else None
        self.robot_server = self._server(self.robot, options.robot_port) if self.robot else None

    def __enter__(self) -> "Sandbox":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self._at_the_end.close()
        self._loop.close()

    def _start(self) -> None:
        kubeconfig: dict[str, Any] | None = None
        folder: Path | None = None
        if not self._options.without_kubernetes:  # nor is a place to write to needed then
            folder = Path(self._at_the_end.enter_context(tempfile.TemporaryDirectory(prefix="hcloud-sandbox-")))
            if self._options.kubernetes_assets is not None:  # first: its world is that of all others
                kubeconfig = self._start_cluster(self._options.kubernetes_assets, folder)
        for server in filter(None, (self.hetzner_server, self.kubernetes_server, self.robot_server)):
            self._at_the_end.callback(server.stop)
            server.start()
        self.environment = {
            "HCLOUD_ENDPOINT": f"{self.hetzner_server.url}/v1",
            "HETZNER_ENDPOINT": f"{self.hetzner_server.url}/v1",
            "HCLOUD_TOKEN": HetznerSimulator.TOKEN,
            **self._only_network(),
            **self._robot_account(),
        }
        if self.kubernetes is not None and self.kubernetes_server is not None:
            kubeconfig = self.kubernetes.kubeconfig(self.kubernetes_server.url)
        elif self._cluster is not None and "HCLOUD_NETWORK" in self.environment:
            # HCCM would ask a metadata service which server it runs on.
            self.environment["HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK"] = "true"
        if folder is not None and kubeconfig is not None:
            file = folder / "kubeconfig"
            file.touch(mode=0o600)
            file.write_text(json.dumps(kubeconfig))
            self.environment["KUBECONFIG"] = str(file)
        cluster = self._cluster or self.kubernetes
        if cluster is None:
            return
        self.hetzner.node_ports(cluster.families_of)
        if self._options.kubelets is not None:
            self._kubelets = Kubelets(self.hetzner, cluster, self.clock, self._options.kubelets)
        self._at_the_end.callback(self._loop.every(_TICK_OF_A_CLUSTER_S if self._cluster else _TICK_S, self._tick))

    def _start_cluster(self, assets: Path, folder: Path) -> dict[str, Any]:
        """Start a real API server with the world in it, and give its UIDs to the cloud; the server's kubeconfig."""
        api_server = ApiServer(assets, folder, self._options.kubernetes_port)
        self._at_the_end.callback(api_server.stop)
        self._cluster = Cluster(api_server.start(self._stopped))
        self.hetzner.replace_world(self._cluster.load(self._options.world))
        return api_server.kubeconfig()

    def _tick(self) -> None:
        if self._cluster is not None:
            self._cluster.refresh()
        if self._kubelets is not None:
            self._kubelets.tick()

    def _only_network(self) -> dict[str, str]:
        """A client has to know the cluster's network; of several only its owner can tell which one that is."""
        networks = self.hetzner.world()["hetzner"]["networks"]
        return {"HCLOUD_NETWORK": networks[0]["name"]} if len(networks) == 1 else {}

    def _robot_account(self) -> dict[str, str]:
        """What makes a client read the dedicated servers. It has to go without pod routes then, as HCCM has it."""
        if self.robot_server is None:
            return {}
        return {
            "ROBOT_ENABLED": "true",
            "ROBOT_USER": RobotSimulator.USER,
            "ROBOT_PASSWORD": RobotSimulator.PASSWORD,
            "ROBOT_ENDPOINT": self.robot_server.url,
            "HCLOUD_NETWORK_ROUTES_ENABLED": "false",
        }

    def _server(self, simulator: Any, port: int) -> SimulatorServer:
        address, latency_s = self._options.listen, self._options.latency_s
        return SimulatorServer(
            self._loop, simulator, self.clock, port=port, address=address, latency_s=latency_s, tick=self._tick
        )


def read_world(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The world file at ``path``. Raises ValueError that names the file, and the key that is wrong."""
    try:
        world: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
        check_file(world)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        if isinstance(error, json.JSONDecodeError):
            why = f"it is no JSON document from line {error.lineno}, column {error.colno}"
        elif isinstance(error, UnicodeError):
            why = "it is no text in UTF-8"
        raise ValueError(f"world file {os.fspath(path)!r} cannot be used: {why}") from error
    except RecursionError as error:
        raise ValueError(f"world file {os.fspath(path)!r} cannot be used: it is nested too deep") from error
    return world
