"""Addresses in text of other clients, such as a kubelet or another controller."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from desired.syntax.bounds import LONGEST_ADDRESS

IPAddress = IPv4Address | IPv6Address


def parse_ip(text: str | None) -> IPAddress | None:
    """The address that ``text`` means, however it is written; None when it is none, or too long to be one."""
    if text is None or LONGEST_ADDRESS.is_exceeded(text):
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None
