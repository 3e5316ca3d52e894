"""Load balancers as Hetzner says them: whole, or unreadable, and never as if something were not there."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from actuators.wire.load_balancer import BALANCERS
from desired.model.load_balancer import (
    CloudBalancer,
    Health,
    ipv6_of,
)
from tests.support.balancer_payload import ADDRESS, HTTP_CHECK, LB11, REAL, SELECTOR, SERVER, WHOLE, Path, page, read
from tests.support.payloads import GONE, every_path
from tests.support.rows import rows


def checked(**changes: Any) -> CloudBalancer:
    """The whole load balancer with another check of port 80."""
    listener = WHOLE.spec.listeners[80]
    check = replace(listener.health_check, http=replace(HTTP_CHECK, **changes))
    listeners = {**WHOLE.spec.listeners, 80: replace(listener, health_check=check)}
    return replace(WHOLE, spec=replace(WHOLE.spec, listeners=listeners))


def typed(**changes: Any) -> CloudBalancer:
    """The whole load balancer with another type."""
    return replace(WHOLE, type=replace(LB11, **changes))


def felt(target: Any, *ports: int) -> CloudBalancer:
    """The whole load balancer with a target of which is not known how it is, by all listeners or those at ``ports``."""
    unknown = dict.fromkeys(ports or WHOLE.spec.listeners, Health.UNKNOWN)
    return replace(WHOLE, checks={**WHOLE.checks, target: {**WHOLE.checks[target], **unknown}})


TYPE: Path = ("load_balancer_type",)
CHECK: Path = ("services", 1, "health_check", "http")
ANNOUNCED = datetime(2026, 7, 1, tzinfo=UTC)
DROPPED: dict[Path, CloudBalancer] = {
    ("public_net", "ipv6", "id"): replace(WHOLE, spec=replace(WHOLE.spec, primary_ipv6=None)),
    (*TYPE, "deprecation"): typed(unavailable_after=ANNOUNCED),
    (*TYPE, "prices"): typed(prices={}, locations=frozenset()),
    (*TYPE, "prices", 0, "location"): typed(prices={}, locations=frozenset()),
    (*TYPE, "prices", 0, "price_monthly"): typed(prices={}),
    (*TYPE, "prices", 0, "price_monthly", "gross"): typed(prices={}),
    (*CHECK, "response"): checked(response=""),
    (*CHECK, "status_codes"): checked(status_codes=("2??", "3??")),
    (*CHECK, "tls"): checked(tls=False),
    ("targets", 0, "health_status"): felt(SERVER),
    ("targets", 1, "health_status"): felt(ADDRESS),
    ("targets", 2, "targets"): felt(SELECTOR),
    ("targets", 2, "targets", 0, "health_status"): felt(SELECTOR),
}
"""What the API's document does not require, and what decides on nothing: what it means that such a field is missing."""
DROPPED |= {
    (*place, number, field): felt(target, port)
    for place, target in (
        (("targets", 0, "health_status"), SERVER),
        (("targets", 1, "health_status"), ADDRESS),
        (("targets", 2, "targets", 0, "health_status"), SELECTOR),
    )
    for number, port in enumerate((5000, 80, 443))
    for field in ("listen_port", "status")
}
IGNORED: set[Path] = {
    ("public_net", "ipv4", "id"),
    *(("public_net", family, "blocked") for family in ("ipv4", "ipv6")),
    *(("location", field) for field in ("id", "country", "city")),
    (*TYPE, "max_connections"),
    (*TYPE, "deprecated"),
    (*TYPE, "deprecation", "announced"),
    (*TYPE, "prices", 0, "included_traffic"),
    (*TYPE, "prices", 0, "price_hourly"),
    (*TYPE, "prices", 0, "price_hourly", "net"),
    (*TYPE, "prices", 0, "price_hourly", "gross"),
    (*TYPE, "prices", 0, "price_monthly", "net"),
    ("targets", 0, "server", "ip"),
    *(("targets", 2, "targets", 0, field) for field in ("type", "server")),
    *(("targets", 2, "targets", 0, "server", field) for field in ("id", "ip")),
    ("outgoing_traffic",),
    ("ingoing_traffic",),
    ("included_traffic",),
}
FIELDS = [path for path in every_path(REAL) if isinstance(path[-1], str) and path[:1] != ("labels",)] + [("labels",)]
"""Every field that there is; without one item of a list, or one label, it is another load balancer."""
NULLS: dict[Path, CloudBalancer] = DROPPED | {
    ("public_net", "ipv4", "ip"): replace(WHOLE, ipv4=None),
    ("public_net", "ipv6", "ip"): replace(WHOLE, ipv6=None),
    ("public_net", "ipv4", "dns_ptr"): replace(WHOLE, spec=replace(WHOLE.spec, ipv4_rdns="")),
    ("public_net", "ipv6", "dns_ptr"): WHOLE,
    (*CHECK, "domain"): WHOLE,
}
NULLS = {path: meaning for path, meaning in NULLS.items() if path[-1] not in ("tls", "listen_port", "status")}
"""What may be null, and what that means."""


