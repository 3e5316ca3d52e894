"""Which Nodes a load balancer leaves out."""

from typing import Any

import pytest

from desired.annotations.options import Options
from desired.load_balancers.membership import exclusion
from desired.model.snapshot import Node, Readiness, Taint
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.selector import Selector, parse_selector
from tests.builders import NOW, UNINITIALIZED, a_settled_node

EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"
LABELLED = f"it has the label {EXCLUDE}"
DOOMED = Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule", "1751371200")
TAINTED = "it has the taint ToBeDeletedByClusterAutoscaler"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def why_excluded(node: Node, options: Options) -> str | None:
    """The rule in words."""
    found = exclusion(node, options)
    return None if found is None else found[1]


@pytest.mark.parametrize(
    ("node", "why"),
    [
        pytest.param({}, None, id="settled"),
        pytest.param({"deleted_at": NOW}, "it is being deleted", id="being-deleted"),
        pytest.param({"deleted_at": NOW, "finalizers": ("x/y",)}, "it is being deleted", id="being-deleted-and-held"),
        pytest.param({"taints": (DOOMED,)}, TAINTED, id="chosen-by-the-autoscaler"),
        pytest.param({"taints": (UNINITIALIZED, Taint(DOOMED.key, "NoExecute"))}, TAINTED, id="any-effect-and-value"),
        pytest.param({"taints": (Taint("karpenter.sh/disrupted", "NoSchedule"),)}, None, id="another-taint"),
        pytest.param({"taints": (UNINITIALIZED,)}, None, id="not-initialized"),
        pytest.param({"taints": (Taint("x", "NoSchedule", DOOMED.key),)}, None, id="the-key-as-a-value"),
        pytest.param({"unschedulable": True}, None, id="cordoned"),
        pytest.param({"ready": Readiness.FALSE}, None, id="not-ready"),
        pytest.param({"ready": Readiness.MISSING}, None, id="never-reported"),
        pytest.param({"labels": {CONTROL_PLANE: ""}}, None, id="of-the-control-plane"),
        pytest.param({"labels": {CONTROL_PLANE: "", EXCLUDE: ""}}, LABELLED, id="as-kubeadm-labels-it"),
        pytest.param({"provider_id": None}, None, id="without-a-server"),
    ],
)
def test_who_is_left_out(node: dict[str, Any], why: str | None) -> None:
    """What leaves a Node out, and what has no say; a Node without a trace of these may get traffic."""
    assert why_excluded(a_settled_node(**node), Options()) == why


@pytest.mark.parametrize(
    ("value", "why"),
    [
        *(pytest.param(value, None, id=value) for value in ("0", "f", "F", "FALSE", "false", "False")),
        *(pytest.param(value, LABELLED, id=value) for value in ("1", "t", "T", "TRUE", "true", "True")),
        pytest.param("", LABELLED, id="empty"),
        pytest.param("no", LABELLED, id="no-boolean"),
        pytest.param("fALSE", LABELLED, id="in-a-case-of-its-own"),
        pytest.param("00", LABELLED, id="another-number"),
    ],
)
def test_the_label(value: str, why: str | None) -> None:
    """Only what Go takes for false takes the label back."""
    assert why_excluded(a_settled_node(labels={EXCLUDE: value}), Options()) == why


@pytest.mark.parametrize(
    ("selector", "is_out"),
    [
        pytest.param(UNMANAGED, False, id="unset"),
        pytest.param(Selector("", ()), False, id="empty-matches-all"),
        pytest.param(parse_selector("pool=web"), False, id="matches"),
        pytest.param(parse_selector("pool in (web,db),!gpu"), False, id="a-set-matches"),
        pytest.param(parse_selector("pool!=web"), True, id="does-not-match"),
        pytest.param(parse_selector("pool=web,gpu"), True, id="one-of-two-does-not-match"),
    ],
)
def test_the_selector(selector: Selector | Unmanaged, is_out: bool) -> None:
    """The labels that the Node has now decide, by the whole grammar."""
    why = why_excluded(a_settled_node(labels={"pool": "web"}), Options(node_selector=selector))
    text = selector.text if isinstance(selector, Selector) else ""
    said = f"load-balancer.hetzner.cloud/node-selector is {text!r}, and its labels do not match"
    assert why == (said if is_out else None)


def test_the_first_rule_is_named() -> None:
    """Whoever looks for the reason finds the one that lasts."""
    node = a_settled_node(deleted_at=NOW, labels={EXCLUDE: ""}, taints=(DOOMED,))
    assert why_excluded(node, Options(node_selector=parse_selector("pool"))) == "it is being deleted"
    node = a_settled_node(labels={EXCLUDE: ""}, taints=(DOOMED,))
    assert why_excluded(node, Options()) == LABELLED
