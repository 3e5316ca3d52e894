"""Options that depend on each other: what cannot be together or is missing, and what nothing reads."""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Any

import pytest

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.claims import ClaimCheck, ClaimedPort, check_claim
from desired.annotations.combinations import Circumstances, bad_combinations
from desired.annotations.options import OPTIONS, BadAnnotation, Options
from tests.balancers import a_claim, annotated

P = "load-balancer.hetzner.cloud/"
ADDRESS, RANGE = IPv4Address("10.0.0.5"), IPv4Network("10.0.0.0/24")
ALWAYS, TO_CREATE = Circumstances(is_created=False), Circumstances()
WITHOUT_NETWORK = Circumstances(is_created=False, has_network=False)


@pytest.mark.parametrize(
    ("around", "options", "text"),
    [
        pytest.param(
            ALWAYS,
            {"private_ipv4": IPv4Address("10.0.1.5"), "private_subnet_ip_range": RANGE},
            f"{P}private-ipv4 is 10.0.1.5: it is outside 10.0.0.0/24, the range of the subnet; choose an address"
            f" inside, or correct {P}private-subnet-ip-range",
            id="address-outside-its-range",
        ),
        pytest.param(
            ALWAYS,
            {"http_redirect_http": True, "protocol": Protocol.HTTP},
            f"{P}http-redirect-http is true: only https can be redirected to, and the protocol is http; set"
            f" {P}protocol to https, or remove this",
            id="redirect-without-https",
        ),
        pytest.param(
            ALWAYS,
            {"certificate_type": CertificateType.MANAGED, "protocol": Protocol.HTTPS},
            f"{P}http-managed-certificate-domains is not set: a managed certificate needs domains, such as"
            f" example.com,*.example.com; name them, or remove {P}certificate-type",
            id="managed-without-domains",
        ),
        pytest.param(
            TO_CREATE,
            {},
            f"{P}location (or HCLOUD_LOAD_BALANCERS_LOCATION) is not set: a load balancer that has to be created needs"
            f" a location, such as fsn1, or a zone in {P}network-zone, such as eu-central; set one of the two",
            id="neither-location-nor-zone",
        ),
        pytest.param(
            TO_CREATE,
            {"location": "fsn1", "protocol": Protocol.HTTPS},
            f"{P}http-certificates is not set: protocol https needs a certificate; name one that was uploaded, or set"
            f" {P}certificate-type to managed",
            id="https-without-certificate",
        ),
        pytest.param(
            WITHOUT_NETWORK,
            {"use_private_ip": True},
            f"{P}use-private-ip (or HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP) is true: there are no private addresses"
            " without a network; set HCLOUD_NETWORK, or this to false",
            id="private-targets-without-network",
        ),
        pytest.param(
            WITHOUT_NETWORK,
            {"disable_public_network": True},
            f"{P}disable-public-network (or HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK) is true: nothing could reach"
            " a load balancer that has no network either; set HCLOUD_NETWORK, or this to false",
            id="not-public-without-network",
        ),
    ],
)
def test_refused(around: Circumstances, options: dict[str, Any], text: str) -> None:
    """One sentence with key, value, reason and remedy; none when one of the options could not be read."""
    (bad,) = bad_combinations(Options(**options), (), around)

    assert bad == BadAnnotation(text.split(" ", 1)[0], text)
    for field in options:
        assert [*bad_combinations(Options(**options), {field}, around)] == [] or field == "location"


