"""What cannot be together, and what is missing: only where the API or the reference would refuse for certain."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.options import BadAnnotation, Options
from desired.annotations.parsing import conflicts, missing_for_creation, missing_without_network

P = "load-balancer.hetzner.cloud/"
ADDRESS, RANGE = IPv4Address("10.0.0.5"), IPv4Network("10.0.0.0/24")
Find = Callable[..., tuple[BadAnnotation, ...]]


@pytest.mark.parametrize(
    ("find", "options", "text"),
    [
        pytest.param(
            conflicts,
            {"private_ipv4": IPv4Address("10.0.1.5"), "private_subnet_ip_range": RANGE},
            f"{P}private-ipv4 is 10.0.1.5: it is outside 10.0.0.0/24, the range of the subnet; choose an address"
            f" inside, or correct {P}private-subnet-ip-range",
            id="address-outside-its-range",
        ),
        pytest.param(
            conflicts,
            {"http_redirect_http": True, "protocol": Protocol.HTTP},
            f"{P}http-redirect-http is true: only https can be redirected to, and the protocol is http; set"
            f" {P}protocol to https, or remove this",
            id="redirect-without-https",
        ),
        pytest.param(
            conflicts,
            {"certificate_type": CertificateType.MANAGED, "protocol": Protocol.HTTPS},
            f"{P}http-managed-certificate-domains is not set: a managed certificate needs domains, such as"
            f" example.com,*.example.com; name them, or remove {P}certificate-type",
            id="managed-without-domains",
        ),
        pytest.param(
            missing_for_creation,
            {},
            f"{P}location (or HCLOUD_LOAD_BALANCERS_LOCATION) is not set: a load balancer that has to be created needs"
            f" a location, such as fsn1, or a zone in {P}network-zone, such as eu-central; set one of the two",
            id="neither-location-nor-zone",
        ),
        pytest.param(
            missing_for_creation,
            {"location": "fsn1", "protocol": Protocol.HTTPS},
            f"{P}http-certificates is not set: protocol https needs a certificate; name one that was uploaded, or set"
            f" {P}certificate-type to managed",
            id="https-without-certificate",
        ),
        pytest.param(
            missing_without_network,
            {"use_private_ip": True},
            f"{P}use-private-ip (or HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP) is true: there are no private addresses"
            " without a network; set HCLOUD_NETWORK, or this to false",
            id="private-targets-without-network",
        ),
        pytest.param(
            missing_without_network,
            {"disable_public_network": True},
            f"{P}disable-public-network (or HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK) is true: nothing could reach"
            " a load balancer that has no network either; set HCLOUD_NETWORK, or this to false",
            id="not-public-without-network",
        ),
    ],
)
def test_refused(find: Find, options: dict[str, Any], text: str) -> None:
    """One sentence with key, value, reason and remedy; none when one of the options could not be read."""
    (bad,) = find(Options(**options))

    assert bad == BadAnnotation(text.split(" ", 1)[0], text)
    for field in options:
        assert find(Options(**options), {field}) == () or field == "location"


@pytest.mark.parametrize(
    ("find", "options"),
    [
        pytest.param(conflicts, {}, id="nothing"),
        pytest.param(conflicts, {"private_ipv4": ADDRESS}, id="address-without-range"),
        pytest.param(conflicts, {"private_subnet_ip_range": RANGE}, id="range-without-address"),
        pytest.param(conflicts, {"private_ipv4": ADDRESS, "private_subnet_ip_range": RANGE}, id="address-in-range"),
        pytest.param(conflicts, {"http_redirect_http": True, "protocol": Protocol.HTTPS}, id="redirect-to-https"),
        pytest.param(conflicts, {"http_redirect_http": False}, id="no-redirect"),
        pytest.param(conflicts, {"http_sticky_sessions": True, "protocol": Protocol.HTTP}, id="sessions"),
        pytest.param(conflicts, {"http_sticky_sessions": False}, id="no-sessions"),
        pytest.param(conflicts, {"http_cookie_name": "x"}, id="a-cookie-with-tcp-is-only-without-effect"),
        pytest.param(
            conflicts,
            {"certificate_type": CertificateType.MANAGED, "http_managed_certificate_domains": ("example.com",)},
            id="managed-with-domains",
        ),
        pytest.param(missing_for_creation, {"location": "fsn1"}, id="location"),
        pytest.param(missing_for_creation, {"network_zone": "eu-central"}, id="zone"),
        pytest.param(
            missing_for_creation,
            {"location": "fsn1", "protocol": Protocol.HTTPS, "http_certificates": (12,)},
            id="https-with-certificate",
        ),
        pytest.param(
            missing_for_creation,
            {"location": "fsn1", "protocol": Protocol.HTTPS, "certificate_type": CertificateType.MANAGED},
            id="https-with-managed-certificate",
        ),
        pytest.param(missing_without_network, {"disable_public_network": False}, id="public-without-network"),
    ],
)
def test_accepted(find: Find, options: dict[str, Any]) -> None:
    """What may be is not spoken of."""
    assert find(Options(**options)) == ()
