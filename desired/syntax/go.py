"""Go's grammar of booleans, durations and address ranges, as flags, variables and annotations use it.

Each ``parse_*`` returns the value or raises ValueError with what was expected; the caller adds the name.
"""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network

from desired.syntax import bounds

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_DURATION = re.compile(r"(?P<number>[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?P<unit>ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_CIDR = re.compile(r"[0-9a-fA-F.:]+/[0-9]{1,3}", re.ASCII)
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_bool(text: str) -> bool:
    """Go's ``strconv.ParseBool``."""
    bounds.LONGEST_VALUE.check(text)
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"expect one of {', '.join((*_TRUE, *_FALSE))}")


def parse_duration(text: str) -> float:
    """Seconds of Go's ``time.ParseDuration``: ``300ms``, ``1h30m``; a bare number other than 0 is an error.

    So is what no calendar or timer can count, where Go says that its number overflows.
    """
    bounds.LONGEST_DURATION.check(text)
    sign, digits = (-1.0, text[1:]) if text[:1] == "-" else (1.0, text.removeprefix("+"))
    if digits == "0":
        return 0.0
    seconds, end = 0.0, 0
    while match := _DURATION.match(digits, end):
        seconds += float(match["number"]) * _UNIT_S[match["unit"]]
        end = match.end()
    if not digits or end != len(digits):
        raise ValueError("expect a duration with a unit, such as 30s, 1m30s or 500ms")
    if seconds > bounds.LONGEST_S:
        raise ValueError(f"expect a shorter duration, of at most {bounds.LONGEST_S / 3600:.0f}h")
    return sign * seconds


def parse_cidr(text: str, *, strict: bool = True) -> IPv4Network | IPv6Network:
    """An address with the length of its prefix; ``strict`` refuses host bits, which Go's ``net.ParseCIDR`` ignores."""
    bounds.LONGEST_RANGE.check(text)
    if not _CIDR.fullmatch(text):
        raise ValueError(f"{text!r} is no address with the length of a prefix")
    return ip_network(text, strict=strict)
