"""The conditions of a Service."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.annotations.warnings import Lack
from desired.load_balancers.conditions import is_worth_a_write, service_conditions
from desired.load_balancers.matching import match_balancers
from desired.model.load_balancer import KNOWN_AFTER_APPLY, CloudBalancer, HttpOptions, Owner, ServerTarget
from desired.model.service import Ingress, Service, ServiceCondition
from desired.model.snapshot import Snapshot
from desired.plan.change import ALLOWED, Change, GuardDecision, GuardName, State, Verdict
from desired.plan.kinds import KINDS, ChangeKind, Verb
from desired.plan.notes import Note, NoteKind
from desired.rules import load_balancers as rules
from desired.section import Section
from tests.balancers import (
    SERVICE_UID,
    a_balancer,
    a_claim,
    a_listener,
    a_served_service,
    a_service,
    a_world,
    an_http_listener,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, a_change, incomplete
from tests.support.keys import key_of
from tests.support.rows import rows

READY, IN_SYNC = "LoadBalancerReady", "LoadBalancerInSync"
KEY, LB = "service/default/web", "load_balancer/default/web"
SERVED = a_served_service()
ONE, TWO = ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=False)
OTHERS = Ingress("10.20.0.5")
OWN = "203.0.113.200, 2001:db8::200"


def published(addresses: str) -> tuple[str, str, str]:
    return "True", "AddressPublished", rules.ADDRESS_PUBLISHED.text(addresses=addresses)


def others(others: str, writer: str = "", hostname: str = "") -> tuple[str, str, str]:
    """Not ready, as another controller publishes these."""
    text = rules.OTHERS_PUBLISHED.text(others=others, writer=writer, balancer=42, own=OWN, hostname=hostname)
    return "False", "OtherAddressPublished", text


PUBLISHED, FIRST = published(OWN), published("203.0.113.200")
NOT_CREATED = ("False", "NotCreated", rules.BALANCER_LACKING.text())
DELETED = ("False", "NotCreated", rules.BALANCER_DELETED.text())
NO_ADDRESS = ("False", "NoAddress", rules.ADDRESS_UNPUBLISHED.text(balancer=42))
NO_PORTS = ("False", "NoPorts", rules.PORTS_LACKING.text(balancer=42))
NO_TARGETS = ("False", "NoTargets", rules.LEADS_NOWHERE.text(balancer=42, cause=""))
AS_ASKED = ("True", "InSync", rules.IN_SYNC.text())
DEAF = a_balancer(listeners=())
HELD = GuardDecision(Verdict.HELD, GuardName.TARGET_FLOOR, "too few targets would be left")
REFUSED = GuardDecision(Verdict.REFUSED, GuardName.FOREIGN_OWNER, "load balancer 7 belongs to cluster x")
WAITING = GuardDecision(Verdict.WAITING, GuardName.POLICY, "excluded by --policy observe")
GAP = GuardDecision(Verdict.WAITING, GuardName.INCOMPLETE_SNAPSHOT, "list of servers is incomplete: page 2 timed out")


def change(
    part: str,
    kind: str,
    before: State | None,
    after: State | None,
    decision: GuardDecision = ALLOWED,
    reason: str = "asked",
) -> Change:
    verb = Verb.ADD if before is None else Verb.REMOVE if after is None else Verb.MODIFY
    key = f"{KEY if kind.startswith('service.') else LB}{part}"
    chosen = verb if verb in KINDS[kind].verbs else Verb.MODIFY
    return Change(key_of(key), ChangeKind(kind), chosen, before, after, reason, key_of(KEY), decision=decision)


def target(before: ServerTarget | None, after: ServerTarget | None, decision: GuardDecision = ALLOWED) -> Change:
    server = after or before
    assert server is not None
    return change(f"/target/{server.name}", "lb.target", before, after, decision)


def algorithm(decision: GuardDecision = ALLOWED) -> Change:
    return change("/algorithm", "lb.algorithm", "round_robin", "least_connections", decision)


def status(*after: Ingress, known: bool = True, decision: GuardDecision = ALLOWED) -> Change:
    wanted = after if known else KNOWN_AFTER_APPLY
    return change("/status", "service.status", (Ingress(),), wanted, decision, "publishes the addresses")


CREATE = change("", "lb.create", None, a_balancer().spec)
ADOPT = change("", "lb.adopt", Owner(None, None), Owner(CLUSTER_UID, SERVICE_UID))
DELETE = change("", "lb.delete", a_balancer().spec, None)
PENDING = change(
    "/listener/443", "lb.listener", None, an_http_listener(443, http=HttpOptions(certificates=KNOWN_AFTER_APPLY))
)


def note(kind: NoteKind, text: str = "said", key: str = KEY, lack: Lack | None = None) -> Note:
    return Note(key_of(key), kind, text, lack=lack)


def port(number: int, *, added: bool) -> Change:
    sides = (None, a_listener(number)) if added else (a_listener(number), None)
    verb = Verb.ADD if added else Verb.REMOVE
    return a_change(f"{LB}/listener/{number}", "lb.listener", verb=verb, before=sides[0], after=sides[1])


def conditions_in(
    snapshot: Snapshot, changes: tuple[Change, ...] = (), notes: tuple[Note, ...] = ()
) -> tuple[ServiceCondition, ...]:
    (service,) = tuple(snapshot.services or ())
    return service_conditions(service, match_balancers(snapshot)[service.id], snapshot, changes, notes)


def conditions(
    service: Service = SERVED,
    balancers: tuple[CloudBalancer, ...] = (a_balancer(),),
    changes: tuple[Change, ...] = (),
    notes: tuple[Note, ...] = (),
    **world: Any,
) -> Mapping[str, tuple[str, str, str]]:
    found = conditions_in(a_world([service], balancers, **world), changes, notes)
    return {each.type: (each.status, each.reason, each.message) for each in found}


UNLABELLED = a_balancer(service_uid=None)
NAMED = a_balancer(service_uid=None, spec={"name": "shop"})
BARE, THERE, TWICE = a_balancer(targets=()), (a_balancer(),), (a_balancer(1, service_uid="another"), NAMED)
SHOP = a_served_service(claim=a_claim(annotations=annotated(name="shop")))
BESIDE, MUTE = a_service(ingress=(OTHERS,)), a_service()
WRITTEN = a_service(ingress=(OTHERS,), status_writers=("cilium-operator", "x"))
NOW_PUBLISHED = status(Ingress("203.0.113.200"))
INSIDE = replace(ONE, use_private_ip=True)


@rows("service balancers changes expected", {
    "without-our-clusters-label": (SERVED, (a_balancer(cluster_uid=None),), (), PUBLISHED),
    "adopted-by-the-default-name": (SERVED, (UNLABELLED,), (ADOPT,), PUBLISHED),
    "adoption-is-held": (SERVED, (UNLABELLED,), (ADOPT.ruled(HELD),), NOT_CREATED),
    "adopted-by-its-own-name": (SHOP, TWICE, (ADOPT,), PUBLISHED),
    "adoption-of-something-else": (SERVED, (replace(NAMED, ipv4=None, ipv6=None),), (ADOPT,), NOT_CREATED),
    "adopted-by-its-published-address": (SERVED, (NAMED,), (ADOPT,), PUBLISHED),
    "deleted": (SERVED, THERE, (DELETE,), DELETED),
    "deletion-is-held": (SERVED, THERE, (DELETE.ruled(HELD),), PUBLISHED),
    "nothing-published": (MUTE, THERE, (), NO_ADDRESS),
    "published-with-this-write": (MUTE, THERE, (algorithm(), NOW_PUBLISHED), FIRST),
    "another-controllers-by-name": (WRITTEN, THERE, (), others("10.20.0.5", " (written by 'cilium-operator')")),
    "another-controllers-and-replaced": (BESIDE, THERE, (NOW_PUBLISHED,), FIRST),
    "beside-ours": (a_service(ingress=(*SERVED.ingress, OTHERS)), THERE, (), others("10.20.0.5")),
    "written-otherwise": (a_service(ingress=(Ingress("2001:DB8:0::200"),)), THERE, (), published("2001:DB8:0::200")),
    "a-port-is-added": (SERVED, (DEAF,), (port(80, added=True),), PUBLISHED),
    "the-last-port-goes": (SERVED, THERE, (port(80, added=False),), NO_PORTS),
    "a-target-is-added": (SERVED, (BARE,), (target(None, ONE),), PUBLISHED),
    "a-target-is-withheld": (SERVED, (BARE,), (target(None, ONE, HELD),), NO_TARGETS),
    "the-last-target-goes": (SERVED, THERE, (target(ONE, None),), NO_TARGETS),
    "a-target-is-replaced": (SERVED, THERE, (target(ONE, None), target(None, TWO)), PUBLISHED),
    "a-target-flips": (SERVED, THERE, (target(ONE, INSIDE),), PUBLISHED),
})  # fmt: skip
def test_ready(
    service: Service, balancers: tuple[CloudBalancer, ...], changes: tuple[Change, ...], expected: tuple[str, str, str]
) -> None:
    """Ready is a Service with a published address behind which there is somebody, once this pass is done."""
    assert conditions(service, balancers, changes)[READY] == expected


@rows("balancers", {
    "not-read": None, "part-of-a-list": incomplete(Section()), "unreadable": Section(unreadable={42: "no name"}),
})  # fmt: skip
def test_ready_when_too_little_is_known(balancers: Section[int, CloudBalancer] | None) -> None:
    """Nothing is said to be missing for a gap in the list: a condition of before stays."""
    before = ServiceCondition(READY, "True", "AddressPublished", "x")
    assert conditions(load_balancers=balancers)[READY][:2] == ("Unknown", "Unknown")
    found, _ = conditions_in(a_world([replace(SERVED, conditions=(before,))], load_balancers=balancers))
    assert found == before


@rows("balancers expected", {
    "not-read": (None, "Unknown"),
    "part-of-a-list": (incomplete(Section()), "Unknown"),
    "two": (Section({42: a_balancer(), 43: a_balancer(43)}), "Unknown"),
    "its-own": (Section({42: a_balancer()}), "AddressPublished"),
})  # fmt: skip
def test_ready_while_another_service_asks_for_the_name(balancers: Any, expected: str) -> None:
    shared = a_claim(annotations=annotated(name="shared"))
    services = [replace(SERVED, claim=shared), a_service("api", claim=shared)]
    world = a_world(services, load_balancers=balancers)
    ready, _ = service_conditions(services[0], match_balancers(world)[SERVED.id], world, (), ())
    assert ready.reason == expected


@rows("found asked expected", {
    "what is asked for cannot be read": ("a.de", None, published("a.de")),
    "none is asked for": ("x.de", "", others("x.de")),
    "another one is": ("x.de", "a.de", others("x.de", hostname=", published as a.de")),
})  # fmt: skip
def test_ready_with_a_hostname(found: str, asked: str | None, expected: tuple[str, str, str]) -> None:
    service = a_service(ingress=(Ingress(hostname=found),))
    world = a_world([service], load_balancers=Section({42: a_balancer()}))
    ready, _ = service_conditions(service, match_balancers(world)[service.id], world, (), (), asked)
    assert (ready.status, ready.reason, ready.message) == expected


def coming(cause: str) -> tuple[str, str, str]:
    return "False", "Waiting", cause


UNISSUED = note(NoteKind.CERTIFICATE, "not issued", "certificate/default/web")
THREE = tuple(note(NoteKind.MALFORMED, text) for text in "cba")
ALIKE = (algorithm(HELD), target(ONE, None, HELD), target(TWO, None, replace(HELD, why="zero would be left")))
NOT_OURS = (f"{KEY}-2", "service/other/web", f"{LB}-2", "certificate/default/web-2", "node/web", "plan")
SAID = {
    NoteKind.AMBIGUOUS: "Ambiguous",
    NoteKind.SEVERAL_BALANCERS: "Ambiguous",
    NoteKind.LIMIT: "Limit",
    NoteKind.NO_TARGETS: "NoTargets",
    NoteKind.UNREACHABLE: "NoTargets",
}
UNSAID = (NoteKind.UNSUPPORTED, NoteKind.FOREIGN, NoteKind.KEPT, NoteKind.UNUSABLE_TARGET)


@rows(
    "changes notes expected",
    {
        "applied-now": ((algorithm(), target(None, TWO)), (), AS_ASKED),
        "held": ((algorithm(HELD),), (), ("False", "Held", HELD.why)),
        "refused": ((algorithm(REFUSED),), (), ("False", "Refused", REFUSED.why)),
        "waiting": ((algorithm(WAITING),), (), ("False", "Waiting", WAITING.why)),
        "known-after-apply": ((CREATE, status(known=False)), (), coming("publishes the addresses")),
        "a-port-without-a-certificate-yet": ((PENDING,), (), coming("asked")),
        "a-certificate": ((), (UNISSUED,), ("False", "CertificateUnavailable", "not issued")),
        "on-a-part": ((), (note(NoteKind.LIMIT, key=f"{LB}/type"),), ("False", "Limit", "said")),
        "one-sentence-for-one-cause": (ALIKE, (), ("False", "Held", f"{HELD.why} (and 1 more)")),
        "many": ((), THREE, ("False", "InvalidAnnotation", "a (and 2 more)")),
        "the-longest-message": ((), (note(NoteKind.LIMIT, "x" * 1024),), ("False", "Limit", "x" * 1024)),
        "a-message-too-long": ((), (note(NoteKind.LIMIT, "x" * 1025),), ("False", "Limit", "x" * 1021 + "...")),
    }
    | {kind: ((), (note(kind),), ("False", reason, "said")) for kind, reason in SAID.items()}
    | {kind: ((), (note(kind),), AS_ASKED) for kind in UNSAID}
    | {key: ((), (note(NoteKind.MALFORMED, key=key),), AS_ASKED) for key in NOT_OURS}
    | {
        lack: ((), (note(NoteKind.UNSUPPORTED, lack=lack),), ("False", "Unsupported", "said"))
        for lack in (Lack.PORT, Lack.SOURCE_RANGES)
    },
)
def test_in_sync(changes: tuple[Change, ...], notes: tuple[Note, ...], expected: tuple[str, str, str]) -> None:
    """In sync is a load balancer of which nothing is withheld, and nothing that was asked for is impossible."""
    assert conditions(changes=changes, notes=notes)[IN_SYNC] == expected
    assert conditions(changes=changes[::-1], notes=notes[::-1])[IN_SYNC] == expected


EVERYTHING = (
    ("InvalidAnnotation", note(NoteKind.MALFORMED)),
    ("Ambiguous", note(NoteKind.AMBIGUOUS)),
    ("Refused", algorithm(REFUSED)),
    ("Held", target(ONE, None, HELD)),
    ("CertificateUnavailable", note(NoteKind.CERTIFICATE)),
    ("Limit", note(NoteKind.LIMIT)),
    ("NoTargets", note(NoteKind.NO_TARGETS)),
    ("Unsupported", note(NoteKind.UNSUPPORTED, lack=Lack.PORT)),
    ("Waiting", target(None, TWO, WAITING)),
    ("Unknown", note(NoteKind.UNKNOWN)),
)


@pytest.mark.parametrize("first", range(len(EVERYTHING)), ids=[reason for reason, _ in EVERYTHING])
def test_the_gravest_reason_is_named(first: int) -> None:
    """What only a person mends comes before what time does, so that the reason is one that lasts."""
    rest = [thing for _, thing in EVERYTHING[first:]]
    changes = tuple(thing for thing in rest if isinstance(thing, Change))
    notes = tuple(thing for thing in rest if isinstance(thing, Note))
    assert conditions(changes=changes, notes=notes)[IN_SYNC][1] == EVERYTHING[first][0]


@rows("changes notes", {
    "a-note": ((), (note(NoteKind.UNKNOWN, "not read"),)),
    "among-others": ((algorithm(replace(GAP, why="not read")), target(None, TWO)), (note(NoteKind.KEPT),)),
})  # fmt: skip
def test_in_sync_when_too_little_is_known(changes: tuple[Change, ...], notes: tuple[Note, ...]) -> None:
    """A page that did not arrive flips nobody's condition, there and back."""
    assert conditions(changes=changes, notes=notes)[IN_SYNC] == ("Unknown", "Unknown", "not read")
    for reason, verdict in (("InSync", "True"), ("Held", "False")):
        service = replace(SERVED, conditions=(ServiceCondition(IN_SYNC, verdict, reason, "as before"),))
        assert conditions(service, changes=changes, notes=notes)[IN_SYNC] == (verdict, reason, "as before")


