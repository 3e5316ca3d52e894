"""Which load balancers nobody wants: those with our cluster's label that no living Service claims in any way."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import Options
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.orphans import Orphan, left_certificates, orphans
from desired.model.load_balancer import CloudBalancer, Health, HttpOptions
from desired.model.service import Ingress, Service
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.names import (
    FINALIZER_BALANCER,
    LABEL_ADOPTED,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.notes import NoteKind
from desired.planner import compute_desired, compute_plan
from desired.rules import load_balancers as rules
from desired.rules.rule import Reason
from desired.section import Section, Unknown
from tests.balancers import (
    DEFAULT_NAME,
    LOCATED,
    a_balancer,
    a_certificate,
    a_claim,
    a_service,
    a_world,
    an_http_listener,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, incomplete
from tests.support.balancer_plans import public
from tests.support.rows import rows

DEAD = "00000000-dead-dead-dead-000000000000"
LEFT_OVER = a_balancer(43, service_uid=DEAD, spec={"name": "left-over"})
SINCE = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: "20260601T120000Z"}
OLD = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_DELETE_AFTER: "20260601T120000Z"}
LET_GO = a_balancer(44, spec={"name": "shop", "labels": SINCE})
SHOP = a_service("shop", uid="uid-shop", claim=a_claim(annotations=annotated(name="shop")))
MOVED = replace(
    a_service("moved", claim=a_claim(annotations=annotated(name=a_balancer().spec.name))), load_balancer_class="x"
)
LONG_AGO = rules.RELEASED.because(service="its Service")
GONE = rules.SERVICE_GONE.because(uid=DEAD)
RELEASED = rules.RELEASED_SINCE.because(service="its Service", since="2026-06-01 12:00 UTC")
TWINS = (a_balancer(45), a_balancer(46, spec={"name": "twin"}))
CLAIMED = (FINALIZER_BALANCER,)
GOING = a_service(deleted_at=NOW, finalizers=CLAIMED)


def found(world: Snapshot) -> dict[int, Reason]:
    return {orphan.balancer.id: orphan.reason for orphan in orphans(world, match_balancers(world), Options())}


@rows("services balancers expected", {
    "its Service is gone": ([], [LEFT_OVER], {43: GONE}),
    "released": ([], [LET_GO], {44: RELEASED}),
    "released at an unknown time": ([], [a_balancer(42, spec={"labels": OLD})], {42: LONG_AGO}),
    "of no Service and not released": ([], [a_balancer(service_uid=None)], {42: rules.NAMES_NO_SERVICE.because()}),
    "a Service's": ([a_service()], [a_balancer()], {}),
    "one of two": ([a_service()], [a_balancer(), LEFT_OVER], {43: GONE}),
    "two with the label of one Service": ([a_service()], TWINS, {}),
    "about to go, and another took the finalizer": ([a_service(type="ClusterIP")], [a_balancer()], {}),
    "about to go": ([a_service(type="ClusterIP", finalizers=CLAIMED)], [a_balancer()], {}),
    "about to go with its Service": ([GOING], [a_balancer()], {}),
    "two of a Service that goes": ([GOING], TWINS, {}),
    "asked for by its name": ([SHOP], [LET_GO], {}),
    "asked for by two Services": ([SHOP, replace(SHOP, name="shop-2", uid="uid-2")], [LET_GO], {}),
    "asked for by who wants none": ([replace(SHOP, type="ClusterIP")], [LET_GO], {44: RELEASED}),
    "default name": ([a_service()], [replace(LET_GO, spec=replace(LET_GO.spec, name=DEFAULT_NAME))], {}),
    "protected": ([], [replace(LEFT_OVER, is_protected=True)], {43: GONE}),
    "without a cluster's label": ([], [a_balancer(cluster_uid=None)], {}),
    "another cluster's": ([], [a_balancer(cluster_uid="another", service_uid=DEAD)], {}),
    "somebody's, by hand": ([], [a_balancer(cluster_uid=None, service_uid=None)], {}),
})  # fmt: skip
def test_orphans(services: Iterable[Service], balancers: Iterable[CloudBalancer], expected: dict[int, Reason]) -> None:
    """An orphan is of this cluster, and no Service that lives claims it by label or by name."""
    assert found(a_world(services, balancers)) == expected


def leading(health: Health) -> CloudBalancer:
    """What is left over, with one target."""
    return a_balancer(43, service_uid=DEAD, targets=public(1), health=dict.fromkeys(public(1), health))


@rows("services balancer serves", {
    "no target": ([], LEFT_OVER, False),
    "one that does not answer": ([], leading(Health.UNHEALTHY), False),
    "one that answers": ([], leading(Health.HEALTHY), True),
    "a published address": ([a_service(ingress=(Ingress(str(LEFT_OVER.ipv4)),))], LEFT_OVER, True),
    "another address": ([a_service(ingress=(Ingress("198.51.100.1"), Ingress(hostname="a.example")))],
        LEFT_OVER, False),
})  # fmt: skip
def test_an_orphan_that_serves_needs_its_id(services: list[Service], balancer: CloudBalancer, serves: bool) -> None:
    world = a_world(services, [balancer])
    (orphan,) = orphans(world, match_balancers(world), Options())
    assert (orphan.serves, orphan.needs_its_id) == (serves, serves)


@rows("labels services serving is_listed needs_its_id", {
    "of the class": ({LABEL_OWN_CLASS_UID: DEAD, LABEL_CLASS: "x"}, [], Serving("x"), True, False),
    "of another class": ({LABEL_OWN_CLASS_UID: DEAD, LABEL_CLASS: "x"}, [], Serving("y"), True, True),
    "of a class, without one": ({LABEL_OWN_CLASS_UID: DEAD, LABEL_CLASS: "x"}, [], Serving(), True, True),
    "without a class, of one": ({LABEL_SERVICE_UID: DEAD}, [], Serving("x"), True, True),
    "its class is lost": ({LABEL_OWN_CLASS_UID: DEAD}, [], Serving("x"), True, True),
    "its Service lives": ({LABEL_OWN_CLASS_UID: DEAD, LABEL_CLASS: "x"},
        [a_service(uid=DEAD, load_balancer_class="x")], Serving("y"), False, False),
    "its name is asked for in another class": ({LABEL_RELEASED: "x"}, [MOVED], Serving(), False, False),
    "released with a Service that lives in another class": ({LABEL_FORMER: "default.web"},
        [a_service(uid=DEAD, load_balancer_class="x")], Serving(), False, False),
})  # fmt: skip
def test_orphans_of_every_class(
    labels: dict[str, str], services: list[Service], serving: Serving, is_listed: bool, needs_its_id: bool
) -> None:
    """Those of another class need their id, are not planned to be deleted, and no pass tells of them."""
    there = a_balancer(43, spec={"labels": labels | {LABEL_CLUSTER_UID: CLUSTER_UID}})
    world = a_world(services, [there], serving=serving)
    listed = orphans(world, match_balancers(world), Options())
    assert [each.needs_its_id for each in listed] == [needs_its_id] * is_listed
    plan = compute_plan(world, LOCATED)
    is_own = is_listed and not needs_its_id
    assert [change.kind for change in plan.changes if change.kind == "lb.delete"] == ["lb.delete"] * is_own
    assert [note for note in plan.notes if note.kind is NoteKind.ORPHAN] == []


def test_a_pass_deletes_no_protected_orphan() -> None:
    world = a_world([], [replace(LEFT_OVER, is_protected=True)])
    assert [change.kind for change in compute_plan(world, LOCATED).changes] == []


@rows("label", {"adopted": LABEL_ADOPTED, "marked as released by hand": LABEL_RELEASED})
def test_a_load_balancer_that_outlives_its_service_needs_its_id(label: str) -> None:
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_SERVICE_UID: DEAD, label: "true"}
    desired = compute_desired(a_world([], [a_balancer(43, spec={"labels": labels})]), LOCATED)
    assert (desired.vanished, [each.needs_its_id for each in desired.orphans]) == ((), [True])


@rows("policy planned needs_its_id", {
    "deleted": (DeletionPolicy.DELETE, 1, False),
    "retained": (DeletionPolicy.RETAIN, 0, True),
})  # fmt: skip
def test_the_default_policy_is_that_of_a_vanished_service(
    policy: DeletionPolicy, planned: int, needs_its_id: bool
) -> None:
    settings = replace(LOCATED, balancer_defaults=replace(LOCATED.balancer_defaults, deletion_policy=policy))
    desired = compute_desired(a_world([], [LEFT_OVER]), settings)
    assert len(desired.vanished) == planned
    assert [each.needs_its_id for each in desired.orphans] == [needs_its_id]


SOME: Section[int, CloudBalancer] = Section({43: LEFT_OVER, 44: LET_GO})
NOBODY: Section[str, Service] = Section({})


@rows("parts expected", {
    "a page of Services is missing": ({"services": incomplete(NOBODY)}, set()),
    "a Service is unreadable": ({"services": replace(NOBODY, unreadable={"a/b": "no"})}, set()),
    "no Services were read": ({"services": None}, set()),
    "the cluster is not known": ({"cluster_uid": Unknown("forbidden")}, set()),
    "no load balancers were read": ({"load_balancers": None}, set()),
    "a page of load balancers is missing": ({"load_balancers": incomplete(SOME)}, {43, 44}),
    "a load balancer is unreadable": ({"load_balancers": replace(SOME, unreadable={9: "no"})}, {43, 44}),
})  # fmt: skip
def test_what_could_not_be_read(parts: dict[str, Any], expected: set[int]) -> None:
    """A Service that was not read may want anything; a load balancer that was not read changes nothing for others: what
    a Service asks for by its name is not said to be nobody's because something else could not be read."""
    world = a_world([], [LEFT_OVER, LET_GO])
    assert set(found(replace(world, **parts))) == expected
    if "load_balancers" in parts:
        assert set(found(replace(a_world([SHOP]), **parts))) == expected - {44}


