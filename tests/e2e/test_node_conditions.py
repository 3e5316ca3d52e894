"""The condition ``NodeInSync`` on a real API server: written by a strategic merge patch, beside those of others."""

from desired.names import CONDITION_NODE_IN_SYNC
from tests.support.in_process import ONCE, one_pass
from tests.support.objects import ago, condition
from tests.support.stage import Stage

TELLING = ("--once", "--node-conditions", "--output", "json")


def test_it_stands_beside_the_conditions_of_others(balanced: Stage) -> None:
    """By the command. Kubelets and plug-ins write theirs in between, and each keeps its own."""
    balanced.set_condition("web-1", condition("example.com/Audited", "Unknown"))
    before = balanced.nodes()
    began = ago(seconds=0)

    assert balanced.reconcile(*TELLING).report["result"] == "no_changes"

    for name, node in balanced.nodes().items():
        conditions = node["status"]["conditions"]
        (ours,) = (each for each in conditions if each["type"] == CONDITION_NODE_IN_SYNC)
        assert [each for each in conditions if each is not ours] == before[name]["status"]["conditions"]
        assert (ours["status"], ours["reason"]) == ("True", "InSync")
        assert ours["lastTransitionTime"] == ours["lastHeartbeatTime"] >= began
    balanced.forget()
    assert balanced.reconcile(*TELLING).report["changes"] == []
    assert balanced.writes() == []
    told = balanced.reconcile("explain", "node", "web-1").stdout
    assert "True (InSync)" in told

    one_pass(balanced, ONCE)
    assert {n: v["status"] for n, v in balanced.nodes().items()} == {n: v["status"] for n, v in before.items()}
