"""Taking over, naming, releasing and deleting load balancers: the labels that they have then, ours and others'."""

from dataclasses import replace
from typing import Any

import pytest

from actuators.http.errors import Conflict
from desired.load_balancers.lifecycle import orphan_deletion
from desired.load_balancers.orphans import Orphan
from desired.model.load_balancer import CloudBalancer, Identity, Owner
from desired.names import (
    LABEL_ADOPTED,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.change import Change
from desired.section import Unknown
from tests.balancers import DEFAULT_NAME, SERVICE_UID, a_balancer, a_service, a_world
from tests.builders import CLUSTER_UID
from tests.support.balancer_changes import BALANCER, OURS, a_difference, a_part
from tests.support.balancer_stage import LB, Stage, a_stage
from tests.support.rows import rows
from tests.support.rules import saying
from tests.support.simulators import Simulate

OURS_AS_LABELS = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
OTHERS = {"team": "blue", "example.com/keep": "yes"}
"""Labels of other people."""
NOBODY = Owner(None, None)
DEAD = Owner(None, "99999999-0000-0000-0000-000000000000")
RELEASED = "20260701T120000Z"
WHY = "a test wants it"


def labelled(labels: dict[str, str], **overrides: Any) -> CloudBalancer:
    return a_balancer(spec={"labels": labels, **overrides})


def adoption(before: Owner = NOBODY, after: Owner = OURS) -> Change:
    return a_difference(BALANCER, "lb.adopt", before, after, WHY)


def naming(name: str = "shop", labels: dict[str, str] | None = None) -> Change:
    present = OTHERS | OURS_AS_LABELS
    return a_part("identity", Identity(DEFAULT_NAME, present), Identity(name, labels or present), WHY)


def retention(before: Owner = OURS, released: str | None = RELEASED) -> Change:
    return a_part("retain", before, Owner(CLUSTER_UID, None, released), WHY)


def deletion() -> Change:
    return a_difference(BALANCER, "lb.delete", a_balancer().spec, None, WHY)


def deletion_of_an_orphan(balancer: CloudBalancer) -> Change:
    return orphan_deletion(Orphan(balancer, saying("it has no Service")), a_world([a_service()], [balancer]))


def labels(stage: Stage) -> dict[str, str]:
    found: dict[str, str] = stage.balancer()["labels"]
    return found


OF_SERVICE, FREED = {LABEL_SERVICE_UID: SERVICE_UID}, {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: RELEASED}
FREED_BY_OTHERS = FREED | {LABEL_CLUSTER_UID: "another"}
RED = {"team": "red"}
OURS_AND_NEW = OTHERS | OURS_AS_LABELS | {"new": "label"}


@rows(
    "change present meanwhile after",
    {
        "adopted, nobody's": (adoption(), OTHERS, None, OTHERS | OURS_AS_LABELS),
        "a dead Service's": (adoption(DEAD), {LABEL_SERVICE_UID: DEAD.service_uid}, None, OURS_AS_LABELS),
        "released by this cluster": (adoption(Owner(CLUSTER_UID, None, RELEASED)), FREED, None, OURS_AS_LABELS),
        "or another": (adoption(Owner("another", None, RELEASED)), FREED_BY_OTHERS, None, OURS_AS_LABELS),
        "no label of a cluster is given, nor taken away": (
            adoption(Owner(CLUSTER_UID, None), Owner(None, SERVICE_UID)),
            {LABEL_CLUSTER_UID: CLUSTER_UID},
            None,
            OURS_AS_LABELS,
        ),
        "others change their own": (adoption(), OTHERS, RED, RED | OURS_AS_LABELS),
        "named": (naming(), OTHERS | OURS_AS_LABELS, None, OTHERS | OURS_AS_LABELS),
        "named, and labelled with it": (
            naming(labels=OURS_AND_NEW),
            OTHERS | OF_SERVICE,
            RED | {"put": "meanwhile"} | OF_SERVICE,
            RED | {"put": "meanwhile", "new": "label"} | OURS_AS_LABELS,
        ),
        "retained": (retention(), OTHERS | OURS_AS_LABELS, None, OTHERS | FREED),
        "retained, of no cluster yet": (retention(Owner(None, SERVICE_UID)), OF_SERVICE, None, FREED),
    },
)
def test_labels(
    simulate: Simulate, change: Change, present: dict[str, str], meanwhile: dict[str, str] | None, after: dict[str, str]
) -> None:
    """One look and one request; others' labels stay as they are by then. Protection does not protect labels."""
    stage = a_stage(simulate, replace(labelled(present), is_protected=True))
    if meanwhile:
        stage.change_balancer(labels=meanwhile)
    stage.carry_out(change)
    assert labels(stage) == after
    assert stage.balancer()["name"] == ("shop" if isinstance(change.after, Identity) else DEFAULT_NAME)
    assert [(method, path) for method, path, _ in stage.sent()] == [("GET", LB), ("PUT", LB)]


EMPTY: dict[str, Any] = {"listeners": (), "targets": ()}
MARKED = replace(OURS, adopted="true")


@pytest.mark.parametrize("parts", [EMPTY, {}], ids=["empty", "in use, and approved"])
def test_adoption_of_an_unowned_load_balancer(simulate: Simulate, parts: dict[str, Any]) -> None:
    stage = a_stage(simulate, a_balancer(spec={"labels": OTHERS}, **parts))
    stage.carry_out(adoption(NOBODY, MARKED))
    assert labels(stage) == OTHERS | OURS_AS_LABELS | {LABEL_ADOPTED: "true"}
    stage.carry_out(retention(MARKED))
    assert labels(stage) == OTHERS | {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: RELEASED}


UNUSED = a_balancer(spec={"labels": {}}, **EMPTY)
OF_THE_DEAD = labelled({LABEL_SERVICE_UID: str(DEAD.service_uid)})
CHANGED = r"now has other owner labels$"
LOST = r"does not have the labels of Service default/web any more$"
SSH = {"services": [{"protocol": "tcp", "listen_port": 22, "destination_port": 22}]}
DEDICATED = {"targets": [{"type": "ip", "ip": {"ip": "198.51.100.7"}}]}
TAKEN = {
    "another Service's": OURS_AS_LABELS | {LABEL_SERVICE_UID: "another"},
    "another cluster's": OURS_AS_LABELS | {LABEL_CLUSTER_UID: "another"},
    "another class's": OURS_AS_LABELS | {LABEL_OWN_CLASS_UID: SERVICE_UID, LABEL_CLASS: "example.com..internal"},
    "released": {LABEL_RELEASED: RELEASED},
    "nobody's": {},
}
MEANWHILE: dict[str, tuple[Change, CloudBalancer, dict[str, Any], str]] = {
    "a port, on what was empty": (adoption(NOBODY, MARKED), UNUSED, SSH, r"is now in use$"),
    "a target, on what was empty": (adoption(NOBODY, MARKED), UNUSED, DEDICATED, r"is now in use$"),
    "wanted back by its cluster": (
        adoption(Owner("another", None, RELEASED)),
        labelled(FREED_BY_OTHERS),
        {"labels": {LABEL_CLUSTER_UID: "another"}},
        r"now has the label of another cluster$",
    ),
    "released": (
        deletion_of_an_orphan(a_balancer()),
        a_balancer(),
        {"labels": OURS_AS_LABELS | {LABEL_RELEASED: RELEASED}},
        CHANGED,
    ),
    "protected": (deletion(), a_balancer(), {"protection": {"delete": True}}, r"is now protected against deletion$"),
    **{
        f"{name}, {kind}": (change, there, {"labels": taken}, says)
        for name, taken in TAKEN.items()
        for kind, change, there, says in (
            ("adoption", adoption(DEAD), OF_THE_DEAD, CHANGED),
            ("retention", retention(DEAD), OF_THE_DEAD, CHANGED),
            ("name", naming(), a_balancer(), LOST),
            ("deletion", deletion(), a_balancer(), LOST),
            ("deletion of an orphan", deletion_of_an_orphan(a_balancer()), a_balancer(), CHANGED),
        )
    },
}


@rows("change there meanwhile says", MEANWHILE)
def test_a_load_balancer_that_changed_meanwhile(
    simulate: Simulate, change: Change, there: CloudBalancer, meanwhile: dict[str, Any], says: str
) -> None:
    """Whoever claimed, used or protected it since is not overruled: it stays as it is."""
    stage = a_stage(simulate, there)
    stage.change_balancer(**meanwhile)
    changed = stage.balancer()
    with pytest.raises(Conflict, match=says):
        stage.carry_out(change)
    assert stage.acted() == []
    assert stage.balancer() == changed


def test_a_name_while_the_cluster_is_not_known(simulate: Simulate) -> None:
    stage = a_stage(simulate, labelled({LABEL_SERVICE_UID: SERVICE_UID}))
    stage.snapshot = replace(stage.snapshot, cluster_uid=Unknown("no permission"))
    stage.carry_out(naming())
    assert labels(stage) == {LABEL_SERVICE_UID: SERVICE_UID}


def test_a_name_after_an_adoption(simulate: Simulate) -> None:
    """In the same pass the load balancer is still observed without labels; it is known by the name that it had."""
    stage = a_stage(simulate, labelled({}))
    stage.carry_out(adoption())
    stage.carry_out(naming())
    assert stage.balancer()["name"] == "shop"


def test_a_name_that_is_taken(simulate: Simulate) -> None:
    stage = a_stage(simulate, a_balancer(), replace(a_balancer(43), spec=labelled({}, name="shop").spec))
    with pytest.raises(Conflict, match="name is already used"):
        stage.carry_out(naming())
    assert {found["name"] for found in stage.balancers()} == {"shop", DEFAULT_NAME}


@pytest.mark.parametrize("change", [adoption(OURS, Owner(None, SERVICE_UID)), naming(), retention()])
def test_one_that_goes_after_the_look(simulate: Simulate, change: Change) -> None:
    stage = a_stage(simulate, a_balancer())
    refusal = {"error": {"code": "not_found", "message": "load balancer with ID '42' not found"}}
    stage.sim.spoil_hetzner("status", method="PUT", code=404, body=refusal)
    with pytest.raises(Conflict, match=r"is gone$"):
        stage.carry_out(change)


FREE = a_balancer(service_uid=None, spec={"labels": FREED})


@rows(
    "change there meanwhile",
    {
        "of a Service": (deletion(), a_balancer(), {}),
        "of nobody": (deletion_of_an_orphan(FREE), FREE, {"labels": FREED | OTHERS, "name": "renamed"}),
    },
)
def test_deletion(simulate: Simulate, change: Change, there: CloudBalancer, meanwhile: dict[str, Any]) -> None:
    """Labels and a name by others say nothing of the owner."""
    stage = a_stage(simulate, there)
    stage.change_balancer(**meanwhile)
    stage.carry_out(change)
    assert stage.sim.hetzner.world()["hetzner"]["load_balancers"] == []
    assert [(method, path) for method, path, _ in stage.sent()] == [("GET", LB), ("DELETE", LB)]
    assert stage.polls() == 1


def test_one_that_is_protected_after_the_look(simulate: Simulate) -> None:
    stage = a_stage(simulate, a_balancer())
    stage.sim.spoil_hetzner("status", method="DELETE", code=423, body={"error": {"code": "protected", "message": "no"}})
    with pytest.raises(Conflict) as raised:
        stage.carry_out(deletion())
    assert raised.value.code == "protected"


def test_another_clusters_is_never_meant(simulate: Simulate) -> None:
    """No plan names one; a change that did would not be carried out."""
    stage = a_stage(simulate, a_balancer(cluster_uid="another"))
    with pytest.raises(KeyError, match="the label of another cluster"):
        stage.carry_out(deletion())
    assert stage.sent() == []
