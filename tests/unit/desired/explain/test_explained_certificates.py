"""The certificates of a Service's https ports: those in use, those asked for, and the one that is to come."""

from collections.abc import Iterable

import pytest

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.explain.parts import CertificateFact
from desired.model.load_balancer import Certificate, HttpOptions, Issuance, Listener
from desired.model.service import Service
from desired.names import LABEL_SERVICE_UID
from tests.balancers import (
    SERVICE_UID,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_served_service,
    a_world,
    annotated,
)
from tests.builders import NOW
from tests.support.service_explanations import of_the_service

DOMAINS = ("shop.example.com",)
MANAGED = annotated(protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com")
DEFAULT_NAME = f"ccm-managed-certificate-{SERVICE_UID}"


def asking(**asked: str) -> Service:
    """A Service with one https port and these annotations."""
    return a_served_service(
        claim=a_claim(ClaimedPort(443, "TCP", 30443), annotations=annotated(protocol="https", **asked))
    )


def using(*ids: int, port: int = 443) -> Listener:
    """An https port with these certificates."""
    return a_listener(port, 30443, protocol=Protocol.HTTPS, http=HttpOptions(certificates=ids))


def its_own(issuance: Issuance, error: str | None = None) -> Certificate:
    """The Service's managed certificate."""
    return a_certificate(
        7, DEFAULT_NAME, is_managed=True, labels={LABEL_SERVICE_UID: SERVICE_UID}, issuance=issuance, error=error
    )


def certificates(
    service: Service, listeners: Iterable[Listener], project: Iterable[Certificate]
) -> tuple[CertificateFact, ...]:
    """What is said of them."""
    return of_the_service(a_world([service], [a_balancer(listeners=listeners)], certificates=project)).certificates


@pytest.mark.parametrize(
    ("service", "listeners", "project", "expected"),
    [
        pytest.param(
            asking(http_certificates="shop"),
            [using(5)],
            [a_certificate(), a_certificate(6, "other")],
            [CertificateFact(5, "shop", DOMAINS, "uploaded", (443,), asked_for=True)],
            id="asked-for-by-name-and-used",
        ),
        pytest.param(
            asking(http_certificates="6"),
            [using(5), using(5, 6, port=444)],
            [a_certificate(), a_certificate(6, "other")],
            [
                CertificateFact(5, "shop", DOMAINS, "uploaded", (443, 444), asked_for=False),
                CertificateFact(6, "other", DOMAINS, "uploaded", (444,), asked_for=True),
            ],
            id="asked-for-by-id-beside-another",
        ),
        pytest.param(
            asking(),
            [using(5)],
            [a_certificate()],
            [CertificateFact(5, "shop", DOMAINS, "uploaded", (443,), asked_for=False)],
            id="none-asked-for",
        ),
        pytest.param(
            asking(http_certificates="shop"),
            [using(8)],
            [],
            [CertificateFact(8, None, (), "not read", (443,), asked_for=False)],
            id="used-and-not-known",
        ),
        pytest.param(
            asking(certificate_type="managed", http_managed_certificate_domains="shop.example.com"),
            [],
            [its_own(Issuance.PENDING)],
            [CertificateFact(7, DEFAULT_NAME, DOMAINS, "managed, pending", (), asked_for=True)],
            id="being-issued",
        ),
        pytest.param(
            asking(certificate_type="managed", http_managed_certificate_domains="shop.example.com"),
            [],
            [its_own(Issuance.FAILED, "no CAA")],
            [CertificateFact(7, DEFAULT_NAME, DOMAINS, "managed, failed", (), asked_for=True, error="no CAA")],
            id="failed",
        ),
        pytest.param(
            asking(certificate_type="managed", http_managed_certificate_domains="shop.example.com"),
            [using(5)],
            [a_certificate()],
            [
                CertificateFact(5, "shop", DOMAINS, "uploaded", (443,), asked_for=False),
                CertificateFact(None, DEFAULT_NAME, DOMAINS, "to be created", (), asked_for=True),
            ],
            id="to-be-created",
        ),
        pytest.param(
            a_served_service(claim=a_claim(annotations=annotated(http_certificates="shop"))),
            [a_listener()],
            [a_certificate()],
            [],
            id="no-https",
        ),
        pytest.param(
            a_served_service(deleted_at=NOW, claim=a_claim(annotations=MANAGED)),
            [using(7)],
            [its_own(Issuance.COMPLETED)],
            [CertificateFact(7, DEFAULT_NAME, DOMAINS, "managed, completed", (443,), asked_for=False)],
            id="of-a-service-that-is-going",
        ),
    ],
)
def test_certificates(
    service: Service, listeners: list[Listener], project: list[Certificate], expected: list[CertificateFact]
) -> None:
    """Each certificate that has to do with the Service is told, by id, with what uses it."""
    assert list(certificates(service, listeners, project)) == expected


def test_no_certificate_comes_where_none_is_planned() -> None:
    """Where another annotation cannot be read none is requested, nor waited for: one that is to come was told."""
    service = asking(
        certificate_type="managed", http_managed_certificate_domains="shop.example.com", algorithm_type="fastest"
    )
    found = of_the_service(a_world([service], [a_balancer(listeners=[using(5)])], certificates=[a_certificate()]))

    assert [fact.id for fact in found.certificates] == [5]
    assert found.pending == ()


def test_certificates_that_were_not_read() -> None:
    """Without a list what is used is told all the same."""
    (fact,) = of_the_service(a_world([asking()], [a_balancer(listeners=[using(5)])])).certificates

    assert (fact.id, fact.state, fact.ports) == (5, "not read", (443,))
