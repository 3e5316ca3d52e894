"""Deleting what nobody wants: only what is as it was observed, and waited for."""

from typing import Any

import pytest

from actuators.http.errors import Conflict
from actuators.load_balancers import delete
from desired.load_balancers.changes import orphan_deletion
from desired.load_balancers.lifecycle import Orphan
from desired.model.load_balancer import CloudBalancer
from desired.names import LABEL_CLUSTER_UID, LABEL_RELEASED, LABEL_SERVICE_UID
from tests.balancers import SERVICE_UID, a_balancer
from tests.builders import CLUSTER_UID
from tests.support.balancer_stage import LB, Stage, a_stage
from tests.support.rows import rows
from tests.support.rules import saying
from tests.support.simulators import Simulate

RELEASED = a_balancer(
    service_uid=None, spec={"labels": {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: "20260701T120000Z"}}
)


@pytest.fixture
def stage(simulate: Simulate) -> Stage:
    """A project with one load balancer that has the label of a Service."""
    return a_stage(simulate, a_balancer())


def only(stage: Stage) -> CloudBalancer:
    assert stage.snapshot.load_balancers is not None
    (found,) = stage.snapshot.load_balancers
    return found


def an_orphan(stage: Stage) -> Orphan:
    """The only load balancer, which no Service wants."""
    return Orphan(only(stage), saying("it has no Service"))


@rows("balancer", {"of a Service that is gone": a_balancer(), "released": RELEASED})
def test_it_goes(simulate: Simulate, balancer: CloudBalancer) -> None:
    stage = a_stage(simulate, balancer)
    delete(stage.writers, orphan_deletion(an_orphan(stage), stage.snapshot), stage.snapshot)
    assert stage.balancers() == []
    assert [(method, path) for method, path, _ in stage.sent()] == [("GET", LB), ("DELETE", LB)]
    assert stage.polls() >= 1
    assert stage.writers.actions.in_flight == 0


@rows(
    "changes why",
    {
        "taken over": ({"labels": {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_SERVICE_UID: "another"}}, "other owner"),
        "another's": ({"labels": {LABEL_CLUSTER_UID: "another", LABEL_SERVICE_UID: SERVICE_UID}}, "other owner"),
        "disowned": ({"labels": {}}, "other owner"),
        "released meanwhile": (
            {
                "labels": {
                    LABEL_CLUSTER_UID: CLUSTER_UID,
                    LABEL_SERVICE_UID: SERVICE_UID,
                    LABEL_RELEASED: "20260701T120000Z",
                }
            },
            "other owner",
        ),
        "protected": ({"protection": {"delete": True}}, "protected against deletion"),
    },
)
def test_one_that_has_changed(stage: Stage, changes: dict[str, Any], why: str) -> None:
    """What a person saw and agreed to is another thing by now: it stays."""
    stage.change_balancer(**changes)
    with pytest.raises(Conflict, match=why):
        delete(stage.writers, orphan_deletion(an_orphan(stage), stage.snapshot), stage.snapshot)
    assert [found["id"] for found in stage.balancers()] == [42]
    assert [method for method, _, _ in stage.sent()] == ["GET"]


def test_other_labels_do_not_matter(stage: Stage) -> None:
    """A label of a person's own says nothing of the owner."""
    stage.change_balancer(labels={**only(stage).spec.labels, "team": "blue"}, name="renamed")
    delete(stage.writers, orphan_deletion(an_orphan(stage), stage.snapshot), stage.snapshot)
    assert stage.balancers() == []
