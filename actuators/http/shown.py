"""Text that is safe to show: URLs without credentials, and JSON without unprintable characters. Also tells which URLs
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


_USER_INFO = re.compile(r"//[^/]*@")
_USER_INFO_IN_TEXT = re.compile(r"//[^\s/]{1,512}@")
_LAST_OF_A_PLANE = 0xFFFF
_NOT_ASCII = re.compile(r"[^\n\x20-\x7e]")


def without_user_info(text: str) -> str:
    """Any text, each address in it without the user and password that it may carry."""
    return _USER_INFO_IN_TEXT.sub("//", text)


def without_credentials(url: str) -> str:
    """An address without the user and password that it may carry."""
    return _USER_INFO.sub("//", url)


def escaped_json(text: str) -> str:
    """JSON with everything that is not printable written as JSON's escape: it decodes to the same, and cannot control a
    terminal, be it by C1 controls, changes of direction or line separators."""
    return _NOT_ASCII.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) <= _LAST_OF_A_PLANE else json.dumps(character)[1:-1]
