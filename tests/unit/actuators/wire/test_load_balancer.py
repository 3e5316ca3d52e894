"""Load balancers as Hetzner says them: whole, or unreadable, and never as if something were not there."""

from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Any

import pytest

from actuators.wire.load_balancer import BALANCERS
from desired.annotations.choices import Algorithm, Protocol
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    Health,
    HealthCheck,
    HttpOptions,
    Listener,
    ServerTarget,
    ipv6_of,
)
from desired.section import Absent
from tests.support.balancer_payload import (
    ADDRESS,
    HTTP_CHECK,
    LB11,
    REAL,
    SELECTOR,
    SERVER,
    WHOLE,
    Path,
    page,
    read,
)
from tests.support.payloads import every_path
from tests.support.simulators import Simulate, Simulation


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
    """Everything that some rule looks at arrives, each part in its place."""
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
    """There is nothing that could."""
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
def test_nothing_is_lost_with_a_field(path: Path) -> None:
    """Without any one field a load balancer is whole, or means what is written down above, or is unreadable."""
    found = read(path)
    if path in IGNORED:
        assert found == WHOLE
    else:
        assert found == DROPPED.get(path)


@pytest.mark.parametrize("path", FIELDS, ids=lambda path: ".".join(map(str, path)))
def test_null_is_no_answer_but_where_the_document_has_it(path: Path) -> None:
    """Null means nothing where the API's document allows it, and makes the load balancer unreadable elsewhere."""
    found = read(path, None)
    if path in IGNORED:
        assert found == WHOLE
    else:
        assert found == NULLS.get(path)


PROJECT: dict[str, Any] = {
    "servers": [
        {"id": 1, "name": "web-1", "private_net": [{"network": 7, "ip": "10.0.0.2"}]},
        {"id": 2, "name": "web-2", "status": "off"},
    ],
    "networks": [{"id": 7, "name": "net", "ip_range": "10.0.0.0/16"}],
    "certificates": [{"id": 4}],
    "load_balancers": [
        {
            "id": number,
            "name": f"lb-{number}",
            "private_net": [{"network": 7, "ip": f"10.0.0.{number + 10}"}],
            "services": [
                {"listen_port": 80, "destination_port": 30080},
                {"protocol": "https", "listen_port": 443, "destination_port": 30443, "http": {"certificates": [4]}},
            ],
            "targets": [{"server": {"id": 1}, "use_private_ip": True}, {"server": {"id": 2}}],
        }
        for number in range(1, 61)
    ],
}


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    """A project with more load balancers than a page takes."""
    return simulate(project=PROJECT)


def test_all_load_balancers(sim: Simulation) -> None:
    """All of them arrive, fifty a request, with what the API fills in."""
    section, error = BALANCERS.observe(sim.hetzner_reader())

    assert (section.complete, section.expected, error) == (True, 60, None)
    assert isinstance(section.find(61), Absent)
    assert len(sim.sent_to_hetzner()) == 2
    found = section.items[1]
    assert (found.spec.name, found.spec.type, found.spec.location, found.spec.zone) == (
        "lb-1",
        "lb11",
        "fsn1",
        "eu-central",
    )
    assert found.spec.algorithm is Algorithm.ROUND_ROBIN
    assert found.spec.attachment == Attachment(7, IPv4Address("10.0.0.11"))
    assert found.spec.listeners[80] == Listener(
        80, 30080, Protocol.TCP, HealthCheck(Protocol.TCP, 30080, 15, 10, 3), proxyprotocol=False
    )
    https = found.spec.listeners[443].http
    assert https == HttpOptions("HCLBSTICKY", 300, 50, (4,), redirect_http=False, sticky_sessions=False)
    assert found.checks[ServerTarget(1, True)] == dict.fromkeys((80, 443), Health.HEALTHY)
    assert Health.UNHEALTHY in found.checks[ServerTarget(2, False)].values()
    assert (found.type.max_targets, min(found.type.prices)) == (25, "ash")
    assert not found.is_protected