def test_since() -> None:
    earlier = NOW - timedelta(days=1)
    present = (
        ServiceCondition(READY, "False", "NoAddress", "", earlier),
        ServiceCondition(IN_SYNC, "False", "Held", "", earlier),
        ServiceCondition("example.com/Other", "True", "Mine", "", earlier),
    )

    def since(service: Service, *changes: Change) -> list[object]:
        return [condition.since for condition in conditions_in(a_world([service], [a_balancer()]), changes)]

    assert since(SERVED) == [NOW, NOW]
    assert since(replace(SERVED, conditions=present), algorithm(WAITING)) == [NOW, earlier]
    assert since(replace(SERVED, conditions=(replace(present[1], since=None),)), algorithm(HELD)) == [NOW, NOW]


TRUE = (ServiceCondition(READY, "True", "AddressPublished", "x"), ServiceCondition(IN_SYNC, "True", "InSync", "x"))
WRONG = (TRUE[0], ServiceCondition(IN_SYNC, "False", "Held", "x"))
NOT_READY = (ServiceCondition(READY, "False", "NotCreated", "x"), TRUE[1])


@rows("present wanted worth", {
    "absent-and-something-wrong": ((), WRONG, True),
    "absent-and-only-not-ready": ((), NOT_READY, False),
    "in-another-order": (TRUE, TRUE[::-1], False),
    "another-status": (TRUE, WRONG, True),
    "one-is-there-and-something-is-wrong": (TRUE[:1], WRONG, True),
    "what-is-wrong-was-said": (WRONG[1:], WRONG, False),
    "nothing-to-say": (TRUE, (), False),
})  # fmt: skip
def test_is_worth_a_write(
    present: tuple[ServiceCondition, ...], wanted: tuple[ServiceCondition, ...], worth: bool
) -> None:
    assert is_worth_a_write(replace(SERVED, conditions=present), wanted) is worth
