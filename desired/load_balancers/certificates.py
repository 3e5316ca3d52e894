"""Certificates of a Service's https ports: uploaded ones that it refers to, or a managed one that is created for it.

A managed certificate is requested once, never waited for, and never replaced or requested again: certificate
authorities allow a few a week. For everything else a note names the remedy.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.options import OPTIONS, Options
from desired.annotations.reading import Requested
from desired.load_balancers.ownership import Ownership, ownership
from desired.model.clocks import shown_moment
from desired.model.load_balancer import KNOWN_AFTER_APPLY, Certificate, Issuance, KnownAfterApply, ManagedCertificate
from desired.model.service import Service
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID, LABEL_STAGING_CA
from desired.plan.notes import Note
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason, Rule
from desired.section import UNMANAGED, Absent, Present, Section, Unknown, Unmanaged

_NAME = OPTIONS["http_managed_certificate_name"].full_key
_SOONEST_S = 10.0
_LATEST_S = 300.0
_AGES = 4
"""An issuance is looked at again after a quarter of the time that it has taken, within these bounds."""
_FIXES = {
    "caa_record_does_not_allow_ca": "allow the certificate authority in the CAA records of its domains",
    "ca_too_many_authorizations_failed_recently": "wait for an hour and correct the failed validations",
    "ca_too_many_certificates_issued_for_registered_domain": "wait until the authority's weekly limit has passed",
    "ca_too_many_duplicate_certificates": "wait until the authority's weekly limit has passed",
}
"""Error code of a failed issuance (Hetzner Cloud API, certificates) → the remedy."""
_FIX = "delegate its domains to primary zones of Hetzner DNS"


@dataclass(frozen=True, slots=True)
class DesiredCertificates:
    """The desired certificates of one Service's https ports."""

    ids: tuple[int, ...] | Unmanaged | KnownAfterApply
    """Sorted. UNMANAGED: the ports keep theirs, as none are asked for, or those that are asked for cannot be had.
    KNOWN_AFTER_APPLY: only a later reading has the certificate, or its issuance."""
    create: ManagedCertificate | None = None
    """None if none has to be requested, or may be."""
    pending: tuple[Reason, ...] = ()
    """A row for each certificate that is waited for."""
    due_in_s: float | None = None
    """Seconds until another look is worth it; None if no time is known."""
    notes: tuple[Note, ...] = ()
    asked: frozenset[int] = frozenset()
    """Ids of the certificates that are asked for and exist, whether or not they can be used."""
    ports: Mapping[int, "DesiredCertificates"] = field(default_factory=dict)
    """Port → its certificates, of those that have annotations of their own. All but ``ids`` is of all ports together.
    """

    def of_port(self, port: int) -> "DesiredCertificates":
        """Those of this port."""
        return self.ports.get(port, self)

    @property
    def needed(self) -> int:
        """How many the load balancer is to have at once, as far as that is known."""
        every = [found.ids for found in (self, *self.ports.values()) if isinstance(found.ids, tuple)]
        return len({number for ids in every for number in ids})


def uses_certificates(service: Service, serving: Serving, defaults: Options) -> bool:
    """Whether the Service's load balancer needs certificates: one of its ports speaks HTTPS, or may keep that protocol
    and asks for certificates."""
    ways = service.claim.requested(defaults).ways if serving.wants(service) else ()
    asking = ("http_certificates", "certificate_type")
    return any(
        way.options.protocol is Protocol.HTTPS or (not way.decides("protocol") and any(map(way.decides, asking)))
        for way in ways
    )


def desired_certificates(service: Service, requested: Requested, snapshot: Snapshot) -> DesiredCertificates:
    """The certificates of the Service's https ports, with notes on them. A Service has one managed certificate: all its
    ports that ask for one share it. After a partial reading the ports keep theirs, and none is created."""
    if not requested.ports:
        return _of_port(service, requested.options, snapshot)
    ports = {port: _of_port(service, asked.options, snapshot) for port, asked in requested.ports.items()}
    others = _of_port(service, requested.options, snapshot) if requested.has_plain_ports else _kept()
    every = (others, *ports.values())
    return DesiredCertificates(
        others.ids,
        create=next((found.create for found in every if found.create), None),
        pending=tuple({reason.text: reason for found in every for reason in found.pending}.values()),
        due_in_s=min((found.due_in_s for found in every if found.due_in_s is not None), default=None),
        notes=tuple(dict.fromkeys(note for found in every for note in found.notes)),
        asked=frozenset().union(*(found.asked for found in every)),
        ports=ports,
    )


