"""What a Service publishes: its addresses and its conditions, each with the rule behind it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.annotations.options import PREFIX
from desired.explain.fact import Fact
from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.service import Ingress, ServiceCondition
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.names import CONDITION_IN_SYNC, CONDITION_READY
from desired.rules.rule import Basis
from desired.section import Section
from tests.balancers import LOCATED, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import NOW, incomplete
from tests.support.service_explanations import of_the_service

V4, V6 = Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP")
SHOWN_V4, SHOWN_V6 = "203.0.113.200 (VIP)", "2001:db8::200 (VIP)"
PUBLIC_V4, PUBLIC_V6 = (f"the public {family} address of load balancer 42" for family in ("IPv4", "IPv6"))
OBSERVE = replace(LOCATED, policy=Policy.OBSERVE)
NAMED = a_claim(annotations=annotated(hostname="lb.example"))
PLACE = Attachment(7, IPv4Address("10.0.0.9"))


def ours(subject: str, value: str | None, wanted: str | None, source: str) -> Fact:
    """A fact that follows from the load balancer."""
    return Fact(subject, value, wanted, Basis.BALANCER, source)


@pytest.mark.parametrize(
    ("snapshot", "settings", "expected"),
    [
        pytest.param(
            a_world([a_served_service()], [a_balancer()]),
            LOCATED,
            [ours("IP", SHOWN_V4, SHOWN_V4, PUBLIC_V4), ours("IP", SHOWN_V6, SHOWN_V6, PUBLIC_V6)],
            id="as-it-should-be",
        ),
        pytest.param(
            a_world([a_served_service(ingress=(Ingress("203.0.113.9"), V6))], [a_balancer(attachments=(PLACE,))]),
            LOCATED,
            [
                ours("IP", "203.0.113.9", None, "goes away: no address of load balancer 42"),
                ours("IP", SHOWN_V6, SHOWN_V6, PUBLIC_V6),
                ours("IP", None, SHOWN_V4, PUBLIC_V4),
                ours("IP", None, "10.0.0.9 (VIP)", "the address of load balancer 42 in network 7"),
            ],
            id="comes-stays-and-goes",
        ),
        pytest.param(
            a_world([a_served_service(ingress=(V4,))], [a_balancer()]),
            OBSERVE,
            [
                ours("IP", SHOWN_V4, SHOWN_V4, PUBLIC_V4),
                ours("IP", None, SHOWN_V6, f"{PUBLIC_V6}; waiting (policy)"),
            ],
            id="withheld",
        ),
        pytest.param(
            a_world([a_service()]),
            LOCATED,
            [ours("IP", None, "(known after apply)", "publishes the addresses of the new load balancer")],
            id="not-known-yet",
        ),
        pytest.param(
            a_world([a_served_service(ingress=(V4,))]),
            LOCATED,
            [
                ours("IP", SHOWN_V4, None, "goes away: of a load balancer that is not there, or not known"),
                ours("IP", None, "(known after apply)", "publishes the addresses of the new load balancer"),
            ],
            id="another-one-to-come",
        ),
        pytest.param(
            a_world([a_served_service(claim=NAMED, ingress=())], [a_balancer()]),
            LOCATED,
            [Fact("Hostname", None, "lb.example", Basis.ASKED, f"{PREFIX}hostname")],
            id="a-name",
        ),
        pytest.param(
            a_world([a_served_service(deleted_at=NOW, ingress=(replace(V4, has_ports=True),))], [a_balancer()]),
            LOCATED,
            [ours("IP", f"{SHOWN_V4}, with ports", None, f"goes away: {PUBLIC_V4}")],
            id="released",
        ),
        pytest.param(
            a_world([a_service(type="ClusterIP", ingress=(V4,))]),
            LOCATED,
            [ours("IP", SHOWN_V4, SHOWN_V4, "of a load balancer that is not there, or not known")],
            id="not-looked-after",
        ),
    ],
)
def test_addresses(snapshot: Snapshot, settings: Settings, expected: list[Fact]) -> None:
    """Each address is told with where it comes from, and what becomes of it."""
    assert list(of_the_service(snapshot, settings).status) == expected


SINCE = NOW - timedelta(hours=1)
READY = ServiceCondition(CONDITION_READY, "True", "AddressPublished", "published 203.0.113.200, 2001:db8::200", SINCE)
IN_SYNC = ServiceCondition(CONDITION_IN_SYNC, "True", "InSync", "the load balancer is as the Service asks", SINCE)
HELD = ServiceCondition(CONDITION_IN_SYNC, "False", "Held", "something is held", SINCE)
FOREIGN = ServiceCondition("example.com/Good", "True", "", "all is well", SINCE)
AT = "since 2026-07-01 11:00:00 UTC"


def conditions(snapshot: Snapshot, settings: Settings = LOCATED) -> Mapping[str, Fact]:
    """Type → what is said of it."""
    return {fact.subject: fact for fact in of_the_service(snapshot, settings).conditions}


def with_conditions(*there: ServiceCondition, **overrides: Any) -> Snapshot:
    """A Service that is served, with these conditions."""
    return a_world([a_served_service(conditions=there, **overrides)], [a_balancer()])


@pytest.mark.parametrize(
    ("snapshot", "subject", "value", "wanted", "source"),
    [
        pytest.param(
            with_conditions(READY, IN_SYNC),
            CONDITION_IN_SYNC,
            "True InSync",
            "True InSync",
            f"{IN_SYNC.message}, {AT}",
            id="as-it-is",
        ),
        pytest.param(
            with_conditions(READY, HELD),
            CONDITION_IN_SYNC,
            "False Held",
            "False Held",
            f"something is held, {AT}; would be True InSync: {IN_SYNC.message}",
            id="out-of-date-and-nothing-to-ride-on",
        ),
        pytest.param(
            with_conditions(READY, HELD, ingress=(V4,)),
            CONDITION_IN_SYNC,
            "False Held",
            "True InSync",
            IN_SYNC.message,
            id="written-with-the-status",
        ),
        pytest.param(
            with_conditions(),
            CONDITION_READY,
            None,
            None,
            f"not there (optional); would be True AddressPublished: {READY.message}",
            id="missing",
        ),
        pytest.param(
            with_conditions(ingress=()),
            CONDITION_READY,
            None,
            "True AddressPublished",
            READY.message,
            id="missing-and-written-with-the-status",
        ),
        pytest.param(
            a_world([a_service()]),
            CONDITION_READY,
            None,
            None,
            "not there (optional); would be False NotCreated: there is no load balancer",
            id="a-status-that-is-not-known-yet-carries-none",
        ),
    ],
)
def test_our_conditions(snapshot: Snapshot, subject: str, value: str | None, wanted: str | None, source: str) -> None:
    """A condition of ours changes for certain only with a write that takes it along."""
    fact = conditions(snapshot)[subject]

    assert fact == Fact(subject, value, wanted, Basis.BALANCER, source)


def test_a_withheld_write_takes_nothing_along() -> None:
    """What does not write the status now changes no condition."""
    fact = conditions(with_conditions(READY, HELD, ingress=(V4,)), OBSERVE)[CONDITION_IN_SYNC]

    assert fact.value == fact.wanted


def test_other_conditions() -> None:
    """What others say of the Service is left alone, in its place."""
    found = conditions(with_conditions(READY, FOREIGN))

    assert list(found) == [CONDITION_READY, "example.com/Good", CONDITION_IN_SYNC]
    assert found["example.com/Good"] == Fact("example.com/Good", "True", "True", Basis.FOREIGN, "not ours, left alone")


def test_a_service_that_wants_none() -> None:
    """Nothing is said of a Service that lets go, or has nothing to do with us; what is there stands."""
    found = conditions(with_conditions(READY, deleted_at=NOW))

    assert found == {
        CONDITION_READY: Fact(
            CONDITION_READY,
            "True AddressPublished",
            "True AddressPublished",
            Basis.BALANCER,
            f"{READY.message}, {AT}",
        )
    }
    assert conditions(a_world([a_service(type="ClusterIP")])) == {}


def test_too_little_is_known() -> None:
    """While the load balancers are not known, a condition says no more than it did."""
    gap: Section[int, CloudBalancer] = incomplete(Section({}), "429")
    snapshot = a_world([a_served_service(conditions=(READY, IN_SYNC))], load_balancers=gap)
    found = conditions(snapshot)

    assert {fact.value for fact in found.values()} == {"True AddressPublished", "True InSync"}
    assert all(fact.value == fact.wanted for fact in found.values())
