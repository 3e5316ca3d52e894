"""Which addresses lead to this machine: no proxy of the environment is asked for them."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether ``url`` names this machine. False for what is no address at all."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
