"""Which certificates the https ports of a Service get: uploaded ones, managed ones, and everything that goes wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.options import Options
from desired.load_balancers.certificates import DesiredCertificates, desired_certificates
from desired.model.load_balancer import KNOWN_AFTER_APPLY, Certificate, Issuance, ManagedCertificate
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.notes import Note, NoteKind
from desired.section import UNMANAGED, Section, Unknown
from tests.balancers import SERVICE_UID, a_certificate, a_service, a_world
from tests.builders import CLUSTER_UID, NOW
from tests.support.keys import key_of

P = "load-balancer.hetzner.cloud/"
SERVICE = a_service()
DEFAULT_NAME = f"ccm-managed-certificate-{SERVICE_UID}"
OURS = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
UPLOADED = Options(protocol=Protocol.HTTPS)
MANAGED = Options(
    protocol=Protocol.HTTPS,
    certificate_type=CertificateType.MANAGED,
    http_managed_certificate_domains=("shop.example.com",),
)
REFUSED = "ca_dns_validation_failed: Certificate Authority: DNS validation failed"
SHOP, BLOG = a_certificate(5, "shop"), a_certificate(7, "blog")
"""Certificates that were uploaded."""
STRICT = "as it is never asked for again by itself: the limits of certificate authorities are strict"
ZONES = "its domains have to be in primary zones of Hetzner DNS, and delegated to them"
RETRY = "retry it in Hetzner's console"
RETRY_OR_DELETE = f"{RETRY}, or delete it there, so that a new one is asked for"


def referring_to(*references: int | str) -> Options:
    """The options of a Service that names these certificates."""
    return replace(UPLOADED, http_certificates=references)


def managed(certificate_id: int = 5, name: str = DEFAULT_NAME, **overrides: Any) -> Certificate:
    """A certificate that was issued for the Service."""
    issued: dict[str, Any] = {"is_managed": True, "labels": OURS, "issuance": Issuance.COMPLETED}
    return a_certificate(certificate_id, name, **issued | overrides)


def wish(options: Options, certificates: Iterable[Certificate] | Snapshot) -> DesiredCertificates:
    """What the Service gets in a project with these certificates, or in this world; explanations alone read which of
    them are asked for."""
    world = certificates if isinstance(certificates, Snapshot) else a_world(certificates=certificates)
    found = desired_certificates(SERVICE, options, world)
    return replace(found, asked=frozenset(), pending="; ".join(w.says for w in found.pending) or ())


def kept(*notes: tuple[NoteKind, str]) -> DesiredCertificates:
    """The ports keep what they have, and this is said."""
    return DesiredCertificates(
        UNMANAGED, notes=tuple(Note(key_of("service/default/web"), kind, text) for kind, text in notes)
    )


def noted(found: DesiredCertificates) -> list[str]:
    """The texts of its notes on certificates."""
    assert all((note.key, note.kind) == ("service/default/web", NoteKind.CERTIFICATE) for note in found.notes)
    return [note.text for note in found.notes]


def listed(*certificates: Certificate, **overrides: Any) -> Snapshot:
    """A world with these certificates, whose list has besides what ``overrides`` say."""
    section: Section[int, Certificate] = Section({certificate.id: certificate for certificate in certificates})
    return replace(a_world(), certificates=replace(section, **overrides))


GAP: Mapping[str, Any] = {"complete": False, "why_incomplete": "page 2 timed out"}
"""A list that is not whole."""
BROKEN: Mapping[str, Any] = {"unreadable": {9: "certificate 9 could not be read", 8: "certificate 8 could not be read"}}
"""A list with certificates of which not even the name is known."""
OTHERS_BROKEN: Mapping[str, Any] = {**BROKEN, "unreadable_names": {9: "b", 8: "a"}}
"""The same, with their names."""


@pytest.mark.parametrize("protocol", [Protocol.TCP, Protocol.HTTP])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(referring_to("shop"), id="uploaded"),
        pytest.param(referring_to("gone"), id="missing"),
        pytest.param(MANAGED, id="managed"),
    ],
)
def test_only_https_has_certificates(options: Options, protocol: Protocol) -> None:
    """With another protocol nothing is looked up, created or said."""
    assert wish(replace(options, protocol=protocol), [SHOP]) == DesiredCertificates(UNMANAGED)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(UPLOADED, kept(), id="none-named"),
        pytest.param(referring_to(5), DesiredCertificates((5,)), id="by-id"),
        pytest.param(referring_to("shop"), DesiredCertificates((5,)), id="by-name"),
        pytest.param(referring_to("blog", "shop"), DesiredCertificates((5, 7)), id="sorted-by-id"),
        pytest.param(referring_to(5, "shop"), DesiredCertificates((5,)), id="one-twice"),
    ],
)
def test_uploaded_certificates(options: Options, expected: DesiredCertificates) -> None:
    """Section 9: ids and exact names, each certificate once."""
    assert wish(options, [SHOP, BLOG]) == expected


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        pytest.param(referring_to(6), ["with id 6; upload it, or name one that is there"], id="id"),
        pytest.param(
            referring_to("mail"), ["named 'mail'; upload it, or name one that is there"], id="name-like-no-other"
        ),
        pytest.param(
            referring_to("Shop"),
            ["named 'Shop', nearest: shop, shop-2; upload it, or name one that is there"],
            id="name-that-is-nearly-there",
        ),
        pytest.param(
            referring_to(2026),
            ["with id 2026, and the one that is named 2026 has id 11; write that"],
            id="number-that-is-a-name",
        ),
        pytest.param(
            referring_to("mail", "shop", 6),
            [
                "named 'mail'; upload it, or name one that is there",
                "with id 6; upload it, or name one that is there",
            ],
            id="two-of-three",
        ),
    ],
)
def test_missing_certificates(options: Options, texts: list[str]) -> None:
    """Section 9: each is named, with what may have been meant; the ports keep what they have."""
    found = wish(options, [SHOP, BLOG, a_certificate(11, "2026"), a_certificate(12, "shop-2")])

    missing = f"{P}http-certificates: the project has no certificate "
    assert found == kept(*((NoteKind.CERTIFICATE, missing + text) for text in texts))


@pytest.mark.parametrize(
    ("options", "world", "why"),
    [
        pytest.param(referring_to(7), listed(SHOP, **GAP), "7 {}: page 2 timed out", id="id-and-a-gap"),
        pytest.param(referring_to("blog"), listed(SHOP, **GAP), "'blog' {}: page 2 timed out", id="name-and-a-gap"),
        pytest.param(referring_to(7), a_world(), "7 {}: the certificates were not read", id="nothing-was-read"),
        pytest.param(referring_to(8), listed(SHOP, **BROKEN), "8 {}: certificate 8 could not be read", id="unreadable"),
        pytest.param(
            referring_to("blog"),
            listed(SHOP, **BROKEN),
            "'blog' {}: certificate 8 could not be read",
            id="name-that-may-be-an-unreadable-ones",
        ),
        pytest.param(
            referring_to("b"),
            listed(SHOP, **OTHERS_BROKEN),
            "'b' {}: certificate 9 could not be read",
            id="name-of-an-unreadable-one",
        ),
    ],
)
def test_certificates_in_doubt(options: Options, world: Snapshot, why: str) -> None:
    """Section 9: what could not be read is not missing; the ports keep what they have."""
    text = f"{P}http-certificates: certificate {why.format('could not be looked up')}"

    assert wish(options, world) == kept((NoteKind.UNKNOWN, text))


@pytest.mark.parametrize("world", [listed(SHOP, **GAP), listed(SHOP, **BROKEN)])
@pytest.mark.parametrize("reference", [5, "shop"])
def test_what_was_read_is_there(reference: int | str, world: Snapshot) -> None:
    """Section 9: a gap in the list takes nothing away from what was read."""
    assert wish(referring_to(reference), world) == DesiredCertificates((5,))


def test_a_name_that_no_unreadable_certificate_has() -> None:
    """Section 9: then it is missing all the same."""
    found = wish(referring_to("mail"), listed(SHOP, **OTHERS_BROKEN))

    assert [note.kind for note in found.notes] == [NoteKind.CERTIFICATE]


def test_missing_and_in_doubt_at_once() -> None:
    """Section 9: everything is said, troubles of those that are there included."""
    failed = managed(5, "shop", issuance=Issuance.FAILED)

    found = wish(referring_to("shop", "mail", 8), listed(failed, **OTHERS_BROKEN))

    assert [note.kind for note in found.notes] == [NoteKind.CERTIFICATE, NoteKind.UNKNOWN, NoteKind.CERTIFICATE]
    assert replace(found, notes=()) == DesiredCertificates(UNMANAGED)


def test_a_managed_certificate_by_name() -> None:
    """Section 9: whoever had it issued, one that is issued is used as any other; one that is not is waited for."""
    issued, pending = managed(7, "blog", labels={}), managed(5, "shop", labels={}, issuance=Issuance.PENDING)

    assert wish(referring_to("blog"), [issued]) == DesiredCertificates((7,))
    assert wish(referring_to("blog", 5), [issued, pending]) == DesiredCertificates(
        KNOWN_AFTER_APPLY,
        pending="Hetzner is still getting certificate 5 'shop' issued, since 12:00 UTC",
        due_in_s=10,
    )


def test_a_failed_certificate_by_name() -> None:
    """Section 9: nothing is due by itself, and nobody would ask for another one."""
    failed = managed(5, "shop", labels={}, issuance=Issuance.FAILED, error=REFUSED)

    assert wish(referring_to(5), [failed]) == DesiredCertificates(
        KNOWN_AFTER_APPLY,
        pending=f"certificate 5 'shop' was not issued: {REFUSED}",
        notes=(
            Note(
                key_of("service/default/web"),
                NoteKind.CERTIFICATE,
                f"certificate 5 'shop' was not issued: {REFUSED}; {ZONES}, then {RETRY}, {STRICT}",
            ),
        ),
    )


def test_several_that_are_waited_for() -> None:
    """Section 9: all are named; the earliest is due, unless one of them needs a person first."""
    old = managed(5, "old", issuance=Issuance.PENDING, created_at=NOW - timedelta(minutes=10))
    new = managed(6, "new", issuance=Issuance.PENDING, created_at=NOW - timedelta(minutes=2))
    failed = managed(7, "failed", issuance=Issuance.FAILED)

    found = wish(referring_to(5, 6), [old, new])
    assert found.due_in_s == 30
    assert found.pending == (
        "Hetzner is still getting certificate 5 'old' issued, since 11:50 UTC; "
        "Hetzner is still getting certificate 6 'new' issued, since 11:58 UTC"
    )
    assert wish(referring_to(5, 6, 7), [old, new, failed]).due_in_s is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(MANAGED, ManagedCertificate(DEFAULT_NAME, ("shop.example.com",), OURS), id="default-name"),
        pytest.param(
            replace(MANAGED, http_managed_certificate_name="mine"),
            ManagedCertificate("mine", ("shop.example.com",), OURS),
            id="name",
        ),
        pytest.param(
            replace(MANAGED, http_managed_certificate_domains=("b.example.com", "*.a.example.com")),
            ManagedCertificate(DEFAULT_NAME, ("*.a.example.com", "b.example.com"), OURS),
            id="sorted-domains",
        ),
        pytest.param(
            replace(MANAGED, http_managed_certificate_acme_staging=True),
            ManagedCertificate(DEFAULT_NAME, ("shop.example.com",), {**OURS, "HC-Use-Staging-CA": "true"}),
            id="staging",
        ),
        pytest.param(
            replace(MANAGED, http_certificates=("gone",)),
            ManagedCertificate(DEFAULT_NAME, ("shop.example.com",), OURS),
            id="instead-of-uploaded-ones",
        ),
    ],
)
def test_the_certificate_to_ask_for(options: Options, expected: ManagedCertificate) -> None:
    """Once, with the labels that find it again, when the list is whole and has none."""
    strangers = [SHOP, managed(8, "another", labels={LABEL_SERVICE_UID: "another"})]

    assert wish(options, strangers) == DesiredCertificates(
        KNOWN_AFTER_APPLY, create=expected, pending=f"the certificate {expected.name!r} is still to be created"
    )


def test_nothing_to_ask_for_without_domains() -> None:
    """That they are missing is said of the annotations."""
    assert wish(replace(MANAGED, http_managed_certificate_domains=UNMANAGED), []) == kept()


def test_the_clusters_label_is_left_out_while_it_is_unknown() -> None:
    """Nothing is written then, so the label is there before the certificate is."""
    world = replace(a_world(certificates=[]), cluster_uid=Unknown("403"))

    assert wish(MANAGED, world).create == ManagedCertificate(
        DEFAULT_NAME, ("shop.example.com",), {LABEL_SERVICE_UID: SERVICE_UID}
    )


@pytest.mark.parametrize(
    ("world", "why"),
    [
        pytest.param(listed(SHOP, **GAP), "page 2 timed out", id="gap"),
        pytest.param(a_world(), "the certificates were not read", id="nothing-was-read"),
        pytest.param(listed(SHOP, **OTHERS_BROKEN), "certificate 8 could not be read", id="unreadable"),
        pytest.param(listed(managed(name="another"), **GAP), "page 2 timed out", id="not-quite-it-and-a-gap"),
        pytest.param(
            listed(managed(name="another"), **BROKEN),
            "certificate 8 could not be read",
            id="not-quite-it-and-unreadable",
        ),
    ],
)
def test_a_managed_certificate_in_doubt(world: Snapshot, why: str) -> None:
    """The label may be on what was not read, so nothing is created and nothing changes."""
    text = f"the Service's managed certificate could not be looked up: {why}"

    assert wish(MANAGED, world) == kept((NoteKind.UNKNOWN, text))


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(managed(), id="as-asked-for"),
        pytest.param(managed(labels={LABEL_SERVICE_UID: SERVICE_UID}), id="without-the-clusters-label"),
        pytest.param(managed(domains=("SHOP.example.com.",)), id="domains-in-another-spelling"),
    ],
)
@pytest.mark.parametrize(
    "others",
    [
        pytest.param({}, id="alone"),
        pytest.param(GAP, id="in-a-list-with-a-gap"),
        pytest.param(BROKEN, id="beside-unreadable-ones"),
    ],
)
def test_the_managed_certificate_that_is_there(found: Certificate, others: Mapping[str, Any]) -> None:
    """By its label; a name is there once only, so no other can be meant."""
    assert wish(MANAGED, listed(found, BLOG, **others)) == DesiredCertificates((5,))


def test_domains_that_cannot_be_read_are_no_difference() -> None:
    """The annotation has its own problem, and the certificate stays."""
    unread = replace(MANAGED, http_managed_certificate_domains=UNMANAGED)

    assert wish(unread, [managed()]) == DesiredCertificates((5,))


def test_the_label_of_a_cluster_of_unknown_identity() -> None:
    """Who cannot say who he is calls nobody a stranger."""
    world = replace(a_world(certificates=[managed()]), cluster_uid=Unknown("403"))

    assert wish(MANAGED, world) == DesiredCertificates((5,))


@pytest.mark.parametrize(
    ("age", "since", "due_in_s"),
    [
        pytest.param(timedelta(seconds=-1), "12:00", 10, id="clocks-that-differ"),
        pytest.param(timedelta(0), "12:00", 10, id="just-asked-for"),
        pytest.param(timedelta(seconds=40), "11:59", 10, id="soonest"),
        pytest.param(timedelta(seconds=60), "11:59", 15, id="a-quarter"),
        pytest.param(timedelta(minutes=20), "11:40", 300, id="latest"),
        pytest.param(timedelta(hours=2), "10:00", 300, id="not-later"),
        pytest.param(timedelta(hours=13), "2026-06-30 23:00", 300, id="since-yesterday"),
    ],
)
@pytest.mark.parametrize("issuance", [Issuance.PENDING, Issuance.OTHER, None])
def test_waiting_for_the_issuance(issuance: Issuance | None, age: timedelta, since: str, due_in_s: float) -> None:
    """Never inside a pass; looked at again after a quarter of the time it has taken."""
    certificate = managed(issuance=issuance, created_at=NOW - age)

    assert wish(MANAGED, [certificate]) == DesiredCertificates(
        KNOWN_AFTER_APPLY,
        pending=f"Hetzner is still getting certificate 5 {DEFAULT_NAME!r} issued, since {since} UTC",
        due_in_s=due_in_s,
    )


@pytest.mark.parametrize(
    ("error", "why", "fix"),
    [
        pytest.param(REFUSED, REFUSED, ZONES, id="dns"),
        pytest.param(
            "dns_zone_not_found: DNS zone not found", "dns_zone_not_found: DNS zone not found", ZONES, id="zone"
        ),
        pytest.param(None, "no reason was given", ZONES, id="no-reason"),
        pytest.param(
            "caa_record_does_not_allow_ca: no",
            "caa_record_does_not_allow_ca: no",
            "let the CAA records of its domains allow the certificate authority",
            id="caa",
        ),
        pytest.param(
            "ca_too_many_authorizations_failed_recently: no",
            "ca_too_many_authorizations_failed_recently: no",
            "wait for an hour, and correct what failed before",
            id="failed-too-often",
        ),
        pytest.param(
            "ca_too_many_certificates_issued_for_registered_domain: no",
            "ca_too_many_certificates_issued_for_registered_domain: no",
            "wait until the authority's weekly limit has passed",
            id="too-many",
        ),
        pytest.param(
            "ca_too_many_duplicate_certificates: no",
            "ca_too_many_duplicate_certificates: no",
            "wait until the authority's weekly limit has passed",
            id="too-many-duplicates",
        ),
    ],
)
def test_a_failed_issuance(error: str | None, why: str, fix: str) -> None:
    """Shown with the authority's reason and what to do; never asked for again by itself."""
    found = wish(MANAGED, [managed(issuance=Issuance.FAILED, error=error)])

    failed = f"certificate 5 {DEFAULT_NAME!r} was not issued: {why}"
    assert noted(found) == [f"{failed}; {fix}, then {RETRY_OR_DELETE}, {STRICT}"]
    assert replace(found, notes=()) == DesiredCertificates(KNOWN_AFTER_APPLY, pending=failed)


