"""Kubernetes' conditions of a Node's lifecycle, on a real API server."""

from tests.support.in_process import ONCE, one_pass
from tests.support.objects import a_service, condition
from tests.support.stage import Stage

HEEDING = ONCE | {"--lifecycle-conditions": "true"}


def _targets(stage: Stage) -> set[int]:
    return {target["server"]["id"] for target in stage.balancers()[0]["targets"]}


def test_a_drained_node_leaves_load_balancers_until_it_is_uncordoned(balanced: Stage) -> None:
    """The condition is read and never written: it is its writer's."""
    balanced.have_services(a_service())
    one_pass(balanced, HEEDING)
    balanced.cordon("web-1")
    balanced.set_condition("web-1", condition("DrainInProgress", "True"))
    said = balanced.nodes()["web-1"]["status"]["conditions"]
    balanced.forget()

    report = one_pass(balanced, HEEDING)

    assert (report["result"], _targets(balanced)) == ("no_changes", {2, 3})
    assert balanced.nodes()["web-1"]["status"]["conditions"] == said
    told = balanced.reconcile("explain", "node", "web-1", "--lifecycle-conditions").stdout
    assert "DrainInProgress" in told
    assert "the Node is taken out of load balancers as long as it is cordoned" in told

    balanced.patch_node("web-1", {"spec": {"unschedulable": None}})
    assert (one_pass(balanced, HEEDING)["result"], _targets(balanced)) == ("no_changes", {1, 2, 3})