def _of_port(service: Service, options: Options, snapshot: Snapshot) -> DesiredCertificates:
    """The certificates of a port with these options."""
    if options.protocol is not Protocol.HTTPS:
        return _kept()
    section = snapshot.certificates
    if section is None:
        section = Section.missing("the certificates were not read")
    if options.certificate_type is CertificateType.MANAGED:
        labeled = [found for found in section if found.labels.get(LABEL_SERVICE_UID) == service.uid]
        decided = _managed(service, options, snapshot, section, labeled)
        return replace(decided, asked=frozenset(found.id for found in labeled))
    if options.http_certificates is UNMANAGED:
        return _kept()
    return _referred(service, options.http_certificates, section, snapshot.taken_at)


def _kept(*notes: Note) -> DesiredCertificates:
    """The port keeps its certificates."""
    return DesiredCertificates(UNMANAGED, notes=notes)


def _referred(
    service: Service, references: tuple[int | str, ...], section: Section[int, Certificate], now: datetime
) -> DesiredCertificates:
    """Certificates that others look after. If one is missing all stay as they are: the list is one value."""
    found: dict[int, Certificate] = {}
    missing: list[Note] = []
    for reference in references:
        match _look_up(reference, section):
            case Present(certificate):
                found[certificate.id] = certificate
            case Absent():
                missing.append(_missing(reference, section).note(service.key))
            case unknown:
                missing.append(rows.CERTIFICATE_UNKNOWN.note(service.key, wanted=repr(reference), cause=unknown.why))
    used = _in_use(service, found.values(), now, rows.NAMED_CERTIFICATE_NOT_ISSUED)
    return replace(_kept(*missing, *used.notes) if missing else used, asked=frozenset(found))


def _look_up(reference: int | str, section: Section[int, Certificate]) -> Present[Certificate] | Absent | Unknown:
    """The certificate with this id, or with exactly this name: a project has no name twice."""
    if isinstance(reference, int):
        return section.find(reference)
    for certificate in section:
        if certificate.name == reference:
            return Present(certificate)
    for certificate_id, why in sorted(section.unreadable.items()):
        if section.unreadable_names.get(certificate_id, reference) == reference:
            return Unknown(why)
    return Absent() if section.why_incomplete is None else Unknown(section.why_incomplete)


def _missing(reference: int | str, section: Section[int, Certificate]) -> Reason:
    """A reference that leads nowhere, with the nearest names."""
    namesake = next((certificate for certificate in section if certificate.name == str(reference)), None)
    if namesake is not None:
        return rows.CERTIFICATE_BY_ID.because(wanted=reference, certificate=namesake.id)
    near = get_close_matches(str(reference), [certificate.name for certificate in section], n=3, cutoff=0.6)
    nearest = f", nearest: {', '.join(near)}" if near else ""
    what = f"with id {reference}" if isinstance(reference, int) else f"named {reference!r}"
    return rows.CERTIFICATE_MISSING.because(wanted=what, near=nearest)


def _in_use(service: Service, found: Collection[Certificate], now: datetime, failed: Rule) -> DesiredCertificates:
    """Certificates that are there: their ids, once all of them are issued. ``failed`` is the row on one that was not,
    with the way to ask for it once more."""
    troubles = {each.id: why for each in found if (why := _trouble(each, failed))}
    notes = tuple(why.note(service.key) for why in troubles.values())
    waits = [each for each in found if each.is_managed and each.issuance is not Issuance.COMPLETED]
    if not waits:
        return DesiredCertificates(tuple(sorted(each.id for each in found)), notes=notes)
    has_failed = any(each.issuance is Issuance.FAILED for each in waits)
    age_s = min((now - each.created_at).total_seconds() for each in waits)
    return DesiredCertificates(
        KNOWN_AFTER_APPLY,
        pending=tuple(
            troubles.get(each.id)
            or rows.CERTIFICATE_BEING_ISSUED.because(**_facts(each), since=shown_moment(each.created_at))
            for each in waits
        ),
        due_in_s=None if has_failed else min(max(age_s / _AGES, _SOONEST_S), _LATEST_S),
        notes=notes,
    )


def _trouble(certificate: Certificate, failed: Rule) -> Reason | None:
    """The problem of a managed certificate; None without one. An uploaded certificate has no issuance."""
    has_failed, error = certificate.issuance is Issuance.FAILED, certificate.error
    if not has_failed and (error is None or certificate.issuance is not Issuance.COMPLETED):
        return None
    row = failed if has_failed else rows.CERTIFICATE_NOT_RENEWED
    code, cause = (error.code, str(error)) if error else ("", "no reason was given")
    return row.because(**_facts(certificate), cause=cause, fix=_FIXES.get(code, _FIX))


