"""Every annotation of a Service: its value, where it comes from, what is wrong with it, and what is in use."""

from collections.abc import Mapping
from dataclasses import fields, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.options import CHECK, HTTP, HTTP_CHECK, LISTENER, ON_STATUS, OPTIONS, PREFIX, Option, Options
from desired.annotations.reading import Origin
from desired.explain.options import OptionFact
from desired.load_balancers.in_use import in_use, shown
from desired.model.load_balancer import Attachment, HttpOptions, IpTarget, Listener, ServerTarget
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.section import UNMANAGED, Present
from desired.syntax.selector import parse_selector
from tests.balancers import (
    IN_NETWORK,
    LOCATED,
    NETWORK,
    a_balancer,
    a_claim,
    a_listener,
    a_served_service,
    a_service,
    a_world,
    an_http_check,
    an_http_listener,
    annotated,
)
from tests.builders import NOW
from tests.support.service_explanations import of_the_service


def options(snapshot: Snapshot, settings: Settings = LOCATED) -> Mapping[str, OptionFact]:
    """Key without our prefix → what is said of it."""
    return {fact.key.removeprefix(PREFIX): fact for fact in of_the_service(snapshot, settings).options}


def asking(**asked: str) -> Snapshot:
    """A world in which a new Service has these annotations."""
    return a_world([a_service(claim=a_claim(annotations=annotated(**asked)))])


def test_every_annotation_has_a_row() -> None:
    """All that may be asked for is listed, in the order of the table."""
    assert [fact.key for fact in of_the_service(a_world([a_service()])).options] == [
        row.full_key for row in OPTIONS.values()
    ]


@pytest.mark.parametrize(
    ("asked", "defaults", "key", "origin", "value", "variable"),
    [
        pytest.param({"type": "lb21"}, Options(type="lb31"), "type", Origin.ANNOTATION, "lb21", None, id="annotation"),
        pytest.param(
            {},
            Options(type="lb31"),
            "type",
            Origin.ENVIRONMENT,
            "lb31",
            "HCLOUD_LOAD_BALANCERS_TYPE",
            id="environment",
        ),
        pytest.param({"type": ""}, Options(type="lb31"), "type", Origin.UNSET, None, None, id="emptied"),
        pytest.param({}, Options(), "protocol", Origin.UNSET, None, None, id="unset-though-it-has-a-default"),
        pytest.param(
            {"algorithm_type": " Round_Robin "},
            Options(),
            "algorithm-type",
            Origin.ANNOTATION,
            "round_robin",
            None,
            id="as-it-was-understood",
        ),
        pytest.param(
            {"health_check_interval": "1m"},
            Options(),
            "health-check-interval",
            Origin.ANNOTATION,
            "60s",
            None,
            id="a-duration",
        ),
        pytest.param({"ipv4_rdns": ""}, Options(), "ipv4-rdns", Origin.ANNOTATION, "", None, id="an-empty-value"),
        pytest.param(
            {"use_private_ip": "yes"}, Options(), "use-private-ip", Origin.ANNOTATION, None, None, id="not-understood"
        ),
        pytest.param(
            {"network_zone": "eu-central", "location": "nbg1"},
            Options(),
            "network-zone",
            Origin.ANNOTATION,
            None,
            None,
            id="overruled",
        ),
    ],
)
def test_origins(
    asked: Mapping[str, str], defaults: Options, key: str, origin: Origin, value: str | None, variable: str | None
) -> None:
    """A value comes from an annotation, from the environment, or from nobody."""
    fact = options(asking(**asked), Settings(balancer_defaults=defaults))[key]

    assert (fact.origin, fact.value, fact.variable) == (origin, value, variable)


@pytest.mark.parametrize(
    ("asked", "defaults", "keys"),
    [
        pytest.param({}, Options(location="fsn1"), [], id="nothing-wrong"),
        pytest.param({"protocol": "udp"}, Options(location="fsn1"), ["protocol"], id="cannot-be-read"),
        pytest.param({}, Options(), ["location"], id="missing"),
        pytest.param(
            {"http_redirect_http": "true", "protocol": "http"},
            Options(location="fsn1"),
            ["http-redirect-http"],
            id="a-contradiction",
        ),
        pytest.param({"http_cookie_name": ""}, Options(location="fsn1"), [], id="wrong-and-not-read"),
        pytest.param(
            {}, Options(location="fsn1", health_check_retries=9), ["health-check-retries"], id="of-the-environment"
        ),
        pytest.param({"use_private_ip": "1"}, Options(location="fsn1"), ["use-private-ip"], id="without-a-network"),
        pytest.param(
            {"protocol": "udp", "type": "lb21", "hostname": "A"},
            Options(location="fsn1"),
            ["hostname", "protocol"],
            id="all-at-once",
        ),
    ],
)
def test_problems(asked: Mapping[str, str], defaults: Options, keys: list[str]) -> None:
    """What is wrong stands with the annotation to change, whatever it comes from."""
    found = of_the_service(asking(**asked), Settings(balancer_defaults=defaults))
    wrong = {fact.key.removeprefix(PREFIX): fact.problems for fact in found.options if fact.problems}

    assert list(wrong) == keys
    assert {text for texts in wrong.values() for text in texts} == {
        note.text for note in found.notes if note.kind == "malformed"
    }


