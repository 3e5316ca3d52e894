"""SIGTERM in each phase of a controller's life: it is gone within ten seconds, whatever hangs, and all is well."""

import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from desired.names import LEASE as LEASE_NAME
from tests.support.apiserver import ApiServer
from tests.support.controller import RARELY, Controller, running, started
from tests.support.objects import LOCATED, a_service, server, settled_node
from tests.support.replicas import LEASE, LEASES
from tests.support.sampling import sample
from tests.support.stage import DEADLINE_S, Stage, is_initialised, killed_at_the_end, wait_for

ENDS_WITHIN_S = 10.0
AT_ONCE_S = 5.0
"""When nothing is waited for, on a busy machine; what hangs is given more than that."""
EVENTS = "/api/v1/namespaces/default/events"
FOR_EVER_S = 3600.0


def _hang(method: str, path: str) -> list[dict[str, Any]]:
    """Whoever asks this gets no answer."""
    return [{"kind": "hang", "method": method, "path": path, "count": None}]


@pytest.fixture
def lease(api_server: ApiServer, no_lease: None) -> Callable[[], str]:
    """Who holds the Lease, of which there is none at first. Raises KeyError while there is none."""
    return lambda: str(api_server.request("GET", LEASE)[1]["spec"]["holderIdentity"])


def _held_by_another(stage: Stage) -> None:
    """Another process has just renewed the Lease."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": now, "acquireTime": now}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE_NAME}, "spec": spec}
    status, answer = stage.cluster.request("POST", LEASES, body)
    assert status == 201, answer


def _ends_well(controller: Controller, within_s: float) -> None:
    code, seconds = controller.end()
    assert code == 0, controller.stderr
    assert seconds < within_s
    assert "Traceback" not in "\n".join(controller.stderr)


def test_sigterm_while_it_sleeps(one_node: Stage) -> None:
    """The interval is an hour."""
    with running(one_node, *RARELY) as controller:
        _ends_well(controller, AT_ONCE_S)


def test_sigterm_while_it_stands_by(one_node: Stage, lease: Callable[[], str]) -> None:
    """Another one has the Lease, and keeps it: nothing is written, the process is ready, and gone at once."""
    _held_by_another(one_node)

    with started(one_node, RECONCILER_LEADER_ELECT="true") as controller:
        controller.wait_to_say("standing by")
        wait_for(lambda: controller.page("/readyz") == (200, "ok"), "readiness")
        assert (controller.page("/livez")[0], controller.passes()) == (200, 0)
        _ends_well(controller, AT_ONCE_S)

    assert lease() == "other"
    assert not is_initialised(one_node.nodes()["web-1"])


def test_sigterm_while_it_leads_gives_the_lease_back(one_node: Stage, lease: Callable[[], str]) -> None:
    """The next one need not wait until it has run out."""
    with running(one_node, *RARELY, RECONCILER_LEADER_ELECT="true") as controller:
        assert lease() != ""
        _ends_well(controller, AT_ONCE_S)

    assert lease() == ""


def _rights_hang(stage: Stage) -> Callable[[], bool]:
    stage.proxy.set_faults(_hang("POST", "/apis/authorization.k8s.io"))
    return lambda: any("/selfsubjectaccessreviews" in entry.path for entry in stage.proxy.journal.entries())


def _kubernetes_hangs(stage: Stage) -> Callable[[], bool]:
    stage.proxy.set_faults(_hang("GET", "/api/v1/nodes"))
    return lambda: any(entry.path == "/api/v1/nodes" for entry in stage.proxy.journal.entries())


def _hetzner_hangs(stage: Stage) -> Callable[[], bool]:
    stage.hetzner_proxy.set_faults(_hang("GET", "/v1/servers"))
    return lambda: "/v1/servers" in stage.asked_hetzner()


def _a_write_hangs(stage: Stage) -> Callable[[], bool]:
    stage.proxy.set_faults(_hang("PATCH", "/api/v1/nodes/web-1/status"))
    return lambda: any(entry.path == "/api/v1/nodes/web-1/status" for entry in stage.writes())


def _an_event_hangs(stage: Stage) -> Callable[[], bool]:
    stage.proxy.set_faults(_hang("POST", EVENTS))
    return _asked(stage, "POST", EVENTS)


def _an_event_said_again_hangs(stage: Stage) -> Callable[[], bool]:
    """The API server has it already."""
    stage.proxy.set_faults([{"kind": "status", "code": 409, "method": "POST", "path": EVENTS, "count": None}])
    stage.proxy.set_faults(_hang("PATCH", EVENTS))
    return _asked(stage, "PATCH", EVENTS)


def _asked(stage: Stage, method: str, path: str) -> Callable[[], bool]:
    """Whether this was sent to the API server."""
    return lambda: any((e.method, e.path[: len(path)]) == (method, path) for e in stage.proxy.journal.entries())


@pytest.mark.parametrize(
    "hangs",
    sample(
        [_rights_hang, _kubernetes_hangs, _hetzner_hangs, _a_write_hangs, _an_event_hangs, _an_event_said_again_hangs],
        "what hangs",
        least=2,
    ),
)
def test_sigterm_while_an_answer_does_not_come(one_node: Stage, hangs: Callable[[Stage], Callable[[], bool]]) -> None:
    """It would be waited for for 15 s."""
    is_under_way = hangs(one_node)

    with started(one_node) as controller:
        wait_for(is_under_way, "the request that hangs")
        _ends_well(controller, ENDS_WITHIN_S)


def test_sigterm_while_an_event_hangs_leaves_the_lease_to_run_out(one_node: Stage, lease: Callable[[], str]) -> None:
    """Nothing of the last leader's is under way when the next one begins."""
    is_under_way = _an_event_hangs(one_node)

    with started(one_node, RECONCILER_LEADER_ELECT="true") as controller:
        wait_for(is_under_way, "the event that hangs")
        _ends_well(controller, ENDS_WITHIN_S)

    assert lease() != ""