def test_a_failed_renewal() -> None:
    """The certificate is used as long as it lasts."""
    found = wish(MANAGED, [managed(error=REFUSED)])

    assert found.ids == (5,)
    assert noted(found) == [
        f"certificate 5 {DEFAULT_NAME!r} is used, and could not be renewed: {REFUSED}; {ZONES}, then {RETRY}"
    ]


OTHER_NAME = f"its name is not {DEFAULT_NAME!r} ({P}http-managed-certificate-name)"
OTHER_DOMAINS = (
    f"it is for a.example.com, b.example.com, and {P}http-managed-certificate-domains asks for shop.example.com,"
    " www.example.com"
)
UNLABEL = f"take the label {LABEL_SERVICE_UID} off this one, which serves until then, or set the annotations back"


@pytest.mark.parametrize(
    ("certificate", "text"),
    [
        pytest.param(
            managed(name="old", domains=("shop.example.com", "www.example.com")),
            f"certificate 5 'old' stays in use, though {OTHER_NAME}; to have another one issued, {UNLABEL}",
            id="name",
        ),
        pytest.param(
            managed(domains=("b.example.com", "a.example.com")),
            f"certificate 5 {DEFAULT_NAME!r} stays in use, though {OTHER_DOMAINS}; to have another one issued, choose"
            f" another name in {P}http-managed-certificate-name, and {UNLABEL}",
            id="domains",
        ),
        pytest.param(
            managed(name="old", domains=("a.example.com", "b.example.com")),
            f"certificate 5 'old' stays in use, though {OTHER_NAME} and {OTHER_DOMAINS}; to have another one issued,"
            f" {UNLABEL}",
            id="both",
        ),
    ],
)
def test_another_certificate_than_asked_for(certificate: Certificate, text: str) -> None:
    """It is never replaced by itself."""
    found = wish(
        replace(MANAGED, http_managed_certificate_domains=("www.example.com", "shop.example.com")), [certificate]
    )

    assert (found.ids, found.create) == ((5,), None)
    assert noted(found) == [text]


