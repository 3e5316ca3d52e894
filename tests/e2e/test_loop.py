"""The command running for ever: it notices, it goes on through trouble, it stops when asked to."""

import signal
from collections import Counter
from typing import Any

import pytest

from tests.support.objects import joining_node, server
from tests.support.stage import Ran, Stage, is_initialised, killed_at_the_end, wait_for


def test_a_node_that_joins_later_is_initialised_and_sigterm_ends_the_loop(stage: Stage) -> None:
    """The loop initializes what joins while it runs; SIGTERM ends it with exit code 0."""
    stage.have_servers(server(1, "early"), server(2, "late"))
    stage.register(joining_node("early"))

    with killed_at_the_end(stage.start("run", "--interval", "100ms")) as process:
        wait_for(lambda: is_initialised(stage.nodes()["early"]), "the first Node")
        stage.register(joining_node("late"))
        wait_for(lambda: is_initialised(stage.nodes()["late"]), "the second Node")
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=30)

    assert process.returncode == 0
    assert "Traceback" not in stderr
    assert stdout == ""
    assert "kind=node.initialise key=node/late" in stderr


@pytest.mark.parametrize("fault", [{"kind": "status", "code": 503}, {"kind": "reset"}, {"kind": "status", "code": 401}])
def test_the_loop_outlives_an_api_server_that_fails(stage: Stage, fault: dict[str, object]) -> None:
    """Whatever the API server answers for a while, the loop goes on and does its work afterwards."""
    stage.have_servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    stage.proxy.set_faults([{**fault, "count": 7}])

    with killed_at_the_end(stage.start("run", "--interval", "100ms")):
        wait_for(lambda: is_initialised(stage.nodes()["web-1"]), "the Node in spite of the trouble")


def test_a_signal_between_changes_leaves_whole_nodes(stage: Stage) -> None:
    """SIGTERM while many Nodes are being initialized: none is left half done, and the next run does the rest.

    The API server goes silent for those that come after the first eight, so that the signal finds the run at work.
    """
    names = [f"n-{i:03}" for i in range(60)]
    stage.have_servers(*(server(i, name) for i, name in enumerate(names, 1)))
    stage.register(*map(joining_node, names))
    before = stage.nodes()
    first_writes = "/api/v1/nodes/[^/]+/status"
    stage.proxy.set_faults([{"kind": "hang", "method": "PATCH", "path": first_writes, "skip": 8, "count": None}])

    with killed_at_the_end(stage.start("--once", "--output", "json", "--request-timeout", "2s")) as process:
        wait_for(lambda: sum(map(is_initialised, stage.nodes().values())) == 8, "the first Nodes")
        wait_for(lambda: any(entry.status == 0 for entry in stage.writes()), "a write that hangs")
        process.send_signal(signal.SIGTERM)
        stdout, _ = process.communicate(timeout=30)
    stage.proxy.clear_faults()

    report = Ran(process.wait(), stdout, "").report
    states = Counter(change["outcome"]["state"] for change in report["changes"])
    asked = {entry.path.split("/")[4] for entry in stage.writes() if entry.status == 0}
    assert (process.returncode, report["result"]) == (1, "partial")
    assert states == {"applied": 8, "failed": len(asked), "skipped": 52 - len(asked)}
    assert all("signal" in change["outcome"]["why"] for change in _with_outcome(report, "skipped"))
    after = stage.nodes()
    done = {name for name, node in after.items() if is_initialised(node)}
    assert done == {change["key"].removeprefix("node/") for change in _with_outcome(report, "applied")}
    assert {name: after[name] for name in names if name not in done} == {
        name: before[name] for name in names if name not in done
    }
    assert stage.reconcile("--once", "--output", "json").report["summary"]["applied"] == 52


def _with_outcome(report: dict[str, Any], state: str) -> list[dict[str, Any]]:
    return [change for change in report["changes"] if change["outcome"]["state"] == state]