def test_a_real_load_balancer() -> None:
    decoded = BALANCERS.decode(page(REAL))
    assert decoded.items == {42: WHOLE}
    assert (decoded.unreadable, decoded.nameless) == ({}, 0)
    assert decoded.items[42].targets == (SERVER, ADDRESS, SELECTOR)


@pytest.mark.parametrize(
    ("words", "found", "expected"),
    [
        ((["unhealthy"], ["unhealthy"]), ["unhealthy"], {80}),
        ((["unhealthy"], ["healthy"]), ["unhealthy"], set()),
        ((["unhealthy"], ["unhealthy"]), ["unhealthy", "healthy"], set()),
        ((["unhealthy"], ["unhealthy"]), ["unhealthy", "unknown"], set()),
        ((["unhealthy"], ["unhealthy"]), [], {80}),
        ((["unhealthy"], ["a-new-word"]), ["unhealthy"], set()),
        ((["unhealthy"], []), ["unhealthy"], set()),
    ],
)
def test_a_check_that_nothing_passes(words: tuple[list[str], list[str]], found: list[str], expected: set[int]) -> None:
    """By what is said of each target and of each server of a selector; what is not said is not known."""

    def said(status: list[str]) -> list[dict[str, Any]]:
        return [{"listen_port": 80, "status": word} for word in status] + [{"listen_port": 443, "status": "healthy"}]

    targets = [{**target, "health_status": said(word)} for target, word in zip(REAL["targets"], words, strict=False)]
    (resolved,) = REAL["targets"][2]["targets"]
    selected = [{**resolved, "health_status": said([word])} for word in found]
    balancer = read(("targets",), [*targets, {**REAL["targets"][2], "targets": selected}])

    assert balancer is not None
    assert balancer.unanswered == expected


def test_nothing_passes_the_checks_of_a_load_balancer_without_targets() -> None:
    balancer = read(("targets",), [])
    assert balancer is not None
    assert balancer.unanswered == {5000, 80, 443}


def test_equal_targets_at_other_addresses() -> None:
    """Load balancers with equal targets share them, but each has the IPv6 address that it leads to."""
    addresses = ("2001:db8::1", "2001:db8::2", "2001:db8::1")
    found = [read(("targets", 0, "server", "ip"), address) for address in addresses]
    first, second, third = (balancer.targets for balancer in found if balancer is not None)
    assert first == second
    assert [ipv6_of(targets)[0] for targets in (first, second, third)] == list(addresses)
    assert first is third


@pytest.mark.parametrize("path", FIELDS, ids=lambda path: ".".join(map(str, path)))
@rows("value meanings", {"missing": (GONE, DROPPED), "null": (None, NULLS)})
def test_nothing_is_lost_with_a_field(path: Path, value: Any, meanings: dict[Path, CloudBalancer]) -> None:
    """A load balancer is whole, or means as much as the API's document allows, or is unreadable."""
    assert read(path, value) == (WHOLE if path in IGNORED else meanings.get(path))