@pytest.mark.parametrize(
    ("around", "options"),
    [
        pytest.param(ALWAYS, {}, id="nothing"),
        pytest.param(ALWAYS, {"private_ipv4": ADDRESS}, id="address-without-range"),
        pytest.param(ALWAYS, {"private_subnet_ip_range": RANGE}, id="range-without-address"),
        pytest.param(ALWAYS, {"private_ipv4": ADDRESS, "private_subnet_ip_range": RANGE}, id="address-in-range"),
        pytest.param(ALWAYS, {"http_redirect_http": True, "protocol": Protocol.HTTPS}, id="redirect-to-https"),
        pytest.param(ALWAYS, {"http_redirect_http": False}, id="no-redirect"),
        pytest.param(ALWAYS, {"http_sticky_sessions": True, "protocol": Protocol.HTTP}, id="sessions"),
        pytest.param(ALWAYS, {"http_sticky_sessions": False}, id="no-sessions"),
        pytest.param(ALWAYS, {"http_cookie_name": "x"}, id="a-cookie-with-tcp-is-only-without-effect"),
        pytest.param(
            ALWAYS,
            {"certificate_type": CertificateType.MANAGED, "http_managed_certificate_domains": ("example.com",)},
            id="managed-with-domains",
        ),
        pytest.param(TO_CREATE, {"location": "fsn1"}, id="location"),
        pytest.param(TO_CREATE, {"network_zone": "eu-central"}, id="zone"),
        pytest.param(
            TO_CREATE,
            {"location": "fsn1", "protocol": Protocol.HTTPS, "http_certificates": (12,)},
            id="https-with-certificate",
        ),
        pytest.param(
            TO_CREATE,
            {
                "location": "fsn1",
                "protocol": Protocol.HTTPS,
                "certificate_type": CertificateType.MANAGED,
                "http_managed_certificate_domains": ("example.com",),
            },
            id="https-with-managed-certificate",
        ),
        pytest.param(WITHOUT_NETWORK, {"disable_public_network": False}, id="public-without-network"),
    ],
)
def test_accepted(around: Circumstances, options: dict[str, Any]) -> None:
    """What may be is not spoken of."""
    assert [*bad_combinations(Options(**options), (), around)] == []


HTTPS = {"protocol": "https", "http_certificates": "1"}
MANAGED = {"protocol": "https", "certificate_type": "managed", "http_managed_certificate_domains": "example.com"}
CHECKED = {"health_check_protocol": "http"}
SETTLED, OUTSIDE = {"is_settled": True}, {"has_network": False}
LOCAL = {"external_traffic_policy": "Local"}
NEW: dict[str, Any] = {}
OUT_OF_RANGE = {"private_ipv4": "10.0.1.5", "private_subnet_ip_range": "10.0.0.0/24"}


def checked(annotations: Mapping[str, str], given: Mapping[str, Any], **defaults: Any) -> ClaimCheck:
    """The check of a claim in a network, where ``given`` says nothing else; a policy is the Service's."""
    around = {"has_network": True, **{key: value for key, value in given.items() if key != "external_traffic_policy"}}
    policy = str(given.get("external_traffic_policy", "Cluster"))
    claim = a_claim(ClaimedPort(443), annotations=annotated(**annotations), external_traffic_policy=policy)
    return check_claim(claim, Options(location="fsn1", **defaults), **around)


