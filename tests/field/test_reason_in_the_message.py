"""Notes, Events and conditions say why a load balancer leads to no Node, and what mends it."""

from collections.abc import Callable, Mapping

from tests.support.in_process import one_pass
from tests.support.stage import Stage

LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
EXCLUDED = (
    f"0 of 1 Nodes can be targets: 1 excluded by label; kubectl label node node-1 {LABEL}- (kubeadm, Talos and k3s set"
    " it on control planes)"
)


def conditions_of(stage: Stage) -> Mapping[str, tuple[str, str, str]]:
    """Type → status, reason and message of the Service's conditions."""
    found = stage.service("web-app")["status"].get("conditions", [])
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


def test_all_nodes_excluded(field: Callable[[str], Stage]) -> None:
    """09: note, Event and both conditions have the label and the command that takes it off."""
    stage = field("09-all-nodes-excluded")

    report = one_pass(stage)

    assert EXCLUDED in [note["text"] for note in report["notes"]]
    assert [event["message"] for event in stage.events("UnAvailableLoadBalancer")] == [EXCLUDED]
    conditions = conditions_of(stage)
    assert conditions["LoadBalancerInSync"] == ("False", "NoTargets", EXCLUDED)
    status, reason, message = conditions["LoadBalancerReady"]
    assert (status, reason) == ("False", "NoTargets")
    assert message.endswith(f" has no targets; {EXCLUDED}")


def test_the_command_makes_a_target(field: Callable[[str], Stage]) -> None:
    """09: once the label is off, the Node gets traffic and the conditions are True."""
    stage = field("09-all-nodes-excluded")
    one_pass(stage)
    stage.label("node-1", labels={LABEL: None})
    one_pass(stage)

    conditions = conditions_of(stage)
    assert {kind: status for kind, (status, _, _) in conditions.items()} == {
        "LoadBalancerReady": "True",
        "LoadBalancerInSync": "True",
    }


def test_another_reason_is_another_message(field: Callable[[str], Stage]) -> None:
    """The conditions follow the reason, and a pass without news writes nothing."""
    stage = field("09-all-nodes-excluded")
    one_pass(stage)
    stage.label("node-1", labels={LABEL: None})
    stage.annotate("web-app", node_selector="pool=web")
    one_pass(stage)

    _, _, message = conditions_of(stage)["LoadBalancerInSync"]
    assert message == (
        "0 of 1 Nodes can be targets: 1 not matched by the node selector; label the Nodes to match 'pool=web', or"
        " kubectl annotate service web-app -n default load-balancer.hetzner.cloud/node-selector-"
    )
    before = stage.service("web-app")
    one_pass(stage)
    assert stage.service("web-app") == before