def test_a_name_that_cannot_be_read() -> None:
    """A Service whose name annotation is wrong may still mean the name that follows from its UID."""
    wrong = a_service(claim=a_claim(annotations=annotated(name=" shop")))
    half_made = replace(LET_GO, id=45, spec=replace(LET_GO.spec, name=DEFAULT_NAME))
    assert set(found(a_world([wrong], [LET_GO, half_made]))) == {44}


FORMER = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web"}
WITH_WEB = rules.RELEASED.because(service="Service default/web")
ON_A_DAY = rules.RELEASED_SINCE.because(service="Service default/web", since="2026-07-01 12:10 UTC")


@rows("labels reason", {
    "with a time": ({LABEL_RELEASED: "20260701T121000Z"}, ON_A_DAY),
    "without a time": ({}, WITH_WEB),
    "with no time": ({LABEL_RELEASED: "soon"},
        rules.RELEASED_SINCE.because(service="Service default/web", since="soon")),
    "in an undo window of earlier versions": ({LABEL_DELETE_AFTER: "20260701T121000Z"}, WITH_WEB),
})  # fmt: skip
@pytest.mark.parametrize("is_protected", [False, True])
def test_what_was_released(labels: dict[str, str], reason: Reason, is_protected: bool) -> None:
    """It stays until a person names it."""
    world = a_world([], [a_balancer(spec={"labels": FORMER | labels}, is_protected=is_protected)])
    (orphan,) = orphans(world, match_balancers(world), Options())
    assert (orphan.reason, orphan.needs_its_id) == (reason, True)


