"""Single parts of a load balancer as Hetzner says them: its type, its listeners, how its targets are."""

from datetime import UTC, datetime
from typing import Any

from actuators.wire.load_balancer import BALANCERS
from desired.annotations.choices import Protocol
from desired.model.load_balancer import Health, HealthCheck, ServerTarget
from tests.support.balancer_payload import ADDRESS, REAL, SELECTOR, SERVER, Path, changed, fine, page, read
from tests.support.payloads import GONE, replaced
from tests.support.rows import rows

TYPE: Path = ("load_balancer_type",)
ANNOUNCED = datetime(2026, 7, 1, tzinfo=UTC)


@rows(
    "path value why",
    {
        "protocol": (("services", 0, "protocol"), "udp", "Invalid enum value 'udp'"),
        "check": (("services", 0, "health_check", "protocol"), "https", "which the API does not know"),
        "no http": (("services", 0, "health_check", "protocol"), "http", "there is nothing about that"),
        "http without options": (("services", 0, "protocol"), "http", "there is nothing about that"),
        "https like http": (("services", 1, "protocol"), "https", "its certificates or its redirect"),
        "a port twice": (("services", 0, "listen_port"), 80, "two services on one port"),
        "target": (("targets", 0, "type"), "vswitch", "'vswitch' is not known"),
        "target of the wrong type": (("targets", 0, "type"), "ip", "or lacks what it needs"),
        "address of a target": (("targets", 1, "ip", "ip"), "web-1", "does not appear to be"),
        "private address": (("private_net", 0, "ip"), "10.0.0.256", "not permitted"),
        "public network": (("public_net", "ipv6", "ip"), "2001:db8::/64", "Unexpected '/'"),
        "a time of no zone": (("created",), "2026-01-01T00:00:00", "timezone"),
    },
)
def test_words_of_a_later_version(path: Path, value: Any, why: str) -> None:
    """A word of a later API makes the load balancer unreadable rather than another one."""
    decoded = BALANCERS.decode(page(changed(path, value)))
    assert decoded.items == {}
    assert why in decoded.unreadable[42]


def test_options_that_a_protocol_does_not_have() -> None:
    """A tcp listener has no options of http, and a tcp check none either, whatever the API says with them."""
    listener = REAL["services"][1]
    listener = replaced(replaced(listener, ("protocol",), "tcp"), ("health_check", "protocol"), "tcp")
    found = read(("services", 1), listener)
    assert found is not None
    assert found.spec.listeners[80].http is None
    assert found.spec.listeners[80].health_check == HealthCheck(Protocol.TCP, 30080, 15, 10, 3)


@rows(
    "deprecation deprecated end",
    {
        "for sale": (None, None, None),
        "an answer that knows nothing of it": (GONE, GONE, None),
        "new": ({"unavailable_after": "2026-12-31T00:00:00Z"}, None, datetime(2026, 12, 31, tzinfo=UTC)),
        "old": (GONE, "2026-07-01T00:00:00Z", ANNOUNCED),
        "old, with the new field": (None, "2026-07-01T00:00:00Z", ANNOUNCED),
    },
)
def test_types_out_of_sale(deprecation: Any, deprecated: Any, end: datetime | None) -> None:
    """The day after which a type is not sold is in a field of its own since July 2026."""
    path = (*TYPE, "deprecation")
    found = BALANCERS.decode(page(replaced(changed(path, deprecation), (*TYPE, "deprecated"), deprecated)))
    assert found.items[42].type.unavailable_after == end


H, U, X = Health.HEALTHY, Health.UNKNOWN, Health.UNHEALTHY


@rows(
    "statuses health",
    {
        "well": ({5000: "healthy", 80: "healthy", 443: "healthy"}, (H, H, H)),
        "one port ill": ({5000: "healthy", 80: "unhealthy", 443: "healthy"}, (H, X, H)),
        "one not checked yet": ({5000: "healthy", 80: "healthy"}, (H, H, U)),
        "a new word": ({5000: "healthy", 80: "draining", 443: "healthy"}, (H, U, H)),
        "nothing said": ({}, (U, U, U)),
    },
)
@rows(
    "place target",
    {
        "server": (("targets", 0, "health_status"), SERVER),
        "ip": (("targets", 1, "health_status"), ADDRESS),
        "selector": (("targets", 2, "targets", 0, "health_status"), SELECTOR),
    },
)
def test_health(place: Path, target: Any, statuses: dict[int, str], health: tuple[Health, ...]) -> None:
    found = read(place, [{"listen_port": port, "status": word} for port, word in statuses.items()])
    assert found is not None
    assert found.checks[target] == dict(zip((5000, 80, 443), health, strict=True))


@rows(
    "healths health",
    {
        "nothing found": ([], U),
        "one not known": ([fine(), []], U),
        "one ill": ([fine(), [{"listen_port": 80, "status": "unhealthy"}]], X),
    },
)
def test_health_of_a_selector(healths: list[Any], health: Health) -> None:
    found = read(("targets", 2, "targets"), [{"type": "server", "health_status": statuses} for statuses in healths])
    assert found is not None
    assert found.checks[SELECTOR][80] is health


def test_a_server_by_both_of_its_addresses() -> None:
    public = {**REAL["targets"][0], "use_private_ip": False, "health_status": []}
    found = read(("targets",), [*REAL["targets"], public])
    assert found is not None
    assert found.targets == (SERVER, ADDRESS, SELECTOR, ServerTarget(2, False))
    assert set(found.checks[SERVER].values()) == {H}
    assert set(found.checks[ServerTarget(2, False)].values()) == {U}
