"""Why a load balancer leads to no Node: how many Nodes have each cause, and what mends it."""

import inspect
import re

import pytest

from desired.annotations.options import Options
from desired.load_balancers import membership
from desired.load_balancers.membership import Membership, NodeTarget
from desired.load_balancers.targets import note_on_no_targets
from desired.rules import load_balancers as rows
from desired.rules.load_balancers import (
    EXCLUDED_BY_LABEL,
    IGNORED,
    LEAVING,
    LEAVING_BY_AUTOSCALER,
    NOT_ATTACHED,
    NOT_INITIALIZED,
    OF_ANOTHER_CLOUD,
    TARGET_SERVER_UNKNOWN,
    UNSELECTED,
    WITHOUT_ID,
    WITHOUT_NETWORK,
    WITHOUT_SERVER,
)
from desired.rules.rule import Reason
from desired.syntax.selector import parse_selector
from tests.balancers import a_service
from tests.support.rules import saying

LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
SET_BY = "(kubeadm, Talos and k3s set it on control planes)"
SELECTOR = "load-balancer.hetzner.cloud/node-selector"
TAINT = "ToBeDeletedByClusterAutoscaler"
EXTERNAL = "start the kubelet with --cloud-provider=external, delete the Node and restart the kubelet"
OPTIONS = Options(node_selector=parse_selector("pool=web"))
UNATTACHED = NOT_ATTACHED.because(network=7)
UNREAD = TARGET_SERVER_UNKNOWN.because(cause="the list is incomplete")


def out(name: str, reason: Reason, membership: Membership = Membership.EXCLUDED, note: str = "") -> NodeTarget:
    """A Node that is no target."""
    return NodeTarget(name, membership, reason, note=note)


def several(reason: Reason, count: int, membership: Membership = Membership.EXCLUDED) -> list[NodeTarget]:
    """Nodes a, b, c, ... with one cause."""
    return [out("abcdefgh"[number], reason, membership) for number in range(count)]


@pytest.mark.parametrize(
    ("members", "told"),
    [
        pytest.param([], "0 of 0 Nodes may get traffic: the cluster has no Nodes", id="no-nodes"),
        pytest.param(
            several(EXCLUDED_BY_LABEL.because(), 1),
            f"0 of 1 Nodes may get traffic: 1 excluded by label; kubectl label node a {LABEL}- {SET_BY}",
            id="one",
        ),
        pytest.param(
            several(EXCLUDED_BY_LABEL.because(), 3),
            f"0 of 3 Nodes may get traffic: 3 excluded by label; kubectl label node a b c {LABEL}- {SET_BY}",
            id="as-many-as-are-named",
        ),
        pytest.param(
            several(EXCLUDED_BY_LABEL.because(), 4),
            f"0 of 4 Nodes may get traffic: 4 excluded by label; kubectl label node -l {LABEL} {LABEL}- {SET_BY}",
            id="more-than-are-named",
        ),
        pytest.param(
            several(LEAVING_BY_AUTOSCALER.because(), 4),
            "0 of 4 Nodes may get traffic: 4 with the cluster autoscaler's taint; unless the cluster"
            f" autoscaler is about to remove them, kubectl taint node --all {TAINT}-",
            id="tainted",
        ),
        pytest.param(
            several(UNSELECTED.because(), 2),
            "0 of 2 Nodes may get traffic: 2 not matched by the node selector; label the Nodes to match 'pool=web', or"
            f" kubectl annotate service web -n default {SELECTOR}-",
            id="unselected",
        ),
        pytest.param(
            several(WITHOUT_ID.because(), 2),
            f"0 of 2 Nodes may get traffic: 2 without providerID; {EXTERNAL}",
            id="unclaimed",
        ),
        pytest.param(
            [out("a", NOT_INITIALIZED.because()), out("b", NOT_INITIALIZED.because(), note="no server is named 'b'")],
            "0 of 2 Nodes may get traffic: 2 not initialized; b: no server is named 'b'",
            id="the-first-note-that-there-is",
        ),
        pytest.param(
            several(IGNORED.because(), 1, Membership.IGNORED),
            "0 of 1 Nodes may get traffic: 1 ignored by --ignore-nodes;"
            " change --ignore-nodes, or the labels that it matches",
            id="ignored",
        ),
        pytest.param(
            several(UNATTACHED, 2, Membership.UNUSABLE),
            f"0 of 2 Nodes may get traffic: 2 not attached to the network; a: {UNATTACHED.text}",
            id="out-of-reach-for-one-reason",
        ),
        pytest.param(
            [
                out("a", UNATTACHED, Membership.UNUSABLE),
                out("b", WITHOUT_NETWORK.because(), Membership.UNUSABLE),
            ],
            "0 of 2 Nodes may get traffic: 1 not attached to the network, 1 without private network;"
            f" a: {UNATTACHED.text}; b: {WITHOUT_NETWORK.text()}",
            id="out-of-reach-for-two",
        ),
        pytest.param(
            [*several(EXCLUDED_BY_LABEL.because(), 2), out("z", UNREAD, Membership.UNCERTAIN)],
            "0 of 3 Nodes may get traffic: 2 excluded by label, 1 with an unknown server;"
            f" kubectl label node a b {LABEL}- {SET_BY}; z: {UNREAD.text}",
            id="mixed",
        ),
        pytest.param(
            [
                out("a", WITHOUT_SERVER.because()),
                out("b", OF_ANOTHER_CLOUD.because(), note="x" * 1200),
                out("c", LEAVING.because()),
            ],
            "0 of 3 Nodes may get traffic: 1 without server, 1 of another cloud, 1 being deleted;"
            " a new Node becomes a target once it has joined; a new Node becomes a target",
            id="what-is-too-long-is-left-out",
        ),
    ],
)
def test_why_no_targets(members: list[NodeTarget], told: str) -> None:
    """The reason, and what mends it."""
    assert note_on_no_targets(members, a_service(), OPTIONS).text == told


@pytest.mark.parametrize("membership", [Membership.EXCLUDED, Membership.UNUSABLE])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_sentence_fits_into_an_event(membership: Membership, count: int) -> None:
    """Hostile texts are cut: an Event holds 1024 characters, and so does a condition with its beginning."""
    hostile = Options(node_selector=parse_selector("pool in (" + ",".join(f"w{n}" for n in range(600)) + ")"))
    for note in ("", "y" * 5000):
        reason = saying("w" * 3000) if membership is Membership.UNUSABLE else UNSELECTED.because()
        members = [out(f"node-{number}" + "n" * 200, reason, membership, note) for number in range(count)]
        assert 60 < len(note_on_no_targets(members, a_service(), hostile).text) <= 1000


def test_each_reason_has_words_to_count_by() -> None:
    """Of Nodes that are no targets: a number without them says nothing."""
    names = set(re.findall(r"rows\.([A-Z]\w+)", inspect.getsource(membership)))
    found = [getattr(rows, name) for name in names if not name.startswith("TAKES")]
    assert len(found) > 20
    assert [row.name for row in (*found, rows.ROOM_LACKING) if not row.counted] == []