@rows("orphan kept", {
    "may go": (Orphan(LEFT_OVER, GONE), None),
    "was released": (Orphan(LET_GO, RELEASED), None),
    "protected": (Orphan(replace(LET_GO, is_protected=True), RELEASED), rules.ORPHAN_PROTECTED.text()),
})  # fmt: skip
def test_what_is_kept(orphan: Orphan, kept: str | None) -> None:
    """A person's protection counts."""
    assert orphan.kept == kept


OURS = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_SERVICE_UID: DEAD}
LIVING = a_service()


@rows("labels services left", {
    "its Service is gone": (OURS, NOBODY, [5]),
    "it lives": (OURS | {LABEL_SERVICE_UID: LIVING.uid}, Section({"default/web": LIVING}), []),
    "its Service may be unread": (OURS, incomplete(NOBODY), []),
    "another cluster's": (OURS | {LABEL_CLUSTER_UID: "another"}, NOBODY, []),
    "no cluster's": ({LABEL_SERVICE_UID: DEAD}, NOBODY, []),
    "uploaded by a person": ({}, NOBODY, []),
})  # fmt: skip
def test_certificates_that_are_left_over(
    labels: dict[str, str], services: Section[str, Service], left: list[int]
) -> None:
    """They are noted, and never deleted: something else may use them."""
    certificates = Section({5: a_certificate(labels=labels)})
    world = replace(a_world([], []), services=services, certificates=certificates)
    assert [each.id for each in left_certificates(world)] == left
    notes = [str(note.key) for note in compute_plan(world, LOCATED).notes if note.kind is NoteKind.ORPHAN]
    assert notes == [f"certificate/#{number}" for number in left]


@rows("services balancers", {
    "by a Service": ([a_service(claim=a_claim(annotations=annotated(http_certificates="5")))], []),
    "by its name": ([a_service(claim=a_claim(annotations=annotated(http_certificates="shop")))], []),
    "by a load balancer": ([], [a_balancer(listeners=[an_http_listener(http=HttpOptions(certificates=(5,)))])]),
})  # fmt: skip
def test_certificates_that_are_used(services: list[Service], balancers: list[CloudBalancer]) -> None:
    """They are not left over, whosever they were."""
    world = replace(a_world(services, balancers), certificates=Section({5: a_certificate(labels=OURS)}))
    assert left_certificates(world) == ()
