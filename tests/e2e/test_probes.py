"""The controller's probes and metrics as a kubelet and Prometheus see them, also while an API is gone."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from hcloud_sandbox.proxy import FaultProxy
from tests.support.child_processes import free_ports
from tests.support.controller import OFTEN, RARELY, Controller, Pages, running, started
from tests.support.held import cpu_s
from tests.support.objects import joining_node, server
from tests.support.replicas import LEASES
from tests.support.sampling import sample
from tests.support.stage import Stage, hetzner_says, is_initialised, wait_for

PROBES = ("/livez", "/readyz", "/healthz")
GONE_S = 3.0
"""For so long an API is gone: for one of the kubelet's periods, and for several tries of whoever waits for it."""
MOST_REQUESTS_A_SECOND, AT_FIRST = 2, 15
"""And so many more at the very beginning, when all that a pass reads side by side is tried again."""
MOST_CPU = 0.25
"""Share of one processor, on average; the start of the process is over by then."""
LOOK_S = 0.5
"""A kubelet and a scraper come round that often, so that what is measured is not the answers to them."""


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
        ran = one_node.reconcile("run", RECONCILER_HEALTH_ADDRESS=f"127.0.0.1:{port}")

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
    pytest.param([{"kind": "hang", "count": None}], id="hangs"),
    pytest.param([{"kind": "status", "code": 200, "body": "<html>", "count": None}], id="garbage"),
]
HETZNER_GONE = [
    pytest.param([{"kind": "reset", "count": None}], id="refuses"),
    pytest.param([{"kind": "status", "code": 503, "count": None}], id="503"),
    pytest.param([{"kind": "status", "code": 429, "count": None}], id="throttles"),
    pytest.param([{"kind": "hang", "count": None}], id="hangs"),
]
WATCHES = [
    pytest.param("", id="close at once"),
    pytest.param("<html>", id="send garbage"),
]


@pytest.fixture
def electing(one_node: Stage, no_lease: None) -> Stage:
    """The same for a process that elects, as the shipped one does."""
    one_node.environment["RECONCILER_LEADER_ELECT"] = "true"
    return one_node


def _is_left_in_peace(controller: Controller, proxy: FaultProxy, is_over: Callable[[], bool], what: str) -> None:
    """While something is wrong there, up to the end that is waited for: it is asked little, that costs next to no
    processor time, and all three probes say that all is well."""
    began, used_before_s = time.monotonic(), cpu_s(controller.process.pid)
    seen: set[tuple[int, str]] = set()

    def ends() -> bool:
        seen.update(controller.page(probe) for probe in PROBES)
        return time.monotonic() > began + GONE_S and is_over()

    wait_for(ends, what, every_s=LOOK_S)
    seconds, used_s = time.monotonic() - began, cpu_s(controller.process.pid) - used_before_s
    sent = [
        f"{entry.method} {entry.path} {entry.status}"
        for entry in proxy.journal.entries()
        if "/selfsubjectaccessreviews" not in entry.path  # each right is asked for once, beside the first pass
    ]
    assert seen == {(200, "ok")}
    assert len(sent) <= AT_FIRST + MOST_REQUESTS_A_SECOND * seconds, sent
    assert used_s <= MOST_CPU * seconds
    proxy.clear_faults()


def _alive_while_gone(controller: Controller, proxy: FaultProxy, faults: list[dict[str, Any]]) -> None:
    """An API is gone for a while, until a pass was tried and could not be made."""
    controller.wait_for_passes(1, 'result="no_changes"')
    proxy.journal.clear()
    proxy.set_faults(faults)
    _is_left_in_peace(
        controller,
        proxy,
        lambda: controller.passes() > controller.passes('result="no_changes"'),
        "a pass that could not be made",
    )


def _recovers(stage: Stage, controller: Controller) -> None:
    """A Node that joins now is initialized. Its kubelet goes on reporting: a watch that comes back only after the Node
    has joined hears of it by that."""
    stage.add_servers(server(2, "late"))
    stage.register(joining_node("late"))
    reports = count()

    def is_done() -> bool:
        late = stage.nodes()["late"]
        if not is_initialised(late):
            told = {"metadata": {"annotations": {"example.com/report": str(next(reports))}}}
            stage.cluster.request("PATCH", "/api/v1/nodes/late", told)
        return is_initialised(late)

    wait_for(is_done, f"the Node that joins, log {controller.stderr}", every_s=LOOK_S)


