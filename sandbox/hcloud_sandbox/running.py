"""A whole sandbox: the simulators of one world on their ports, and the environment that points a client at them."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.kubelets import KubeletOptions, Kubelets
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from hcloud_sandbox.worlds import check_file
from kubernetes_double import KubernetesSimulator

_TICK_S = 0.25
"""How often kubelets look at their servers."""


@dataclass(frozen=True, slots=True)
class SandboxOptions:
    """What the command lets people choose. Port 0 is any free one."""

    world: Mapping[str, Any] = field(default_factory=dict)
    hetzner_port: int = 0
    kubernetes_port: int = 0
    robot_port: int = 0
    without_kubernetes: bool = False
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

    Raises ValueError for a world that cannot be used, and on entering OSError for a port.
    """

    def __init__(self, options: SandboxOptions, clock: SimulatedClock | None = None) -> None:
        self.clock = clock or SimulatedClock()
        self._options = options
        world = options.world
        check_file(world)
        hetzner_options = HetznerOptions(
            action_s=options.action_s,
            rate_limit=options.rate_limit,
            network_attachment_limit=options.network_attachments,
        )
        self.hetzner = HetznerSimulator(self.clock, hetzner_options, world=world)
        self.kubernetes = None if options.without_kubernetes else KubernetesSimulator(self.clock, world=world)
        if self.kubernetes is not None:
            self.hetzner.node_ports(self.kubernetes.families_of)
        has_robot = "robot" in world and not options.without_robot
        self.robot = RobotSimulator(self.clock, world=world) if has_robot else None
        self.kubelets: Kubelets | None = None
        if self.kubernetes is not None and options.kubelets is not None:
            self.kubelets = Kubelets(self.hetzner, self.kubernetes, self.clock, options.kubelets)
        self._end_kubelets: Callable[[], None] = lambda: None
        self._folder = tempfile.TemporaryDirectory(prefix="hcloud-sandbox-")
        self._loop = BackgroundLoop()
        self._servers: list[SimulatorServer] = []
        self.environment: dict[str, str] = {}
        """Variable → value: what a client of this sandbox needs."""
        self.hetzner_server = self._server(self.hetzner, options.hetzner_port)
        self.kubernetes_server = self._server(self.kubernetes, options.kubernetes_port) if self.kubernetes else None
        self.robot_server = self._server(self.robot, options.robot_port) if self.robot else None

    def __enter__(self) -> "Sandbox":
        try:
            for server in self._servers:
                server.start()
            if self.kubelets is not None:
                self._end_kubelets = self._loop.every(_TICK_S, self.kubelets.tick)
        except OSError:
            self.__exit__()
            raise
        self.environment = {
            "HCLOUD_ENDPOINT": f"{self.hetzner_server.url}/v1",
            "HETZNER_ENDPOINT": f"{self.hetzner_server.url}/v1",
            "HCLOUD_TOKEN": HetznerSimulator.TOKEN,
            **self._only_network(),
            **self._robot_account(),
        }
        if self.kubernetes is not None and self.kubernetes_server is not None:
            kubeconfig = Path(self._folder.name) / "kubeconfig"
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_text(json.dumps(self.kubernetes.kubeconfig(self.kubernetes_server.url)))
            self.environment["KUBECONFIG"] = str(kubeconfig)
        return self

    def __exit__(self, *_exception: object) -> None:
        self._end_kubelets()
        for server in self._servers:
            server.stop()
        self._loop.close()
        self._folder.cleanup()

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
        tick = self.kubelets.tick if self.kubelets is not None else lambda: None
        server = SimulatorServer(
            self._loop, simulator, self.clock, port=port, latency_s=self._options.latency_s, tick=tick
        )
        self._servers.append(server)
        return server


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
