"""Which load balancers nobody wants: those with our cluster's label that no living Service claims in any way."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from desired.load_balancers.lifecycle import Orphan, left_certificates, orphans
from desired.load_balancers.matching import match_balancers
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_RELEASED, LABEL_SERVICE_UID
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.section import Section, Unknown
from tests.balancers import DEFAULT_NAME, LOCATED, a_balancer, a_certificate, a_claim, a_service, a_world, annotated
from tests.builders import CLUSTER_UID, NOW, incomplete
from tests.support.rules import saying

DEAD = "00000000-dead-dead-dead-000000000000"
LEFT_OVER = a_balancer(43, service_uid=DEAD, spec={"name": "left-over"})
LET_GO = a_balancer(
    44,
    spec={"name": "shop", "labels": {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: "20260601T120000Z"}},
)
SHOP = a_service("shop", uid="uid-shop", claim=a_claim(annotations=annotated(name="shop")))


def found(world: Snapshot) -> dict[int, str]:
    """Id → why, of each orphan of this world."""
    return {orphan.balancer.id: orphan.reason.text for orphan in orphans(world, match_balancers(world))}


GONE = f"its Service, with the UID {DEAD}, is gone"
RELEASED = "it was released on 20260601T120000Z, and no Service has asked for it by its name"
TWINS = (a_balancer(45), a_balancer(46, spec={"name": "twin"}))


@pytest.mark.parametrize(
    ("services", "balancers", "expected"),
    [
        pytest.param([], [LEFT_OVER], {43: GONE}, id="its Service is gone"),
        pytest.param([], [LET_GO], {44: RELEASED}, id="released"),
        pytest.param(
            [],
            [a_balancer(service_uid=None, spec={"name": "x"})],
            {42: RELEASED.replace(" on 20260601T120000Z", "")},
            id="released at an unknown time",
        ),
        pytest.param([a_service()], [a_balancer()], {}, id="a Service's"),
        pytest.param([a_service()], [a_balancer(), LEFT_OVER], {43: GONE}, id="one of two"),
        pytest.param([a_service()], TWINS, {}, id="two with the label of one Service"),
        pytest.param(
            [a_service(type="ClusterIP")],
            [a_balancer()],
            {},
            id="about to go, and another controller took the finalizer",
        ),
        pytest.param(
            [a_service(type="ClusterIP", finalizers=(FINALIZER_BALANCER,))], [a_balancer()], {}, id="about to go"
        ),
        pytest.param(
            [a_service(deleted_at=NOW, finalizers=(FINALIZER_BALANCER,))],
            [a_balancer()],
            {},
            id="about to go with its Service",
        ),
        pytest.param(
            [a_service(deleted_at=NOW, finalizers=(FINALIZER_BALANCER,))],
            TWINS,
            {},
            id="two of a Service that goes",
        ),
        pytest.param([SHOP], [LET_GO], {}, id="asked for by its name"),
        pytest.param([SHOP, replace(SHOP, name="shop-2", uid="uid-2")], [LET_GO], {}, id="asked for by two Services"),
        pytest.param([replace(SHOP, type="ClusterIP")], [LET_GO], {44: RELEASED}, id="asked for by who wants none"),
        pytest.param(
            [a_service()], [replace(LET_GO, spec=replace(LET_GO.spec, name=DEFAULT_NAME))], {}, id="default name"
        ),
        pytest.param([], [replace(LEFT_OVER, is_protected=True)], {43: GONE}, id="protected"),
        pytest.param([], [a_balancer(cluster_uid=None)], {}, id="without a cluster's label"),
        pytest.param([], [a_balancer(cluster_uid="another", service_uid=DEAD)], {}, id="another cluster's"),
        pytest.param([], [a_balancer(cluster_uid=None, service_uid=None)], {}, id="somebody's, by hand"),
        pytest.param([], [], {}, id="none at all"),
    ],
)
def test_orphans(services: Iterable[Service], balancers: Iterable[CloudBalancer], expected: dict[int, str]) -> None:
    """An orphan is of this cluster, and no Service that lives claims it by label or by name."""
    assert found(a_world(services, balancers)) == expected


SOME: Section[int, CloudBalancer] = Section({43: LEFT_OVER, 44: LET_GO})


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param(
            {"services": incomplete(a_world().services or Section())}, set(), id="a page of Services is missing"
        ),
        pytest.param(
            {"services": replace(a_world().services or Section(), unreadable={"a/b": "no"})},
            set(),
            id="a Service is unreadable",
        ),
        pytest.param({"services": None}, set(), id="no Services were read"),
        pytest.param({"cluster_uid": Unknown("forbidden")}, set(), id="the cluster is not known"),
        pytest.param({"load_balancers": None}, set(), id="no load balancers were read"),
        pytest.param({"load_balancers": incomplete(SOME)}, {43, 44}, id="a page of load balancers is missing"),
        pytest.param(
            {"load_balancers": replace(SOME, unreadable={9: "no"})}, {43, 44}, id="a load balancer is unreadable"
        ),
    ],
)
def test_what_could_not_be_read(parts: dict[str, Any], expected: set[int]) -> None:
    """A Service that was not read may want anything; a load balancer that was not read changes nothing for others."""
    assert set(found(replace(a_world([], [LEFT_OVER, LET_GO]), **parts))) == expected


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(incomplete(SOME), id="a page is missing"),
        pytest.param(replace(SOME, unreadable={9: "no"}), id="one is unreadable"),
    ],
)
def test_a_name_counts_in_a_list_with_gaps(section: Section[int, CloudBalancer]) -> None:
    """What a Service asks for by its name is not said to be nobody's because something else could not be read."""
    assert set(found(a_world([SHOP], load_balancers=section))) == {43}


