"""Addresses in text that somebody else wrote."""

from ipaddress import IPv4Address, IPv6Address

import pytest

from desired.syntax.address import IPAddress, parse_ip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("10.0.0.9", IPv4Address("10.0.0.9"), id="IPv4"),
        pytest.param("2001:DB8::01", IPv6Address("2001:db8::1"), id="IPv6 however written"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="not there"),
        pytest.param("lb.example.com", None, id="a host name"),
        pytest.param("10.0.0.0/8", None, id="a range"),
        pytest.param("1" * 100_000, None, id="too long"),
    ],
)
def test_an_address(text: str | None, expected: IPAddress | None) -> None:
    """One or none, and never an error."""
    assert parse_ip(text) == expected
