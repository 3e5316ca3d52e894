"""Another cloud controller beside us: what counts as one, what it holds, and what is said where nobody can tell."""

from typing import Any

import pytest

from desired.guards.evidence import controller_notes
from desired.guards.filters import restrict
from desired.model.key import PLAN
from desired.model.settings import Settings
from desired.model.snapshot import IMAGE, Snapshot, Workload, is_another_controller
from desired.plan.change import Verdict
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.rules.guards import CONTROLLER_RUNS, CONTROLLER_UNKNOWN
from desired.section import Section
from tests.builders import (
    a_joining_node,
    a_server,
    a_settled_node,
    a_snapshot,
    a_workload,
    incomplete,
    workloads_of,
)
from tests.support.judging import judge

HCCM = a_workload()
OURS = a_workload("hcloud-reconciler", images=("ghcr.io/example/hcloud-reconciler:1.0",))
DENIED = "Kubernetes API server: GET /apis/apps/v1/namespaces/kube-system/deployments answers 403 may not list"


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param({}, True, id="as the chart makes it"),
        pytest.param({"kind": "DaemonSet"}, True, id="a DaemonSet"),
        pytest.param({"name": "ccm"}, True, id="under another name"),
        pytest.param({"ready": 0}, False, id="scaled to 0, or not ready"),
        pytest.param({"images": ()}, False, id="without containers"),
        pytest.param({"images": ("hcloud-cloud-controller-manager",)}, True, id="no registry, no tag"),
        pytest.param({"images": ("r.example.com:5000/m/hcloud-cloud-controller-manager",)}, True, id="a mirror"),
        pytest.param({"images": ("r.example.com/hetznercloud_hcloud-cloud-controller-manager:v1",)}, True, id="flat"),
        pytest.param({"images": ("r.example.com/mirror:hcloud-cloud-controller-manager-v1",)}, True, id="in the tag"),
        pytest.param(
            {"images": (f"hetznercloud/hcloud-cloud-controller-manager@sha256:{'a' * 64}",)}, True, id="by digest"
        ),
        pytest.param({"images": ("proxy:1", "hetznercloud/hcloud-cloud-controller-manager:v1")}, True, id="the second"),
        pytest.param({"images": ("hetznercloud/hcloud-csi-driver:v2",)}, False, id="other software of Hetzner's"),
        pytest.param({"images": ("k8s.io/cloud-controller-manager:v1",)}, False, id="another cloud's"),
        pytest.param({"name": "hcloud-cloud-controller-manager", "images": OURS.images}, False, id="only the name"),
    ],
)
def test_what_counts_as_another_controller(workload: dict[str, Any], expected: bool) -> None:
    """Ready pods of HCCM's image do, wherever that comes from and whatever runs it is called."""
    assert is_another_controller(a_workload(**workload)) is expected


def world(controllers: Section[str, Workload] | None, *, joining: bool = True) -> Snapshot:
    """A Node to initialise and one in order, or the latter alone, with these controllers beside us."""
    nodes = [a_joining_node(), a_settled_node("web-2", 2)] if joining else [a_settled_node("web-2", 2)]
    return a_snapshot(nodes, [a_server(), a_server(2, "web-2")], controllers=controllers)


@pytest.mark.parametrize(
    ("controllers", "verdict", "notes"),
    [
        pytest.param(None, Verdict.ALLOWED, [], id="nobody looked"),
        pytest.param(workloads_of(), Verdict.ALLOWED, [], id="nothing runs"),
        pytest.param(workloads_of(OURS), Verdict.ALLOWED, [], id="only ourselves"),
        pytest.param(workloads_of(OURS, HCCM), Verdict.HELD, [HCCM.key], id="HCCM"),
        pytest.param(Section.missing("503"), Verdict.WAITING, ["plan"], id="could not be read just now"),
        pytest.param(Section(unreadable={"apps": DENIED}), Verdict.ALLOWED, ["plan"], id="no permission to look"),
        pytest.param(incomplete(workloads_of(HCCM)), Verdict.HELD, [HCCM.key, "plan"], id="seen in half a list"),
        pytest.param(
            Section(unreadable={"deployment/kube-system/a": "no"}), Verdict.ALLOWED, ["plan"], id="unreadable"
        ),
    ],
)
def test_what_it_holds(controllers: Section[str, Workload] | None, verdict: Verdict, notes: list[str]) -> None:
    """Everything that is planned, as long as one is seen; what could not be told is a note and holds nothing."""
    snapshot = world(controllers)
    plan = judge(compute_plan(snapshot, Settings()), snapshot, Settings())

    assert {change.decision.verdict for change in plan.changes} == {verdict}
    assert [note.key for note in plan.notes if note.kind is NoteKind.OTHER_CONTROLLER] == notes


def test_the_hold() -> None:
    """It is one over all changes, with a number, a limit and a remedy, and a person may approve it."""
    snapshot = world(workloads_of(HCCM, a_workload("ccm", kind="DaemonSet")))
    plan = compute_plan(snapshot, Settings())
    (hold,) = judge(plan, snapshot, Settings()).holds

    assert (hold.rule, hold.value, hold.limit, hold.keys) == ("other-controller", "2", "0", tuple(plan.by_key))
    assert hold.said == CONTROLLER_RUNS.text(
        image=IMAGE, workloads="DaemonSet kube-system/ccm, Deployment kube-system/hcloud-cloud-controller-manager"
    )
    assert judge(plan, snapshot, Settings(), [hold.hash]).allowed == plan.changes


@pytest.mark.parametrize("only", [(), ("node/web-2",)])
def test_an_empty_plan_is_told_all_the_same(only: tuple[str, ...]) -> None:
    """With nothing to hold a note says what would be held, whatever part of the plan is looked at."""
    snapshot = world(workloads_of(HCCM), joining=False)
    plan = restrict(judge(compute_plan(snapshot, Settings()), snapshot, Settings()), only)

    assert (plan.changes, plan.holds) == ((), ())
    workload = "Deployment kube-system/hcloud-cloud-controller-manager"
    assert CONTROLLER_RUNS.note(HCCM.key, image=IMAGE, workloads=workload) in plan.notes


def test_why_it_cannot_be_told() -> None:
    """The note has the API server's own words, which name what is not permitted."""
    (note,) = controller_notes(world(Section.missing(DENIED)))

    assert note == CONTROLLER_UNKNOWN.note(PLAN, error=DENIED)
