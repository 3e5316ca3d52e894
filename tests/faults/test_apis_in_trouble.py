"""APIs that are down, slow, hanging, or answer something else: the run says so in one line and does the rest."""

import json
from typing import Any

import pytest

from reconciler.sandbox.proxy import FaultProxy
from reconciler.sandbox.serving import BackgroundLoop
from tests.support.objects import joining_node, server, settled_node
from tests.support.stage import Ran, SimulatedCluster, Stage, is_initialised

pytestmark = pytest.mark.processes

HTML = {"body": "<html><body>Bad gateway</body></html>", "headers": {"Content-Type": "text/html"}}
IMPATIENT = ("--request-timeout", "300ms")


@pytest.fixture
def joining(stage: Stage, cluster: SimulatedCluster) -> Stage:
    """Two settled Nodes and one that joins."""
    stage.have_servers(*(server(i, f"n-{i}") for i in (1, 2, 3)))
    cluster.holds(settled_node("n-1", 1), settled_node("n-2", 2), joining_node("n-3"))
    return stage


class HetznerBehindProxy:
    """The stage's Hetzner simulator behind a fault proxy of its own."""

    def __init__(self, stage: Stage) -> None:
        self._loop = BackgroundLoop()
        self.proxy = FaultProxy(self._loop, stage.hetzner.url).start()
        stage.environment["HCLOUD_ENDPOINT"] = f"{self.proxy.url}/v1"

    def close(self) -> None:
        """Close the port."""
        self.proxy.stop()
        self._loop.close()


@pytest.fixture
def hetzner(joining: Stage) -> Any:
    """Puts the fault proxy between the command and Hetzner."""
    behind = HetznerBehindProxy(joining)
    yield behind.proxy
    behind.close()


def _said(ran: Ran) -> str:
    assert "Traceback" not in ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if "error:" in line]
    return line


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param({"kind": "status", "code": 500}, "500", id="500"),
        pytest.param(
            {"kind": "status", "code": 502, **HTML},
            "not as an API server does; check server in the kubeconfig",
            id="502 with HTML",
        ),
        pytest.param({"kind": "status", "code": 200, **HTML}, "the answer is no list", id="200 with HTML"),
        pytest.param(
            {"kind": "status", "code": 401, "body": {"kind": "Status", "message": "Unauthorized"}},
            "credentials are unknown or expired",
            id="401",
        ),
        pytest.param(
            {"kind": "status", "code": 403, "body": {"kind": "Status", "message": "nodes is forbidden"}},
            "nodes is forbidden",
            id="403",
        ),
        pytest.param({"kind": "hang"}, "does not answer", id="hanging"),
        pytest.param({"kind": "reset"}, "does not answer", id="reset"),
        pytest.param({"kind": "cut_body"}, "does not answer", id="cut body"),
    ],
)
def test_an_api_server_in_trouble_ends_the_run_with_one_line(joining: Stage, fault: dict[str, Any], said: str) -> None:
    """Without the list of Nodes nothing can be said: result ``error``, exit 1, nothing written."""
    joining.proxy.set_faults([{**fault, "path": "/api/v1/nodes", "count": None}])

    ran = joining.reconcile("--once", *IMPATIENT)

    assert said in _said(ran)
    assert ran.code == 1
    assert joining.writes() == []


def test_an_api_server_that_is_down_is_named(joining: Stage) -> None:
    """Connection refused names the address."""
    joining.proxy.stop()

    ran = joining.reconcile("--dry-run", *IMPATIENT)
    joining.proxy.start()

    assert "Kubernetes API server http://127.0.0.1" in _said(ran)
    assert ran.code == 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param({"kind": "status", "code": 500}, "500", id="500"),
        pytest.param(
            {"kind": "status", "code": 503, **HTML},
            "not as the Hetzner API does; check HCLOUD_ENDPOINT",
            id="503 with HTML",
        ),
        pytest.param({"kind": "status", "code": 200, **HTML}, "is no list of the Hetzner API", id="200 with HTML"),
        pytest.param({"kind": "status", "code": 404, **HTML}, "check HCLOUD_ENDPOINT", id="404 of something else"),
        pytest.param(
            {"kind": "status", "code": 403, "body": {"error": {"code": "forbidden", "message": "no"}}},
            "403 no (forbidden)",
            id="403",
        ),
        pytest.param({"kind": "hang"}, "does not answer", id="hanging"),
        pytest.param({"kind": "reset"}, "does not answer", id="reset"),
    ],
)
def test_a_hetzner_api_in_trouble_ends_the_run_and_deletes_nothing(
    joining: Stage, hetzner: FaultProxy, fault: dict[str, Any], said: str
) -> None:
    """An API that is gone is an error; what was read of Kubernetes is still reported."""
    hetzner.set_faults([{**fault, "count": None}])

    ran = joining.reconcile("--once", "--output", "json", *IMPATIENT)

    assert said in _said(ran)
    assert (ran.code, ran.report["result"], ran.report["sections"]["nodes"]["count"]) == (1, "error", 3)
    assert joining.writes() == []


