"""Which certificates the https ports of a Service get: uploaded ones, managed ones, and everything that goes wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.options import Options
from desired.annotations.reading import Requested
from desired.load_balancers.certificates import DesiredCertificates, desired_certificates, uses_certificates
from desired.model.load_balancer import KNOWN_AFTER_APPLY, Certificate, Issuance, ManagedCertificate
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_SERVICE_UID, OWN_CLASS
from desired.rules import load_balancers as rules
from desired.rules.rule import Plain, Reason, Rule
from desired.section import UNMANAGED, Section
from tests.balancers import SERVICE_UID, a_certificate, a_claim, a_service, a_world, annotated
from tests.builders import CLUSTER_UID, NOW
from tests.support.rows import rows

SERVICE = a_service()
NAME = f"ccm-managed-certificate-{SERVICE_UID}"
OURS = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
DOMAIN = ("shop.example.com",)
UPLOADED = Options(protocol=Protocol.HTTPS)
MANAGED = replace(UPLOADED, certificate_type=CertificateType.MANAGED, http_managed_certificate_domains=DOMAIN)
REFUSED = "ca_dns_validation_failed: Certificate Authority: DNS validation failed"
SHOP, BLOG = a_certificate(5, "shop"), a_certificate(7, "blog")
"""Certificates that were uploaded."""
ZONES = "delegate its domains to primary zones of Hetzner DNS"
KEPT = DesiredCertificates(UNMANAGED)
"""The ports keep what they have."""


def naming(*references: int | str) -> Options:
    return replace(UPLOADED, http_certificates=references)


def managed(certificate_id: int = 5, name: str = NAME, **overrides: Any) -> Certificate:
    """A certificate that was issued for the Service."""
    issued: dict[str, Any] = {"is_managed": True, "labels": OURS, "issuance": Issuance.COMPLETED}
    return a_certificate(certificate_id, name, **issued | overrides)


def wish(options: Options, certificates: Iterable[Certificate] | Snapshot) -> DesiredCertificates:
    """What the Service gets in a project with these certificates, or in this world; explanations alone read which of
    them are asked for."""
    world = certificates if isinstance(certificates, Snapshot) else a_world(certificates=certificates)
    return replace(desired_certificates(SERVICE, Requested(options), world), asked=frozenset())


def why(row: Rule, certificate: Certificate | None = None, **facts: Plain) -> Reason:
    named: dict[str, Plain] = {} if certificate is None else {"certificate": certificate.id, "name": certificate.name}
    return row.because(**named, **facts)


def noting(found: DesiredCertificates, *reasons: Reason) -> DesiredCertificates:
    return replace(found, notes=tuple(reason.note(SERVICE.key) for reason in reasons))


def listed(*certificates: Certificate, **overrides: Any) -> Snapshot:
    """A world with these certificates, whose list has besides what ``overrides`` say."""
    section: Section[int, Certificate] = Section({certificate.id: certificate for certificate in certificates})
    return replace(a_world(), certificates=replace(section, **overrides))


LATE, DAMAGED = "page 2 timed out", "certificate 8 could not be read"
GAP: Mapping[str, Any] = {"complete": False, "why_incomplete": LATE}
"""A list that is not whole."""
BROKEN: Mapping[str, Any] = {"unreadable": {9: "certificate 9 could not be read", 8: DAMAGED}}
"""A list with certificates of which not even the name is known."""
NAMED: Mapping[str, Any] = {**BROKEN, "unreadable_names": {9: "b", 8: "a"}}
"""The same, with their names."""


@pytest.mark.parametrize("protocol", [Protocol.TCP, Protocol.HTTP])
@rows("options", {"uploaded": naming("shop"), "missing": naming("gone"), "managed": MANAGED})
def test_only_https_has_certificates(options: Options, protocol: Protocol) -> None:
    assert wish(replace(options, protocol=protocol), [SHOP]) == KEPT


@rows("options ids", {
    "by-id": (naming(5), (5,)),
    "sorted-by-id": (naming("blog", "shop"), (5, 7)),
})  # fmt: skip
def test_uploaded_certificates(options: Options, ids: Any) -> None:
    assert wish(options, [SHOP, BLOG]) == DesiredCertificates(ids)


def missing(wanted: str, near: str = "") -> Reason:
    return why(rules.CERTIFICATE_MISSING, wanted=wanted, near=near)


@rows("options reasons", {
    "name-that-is-nearly-there": (naming("Shop"), [missing("named 'Shop'", ", nearest: shop, shop-2")]),
    "number-that-is-a-name": (naming(2026), [rules.CERTIFICATE_BY_ID.because(wanted=2026, certificate=11)]),
    "two-of-three": (naming("mail", "shop", 6), [missing("named 'mail'"), missing("with id 6")]),
})  # fmt: skip
def test_missing_certificates(options: Options, reasons: list[Reason]) -> None:
    project = [SHOP, BLOG, a_certificate(11, "2026"), a_certificate(12, "shop-2")]
    assert wish(options, project) == noting(KEPT, *reasons)


@rows("reference world cause", {
    "id-and-a-gap": (7, listed(SHOP, **GAP), LATE),
    "name-of-an-unreadable-one": ("b", listed(SHOP, **NAMED), "certificate 9 could not be read"),
})  # fmt: skip
def test_certificates_in_doubt(reference: int | str, world: Snapshot, cause: str) -> None:
    unknown = why(rules.CERTIFICATE_UNKNOWN, wanted=repr(reference), cause=cause)
    assert wish(naming(reference), world) == noting(KEPT, unknown)


def issuing(certificate: Certificate, since: str = "2026-07-01 12:00 UTC") -> Reason:
    return why(rules.CERTIFICATE_BEING_ISSUED, certificate, since=since)


def failure(row: Rule, certificate: Certificate, cause: str = REFUSED, fix: str = ZONES) -> Reason:
    return why(row, certificate, cause=cause, fix=fix)


def test_managed_certificates_by_name() -> None:
    """Whoever had it issued, one that is issued is used as any other, one that is not is waited for, and of one that
    failed nothing is due by itself: nobody would ask for another one."""
    issued, pending = managed(7, "blog", labels={}), managed(5, "shop", labels={}, issuance=Issuance.PENDING)
    failed = replace(managed(5, "shop", labels={}, error=REFUSED), issuance=Issuance.FAILED)
    reason = failure(rules.NAMED_CERTIFICATE_NOT_ISSUED, failed)
    waiting = DesiredCertificates(KNOWN_AFTER_APPLY, pending=(issuing(pending),), due_in_s=10)
    assert wish(naming("blog"), [issued]) == DesiredCertificates((7,))
    assert wish(naming("blog", 5), [issued, pending]) == waiting
    assert wish(naming(5), [failed]) == noting(replace(waiting, pending=(reason,), due_in_s=None), reason)


def test_several_that_are_waited_for() -> None:
    """All are named; the earliest is due, unless one of them needs a person first."""
    old = managed(5, "old", issuance=Issuance.PENDING, created_at=NOW - timedelta(minutes=10))
    new = managed(6, "new", issuance=Issuance.PENDING, created_at=NOW - timedelta(minutes=2))
    found = wish(naming(5, 6), [old, new])
    assert found.pending == (issuing(old, "2026-07-01 11:50 UTC"), issuing(new, "2026-07-01 11:58 UTC"))
    assert found.due_in_s == 30
    failed = managed(7, "failed", issuance=Issuance.FAILED)
    assert wish(naming(5, 6, 7), [old, new, failed]).due_in_s is None


@rows("options domains staging", {
    "sorted-domains": ({"http_managed_certificate_domains": ("b.de", "*.a.de")}, ("*.a.de", "b.de"), {}),
    "staging": ({"http_managed_certificate_acme_staging": True}, DOMAIN, {"HC-Use-Staging-CA": "true"}),
})  # fmt: skip
def test_the_certificate_to_ask_for(options: Any, domains: tuple[str, ...], staging: Any) -> None:
    """With HCCM's label in each class: it is found again when its Service changes its class, and issued once."""
    create = ManagedCertificate(NAME, domains, {**OURS, **staging})
    pending = (why(rules.CERTIFICATE_TO_CREATE, name=NAME),)
    strangers = [SHOP, managed(8, "another", labels={LABEL_SERVICE_UID: "another"})]
    expected = DesiredCertificates(KNOWN_AFTER_APPLY, create=create, pending=pending)
    for serving in (Serving(), Serving(OWN_CLASS)):
        assert wish(replace(MANAGED, **options), a_world(certificates=strangers, serving=serving)) == expected


