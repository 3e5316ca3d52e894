"""The Kubernetes simulator with the interface of a real API server."""

import json
from pathlib import Path
from typing import Any

from reconciler.sandbox.clock import SimulatedClock
from reconciler.sandbox.exchange import Request
from reconciler.sandbox.kubernetes import KubernetesSimulator
from reconciler.sandbox.serving import BackgroundLoop, SimulatorServer


class SimulatedCluster:
    """The Kubernetes simulator with the interface of a real API server."""

    def __init__(self, folder: Path) -> None:
        self._loop = BackgroundLoop()
        self._folder = folder
        clock = SimulatedClock()
        self.simulator = KubernetesSimulator(clock)
        self._server = SimulatorServer(self._loop, self.simulator, clock).start()
        self.url = self._server.url

    def close(self) -> None:
        """Close the port."""
        self._server.stop()
        self._loop.close()

    def holds(self, *nodes: dict[str, Any]) -> None:
        """Make these the cluster's Nodes."""
        self.simulator.replace_world({"nodes": list(nodes)})

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and decoded JSON of one request with all rights."""
        headers = {"Authorization": f"Bearer {KubernetesSimulator.TOKEN}"}
        if body is not None:
            headers["Content-Type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = self.simulator.handle(Request.of(method, path, body, headers))
        return answer.status, json.loads(answer.encoded() or b"null")

    def kubeconfig(self, token: str | None = None, *, server: str | None = None) -> Path:
        """A kubeconfig file, for another address of the same server if ``server`` is given."""
        file = self._folder / "kubeconfig"
        file.write_text(json.dumps(self.simulator.kubeconfig(server or self.url, token)))
        return file
