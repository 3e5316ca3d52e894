"""What nothing asks for any more: told once for each load balancer, with the default and how to get either."""

from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import Options
from desired.model.load_balancer import CloudBalancer, HttpOptions, Listener
from desired.model.settings import Settings
from desired.plan.notes import NoteKind
from tests.balancers import LB21, LOCATED, a_balancer, a_certificate, a_listener, an_http_check, an_http_listener
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, plan_of, private

LARGE: dict[str, Any] = {"type": LB21, "spec": {"type": "lb21"}}
P = "load-balancer.hetzner.cloud/"
BY_DEFAULT = replace(LOCATED, balancer_defaults=Options(location="fsn1", uses_proxyprotocol=True))
ENCRYPTED = HttpOptions("HCLBSTICKY", 300, 50, (5,), redirect_http=False, sticky_sessions=False)
OVER_TLS = an_http_listener(443, 30443, protocol=Protocol.HTTPS, http=ENCRYPTED)


def proxied(port: int) -> Listener:
    """A listener that speaks the PROXY protocol."""
    return a_listener(port, 30000 + port, proxyprotocol=True)


def told(balancer: CloudBalancer, *ports: int, settings: Settings = LOCATED, **options: Any) -> list[str]:
    """The notes on what is kept, of a Service with these ports and annotations."""
    claimed = [ClaimedPort(port, "TCP", 30000 + port) for port in ports or (80,)]
    plan = plan_of(asking(*claimed, **options), balancer, settings=settings, certificates=[a_certificate(5)])
    return [note.text for note in plan.notes if note.kind is NoteKind.KEPT]


def kept(text: str) -> str:
    """The values of a note."""
    return text.removeprefix("the load balancer keeps ").partition(", which no")[0]


@pytest.mark.parametrize(
    ("balancer", "options", "value"),
    [
        pytest.param(LARGE, {}, "type=lb21 (default lb11)", id="type"),
        pytest.param(
            {"spec": {"algorithm": Algorithm.LEAST_CONNECTIONS}},
            {},
            "algorithm-type=least_connections (default round_robin)",
            id="algorithm",
        ),
        pytest.param({"listeners": [proxied(80)]}, {}, "uses-proxyprotocol=true (default false)", id="proxy-protocol"),
        pytest.param(
            {"listeners": [replace(a_listener(), health_check=replace(a_listener().health_check, interval_s=5))]},
            {},
            "health-check-interval=5s (default 15s)",
            id="health-check",
        ),
        pytest.param(
            {"listeners": [a_listener(health_check=an_http_check(path="/up"))]},
            {"health_check_protocol": "http"},
            "health-check-http-path=/up (default /)",
            id="path-of-the-check",
        ),
        pytest.param(
            {"listeners": [a_listener(health_check=an_http_check(domain="a.example.com"))]},
            {"health_check_protocol": "http"},
            'health-check-http-domain=a.example.com (default "")',
            id="host-of-the-check",
        ),
        pytest.param(
            {"listeners": [a_listener(health_check=an_http_check(status_codes=("200",)))]},
            {"health_check_protocol": "http"},
            "http-status-codes=200 (default 2??, 3??)",
            id="status-codes",
        ),
        pytest.param(
            {"listeners": [an_http_listener(http=replace(ENCRYPTED, certificates=(), sticky_sessions=True))]},
            {"protocol": "http"},
            "http-sticky-sessions=true (default false)",
            id="sticky-sessions",
        ),
        pytest.param(
            {"listeners": [an_http_listener(http=replace(ENCRYPTED, certificates=(), timeout_idle_s=60))]},
            {"protocol": "http"},
            "http-timeout-idle=60s (default 50s)",
            id="idle-time-out",
        ),
    ],
)
def test_a_value_that_nothing_asks_for(balancer: dict[str, Any], options: dict[str, Any], value: str) -> None:
    """It is named as an annotation has it."""
    (text,) = told(a_balancer(**balancer), **options)

    assert kept(text) == value


def test_one_value() -> None:
    """Both ways are written out."""
    (text,) = told(a_balancer(listeners=[proxied(80)]))

    assert text == (
        "the load balancer keeps uses-proxyprotocol=true (default false), which no annotation or variable asks for;"
        f" set {P}uses-proxyprotocol to false, or to true to keep it"
    )


def test_several_values_are_one_note() -> None:
    """With the ports, where these are not all. Whoever reads that at night reads it once."""
    slow = replace(a_listener().health_check, port=30081, retries=9)
    ports = [proxied(80), a_listener(81, 30081, health_check=slow), proxied(82)]

    (text,) = told(a_balancer(listeners=ports, **LARGE), 80, 81, 82)

    assert text == (
        "the load balancer keeps type=lb21 (default lb11), uses-proxyprotocol=true at ports 80, 82 (default false),"
        " health-check-retries=9 at port 81 (default 3), which no annotation or variable asks for;"
        f" set each, as {P}NAME, to its default, or to its value to keep it"
    )


@pytest.mark.parametrize(
    ("balancer", "settings", "options"),
    [
        pytest.param(a_balancer(), LOCATED, {}, id="nothing but defaults"),
        pytest.param(a_balancer(listeners=[proxied(80)]), LOCATED, {"uses_proxyprotocol": "true"}, id="an annotation"),
        pytest.param(a_balancer(listeners=[proxied(80)]), BY_DEFAULT, {}, id="a variable"),
        pytest.param(a_balancer(listeners=[proxied(80)]), LOCATED, {"uses_proxyprotocol": "false"}, id="the default"),
        pytest.param(a_balancer(**LARGE), LOCATED, {"type": "lb21"}, id="a type"),
        pytest.param(
            a_balancer(listeners=[a_listener(health_check=an_http_check(status_codes=("3??", "2??")))]),
            LOCATED,
            {"health_check_protocol": "http"},
            id="the default in another order",
        ),
        pytest.param(
            a_balancer(listeners=[a_listener(health_check=an_http_check(path="/up"))]),
            LOCATED,
            {},
            id="a part that goes: the check is tcp again",
        ),
        pytest.param(a_balancer(spec={"ipv4_rdns": "lb.example.com"}), LOCATED, {}, id="what has no default"),
        pytest.param(a_balancer(service_uid="another"), LOCATED, {"name": "web"}, id="of another Service"),
    ],
)
def test_nothing_is_kept(balancer: CloudBalancer, settings: Settings, options: dict[str, str]) -> None:
    """What is asked for, what is the default, what has none, and what is not ours."""
    assert told(balancer, settings=settings, **options) == []


def test_certificates_are_no_value_that_is_kept() -> None:
    """There is no https without one."""
    assert told(a_balancer(listeners=[OVER_TLS]), 443, protocol="https") == []


@pytest.mark.parametrize(
    ("targets", "kind", "text"),
    [
        pytest.param((), NoteKind.UNREACHABLE, "no target can be reached", id="nothing is reached"),
        pytest.param(private(1), NoteKind.NO_TARGETS, "no other target can be reached", id="one is, by its network"),
    ],
)
def test_a_public_interface_that_stays_closed(targets: Any, kind: NoteKind, text: str) -> None:
    """Nothing asks for that any more: it is named, and so is what follows from it."""
    closed = a_balancer(attachments=(HERE,), targets=targets, spec={"public_interface": False})

    plan = plan_of(asking(), closed, **INSIDE | fleet(1))

    said = {note.kind: note.text for note in plan.notes}
    assert kept(said[NoteKind.KEPT]) == "disable-public-network=true (default false)"
    assert said[kind].startswith(text)
