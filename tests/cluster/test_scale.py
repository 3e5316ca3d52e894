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
_MOST_KB = 85 * 1024
_AT_ONCE = 8
_LOOK_EVERY_S = 1.0
"""A list of a thousand Nodes is work for this process and for the API server."""
_ONCE_A_PASS = "/v1/networks"
_CALLED_FOR_S = 30.0
"""Passes that an event called for are closer together, those of the interval are not."""
_CALLED_FOR_AT_MOST = 10


def _address(number: int) -> str:
    return f"10.0.{number // 250 + 1}.{number % 250 + 1}"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> image.Image:
    """The image; of the widest scope, and named first, so that nobody starts a cluster in vain where there is none."""
    if reason := image.why_not():
        pytest.skip(reason)
    return image.build(tmp_path_factory.mktemp("image"))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_thousand_nodes(
    built: image.Image,
    a_cluster: Callable[..., LivingCluster],
    control_plane: ControlPlane,
    measured: Stopwatch,
    tmp_path: Path,
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
    stage.have_servers(*(server(n, f"n-{n}", private_net=places[n]) for n in numbers), networks=[NETWORK])

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
        measured.note(_idle_share(stage, controller))
        held = held_by(pid, ())
        assert held is not None
        measured.note(f"{held.memory_kb / 1024:.0f} MiB, {held.peak_kb / 1024:.0f} at most")
        assert held.memory_kb < _MOST_KB
    last = stage.reconcile("--dry-run", "--output", "json")
    assert (last.report["result"], last.report["changes"]) == ("no_changes", [])


def _start(built: image.Image, stage: Stage, mounted: Path, served: Mapping[str, str]) -> "subprocess.Popen[str]":
    """The image on that stage, with a folder for its kubeconfig."""
    mounted.mkdir()
    environment = image.with_kubeconfig({**stage.environment, **served}, mounted)
    line = image.command(built, [*built.entry_point, "run"], environment, mounted)
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _idle_share(stage: Stage, controller: Controller) -> str:
    """CPU from the beginning of a pass to that of the next one, of the first two that nothing but the interval keeps
    apart. Hetzner sees when they begin: asking the controller for it would be work for what is to be seen idle."""
    used_s, began_s = _next_pass(stage, controller)
    for _ in range(_CALLED_FOR_AT_MOST):
        until_s, ended_s = _next_pass(stage, controller)
        took_s = ended_s - began_s
        if took_s > _CALLED_FOR_S:
            return f"idle: {100 * (until_s - used_s) / took_s:.2f} % of a core, in {took_s:.0f} s with one pass"
        used_s, began_s = until_s, ended_s
    pytest.fail("the controller is never idle")


def _next_pass(stage: Stage, controller: Controller) -> tuple[float, float]:
    """When the next one begins: the CPU that was used until then, and the time."""

    def begun() -> int:
        _assert_it_runs(controller)
        return sum(entry.path == _ONCE_A_PASS for entry in stage.hetzner.journal.entries())

    count = begun()
    wait_for(lambda: begun() > count, "the next pass", within_s=_LONG_S)
    return cpu_s(controller.process.pid), time.monotonic()


def _nodes(stage: Stage) -> Iterable[dict[str, Any]]:
    return stage.nodes().values()


def _are_initialized(stage: Stage, controller: Controller) -> bool:
    _assert_it_runs(controller)
    return all(map(is_initialised, _nodes(stage)))


def _assert_it_runs(controller: Controller) -> None:
    """Fail at once, and not when everything was waited for, with all that a controller said which has ended."""
    if controller.process.poll() is not None:
        pytest.fail(f"the controller ended with {controller.ended()}: {controller.stderr}")


def _are_up(stage: Stage) -> bool:
    """Whether everybody has what there is before any cloud controller comes."""
    ready = {"type": "Ready", "status": "True"}
    return all(
        node["spec"].get("podCIDR") and any(ready.items() <= each.items() for each in node["status"]["conditions"])
        for node in _nodes(stage)
    )
