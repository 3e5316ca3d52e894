"""What a Service waits for: a guard, a person, Hetzner, or whoever else has to do something first."""

from dataclasses import replace

import pytest

from desired.annotations.claims import ClaimedPort
from desired.explain.service import Wait
from desired.model.load_balancer import Issuance
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER, LABEL_SERVICE_UID
from desired.rules.guards import BALANCER_OF_UNKNOWN, CLUSTER_UNREAD, EXCLUDED_BY_POLICY
from desired.section import Unknown
from tests.balancers import (
    LOCATED,
    SERVICE_UID,
    a_balancer,
    a_certificate,
    a_claim,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import NOW
from tests.support.service_explanations import of_the_service

SHOP = a_claim(annotations=annotated(name="shop"))
STRANGER = a_balancer(service_uid="dead", cluster_uid=None, spec={"name": "shop"})
THEIRS = a_balancer(service_uid=None, cluster_uid="other", spec={"name": "shop"})
MANAGED = annotated(protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com")
SECURE = a_claim(ClaimedPort(443, "TCP", 30443), annotations=MANAGED)
NAME = f"ccm-managed-certificate-{SERVICE_UID}"
PENDING = a_certificate(7, NAME, is_managed=True, labels={LABEL_SERVICE_UID: SERVICE_UID}, issuance=Issuance.PENDING)
ADDRESSES = Wait("status", "the addresses are known once there is a load balancer")
ISSUING = f"Hetzner is still getting certificate 7 {NAME!r} issued, since 12:00 UTC"
STRANGE = BALANCER_OF_UNKNOWN.text(balancer="load balancer 42 shop", uid="dead")


@pytest.mark.parametrize(
    ("snapshot", "settings", "expected"),
    [
        pytest.param(a_world([a_served_service()], [a_balancer()]), LOCATED, [], id="nothing"),
        pytest.param(a_world([a_served_service()], [a_balancer(targets=())]), LOCATED, [], id="nothing-but-a-pass"),
        pytest.param(a_world([a_service()]), LOCATED, [ADDRESSES], id="addresses"),
        pytest.param(
            a_world([a_service()]),
            replace(LOCATED, policy=Policy.OBSERVE),
            [Wait("policy", EXCLUDED_BY_POLICY.text(policy="observe")), ADDRESSES],
            id="a-policy",
        ),
        pytest.param(
            a_world([a_service()], cluster_uid=Unknown("403")),
            LOCATED,
            [Wait("incomplete-snapshot", CLUSTER_UNREAD.text(error="403")), ADDRESSES],
            id="data",
        ),
        pytest.param(
            a_world([a_service(claim=SHOP)], [STRANGER]),
            LOCATED,
            [Wait("adoption", f"needs approval: {STRANGE}")],
            id="a-person",
        ),
        pytest.param(
            a_world(
                [a_service(claim=SHOP)], [a_balancer(cluster_uid="other", service_uid=None, spec={"name": "shop"})]
            ),
            LOCATED,
            [],
            id="what-is-refused-is-not-waited-for",
        ),
        pytest.param(
            a_world([a_served_service(claim=SECURE)], [a_balancer(listeners=())], certificates=[PENDING]),
            LOCATED,
            [Wait("certificate-issuance", ISSUING, 10.0)],
            id="an-issuance",
        ),
        pytest.param(
            a_world([a_service(claim=SECURE)], certificates=[]),
            LOCATED,
            [Wait("certificate", f"the certificate {NAME!r} is still to be created"), ADDRESSES],
            id="a-certificate-that-no-guard-speaks-of",
        ),
        pytest.param(
            a_world([a_service(claim=a_claim(ClaimedPort(80), ClaimedPort(81)))]),
            LOCATED,
            [
                Wait("port 80", "the API server has still to choose its node port"),
                Wait("port 81", "the API server has still to choose its node port"),
                ADDRESSES,
            ],
            id="node-ports",
        ),
        pytest.param(
            a_world([a_served_service(deleted_at=NOW, finalizers=(FINALIZER_BALANCER, "x", "y"))], [a_balancer()]),
            LOCATED,
            [Wait("finalizers", "others have to release the Service as well: x, y")],
            id="others",
        ),
        pytest.param(a_world([a_served_service(deleted_at=NOW)], [a_balancer()]), LOCATED, [], id="nobody-else"),
        pytest.param(
            a_world([a_served_service(type="ClusterIP", finalizers=(FINALIZER_BALANCER, "x"))], [a_balancer()]),
            LOCATED,
            [],
            id="a-service-that-stays",
        ),
        pytest.param(a_world([a_service(type="ClusterIP")]), LOCATED, [], id="not-looked-after"),
    ],
)
def test_waits(snapshot: Snapshot, settings: Settings, expected: list[Wait]) -> None:
    """Each thing that is waited for is told once, with when another look is worth it."""
    assert list(of_the_service(snapshot, settings).pending) == expected
