"""Services that want a load balancer at the moment of its deletion, whatever was observed before."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from actuators.http.errors import Broken, Conflict
from desired.load_balancers.lifecycle import orphan_deletion
from desired.load_balancers.orphans import Orphan
from desired.load_balancers.ownership import former_by_name
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_FORMER
from desired.plan.change import Change
from tests.balancers import DEFAULT_NAME, a_balancer, a_service, a_world
from tests.builders import CLUSTER_UID
from tests.support.balancer_changes import BALANCER, a_difference
from tests.support.balancer_stage import a_stage, carry_out
from tests.support.rows import rows
from tests.support.rules import saying
from tests.support.simulators import Simulate, ago

LONG = "w" * 63
WANTING, OTHER_TYPE = a_service(), a_service(type="ClusterIP")
ONE, ALL = "/api/v1/namespaces/default/services", "/api/v1/services"


def awaiting(name: str = "web", namespace: str = "default") -> CloudBalancer:
    """A load balancer that was released with this Service."""
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: former_by_name(namespace, name)}
    return a_balancer(service_uid=None, spec={"labels": labels})


OWN, AWAITING, AWAITING_LONG, VANISHED = a_balancer(), awaiting(), awaiting(LONG, LONG), a_balancer(service_uid="lost")


def now(service: Service = WANTING, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": service.name, "namespace": service.namespace, "uid": service.uid}
    if service.deleted_at is not None:
        metadata |= {"deletionTimestamp": ago(60), "deletionGracePeriodSeconds": 0, "finalizers": ["example.com/hold"]}
    return {"metadata": metadata, "spec": {"type": service.type, "ports": [{"port": 80, "nodePort": 30080}], **spec}}


def deletion(balancer: CloudBalancer, snapshot: Snapshot) -> Change:
    """The deletion of the load balancer, for the sake of its Service or of none."""
    if balancer is OWN:
        return a_difference(BALANCER, "lb.delete", balancer.spec, None, "a test wants it")
    return orphan_deletion(Orphan(balancer, saying("it has no Service")), snapshot)


@rows(
    "balancer observed present claimant",
    {
        "of another type": (OWN, OTHER_TYPE, [now(OTHER_TYPE)], None),
        "of another class": (OWN, OTHER_TYPE, [now(loadBalancerClass="example.com/lb")], None),
        "gone": (OWN, OTHER_TYPE, [], None),
        "being deleted": (OWN, OTHER_TYPE, [now(replace(WANTING, deleted_at=WANTING.created_at))], None),
        "of type LoadBalancer again": (OWN, OTHER_TYPE, [now()], "default/web"),
        "made anew": (OWN, OTHER_TYPE, [now(a_service(uid="next"))], "default/web"),
        "another one": (OWN, OTHER_TYPE, [now(a_service("api", uid="api"))], None),
        "of that name elsewhere": (OWN, OTHER_TYPE, [now(a_service(namespace="blue", uid="blue"))], None),
        "wanting as observed": (OWN, WANTING, [now()], None),
        "not back": (AWAITING, None, [now(a_service("api", uid="api"))], None),
        "back": (AWAITING, None, [now()], "default/web"),
        "back as another type": (AWAITING, None, [now(OTHER_TYPE)], None),
        "back as observed": (AWAITING, WANTING, [now()], None),
        "back, and made anew since": (AWAITING, WANTING, [now(a_service(uid="next"))], "default/web"),
        "back, and of this type since": (AWAITING, OTHER_TYPE, [now()], "default/web"),
        "not back, of a long name": (AWAITING_LONG, None, [now()], None),
        "back, of a long name": (AWAITING_LONG, None, [now(a_service(LONG, namespace=LONG))], f"{LONG}/{LONG}"),
        "vanished": (VANISHED, None, [now()], None),
        "never gone": (VANISHED, None, [now(), now(a_service("api", uid="lost"))], "default/api"),
    },
)
def test_a_deletion_beside_services_as_they_are_by_now(
    simulate: Simulate,
    balancer: CloudBalancer,
    observed: Service | None,
    present: list[dict[str, Any]],
    claimant: str | None,
) -> None:
    """It is no deletion where a Service wants the load balancer that was not observed to: one call tells."""
    stage, snapshot = a_stage(simulate, balancer), a_world([] if observed is None else [observed], [balancer])
    stage.sim.kubernetes.replace_world({"services": present})
    why = rf"^Service {claimant} now wants load balancer 42 {DEFAULT_NAME}$"
    with nullcontext() if claimant is None else pytest.raises(Conflict, match=why):
        carry_out(stage.sim, deletion(balancer, snapshot), snapshot, stage.writers)
    is_named = balancer in (OWN, AWAITING)
    assert bool(stage.balancers()) is (claimant is not None)
    asked = [(entry.method, entry.path) for entry in stage.sim.sent_to_kubernetes()]
    assert asked == [("GET", ONE if is_named else ALL)]


@pytest.mark.parametrize("balancer", [OWN, VANISHED], ids=["one Service", "all Services"])
def test_a_service_that_cannot_be_read_is_no_word(simulate: Simulate, balancer: CloudBalancer) -> None:
    """A Service without its type may want it."""
    stage, snapshot = a_stage(simulate, balancer), a_world([OTHER_TYPE], [balancer])
    metadata = {"namespace": "default", "name": "web", "uid": "1", "resourceVersion": "1"}
    listed = {
        "kind": "ServiceList",
        "metadata": {},
        "items": [{"metadata": metadata | {"creationTimestamp": ago(60)}, "spec": {}}],
    }
    stage.sim.spoil_kubernetes("status", code=200, body=listed)

    with pytest.raises(Broken, match=r"^the API server's Services could not be read: "):
        carry_out(stage.sim, deletion(balancer, snapshot), snapshot, stage.writers)

    assert stage.balancers()
