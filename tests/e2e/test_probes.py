"""The controller's probes and metrics as a kubelet and Prometheus see them, also while an API is gone."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reconciler.sandbox.proxy import FaultProxy
from tests.support.child_processes import free_ports
from tests.support.controller import OFTEN, RARELY, Controller, Pages, running, started
from tests.support.lifecycle import add_servers
from tests.support.objects import joining_node, server
from tests.support.stage import Stage, is_initialised, wait_for

PROBES = ("/livez", "/readyz", "/healthz")
GONE_S = 3.0
"""For so long an API is gone: for one of the kubelet's periods, and for several tries of whoever waits for it."""
MOST_REQUESTS_A_SECOND, AT_FIRST = 2, 15
"""And so many more at the very beginning, when all that a pass reads side by side is tried again."""


@pytest.fixture
def one_node(stage: Stage) -> Stage:
    """A stage with one Node that joins."""
    stage.servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    return stage


@contextmanager
def _taken() -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_probes_and_metrics_are_served(one_node: Stage) -> None:
    """Both on one port, as their addresses are equal: HCCM's two names of probes, and metrics that tell of the pass."""
    with running(one_node, *RARELY) as controller:
        assert [controller.page(probe) for probe in PROBES] == [(200, "ok")] * 3
        status, verbose = controller.page("/readyz?verbose")
        assert (status, "[+]snapshot ok" in verbose) == (200, True)
        assert controller.page("/elsewhere")[0] == 404
        applied = controller.metric("hcloud_reconciler_applied_total", 'section="nodes"', 'result="applied"')
        assert (applied, controller.metric("leader_election_master_status")) == (1, 1)
        assert controller.metric("hcloud_api_requests_total", 'code="200"', 'api_endpoint="/servers"') > 0


def test_metrics_on_a_port_of_their_own(one_node: Stage) -> None:
    """They are served there, and not beside the probes."""
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"

    with started(one_node, *RARELY, HCLOUD_METRICS_ADDRESS=address) as controller:
        scraped = Pages(port)
        scraped.wait_for_passes(1)
        assert (controller.page("/livez")[0], controller.page("/metrics")[0]) == (200, 404)
        assert (scraped.page("/metrics")[0], scraped.page("/livez")[0]) == (200, 404)


def test_probes_that_cannot_be_served_end_the_process_with_the_reason(one_node: Stage) -> None:
    """Nothing was written by then: kubelet would kill it anyhow."""
    with _taken() as port:
        ran = one_node.reconcile(RECONCILER_HEALTH_ADDRESS=f"127.0.0.1:{port}")

    assert ran.code == 1
    assert f"cannot listen on 127.0.0.1:{port}: the port is taken" in ran.stderr
    assert "--health-address" in ran.stderr
    assert not is_initialised(one_node.nodes()["web-1"])


def test_metrics_that_cannot_be_served_are_a_warning(one_node: Stage) -> None:
    """As with HCCM: the controller does its work."""
    with _taken() as port, started(one_node, HCLOUD_METRICS_ADDRESS=f"127.0.0.1:{port}") as controller:
        wait_for(lambda: is_initialised(one_node.nodes()["web-1"]), "the Node")
        controller.wait_to_say("metrics are not served")
        wait_for(lambda: controller.page("/readyz") == (200, "ok"), "readiness")


KUBERNETES_GONE = [
    pytest.param([{"kind": "reset", "count": None}], id="refuses"),
    pytest.param([{"kind": "status", "code": 503, "count": None}], id="503"),
    pytest.param([{"kind": "cut_client", "client": "hcloud-reconciler"}], id="cut off"),
]
HETZNER_GONE = [
    pytest.param([{"kind": "reset", "count": None}], id="refuses"),
    pytest.param([{"kind": "status", "code": 503, "count": None}], id="503"),
    pytest.param([{"kind": "status", "code": 429, "count": None}], id="throttles"),
    pytest.param([{"kind": "hang", "count": None}], id="hangs"),
]


def _alive_while_gone(controller: Controller, proxy: FaultProxy, faults: list[dict[str, Any]]) -> None:
    """An API is gone for a while: it is left in peace, and all three probes say that all is well."""
    proxy.journal.clear()
    proxy.set_faults(faults)
    began = time.monotonic()
    seen: set[tuple[int, str]] = set()

    def is_over() -> bool:
        seen.update(controller.page(probe) for probe in PROBES)
        return time.monotonic() > began + GONE_S and controller.passes() > controller.passes('result="no_changes"')

    wait_for(is_over, "a pass that could not be made")
    seconds = time.monotonic() - began
    sent = [f"{entry.method} {entry.path} {entry.status}" for entry in proxy.journal.entries()]
    assert seen == {(200, "ok")}
    assert len(sent) <= AT_FIRST + MOST_REQUESTS_A_SECOND * seconds, sent
    proxy.clear_faults()


def _recovers(stage: Stage, controller: Controller) -> None:
    """A Node that joins now is initialised."""
    add_servers(stage, server(2, "late"))
    stage.register(joining_node("late"))
    wait_for(lambda: is_initialised(stage.nodes()["late"]), f"the Node that joins, log {controller.stderr}")


@pytest.mark.parametrize("faults", KUBERNETES_GONE)
def test_the_controller_outlives_its_api_server(one_node: Stage, faults: list[dict[str, Any]]) -> None:
    """It stays alive and ready, does not hammer what is in trouble, and goes on afterwards."""
    with running(one_node, *OFTEN, "--request-timeout", "1s") as controller:
        controller.wait_for_passes(1, 'result="no_changes"')
        _alive_while_gone(controller, one_node.proxy, faults)
        _recovers(one_node, controller)


@pytest.mark.parametrize("faults", HETZNER_GONE)
def test_the_controller_outlives_hetzner(one_node: Stage, faults: list[dict[str, Any]]) -> None:
    """The same, with nothing of the project to be seen."""
    with running(one_node, *OFTEN, "--request-timeout", "1s") as controller:
        controller.wait_for_passes(1, 'result="no_changes"')
        _alive_while_gone(controller, one_node.hetzner_proxy, faults)
        _recovers(one_node, controller)


def test_a_controller_that_has_seen_nothing_yet_is_alive_and_not_ready(one_node: Stage) -> None:
    """The API server has been gone from the start; it is ready as soon as everything was read once."""
    one_node.proxy.set_faults([{"kind": "status", "code": 503, "count": None}])

    with started(one_node) as controller:
        wait_for(lambda: controller.page("/livez") == (200, "ok"), "the probes")
        wait_for(lambda: controller.passes('result="error"') > 0, "a pass that fails")
        status, text = controller.page("/readyz")
        assert (status, controller.page("/livez")[0]) == (500, 200)
        assert "[-]snapshot failed: " in text
        one_node.proxy.clear_faults()
        wait_for(lambda: controller.page("/readyz") == (200, "ok"), "readiness")
