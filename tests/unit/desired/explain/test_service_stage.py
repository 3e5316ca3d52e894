"""How far a Service is on its way to a load balancer or from it, in a word and a sentence."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.explain.service import ServiceStage
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_DELETE_AFTER, LABEL_FORMER
from desired.section import Section, Unknown
from tests.balancers import (
    LOCATED,
    a_balancer,
    a_claim,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, incomplete
from tests.support.service_explanations import of_the_service

ANOTHER_UID = "99999999-2222-3333-4444-555555555555"
SHOP = a_claim(annotations=annotated(name="shop"))
BAD = a_claim(annotations=annotated(protocol="udp"))
TWICE_BAD = a_claim(annotations=annotated(protocol="udp", use_private_ip="yes"))
WHY_BAD = "load-balancer.hetzner.cloud/protocol is 'udp': expect one of tcp, http, https; correct it, or remove it"
WHY_PRIVATE = (
    "load-balancer.hetzner.cloud/use-private-ip is 'yes': expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE,"
    " false, False; correct it, or remove it"
)
CATALOGUE = a_claim(annotations=annotated(type="lb99"))
OBSERVE = replace(LOCATED, policy=Policy.OBSERVE)
UNDO = replace(LOCATED, undo_window=timedelta(minutes=10))
FORMER = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_DELETE_AFTER: "20260701T121000Z"}
WAITING_FOR_IT = a_balancer(service_uid=None, spec={"name": "was-42", "labels": FORMER})


def by_hand(name: str = "shop", **overrides: Any) -> Any:
    """A load balancer without labels of ours."""
    return a_balancer(service_uid=None, cluster_uid=None, spec={"name": name}, **overrides)


_CASES = [
    pytest.param(
        a_world([a_served_service()], [a_balancer()]),
        LOCATED,
        ServiceStage.SERVED,
        "is served by load balancer 42; no change is planned",
        id="served",
    ),
    pytest.param(
        a_world([a_served_service()], [a_balancer(targets=())]),
        OBSERVE,
        ServiceStage.SERVED,
        "is served by load balancer 42; 1 change is planned: waiting (policy)",
        id="served-and-withheld",
    ),
    pytest.param(
        a_world([a_service()]),
        LOCATED,
        ServiceStage.JOINING,
        "wants a load balancer and has none; the next pass creates it",
        id="joining",
    ),
    pytest.param(
        a_world([a_service()]),
        OBSERVE,
        ServiceStage.JOINING,
        "wants a load balancer and has none; its creation is waiting (policy)",
        id="joining-and-withheld",
    ),
    pytest.param(
        a_world([a_service(claim=SHOP)], [by_hand(targets=(), listeners=())]),
        LOCATED,
        ServiceStage.ADOPTING,
        "asks for the name of load balancer 42, which no Service that lives has; the next pass takes it over",
        id="adopting",
    ),
    pytest.param(
        a_world([a_service(claim=SHOP)], [a_balancer(service_uid="dead", cluster_uid=None, spec={"name": "shop"})]),
        LOCATED,
        ServiceStage.ADOPTING,
        "asks for the name of load balancer 42, which no Service that lives has; that is held (adoption)",
        id="adopting-a-stranger",
    ),
    pytest.param(
        a_world([a_service()], [WAITING_FOR_IT]),
        UNDO,
        ServiceStage.ADOPTING,
        "had load balancer 42 when it was deleted last; the next pass gives it back",
        id="coming-back",
    ),
    pytest.param(
        a_world([a_service(claim=BAD)]),
        LOCATED,
        ServiceStage.MALFORMED,
        f"{WHY_BAD}; nothing is created until it is right",
        id="malformed-and-new",
    ),
    pytest.param(
        a_world([a_served_service(claim=TWICE_BAD)], [a_balancer()]),
        LOCATED,
        ServiceStage.MALFORMED,
        f"{WHY_PRIVATE} (and 1 more); nothing but the targets of load balancer 42 is looked after until it is right",
        id="malformed-and-there",
    ),
    pytest.param(
        a_world([a_service(claim=BAD)], [by_hand("a1f2e3d4c5b6a7980aabbccddeeff001")]),
        LOCATED,
        ServiceStage.MALFORMED,
        f"{WHY_BAD}; nothing is taken over until it is right",
        id="malformed-and-adoptable",
    ),
    pytest.param(
        a_world([a_service(claim=CATALOGUE)]),
        LOCATED,
        ServiceStage.MALFORMED,
        "load-balancer.hetzner.cloud/type (or HCLOUD_LOAD_BALANCERS_TYPE) is lb99: Hetzner has no such type; nothing"
        " is created; choose another type, such as lb11, lb21",
        id="a-type-that-does-not-exist",
    ),
    pytest.param(
        a_world([a_service(claim=CATALOGUE)], balancer_types=Unknown("429")),
        LOCATED,
        ServiceStage.WAITING,
        "type lb99 could not be looked up: 429; nothing is created",
        id="types-that-were-not-read",
    ),
    pytest.param(
        a_world([a_service()], load_balancers=incomplete(Section({}), "page 2 timed out")),
        LOCATED,
        ServiceStage.WAITING,
        "cannot determine its load balancer: page 2 timed out",
        id="a-gap-in-the-list",
    ),
    pytest.param(
        a_world([a_served_service()], [a_balancer(), a_balancer(43)]),
        LOCATED,
        ServiceStage.AMBIGUOUS,
        "load balancers 42, 43 all have the label of this Service; remove the label from those that are not its",
        id="ambiguous",
    ),
    pytest.param(
        a_world([a_service(claim=SHOP)], [a_balancer(service_uid=None, cluster_uid="other", spec={"name": "shop"})]),
        LOCATED,
        ServiceStage.REFUSED,
        "load balancer 42 'shop' belongs to cluster other",
        id="refused",
    ),
    pytest.param(
        a_world([a_service(claim=SHOP), a_service("api", uid=ANOTHER_UID, claim=SHOP)]),
        LOCATED,
        ServiceStage.CONTESTED,
        "load balancer name 'shop' is asked for by Service default/api as well; give each a name of its own",
        id="contested",
    ),
    pytest.param(
        a_world([a_served_service(deleted_at=NOW)], [a_balancer()]),
        LOCATED,
        ServiceStage.LEAVING,
        "is being deleted, and load balancer 42 goes with it; the next pass deletes it",
        id="leaving",
    ),
    pytest.param(
        a_world([a_served_service(deleted_at=NOW)], [a_balancer()]),
        replace(LOCATED, policy=Policy.UPSERT),
        ServiceStage.LEAVING,
        "is being deleted, and load balancer 42 goes with it; its deletion is waiting (policy)",
        id="leaving-and-withheld",
    ),
    pytest.param(
        a_world([a_served_service(type="ClusterIP")], [a_balancer(is_protected=True)]),
        LOCATED,
        ServiceStage.LEAVING,
        "is of type ClusterIP now; load balancer 42 stays, as it is protected against deletion; the next pass"
        " releases it",
        id="leaving-what-is-protected",
    ),
    pytest.param(
        a_world([a_served_service(deleted_at=NOW)], [a_balancer()]),
        UNDO,
        ServiceStage.LEAVING,
        "is being deleted; load balancer 42 is released first, and deleted after 2026-07-01 12:10:00 UTC; the next pass"
        " releases it",
        id="leaving-with-an-undo-window",
    ),
    pytest.param(
        a_world([a_served_service(deleted_at=NOW)]),
        LOCATED,
        ServiceStage.LEAVING,
        "is being deleted, and has no load balancer; the next pass releases it",
        id="nothing-left",
    ),
    pytest.param(
        a_world([a_served_service(deleted_at=NOW)]),
        OBSERVE,
        ServiceStage.LEAVING,
        "is being deleted, and has no load balancer; its release is waiting (policy)",
        id="nothing-left-and-withheld",
    ),
    pytest.param(
        a_world([a_served_service(deleted_at=NOW)], [a_balancer(), a_balancer(43)]),
        LOCATED,
        ServiceStage.LEAVING,
        "is being deleted, and load balancers 42, 43 all have the label of this Service; remove the label from those"
        " that are not its",
        id="leaving-and-ambiguous",
    ),
    pytest.param(
        a_world([a_service(deleted_at=NOW)]),
        LOCATED,
        ServiceStage.LEAVING,
        "is being deleted, and was never claimed here: there is nothing to release",
        id="never-claimed",
    ),
    pytest.param(
        a_world([a_service(load_balancer_class="x/y")]),
        LOCATED,
        ServiceStage.FOREIGN,
        "spec.loadBalancerClass 'x/y' makes it another controller's; left alone",
        id="another-class",
    ),
    pytest.param(
        a_world([a_served_service(load_balancer_class="", deleted_at=NOW)]),
        LOCATED,
        ServiceStage.FOREIGN,
        "spec.loadBalancerClass '' makes it another controller's; left alone",
        id="an-empty-class-and-going",
    ),
    pytest.param(
        a_world([a_service(type="NodePort")]),
        LOCATED,
        ServiceStage.UNCLAIMED,
        "is of type NodePort, and asks for no load balancer; left alone",
        id="another-type",
    ),
    pytest.param(
        a_world([a_service(type="NodePort", deleted_at=NOW)]),
        LOCATED,
        ServiceStage.UNCLAIMED,
        "is of type NodePort, and asks for no load balancer; left alone",
        id="another-type-and-going",
    ),
    pytest.param(
        a_world([a_served_service(load_balancer_class="x/y")], [a_balancer()]),
        LOCATED,
        ServiceStage.LEAVING,
        "is of class 'x/y' now, and load balancer 42 goes with it; the next pass deletes it",
        id="another-class-by-now",
    ),
    pytest.param(
        a_world([a_service(type="ClusterIP")], [a_balancer()]),
        LOCATED,
        ServiceStage.LEAVING,
        "is of type ClusterIP now, and load balancer 42 goes with it; the next pass deletes it",
        id="another-type-without-the-finalizer",
    ),
]


@pytest.mark.parametrize(("snapshot", "settings", "stage", "why"), _CASES)
def test_stages(snapshot: Snapshot, settings: Settings, stage: ServiceStage, why: str) -> None:
    """Each Service has one word, and one sentence that says why and what comes next."""
    found = of_the_service(snapshot, settings)

    assert (found.stage, found.why) == (stage, why)
