"""What runs beside us as the API server says it: both kinds, page by page, and none that spoils another."""

from collections.abc import Callable
from typing import Any

import pytest

from desired.model.settings import Settings
from desired.model.workload import Workload
from desired.section import Section
from reconciler.observe.kubernetes import observe_controllers
from reconciler.observe.world import observe_again, observe_world
from tests.builders import a_workload, workloads_of
from tests.support.simulators import Simulation
from tests.support.workloads import raw_workload

HCCM = "docker.io/hetznercloud/hcloud-cloud-controller-manager:v1.30.1"
FORBIDDEN = {"kind": "Status", "reason": "Forbidden", "message": "may not list"}
DEPLOYMENTS, DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/deployments", ".*/daemonsets"


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    sim = simulate()
    sim.kubernetes.replace_world(
        {
            "deployments": [
                raw_workload("hccm", HCCM, replicas=2, readyReplicas=1),
                raw_workload("resting", HCCM, replicas=0),
                raw_workload("elsewhere", HCCM, namespace="default", readyReplicas=1),
            ],
            "daemonsets": [
                raw_workload("hccm", "proxy:1", HCCM, numberReady=3, desiredNumberScheduled=4),
                {"metadata": {"name": "odd", "namespace": "kube-system"}, "spec": "none"},
            ],
        }
    )
    return sim


def look(sim: Simulation) -> Section[str, Workload]:
    return observe_controllers(sim.kubernetes_reader(), "kube-system")


def test_both_kinds_in_one_namespace(sim: Simulation) -> None:
    """With ready pods and the images of what runs in them; what cannot be decoded spoils nothing."""
    found = look(sim)

    assert dict(found.items) == dict(
        workloads_of(
            a_workload("hccm", images=(HCCM,)),
            a_workload("resting", images=(HCCM,), ready=0),
            a_workload("hccm", kind="DaemonSet", images=("proxy:1", HCCM), ready=3),
        ).items
    )
    assert found.complete
    assert list(found.unreadable) == ["daemonset/kube-system/odd"]


def test_two_requests(sim: Simulation) -> None:
    look(sim)

    assert [entry.path for entry in sim.sent_to_kubernetes()] == [
        "/apis/apps/v1/namespaces/kube-system/deployments",
        "/apis/apps/v1/namespaces/kube-system/daemonsets",
    ]


def test_page_by_page(simulate: Callable[..., Simulation]) -> None:
    sim = simulate()
    sim.kubernetes.replace_world(
        {"deployments": [raw_workload(f"web-{n}", "web:1", readyReplicas=1) for n in range(501)]}
    )

    assert len(look(sim)) == 501


@pytest.mark.parametrize(
    ("path", "fault", "seen", "words"),
    [
        pytest.param(DEPLOYMENTS, {"code": 403, "body": FORBIDDEN}, 1, "403 may not list", id="no right to one kind"),
        pytest.param(DAEMON_SETS, {"code": 403, "body": FORBIDDEN}, 2, "403 may not list", id="nor to the other"),
        pytest.param(DEPLOYMENTS, {"code": 404, "body": FORBIDDEN}, 1, "404", id="no such API"),
        pytest.param(DAEMON_SETS, {"code": 200, "body": "<html>"}, 2, "the answer is no list", id="a page of HTML"),
        pytest.param(DAEMON_SETS, {"code": 200, "body": {"items": None}}, 2, "is no list", id="no list"),
    ],
)
def test_what_cannot_be_read(sim: Simulation, path: str, fault: dict[str, Any], seen: int, words: str) -> None:
    sim.spoil_kubernetes("status", path=path, count=None, **fault)

    found = look(sim)

    assert (len(found), found.complete) == (seen, True)
    (why,) = (why for key, why in found.unreadable.items() if key.startswith("/apis"))
    assert words in why


def test_an_api_that_is_down_may_tell_in_a_moment(sim: Simulation) -> None:
    """That is a gap, and nothing is written until it is closed: HCCM may run for all that is known."""
    sim.spoil_kubernetes("status", path=DEPLOYMENTS, count=None, code=503, body="<html>")

    found = look(sim)

    assert (len(found), found.complete) == (0, False)
    assert "503" in (found.why_incomplete or "")


def test_a_nameless_one(sim: Simulation) -> None:
    body = {"kind": "DeploymentList", "metadata": {"resourceVersion": "1"}, "items": [{"spec": {}}]}
    sim.spoil_kubernetes("status", path=DEPLOYMENTS, code=200, body=body)

    assert look(sim).why_incomplete == "1 Deployment could not be read, name included"


def test_part_of_a_reading(sim: Simulation) -> None:
    """It is read with the world where a namespace is named, and kept through the passes of a chain."""
    readers = sim.readers()
    assert observe_world(readers, Settings()).snapshot.controllers is None

    first = observe_world(readers, Settings(), "kube-system")
    sim.kubernetes_proxy.journal.clear()
    again = observe_again(readers, first, Settings(), frozenset({"node.labels"}))

    assert again.snapshot.controllers is first.snapshot.controllers
    assert first.snapshot.controllers is not None
    assert len(first.snapshot.controllers) == 3
    assert not [entry for entry in sim.sent_to_kubernetes() if entry.path.startswith("/apis/apps")]
    assert "controllers" not in first.snapshot.sections()
    assert first.failures == {}