def test_the_remedy_for_other_domains() -> None:
    """Without the label, and with another name, a new one is asked for."""
    old = managed(domains=("a.example.com",), labels={})

    found = wish(replace(MANAGED, http_managed_certificate_name="new"), [old])

    assert found.create == ManagedCertificate("new", ("shop.example.com",), OURS)


def test_another_one_that_is_still_being_issued() -> None:
    """That it is another one is said at once, and it is waited for as for any."""
    found = wish(MANAGED, [managed(name="old", issuance=Issuance.PENDING)])

    assert (found.ids, found.due_in_s, len(noted(found))) == (KNOWN_AFTER_APPLY, 10, 1)


def test_the_one_of_several_that_is_asked_for() -> None:
    """After a new name HCCM leaves two with the label; the one that is asked for is clear."""
    old = managed(4, "old")

    assert wish(MANAGED, [old, managed(5)]) == DesiredCertificates((5,))
    assert wish(MANAGED, listed(old, managed(5), **GAP)) == DesiredCertificates((5,))


def test_several_of_which_none_is_asked_for() -> None:
    """A person has to choose; the ports keep what they have."""
    several = [managed(4, "old"), managed(5, domains=("a.example.com",)), managed(6, "older")]

    text = (
        "certificates 4, 5, 6 all have the label of this Service, and none of them is exactly as asked for; take the"
        f" label {LABEL_SERVICE_UID} off all but one"
    )
    assert wish(MANAGED, several) == kept((NoteKind.AMBIGUOUS, text))


