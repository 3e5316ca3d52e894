"""Which Nodes a load balancer leaves out."""

from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.options import Options
from desired.load_balancers.membership import Membership, node_memberships
from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, Taint
from desired.nodes.node import desired_nodes
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.selector import Selector, parse_selector
from tests.builders import NOW, UNINITIALIZED, a_server, a_settled_node, a_snapshot, nodes_of

EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"
LABELLED = f"it has the label {EXCLUDE}"
DOOMED = Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule", "1751371200")
TAINTED = "it has the taint ToBeDeletedByClusterAutoscaler"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def why_excluded(node: Node, selector: Selector | Unmanaged = UNMANAGED) -> str | None:
    """The rule in words."""
    snapshot = a_snapshot([node], [a_server()])
    nodes = desired_nodes(snapshot, Settings())[0]
    (member,) = node_memberships(Options(), None, snapshot, nodes, Settings()).selected_by(selector)
    return member.why if member.membership is Membership.EXCLUDED else None


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
    assert why_excluded(a_settled_node(**node)) == why


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
    assert why_excluded(a_settled_node(labels={EXCLUDE: value})) == why


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
    why = why_excluded(a_settled_node(labels={"pool": "web"}), selector)
    assert why == ("load-balancer.hetzner.cloud/node-selector does not match its labels" if is_out else None)


def test_the_first_rule_is_named() -> None:
    """Whoever looks for the reason finds the one that lasts."""
    node = a_settled_node(deleted_at=NOW, labels={EXCLUDE: ""}, taints=(DOOMED,))
    assert why_excluded(node, parse_selector("pool")) == "it is being deleted"
    node = a_settled_node(labels={EXCLUDE: ""}, taints=(DOOMED,))
    assert why_excluded(node) == LABELLED


@pytest.mark.parametrize(
    "text", ["pool=web", "pool in (web,db)", "pool!=web", "pool in (web,db),!gpu", "gpu,pool=db", "pool=none", "zone"]
)
def test_what_many_nodes_are_asked_at_once(text: str) -> None:
    """The same as each of them is asked alone, with the one that could not be read in its place."""
    labels = [{"pool": "web"}, {"pool": "db", "gpu": ""}, {}, {"pool": "web", "gpu": "1"}, {"pool": ""}]
    nodes = [a_settled_node(f"n-{number}", number, labels=each) for number, each in enumerate(labels, start=1)]
    servers = [a_server(number, f"n-{number}") for number in range(1, len(nodes) + 1)]
    section = replace(nodes_of(*nodes), unreadable={"n-3b": "broken"})
    snapshot = a_snapshot(servers=servers, nodes_section=section)
    reached = node_memberships(Options(), None, snapshot, desired_nodes(snapshot, Settings())[0], Settings())

    found = {member.node: member.membership for member in reached.selected_by(parse_selector(text))}

    selector = parse_selector(text)
    asked = {node.name: Membership.TARGET if selector.matches(node.labels) else Membership.EXCLUDED for node in nodes}
    assert found == asked | {"n-3b": Membership.UNCERTAIN}
    assert list(found) == sorted(found)