@pytest.mark.usefixtures("no_lease")
@pytest.mark.parametrize("method", sample(["GET", "POST", "PUT"], "what of the Lease hangs"))
def test_sigterm_while_the_lease_hangs(one_node: Stage, method: str) -> None:
    """While it is looked at, taken for the first time, and renewed, which is when it would be given back."""
    one_node.proxy.set_faults(_hang(method, LEASES))

    with started(one_node, RECONCILER_LEADER_ELECT="true") as controller:
        wait_for(_asked(one_node, method, LEASES), "the request that hangs")
        _ends_well(controller, ENDS_WITHIN_S)


def test_a_single_run_does_not_wait_for_an_event_that_hangs(one_node: Stage) -> None:
    """It has done its work, and comes to its end by itself."""
    is_under_way = _an_event_hangs(one_node)

    with killed_at_the_end(one_node.start("--once")) as process:
        wait_for(is_under_way, "the event that hangs")
        began = time.monotonic()
        assert process.wait(timeout=DEADLINE_S) == 0
        assert time.monotonic() - began < ENDS_WITHIN_S

    assert is_initialised(one_node.nodes()["web-1"])


def test_sigterm_while_an_action_goes_on(a_stage: Callable[..., Stage]) -> None:
    """Hetzner works on what was asked for, for ever: the next run goes on from there."""
    stage = a_stage(action_s=FOR_EVER_S)
    stage.environment |= LOCATED
    stage.have_servers(server(1, "web-1"))
    stage.register(settled_node("web-1", 1))
    stage.have_services(a_service())

    with started(stage) as controller:
        wait_for(lambda: "/v1/actions" in stage.asked_hetzner(), "a question about the action")
        _ends_well(controller, ENDS_WITHIN_S)

    assert len(stage.balancers()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(one_node: Stage, number: signal.Signals) -> None:
    """Whatever hangs, and with the exit status of a process that a signal ended, which is also said as shells do: that
    depends on which of two threads hears it first."""
    is_under_way = _a_write_hangs(one_node)

    def sent_again() -> bool:
        controller.process.send_signal(number)
        return controller.process.poll() is not None

    with started(one_node) as controller:
        wait_for(is_under_way, "the request that hangs")
        began = time.monotonic()
        wait_for(sent_again, "the end")
        assert time.monotonic() - began < AT_ONCE_S
        assert controller.ended() in {-number, 128 + number}