def test_a_wrong_token_is_named(joining: Stage) -> None:
    """Hetzner's 401 is one line, however many parts could not be read for it."""
    ran = joining.reconcile("--once", HCLOUD_TOKEN="x" * 64, HCLOUD_NETWORK="cluster")

    assert "the token you have provided is invalid (unauthorized); check HCLOUD_TOKEN" in _said(ran)
    assert ran.code == 1


def test_being_throttled_for_good_is_incomplete_and_not_absence(joining: Stage, hetzner: FaultProxy) -> None:
    """429 without end: the run says incomplete, and nobody concludes that servers are gone."""
    body = {"error": {"code": "rate_limit_exceeded", "message": "limit of 3600 requests per hour reached"}}
    headers = {"RateLimit-Limit": "360000", "RateLimit-Remaining": "0", "RateLimit-Reset": "0"}
    hetzner.set_faults([{"kind": "status", "code": 429, "body": body, "headers": headers, "count": None}])

    ran = joining.reconcile("--once", "--output", "json", "--detailed-exitcode")

    assert (ran.code, ran.report["result"]) == (5, "incomplete")
    assert "warning: result is incomplete" in ran.stderr
    assert joining.writes() == []


@pytest.mark.parametrize("headers", [{"Retry-After": "0"}, {}], ids=["with a hint", "without"])
def test_a_throttling_api_server_is_waited_for(joining: Stage, headers: dict[str, str]) -> None:
    """429 once is no trouble, whether or not the server says how long."""
    joining.proxy.set_faults([{"kind": "status", "code": 429, "headers": headers, "path": "/api/v1/nodes"}])

    assert joining.reconcile("--once", "--output", "json").report["result"] == "no_changes"


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

    assert (ran.code, ran.report["result"]) == (1, "partial")
    assert [name for name, node in joining.nodes().items() if not is_initialised(node)] == ["n-3"]
    tried = [e for e in joining.proxy.journal.entries() if e.method == "PATCH" and "/n-3" in e.path]
    assert len(tried) == 1, "a refused write is not repeated, in this pass or by the retry layer"
    (failed,) = [change for change in ran.report["changes"] if change["outcome"]["state"] == "failed"]
    assert (failed["key"], "an admission webhook says no" in failed["outcome"]["why"]) == ("node/n-3", True)


@pytest.mark.parametrize("fault", ["executed_then_504", "executed_then_reset"])
def test_a_write_that_was_carried_out_unheard_is_no_failure(joining: Stage, fault: str) -> None:
    """The answer to a write is lost; the next round finds that nothing is left to do."""
    joining.proxy.set_faults([{"kind": fault, "method": "PATCH", "path": "/api/v1/nodes/n-3"}])

    ran = joining.reconcile("--once", "--output", "json")

    assert (ran.code, ran.report["result"]) == (0, "no_changes")
    assert is_initialised(joining.nodes()["n-3"])


def test_two_servers_of_one_name_make_a_node_ambiguous_and_no_other(stage: Stage, cluster: SimulatedCluster) -> None:
    """Which of them is the Node cannot be told: it is noted and left as it is, and the others are initialized."""
    stage.have_servers(server(1, "n-1"), server(2, "n-2"), server(3, "n-2"), server(4, "n-3"))
    cluster.holds(*map(joining_node, ("n-1", "n-2", "n-3")))

    ran = stage.reconcile("--once", "--output", "json")

    assert (ran.code, ran.report["summary"]["applied"]) == (0, 2)
    (note,) = ran.report["notes"]
    assert (note["key"], note["kind"]) == ("node/n-2", "ambiguous")
    assert "servers 2, 3 are all named 'n-2'" in note["text"]
    assert [name for name, node in stage.nodes().items() if not is_initialised(node)] == ["n-2"]
    assert not [entry for entry in stage.writes() if "/n-2" in entry.path]