@rows("world cause", {
    "gap": (listed(SHOP, **GAP), LATE),
    "not-quite-it-and-unreadable": (listed(managed(name="another"), **BROKEN), DAMAGED),
})  # fmt: skip
def test_a_managed_certificate_in_doubt(world: Snapshot, cause: str) -> None:
    """The label may be on what was not read, so nothing is created and nothing changes."""
    assert wish(MANAGED, world) == noting(KEPT, why(rules.CERTIFICATE_LOOK_UP, cause=cause))


@rows("found", {
    "without-the-clusters-label": managed(labels={LABEL_SERVICE_UID: SERVICE_UID}),
    "domains-in-another-spelling": managed(domains=("SHOP.example.com.",)),
})  # fmt: skip
@rows("others", {"alone": {}, "with-a-gap": GAP, "beside-unreadable-ones": BROKEN})
def test_the_managed_certificate_that_is_there(found: Certificate, others: Mapping[str, Any]) -> None:
    """By its label; a name is there once only, so no other can be meant. Domains that cannot be read are no
    difference."""
    assert wish(MANAGED, listed(found, BLOG, **others)) == DesiredCertificates((5,))
    unread = replace(MANAGED, http_managed_certificate_domains=UNMANAGED)
    assert wish(unread, listed(found, BLOG, **others)) == DesiredCertificates((5,))


