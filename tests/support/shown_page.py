"""A page and what it was made from: the JSON report of the same pass, and the world that the simulators hold."""

import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import requests

from hcloud_sandbox.demo_world import CLUSTER_CIDR
from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.running import Sandbox, SandboxOptions
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.page.live import HEADERS, LivePage
from reconciler.page.page import document_of, page_of
from reconciler.passes.one_pass import plan_once
from reconciler.report.documents import report_as_json
from reconciler.runtime import Runtime, build_runtime
from reconciler.telemetry.pass_logger import Meter
from reconciler.telemetry.serving import serve_page
from tests.support.passes import Ears
from tests.support.stage import clean_environment
from tests.support.warm_start import start_command


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page as a file."""

    address: str
    report: Mapping[str, Any]
    """As JSON."""
    cluster: Mapping[str, Any]
    """What the Kubernetes simulator held meanwhile, as in a world file."""
    project: Mapping[str, Any]
    """What Hetzner's did."""


class Person:
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def kubectl(self, method: str, path: str, body: Any = None) -> None:
        """Send this to the cluster."""
        kubernetes, server = self._sandbox.kubernetes, self._sandbox.kubernetes_server
        assert kubernetes is not None
        assert server is not None
        headers = {"Authorization": f"Bearer {kubernetes.TOKEN}", "Content-Type": "application/merge-patch+json"}
        requests.request(method, f"{server.url}{path}", json=body, headers=headers, timeout=10).raise_for_status()

    def silence(self, node: str) -> None:
        """Let the kubelet of a Node say nothing any more, which the cluster's own controllers note."""
        ready = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        moment = datetime.now(UTC) - timedelta(minutes=5)
        status = {"conditions": [{**ready, "lastTransitionTime": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}]}
        self.kubectl("PATCH", f"/api/v1/nodes/{node}/status", {"status": status})
        taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
        self.kubectl("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": [taint]}})

    def hcloud(self, method: str, path: str, body: Any = None) -> None:
        """Send this to the project."""
        headers = {"Authorization": f"Bearer {HetznerSimulator.TOKEN}"}
        address = f"{self._sandbox.environment['HCLOUD_ENDPOINT']}{path}"
        requests.request(method, address, json=body, headers=headers, timeout=10).raise_for_status()


class WatchedPage:
    """A page that is served, of a sandbox that people change by hand; passes are made when a test says so."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.page = LivePage()
        self.report: Mapping[str, Any] = {}
        """Of the last pass, as JSON."""
        self.person = Person(sandbox)
        self._sandbox = sandbox
        self._runtime = _runtime(sandbox)
        self._meter = Meter()
        self._server = serve_page(self.page.answer, ("127.0.0.1", 0), HEADERS)
        self.address = f"http://127.0.0.1:{self._server.ports()[0]}/"

    def look(self) -> None:
        self.page.began()
        self._meter.begin()
        measured = self._meter.end(plan_once(self._runtime.plan_context))
        self.report = report_as_json(measured.report)
        self.page.ended(measured.report)

    def lose_the_token(self) -> None:
        """From now on Hetzner refuses the token of the passes."""
        self._runtime = _runtime(self._sandbox, HCLOUD_TOKEN=HetznerSimulator.TOKEN[::-1])

    def stop(self) -> None:
        self._server.close()


def page_in_a_file(world: Mapping[str, Any], file: Path) -> ShownPage:
    """Plan for a sandbox with this world, and write the page into the file."""
    with Sandbox(SandboxOptions(world=world)) as sandbox:
        report = plan_once(_runtime(sandbox).plan_context)
        file.write_text(document_of(page_of(report)).file(), "utf-8")
        assert sandbox.kubernetes is not None
        cluster, project = sandbox.kubernetes.world()["kubernetes"], sandbox.hetzner.world()["hetzner"]
        return ShownPage(file.as_uri(), report_as_json(report), cluster, project)


@contextmanager
def page_of_the_command(sandbox: Sandbox, folder: Path) -> Iterator[str]:
    """The address at which ``reconcile ui`` serves a page of the sandbox, with a pass each second."""
    flags = ["--ui-address", "127.0.0.1:0", "--interval", "1s", "--cluster-cidr", CLUSTER_CIDR]
    environment = {**clean_environment(), **sandbox.environment}
    process = start_command(["ui", *flags], environment, folder, subprocess.PIPE, subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=20)


@contextmanager
def watched_page(world: Mapping[str, Any]) -> Iterator[WatchedPage]:
    """The page of a sandbox with this world, before the first pass."""
    with Sandbox(SandboxOptions(world=world)) as sandbox:
        watched = WatchedPage(sandbox)
        yield watched
        watched.stop()


def _runtime(sandbox: Sandbox, **variables: str) -> Runtime:
    flags = {"--kubeconfig": sandbox.environment["KUBECONFIG"], "--cluster-cidr": CLUSTER_CIDR}
    return build_runtime(
        load_config(Command.PLAN, flags, {**sandbox.environment, **variables}), threading.Event(), Ears()
    )
