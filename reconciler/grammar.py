"""How values of flags and variables are written: Go's grammar, as hcloud-cloud-controller-manager reads it.

Each ``parse_*`` returns the value or raises ValueError with what was expected; the caller adds the name.
"""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network

from desired.approval import is_hash
from desired.settings import Controller

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_DURATION = re.compile(r"(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)(?P<unit>ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_CIDR = re.compile(r"[0-9a-fA-F.:]+/[0-9]{1,3}", re.ASCII)
_SERVICE_LINK = re.compile(r"_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$", re.ASCII)
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

CONTROLLERS = {
    "cloud-node-controller": Controller.NODE,
    "cloud-node": Controller.NODE,
    "cloud-node-lifecycle-controller": Controller.LIFECYCLE,
    "cloud-node-lifecycle": Controller.LIFECYCLE,
    "service-lb-controller": Controller.SERVICE,
    "service": Controller.SERVICE,
    "node-route-controller": Controller.ROUTE,
    "route": Controller.ROUTE,
}
"""HCCM's names and aliases for ``--controllers`` → the controller (nodes-and-routes 1.1)."""


def parse_bool(text: str) -> bool:
    """Go's ``strconv.ParseBool``."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"expect one of {', '.join((*_TRUE, *_FALSE))}")


def parse_duration(text: str) -> float:
    """Seconds of Go's ``time.ParseDuration``: ``300ms``, ``1h30m``; a bare number other than 0 is an error."""
    sign, digits = (-1.0, text[1:]) if text[:1] == "-" else (1.0, text.removeprefix("+"))
    if digits == "0":
        return 0.0
    seconds, end = 0.0, 0
    while match := _DURATION.match(digits, end):
        seconds += float(match["number"]) * _UNIT_S[match["unit"]]
        end = match.end()
    if not digits or end != len(digits):
        raise ValueError("expect a duration with a unit, such as 30s, 1m30s or 500ms")
    return sign * seconds


def parse_positive_duration(text: str) -> float:
    """A duration that is more than zero."""
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError("expect a duration of more than 0")
    return seconds


def parse_int(text: str) -> int:
    """A decimal number of zero or more."""
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("expect a number of 0 or more")
    return int(text)


def parse_port(text: str) -> int:
    """A TCP port; 0 stands for any that is free."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) <= 65535):
        raise ValueError("expect a port, 0 to 65535; 0 is any free one")
    return int(text)


def parse_cidr(text: str, *, strict: bool = True) -> IPv4Network | IPv6Network:
    """An address with the length of its prefix; ``strict`` refuses host bits, which Go's ``net.ParseCIDR`` ignores."""
    if not _CIDR.fullmatch(text):
        raise ValueError(f"{text!r} is no address with the length of a prefix")
    return ip_network(text, strict=strict)


def parse_cidrs(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """One CIDR, or an IPv4 and an IPv6 one separated by a comma."""
    try:
        networks = tuple(parse_cidr(part.strip()) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"expect a CIDR such as 10.244.0.0/16, or one of each family ({error})") from error
    if len(networks) > 2 or len({network.version for network in networks}) != len(networks):
        raise ValueError("expect one CIDR, or one of each family")
    return networks


def parse_controllers(text: str) -> frozenset[Controller]:
    """HCCM's list: ``*`` for all, ``name`` on, ``-name`` off; the first mention of a name wins."""
    chosen: dict[Controller, bool] = {}
    everything = False
    for word in (word.strip() for word in text.split(",")):
        name = word.removeprefix("-")
        if word == "*":
            everything = True
        elif name in CONTROLLERS:
            chosen.setdefault(CONTROLLERS[name], not word.startswith("-"))
        else:
            raise ValueError(f"{word!r} is no controller; there are {', '.join(CONTROLLERS)}")
    return frozenset(controller for controller in Controller if chosen.get(controller, everything))


def parse_keys(text: str) -> tuple[str, ...]:
    """Keys of a plan, separated by commas."""
    keys = tuple(key.strip().rstrip("/") for key in text.split(","))
    if not all(re.fullmatch(r"[a-z_]+/\S+", key) for key in keys):
        raise ValueError("expect keys as a plan shows them, such as node/web-1")
    return keys


def parse_hashes(text: str) -> tuple[str, ...]:
    """Hashes of holds, separated by commas."""
    hashes = tuple(part.strip() for part in text.split(","))
    if not all(is_hash(part) for part in hashes):
        raise ValueError("expect the hash of a hold as a plan shows it, sha256: and 16 hex digits")
    return hashes


def parse_address(text: str) -> tuple[str, int]:
    """``host:port`` or ``:port`` → host ("" for all) and port."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError("expect an address such as :10258 or 127.0.0.1:10258")
    return host.strip("[]"), int(port)


def is_service_link(name: str) -> bool:
    """Whether a variable is one that Kubernetes puts into every container for each Service of its namespace."""
    return _SERVICE_LINK.search(name) is not None