@rows("age_s since due_in_s", {
    "soonest": (40, "2026-07-01 11:59 UTC", 10),
    "not-later": (7200, "2026-07-01 10:00 UTC", 300),
    "since-yesterday": (13 * 3600, "2026-06-30 23:00 UTC", 300),
})  # fmt: skip
@pytest.mark.parametrize("issuance", [Issuance.PENDING, Issuance.OTHER, None])
def test_waiting_for_the_issuance(issuance: Issuance | None, age_s: int, since: str, due_in_s: float) -> None:
    """Never inside a pass; looked at again after a quarter of the time it has taken."""
    certificate = managed(issuance=issuance, created_at=NOW - timedelta(seconds=age_s))
    pending = (issuing(certificate, since),)
    assert wish(MANAGED, [certificate]) == DesiredCertificates(KNOWN_AFTER_APPLY, pending=pending, due_in_s=due_in_s)


@rows("error fix", {
    "dns": (REFUSED, ZONES),
    "no-reason": (None, ZONES),
    "caa": ("caa_record_does_not_allow_ca: no", "allow the certificate authority in the CAA records of its domains"),
    "failed-too-often": ("ca_too_many_authorizations_failed_recently: no",
        "wait for an hour and correct the failed validations"),
    "too-many": ("ca_too_many_certificates_issued_for_registered_domain: no",
        "wait until the authority's weekly limit has passed"),
})  # fmt: skip
def test_a_failed_issuance(error: str | None, fix: str) -> None:
    """Shown with the authority's reason and what to do, and never asked for again by itself; one that could not be
    renewed is used as long as it lasts."""
    failed = managed(issuance=Issuance.FAILED, error=error)
    reason = failure(rules.CERTIFICATE_NOT_ISSUED, failed, error or "no reason was given", fix)
    assert wish(MANAGED, [failed]) == noting(DesiredCertificates(KNOWN_AFTER_APPLY, pending=(reason,)), reason)
    renewal = [replace(reason, rule=rules.CERTIFICATE_NOT_RENEWED)] if error else []
    assert wish(MANAGED, [managed(error=error)]) == noting(DesiredCertificates((5,)), *renewal)


P = "load-balancer.hetzner.cloud/http-managed-certificate-"
OTHER_NAME = f"its name is not {NAME!r} ({P}name)"
OTHER_DOMAINS = f"its domains are a.de, b.de, and {P}domains is shop.example.com, www.de"
ANOTHER = f"choose another name in {P}name, and "


