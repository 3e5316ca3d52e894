"""APIs that are down, slow, hanging, or answer something else: the run says so in one line and does the rest."""

from typing import Any

import pytest

from tests.support.objects import joining_node, server, settled_node
from tests.support.rows import rows
from tests.support.stage import Ran, SimulatedCluster, Stage, is_initialised

HTML = {"body": "<html><body>Bad gateway</body></html>", "headers": {"Content-Type": "text/html"}}
IMPATIENT = ("--request-timeout", "300ms")


@pytest.fixture
def joining(stage: Stage, cluster: SimulatedCluster) -> Stage:
    """Two settled Nodes and one that joins."""
    stage.have_servers(*(server(i, f"n-{i}") for i in (1, 2, 3)))
    cluster.holds(settled_node("n-1", 1), settled_node("n-2", 2), joining_node("n-3"))
    return stage


def _said(ran: Ran) -> str:
    assert "Traceback" not in ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if "error:" in line]
    return line


@rows("fault said", {
    "502 with HTML": ({"kind": "status", "code": 502, **HTML},
        "which is no answer of an API server; check server in the kubeconfig"),
    "401": ({"kind": "status", "code": 401, "body": {"kind": "Status", "message": "Unauthorized"}},
        "credentials are unknown or expired"),
    "hanging": ({"kind": "hang"}, "does not answer"),
})  # fmt: skip
def test_an_api_server_in_trouble_ends_the_run_with_one_line(joining: Stage, fault: dict[str, Any], said: str) -> None:
    """Without the list of Nodes nothing can be said: result ``error``, exit 1, nothing written."""
    joining.proxy.set_faults([{**fault, "path": "/api/v1/nodes", "count": None}])
    ran = joining.reconcile("--once", *IMPATIENT)
    assert said in _said(ran)
    assert ran.code == 1
    assert joining.writes() == []


def test_an_api_server_that_is_down_is_named(joining: Stage) -> None:
    joining.proxy.stop()
    ran = joining.reconcile("--dry-run", *IMPATIENT)
    joining.proxy.start()
    assert "Kubernetes API server http://127.0.0.1" in _said(ran)
    assert ran.code == 1


@rows("fault said", {
    "503 with HTML": ({"kind": "status", "code": 503, **HTML},
        "an outage of Hetzner, or of a proxy on the way; it is tried again"),
    "200 with HTML": ({"kind": "status", "code": 200, **HTML}, "is no list of the Hetzner API"),
    "hanging": ({"kind": "hang"}, "does not answer"),
})  # fmt: skip
def test_a_hetzner_api_in_trouble_ends_the_run_and_deletes_nothing(
    joining: Stage, fault: dict[str, Any], said: str
) -> None:
    """An API that is gone is an error; what was read of Kubernetes is still reported."""
    joining.hetzner_proxy.set_faults([{**fault, "count": None}])
    ran = joining.reconcile("--once", "--output", "json", *IMPATIENT)
    assert said in _said(ran)
    assert (ran.code, ran.report["result"], ran.report["sections"]["nodes"]["count"]) == (1, "error", 3)
    assert joining.writes() == []


def test_a_write_that_fails_leaves_the_others_alone(joining: Stage, cluster: SimulatedCluster) -> None:
    """A Node whose writes are refused is a failed change; the others are initialized: result ``partial``, exit 1."""
    names = [f"n-{i}" for i in range(1, 6)]
    joining.have_servers(*(server(i, name) for i, name in enumerate(names, 1)))
    cluster.holds(*map(joining_node, names))
    body = {"kind": "Status", "message": "an admission webhook says no", "reason": "Forbidden"}
    joining.proxy.set_faults(
        [{"kind": "status", "code": 403, "body": body, "path": "/api/v1/nodes/n-3", "count": None}]
    )

    ran = joining.reconcile("--once", "--output", "json")

    assert (ran.code, ran.report["result"]) == (1, "blocked")
    assert [name for name, node in joining.nodes().items() if not is_initialised(node)] == ["n-3"]
    tried = [e for e in joining.proxy.journal.entries() if e.method == "PATCH" and "/n-3" in e.path]
    assert len(tried) == 1, "a refused write is not repeated, in this pass or by the retry layer"
    (failed,) = [change for change in ran.report["changes"] if change["outcome"]["state"] == "failed"]
    assert (failed["key"], "an admission webhook says no" in failed["outcome"]["why"]) == ("node/n-3", True)
