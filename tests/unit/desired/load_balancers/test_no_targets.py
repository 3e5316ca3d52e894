"""Why a load balancer leads to no Node: the cause that all Nodes share, or how many have each."""

import pytest

from desired.annotations.options import Options
from desired.load_balancers.membership import Cause, Membership, NodeTarget
from desired.load_balancers.no_targets import why_no_targets
from desired.syntax.selector import parse_selector
from tests.balancers import a_service

LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
SET_BY = "(kubeadm, Talos and k3s set it on control planes)"
SELECTOR = "load-balancer.hetzner.cloud/node-selector"
TAINT = "ToBeDeletedByClusterAutoscaler"
EXTERNAL = "start the kubelet with --cloud-provider=external, delete the Node and restart the kubelet"
UNATTACHED = "the server is not attached to network 7: attach it"


def out(name: str, cause: Cause, why: str = "because", note: str = "") -> NodeTarget:
    """A Node that is no target."""
    return NodeTarget(name, Membership.EXCLUDED, why, cause=cause, note=note)


def several(cause: Cause, count: int) -> list[NodeTarget]:
    """Nodes a, b, c, ... with one cause."""
    return [out("abcdefgh"[number], cause) for number in range(count)]


@pytest.mark.parametrize(
    ("members", "told"),
    [
        pytest.param([], "the cluster has no Nodes", id="no-nodes"),
        pytest.param(
            several(Cause.LABEL, 1),
            f"1 of 1 Nodes has the label {LABEL} {SET_BY}: kubectl label node a {LABEL}-",
            id="one",
        ),
        pytest.param(
            several(Cause.LABEL, 3),
            f"3 of 3 Nodes have the label {LABEL} {SET_BY}: kubectl label node a b c {LABEL}-",
            id="as-many-as-are-named",
        ),
        pytest.param(
            several(Cause.LABEL, 4),
            f"4 of 4 Nodes have the label {LABEL} {SET_BY}: kubectl label node -l {LABEL} {LABEL}-",
            id="more-than-are-named",
        ),
        pytest.param(
            several(Cause.TAINT, 2),
            f"2 of 2 Nodes have the taint {TAINT}; unless the cluster autoscaler is about to remove them: kubectl taint"
            f" node a b {TAINT}-",
            id="tainted",
        ),
        pytest.param(
            several(Cause.UNSELECTED, 2),
            f"2 of 2 Nodes do not match {SELECTOR} 'pool=web': label the Nodes, or kubectl annotate service web -n"
            f" default {SELECTOR}-",
            id="unselected",
        ),
        pytest.param(several(Cause.UNCLAIMED, 2), f"2 of 2 Nodes have no providerID: {EXTERNAL}", id="unclaimed"),
        pytest.param(
            [out("a", Cause.JOINING, note="no server is named 'a'"), out("b", Cause.JOINING, note="nor 'b'")],
            "2 of 2 Nodes are not initialized; a: no server is named 'a'",
            id="the-first-nodes-own-note",
        ),
        pytest.param(
            [out("a", Cause.JOINING), out("b", Cause.JOINING, note="no server is named 'b'")],
            "2 of 2 Nodes are not initialized; b: no server is named 'b'",
            id="the-first-note-that-there-is",
        ),
        pytest.param(
            several(Cause.IGNORED, 1),
            "1 of 1 Nodes is ignored: change --ignore-nodes, or the labels that it matches",
            id="ignored",
        ),
        pytest.param(
            [out("a", Cause.UNREACHABLE, UNATTACHED), out("b", Cause.UNREACHABLE, UNATTACHED)],
            f"2 of 2 Nodes are out of reach: {UNATTACHED}",
            id="out-of-reach-for-one-reason",
        ),
        pytest.param(
            [out("a", Cause.UNREACHABLE, UNATTACHED), out("b", Cause.UNREACHABLE, "it has no address")],
            f"2 out of reach; a: {UNATTACHED}; b: it has no address",
            id="out-of-reach-for-two",
        ),
        pytest.param(
            [*several(Cause.LABEL, 2), out("z", Cause.UNCERTAIN, "the list of servers is incomplete")],
            f"2 excluded by label, 1 not known; kubectl label node a b {LABEL}-; z: the list of servers is incomplete",
            id="mixed",
        ),
        pytest.param(
            [out("a", Cause.GONE), out("b", Cause.FOREIGN, note="x" * 1200), out("c", Cause.DELETING)],
            "1 without server, 1 with a providerID that is not Hetzner's, 1 being deleted;"
            " a new Node becomes a target once it has joined; a new Node becomes a target",
            id="what-is-too-long-is-left-out",
        ),
    ],
)
def test_why_no_targets(members: list[NodeTarget], told: str) -> None:
    """The reason, and what mends it."""
    options = Options(node_selector=parse_selector("pool=web"))
    assert why_no_targets(members, a_service(), options) == f"no Node may get traffic: {told}"


@pytest.mark.parametrize("cause", list(Cause))
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_cause_has_a_sentence_within_an_event(cause: Cause, count: int) -> None:
    """Hostile texts are cut: an Event holds 1024 characters, and so does a condition with its beginning."""
    options = Options(node_selector=parse_selector("pool in (" + ",".join(f"w{n}" for n in range(600)) + ")"))
    for note in ("", "y" * 5000):
        members = [out(f"node-{number}" + "n" * 200, cause, "w" * 3000, note) for number in range(count)]
        assert 60 < len(why_no_targets(members, a_service(), options)) <= 1000