def _managed(
    service: Service,
    options: Options,
    snapshot: Snapshot,
    section: Section[int, Certificate],
    labeled: Collection[Certificate],
) -> DesiredCertificates:
    """The certificate of those that are ``labeled`` as the Service's; else the one to request.

    Of several, the one exactly as asked for is taken: so a person can have another one issued beside the one in use. A
    name is there once only, so this needs no complete list; everything else does.
    """
    asked, domains = options.http_managed_certificate_name, options.http_managed_certificate_domains
    name = f"ccm-managed-certificate-{service.uid}" if asked is UNMANAGED else asked  # HCCM's name
    odd = {each.id: why for each in labeled if (why := _why_not_its_own(each, snapshot))}
    notes = [why.note(service.key) for why in odd.values()]
    ours = [each for each in labeled if each.id not in odd]
    exact = [each for each in ours if not _differences(each, name, domains)]
    gap = min(section.unreadable.items())[1] if section.unreadable else section.why_incomplete
    if len(exact) != 1 and gap is not None:
        decided = _kept(rows.CERTIFICATE_LOOK_UP.note(service.key, cause=gap))
    elif len(exact) != 1 and len(ours) > 1:
        ids = ", ".join(str(each.id) for each in ours)
        decided = _kept(rows.CERTIFICATES_SEVERAL.note(service.key, certificates=ids))
    elif not ours:
        decided = _to_create(service, name, options, snapshot, section)
    else:
        (chosen,) = exact or ours
        if differences := _differences(chosen, name, domains):
            # What has no label is not the Service's, and a port keeps its certificate while the next one is issued.
            free = f"choose another name in {_NAME}, and " if chosen.name == name else ""
            facts = {**_facts(chosen), "differences": " and ".join(differences), "free": free}
            notes.append(rows.CERTIFICATE_DIFFERS.note(service.key, **facts))
        decided = _in_use(service, (chosen,), snapshot.taken_at, rows.CERTIFICATE_NOT_ISSUED)
    return replace(decided, notes=(*notes, *decided.notes))


def _why_not_its_own(certificate: Certificate, snapshot: Snapshot) -> Reason | None:
    """The reason why a certificate with the Service's label is not the Service's managed certificate; None if it is."""
    cluster_uid = certificate.labels.get(LABEL_CLUSTER_UID)
    if ownership(cluster_uid, snapshot) is Ownership.OTHER_CLUSTER:
        return rows.CERTIFICATE_OF_CLUSTER.because(**_facts(certificate), cluster=cluster_uid or "")
    return None if certificate.is_managed else rows.CERTIFICATE_UPLOADED.because(**_facts(certificate))


def _differences(certificate: Certificate, name: str, domains: tuple[str, ...] | Unmanaged) -> tuple[str, ...]:
    """The differences from the certificate that is asked for, in words. Annotations never change an existing one."""
    found = []
    if certificate.name != name:
        found.append(rows.CERTIFICATE_OTHER_NAME.text(name=name))
    if domains is not UNMANAGED and _comparable(certificate.domains) != _comparable(domains):
        has, asked = ", ".join(sorted(certificate.domains)), ", ".join(sorted(domains))
        found.append(rows.CERTIFICATE_OTHER_DOMAINS.text(present=has, wanted=asked))
    return tuple(found)


def _comparable(domains: tuple[str, ...]) -> frozenset[str]:
    return frozenset(domain.lower().removesuffix(".") for domain in domains)


def _to_create(
    service: Service, name: str, options: Options, snapshot: Snapshot, section: Section[int, Certificate]
) -> DesiredCertificates:
    """The certificate to create, unless its name is taken."""
    domains = options.http_managed_certificate_domains
    if domains is UNMANAGED:
        return _kept()  # the annotations' own problem
    for taken in section:
        if taken.name == name:
            return _kept(rows.CERTIFICATE_NAME_TAKEN.note(service.key, **_facts(taken)))
    # HCCM's labels in each class: HCCM deletes none, and a certificate that the next class finds is issued once.
    labels = {LABEL_SERVICE_UID: service.uid}
    if isinstance(snapshot.cluster_uid, Present):
        labels[LABEL_CLUSTER_UID] = snapshot.cluster_uid.value
    if options.http_managed_certificate_acme_staging:
        labels[LABEL_STAGING_CA] = "true"
    return DesiredCertificates(
        KNOWN_AFTER_APPLY,
        create=ManagedCertificate(name, tuple(sorted(domains)), labels),
        pending=(rows.CERTIFICATE_TO_CREATE.because(name=name),),
    )


def _facts(certificate: Certificate) -> Mapping[str, int | str]:
    return {"certificate": certificate.id, "name": certificate.name}
