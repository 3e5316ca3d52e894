"""Signals while an answer does not come: the process is gone within ten seconds, and its Lease runs out.

``tests/unit/reconciler/test_replicas.py`` has stops of whole processes on virtual time, ``test_stopping.py`` there
signals by themselves.
"""

import signal
import time
from collections.abc import Callable

import pytest

from tests.support.controller import started
from tests.support.replicas import LEASE
from tests.support.sampling import sample
from tests.support.stage import Stage, wait_for

ENDS_WITHIN_S = 10.0
AT_ONCE_S = 5.0
"""Most seconds of an end for which nothing is waited for, on a busy machine."""
EVENTS = "/api/v1/namespaces/default/events"


def _hangs(stage: Stage, method: str, path: str) -> Callable[[], bool]:
    """Leave this request without an answer. The function that is returned tells whether it was sent."""
    stage.proxy.set_faults([{"kind": "hang", "method": method, "path": path, "count": None}])
    return lambda: any((entry.method, entry.path) == (method, path) for entry in stage.proxy.journal.entries())


@pytest.mark.usefixtures("no_lease")
@pytest.mark.parametrize(
    ("method", "path"),
    sample(
        [
            pytest.param("PATCH", "/api/v1/nodes/web-1/status", id="a write"),
            pytest.param("POST", EVENTS, id="an event"),
        ],
        "what hangs",
    ),
)
def test_sigterm_while_an_answer_does_not_come(one_node: Stage, method: str, path: str) -> None:
    """Requests of this leader may be under way still: the Lease is not given back."""
    is_under_way = _hangs(one_node, method, path)

    with started(one_node, RECONCILER_LEADER_ELECT="true") as controller:
        wait_for(is_under_way, "the request that hangs")
        code, seconds = controller.end()

    assert code == 0, controller.stderr
    assert seconds < ENDS_WITHIN_S
    assert "Traceback" not in "\n".join(controller.stderr)
    assert one_node.cluster.request("GET", LEASE)[1]["spec"]["holderIdentity"] != ""


def test_a_second_signal_ends_it_at_once(one_node: Stage) -> None:
    """Exit statuses are that of a signal, or its number as shells say it: the thread that hears it first decides."""
    is_under_way = _hangs(one_node, "PATCH", "/api/v1/nodes/web-1/status")

    def sent_again() -> bool:
        controller.process.send_signal(signal.SIGTERM)
        return controller.process.poll() is not None

    with started(one_node) as controller:
        wait_for(is_under_way, "the request that hangs")
        began = time.monotonic()
        wait_for(sent_again, "the end")
        assert time.monotonic() - began < AT_ONCE_S
        assert controller.ended() in {-signal.SIGTERM, 128 + signal.SIGTERM}
