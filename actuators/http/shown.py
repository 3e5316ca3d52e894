"""Text that is safe to show: addresses without secrets, and JSON without unprintable characters. Also tells which URLs
lead to this machine, for which no proxy of the environment is used."""

import json
import re
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether ``url`` names this machine. False for what is no address at all."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|")
_PLACE = re.compile(r"(?:\[[^\[\]@]*\]|[^:@\[\]]*)(?::[0-9]*)?")
"""Host and port."""
_IN_TEXT = re.compile(r"(?:\b[A-Za-z][A-Za-z0-9+.-]{0,31}:)?//[^\s'\"<>\\]*[^\s'\"<>\\,.;:)]")
_HIDDEN = "..."
_LAST_OF_A_PLANE = 0xFFFF
_NOT_ASCII = re.compile(r"[^\n\x20-\x7e]")


def shown_address(url: str) -> str:
    """What of an address is ever shown: scheme, host, port and path. User, password, query and fragment may be secrets;
    so may all behind the scheme where it cannot be told which part is which."""
    scheme, mark, rest = url.partition("//")
    if not mark or not _SCHEME.fullmatch(scheme):
        scheme, mark, rest = "", "", url
    shown, *hidden = re.split(r"[?#]", rest, maxsplit=1)
    authority, slash, path = shown.partition("/")
    is_cut_in_user_info = not slash and "@" in "".join(hidden)
    place = authority.rpartition("@")[2]
    if is_cut_in_user_info or not _PLACE.fullmatch(place):
        return f"{scheme}{mark}{_HIDDEN}"
    return f"{scheme}{mark}{place}{slash}{path}"


def with_shown_addresses(text: str) -> str:
    """Any text, each address in it as it may be shown."""
    return _IN_TEXT.sub(lambda found: shown_address(found[0]), text)


def escaped_json(text: str) -> str:
    """JSON with everything that is not printable written as JSON's escape: it decodes to the same, and cannot control a
    terminal, be it by C1 controls, changes of direction or line separators."""
    return _NOT_ASCII.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) <= _LAST_OF_A_PLANE else json.dumps(character)[1:-1]