def test_a_list_that_shrinks_while_it_is_paged_is_read_again(stage: Stage, cluster: SimulatedCluster) -> None:
    """120 servers, one deleted between two pages: the list is read once more, and all joining Nodes are recognized."""
    names = [f"n-{i}" for i in range(1, 121)]
    stage.have_servers(*(server(i, name) for i, name in enumerate(names, 1)))
    cluster.holds(*map(joining_node, names[1:]))
    stage.project.set_faults([{"kind": "list_shrinks", "path": "/servers"}])

    report = stage.reconcile("--once", "--output", "json").report

    assert (report["result"], report["summary"]["applied"]) == ("no_changes", 119)
    assert len(stage.hetzner.journal.entries()) == 6


def test_a_list_that_never_adds_up_is_incomplete(joining: Stage, hetzner: FaultProxy) -> None:
    """A page that does not arrive: no Node is recognized by its name, since another of that name may be on it."""
    names = [f"n-{i}" for i in range(1, 121)]
    joining.have_servers(*(server(i, name) for i, name in enumerate(names, 1)))
    hetzner.set_faults([{"kind": "status", "code": 503, "path": "/v1/servers", "query": "page=2", "count": None}])

    ran = joining.reconcile("--once", "--output", "json", "--detailed-exitcode", *IMPATIENT)

    section = ran.report["sections"]["servers"]
    assert (ran.code, ran.report["result"], section["complete"], section["expected"]) == (5, "incomplete", False, 120)
    assert not is_initialised(joining.nodes()["n-3"])
    assert json.dumps(ran.report["notes"]).count("unknown") == 1


def test_an_idle_pass_with_100_servers_and_a_network_costs_three_hetzner_requests(
    stage: Stage, cluster: SimulatedCluster
) -> None:
    """Two pages of servers and one network, whatever the number of Nodes."""
    servers = [server(i, f"n-{i}") for i in range(1, 101)]
    stage.have_servers(*servers, networks=[{"id": 7, "name": "cluster", "ip_range": "10.0.0.0/16"}])
    cluster.holds(*(settled_node(f"n-{i}", i) for i in range(1, 101)))

    for network in ("7", "cluster"):
        stage.forget()
        ran = stage.reconcile("--once", "--output", "json", HCLOUD_NETWORK=network)

        assert ran.report["result"] == "no_changes"
        assert len(stage.hetzner.journal.entries()) == ran.report["requests"]["hetzner"] == 3


def test_a_write_that_never_gets_through_is_tried_by_one_layer_alone(joining: Stage) -> None:
    """503 for good on one Node: the attempts of the retry layer, and no multiple of them."""
    joining.proxy.set_faults([{"kind": "status", "code": 503, "path": "/api/v1/nodes/n-3", "count": None}])

    ran = joining.reconcile("--once", "--output", "json")

    assert ran.report["result"] == "error"
    assert len([e for e in joining.proxy.journal.entries() if e.method == "PATCH" and "/n-3" in e.path]) == 5


def test_an_unreadable_server_leaves_only_a_node_of_its_name_in_doubt(
    joining: Stage, cluster: SimulatedCluster, hetzner: FaultProxy
) -> None:
    """One server cannot be decoded: its namesake waits, the result says incomplete, and the others are initialized."""
    names = ("n-1", "n-2", "n-3")
    cluster.holds(*map(joining_node, names))
    page = {**joining.project.world()["hetzner"]}["servers"]
    broken = [{**server, "server_type": None} if server["name"] == "n-2" else server for server in page]
    pagination = {
        "page": 1,
        "per_page": 50,
        "previous_page": None,
        "next_page": None,
        "last_page": 1,
        "total_entries": 3,
    }
    body = {"servers": broken, "meta": {"pagination": pagination}}
    hetzner.set_faults([{"kind": "status", "code": 200, "body": body, "path": "/v1/servers", "count": None}])

    ran = joining.reconcile("--once", "--output", "json", "--detailed-exitcode")

    assert (ran.code, ran.report["result"]) == (5, "incomplete")
    assert [name for name, node in joining.nodes().items() if is_initialised(node)] == ["n-1", "n-3"]
    assert [(note["key"], note["kind"]) for note in ran.report["notes"]] == [("node/n-2", "unknown")]