@rows("certificate differences free", {
    "domains": (managed(domains=("b.de", "a.de")), OTHER_DOMAINS, ANOTHER),
    "both": (managed(name="old", domains=("a.de", "b.de")), f"{OTHER_NAME} and {OTHER_DOMAINS}", ""),
})  # fmt: skip
def test_another_certificate_than_asked_for(certificate: Certificate, differences: str, free: str) -> None:
    asked = replace(MANAGED, http_managed_certificate_domains=("www.de", *DOMAIN))
    reason = why(rules.CERTIFICATE_DIFFERS, certificate, differences=differences, free=free)
    assert wish(asked, [certificate]) == noting(DesiredCertificates((5,)), reason)
    found = wish(replace(MANAGED, http_managed_certificate_name="new"), [replace(certificate, labels={})])
    assert found.create == ManagedCertificate("new", DOMAIN, OURS)


def test_several_with_the_label() -> None:
    """After a new name HCCM leaves two with the label; the one that is asked for is clear, and where none is, a person
    has to choose."""
    old = managed(4, "old")
    assert wish(MANAGED, [old, managed(5)]) == DesiredCertificates((5,))
    assert wish(MANAGED, listed(old, managed(5), **GAP)) == DesiredCertificates((5,))
    several = [old, managed(5, domains=("a.example.com",)), managed(6, "older")]
    assert wish(MANAGED, several) == noting(KEPT, why(rules.CERTIFICATES_SEVERAL, certificates="4, 5, 6"))


@rows("taken", {
    "without-a-label": managed(labels={}),
    "of-another-service": managed(labels={LABEL_SERVICE_UID: "another"}),
})  # fmt: skip
def test_a_name_that_is_taken(taken: Certificate) -> None:
    """As when a Service with a chosen name was created anew."""
    assert wish(MANAGED, [taken]) == noting(KEPT, why(rules.CERTIFICATE_NAME_TAKEN, taken))


FOREIGN = managed(4, "old", labels={**OURS, LABEL_CLUSTER_UID: "theirs"})
WRONG_TYPE = a_certificate(4, "old", labels=OURS)


@rows("odd reason", {
    "of-another-cluster": (FOREIGN, why(rules.CERTIFICATE_OF_CLUSTER, FOREIGN, cluster="theirs")),
    "uploaded": (WRONG_TYPE, why(rules.CERTIFICATE_UPLOADED, WRONG_TYPE)),
})  # fmt: skip
def test_labels_that_mean_nothing(odd: Certificate, reason: Reason) -> None:
    """Such a certificate is neither used nor in the way but by its name; a word is said of it."""
    note = reason.note(SERVICE.key)
    assert wish(MANAGED, [odd, managed()]) == noting(DesiredCertificates((5,)), reason)
    created, taken = wish(MANAGED, [odd]), wish(MANAGED, [replace(odd, name=NAME)])
    assert (created.create is not None, created.notes) == (True, (note,))
    assert (taken.create, len(taken.notes)) == (None, 2)
    assert wish(MANAGED, listed(odd, **GAP)).notes[0] == note
    several = wish(MANAGED, [odd, managed(5, "a"), managed(6, "b")])
    assert (several.ids, several.notes[0], len(several.notes)) == (UNMANAGED, note, 2)


@rows("options uses", {
    "https": ({"protocol": "HTTPS"}, True),
    "tcp and a certificate": ({"protocol": "tcp", "http_certificates": "1"}, False),
    "unreadable": ({"protocol": "gopher", "http_certificates": "1"}, True),
    "managed at a port that may speak https": ({"certificate_type": "managed"}, True),
})  # fmt: skip
def test_users_of_certificates(options: dict[str, str], uses: bool) -> None:
    service = a_service(claim=a_claim(annotations=annotated(**options)))
    assert uses_certificates(service, Serving(), Options()) is uses
    going = replace(service, finalizers=(FINALIZER_BALANCER,), deleted_at=NOW)
    assert not uses_certificates(going, Serving(), Options())