@pytest.mark.parametrize(
    ("field", "text", "unread", "given", "read", "otherwise"),
    [
        pytest.param("health_check_http_path", "", {}, NEW, CHECKED, NEW, id="path-of-checks-of-tcp"),
        pytest.param("health_check_http_domain", "a b", {}, NEW, CHECKED, NEW, id="domain-of-checks-of-tcp"),
        pytest.param(
            "health_check_http_validate_certificate", "", {"protocol": "http"}, NEW, CHECKED, NEW, id="tls-of-no-check"
        ),
        pytest.param("http_status_codes", "", {}, NEW, CHECKED, NEW, id="status-codes-of-checks-of-tcp"),
        pytest.param(
            "http_status_codes",
            "abc",
            {"health_check_node_port": "true"},
            NEW,
            {"health_check_node_port": "true"},
            LOCAL,
            id="status-codes-where-kube-proxy-is-not-asked",
        ),
        pytest.param("health_check_node_port", "yes", {}, NEW, {}, LOCAL, id="kube-proxy-without-local"),
        pytest.param(
            "health_check_node_port", "yes", {"health_check_port": "80"}, LOCAL, {}, LOCAL, id="kube-proxy-or-a-port"
        ),
        pytest.param("http_cookie_name", "", {}, NEW, {"protocol": "http"}, NEW, id="cookie-with-tcp"),
        pytest.param("http_cookie_lifetime", "5", {}, NEW, {"protocol": "http"}, NEW, id="lifetime-with-tcp"),
        pytest.param("http_timeout_idle", "5m1s", {}, NEW, {"protocol": "http"}, NEW, id="timeout-with-tcp"),
        pytest.param("http_redirect_http", "yes", {}, NEW, {"protocol": "http"}, NEW, id="redirect-with-tcp"),
        pytest.param("http_sticky_sessions", "yes", {}, NEW, {"protocol": "http"}, NEW, id="sessions-with-tcp"),
        pytest.param("http_certificates", "", {"protocol": "http"}, NEW, {"protocol": "https"}, NEW, id="no-https"),
        pytest.param("http_certificates", "", MANAGED, NEW, {"protocol": "https"}, NEW, id="certificates-and-managed"),
        pytest.param("http_managed_certificate_domains", "", HTTPS, NEW, MANAGED, NEW, id="domains-of-uploaded"),
        pytest.param(
            "http_managed_certificate_domains",
            "",
            {**MANAGED, "protocol": "tcp"},
            NEW,
            MANAGED,
            NEW,
            id="domains-without-https",
        ),
        pytest.param("http_managed_certificate_name", " x", HTTPS, NEW, MANAGED, NEW, id="name-of-uploaded"),
        pytest.param("private_ipv4", "10.0.0", {}, OUTSIDE, {}, NEW, id="address-without-a-network"),
        pytest.param("private_ipv4", "10.0.0", {}, OUTSIDE, {}, SETTLED, id="address-of-what-is-attached"),
        pytest.param("private_subnet_ip_range", "", {}, OUTSIDE, {}, NEW, id="range-without-a-network"),
        pytest.param("private_subnet_ip_range", "", {}, SETTLED, {}, NEW, id="range-of-what-is-attached"),
        pytest.param("ipv6_disabled", "", {"hostname": "a.b"}, NEW, {}, NEW, id="ipv6-beside-a-hostname"),
        pytest.param("disable_private_ingress", "", {"hostname": ""}, NEW, {}, NEW, id="ingress-beside-a-hostname"),
    ],
)
def test_a_wrong_value(
    field: str,
    text: str,
    unread: Mapping[str, str],
    given: Mapping[str, Any],
    read: Mapping[str, str],
    otherwise: Mapping[str, Any],
) -> None:
    """A warning with the error and the reason beside ``unread``, where nothing reads it; an error beside ``read``."""
    key = OPTIONS[field].full_key
    idle = checked({**unread, field: text}, given)
    wrong = checked({**read, field: text}, otherwise)

    (bad,) = (problem for problem in wrong.problems if problem.key == key)
    said = [remark.text for remark in idle.remarks if remark.key == key]
    assert (idle.problems, len(said)) == ((), 1)
    assert said[0].startswith(f"{bad.text}; for now it has no effect: ")


@pytest.mark.parametrize(
    ("annotations", "given", "problems"),
    [
        pytest.param(OUT_OF_RANGE, NEW, 1, id="address-outside-its-range"),
        pytest.param(OUT_OF_RANGE, OUTSIDE, 0, id="without-a-network"),
        pytest.param(OUT_OF_RANGE, SETTLED, 0, id="where-it-is-attached"),
        pytest.param({"http_redirect_http": "true", "protocol": "http"}, NEW, 1, id="redirect-to-http"),
        pytest.param({"http_redirect_http": "true"}, NEW, 0, id="redirect-with-tcp"),
        pytest.param({"http_sticky_sessions": "true"}, NEW, 0, id="sessions-with-tcp"),
        pytest.param({"certificate_type": "managed"}, NEW, 0, id="managed-with-tcp"),
        pytest.param({"certificate_type": "managed", "protocol": "https"}, NEW, 1, id="managed-without-domains"),
        pytest.param({"http_cookie_name": "", "protocol": "htp"}, NEW, 2, id="nobody-knows-whether-it-is-read"),
    ],
)
def test_good_values_together(annotations: Mapping[str, str], given: Mapping[str, Any], problems: int) -> None:
    """Values that exclude each other do so only where both are read."""
    assert len(checked(annotations, given).problems) == problems


@pytest.mark.parametrize(("given", "problems"), [(NEW, 1), (OUTSIDE, 0)], ids=["in-a-network", "without-one"])
def test_a_wrong_default(given: Mapping[str, Any], problems: int) -> None:
    """The environment's values are treated alike, and named by their variable."""
    check = checked({}, given, private_subnet_ip_range=ip_network("fd00::/64"))

    assert len(check.problems) == problems
    assert [remark.key for remark in check.remarks] == ["HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE"][problems:]