def test_remarks() -> None:
    """What is odd about an annotation of the table stands with it, everything else by itself, and nothing twice."""
    claim = a_claim(
        annotations={**annotated(http_cookie_name="C"), f"{PREFIX}nmae": "x", f"{PREFIX}id": "7", "example.com/a": "b"},
        session_affinity="ClientIP",
    )
    found = of_the_service(a_world([a_service(claim=claim)]))
    with_options = {fact.key: fact.remark for fact in found.options if fact.remark}

    assert list(with_options) == [f"{PREFIX}http-cookie-name"]
    assert [remark.key for remark in found.remarks] == [f"{PREFIX}id", f"{PREFIX}nmae", "spec.sessionAffinity"]
    assert {*with_options.values(), *(remark.text for remark in found.remarks)} == {note.text for note in found.notes}


@pytest.mark.parametrize(
    ("text", "origin", "value", "is_wrong"),
    [
        pytest.param(None, Origin.UNSET, None, False, id="unset"),
        pytest.param("retain", Origin.ANNOTATION, "retain", False, id="retain"),
        pytest.param("keep", Origin.ANNOTATION, "retain", True, id="not-understood"),
    ],
)
def test_a_service_that_is_going(text: str | None, origin: Origin, value: str | None, is_wrong: bool) -> None:
    """Of a Service that goes only the deletion policy counts, and what cannot be understood retains."""
    asked = {} if text is None else {"deletion_policy": text}
    claim = a_claim(annotations=annotated(use_private_ip="maybe", **asked))
    found = of_the_service(a_world([a_served_service(deleted_at=NOW, claim=claim)], [a_balancer()]))
    (fact,) = found.options

    assert (fact.key, fact.origin, fact.value, bool(fact.problems)) == (
        "hcloud-reconciler/deletion-policy",
        origin,
        value,
        is_wrong,
    )
    assert {change.kind for change in found.changes} >= {"lb.retain" if value else "lb.delete"}


@pytest.mark.parametrize("other", [{"load_balancer_class": "x"}, {"type": "ClusterIP"}])
def test_a_service_that_is_not_looked_after(other: Mapping[str, Any]) -> None:
    """Where nothing is read nothing is told: not even what is odd."""
    claim = a_claim(annotations=annotated(protocol="udp"), session_affinity="ClientIP")
    found = of_the_service(a_world([a_service(claim=claim, **other)]))

    assert (found.options, found.remarks) == ((), ())


HTTPS = an_http_listener(
    443,
    30443,
    protocol=Protocol.HTTPS,
    http=HttpOptions("COOKIE", 60, 40, (5, 6), redirect_http=True, sticky_sessions=True),
    health_check=replace(an_http_check(30443, domain="d", path="/p", status_codes=("200",), tls=True), interval_s=5),
    proxyprotocol=True,
)


@pytest.mark.parametrize(
    ("field", "listeners", "expected"),
    [
        pytest.param("protocol", (a_listener(),), "tcp", id="protocol"),
        pytest.param("protocol", (HTTPS, a_listener()), "tcp, https", id="ports-that-differ"),
        pytest.param("protocol", (), None, id="no-ports"),
        pytest.param("uses_proxyprotocol", (HTTPS,), "true", id="proxy-protocol"),
        pytest.param("http_cookie_name", (a_listener(), HTTPS), "COOKIE", id="a-part-that-only-one-has"),
        pytest.param("http_cookie_name", (a_listener(),), None, id="a-part-that-none-has"),
        pytest.param("http_cookie_lifetime", (HTTPS,), "60s", id="cookie-lifetime"),
        pytest.param("http_timeout_idle", (HTTPS,), "40s", id="idle"),
        pytest.param("http_redirect_http", (HTTPS,), "true", id="redirect"),
        pytest.param("http_sticky_sessions", (HTTPS,), "true", id="sticky"),
        pytest.param("http_certificates", (HTTPS,), "5, 6", id="certificates"),
        pytest.param("health_check_protocol", (HTTPS,), "https", id="http-over-tls-is-https"),
        pytest.param("health_check_protocol", (a_listener(health_check=an_http_check()),), "http", id="plain-http"),
        pytest.param("health_check_port", (HTTPS, a_listener()), "30080, 30443", id="check-ports"),
        pytest.param("health_check_node_port", (HTTPS,), None, id="whom-a-port-belongs-to-nobody-can-tell"),
        pytest.param("health_check_interval", (HTTPS,), "5s", id="interval"),
        pytest.param("health_check_timeout", (HTTPS,), "10s", id="timeout"),
        pytest.param("health_check_retries", (HTTPS,), "3", id="retries"),
        pytest.param("health_check_http_domain", (HTTPS,), "d", id="domain"),
        pytest.param("health_check_http_path", (HTTPS,), "/p", id="path"),
        pytest.param("health_check_http_validate_certificate", (HTTPS,), "true", id="tls"),
        pytest.param("http_status_codes", (HTTPS,), "200", id="status-codes"),
    ],
)
def test_what_listeners_have(field: str, listeners: tuple[Listener, ...], expected: str | None) -> None:
    """What the ports do now is told in the words of annotations, each value once."""
    assert in_use(field, a_balancer(listeners=listeners)) == expected


