"""The certificates of a Service's https ports: those in use, those asked for, and the one that is to come."""

from collections.abc import Mapping
from dataclasses import dataclass

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.options import Options
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.load_balancer import Certificate, CloudBalancer
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import LABEL_SERVICE_UID


@dataclass(frozen=True, slots=True)
class CertificateFact:
    """One certificate."""

    id: int | None
    """None for one that is to be created."""
    name: str | None
    """None for one that the project does not seem to have."""
    domains: tuple[str, ...]
    state: str
    """``uploaded``, how far the issuance of a managed one is, ``to be created`` or ``not read``."""
    ports: tuple[int, ...]
    """The listeners that use it now."""
    is_asked_for: bool
    error: str | None = None
    """Why it was not issued or renewed; None when nothing went wrong."""


def explain_certificates(
    wish: DesiredLoadBalancer | LoadBalancerRelease | None, balancer: CloudBalancer | None, snapshot: Snapshot
) -> tuple[CertificateFact, ...]:
    """What is known of every certificate that has to do with the Service, by id, and the one to create at last."""
    used = _used(balancer)
    known: Mapping[int, Certificate] = snapshot.certificates.items if snapshot.certificates else {}
    asked: set[int] = set()
    if isinstance(wish, DesiredLoadBalancer):
        asked = {found.id for found in known.values() if _is_asked_for(found, wish.service, wish.options)}
    facts = tuple(
        _fact(number, known.get(number), used.get(number, ()), asked=number in asked)
        for number in sorted(asked | used.keys())
    )
    create = wish.certificates.create if isinstance(wish, DesiredLoadBalancer) else None
    if create is None:
        return facts
    return (*facts, CertificateFact(None, create.name, create.domains, "to be created", (), is_asked_for=True))


def _used(balancer: CloudBalancer | None) -> Mapping[int, tuple[int, ...]]:
    """Id of a certificate → the ports that use it."""
    used: dict[int, tuple[int, ...]] = {}
    for port, listener in sorted(balancer.spec.listeners.items()) if balancer else ():
        certificates = listener.http.certificates if listener.http else ()
        for number in certificates if isinstance(certificates, tuple) else ():
            used[number] = (*used.get(number, ()), port)
    return used


def _is_asked_for(certificate: Certificate, service: Service, options: Options) -> bool:
    if options.protocol is not Protocol.HTTPS:
        return False
    if options.certificate_type is CertificateType.MANAGED:
        return certificate.labels.get(LABEL_SERVICE_UID) == service.uid
    references = options.http_certificates
    return isinstance(references, tuple) and (certificate.id in references or certificate.name in references)


def _fact(number: int, found: Certificate | None, ports: tuple[int, ...], *, asked: bool) -> CertificateFact:
    if found is None:
        return CertificateFact(number, None, (), "not read", ports, asked)
    state = "uploaded" if found.issuance is None else f"managed, {found.issuance.value}"
    return CertificateFact(number, found.name, found.domains, state, ports, asked, found.error)
