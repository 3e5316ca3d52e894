"""Addresses in text that somebody else wrote."""

from ipaddress import IPv4Address, IPv6Address

from desired.syntax.address import IPAddress, parse_ip
from tests.support.rows import rows


@rows("text expected", {
    "IPv4": ("10.0.0.9", IPv4Address("10.0.0.9")),
    "IPv6 however written": ("2001:DB8::01", IPv6Address("2001:db8::1")),
    "empty": ("", None),
    "not there": (None, None),
    "a host name": ("lb.example.com", None),
    "a range": ("10.0.0.0/8", None),
    "too long": ("1" * 100_000, None),
})  # fmt: skip
def test_an_address(text: str | None, expected: IPAddress | None) -> None:
    """One or none, and never an error."""
    assert parse_ip(text) == expected