BOTH = (ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=True), IpTarget("192.0.2.1"))
PLACES = (Attachment(7, IPv4Address("10.0.0.8")), Attachment(9, IPv4Address("10.9.0.8")))


@pytest.mark.parametrize(
    ("field", "overrides", "expected"),
    [
        pytest.param("name", {"spec": {"name": "shop"}}, "shop", id="name"),
        pytest.param("type", {}, "lb11", id="type"),
        pytest.param("location", {}, "fsn1", id="location"),
        pytest.param("network_zone", {}, "eu-central", id="zone"),
        pytest.param("algorithm_type", {}, "round_robin", id="algorithm"),
        pytest.param("disable_public_network", {}, "false", id="public"),
        pytest.param("disable_public_network", {"spec": {"public_interface": False}}, "true", id="not-public"),
        pytest.param("use_private_ip", {"targets": BOTH}, "false, true", id="targets-of-both-kinds"),
        pytest.param("use_private_ip", {"targets": ()}, None, id="no-targets"),
        pytest.param("private_ipv4", {"attachments": PLACES}, "10.0.0.8, 10.9.0.8", id="private-addresses"),
        pytest.param("private_ipv4", {}, None, id="no-network"),
        pytest.param("ipv4_rdns", {}, "static.200.example.com", id="rdns"),
        pytest.param("ipv6_rdns", {}, "", id="an-empty-pointer"),
        pytest.param("ipv6_rdns", {"spec": {"ipv6_rdns": None}}, None, id="no-pointer"),
        pytest.param("private_subnet_ip_range", {"attachments": PLACES}, None, id="what-the-api-does-not-say"),
        pytest.param("hostname", {}, None, id="what-is-not-about-it"),
    ],
)
def test_what_a_load_balancer_has(field: str, overrides: Mapping[str, Any], expected: str | None) -> None:
    """What the whole load balancer has is told in the words of annotations."""
    assert in_use(field, a_balancer(**overrides)) == expected


PARTS: Mapping[str, object] = {
    "": a_balancer().spec,
    "attachment": PLACES[0],
    "targets": BOTH[0],
    LISTENER: HTTPS,
    HTTP: HTTPS.http,
    CHECK: HTTPS.health_check,
    HTTP_CHECK: HTTPS.health_check.http,
}


@pytest.mark.parametrize("row", OPTIONS.values(), ids=lambda row: row.name)
def test_what_an_option_sets_is_there(row: Option) -> None:
    """Each declaration names a field of a load balancer, but for what the Service's status says."""
    assert row.name in ON_STATUS or not row.sets or hasattr(PARTS[row.part], row.sets.rpartition(".")[2])


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        pytest.param("use_private_ip", False, "false", id="boolean"),
        pytest.param("health_check_retries", 3, "3", id="number"),
        pytest.param("http_timeout_idle", 50, "50s", id="duration"),
        pytest.param("algorithm_type", Algorithm.LEAST_CONNECTIONS, "least_connections", id="choice"),
        pytest.param("http_certificates", (5, "shop"), "5, shop", id="list"),
        pytest.param("private_ipv4", IPv4Address("10.0.0.5"), "10.0.0.5", id="address"),
        pytest.param("private_subnet_ip_range", IPv4Network("10.0.0.0/24"), "10.0.0.0/24", id="range"),
        pytest.param("node_selector", parse_selector("a in (b, c)"), "a in (b, c)", id="selector"),
        pytest.param("hostname", "", "", id="nothing"),
    ],
)
def test_shown(field: str, value: object, text: str) -> None:
    """A value reads as somebody would write it."""
    assert shown(field, value) == text


def test_every_value_can_be_shown() -> None:
    """Each option's own default has a form, and a value that no annotation has is a mistake of ours."""
    for field in fields(Options):
        default = getattr(Options(), field.name)
        assert default is UNMANAGED or shown(field.name, default)
    with pytest.raises(TypeError):
        shown("name", 1.5)


def test_in_use_is_told_of_the_services_own_only() -> None:
    """What somebody else's load balancer has says nothing of this Service."""
    claim = a_claim(annotations=annotated(name="shop"))
    theirs = a_balancer(service_uid=None, cluster_uid="another", spec={"name": "shop"})

    assert options(a_world([a_service(claim=claim)], [theirs]))["name"].in_use is None
    assert options(a_world([a_served_service()], [a_balancer()]))["location"].in_use == "fsn1"


def test_a_network_is_a_setting() -> None:
    """What is wrong without a network is right with one."""
    claim = a_claim(annotations=annotated(use_private_ip="true"))
    snapshot = a_world([a_service(claim=claim)], network=Present(NETWORK))

    assert options(snapshot, IN_NETWORK)["use-private-ip"].problems == ()