def test_a_name_that_cannot_be_read() -> None:
    """A Service whose name annotation is wrong may still mean the name that follows from its UID."""
    wrong = a_service(claim=a_claim(annotations=annotated(name=" shop")))
    half_made = replace(LET_GO, id=45, spec=replace(LET_GO.spec, name=DEFAULT_NAME))

    assert set(found(a_world([wrong], [LET_GO, half_made]))) == {44}


@pytest.mark.parametrize(
    ("orphan", "kept"),
    [
        pytest.param(Orphan(LEFT_OVER, saying(GONE)), None, id="may go"),
        pytest.param(Orphan(LET_GO, saying(RELEASED)), None, id="was released"),
        pytest.param(Orphan(replace(LET_GO, is_protected=True), saying(RELEASED)), "it is protected", id="protected"),
    ],
)
def test_what_is_kept(orphan: Orphan, kept: str | None) -> None:
    """A person's protection counts."""
    assert orphan.kept is None if kept is None else (orphan.kept or "").startswith(kept)


OURS = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_SERVICE_UID: DEAD}


@pytest.mark.parametrize(
    ("labels", "services", "left"),
    [
        pytest.param(OURS, Section({}), [5], id="its Service is gone"),
        pytest.param(
            OURS | {LABEL_SERVICE_UID: a_service().uid}, Section({"default/web": a_service()}), [], id="it lives"
        ),
        pytest.param(OURS, incomplete(Section({})), [], id="its Service may be unread"),
        pytest.param(OURS | {LABEL_CLUSTER_UID: "another"}, Section({}), [], id="another cluster's"),
        pytest.param({LABEL_SERVICE_UID: DEAD}, Section({}), [], id="no cluster's"),
        pytest.param({}, Section({}), [], id="uploaded by a person"),
    ],
)
def test_certificates_that_are_left_over(
    labels: dict[str, str], services: Section[str, Service], left: list[int]
) -> None:
    """They are noted, and never deleted: something else may use them."""
    certificates = Section({5: a_certificate(labels=labels)})
    world = replace(a_world([], []), services=services, certificates=certificates)
    assert [found.id for found in left_certificates(world)] == left
    notes = [str(note.key) for note in compute_plan(world, LOCATED).notes if note.kind is NoteKind.ORPHAN]
    assert notes == [f"certificate/#{found}" for found in left]
