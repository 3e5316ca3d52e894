"""A thousand Nodes whose kubelets report, as they do in a large cluster: what the product takes to serve them."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.control_plane import USUAL, ControlPlane
from tests.support.controller import started
from tests.support.held import cpu_s, held_by
from tests.support.kubelets import kubelet_node
from tests.support.living_cluster import NETWORK, LivingCluster
from tests.support.measured import Stopwatch
from tests.support.objects import server
from tests.support.stage import Stage, is_initialised, wait_for

SIZE = 1000
IDLE_S = 60.0
"""So long it is watched when there is nothing to do."""
_LONG_S = 1200.0
_AT_ONCE = 8
_LOOK_EVERY_S = 1.0
"""A list of a thousand Nodes is work for this process and for the API server."""


def _address(number: int) -> str:
    return f"10.0.{number // 250 + 1}.{number % 250 + 1}"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_thousand_nodes(
    a_cluster: Callable[..., LivingCluster], control_plane: ControlPlane, measured: Stopwatch
) -> None:
    """All are initialized by a controller that starts when they are there, and none needs anything after that."""
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
    with started(stage) as controller:
        pid = controller.process.pid
        initialized = {"all initialized": lambda: all(map(is_initialised, _nodes(stage)))}
        measured.wait_for(initialized, _LONG_S, every_s=_LOOK_EVERY_S)
        measured.note(f"for that: {cpu_s(pid):.1f} s of CPU")
        wait_for(lambda: not any(node["spec"].get("taints") for node in _nodes(stage)), "all open", _LOOK_EVERY_S)
        passes, used, began = controller.passes(), cpu_s(pid), time.monotonic()
        threading.Event().wait(IDLE_S)
        idle = (cpu_s(pid) - used) / (time.monotonic() - began)
        held = held_by(pid, ())
        assert held is not None
        measured.note(
            f"idle: {100 * idle:.2f} % of a core, {controller.passes() - passes} passes in {IDLE_S:.0f} s;"
            f" {held.memory_kb / 1024:.0f} MiB"
        )
    last = stage.reconcile("--dry-run", "--output", "json")
    assert (last.report["result"], last.report["changes"]) == ("no_changes", [])


def _nodes(stage: Stage) -> Iterable[dict[str, Any]]:
    return stage.nodes().values()


def _are_up(stage: Stage) -> bool:
    """Whether everybody has what there is before any cloud controller comes."""
    ready = {"type": "Ready", "status": "True"}
    return all(
        node["spec"].get("podCIDR") and any(ready.items() <= each.items() for each in node["status"]["conditions"])
        for node in _nodes(stage)
    )