@pytest.mark.parametrize("faults", sample(KUBERNETES_GONE, "the API server is gone", least=2))
def test_the_controller_outlives_its_api_server(electing: Stage, faults: list[dict[str, Any]]) -> None:
    """It stays alive and ready, does not hammer what is in trouble, and goes on afterwards."""
    with running(electing, *OFTEN, "--request-timeout", "1s") as controller:
        _alive_while_gone(controller, electing.proxy, faults)
        _recovers(electing, controller)


@pytest.mark.parametrize("says", sample(WATCHES, "watches are of no use"))
def test_the_controller_outlives_watches_that_are_of_no_use(electing: Stage, says: str) -> None:
    """Each is accepted and over in no time. That is no storm; once they last again, what happens wakes the loop, whose
    interval is an hour."""
    electing.proxy.set_faults([{"kind": "status", "code": 200, "body": says, "query": "watch=true", "count": None}])

    with running(electing, *RARELY) as controller:
        electing.proxy.journal.clear()
        _is_left_in_peace(controller, electing.proxy, lambda: _watched(electing) >= 2, "watches to be tried again")
        _recovers(electing, controller)


def _watched(stage: Stage) -> int:
    """How often it was tried to watch."""
    return sum("watch=true" in entry.query for entry in stage.proxy.journal.entries())


@pytest.mark.parametrize("faults", sample(HETZNER_GONE, "Hetzner is gone", least=2))
def test_the_controller_outlives_hetzner(one_node: Stage, faults: list[dict[str, Any]]) -> None:
    """The same, with nothing of the project to be seen."""
    with running(one_node, *OFTEN, "--request-timeout", "1s") as controller:
        _alive_while_gone(controller, one_node.hetzner_proxy, faults)
        _recovers(one_node, controller)


GONE = {"kind": "status", "code": 503, "count": None}
NO_LEASE = "the Lease kube-system/cloud-controller-manager could not be acquired: "


@pytest.mark.parametrize(
    ("elects", "fault", "why"),
    [
        pytest.param("false", GONE, "Kubernetes API", id="alone, no API server"),
        pytest.param("true", GONE, NO_LEASE, id="one of several, no API server"),
        pytest.param(
            "true", {**GONE, "code": 403, "path": LEASES}, NO_LEASE, id="one of several, no right to the Lease"
        ),
    ],
)
def test_a_controller_that_has_seen_nothing_yet_is_alive_and_not_ready(
    one_node: Stage, elects: str, fault: dict[str, Any], why: str
) -> None:
    """From the start there was nothing to be seen: an upgrade that causes this stops before it takes the leader away.
    It is ready as soon as everything was read once."""
    one_node.proxy.set_faults([fault])

    with started(one_node, RECONCILER_LEADER_ELECT=elects) as controller:
        wait_for(lambda: controller.page("/livez") == (200, "ok"), "the probes")
        wait_for(lambda: f"[-]snapshot failed: {why}" in controller.page("/readyz")[1], "a try that fails")
        assert [controller.page(probe)[0] for probe in PROBES] == [200, 503, 200]
        one_node.proxy.clear_faults()
        wait_for(lambda: controller.page("/readyz") == (200, "ok"), "readiness")


def _use_up(stage: Stage, calls: int) -> None:
    """Another client of the project sends so many."""
    for _ in range(calls):
        hetzner_says(stage.project, "/servers?per_page=1")


def test_passes_are_further_apart_the_less_is_left(a_stage: Callable[..., Stage]) -> None:
    """Metric, interval and note say so, where it was asked for; a Node still joins as soon as it registers."""
    stage = a_stage(rate_limit=1000)
    stage.have_servers(server(1, "web-1"), server(2, "web-2"))
    stage.register(joining_node("web-1"))
    _use_up(stage, 860)

    with running(stage, *OFTEN, "--share-rate-limit") as controller:
        wait_for(lambda: controller.metric("hcloud_reconciler_notes", 'kind="pace"') == 1, "the note")
        factor = controller.metric("hcloud_reconciler_pace_factor")
        assert 3 <= factor <= 10
        assert controller.metric("hcloud_reconciler_interval_seconds") >= 3
        stage.register(joining_node("web-2"))
        wait_for(lambda: is_initialised(stage.nodes()["web-2"]), "the Node")
        assert controller.metric("hcloud_api_requests_total", 'code="429"') == 0


def test_passes_are_not_slowed_down_unasked(a_stage: Callable[..., Stage]) -> None:
    stage = a_stage(rate_limit=1000)
    stage.have_servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    _use_up(stage, 860)

    with running(stage, *OFTEN) as controller:
        controller.wait_for_passes(3)
        assert controller.metric("hcloud_reconciler_pace_factor") == 1
        assert controller.metric("hcloud_reconciler_interval_seconds") == 1
        assert controller.metric("hcloud_reconciler_notes", 'kind="pace"') == 0
