"""A thousand Nodes whose kubelets report, as they do in a large cluster: what the image takes to serve them."""

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support import image
from tests.support.control_plane import USUAL, ControlPlane
from tests.support.controller import Controller, started_by
from tests.support.held import cpu_s, held_by
from tests.support.kubelets import kubelet_node
from tests.support.living_cluster import NETWORK, LivingCluster
from tests.support.measured import Stopwatch
from tests.support.objects import server
from tests.support.stage import Stage, is_initialised, wait_for

SIZE = 1000
_LONG_S = 600.0
_AT_ONCE = 8
_LOOK_EVERY_S = 1.0
"""A list of a thousand Nodes is work for this process and for the API server."""
_SCRAPE_EVERY_S = 5.0
"""Its metrics are work for the controller, which is to be seen idle."""


def _address(number: int) -> str:
    return f"10.0.{number // 250 + 1}.{number % 250 + 1}"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_thousand_nodes(
    a_cluster: Callable[..., LivingCluster], control_plane: ControlPlane, measured: Stopwatch, tmp_path: Path
) -> None:
    """All are initialized by a controller that starts when they are there, and none needs anything after that."""
    if reason := image.why_not():
        pytest.skip(reason)
    built = image.build(tmp_path / "image")
    control_plane.run_with(USUAL)
    cluster = a_cluster(network_attachment_limit=2 * SIZE, action_s=0.0)
    stage, api_server = cluster.stage, control_plane.api_server
    stage.environment |= {
        "HCLOUD_NETWORK_ROUTES_ENABLED": "false",  # a network has a hundred
        # Past the proxies, which would take more of this machine than the product does.
        "HCLOUD_ENDPOINT": f"{stage.hetzner.url}/v1",
        "KUBECONFIG": str(api_server.kubeconfig(cluster.token)),
    }
    numbers = range(1, SIZE + 1)
    places = {number: [{"network": NETWORK["id"], "ip": _address(number)}] for number in numbers}
    stage.servers(*(server(n, f"n-{n}", private_net=places[n]) for n in numbers), networks=[NETWORK])

    measured.start()
    with ThreadPoolExecutor(_AT_ONCE) as kubelets:
        list(kubelets.map(lambda number: stage.register(kubelet_node(f"n-{number}", _address(number))), numbers))
    measured.wait_for({"registered, Ready, with pod CIDRs": lambda: _are_up(stage)}, _LONG_S, every_s=_LOOK_EVERY_S)

    measured.start()
    with started_by(lambda served: _start(built, stage, tmp_path / "mounted", served)) as controller:
        pid = controller.process.pid
        initialized = {"all initialized": lambda: _are_initialized(stage, controller)}
        measured.wait_for(initialized, _LONG_S, every_s=_LOOK_EVERY_S)
        measured.note(f"for that: {cpu_s(pid):.1f} s of CPU")
        wait_for(lambda: not any(node["spec"].get("taints") for node in _nodes(stage)), "all open", _LOOK_EVERY_S)
        idle = _idle_share(controller)
        held = held_by(pid, ())
        assert held is not None
        measured.note(f"idle: {100 * idle:.2f} % of a core; {held.memory_kb / 1024:.0f} MiB")
    last = stage.reconcile("--dry-run", "--output", "json")
    assert (last.report["result"], last.report["changes"]) == ("no_changes", [])


def _start(built: image.Image, stage: Stage, mounted: Path, served: Mapping[str, str]) -> "subprocess.Popen[str]":
    """The image on that stage, with a folder for its kubeconfig."""
    mounted.mkdir()
    environment = image.with_kubeconfig({**stage.environment, **served}, mounted)
    line = image.command(built, built.entry_point, environment, mounted)
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _idle_share(controller: Controller) -> float:
    """CPU as a share of a core, from the end of a pass to the end of the next one: so it has one pass, whatever the
    interval. The one that is waited for first may still have something to do."""

    def next_pass() -> tuple[float, float]:
        before = controller.passes()
        wait_for(lambda: controller.passes() > before, "the next pass", _SCRAPE_EVERY_S, within_s=_LONG_S)
        return cpu_s(controller.process.pid), time.monotonic()

    used_s, began_s = next_pass()
    until_s, ended_s = next_pass()
    return (until_s - used_s) / (ended_s - began_s)


def _nodes(stage: Stage) -> Iterable[dict[str, Any]]:
    return stage.nodes().values()


def _are_initialized(stage: Stage, controller: Controller) -> bool:
    """Whether all are. Raises AssertionError for a controller that has ended."""
    assert controller.process.poll() is None, controller.stderr
    return all(map(is_initialised, _nodes(stage)))


def _are_up(stage: Stage) -> bool:
    """Whether everybody has what there is before any cloud controller comes."""
    ready = {"type": "Ready", "status": "True"}
    return all(
        node["spec"].get("podCIDR") and any(ready.items() <= each.items() for each in node["status"]["conditions"])
        for node in _nodes(stage)
    )
