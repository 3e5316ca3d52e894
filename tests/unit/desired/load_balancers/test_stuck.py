"""Who waits in vain for a part that is switched off, and what a person is told to do."""

from dataclasses import replace
from typing import Any

from desired.model.service import Service
from desired.model.settings import Controller
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.section import Section
from tests.balancers import LOCATED, a_service
from tests.builders import NOW, a_snapshot, a_workload, workloads_of
from tests.support.rows import rows

OFF = replace(LOCATED, controllers=frozenset(Controller) - {Controller.SERVICE})
GOING: dict[str, Any] = {"deleted_at": NOW, "finalizers": ("example.com/x", FINALIZER_BALANCER)}


def world(*services: Service, **fields: Any) -> Snapshot:
    return replace(a_snapshot(), unserved=Section({service.id: service for service in services}), **fields)


@rows("service is_stuck", {
    "goes, and has our finalizer": (GOING, True),
    "of another type by now": (GOING | {"type": "ClusterIP"}, True),
    "stays": ({"finalizers": (FINALIZER_BALANCER,)}, False),
    "waits for somebody else alone": ({"deleted_at": NOW, "finalizers": ("example.com/x",)}, False),
    "of another class": (GOING | {"load_balancer_class": "other"}, False),
})  # fmt: skip
def test_stuck_services(service: dict[str, Any], is_stuck: bool) -> None:
    """Only who would go, and waits for what nobody does here."""
    plan = compute_plan(world(a_service(**service)), OFF)
    assert plan.changes == ()
    assert [(note.key, note.kind) for note in plan.notes] == [("service/default/web", NoteKind.STUCK)] * is_stuck


def test_the_remedies() -> None:
    """Both who could release it; the last resort, which leaks a load balancer, is in the documentation."""
    (note,) = compute_plan(world(a_service(**GOING)), OFF).notes
    assert "HCLOUD_LOAD_BALANCERS_ENABLED, --controllers" in note.text
    assert "let hcloud-cloud-controller-manager delete it" in note.text


def test_who_is_let_go_by_another_controller() -> None:
    """Where HCCM runs, it looks after Services: this is how one migrates, or goes back."""
    seen = world(a_service(**GOING), controllers=workloads_of(a_workload()))
    assert NoteKind.STUCK not in {note.kind for note in compute_plan(seen, OFF).notes}