@pytest.mark.parametrize(
    "taken",
    [
        pytest.param(a_certificate(5, DEFAULT_NAME), id="uploaded"),
        pytest.param(managed(labels={}), id="without-a-label"),
        pytest.param(managed(labels={LABEL_SERVICE_UID: "another"}), id="of-another-service"),
    ],
)
def test_a_name_that_is_taken(taken: Certificate) -> None:
    """As when a Service with a chosen name was created anew."""
    text = (
        f"certificate 5 {DEFAULT_NAME!r} is not this Service's managed certificate, and has the name that one would"
        f" get; choose another in {P}http-managed-certificate-name, or, to use this one, remove {P}certificate-type and"
        f" name it in {P}http-certificates"
    )

    assert wish(MANAGED, [taken]) == kept((NoteKind.CERTIFICATE, text))


FOREIGN = managed(4, "old", labels={**OURS, LABEL_CLUSTER_UID: "theirs"})
WRONG_TYPE = a_certificate(4, "old", labels=OURS)


@pytest.mark.parametrize(
    ("odd", "kind", "text"),
    [
        pytest.param(
            FOREIGN,
            NoteKind.FOREIGN,
            "certificate 4 'old' has the label of this Service, and that of cluster theirs: left alone",
            id="of-another-cluster",
        ),
        pytest.param(
            WRONG_TYPE,
            NoteKind.CERTIFICATE,
            f"certificate 4 'old' has the label of this Service, and was uploaded: it is not used; to use it, remove"
            f" {P}certificate-type and name it in {P}http-certificates, else take its label {LABEL_SERVICE_UID} off",
            id="uploaded",
        ),
    ],
)
def test_labels_that_mean_nothing(odd: Certificate, kind: NoteKind, text: str) -> None:
    """Such a certificate is neither used nor in the way; a word is said of it."""
    note = Note(key_of("service/default/web"), kind, text)

    assert wish(MANAGED, [odd, managed()]) == DesiredCertificates((5,), notes=(note,))
    created = wish(MANAGED, [odd])
    assert created.create is not None
    assert created.notes == (note,)
    assert wish(MANAGED, listed(odd, **GAP)).notes[0] == note
    several = wish(MANAGED, [odd, managed(5, "a"), managed(6, "b")])
    assert (several.ids, several.notes[0], len(several.notes)) == (UNMANAGED, note, 2)


def test_a_stranger_with_the_name() -> None:
    """It is another cluster's, and the name is taken."""
    found = wish(MANAGED, [replace(FOREIGN, name=DEFAULT_NAME)])

    assert (found.ids, found.create) == (UNMANAGED, None)
    assert [note.kind for note in found.notes] == [NoteKind.FOREIGN, NoteKind.CERTIFICATE]
