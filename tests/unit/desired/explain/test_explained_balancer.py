"""Which load balancer is a Service's, by what it was recognized, and whom its labels name."""

from typing import Any

import pytest

from desired.explain.load_balancer import FoundBalancer
from desired.model.snapshot import Snapshot
from desired.names import (
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.rules.rule import Basis
from desired.section import Section, Unknown
from tests.balancers import (
    DEFAULT_NAME,
    SERVICE_UID,
    a_balancer,
    a_claim,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, incomplete
from tests.support.service_explanations import RIVAL_UID, of_the_service

SHOP = a_claim(annotations=annotated(name="shop"))
NONE_LABELLED = f"no load balancer of the project has the label {LABEL_SERVICE_UID} with this Service's UID"
OTHER = "other-cluster"
RIVALS = [a_served_service(claim=SHOP), a_service("api", uid=RIVAL_UID, claim=SHOP)]
UNDONE = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_DELETE_AFTER: "20260701T121000Z"}
WHY_CONTESTED = "load balancer name 'shop' is asked for by Service default/api as well; give each a name of its own"


def found(snapshot: Snapshot) -> FoundBalancer:
    """What is said of the Service's load balancer."""
    return of_the_service(snapshot).load_balancer


def named(**labels: str | None) -> Any:
    """A load balancer of the name that the Service asks for."""
    uids: dict[str, Any] = {"service_uid": None, "cluster_uid": None}
    return a_balancer(spec={"name": "shop"}, **uids | labels)


@pytest.mark.parametrize(
    ("snapshot", "asked", "by", "why"),
    [
        pytest.param(a_world([a_served_service()], [a_balancer()]), DEFAULT_NAME, "label", None, id="by-its-label"),
        pytest.param(a_world([a_service(claim=SHOP)], [named()]), "shop", "name", None, id="by-its-name"),
        pytest.param(
            a_world([a_served_service()], [named()]), DEFAULT_NAME, "address", None, id="by-its-published-address"
        ),
        pytest.param(
            a_world([a_service()]),
            DEFAULT_NAME,
            None,
            f"{NONE_LABELLED}, and none is named {DEFAULT_NAME!r}",
            id="none",
        ),
        pytest.param(
            a_world([a_service(claim=a_claim(annotations=annotated(name=" shop")))]),
            None,
            None,
            NONE_LABELLED,
            id="a-name-that-cannot-be-read",
        ),
        pytest.param(a_world([a_served_service(deleted_at=NOW)]), None, None, NONE_LABELLED, id="at-its-end"),
        pytest.param(
            a_world([a_service(load_balancer_class="x")]),
            None,
            None,
            "spec.loadBalancerClass 'x' makes it another controller's; left alone",
            id="another-controller's",
        ),
        pytest.param(
            a_world([a_service()], load_balancers=incomplete(Section({}), "429")),
            DEFAULT_NAME,
            None,
            "cannot determine its load balancer: 429",
            id="a-gap",
        ),
    ],
)
def test_what_it_is_recognized_by(snapshot: Snapshot, asked: str | None, by: str | None, why: str | None) -> None:
    """The label counts before the name, and where there is no load balancer it is said why."""
    balancer = found(snapshot)

    assert (balancer.asked_name, balancer.by, balancer.why, balancer.other) == (asked, by, why, None)
    assert (balancer.found is None) is bool(why)


@pytest.mark.parametrize(
    ("snapshot", "its", "other", "why"),
    [
        pytest.param(
            a_world([a_service(claim=SHOP)], [named(cluster_uid=OTHER)]),
            None,
            42,
            "load balancer 42 'shop' belongs to cluster other-cluster",
            id="another-cluster's",
        ),
        pytest.param(
            a_world([a_service()], [a_balancer(cluster_uid=OTHER)]),
            None,
            42,
            f"load balancer 42 {DEFAULT_NAME!r} belongs to cluster other-cluster",
            id="another-cluster's-with-our-label",
        ),
        pytest.param(a_world(RIVALS, [named()]), None, 42, WHY_CONTESTED, id="asked-for-by-two"),
        pytest.param(a_world(RIVALS), None, None, WHY_CONTESTED, id="asked-for-by-two-and-not-there"),
        pytest.param(a_world(RIVALS, [named(service_uid=SERVICE_UID)]), 42, None, None, id="with-its-label-of-two"),
        pytest.param(
            a_world(RIVALS, [named(service_uid=SERVICE_UID, cluster_uid=OTHER)]),
            None,
            42,
            "load balancer 42 'shop' belongs to cluster other-cluster",
            id="asked-for-by-two-and-another-cluster's",
        ),
    ],
)
def test_whose_it_is(snapshot: Snapshot, its: int | None, other: int | None, why: str | None) -> None:
    """What somebody else has is shown as such, and is never the Service's; what has its label is."""
    balancer = found(snapshot)
    ids = [each.id if each else None for each in (balancer.found, balancer.other)]

    assert (ids, balancer.why) == ([its, other], why)


@pytest.mark.parametrize(
    ("snapshot", "labels"),
    [
        pytest.param(
            a_world([a_served_service()], [a_balancer()]),
            {
                LABEL_SERVICE_UID: (SERVICE_UID, SERVICE_UID, "this Service's"),
                LABEL_CLUSTER_UID: (CLUSTER_UID, CLUSTER_UID, "this cluster's"),
            },
            id="ours",
        ),
        pytest.param(
            a_world([a_served_service()], [a_balancer(cluster_uid=None)]),
            {
                LABEL_SERVICE_UID: (SERVICE_UID, SERVICE_UID, "this Service's"),
                LABEL_CLUSTER_UID: (None, None, "no cluster label (optional)"),
            },
            id="of-no-cluster",
        ),
        pytest.param(
            a_world([a_served_service(claim=SHOP)], [a_balancer(cluster_uid=None)]),
            {
                LABEL_SERVICE_UID: (SERVICE_UID, SERVICE_UID, "this Service's"),
                LABEL_CLUSTER_UID: (None, CLUSTER_UID, "becomes this cluster's"),
            },
            id="written-with-another-write",
        ),
        pytest.param(
            a_world([a_served_service()], [a_balancer()], cluster_uid=Unknown("403")),
            {
                LABEL_SERVICE_UID: (SERVICE_UID, SERVICE_UID, "this Service's"),
                LABEL_CLUSTER_UID: (CLUSTER_UID, CLUSTER_UID, "a cluster's; which one this is could not be read"),
            },
            id="an-unknown-identity",
        ),
        pytest.param(
            a_world([a_service(claim=SHOP)], [named(service_uid="dead", cluster_uid=CLUSTER_UID)]),
            {
                LABEL_SERVICE_UID: ("dead", SERVICE_UID, "that of a Service that is gone, becomes this Service's"),
                LABEL_CLUSTER_UID: (CLUSTER_UID, CLUSTER_UID, "this cluster's"),
            },
            id="a-dead-service's",
        ),
        pytest.param(
            a_world([a_service(claim=SHOP)], [named(service_uid="dead")]),
            {
                LABEL_SERVICE_UID: (
                    "dead",
                    SERVICE_UID,
                    "that of a Service that is gone, becomes this Service's; held (adoption)",
                ),
                LABEL_CLUSTER_UID: (None, CLUSTER_UID, "becomes this cluster's; held (adoption)"),
                LABEL_ADOPTED: (
                    None,
                    "true",
                    "becomes the mark of one that was not made for a Service, and outlives it; held (adoption)",
                ),
            },
            id="a-stranger's",
        ),
        pytest.param(
            a_world([a_service(claim=SHOP), a_service("api", uid=RIVAL_UID)], [named(service_uid=RIVAL_UID)]),
            {
                LABEL_SERVICE_UID: (
                    RIVAL_UID,
                    SERVICE_UID,
                    "Service default/api's, becomes this Service's; refused (foreign-owner)",
                ),
                LABEL_CLUSTER_UID: (None, CLUSTER_UID, "becomes this cluster's; refused (foreign-owner)"),
            },
            id="a-living-service's",
        ),
        pytest.param(
            a_world([a_service(claim=SHOP)], [named(cluster_uid=OTHER)]),
            {
                LABEL_SERVICE_UID: (None, SERVICE_UID, "becomes this Service's; refused (foreign-owner)"),
                LABEL_CLUSTER_UID: (
                    OTHER,
                    CLUSTER_UID,
                    "another cluster's, becomes this cluster's; refused (foreign-owner)",
                ),
            },
            id="another-cluster's",
        ),
        pytest.param(
            a_world([a_served_service(deleted_at=NOW)], [a_balancer(is_protected=True)]),
            {
                LABEL_SERVICE_UID: (SERVICE_UID, None, "this Service's, becomes no Service's"),
                LABEL_CLUSTER_UID: (CLUSTER_UID, CLUSTER_UID, "this cluster's"),
                LABEL_RELEASED: (
                    None,
                    "20260701T120000Z",
                    "becomes the time at which it was released, with its addresses",
                ),
                LABEL_FORMER: (None, "default.web", "becomes whose it was"),
            },
            id="let-go",
        ),
        pytest.param(
            a_world([a_service()], [a_balancer(service_uid=None, spec={"name": "was-42", "labels": UNDONE})]),
            {
                LABEL_SERVICE_UID: (None, SERVICE_UID, "becomes this Service's"),
                LABEL_CLUSTER_UID: (CLUSTER_UID, CLUSTER_UID, "this cluster's"),
                LABEL_FORMER: ("default.web", None, "whose it was, and who gets it back, becomes nothing"),
                LABEL_DELETE_AFTER: ("20260701T121000Z", None, "the time after which it is deleted, becomes nothing"),
            },
            id="given-back",
        ),
    ],
)
def test_labels(snapshot: Snapshot, labels: dict[str, tuple[str | None, str | None, str]]) -> None:
    """Each label that says whose it is has a meaning, and what is to become of it."""
    facts = found(snapshot).owner

    assert {fact.subject: (fact.value, fact.wanted, fact.source) for fact in facts} == labels
    assert {fact.rule for fact in facts} == {Basis.OWNER}


def test_another_clusters_service() -> None:
    """That no Service here has the UID says nothing of one of another cluster."""
    snapshot = a_world([a_service(claim=SHOP)], [named(service_uid="far", cluster_uid=OTHER)])

    assert found(snapshot).owner[0].source.startswith("that of a Service of another cluster, ")
